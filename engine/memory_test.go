package engine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/store"
)

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1024": 1024, "64k": 64 << 10, "512m": 512 << 20, "2G": 2 << 30, "1gb": 1 << 30, "7b": 7} {
		if got, ok := parseMemory(text); !ok || got != want {
			t.Errorf("%s: %d %v", text, got, ok)
		}
	}
	if n, ok := parseMemory("50%"); !ok || n <= 0 {
		t.Errorf("a half: %d %v", n, ok)
	}
	for _, text := range []string{"", "%", "0%", "101%", "-1", "m", "k1", "5x", "99999999t"} {
		if _, ok := parseMemory(text); ok {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestQueriesShareTheBudget(t *testing.T) {
	var p memoryPool
	a, b := &driver{}, &driver{}
	if got := p.budget(a, 1000, held{all: 300}); got != 1000 {
		t.Errorf("alone: %d", got)
	}
	if got := p.budget(b, 1000, held{all: 100}); got != 700 {
		t.Errorf("beside 300: %d", got)
	}
	if got := p.budget(a, 1000, held{all: 900}); got != 900 {
		t.Errorf("beside 100: %d", got)
	}
	if got := p.budget(b, 1000, held{all: 100}); got != 500 {
		t.Errorf("its equal share: %d", got)
	}
	p.leave(a)
	if got := p.budget(b, 1000, held{all: 100}); got != 1000 {
		t.Errorf("alone again: %d", got)
	}
}

// counted is a query over files of keys that are not in order, run to its end with a budget.
type counted struct {
	t        *testing.T
	dir      string
	progress []Progress
	results  map[string]string
}

func (c *counted) files(from, n, rows int) {
	in := filepath.Join(c.dir, "in")
	if err := os.MkdirAll(in, 0o755); err != nil {
		c.t.Fatal(err)
	}
	for f := from; f < from+n; f++ {
		var b strings.Builder
		for i := range rows {
			fmt.Fprintf(&b, "{\"k\":%d,\"v\":%d}\n", (f*rows+i)*7919%1_000_003, i)
		}
		if err := os.WriteFile(filepath.Join(in, fmt.Sprintf("%05d.json", f)), []byte(b.String()), 0o644); err != nil {
			c.t.Fatal(err)
		}
	}
}

// run gives the newest result of every key.
func (c *counted) run(budget string) (map[string]string, error) {
	s, err := NewSession(Config{Dir: c.dir, Out: io.Discard, Conf: map[string]string{keyDurability: "process", keyMemory: budget, keyRecent: "1000"}})
	if err != nil {
		c.t.Fatal(err)
	}
	defer s.Close()
	if c.results == nil {
		c.results = map[string]string{}
	}
	in := s.ReadStream().Format("json").Schema("k BIGINT, v BIGINT").Load(filepath.Join(c.dir, "in"))
	q, err := in.GroupBy("k").Agg("count(*) AS n", "sum(v) AS s").WriteStream().OutputMode("update").
		Option("checkpointLocation", filepath.Join(c.dir, "chk")).Trigger(AvailableNow()).
		EachBatch(func(ctx context.Context, b sinks.Batch) error {
			return sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
				for i := range int(rb.NumRows()) {
					c.results[rb.Column(0).ValueStr(i)] = rb.Column(1).ValueStr(i) + " " + rb.Column(2).ValueStr(i)
				}
				return nil
			})
		}).Start(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	err = q.AwaitTermination(context.Background())
	c.progress = append(c.progress, q.RecentProgress()...)
	return c.results, err
}

// megabytes is a budget for what a query holds beside its database.
func megabytes(n int64) string { return fmt.Sprint(store.Footprint() + n<<20) }

// A query that cannot hold its state says so by name, and loses nothing: with more memory it goes on, and the result
// is that of a query that had it from the beginning.
func TestABatchTooLargeIsRunAgainWithMore(t *testing.T) {
	whole := &counted{t: t, dir: t.TempDir()}
	small := &counted{t: t, dir: t.TempDir()}
	var want map[string]string
	for round := range 2 {
		for _, c := range []*counted{whole, small} {
			c.files(5*round, 5, 6000)
		}
		var err error
		if want, err = whole.run("0"); err != nil {
			t.Fatal(err)
		}
		_, err = small.run(megabytes(1))
		if !errs.Has(err, "BATCH_TOO_LARGE") || !strings.Contains(err.Error(), "stateStoreSave (operator 0)") {
			t.Fatalf("round %d: %v", round, err)
		}
		got, err := small.run(megabytes(200))
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) || len(want) != 30_000*(round+1) {
			t.Fatalf("round %d: %d keys, want %d", round, len(got), len(want))
		}
	}
	m := small.progress[len(small.progress)-1].Memory
	if m.State < 60_000*40 || m.Store != store.Footprint() || m.Budget != m.Store+200<<20 || m.Total() > m.Budget {
		t.Errorf("%+v", m)
	}
}

// Near its budget a query reads less at a time, with the same result.
func TestAQueryNearItsBudgetReadsLess(t *testing.T) {
	whole := &counted{t: t, dir: t.TempDir()}
	near := &counted{t: t, dir: t.TempDir()}
	for _, c := range []*counted{whole, near} {
		c.files(0, 4, 2000)
	}
	if _, err := whole.run("0"); err != nil {
		t.Fatal(err)
	}
	if _, err := near.run("0"); err != nil {
		t.Fatal(err)
	}
	held := near.progress[0].Memory.Total()
	near.progress = nil
	for _, c := range []*counted{whole, near} { // the same keys again: the state does not grow
		c.files(1_000_003, 4, 2000)
	}
	want, err := whole.run("0")
	if err != nil {
		t.Fatal(err)
	}
	n := &driver{sources: []*querySource{{rows: 8000, files: 4}}, memory: QueryMemory{Store: 81, Budget: 100}}
	n.weigh(nil)
	if l := n.sources[0].admits(); l.MaxFiles != 2 || l.MaxRows != 4000 || !n.memory.Limited {
		t.Errorf("at 81 %%: %+v", l)
	}
	n.sources[0].limit = sources.ReadLimit{MaxFiles: 1}
	if l := n.sources[0].admits(); l.MaxFiles != 1 {
		t.Errorf("the options' limit is less: %+v", l)
	}
	n.memory.Store = 70
	n.weigh(nil)
	if l := n.sources[0].most; l.MaxFiles != 2 {
		t.Errorf("at 70 %% it stays: %+v", l)
	}
	n.memory.Store, n.sources[0].rows = 10, 4000
	n.weigh(nil)
	if l := n.sources[0].most; l.MaxFiles != 4 {
		t.Errorf("at 10 %% it grows: %+v", l)
	}
	n.sources[0].rows = 100
	n.weigh(nil)
	if l := n.sources[0].most; l != (sources.ReadLimit{}) || n.memory.Limited {
		t.Errorf("all there is was less than allowed: %+v", l)
	}
	got, err := near.run(fmt.Sprint(held * 100 / 70))
	if err != nil || !maps.Equal(got, want) {
		t.Fatalf("%d keys, want %d: %v", len(got), len(want), err)
	}
}

// State that is larger than the budget of its query goes on from a checkpoint, as long as what one batch touches fits:
// the rest stays on disk or leaves, and the results are those of a query that has all of it in memory.
func TestStateLargerThanItsBudget(t *testing.T) {
	const keys = 1_400_000
	dir := t.TempDir()
	run := func(budget string, rows, batches int) []Progress {
		s, err := NewSession(Config{Dir: dir, Out: io.Discard, Conf: map[string]string{keyDurability: "process", keyMemory: budget, keyRecent: "1000"}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		in := s.ReadStream().Format("rate-micro-batch").Option("rowsPerBatch", rows).Load()
		if err := in.CreateOrReplaceTempView("numbers"); err != nil {
			t.Fatal(err)
		}
		df, err := s.SQL(context.Background(), fmt.Sprintf("SELECT mod(value, %d) AS k, count(*) AS n, sum(value) AS s FROM numbers GROUP BY mod(value, %d)", keys, keys))
		if err != nil {
			t.Fatal(err)
		}
		q, err := df.WriteStream().OutputMode("update").MaxBatches(batches).Option("checkpointLocation", filepath.Join(dir, "chk")).
			EachBatch(func(ctx context.Context, b sinks.Batch) error {
				return sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
					for i := range int(rb.NumRows()) {
						k, n, sum := rb.Column(0).(*array.Int64).Value(i), rb.Column(1).(*array.Int64).Value(i), rb.Column(2).(*array.Int64).Value(i)
						if want := n*k + n*(n-1)/2*keys; sum != want {
							return fmt.Errorf("key %d was met %d times: sum %d, not %d", k, n, sum, want)
						}
						if b.ID >= keys/100_000 && n < 2 {
							return fmt.Errorf("batch %d: key %d is new", b.ID, k)
						}
					}
					return nil
				})
			}).Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := q.AwaitTermination(context.Background()); err != nil {
			t.Fatal(err)
		}
		return q.RecentProgress()
	}
	whole := run("0", 100_000, keys/100_000)
	all := whole[len(whole)-1].Memory.State
	budget := megabytes(all >> 20 / 2)
	first := run(budget, 20, 1)[0].Memory.State
	if first > all/3 {
		t.Errorf("the first batch after a restart has %d bytes of state in memory, of %d", first, all)
	}
	most, fell := first, 0
	last := first
	for _, p := range run(budget, 20, 60) {
		if o := p.StateOperators[0]; o.NumRowsTotal != keys || o.NumRowsUpdated != 20 {
			t.Fatalf("batch %d: %d rows of state, %d of them updated", p.BatchID, o.NumRowsTotal, o.NumRowsUpdated)
		}
		if p.Memory.State < last {
			fell++
		}
		last = p.Memory.State
		most = max(most, last)
	}
	if fell == 0 || most > all/2+1<<20 {
		t.Errorf("state in memory: at most %d bytes, of %d; it became less %d times", most, all, fell)
	}
	again := run("0", 100_000, keys/100_000)
	if got := again[len(again)-1]; got.StateOperators[0].NumRowsTotal != keys || got.Memory.State < all*9/10 {
		t.Errorf("after every key: %d rows, %d bytes, not %d and %d", got.StateOperators[0].NumRowsTotal, got.Memory.State, keys, all)
	}
}
