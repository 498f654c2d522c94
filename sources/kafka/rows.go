package kafka

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/wire"
	"streamlab/sql/types"
)

// rows collects records into record batches of the columns that are wanted.
type rows struct {
	schema    types.Schema
	arrow     *arrow.Schema
	tp        wire.TopicPartition
	want      [8]*columnar.Vec // by position in the schema; nil: not read
	list      []*columnar.Vec
	n         int
	last      int64 // offset of the record added last
	bytes     int
	room      int
	columns   []int
	most      int // records, and mostBytes of keys, values and headers, that are collected at most
	mostBytes int
	full      func() error           // called before more are collected; it must flush, or use the vectors and call again
	learned   func(keys, values int) // told the mean lengths, rounded up; may be nil
}

// flushBytes is about how many bytes of keys, values and headers a record batch holds; lentBytes are enough for those
// that are lent, so that they stay in the core's cache.
const (
	flushBytes = 16 << 20
	lentBytes  = 512 << 10
)

// newRows has room for so many rows, and for so many bytes of the key and the value of each.
func newRows(s types.Schema, columns []int, tp wire.TopicPartition, room, key, value int64) *rows {
	if columns == nil {
		for i := range s {
			columns = append(columns, i)
		}
	}
	r := &rows{tp: tp, columns: columns, room: int(room), most: columnar.MaxBatch, mostBytes: flushBytes}
	for _, c := range columns {
		r.schema = append(r.schema, s[c])
	}
	r.arrow = r.schema.Arrow()
	r.begin(int(room*key), int(room*value))
	return r
}

// begin makes vectors for the next record batch; keys and values are the bytes to expect.
func (r *rows) begin(keys, values int) {
	for i, c := range r.columns {
		v := columnar.NewVec(r.schema[i].Type, 0)
		switch c {
		case 0, 1, 2:
			v.Off = append(make([]int32, 0, r.room+1), 0)
			expect := [3]int{keys, values, 0}[c]
			v.Data = make([]byte, 0, min(expect+expect/16, flushBytes)) // lengths vary a little
		case 3, 6:
			v.I32 = make([]int32, 0, r.room)
		case 4, 5:
			v.I64 = make([]int64, 0, r.room)
		}
		r.want[c] = v
	}
	r.n, r.bytes = 0, 0
}

// again begins the next records in the same vectors.
func (r *rows) again() {
	for i, c := range r.columns {
		v := r.want[c]
		switch {
		case c == 7:
			r.want[c] = columnar.NewVec(r.schema[i].Type, 0) // lists of structs: rare
		case v.Off != nil:
			v.Off, v.Data = v.Off[:1], v.Data[:0]
		}
		v.I32, v.I64, v.Valid = v.I32[:0], v.I64[:0], nil
	}
	r.n, r.bytes = 0, 0
}

// add takes the records of a batch that lie in [from, until).
func (r *rows) add(b *wire.Batch, from, until int64) error {
	var rec wire.Record
	key, value, topic, part, offset, when, kind, headers := r.want[0], r.want[1], r.want[2], r.want[3], r.want[4], r.want[5], r.want[6], r.want[7]
	timeKind := int32(0)
	if b.AppendTime {
		timeKind = 1
	}
	for {
		ok, err := b.Next(&rec)
		if err != nil {
			return errs.Wrap(err, "KAFKA_BAD_RECORDS", "topicPartition", r.tp, "detail", err.Error())
		}
		if !ok || rec.Offset >= until {
			return nil
		}
		if rec.Offset < from {
			continue
		}
		if r.n == r.most || r.bytes >= r.mostBytes {
			if err := r.full(); err != nil {
				return err
			}
			key, value, topic, part, offset, when, kind, headers = r.want[0], r.want[1], r.want[2], r.want[3], r.want[4], r.want[5], r.want[6], r.want[7]
		}
		if key != nil {
			appendBytes(key, r.n, rec.Key)
		}
		if value != nil {
			appendBytes(value, r.n, rec.Value)
		}
		if topic != nil {
			topic.Data = append(topic.Data, r.tp.Topic...)
			topic.Off = append(topic.Off, int32(len(topic.Data)))
		}
		if part != nil {
			part.I32 = append(part.I32, r.tp.Partition)
		}
		if offset != nil {
			offset.I64 = append(offset.I64, rec.Offset)
		}
		if when != nil {
			if rec.Timestamp > math.MaxInt64/1000 || rec.Timestamp < math.MinInt64/1000 {
				return errs.New("KAFKA_MALFORMED_RECORD_TIMESTAMP", "topic", r.tp.Topic, "partition", r.tp.Partition,
					"offset", rec.Offset, "timestamp", rec.Timestamp)
			}
			when.I64 = append(when.I64, rec.Timestamp*1000)
		}
		if kind != nil {
			kind.I32 = append(kind.I32, timeKind)
		}
		if headers != nil {
			if err := r.addHeaders(headers, &rec); err != nil {
				return errs.Wrap(err, "KAFKA_BAD_RECORDS", "topicPartition", r.tp, "detail", err.Error())
			}
		}
		r.n++
		r.last = rec.Offset
		r.bytes += len(rec.Key) + len(rec.Value)
	}
}

// appendBytes adds row i to a column of bytes; nil is null.
func appendBytes(v *columnar.Vec, i int, b []byte) {
	if b == nil {
		setNull(v, i)
	} else if v.Valid != nil {
		setValid(v, i)
	}
	v.Data = append(v.Data, b...)
	v.Off = append(v.Off, int32(len(v.Data)))
}

func setNull(v *columnar.Vec, i int) {
	if v.Valid == nil {
		v.MakeValid(i)
	}
	for len(v.Valid) < columnar.Words(i+1) {
		v.Valid = append(v.Valid, ^uint64(0))
	}
	columnar.ClearBit(v.Valid, i)
}

func setValid(v *columnar.Vec, i int) {
	for len(v.Valid) < columnar.Words(i+1) {
		v.Valid = append(v.Valid, ^uint64(0))
	}
	columnar.SetBit(v.Valid, i)
}

// addHeaders adds a list of (key, value); a record without headers has null, not an empty list.
func (r *rows) addHeaders(v *columnar.Vec, rec *wire.Record) error {
	if rec.Headers == 0 {
		setNull(v, r.n)
	} else if v.Valid != nil {
		setValid(v, r.n)
	}
	item := v.Kids[0]
	names, values := item.Kids[0], item.Kids[1]
	for range rec.Headers {
		k, b, err := rec.Header()
		if err != nil {
			return err
		}
		appendBytes(names, item.Len, k)
		appendBytes(values, item.Len, b)
		item.Len++
		names.Len, values.Len = item.Len, item.Len
		r.bytes += len(k) + len(b)
	}
	v.Off = append(v.Off, int32(item.Len))
	return nil
}

// capacity is about how many bytes the vectors have room for.
func (r *rows) capacity() int {
	n := 0
	for _, c := range r.columns {
		n += cap(r.want[c].Data)
	}
	return n
}

// vecs gives what was collected, a vector a column; the slice is valid until the next call.
func (r *rows) vecs() []*columnar.Vec {
	r.list = r.list[:0]
	for _, c := range r.columns {
		r.want[c].Len = r.n
		r.list = append(r.list, r.want[c])
	}
	return r.list
}

// flush gives what was collected and begins anew.
func (r *rows) flush() arrow.RecordBatch {
	rb := columnar.Record(r.arrow, r.vecs(), columnar.AllRows(r.n))
	keys, values := 0, 0
	if v := r.want[0]; v != nil {
		keys = len(v.Data)
	}
	if v := r.want[1]; v != nil {
		values = len(v.Data)
	}
	if r.learned != nil && r.n >= 1024 {
		r.learned((keys+r.n-1)/r.n, (values+r.n-1)/r.n)
	}
	r.begin(keys, values)
	return rb
}
