//go:build cgo

package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"streamlab/tui/screen"
)

// Every point and sink is tried with a real kill; what the lab says is what the sink holds, and the promise of
// the sink is kept.
func TestEveryPointAndSink(t *testing.T) {
	t.Setenv("STREAMLAB_TEST_AS_PROGRAM", "1")
	l := newCrashDesk(&app{})
	defer l.close()
	passed := map[string]int{}
	// All take a minute and more; these show every kind of answer. STREAMLAB_ALL_CRASHES=1 tries all.
	some := []string{"plan.begin", "plan.after_wal", "sink.stage.mid", crashHalfWay, "sink.commit.before", "sink.commit.after", "commit.after"}
	all := os.Getenv("STREAMLAB_ALL_CRASHES") == "1"
	for _, s := range crashSinks {
		for _, p := range crashPoints {
			if !all && !slices.Contains(some, p.Name) && (s.Key != "file" || !strings.HasPrefix(p.Name, "state.")) {
				continue
			}
			r, err := l.Crash(context.Background(), s.Key, p.Name)
			if err != nil {
				t.Fatalf("%s at %s: %v", s.Key, p.Name, err)
			}
			if r.NotPassed {
				// Only points inside a sink may be no points of it.
				if !strings.HasPrefix(p.Name, "sink.") {
					t.Errorf("%s does not pass %s", s.Key, p.Name)
				}
				continue
			}
			passed[p.Name]++
			if !r.Kept || r.Lost > 0 {
				t.Errorf("%s at %s breaks its promise %s: %d lost, %d doubled", s.Key, p.Name, r.Promise, r.Lost, r.Duplicates)
			}
			if r.SourceRows != crashRows*crashBatches || r.SinkRows != r.SourceRows+r.Duplicates-r.Lost {
				t.Errorf("%s at %s: %d source rows, %d sink rows, %d doubled, %d lost", s.Key, p.Name, r.SourceRows, r.SinkRows, r.Duplicates, r.Lost)
			}
			var sum int64
			for _, row := range r.Rows {
				sum += row.SinkRows
			}
			if sum != r.SinkRows {
				t.Errorf("%s at %s: the runs wrote %d rows, the sink holds %d", s.Key, p.Name, sum, r.SinkRows)
			}
			if c, ok := l.checkpoint(r.Checkpoint); !ok || !exists(c.checkpoint) {
				t.Errorf("%s at %s: no checkpoint of the crash", s.Key, p.Name)
			}
		}
	}
	for _, p := range crashPoints {
		if passed[p.Name] == 0 && (all || slices.Contains(some, p.Name)) {
			t.Errorf("no sink passes %s", p.Name)
		}
	}
	for _, c := range []struct {
		sink, point string
		doubled     int64
	}{{"foreachBatch", crashHalfWay, crashRows / 2}, {"idempotent", crashHalfWay, 0}, {"foreachBatch", "sink.commit.after", crashRows}, {"foreachBatch", "sink.commit.before", 0}, {"idempotent", "sink.commit.after", 0},
		{"kafka", "sink.commit.after", crashRows}, {"file", "sink.commit.after", 0}, {"foreachBatch", "commit.after", 0}} {
		for _, r := range l.CrashPlan().Tried {
			if r.Sink == c.sink && r.Point == c.point && r.Duplicates != c.doubled {
				t.Errorf("%s at %s: %d doubled, want %d", c.sink, c.point, r.Duplicates, c.doubled)
			}
		}
	}
}

// The checkpoint of a crash can be looked at as that of any query: records, state, what a restart would do.
func TestTheCheckpointOfACrashCanBeOpened(t *testing.T) {
	t.Setenv("STREAMLAB_TEST_AS_PROGRAM", "1")
	t.Setenv("STREAMLAB_CONFIG", t.TempDir())
	t.Chdir(t.TempDir())
	ctx := context.Background()
	g := newGallery(&app{}, true)
	defer g.crashDesk.close()
	w, err := g.Open(ctx, "numbers")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(ctx)
	r, err := w.(screen.CrashBench).Crash(ctx, "delta", "sink.commit.after")
	if err != nil {
		t.Fatal(err)
	}
	info, err := w.Checkpoint(ctx, r.Checkpoint)
	if err != nil || info.Problem != nil {
		t.Fatalf("%v %+v", err, info)
	}
	last := info.Batches[len(info.Batches)-1]
	if last.ID != crashBatch || !last.Offsets || last.Commit {
		t.Errorf("the batch that was hit is %+v", last)
	}
	b, err := w.CheckpointBatch(ctx, r.Checkpoint, crashBatch)
	if err != nil || b.HasCommit || !strings.Contains(b.OffsetsText, `"offset":300`) {
		t.Errorf("%v %+v", err, b)
	}
	if s, err := w.State(ctx, r.Checkpoint, crashBatch-1, 0, "", 1000); err != nil || s.Total != crashRows*crashBatch {
		t.Errorf("%v: %d rows of state", err, s.Total)
	}
}

func TestCrashPrintsWhatHappened(t *testing.T) {
	t.Setenv("STREAMLAB_TEST_AS_PROGRAM", "1")
	code, out := runApp(t, t.TempDir(), "crash")
	if code != 0 || !strings.Contains(out, "source rows 400   sink rows 500   duplicates 100   lost 0") || !strings.Contains(out, "commits/2  missing") {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out = runApp(t, t.TempDir(), "crash", "--sink", "idempotent", "-o", "json")
	if code != 0 || !strings.Contains(out, `"duplicates":0,"kept":true`) || !strings.Contains(out, `"log":"reused","run":3,"sinkRows":0`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	for args, want := range map[string]int{"crash --sink paper": 3, "crash --at lunch": 3, "crash --list": 0, "crash --sink file --at sink.commit.after@1": 3} {
		if code, out := runApp(t, t.TempDir(), strings.Fields(args)...); code != want {
			t.Errorf("%s: exit %d, want %d\n%s", args, code, want, out)
		}
	}
}
