//go:build cgo

package main

import (
	"context"
	"strings"
	"testing"

	"streamlab/errs"
	"streamlab/tui/screen"
)

const pastLab = `
sources: {lines: {format: text, path: in, options: {maxFilesPerTrigger: 1}}}
queries:
  - {queryName: q, from: lines, format: json, trigger: {availableNow: true}, options: {checkpointLocation: chk, path: out}}
  - {queryName: t, from: lines, format: memory, trigger: {availableNow: true}}
`

// reopened opens the lab of b once more, as after the program was started again, and waits until it has read what
// was before.
func (b *localLab) reopened(t *testing.T, noStart bool) *localLab {
	t.Helper()
	file := b.w.Lab.File
	if b.reading != nil { // what it has seen of the checkpoint, it saw before the next one looks
		_ = b.reading.Wait()
	}
	if err := b.w.Close(); err != nil {
		t.Fatal(err)
	}
	b.log.end()
	a := &app{in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}}
	w, err := newGallery(a, noStart).Open(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	again := w.(*localLab)
	t.Cleanup(func() { again.w.Close(); again.log.end() })
	if err := again.reading.Wait(); err != nil {
		t.Fatal(err)
	}
	return again
}

func batchesOf(b *localLab, query string) (out []int64) {
	for _, q := range b.Queries() {
		if q.Name == query {
			for _, p := range q.Progress {
				out = append(out, p.BatchID)
			}
		}
	}
	return out
}

// After a restart the batches are listed, with their phases, and what one sent can be looked at.
func TestWhatRanBeforeIsListed(t *testing.T) {
	ctx := context.Background()
	b := opened(t, pastLab)
	b.settle(t, "q")
	b = b.reopened(t, true)
	if got := batchesOf(b, "q"); len(got) != 3 || got[0] != 0 || got[2] != 2 {
		t.Fatalf("listed %v", got)
	}
	s := b.Queries()[0]
	if p := s.Last(); s.BatchID != 2 || p.RowsIn != 1 || p.RowsOut != 1 || len(p.Phases) == 0 || !strings.Contains(p.JSON(), `"batchId"`) {
		t.Errorf("%+v", p)
	}
	r, err := b.BatchRows(ctx, "q", 1, 10)
	if err != nil || len(r.Rows) != 1 || r.Rows[0][0].Text != "x" || r.Total != 1 || r.Note == "" {
		t.Errorf("%v %+v", err, r)
	}
	if _, err := b.BatchRows(ctx, "q", 7, 10); !errs.Has(err, "ROWS_NOT_KEPT") {
		t.Error(err)
	}
	// A rewind takes batches from the list, the next run puts others behind those that are left.
	if err := b.Do(ctx, screen.Command{Verb: screen.Rewind, Query: "q", Batch: 0}); err != nil {
		t.Fatal(err)
	}
	if got := batchesOf(b, "q"); len(got) != 1 {
		t.Errorf("after the rewind: %v", got)
	}
	if err := b.Do(ctx, screen.Command{Verb: screen.Start, Query: "q"}); err != nil {
		t.Fatal(err)
	}
	b.settle(t, "q")
	if got := batchesOf(b, "q"); len(got) < 2 || got[0] != 0 || got[1] != 1 {
		t.Errorf("after the next run: %v", got)
	}
	if err := b.Do(ctx, screen.Command{Verb: screen.Rewind, Query: "q", Batch: 0}); err != nil {
		t.Fatal(err)
	}
	if got := batchesOf(b, "q"); len(got) != 1 || b.Queries()[0].BatchID != 0 {
		t.Errorf("after the rewind of this run: %v, newest %d", got, b.Queries()[0].BatchID)
	}
}

// Runs of one session follow each other in the list.
func TestARunDoesNotHideTheOneBefore(t *testing.T) {
	ctx := context.Background()
	b := opened(t, pastLab)
	b.settle(t, "q")
	_ = b.Queries()
	for range 2 {
		if err := b.Do(ctx, screen.Command{Verb: screen.Start, Query: "q"}); err != nil {
			t.Fatal(err)
		}
		b.settle(t, "q")
		if got := batchesOf(b, "q"); len(got) != 3 {
			t.Errorf("listed %v", got)
		}
	}
}

// A temporary checkpoint goes with the run: who wants to look into a batch then is told so, and the way out.
func TestTemporaryCheckpointsSaySo(t *testing.T) {
	b := opened(t, pastLab)
	b.settle(t, "t")
	_, err := b.Trace(context.Background(), "t", 0, screen.TraceOptions{})
	if !errs.Has(err, "TRACE_TEMPORARY") || !strings.Contains(errs.As(err).Hint, "checkpointLocation") {
		t.Error(err)
	}
}
