package store

import (
	"github.com/klauspost/compress/zstd"
)

// Entries of source logs are text, and one that names a hundred thousand files has many megabytes of it, most of
// it the same. Such an entry is kept packed: a zero byte, which no text begins with, then zstd. What is shorter
// than packFrom stays as it is, so that small records can be read with the eye.
const packFrom = 64 << 10

const packed = 0

// maxUnpacked is the longest entry that is believed.
const maxUnpacked = 1 << 30

func pack(entry []byte) []byte {
	if len(entry) < packFrom && (len(entry) == 0 || entry[0] != packed) {
		return entry
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil { // only options can be wrong
		return entry
	}
	return w.EncodeAll(entry, append(make([]byte, 0, len(entry)/8), packed))
}

func unpack(entry []byte) ([]byte, error) {
	if len(entry) == 0 || entry[0] != packed {
		return entry, nil
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(entry[1:], nil)
}
