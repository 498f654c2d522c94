package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"crypto/sha256"
)

// Every value in the database is one version byte, one byte of flags, the payload and a CRC-32C over all
// of it. A payload larger than partSize is cut into parts.
const (
	recordVersion = 1
	frameSize     = 6

	flagSegmentEnd = 1 // the last part of a segment
	flagGroupEnd   = 2 // the last part of a group, or of a record in parts

	partSize    = 512<<10 - 64 // four parts fit into one transaction, none goes to the value log
	inlineLimit = 512 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errDamaged = errors.New("the checksum does not match")

func frame(flags byte, payload []byte) []byte {
	v := make([]byte, 0, len(payload)+frameSize)
	v = append(v, recordVersion, flags)
	v = append(v, payload...)
	return seal(v)
}

// seal appends the checksum.
func seal(v []byte) []byte {
	return binary.LittleEndian.AppendUint32(v, crc32.Checksum(v, castagnoli))
}

func unframe(v []byte) (flags byte, payload []byte, err error) {
	if len(v) < frameSize {
		return 0, nil, errDamaged
	}
	n := len(v) - 4
	if crc32.Checksum(v[:n], castagnoli) != binary.LittleEndian.Uint32(v[n:]) {
		return 0, nil, errDamaged
	}
	if v[0] != recordVersion {
		return 0, nil, fmt.Errorf("record format %d is unknown", v[0])
	}
	return v[1], v[2:n], nil
}

// A digest is the first half of a SHA-256.
type digest [16]byte

func digestOf(parts ...[]byte) digest {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return digest(h.Sum(nil)[:16])
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

func (d *digest) UnmarshalText(t []byte) error {
	if len(t) != 2*len(d) {
		return errors.New("a digest of wrong length")
	}
	_, err := hex.Decode(d[:], t)
	return err
}

// An offsetRecord is what o/<N> holds, as JSON. Its digest is its fingerprint; Prev is that of N-1.
type offsetRecord struct {
	Batch int64       `json:"batch"`
	Prev  digest      `json:"prev"`
	Entry OffsetEntry `json:"entry"`
}

func decodeOffsets(payload []byte) (offsetRecord, digest, error) {
	var r offsetRecord
	err := json.Unmarshal(payload, &r)
	return r, digestOf(payload), err
}

// A commitHeader is the JSON part of c/<N>. After it come the offset record of N+1, if it travels here,
// and the inline segments.
type commitHeader struct {
	Batch  int64       `json:"batch"`
	Prev   digest      `json:"prev"`    // digest of c/<N-1>
	Offset digest      `json:"offsets"` // fingerprint of o/<N>
	Low    int64       `json:"low"`     // lowest commit record that must still be there
	From   int64       `json:"from"`    // oldest retained batch before this one
	Entry  CommitEntry `json:"entry"`
	Groups []groupNote `json:"groups,omitempty"`
}

// A groupNote tells of one group that the batch wrote: the state digest is the chain over these.
type groupNote struct {
	Kind   byte   `json:"k"`
	Op     int    `json:"o"`
	Range  int    `json:"r,omitempty"`
	Store  string `json:"s,omitempty"`
	Bucket int64  `json:"b,omitempty"`
	Batch  int64  `json:"n"`
	Parts  int    `json:"p,omitempty"` // 0: inline
	Sizes  []int  `json:"z,omitempty"` // inline: bytes of each segment
	Sum    uint32 `json:"c"`           // CRC-32C over the segments
}

func (n groupNote) group() group {
	return group{n.Kind, Shard{n.Op, n.Range, n.Store}, n.Bucket, n.Batch}
}

type commitRecord struct {
	commitHeader
	digest digest
	next   []byte // payload of o/<N+1>, nil if it is not here
	inline []byte
	cut    [][]Segment // what segments gave; nil before
}

// encodeCommit makes the payload of c/<N>, framed and ready to be written.
func encodeCommit(h *commitHeader, next []byte, inline []Segment) ([]byte, digest, error) {
	head, err := json.Marshal(h)
	if err != nil {
		return nil, digest{}, err
	}
	size := len(head) + len(next) + 32
	for _, s := range inline {
		size += len(s)
	}
	v := make([]byte, 0, size)
	v = append(v, recordVersion, flagSegmentEnd|flagGroupEnd)
	v = binary.AppendUvarint(v, uint64(len(head)))
	v = append(v, head...)
	v = binary.AppendUvarint(v, uint64(len(next)))
	v = append(v, next...)
	for _, s := range inline {
		v = append(v, s...)
	}
	return seal(v), digestOf(head, next), nil
}

func decodeCommit(payload []byte) (*commitRecord, error) {
	head, rest, ok := cutBytes(payload)
	if !ok {
		return nil, errDamaged
	}
	next, rest, ok := cutBytes(rest)
	if !ok {
		return nil, errDamaged
	}
	r := &commitRecord{digest: digestOf(head, next), inline: rest}
	if len(next) > 0 {
		r.next = next
	}
	d := json.NewDecoder(bytes.NewReader(head))
	if err := d.Decode(&r.commitHeader); err != nil {
		return nil, err
	}
	return r, nil
}

func cutBytes(b []byte) (head, rest []byte, ok bool) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, false
	}
	return b[k : k+int(n)], b[k+int(n):], true
}

// segments gives the inline segments of each group, in the order of Groups; nil for those in parts.
func (r *commitRecord) segments() ([][]Segment, error) {
	if r.cut != nil {
		return r.cut, nil
	}
	out := make([][]Segment, len(r.Groups))
	rest := r.inline
	for i, n := range r.Groups {
		if n.Parts > 0 {
			continue
		}
		sum := uint32(0)
		for _, z := range n.Sizes {
			if z < 0 || z > len(rest) {
				return nil, errDamaged
			}
			sum = crc32.Update(sum, castagnoli, rest[:z])
			out[i] = append(out[i], Segment(slices.Clip(rest[:z])))
			rest = rest[z:]
		}
		if sum != n.Sum {
			return nil, errDamaged
		}
	}
	if len(rest) != 0 {
		return nil, errDamaged
	}
	r.cut = out
	return out, nil
}

// cutParts cuts segments into framed parts.
func cutParts(segments []Segment) [][]byte {
	var parts [][]byte
	for i, s := range segments {
		for {
			n := min(len(s), partSize)
			flags := byte(0)
			if n == len(s) {
				flags = flagSegmentEnd
				if i == len(segments)-1 {
					flags |= flagGroupEnd
				}
			}
			parts = append(parts, frame(flags, s[:n]))
			if s = s[n:]; len(s) == 0 {
				break
			}
		}
	}
	return parts
}

func sumOf(segments []Segment) (sum uint32) {
	for _, s := range segments {
		sum = crc32.Update(sum, castagnoli, s)
	}
	return sum
}
