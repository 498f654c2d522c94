package rate

import (
	"context"
	"testing"
	"time"

	"streamlab/sources"
	"streamlab/sources/sourcetest"
)

func TestContinuousOffsetsReadOnByEitherTrigger(t *testing.T) {
	ctx := context.Background()
	now := time.UnixMilli(1_700_000_000_000)
	log := sourcetest.NewLog()
	src, err := New(def(log, &now, "rowsPerSecond", "5"))
	if err != nil {
		t.Fatal(err)
	}
	s := src.(*source)
	at, _ := s.InitialOffset(ctx)
	rs, err := s.Readers(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Merge([]sources.Place{rs[0].Start(), rs[1].Start()})
	if err != nil || first != `{"0":{"value":-2,"runTimeMs":1700000000000},"1":{"value":-1,"runTimeMs":1700000000000}}` {
		t.Fatal(first, err)
	}
	now = now.Add(900 * time.Millisecond) // each partition has a row every 400 ms
	rb, a, err := rs[0].Next(ctx)
	if err != nil || rb.NumRows() != 2 {
		t.Fatal(rb, err)
	}
	end, err := s.Merge([]sources.Place{a, rs[1].Start()})
	if err != nil || end != `{"0":{"value":2,"runTimeMs":1700000000800},"1":{"value":-1,"runTimeMs":1700000000000}}` {
		t.Fatal(end, err)
	}
	// the epoch read again as a micro-batch has the same rows
	parts, err := s.PlanPartitions(ctx, at, end)
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	next, rows := sourcetest.Batch(t, s, end, sources.ReadLimit{})
	if len(rows) != 0 || next != end {
		t.Error("micro-batches go by whole seconds:", rows, next)
	}
	now = now.Add(1100 * time.Millisecond)
	next, rows = sourcetest.Batch(t, s, end, sources.ReadLimit{})
	if len(rows) != 3+5 || next != `{"0":{"value":8,"runTimeMs":1700000002000},"1":{"value":9,"runTimeMs":1700000002000}}` {
		t.Error(rows, next)
	}
	// seconds of micro-batches are places, too
	spots, err := s.spots("2")
	if err != nil || spots[0] != (spot{8, 1700000002000}) || spots[1] != (spot{9, 1700000002000}) {
		t.Error(spots, err)
	}
	if _, err := s.spots(`{"0":{"value":1,"runTimeMs":1}}`); err == nil {
		t.Error("an offset of one partition was taken for two")
	}
}
