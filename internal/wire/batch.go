package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/segmentio/kafka-go/compress"
)

const (
	batchHeader = 61 // bytes of a record batch before its records
	crcFrom     = 21 // what the checksum covers begins here
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Batch is a record batch of format 2, decompressed; Next walks its records.
type Batch struct {
	Base         int64 // offset of the first record as it was written
	Last         int64 // offset of the last; compaction may have removed the record itself
	First        int64 // time of the first record in ms
	Max          int64 // largest time; with AppendTime the time of every record
	Producer     int64
	Count        int32
	AppendTime   bool // times are the broker's
	Transactions bool // written in a transaction
	Control      bool // holds markers, no data

	rest []byte
	left int32
}

// A Record is one record; its bytes alias the batch. Nil and empty keys and values differ.
type Record struct {
	Offset    int64
	Timestamp int64 // ms
	Key       []byte
	Value     []byte
	Headers   int    // number of headers
	headers   []byte // not yet read
}

// NextBatch reads the batch at the front of b and what follows it; ok is false when b holds no whole batch
// any more. space is a buffer for decompression. The checksum is compared.
func NextBatch(b []byte, space *[]byte) (x Batch, rest []byte, ok bool, err error) {
	if len(b) < 17 {
		return x, nil, false, nil
	}
	be := binary.BigEndian
	size := 12 + int(int32(be.Uint32(b[8:])))
	if magic := b[16]; magic != 2 {
		return x, nil, false, fmt.Errorf("record format %d, older than Kafka 0.11, is not read", magic)
	}
	if size < batchHeader {
		return x, nil, false, fmt.Errorf("a record batch of %d bytes", size)
	}
	if len(b) < size {
		return x, nil, false, nil
	}
	rest, b = b[size:], b[:size]
	if have, want := crc32.Checksum(b[crcFrom:], castagnoli), be.Uint32(b[17:]); have != want {
		return x, nil, false, fmt.Errorf("the record batch at offset %d has the checksum %08x, not %08x", be.Uint64(b), have, want)
	}
	attributes := be.Uint16(b[21:])
	x = Batch{Base: int64(be.Uint64(b)), First: int64(be.Uint64(b[27:])), Max: int64(be.Uint64(b[35:])),
		Producer: int64(be.Uint64(b[43:])), Count: int32(be.Uint32(b[57:])),
		AppendTime: attributes&8 != 0, Transactions: attributes&16 != 0, Control: attributes&32 != 0}
	delta := int32(be.Uint32(b[23:]))
	if delta < 0 || x.Count < 0 || x.Base < 0 {
		return x, nil, false, x.broken()
	}
	x.Last = x.Base + int64(delta)
	x.rest, x.left = b[batchHeader:], x.Count
	if code := compress.Compression(attributes & 7); code != compress.None {
		codec := code.Codec()
		if codec == nil {
			return x, nil, false, fmt.Errorf("the compression %d is not known", code)
		}
		r := codec.NewReader(bytes.NewReader(x.rest))
		out := bytes.NewBuffer((*space)[:0])
		limit := unpacked(len(x.rest))
		n, err := io.Copy(out, io.LimitReader(r, limit+1))
		if err == nil && n > limit {
			err = fmt.Errorf("%d bytes become more than %d", len(x.rest), limit)
		}
		if cerr := r.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return x, nil, false, fmt.Errorf("decompressing the record batch at offset %d: %w", x.Base, err)
		}
		*space = out.Bytes()
		x.rest = *space
	}
	return x, rest, true, nil
}

// unpacked is how many bytes n compressed ones may become: more is no data but an attack on the memory.
func unpacked(n int) int64 { return min(1<<20+1000*int64(n), 1<<30) }

// Abort says whether a control batch ends a transaction by undoing it.
func (x Batch) Abort() bool {
	var r Record
	ok, err := x.Next(&r)
	return err == nil && ok && len(r.Key) >= 4 && binary.BigEndian.Uint16(r.Key[2:]) == 0
}

// Next reads the next record into r; false at the end.
func (x *Batch) Next(r *Record) (bool, error) {
	if x.left <= 0 {
		if len(x.rest) > 0 { // more than its header says: to pass over records is to lose them
			return false, x.broken()
		}
		return false, nil
	}
	x.left--
	b := x.rest
	size, n := varint(b)
	if n <= 0 || size < 1 || size > int64(len(b)-n) {
		return false, x.broken()
	}
	x.rest = b[n+int(size):]
	b = b[n+1 : n+int(size)] // the attributes' byte says nothing
	when, n := varint(b)
	if n <= 0 {
		return false, x.broken()
	}
	b = b[n:]
	delta, n := varint(b)
	if n <= 0 || delta < 0 || delta > x.Last-x.Base {
		return false, x.broken()
	}
	b = b[n:]
	r.Offset, r.Timestamp = x.Base+delta, x.First+when
	if x.AppendTime {
		r.Timestamp = x.Max
	}
	var ok bool
	if r.Key, b, ok = counted(b); !ok {
		return false, x.broken()
	}
	if r.Value, b, ok = counted(b); !ok {
		return false, x.broken()
	}
	count, n := varint(b)
	if n <= 0 || count < 0 || count > int64(len(b)) {
		return false, x.broken()
	}
	r.Headers, r.headers = int(count), b[n:]
	return true, nil
}

func (x *Batch) broken() error { return fmt.Errorf("the record batch at offset %d is broken", x.Base) }

// Header reads the next header; call it r.Headers times.
func (r *Record) Header() (key, value []byte, err error) {
	key, b, ok := counted(r.headers)
	if ok {
		value, b, ok = counted(b)
	}
	if !ok || key == nil {
		return nil, nil, fmt.Errorf("the headers of the record at offset %d are broken", r.Offset)
	}
	r.headers = b
	return key, value, nil
}

var empty = []byte{}

// counted reads a length and as many bytes; -1 is nil.
func counted(b []byte) (v, rest []byte, ok bool) {
	size, n := varint(b)
	if n <= 0 {
		return nil, nil, false
	}
	b = b[n:]
	switch {
	case size == -1:
		return nil, b, true
	case size == 0:
		return empty, b, true
	case size < 0 || size > int64(len(b)):
		return nil, nil, false
	}
	return b[:size:size], b[size:], true
}

// varint reads a zigzag number and its length; one byte and two are by far the most frequent.
func varint(b []byte) (int64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return int64(b[0]>>1) ^ -int64(b[0]&1), 1
	}
	return longVarint(b)
}

func longVarint(b []byte) (int64, int) {
	if len(b) > 1 && b[1] < 0x80 {
		x := uint64(b[0]&0x7f) | uint64(b[1])<<7
		return int64(x>>1) ^ -int64(x&1), 2
	}
	return binary.Varint(b)
}

// Behind is the offset behind the last whole batch of b, from the headers alone; false if there is none.
func Behind(b []byte) (offset int64, ok bool) {
	be := binary.BigEndian
	for len(b) >= batchHeader {
		size := 12 + int(int32(be.Uint32(b[8:])))
		if size < batchHeader || size > len(b) {
			break
		}
		offset, ok = int64(be.Uint64(b))+int64(int32(be.Uint32(b[23:])))+1, true
		b = b[size:]
	}
	return offset, ok
}
