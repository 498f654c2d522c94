package kafka

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/segmentio/kafka-go/compress"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/wire"
	"streamlab/sources/sourcetest"
)

// recordBatch is a batch of records v<base>, v<base+1>, …
func recordBatch(t *testing.T, base int64, n int, change func(b []byte)) []byte {
	t.Helper()
	var x wire.Builder
	for i := range n {
		x.Add(nil, fmt.Appendf(nil, "v%d", base+int64(i)), nil, 5)
	}
	raw, err := x.Finish(compress.None)
	if err != nil {
		t.Fatal(err)
	}
	b := append([]byte(nil), raw...)
	binary.BigEndian.PutUint64(b, uint64(base))
	if change != nil {
		change(b)
	}
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// Places in a record batch.
const (
	atLength, atMagic, atCRC, atAttributes, atLastDelta, atMaxTime, atProducer, atCount, atRecords = 8, 16, 17, 21, 23, 35, 43, 57, 61
)

func put16(at int, v uint16) func([]byte) {
	return func(b []byte) { binary.BigEndian.PutUint16(b[at:], v) }
}
func put32(at int, v uint32) func([]byte) {
	return func(b []byte) { binary.BigEndian.PutUint32(b[at:], v) }
}

// producedBy marks a batch of a transaction; control ones end it.
func producedBy(producer uint64, control bool) func([]byte) {
	return func(b []byte) {
		attributes := uint16(16)
		if control {
			attributes |= 32
		}
		binary.BigEndian.PutUint16(b[atAttributes:], attributes)
		binary.BigEndian.PutUint64(b[atProducer:], producer)
	}
}

// marker ends a transaction: kind 0 undoes it, kind 1 keeps it.
func marker(t *testing.T, base int64, producer uint64, kind byte) []byte {
	t.Helper()
	var x wire.Builder
	x.Add([]byte{0, 0, 0, kind}, []byte{0, 0, 0, 0, 0, 0}, nil, 5)
	raw, err := x.Finish(compress.None)
	if err != nil {
		t.Fatal(err)
	}
	b := append([]byte(nil), raw...)
	binary.BigEndian.PutUint64(b, uint64(base))
	producedBy(producer, true)(b)
	binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// walked gives the values that an answer of a broker has for offsets [0, 100), and where reading goes on.
func walked(t *testing.T, committed bool, aborted []wire.Aborted, batches ...[]byte) (string, int64, error) {
	t.Helper()
	var records []byte
	for _, b := range batches {
		records = append(records, b...)
	}
	tp := wire.TopicPartition{Topic: "t"}
	p := &part{reader: &reader{settings: &settings{committed: committed}}, span: span{tp, 0, 100}}
	var got []string
	take := func(rb arrow.RecordBatch, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		one := []columnar.Partition{columnar.Batches{List: []arrow.RecordBatch{rb}}}
		got = append(got, sourcetest.Rows(t, columns[1:2], one)...)
		return true
	}
	rows := newRows(p.schema(), []int{1}, tp, 100, 0, 0)
	var space []byte
	rows.full = func() error { take(rows.flush(), nil); return nil }
	next, _, err := p.walk(wire.Fetched{Records: records, Aborted: aborted}, 0, rows, &space)
	if rows.n > 0 {
		take(rows.flush(), nil)
	}
	text := strings.Join(got, " ")
	for i := range 30 {
		text = strings.ReplaceAll(text, fmt.Sprintf("[% X]", fmt.Sprintf("v%d", i)), fmt.Sprint(i))
	}
	return text, next, err
}

// What a broker may send and what is damaged on the way: gaps, markers and transactions are normal, everything
// that cannot be is an error by name and gives no row.
func TestKafkaAnswersOfAllKinds(t *testing.T) {
	b := func(base int64, n int, change func([]byte)) []byte { return recordBatch(t, base, n, change) }
	for _, x := range []struct {
		name      string
		committed bool
		aborted   []wire.Aborted
		batches   [][]byte
		rows      string
		next      int64
		fails     string // part of the error
	}{
		{name: "plain", batches: [][]byte{b(0, 2, nil), b(2, 1, nil)}, rows: "0 1 2", next: 3},
		{name: "a gap between batches", batches: [][]byte{b(0, 1, nil), b(7, 2, nil)}, rows: "0 7 8", next: 9},
		{name: "the last records compacted away", batches: [][]byte{b(0, 1, put32(atLastDelta, 4)), b(5, 1, nil)}, rows: "0 5", next: 6},
		{name: "all records compacted away", batches: [][]byte{emptyBatch(t, 0, 9), b(10, 1, nil)}, rows: "10", next: 11},
		{name: "the last batch cut off", batches: [][]byte{b(0, 2, nil), b(2, 5, nil)[:70]}, rows: "0 1", next: 2},
		{name: "hardly begun", batches: [][]byte{b(0, 2, nil), b(2, 5, nil)[:9]}, rows: "0 1", next: 2},
		{name: "records that are read by others", batches: [][]byte{b(99, 3, nil)}, rows: fmt.Sprintf("[% X]", "v99"), next: 102},
		{name: "markers", batches: [][]byte{b(0, 1, producedBy(7, false)), marker(t, 1, 7, 1), b(2, 1, nil)}, rows: "0 2", next: 3},
		{name: "undone, read as it comes", aborted: nil, batches: [][]byte{b(0, 2, producedBy(7, false)), marker(t, 2, 7, 0), b(3, 1, nil)}, rows: "0 1 3", next: 4},
		{name: "undone", committed: true, aborted: []wire.Aborted{{Producer: 7, First: 0}},
			batches: [][]byte{b(0, 2, producedBy(7, false)), b(2, 1, producedBy(8, false)), marker(t, 3, 7, 0), b(4, 1, producedBy(7, false)), marker(t, 5, 7, 1), marker(t, 6, 8, 1)},
			rows:    "2 4", next: 7},
		{name: "undone later", committed: true, aborted: []wire.Aborted{{Producer: 7, First: 3}},
			batches: [][]byte{b(0, 2, producedBy(7, false)), marker(t, 2, 7, 1), b(3, 2, producedBy(7, false)), marker(t, 5, 7, 0), b(6, 1, nil)}, rows: "0 1 6", next: 7},
		{name: "another checksum", batches: [][]byte{b(0, 1, nil), wrongSum(b(1, 2, nil))}, rows: "0", next: 1, fails: "checksum"},
		{name: "a record more than there are", batches: [][]byte{b(0, 2, put32(atCount, 3))}, fails: "broken"},
		{name: "two milliards of records", batches: [][]byte{b(0, 2, put32(atCount, math.MaxInt32))}, fails: "broken"},
		{name: "fewer records than none", batches: [][]byte{b(0, 2, put32(atCount, 0xffffffff))}, fails: "broken"},
		{name: "a record less than there are", batches: [][]byte{b(0, 2, put32(atCount, 1))}, fails: "broken"},
		{name: "an end before the beginning", batches: [][]byte{b(0, 2, put32(atLastDelta, 0xfffffff0))}, fails: "broken"},
		{name: "records behind the end", batches: [][]byte{b(0, 3, put32(atLastDelta, 1))}, fails: "broken"},
		{name: "a length below the header", batches: [][]byte{b(0, 2, put32(atLength, 3))}, fails: "record batch of"},
		{name: "a negative length", batches: [][]byte{b(0, 2, put32(atLength, 0x80000000))}, fails: "record batch of"},
		{name: "an unknown compression", batches: [][]byte{b(0, 2, put16(atAttributes, 6))}, fails: "compression"},
		{name: "no zstd", batches: [][]byte{b(0, 2, put16(atAttributes, 4))}, fails: "decompressing"},
		{name: "no gzip", batches: [][]byte{b(0, 2, put16(atAttributes, 1))}, fails: "decompressing"},
		{name: "an old format", batches: [][]byte{b(0, 2, func(b []byte) { b[atMagic] = 1 })}, fails: "record format 1"},
		{name: "a record longer than the batch", batches: [][]byte{b(0, 1, func(b []byte) { b[atRecords] = 0x7e })}, fails: "broken"},
		{name: "a value longer than its record", batches: [][]byte{b(0, 1, func(b []byte) { b[atRecords+5] = 0x7e })}, fails: "broken"},
		{name: "headers that are not there", batches: [][]byte{b(0, 1, func(b []byte) { b[len(b)-1] = 0x7e })}, fails: "broken"},
		{name: "a negative number of headers", batches: [][]byte{b(0, 1, func(b []byte) { b[len(b)-1] = 3 })}, fails: "broken"},
	} {
		rows, next, err := walked(t, x.committed, x.aborted, x.batches...)
		if x.fails != "" {
			if !errs.Has(err, "KAFKA_BAD_RECORDS") || !strings.Contains(err.Error(), x.fails) {
				t.Errorf("%s: %v", x.name, err)
			}
			if next != x.next {
				t.Errorf("%s: goes on at %d", x.name, next)
			}
			continue
		}
		if err != nil || rows != x.rows || next != x.next {
			t.Errorf("%s: %q up to %d, want %q up to %d; %v", x.name, rows, next, x.rows, x.next, err)
		}
	}
}

func wrongSum(b []byte) []byte {
	b[atCRC] ^= 1
	return b
}

// emptyBatch is what compaction leaves of a batch all of whose records are gone.
func emptyBatch(t *testing.T, base int64, lastDelta uint32) []byte {
	b := recordBatch(t, base, 1, nil)[:atRecords]
	put32(atLength, atRecords-12)(b)
	put32(atLastDelta, lastDelta)(b)
	put32(atCount, 0)(b)
	binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// Null and empty differ, a record without headers has null, a time of -1 is what Spark makes of it, and a topic
// whose times are the broker's has the broker's.
func TestKafkaRecordsWithOddParts(t *testing.T) {
	tp := wire.TopicPartition{Topic: "t"}
	read := func(change func([]byte), add func(x *wire.Builder)) string {
		var x wire.Builder
		add(&x)
		raw, err := x.Finish(compress.None)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(raw)
			binary.BigEndian.PutUint32(raw[atCRC:], crc32.Checksum(raw[atAttributes:], crc32.MakeTable(crc32.Castagnoli)))
		}
		p := &part{reader: &reader{settings: &settings{headers: true}}, span: span{tp, 0, 100}}
		rows := newRows(p.schema(), nil, tp, 100, 0, 0)
		var space []byte
		if _, _, err := p.walk(wire.Fetched{Records: raw}, 0, rows, &space); err != nil {
			return errs.As(err).Condition + " " + err.Error()
		}
		n := rows.n
		one := []columnar.Partition{columnar.Batches{List: []arrow.RecordBatch{rows.flush()}}}
		got := sourcetest.Rows(t, p.schema(), one)
		if len(got) != n {
			t.Fatal(got)
		}
		return strings.Join(got, " / ")
	}
	for _, x := range []struct {
		name   string
		change func([]byte)
		add    func(x *wire.Builder)
		want   string
	}{
		{"nulls", nil, func(x *wire.Builder) { x.Add(nil, nil, nil, 0) }, "NULL|NULL|t|0|0|1970-01-01 00:00:00|0|NULL"},
		{"empty", nil, func(x *wire.Builder) {
			x.Add([]byte{}, []byte{}, []wire.Header{{Key: "", Value: []byte{}}, {Key: "h"}}, 0)
		},
			"[]|[]|t|0|0|1970-01-01 00:00:00|0|[{, []}, {h, NULL}]"},
		{"headers now and then", nil, func(x *wire.Builder) {
			x.Add(nil, nil, nil, 0)
			x.Add(nil, nil, []wire.Header{{Key: "a", Value: []byte("1")}, {Key: "a", Value: []byte("2")}}, 0)
			x.Add(nil, nil, nil, 0)
		}, "NULL|NULL|t|0|0|1970-01-01 00:00:00|0|NULL / NULL|NULL|t|0|1|1970-01-01 00:00:00|0|[{a, [31]}, {a, [32]}] / NULL|NULL|t|0|2|1970-01-01 00:00:00|0|NULL"},
		{"no time", nil, func(x *wire.Builder) { x.Add(nil, nil, nil, -1) }, "NULL|NULL|t|0|0|1969-12-31 23:59:59.999|0|NULL"},
		{"the broker's time", func(b []byte) {
			put16(atAttributes, 8)(b)
			binary.BigEndian.PutUint64(b[atMaxTime:], 1000)
		}, func(x *wire.Builder) { x.Add(nil, nil, nil, -1) }, "NULL|NULL|t|0|0|1970-01-01 00:00:01|1|NULL"},
		{"a time of microseconds", nil, func(x *wire.Builder) { x.Add(nil, nil, nil, math.MaxInt64/10) }, "KAFKA_MALFORMED_RECORD_TIMESTAMP"},
		{"a header without a name", func(b []byte) { b[len(b)-3] = 1 }, func(x *wire.Builder) { x.Add(nil, nil, []wire.Header{{Key: "", Value: []byte("1")}}, 0) },
			"KAFKA_BAD_RECORDS"},
	} {
		if got := read(x.change, x.add); got != x.want && !(strings.HasPrefix(x.want, "KAFKA_") && strings.HasPrefix(got, x.want)) {
			t.Errorf("%s: %s\nwant %s", x.name, got, x.want)
		}
	}
}
