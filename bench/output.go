package bench

import (
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// A Sum is a number of rows and their checksum, whatever their order; peers/canon.py has the definition.
type Sum struct {
	Rows  int64
	total uint64
}

// Add adds a row: its cells as text, with U+001F between them.
func (s *Sum) Add(row []byte) {
	h := md5.Sum(row)
	s.total += binary.LittleEndian.Uint64(h[:8])
	s.Rows++
}

func (s *Sum) merge(o Sum) { s.Rows, s.total = s.Rows+o.Rows, s.total+o.total }

func (s *Sum) String() string { return fmt.Sprintf("%016x", s.total) }

// An output takes the rows of a limit. It reads every cell, as the sink of the engine does, or makes the checksum
// of them. It belongs to one worker.
type output struct {
	check bool
	dir   string // of files
	rows  int64
	fold  uint64
	sum   Sum
	buf   []byte
}

func (o *output) i64(v int64) {
	if o.check {
		o.buf = append(strconv.AppendInt(o.buf, v, 10), 0x1f)
		return
	}
	o.fold = o.fold*31 + uint64(v)
}

func (o *output) f64(v float64) {
	if o.check {
		o.buf = append(appendDouble(o.buf, v), 0x1f)
		return
	}
	o.fold = o.fold*31 + math.Float64bits(v)
}

func (o *output) text(v []byte) {
	if o.check {
		o.buf = append(append(o.buf, v...), 0x1f)
		return
	}
	for _, c := range v {
		o.fold = o.fold*31 + uint64(c)
	}
}

func (o *output) null() {
	if o.check {
		o.buf = append(o.buf, '\\', 'N', 0x1f)
	}
}

func (o *output) bool(v bool) {
	if o.check {
		o.buf = append(strconv.AppendBool(o.buf, v), 0x1f)
		return
	}
	if v {
		o.fold++
	}
}

func (o *output) end() {
	o.rows++
	if o.check {
		o.sum.Add(o.buf[:len(o.buf)-1])
		o.buf = o.buf[:0]
	}
}

// appendDouble puts a double on a grid that no exact result lies on the edges of, so that the order of a
// summation does not matter.
func appendDouble(b []byte, f float64) []byte {
	return strconv.AppendInt(b, int64(math.Floor(f*10_000+0.314159)), 10)
}
