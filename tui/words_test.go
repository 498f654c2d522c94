package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"streamlab/errs"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

// Memory stands beside what a query may hold, and says when batches are made smaller for it or state is not in it.
func TestQueriesShowMemoryAndBudget(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.has("memory    236 MiB of 1536 MiB, 15 %")
	d.keys("down").has("memory    9 MiB of 1536 MiB, under 1 %  2,104,512 rows of state on disk only")
	d.keys("down").has("memory    1400 MiB of 1536 MiB, 91 %  batches are made smaller")
	newDriver(t, 200, 50, screentest.New()).has("MEMORY", "1400 MiB")
	d.keys("down").hasNot("memory    2", "memory    1") // nothing is known of one that does not run
}

// In complete mode windows are never released, and the state says so.
func TestWindowsInCompleteModeGrow(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.hasNot("grows for ever")
	d.keys("down down down").has("212 MiB  grows for ever")
}

// The card of a query that ended is about what ended it; that it ended is a line.
func TestCardOfAnEndedQueryIsItsCause(t *testing.T) {
	e := errs.Wrap(errs.New("DIVIDE_BY_ZERO", "config", "x").WithHint("use try_divide"), "STREAM_FAILED", "id", "11", "runId", "22", "message", "m")
	lines := screen.Card(e, 80)
	if !strings.HasPrefix(string(lines[0].Text), "DIVIDE_BY_ZERO") {
		t.Errorf("the card begins with %q", lines[0].Text)
	}
	last := lines[len(lines)-1]
	if last.Label != "ended" || last.Text != "query 11, run 22" {
		t.Errorf("it ends with %q %q", last.Label, last.Text)
	}
	if lines := screen.Card(errs.Wrap(fmt.Errorf("plain"), "STREAM_FAILED", "id", "1", "runId", "2", "message", "m"), 80); !strings.HasPrefix(string(lines[0].Text), "STREAM_FAILED") {
		t.Error("without a condition inside there is only the outer one")
	}
}

// Times of the data are UTC, as cells are, and say so where the clock is another.
func TestEventTimesAreThoseOfTheCells(t *testing.T) {
	sh := &screen.Shared{Zone: time.FixedZone("x", 9*3600)}
	at := time.Date(2026, 1, 5, 12, 40, 48, 0, time.UTC)
	if got := sh.EventClock(at); got != "12:40:48 UTC" {
		t.Errorf("event clock %q", got)
	}
	if got := sh.Clock(at); got != "21:40:48" {
		t.Errorf("clock %q", got)
	}
	sh.Zone = time.UTC
	if got := sh.EventClock(at); got != "12:40:48" {
		t.Errorf("in UTC: %q", got)
	}
}

// A batch of which the rows cannot be had still shows what it reported, and keys that need rows say why not.
func TestBatchWithoutRowsShowsItsReport(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New()).keys("b G enter")
	d.has("TRACE_PURGED", "what the batch reported", "STATEFUL OPERATOR")
	d.keys("/").has("the rows of this batch are not there")
}

// What happens at a restart is there on the smallest screen too.
func TestRestartIsAlwaysSaid(t *testing.T) {
	for _, s := range sizes {
		newDriver(t, s[0], s[1], screentest.New()).keys("c").has("if it restarts now", "make its write depend on")
	}
}

// Who holds a checkpoint is no damage, and none yet is none.
func TestCheckpointListTellsHeldFromDamaged(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	damage(d)
	d.m.sh.Bench.(*screentest.Bench).Break("top_pages", &screen.CheckpointInfo{Query: "top_pages", Whole: -1, Problem: errs.New("NO_CHECKPOINT", "name", "top_pages")})
	d.keys("2").has("✗ damaged", "◌ held", "none")
	d.keys("down down enter").has("held by another process")
	if n := strings.Count(d.frame(), "process 4711"); n != 1 {
		t.Errorf("it says %d times who holds it", n)
	}
}

// What another process holds is not known to be nothing, and of a checkpoint of which no range is known to be lost it
// is said what can be done here.
func TestCheckpointsSayWhatIsNotKnown(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	damage(d)
	d.m.sh.Bench.(*screentest.Bench).Break("orders_dedup", &screen.CheckpointInfo{Query: "orders_dedup", Location: "./orders", Whole: -1,
		Problem: errs.New("CHECKPOINT_CORRUPT", "checkpointLocation", "./orders", "detail", "the database does not open")})
	d.keys("2")
	for _, l := range strings.Split(d.frame(), "\n") {
		if strings.Contains(l, "held") && (strings.Contains(l, "none") || strings.Contains(l, "0 B")) {
			t.Errorf("of a checkpoint that another process has: %s", l)
		}
	}
	d.keys("down enter").has("“remove the checkpoint” among the commands", "begins with batch 0")
}

// A whole name needs no completion: enter is for the text, unless another was chosen.
func TestEnterAfterAWholeNameIsForTheText(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New()).keys("3").text("SELECT * FROM scores")
	d.has("│ scores_latest  table │")
	d.keys("enter").has("  1 SELECT * FROM scores\n", "│  2")
	d.hasNot("FROM scores_latest")
	d = newDriver(t, 120, 36, screentest.New()).keys("3").text("SELECT * FROM scores").keys("down enter")
	d.has("  1 SELECT * FROM scores_latest")
}

// Views have many columns: they show when the statement names one.
func TestViewsOfTheCatalogUnfoldWhenNamed(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New()).keys("3").text("SELECT 1")
	d.hasNot("rows_in")
	d.keys("ctrl+u").text(" FROM batches ")
	d.has("rows_in       int")
}

// The gallery says how much of it is on the screen, and how much a search leaves.
func TestGalleryCounts(t *testing.T) {
	d := newDriver(t, 80, 24, nil)
	d.has("of 10 labs · 2 done")
	d.keys("/").text("join").keys("enter").has("/join · 1 of 10 labs")
	newDriver(t, 200, 50, nil).has(" 10 labs · 2 done")
}
