package engine_test

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sql/types"
)

// sent collects what a sink got, by batch.
type sent struct {
	mu   sync.Mutex
	rows map[int64][]string
	ids  []int64
}

func (x *sent) take(ctx context.Context, b sinks.Batch) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	rows := []string{}
	err := sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
		for _, r := range engine.Cells(rb, b.Schema) {
			rows = append(rows, strings.Join(r, "|"))
		}
		return nil
	})
	sort.Strings(rows)
	x.rows[b.ID] = rows
	x.ids = append(x.ids, b.ID)
	return err
}

// replayed is what a replay says the sink got.
func replayed(t *engine.Trace) []string {
	rows := []string{}
	for _, r := range t.Cells(len(t.Stages) - 1) {
		rows = append(rows, strings.Join(r, "|"))
	}
	sort.Strings(rows)
	return rows
}

func TestReplayGivesWhatTheSinkGot(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ mode, query string }{
		{"append", "SELECT window.start, count(*) n FROM c GROUP BY window(ts, '10 seconds')"},
		{"update", "SELECT window.start, page, count(*) n, sum(v) FROM c WHERE v < 9 GROUP BY window(ts, '10 seconds', '5 seconds'), page"},
		{"complete", "SELECT page, count(*) n FROM c GROUP BY page ORDER BY n DESC, page"},
		{"append", "SELECT a.page, a.v, b.v w FROM c a JOIN c b ON a.page = b.page AND a.ts BETWEEN b.ts - INTERVAL 5 SECONDS AND b.ts"},
		{"append", "SELECT page, explode(sequence(1, v)) e FROM c WHERE v IS NOT NULL"},
		{"append", "SELECT session_window.start, page, count(*) FROM c GROUP BY session_window(ts, '4 seconds'), page"},
	} {
		s, err := engine.NewSession(engine.Config{Dir: t.TempDir(), Out: io.Discard, Conf: map[string]string{"streamlab.durability": "process"}})
		if err != nil {
			t.Fatal(err)
		}
		df := s.ReadStream().Format("memory").Schema("ts TIMESTAMP, page STRING, v INT").Option("maxPushesPerTrigger", 1).Register("m")
		if err := df.WithWatermark("ts", "5 seconds").CreateOrReplaceTempView("c"); err != nil {
			t.Fatal(err)
		}
		for n := range 6 {
			var rows [][]any
			for i := range 8 {
				rows = append(rows, []any{fmt.Sprintf("2026-01-05 12:00:%02d", (n*9+i*7)%60), fmt.Sprintf("/%d", (n+i)%3), i % 5})
			}
			if err := s.Feed("m", rows); err != nil {
				t.Fatal(err)
			}
		}
		q, err := s.SQL(ctx, c.query)
		if err != nil {
			t.Fatal(err)
		}
		got := &sent{rows: map[int64][]string{}}
		run, err := q.WriteStream().OutputMode(c.mode).EachBatch(got.take).Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.ProcessAllAvailable(ctx); err != nil {
			t.Fatal(err)
		}
		before := run.Snapshot().Batch
		for _, id := range got.ids {
			tr, err := run.Replay(ctx, id, engine.TraceOptions{Rows: 1 << 20})
			if err != nil {
				t.Fatalf("%s: batch %d: %v", c.query, id, err)
			}
			if a, b := strings.Join(replayed(tr), " "), strings.Join(got.rows[id], " "); a != b {
				t.Errorf("%s: batch %d gave %s, again %s", c.query, id, b, a)
			}
			if tr.RowsThen >= 0 && tr.RowsThen != tr.RowsNow && !strings.Contains(c.query, "JOIN") {
				t.Errorf("%s: batch %d read %d rows, again %d", c.query, id, tr.RowsThen, tr.RowsNow)
			}
			for st := range tr.Stages {
				for i := range tr.Stages[st].Rows {
					if tr.Fate(st, i, engine.UTC) == "" || len(tr.Why(st, i, engine.UTC)) == 0 {
						t.Errorf("%s: batch %d: nothing is said of row %d of stage %d", c.query, id, i, st)
					}
				}
			}
		}
		if run.Snapshot().Batch != before || len(got.ids) == 0 {
			t.Errorf("replaying went on with the query: %d batches", len(got.ids))
		}
		if _, err := run.Replay(ctx, before+7, engine.TraceOptions{}); !errs.Has(err, "TRACE_NO_SUCH_BATCH") {
			t.Error(err)
		}
		stopped, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := run.Replay(stopped, before, engine.TraceOptions{}); err == nil {
			t.Error("a replay that is cancelled gives a trace")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestShortCells(t *testing.T) {
	window, err := types.ParseDDL("w STRUCT<start: TIMESTAMP, end: TIMESTAMP>")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"{2026-01-05 12:40:00, 2026-01-05 12:41:00}": "2026-01-05 12:40 → 12:41",
		"{2026-01-05 12:40:00, 2026-01-05 12:40:05}": "2026-01-05 12:40:00 → 12:40:05",
		"{2026-01-05 23:00:00, 2026-01-06 00:00:00}": "2026-01-05 23:00 → 2026-01-06 00:00",
		"NULL": "NULL",
	} {
		if got := engine.ShortCell(window[0].Type, text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// A followed key brings all of its rows, also those behind the sample.
func TestReplayFollowsAKey(t *testing.T) {
	ctx := context.Background()
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir(), Out: io.Discard, Conf: map[string]string{"streamlab.durability": "process"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.ReadStream().Format("memory").Schema("page STRING, v INT").Register("m")
	var rows [][]any
	for i := range 1000 {
		rows = append(rows, []any{fmt.Sprintf("/%d", i%250), i})
	}
	if err := s.Feed("m", rows); err != nil {
		t.Fatal(err)
	}
	q, err := s.SQL(ctx, "SELECT page, count(*) n FROM m WHERE v % 500 <> 499 GROUP BY page")
	if err != nil {
		t.Fatal(err)
	}
	run, err := q.WriteStream().OutputMode("update").Format("noop").Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.ProcessAllAvailable(ctx); err != nil {
		t.Fatal(err)
	}
	tr, err := run.Replay(ctx, 0, engine.TraceOptions{Rows: 20, Key: map[string]string{"page": "/249"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for st := range tr.Stages {
		n, mine := 0, 0
		for i, r := range tr.Stages[st].Rows {
			n++
			if tr.Followed[st][r.N] {
				mine++
				if !strings.Contains(strings.Join(tr.Cells(st)[i], "|"), "/249") {
					t.Errorf("stage %d: row %v is of another key", st, tr.Cells(st)[i])
				}
			}
		}
		got = append(got, fmt.Sprintf("%s %d of %d", tr.Stages[st].Kind, mine, n))
	}
	// 20 of the sample and the four rows of the key, of which the filter leaves two out; of groups also 20 that leave
	if w := "source 4 of 24; filter 2 of 22; aggregate 1 of 41; select 1 of 21; sink 1 of 21"; strings.Join(got, "; ") != w {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), w)
	}
}

// A source that gives its rows once can be traced while they are there: the batch that was asked for is recorded.
func TestABatchOfASourceThatForgetsIsTracedLive(t *testing.T) {
	ctx := context.Background()
	formats := engine.AllFormats()
	for i := range formats.Sources {
		if formats.Sources[i].Name == "memory" {
			formats.Sources[i].Once = true
		}
	}
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir(), Out: io.Discard, Formats: formats, Conf: map[string]string{"streamlab.durability": "process"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.ReadStream().Format("memory").Schema("page STRING, v INT").Register("m")
	feed := func(page string) {
		t.Helper()
		if err := s.Feed("m", [][]any{{page, 1}, {page, 2}, {"/other", 3}}); err != nil {
			t.Fatal(err)
		}
	}
	q, err := s.SQL(ctx, "SELECT a.page, count(*) n FROM m a JOIN m b ON a.v = b.v WHERE a.v < 3 GROUP BY a.page")
	if err != nil {
		t.Fatal(err)
	}
	got := &sent{rows: map[int64][]string{}}
	feed("/a")
	run, err := q.WriteStream().OutputMode("update").EachBatch(got.take).Start(ctx)
	if err == nil {
		err = run.ProcessAllAvailable(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Replay(ctx, 0, engine.TraceOptions{}); !errs.Has(err, "TRACE_NOT_REPLAYABLE") {
		t.Errorf("a batch that cannot be read again: %v", err)
	}
	run.TraceNext()
	for _, page := range []string{"/b", "/c"} {
		feed(page)
		if err := run.ProcessAllAvailable(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if l := run.Traced(); len(l) != 1 || l[0] != 1 {
		t.Fatalf("recorded are %v", l)
	}
	tr, err := run.Replay(ctx, 1, engine.TraceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := strings.Join(replayed(tr), " "), strings.Join(got.rows[1], " "); !tr.Live || a != b || b == "" {
		t.Errorf("live %v: batch 1 gave %s, again %s", tr.Live, b, a)
	}
	if _, err := run.Replay(ctx, 2, engine.TraceOptions{}); !errs.Has(err, "TRACE_NOT_REPLAYABLE") {
		t.Errorf("only one batch was asked for: %v", err)
	}
}
