// Package sourcetest checks that a source keeps the protocol of package sources: the same range gives the
// same rows, also after a restart; nothing is lost and nothing comes twice; an end that was planned is
// found again.
package sourcetest

import (
	"context"
	"fmt"
	"iter"
	"sort"
	"strings"
	"testing"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/sources"
	"streamlab/sql/types"
)

// Log is a sources.Log in memory; it outlives the sources that use it, as a checkpoint does.
type Log struct {
	Entries map[int64][]byte
	Keys    map[string][]byte
}

// NewLog makes an empty log.
func NewLog() *Log { return &Log{Entries: map[int64][]byte{}, Keys: map[string][]byte{}} }

// Add keeps an entry; an entry that is there already is an error.
func (l *Log) Add(n int64, entry []byte) error {
	if _, ok := l.Entries[n]; ok {
		return fmt.Errorf("entry %d is there already", n)
	}
	l.Entries[n] = append([]byte(nil), entry...)
	return nil
}

// Get finds an entry.
func (l *Log) Get(n int64) ([]byte, bool, error) {
	e, ok := l.Entries[n]
	return e, ok, nil
}

// Latest is the entry with the largest number.
func (l *Log) Latest() (int64, []byte, bool, error) {
	best := int64(-1)
	for n := range l.Entries {
		best = max(best, n)
	}
	e, ok := l.Entries[best]
	return best, e, ok, nil
}

// From gives the entries from n on, ascending.
func (l *Log) From(n int64) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		var ids []int64
		for id := range l.Entries {
			if id >= n {
				ids = append(ids, id)
			}
		}
		sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
		for _, id := range ids {
			if !yield(id, l.Entries[id]) {
				return
			}
		}
	}
}

// PutKey keeps a value under a name.
func (l *Log) PutKey(key string, value []byte) error {
	l.Keys[key] = append([]byte(nil), value...)
	return nil
}

// Key finds a value.
func (l *Log) Key(key string) ([]byte, bool, error) {
	v, ok := l.Keys[key]
	return v, ok, nil
}

// Rows reads the rows of partitions as texts, fields joined by '|', in order.
func Rows(t testing.TB, s types.Schema, parts []columnar.Partition) []string {
	t.Helper()
	var out []string
	for _, p := range parts {
		for rb, err := range p.Rows(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			vs := columnar.Vectors(rb, s)
			for i := range int(rb.NumRows()) {
				var b []byte
				for c := range vs {
					if c > 0 {
						b = append(b, '|')
					}
					b = codec.AppendDisplay(b, &vs[c], i, nil)
				}
				out = append(out, string(b))
			}
		}
	}
	return out
}

// Batch plans and reads the next batch; end is start if there is none.
func Batch(t testing.TB, s sources.Source, start sources.Offset, limit sources.ReadLimit) (end sources.Offset, rows []string) {
	t.Helper()
	end, err := s.LatestOffset(context.Background(), start, limit)
	if err != nil {
		t.Fatal(err)
	}
	if end == start || end == "" {
		return start, nil
	}
	parts, err := s.PlanPartitions(context.Background(), start, end)
	if err != nil {
		t.Fatal(err)
	}
	return end, Rows(t, s.Schema(), parts)
}

// Run checks a source. open opens it on a log; more makes new data appear, called several times.
func Run(t *testing.T, open func(log sources.Log) (sources.Source, error), more func(round int)) {
	ctx := context.Background()
	log := NewLog()
	start := func() sources.Source {
		s, err := open(log)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := start()
	at, err := s.InitialOffset(ctx)
	if err != nil {
		t.Fatal(err)
	}
	type planned struct {
		start, end sources.Offset
		rows       string
	}
	var batches []planned
	for round := range 6 {
		more(round)
		end, rows := Batch(t, s, at, sources.ReadLimit{})
		if end == at {
			continue
		}
		batches = append(batches, planned{at, end, strings.Join(rows, "\n")})
		parts, err := s.PlanPartitions(ctx, at, end)
		if err != nil {
			t.Fatal(err)
		}
		if again := strings.Join(Rows(t, s.Schema(), parts), "\n"); again != strings.Join(rows, "\n") {
			t.Fatalf("round %d: the same range gave other rows:\n%s\n%s", round, strings.Join(rows, "\n"), again)
		}
		switch round % 3 {
		case 1: // as after a crash: the batch is planned, not committed
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = start()
			parts, err := s.PlanPartitions(ctx, at, end)
			if err != nil {
				t.Fatal(err)
			}
			if again := strings.Join(Rows(t, s.Schema(), parts), "\n"); again != strings.Join(rows, "\n") {
				t.Fatalf("round %d: the range gave other rows after a restart:\n%s\n%s", round, strings.Join(rows, "\n"), again)
			}
		case 2:
			if err := s.Commit(ctx, at); err != nil {
				t.Fatal(err)
			}
		}
		at = end
	}
	if len(batches) < 3 {
		t.Fatalf("only %d batches", len(batches))
	}
	for i := 1; i < len(batches); i++ {
		if batches[i].start != batches[i-1].end {
			t.Fatalf("batch %d starts at %s, not %s", i, batches[i].start, batches[i-1].end)
		}
		if batches[i].rows == batches[i-1].rows {
			t.Fatalf("batch %d has the rows of the one before:\n%s", i, batches[i].rows)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
