package screen_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamlab/errs"
	"streamlab/tui/canvas"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

// on is a checkpoint screen that runs its jobs at once.
type on struct {
	t   *testing.T
	sh  *screen.Shared
	s   *screen.Checkpoint
	b   *screentest.Bench
	did []screen.Effect
}

func onCheckpoint(t *testing.T, query string) *on {
	b := screentest.New()
	x := &on{t: t, b: b, sh: &screen.Shared{Bench: b, Queries: b.Queries(), Now: screentest.Now, Zone: time.UTC, Class: screen.M}}
	x.s = screen.NewCheckpoint(x.sh, query, -1)
	x.run(x.s.Wake())
	return x
}

func (x *on) run(e screen.Effect) {
	x.t.Helper()
	for _, j := range e.Jobs {
		x.run(j.Run(context.Background())())
	}
	if e.Toast != "" || e.Error != nil || e.Ask != nil || e.Input != nil || e.View != nil || e.Copy != nil || e.Do != nil || e.Pop {
		x.did = append(x.did, e)
	}
}

func (x *on) do(as ...screen.Action) *on {
	x.t.Helper()
	for _, a := range as {
		x.run(x.s.Handle(a))
		x.frame()
	}
	return x
}

func (x *on) last() screen.Effect {
	if len(x.did) == 0 {
		return screen.Effect{}
	}
	return x.did[len(x.did)-1]
}

func (x *on) frame() string {
	cv := canvas.New(120, 34)
	x.s.Draw(cv.View())
	return cv.Text()
}

// The state of any size scrolls by pages: what is on the screen is asked for, and nothing else.
func TestAMillionKeysScroll(t *testing.T) {
	x := onCheckpoint(t, "clicks_1m")
	if !strings.Contains(x.frame(), "1,204,468") || !strings.Contains(x.frame(), "12:40:00, /home/kids") {
		t.Fatal(x.frame())
	}
	x.do(screen.NextPane)
	for range 60 {
		x.do(screen.PageDown)
	}
	if n := x.b.Pages(); n > 15 {
		t.Errorf("%d pages for 60 screens", n)
	}
	before := x.b.Pages()
	x.do(screen.Last)
	if !strings.Contains(x.frame(), fmt.Sprintf("/home/%d", 142+7*1_204_467)) || x.b.Pages() > before+2 {
		t.Errorf("at the end, after %d pages:\n%s", x.b.Pages()-before, x.frame())
	}
	x.do(screen.First)
	if !strings.Contains(x.frame(), "▸ 12:40:00, /home ") {
		t.Error(x.frame())
	}
	began := time.Now()
	for range 500 {
		x.s.Handle(screen.Down)
		x.frame()
	}
	if per := time.Since(began) / 500; per > 20*time.Millisecond { // the budget is 2 ms; tests share the machine
		t.Errorf("a key and its frame take %v", per)
	}
}

func TestHistoryDiffAndBack(t *testing.T) {
	x := onCheckpoint(t, "clicks_1m")
	x.do(screen.NextPane, screen.Down, screen.Enter)
	if !strings.Contains(x.frame(), "history of 12:40:00, /home/kids") {
		t.Fatal(x.frame())
	}
	x.do(screen.Back).do(screen.DiffBase, screen.PrevBatch, screen.PrevBatch)
	if f := x.frame(); !strings.Contains(f, "diff 1839 → 1841") || !strings.Contains(f, "+ 3,708 new") || !strings.Contains(f, "1,200,760 → 1,204,468") {
		t.Error(f)
	}
	x.do(screen.DiffBase) // another base
	if f := x.frame(); !strings.Contains(f, "Batch 1839 is the base") {
		t.Error(f)
	}
	x.do(screen.Back)
	if x.last().Pop {
		t.Error("left with a base set")
	}
	x.do(screen.Back)
	if !x.last().Pop || x.b.Released() != 1 {
		t.Errorf("popped %v, released %d", x.last().Pop, x.b.Released())
	}
}

func TestVerifyAndExport(t *testing.T) {
	x := onCheckpoint(t, "clicks_1m").do(screen.VerifyHere)
	if !strings.Contains(string(x.last().Toast), "verifying") && !strings.Contains(string(x.last().Toast), "whole") {
		t.Errorf("%+v", x.last())
	}
	bad := onCheckpoint(t, "rides_join").do(screen.VerifyHere)
	found := false
	for _, e := range bad.did {
		found = found || e.Error != nil && e.Error.Condition == "CHECKPOINT_CORRUPT"
	}
	if !found {
		t.Errorf("%+v", bad.did)
	}
	x.do(screen.ExportHere)
	p := x.last().Input
	if p == nil {
		t.Fatal("no folder is asked for")
	}
	x.run(p.Done("out"))
	if !strings.Contains(string(x.last().Toast), "204 files") {
		t.Errorf("%+v", x.last())
	}
}

// Every combination of what a batch has: offsets alone, a commit, with and without state, damaged, held.
func TestEveryCombinationOfRecords(t *testing.T) {
	for _, c := range []struct {
		name         string
		commit, keys bool
		says         []string
	}{
		{"offsets only, no state", false, false, []string{"◐", "commit     not written", "state      none: the query keeps none", "This query keeps no state"}},
		{"offsets only, state", false, true, []string{"◐", "commit     not written", "newest is version 7", "state keys, version 7"}},
		{"committed, no state", true, false, []string{"●", "commit     written", "state      none: the query keeps none"}},
		{"committed, state", true, true, []string{"●", "commit     written", "state      version 8", "state keys, version 8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := onCheckpoint(t, "clicks_1m")
			info := &screen.CheckpointInfo{Query: "clicks_1m", Location: "./c", Restart: "Something happens."}
			for n := range int64(8) {
				info.Batches = append(info.Batches, screen.BatchMark{ID: n, Offsets: true, Commit: n < 7 || c.commit})
			}
			if c.keys {
				info.Operators = []screen.StateOperator{{Name: "stateStoreSave", Store: "default", Rows: 3}}
			}
			x.b.Break("clicks_1m", info)
			qs := x.b.Queries()
			q := *qs[0]
			q.BatchID, q.Version = 7, q.Version+1 // the fake's record of a batch has a commit below this
			if c.commit {
				q.BatchID = 8
			}
			qs[0] = &q
			x.b.SetQueries(qs)
			x.sh.Queries = qs
			x.s = screen.NewCheckpoint(x.sh, "clicks_1m", 7)
			x.run(x.s.Wake())
			for _, want := range append(c.says, "Something happens.") {
				if !strings.Contains(x.frame(), want) {
					t.Errorf("no %q in\n%s", want, x.frame())
				}
			}
		})
	}
}

func TestQuestionsOfADamagedCheckpoint(t *testing.T) {
	x := onCheckpoint(t, "top_pages")
	x.b.Break("top_pages", &screen.CheckpointInfo{Query: "top_pages", Location: "./c", Lost: []int64{4, 6}, Whole: 3,
		Problem: errs.New("CHECKPOINT_LOST_COMMITS", "checkpointLocation", "./c", "range", "4 to 6", "what", "committed")})
	if x.s.Disabled(screen.LoseHere) == "" {
		t.Error("a sound checkpoint has no loss to accept")
	}
	x.s = screen.NewCheckpoint(x.sh, "top_pages", -1)
	x.run(x.s.Wake())
	if x.s.Disabled(screen.RewindHere) == "" || x.s.Disabled(screen.DiffBase) == "" || x.s.Disabled(screen.LoseHere) != "" {
		t.Error("what may be done with a damaged checkpoint")
	}
	x.do(screen.LoseHere)
	q := x.last().Ask
	if q == nil || q.Name != "top_pages" || !strings.Contains(string(q.Lines[0]), "4 to 6") {
		t.Fatalf("%+v", q)
	}
	x.run(q.Yes())
	if c := x.last().Do; c == nil || c.Verb != screen.AcceptLoss || c.Query != "top_pages" {
		t.Errorf("%+v", c)
	}
}

// The batches of a checkpoint can be looked at although its query has not run since the program started.
func TestBatchesOfAQueryThatHasNotRun(t *testing.T) {
	x := onCheckpoint(t, "clicks_1m")
	q := *x.b.Queries()[0]
	q.BatchID, q.Progress, q.State, q.Version = -1, nil, screen.Stopped, q.Version+1
	x.sh.Queries = []*screen.QuerySnapshot{&q}
	for _, a := range []screen.Action{screen.PrevBatch, screen.NextBatch, screen.PrevNotable, screen.NextNotable} {
		if why := x.s.Disabled(a); why != "" {
			t.Errorf("%s: %s", a, why)
		}
	}
}

func TestRewindAsksForTheName(t *testing.T) {
	x := onCheckpoint(t, "top_pages").do(screen.PrevBatch, screen.PrevBatch, screen.RewindHere)
	q := x.last().Ask
	if q == nil || q.Name != "top_pages" || !strings.Contains(string(q.Lines[0]), "Batches 87 to 88 will run again") ||
		!strings.Contains(string(q.Lines[2]), ".before-") {
		t.Fatalf("%+v", q)
	}
	x.run(q.Yes())
	if c := x.last().Do; c == nil || c.Verb != screen.Rewind || c.Batch != 86 {
		t.Errorf("%+v", c)
	}
	x = onCheckpoint(t, "clicks_1m")
	if x.s.Disabled(screen.RewindHere) != "stop the query first" || x.s.Disabled(screen.ForkHere) != "" {
		t.Error("a running query can be forked, not rewound")
	}
}
