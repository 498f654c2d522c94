package exec

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/store"
)

// failsOnce is rows that cannot be read the first time.
type failsOnce struct {
	columnar.Batches
	read atomic.Bool
}

func (p *failsOnce) Rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	if p.read.Swap(true) {
		return p.Batches.Rows(ctx)
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		for rb := range p.Batches.Rows(ctx) { // some rows, then the end
			if !yield(rb, nil) {
				return
			}
			break
		}
		yield(nil, errors.New("not yet"))
	}
}

const (
	aheadBatches = 4
	aheadParts   = 6
	aheadRows    = 2000 // of a part
)

// aheadInputs is what two streams bring in a batch. Keys come again, in the batch and in the next one, and some rows
// are late.
func aheadInputs(batch, scans int) (in [][]columnar.Partition) {
	for s := range scans {
		var parts []columnar.Partition
		for p := range aheadParts {
			rows := make([]event, aheadRows)
			for i := range rows {
				n := p*aheadRows + i
				rows[i] = event{k: fmt.Sprint((n*7 + s*8979 + batch*5000) % 9000), t: int64(100 + 20*batch + n%15), v: int32(n % 11)}
				if n%97 == 0 {
					rows[i].t = 3
				}
				if n%501 == 0 {
					rows[i].k = ""
				}
			}
			b := columnar.Batches{Name: "in", List: []arrow.RecordBatch{batchOf(rows[:500]), batchOf(rows[500:])}}
			if s == 0 && p == 2 && batch == 2 {
				parts = append(parts, &failsOnce{Batches: b})
				continue
			}
			parts = append(parts, b)
		}
		in = append(in, parts)
	}
	return in
}

// playAhead runs batches, each but the first read ahead as how says: "" not at all, "ahead" while the one before is
// saved, "forgone" the same and then dropped.
func playAhead(t *testing.T, q query, how string) (out []string) {
	t.Helper()
	ctx := context.Background()
	cp, err := store.Open("", store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	p, err := Build(q.node(t), Conf{Expr: ansi, Mode: q.mode, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Forgo()
	scans := len(p.Scans())
	task := func(n int, prev, w int64) *Task {
		in := aheadInputs(n, scans)
		if how == "" { // nothing reads it before the batch
			for _, parts := range in {
				for i, x := range parts {
					if f, ok := x.(*failsOnce); ok {
						parts[i] = f.Batches
					}
				}
			}
		}
		return &Task{Batch: int64(n), Inputs: in, NowMicros: int64(n), LateWatermarkMs: prev, EvictWatermarkMs: w}
	}
	var prev, w int64
	k := task(0, 0, 0)
	for n := range aheadBatches {
		if err := p.Bind(k); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, part := range p.Partitions(ctx, k) {
			for rb, err := range part.Rows(ctx) {
				if err != nil {
					t.Fatalf("batch %d: %v", n, err)
				}
				rows = append(rows, show([]arrow.RecordBatch{rb}, p.Schema())...)
			}
		}
		if err := p.Finish(ctx, k); err != nil {
			t.Fatal(err)
		}
		sort.Strings(rows)
		mark := w
		for i, e := range k.Counters.EventTimes {
			mark = max(mark, floorDiv(e.Max, 1000)-p.EventTimes()[i].DelayMicros/1000)
		}
		next := task(n+1, w, mark)
		if how != "" && n+1 < aheadBatches {
			p.ReadAhead(ctx, next)
			if p.input == nil {
				t.Fatalf("batch %d is not read ahead", n+1)
			}
			if how == "forgone" {
				next = task(n+1, w, mark)
				for _, parts := range next.Inputs {
					for _, x := range parts {
						if f, ok := x.(*failsOnce); ok {
							f.read.Store(true)
						}
					}
				}
			}
		}
		if err := cp.LogOffsets(int64(n), store.OffsetEntry{BatchWatermarkMs: w}); err != nil {
			t.Fatal(err)
		}
		b := cp.Begin(int64(n))
		if err := p.Save(b); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(store.CommitEntry{}, nil); err != nil {
			t.Fatal(err)
		}
		c := k.Counters.Operators[0]
		out = append(out, fmt.Sprintf("batch %d of %d: %v %d %d %d %d %v", n, prev, k.Counters.ScanRows, c.NumRowsTotal, c.NumRowsUpdated,
			c.NumRowsRemoved, c.NumRowsDroppedByWatermark, k.Counters.EventTimes))
		out = append(out, rows...)
		prev, w, k = w, mark, next
	}
	p.Forgo()
	if held := p.meter.early.Load() + p.meter.input.Load(); held != 0 {
		t.Errorf("%d bytes are still held", held)
	}
	return out
}

// A batch that was read while the one before was saved gives what it gives otherwise, counts the same, and does not
// mind if reading failed at first or was in vain.
func TestReadAhead(t *testing.T) {
	for _, q := range []query{
		{mode: "update", delay: 5, sql: "SELECT k, count(*) AS n, sum(v) AS t FROM a GROUP BY k"},
		{mode: "append", delay: 5, sql: "SELECT window.end AS e, k, count(*) AS n FROM a WHERE v > 1 GROUP BY window(ts, '10 seconds'), k"},
		{mode: "append", delay: 5, sql: "SELECT window.end AS e, v, count(*) AS n FROM a GROUP BY window(ts, '10 seconds', '2 seconds'), v"},
		{mode: "append", delay: 5, dedup: []string{"within", "k"}, sql: "SELECT k, v FROM da"},
		{mode: "append", delay: 5, sql: "SELECT a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 SECONDS"},
	} {
		want := playAhead(t, q, "")
		for _, how := range []string{"ahead", "forgone"} {
			got := playAhead(t, q, how)
			if slices.Equal(got, want) {
				continue
			}
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("%s, %s: line %d is %s, want %s", q.sql, how, i, got[i], want[i])
					break
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s, %s: %d lines, want %d", q.sql, how, len(got), len(want))
			}
		}
		if len(want) < 2*aheadBatches || !strings.HasPrefix(want[0], "batch 0") {
			t.Errorf("%s gives only %v", q.sql, want)
		}
	}
}

// What must not be done before its batch is not: a plan whose input is not scans alone, or with two operators with
// state, is not read ahead.
func TestNotReadAhead(t *testing.T) {
	for _, sql := range []string{
		"SELECT k, v FROM a",
		"SELECT n, count(*) AS m FROM (SELECT window, count(*) AS n FROM a GROUP BY window(ts, '10 seconds')) GROUP BY window(window_time(window), '20 seconds'), n",
	} {
		q := query{mode: "append", delay: 5, sql: sql}
		p, err := Build(q.node(t), Conf{Expr: ansi, Mode: q.mode, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		p.ReadAhead(context.Background(), &Task{Inputs: aheadInputs(0, len(p.Scans()))})
		if p.input != nil {
			t.Errorf("%s is read ahead", sql)
			p.Forgo()
		}
	}
}
