package exec

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"

	"streamlab/columnar"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// Properties of the stateful operators, tried on small random streams: few keys, few seconds, so that rows
// meet. Every one is tried a thousand times, in short mode a hundred.

func property(t *testing.T, f func(t *rapid.T)) {
	t.Helper()
	n := "1000"
	if testing.Short() {
		n = "100"
	}
	set := flag.Lookup("rapid.checks")
	if old := set.Value.String(); old == set.DefValue {
		if err := set.Value.Set(n); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = set.Value.Set(old) }()
	}
	rapid.Check(t, f)
}

// event is a row of a stream: k, ts in seconds, v.
type event struct {
	k string // "" is null
	t int64
	v int32
}

var eventSchema = func() types.Schema {
	s, err := types.ParseDDL("k STRING, ts TIMESTAMP, v INT")
	if err != nil {
		panic(err)
	}
	return s
}()

func batchOf(rows []event) arrow.RecordBatch {
	k, ts, v := columnar.NewVec(eventSchema[0].Type, 0), columnar.NewVec(eventSchema[1].Type, len(rows)), columnar.NewVec(eventSchema[2].Type, len(rows))
	k.Len = len(rows)
	for i, r := range rows {
		if r.k == "" {
			if k.Valid == nil {
				k.MakeValid(len(rows))
			}
			columnar.ClearBit(k.Valid, i)
		}
		k.Data = append(k.Data, r.k...)
		k.Off = append(k.Off, int32(len(k.Data)))
		ts.I64[i], v.I32[i] = r.t*1_000_000, r.v
	}
	return columnar.Record(eventSchema.Arrow(), []*columnar.Vec{k, ts, v}, columnar.AllRows(len(rows)))
}

// shy is a partition that does not tell how few rows it has, so that operators use their workers.
type shy struct{ p columnar.Partition }

func (s shy) Rows(ctx context.Context) columnar.Rows { return s.p.Rows(ctx) }
func (s shy) String() string                         { return "shy" }

// query is a plan over the streams a and b, whose watermarks lag by a delay.
type query struct {
	sql   string
	delay int64 // seconds; 0 is no watermark
	dedup []string
	mode  string
	over  func(plan.Node) plan.Node // what stands above the SQL; nil: nothing
}

func (q query) node(t interface{ Fatal(args ...any) }) plan.Node {
	c := catalog.New(nil)
	conf := plan.Conf{Expr: ansi, Get: func(string) string { return "" }}
	for i, name := range []string{"a", "b"} {
		var n plan.Node = &plan.Scan{Name: name, Stream: catalog.NewStream(int64(i+1), name, "memory", eventSchema, nil), Out: eventSchema}
		if q.delay > 0 {
			w, err := plan.WithWatermark(n, "ts", fmt.Sprint(q.delay, " seconds"))
			if err != nil {
				t.Fatal(err)
			}
			n = w
		}
		c.Register(name, catalog.Relation{View: &catalog.View{Plan: n}})
		if q.dedup != nil {
			d, err := plan.DropDuplicates(n, q.dedup)
			if q.dedup[0] == "within" {
				d, err = plan.DropDuplicatesWithinWatermark(n, q.dedup[1:])
			}
			if err != nil {
				t.Fatal(err)
			}
			c.Register("d"+name, catalog.Relation{View: &catalog.View{Plan: d}})
		}
	}
	n, err := plan.AnalyzeText(q.sql, c, conf)
	if err != nil {
		t.Fatal(q.sql, err)
	}
	if q.over != nil {
		n = q.over(n)
	}
	if err := plan.CheckStreaming(n, q.mode, conf); err != nil {
		t.Fatal(q.sql, err)
	}
	return plan.Optimize(n)
}

// sim runs a query as the driver does, with the watermark's rules.
type sim struct {
	t       *rapid.T
	q       query
	p       *Plan
	cp      *store.Checkpoint
	keep    bool // batches are committed: restart works
	batch   int64
	prev, w int64
	marks   []int64 // per watermark operator: the greatest seen so far; 0 is none
	rows    [][]string
	last    *Counters
	hidden  bool             // partitions do not tell their size
	away    bool             // state may be away
	state   map[string]int64 // after the last batch, what may be away after a restart
	now     int64
}

// newSim needs a checkpoint of its own if keep is set; else cp only lends change sets.
func newSim(t *rapid.T, q query, cp *store.Checkpoint, keep bool) *sim {
	x := &sim{t: t, q: q, cp: cp, keep: keep}
	x.build()
	return x
}

func (x *sim) build() {
	p, err := Build(x.q.node(x.t), Conf{Expr: ansi, Mode: x.q.mode, Workers: 2, ShufflePartitions: 2})
	if err != nil {
		x.t.Fatal(x.q.sql, err)
	}
	if x.away {
		p.Demand(func() *store.View { return x.cp.At(x.batch - 1) })
	}
	switch {
	case x.away && x.batch > 0:
		if err := p.Resume(x.state); err != nil {
			x.t.Fatal(err)
		}
	case x.keep && x.batch > 0:
		v := x.cp.At(x.batch - 1)
		defer v.Close()
		if err := p.Load(v); err != nil {
			x.t.Fatal(err)
		}
	}
	if x.marks == nil {
		x.marks = make([]int64, len(p.EventTimes()))
	}
	x.p = p
}

// run plays one batch of rows for each stream; nil is none.
func (x *sim) run(inputs ...[]event) []string {
	n := int64(0)
	if x.keep {
		n = x.batch
	}
	b := x.cp.Begin(n)
	t := &Task{Batch: x.batch, LateWatermarkMs: x.prev, EvictWatermarkMs: x.w, NowMicros: x.now * 1000, State: b}
	for _, s := range x.p.Scans() {
		var parts []columnar.Partition
		if i := int(s.Stream.ID) - 1; i < len(inputs) && len(inputs[i]) > 0 {
			rows := inputs[i]
			for _, part := range [][]event{rows[:len(rows)/2], rows[len(rows)/2:]} {
				var p columnar.Partition = columnar.Batches{Name: "in", List: []arrow.RecordBatch{batchOf(part)}}
				if x.hidden {
					p = shy{p}
				}
				parts = append(parts, p)
			}
		}
		t.Inputs = append(t.Inputs, parts)
	}
	var again []string
	if x.keep {
		again = x.traced(t)
	}
	if err := x.p.Bind(t); err != nil {
		x.t.Fatal(err)
	}
	var out []string
	t.Lent = x.batch%2 == 1
	for _, p := range x.p.Partitions(context.Background(), t) {
		if t.Lent { // every second batch goes to a sink that keeps nothing
			if err := p.(columnar.Lender).Lend(context.Background(), func(cols []*columnar.Vec, n int) error {
				own := make([]*columnar.Vec, len(cols))
				for i, c := range cols {
					if own[i] = columnar.NewVec(c.Type, 0); c.Len != n {
						x.t.Fatalf("column %d has %d of %d rows", i, c.Len, n)
					}
					appendVec(own[i], c, columnar.AllRows(n))
				}
				rb := columnar.RecordOf(x.p.Schema(), own, columnar.AllRows(n))
				out = append(out, show([]arrow.RecordBatch{rb}, x.p.Schema())...)
				return nil
			}); err != nil {
				x.t.Fatal(err)
			}
			continue
		}
		for rb, err := range p.Rows(context.Background()) {
			if err != nil {
				x.t.Fatal(err)
			}
			out = append(out, show([]arrow.RecordBatch{rb}, x.p.Schema())...)
		}
	}
	if err := x.p.Finish(context.Background(), t); err != nil {
		x.t.Fatal(err)
	}
	if x.keep {
		if err := x.cp.LogOffsets(n, store.OffsetEntry{BatchWatermarkMs: x.w}); err != nil {
			x.t.Fatal(err)
		}
	}
	if err := x.p.Save(b); err != nil {
		x.t.Fatal(err)
	}
	if x.keep {
		if x.state = x.p.StateRows(); x.state == nil {
			x.state = map[string]int64{}
		}
		if err := b.Commit(store.CommitEntry{Rows: x.state}, nil); err != nil {
			x.t.Fatal(err)
		}
	}
	b.Discard()
	x.batch++
	x.prev = x.w
	low := int64(0)
	for i, e := range t.Counters.EventTimes {
		if e.Count > 0 {
			x.marks[i] = max(x.marks[i], floorDiv(e.Max, 1000)-x.p.EventTimes()[i].DelayMicros/1000)
		}
		if i == 0 || x.marks[i] < low {
			low = x.marks[i]
		}
	}
	x.w = max(x.w, low)
	sort.Strings(out)
	if x.keep && strings.Join(again, " ") != strings.Join(out, " ") {
		x.t.Errorf("%s: batch %d gave %v, traced %v", x.q.sql, t.Batch, out, again)
	}
	x.rows = append(x.rows, out)
	x.last = t.Counters
	return out
}

// traced runs the next batch with taps, from the state before it.
func (x *sim) traced(t *Task) (rows []string) {
	p, err := Build(x.q.node(x.t), Conf{Expr: ansi, Mode: x.q.mode, ShufflePartitions: 2, Trace: &TraceConf{Rows: 5}})
	if err != nil {
		x.t.Fatal(x.q.sql, err)
	}
	v := x.cp.At(x.batch - 1)
	defer v.Close()
	if err := p.Load(v); err != nil {
		x.t.Fatal(err)
	}
	task := &Task{Batch: t.Batch, Inputs: t.Inputs, LateWatermarkMs: t.LateWatermarkMs, EvictWatermarkMs: t.EvictWatermarkMs,
		NowMicros: t.NowMicros, Past: v}
	if err := p.Bind(task); err != nil {
		x.t.Fatal(err)
	}
	for _, part := range p.Partitions(context.Background(), task) {
		for rb, err := range part.Rows(context.Background()) {
			if err != nil {
				x.t.Fatal(err)
			}
			rows = append(rows, show([]arrow.RecordBatch{rb}, p.Schema())...)
		}
	}
	if err := p.Finish(context.Background(), task); err != nil {
		x.t.Fatal(err)
	}
	checkTrace(x.t, p.Trace())
	sort.Strings(rows)
	return rows
}

// settle runs the batches without data that the operators ask for.
func (x *sim) settle() {
	for x.p.NeedsBatch(x.w) {
		x.run()
	}
}

// all is every row of every batch, sorted.
func (x *sim) all() string {
	out := slices.Concat(x.rows...)
	sort.Strings(out)
	return strings.Join(out, "\n")
}

func (x *sim) counters() string {
	var b strings.Builder
	for _, o := range x.last.Operators {
		fmt.Fprint(&b, o.Name, o.NumRowsTotal, o.NumRowsUpdated, o.NumRowsRemoved, o.NumRowsDroppedByWatermark, ";")
	}
	return b.String()
}

// lender gives change sets that are thrown away.
func lender(t *testing.T) *store.Checkpoint {
	t.Helper()
	cp, err := store.Open("", store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	return cp
}

// events draws rows whose times rise with some disorder, less than delay if that is not 0: none is late.
func events(t *rapid.T, name string, delay int64) []event {
	n := rapid.IntRange(0, 25).Draw(t, name)
	out := make([]event, n)
	base := int64(100)
	for i := range out {
		base += int64(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3, 9}).Draw(t, "step"))
		jitter := int64(0)
		if delay > 0 {
			jitter = rapid.Int64Range(0, delay-1).Draw(t, "jitter")
		} else {
			jitter = rapid.Int64Range(-30, 10).Draw(t, "jitter")
		}
		out[i] = event{k: rapid.SampledFrom([]string{"x", "y", "", "a key that is longer than sixteen bytes"}).Draw(t, "k"), t: base + jitter,
			v: int32(rapid.IntRange(-3, 3).Draw(t, "v"))}
	}
	return out
}

// cut draws a way to cut rows into batches.
func cut(t *rapid.T, rows []event) (out [][]event) {
	for len(rows) > 0 {
		n := rapid.IntRange(1, len(rows)).Draw(t, "cut")
		out = append(out, rows[:n])
		rows = rows[n:]
	}
	return out
}

const flushTime = 1_000_000

var flush = []event{{k: "flush", t: flushTime, v: 0}}

var appendQueries = []query{
	{sql: "SELECT window.start AS s, k, count(*) AS n, sum(v) AS t, min(v) AS lo, max(v) AS hi FROM a GROUP BY window(ts, '5 seconds'), k"},
	{sql: "SELECT window, count(v) AS n, array_sort(collect_list(v)) AS l FROM a GROUP BY window(ts, '10 seconds', '4 seconds')"},
	{sql: "SELECT window.start AS s, k, avg(v) AS m, bool_or(v > 1) AS b FROM a GROUP BY window(ts, '3 seconds', '1 second', '500 milliseconds'), k"},
	{sql: "SELECT ts, k, sum(v) AS t FROM a GROUP BY ts, k"},
	{sql: "SELECT session_window.start AS s, session_window.end AS e, k, count(*) AS n, sum(v) AS t FROM a GROUP BY session_window(ts, '3 seconds'), k"},
	{sql: "SELECT session_window AS w, v, max(k) AS m FROM a GROUP BY v, session_window(ts, CASE WHEN v > 0 THEN '2 seconds' ELSE '6 seconds' END)"},
	{sql: "SELECT DISTINCT ts, k FROM a"},
	{sql: "SELECT w2.start AS s, sum(n) AS t FROM (SELECT window(window, '20 seconds') AS w2, n FROM (SELECT window, k, count(*) AS n FROM a GROUP BY window(ts, '5 seconds'), k)) GROUP BY w2"},
	{sql: "SELECT window.start AS s, count(*) AS n FROM da GROUP BY window(ts, '5 seconds')", dedup: []string{"k", "ts", "v"}},
	{sql: "SELECT k, ts FROM da", dedup: []string{"k", "ts"}},
	{sql: "SELECT k, v, ts FROM a WHERE v <> 0 UNION ALL SELECT k, v, ts FROM a"},
	{sql: "SELECT window.start AS s, count(*) AS n FROM (SELECT ts FROM a UNION ALL SELECT ts FROM a WHERE v > 0) GROUP BY window(ts, '7 seconds')"},
	{sql: "SELECT window.start AS s, v, grouping(v) AS g, count(*) AS n FROM a GROUP BY GROUPING SETS ((window(ts, '5 seconds'), v), (window(ts, '5 seconds')))"},
	{sql: "SELECT window.start AS s, k FROM a GROUP BY window(ts, '5 seconds'), k HAVING count(*) > 1"},
	{sql: "SELECT a.k, a.ts, b.v FROM a JOIN a AS b ON a.k = b.k AND a.ts = b.ts"},
}

// Append: whatever the batches, the same rows come out in the end.
func TestAnyCutGivesTheSameInAppend(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		q := rapid.SampledFrom(appendQueries).Draw(t, "query")
		q.mode, q.delay = "append", int64(rapid.IntRange(1, 12).Draw(t, "delay"))
		rows := events(t, "rows", q.delay)
		want := ""
		for i := range 3 {
			x := newSim(t, q, cp, false)
			x.hidden = i == 2
			pieces := [][]event{rows}
			if i > 0 {
				pieces = cut(t, rows)
			}
			for _, p := range pieces {
				x.run(p)
				if rapid.Bool().Draw(t, "settle") {
					x.settle()
				}
			}
			x.run(flush)
			x.settle()
			if i == 0 {
				want = x.all()
			} else if got := x.all(); got != want {
				t.Fatalf("%s\ncut %v\ngot\n%s\nwant\n%s", q.sql, pieces, got, want)
			}
		}
	})
}

var completeQueries = []query{
	{sql: "SELECT k, count(*) AS n, sum(v) AS t, min(v) AS lo, max(k) AS hi FROM a GROUP BY k"},
	{sql: "SELECT count(*) AS n, sum(v) AS t, avg(v) AS m FROM a"},
	{sql: "SELECT window.start AS s, k, sum(v) AS t FROM a GROUP BY window(ts, '10 seconds', '5 seconds'), k"},
	{sql: "SELECT session_window.start AS s, session_window.end AS e, k, count(*) AS n FROM a GROUP BY session_window(ts, '3 seconds'), k"},
	{sql: "SELECT k, v, grouping_id(k, v) AS g, count(*) AS n FROM a GROUP BY CUBE (k, v)"},
	{sql: "SELECT v % 2 AS p, array_sort(collect_set(v)) AS l FROM a GROUP BY v % 2"},
	{sql: "SELECT DISTINCT k FROM a"},
	{sql: "SELECT k, count(*) AS n FROM a GROUP BY k ORDER BY n DESC, k LIMIT 2"},
	{sql: "SELECT struct(k, v) AS s, count(*) AS n FROM a GROUP BY struct(k, v)"},
}

// Complete: the last batch has the same rows whatever the batches.
func TestAnyCutGivesTheSameInComplete(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		q := rapid.SampledFrom(completeQueries).Draw(t, "query")
		q.mode = "complete"
		rows := events(t, "rows", 0)
		want := ""
		for i := range 3 {
			x := newSim(t, q, cp, false)
			x.hidden = i == 2
			pieces := [][]event{rows}
			if i > 0 {
				pieces = cut(t, rows)
			}
			for _, p := range pieces {
				x.run(p)
			}
			if len(pieces) == 0 {
				x.run()
			}
			got := strings.Join(x.rows[len(x.rows)-1], "\n")
			if i == 0 {
				want = got
			} else if got != want {
				t.Fatalf("%s\ncut %v\ngot\n%s\nwant\n%s", q.sql, pieces, got, want)
			}
		}
	})
}

// Complete is what the rows of update come to when the newest of each key counts, and append is the part of it
// that the watermark has closed.
func TestTheThreeModesAgree(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		q := query{delay: int64(rapid.IntRange(1, 12).Draw(t, "delay"))}
		size := rapid.SampledFrom([]string{"'5 seconds'", "'10 seconds', '4 seconds'", "'7 seconds', '7 seconds', '2 seconds'"}).Draw(t, "window")
		q.sql = "SELECT cast(unix_seconds(window.end) AS string) AS e, k, count(*) AS n, sum(v) AS t, max(v) AS hi FROM a GROUP BY window(ts, " + size + "), k"
		rows := events(t, "rows", q.delay)
		pieces := cut(t, rows)
		q.mode = "update"
		u := newSim(t, q, cp, false)
		q.mode = "complete"
		c := newSim(t, q, cp, false)
		q.mode = "append"
		a := newSim(t, q, cp, false)
		fold := map[string]string{}
		appended := map[string]bool{}
		for _, p := range pieces {
			for _, x := range []*sim{u, c, a} {
				x.run(p)
				x.settle()
			}
			for _, r := range slices.Concat(u.rows...) {
				cells := strings.SplitN(r, "|", 3)
				fold[cells[0]+"|"+cells[1]] = cells[2]
			}
			u.rows = nil
			for _, r := range slices.Concat(a.rows...) {
				if appended[r] {
					t.Fatalf("%s came twice", r)
				}
				appended[r] = true
			}
			a.rows = nil
			var folded, closed []string
			for k, v := range fold {
				folded = append(folded, k+"|"+v)
				end, _, _ := strings.Cut(k, "|")
				if n, err := strconv.ParseInt(end, 10, 64); err != nil || n*1000 <= a.w {
					closed = append(closed, k+"|"+v)
				}
			}
			sort.Strings(folded)
			if got := c.rows[len(c.rows)-1]; !slices.Equal(got, folded) {
				t.Fatalf("complete\n%v\nupdate comes to\n%v", got, folded)
			}
			for _, r := range closed {
				if !appended[r] {
					t.Fatalf("append lacks %s at %d", r, a.w)
				}
			}
			if len(closed) != len(appended) {
				t.Fatalf("append gave %v, closed are %v", appended, closed)
			}
		}
	})
}

// groupModel is a windowed count by key in maps.
type groupModel struct {
	mode        string
	size, slide int64
	state       map[string]int64
}

func (m *groupModel) end(key string) int64 {
	head, _, _ := strings.Cut(key, "|")
	n, _ := strconv.ParseInt(head, 10, 64)
	return n
}

// run gives the rows and the counters of a batch; late and evict are seconds times 1000.
func (m *groupModel) run(rows []event, late, evict int64) (out []string, counters string) {
	groups := map[string]int64{}
	for _, r := range rows {
		first := r.t - r.t%m.slide
		for s := first; s > r.t-m.size; s -= m.slide {
			groups[fmt.Sprintf("%d|%s", s+m.size, r.k)]++
		}
	}
	dropped, updated, removed := 0, 0, 0
	for k, n := range groups {
		if m.mode != "complete" && m.end(k)*1000 <= late {
			dropped++
			continue
		}
		updated++
		m.state[k] += n
		if m.mode == "update" {
			out = append(out, fmt.Sprintf("%s|%d", k, m.state[k]))
		}
	}
	for k, n := range m.state {
		switch {
		case m.mode == "complete":
			out = append(out, fmt.Sprintf("%s|%d", k, n))
		case m.end(k)*1000 <= evict:
			removed++
			delete(m.state, k)
			if m.mode == "append" {
				out = append(out, fmt.Sprintf("%s|%d", k, n))
			}
		}
	}
	sort.Strings(out)
	return out, fmt.Sprint("stateStoreSave", len(m.state), updated, removed, dropped, ";")
}

// Late rows, evictions and all counters of an aggregation, batch by batch.
func TestAggregationAgainstAModel(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		q := query{mode: rapid.SampledFrom([]string{"append", "update", "complete"}).Draw(t, "mode"), delay: int64(rapid.IntRange(1, 9).Draw(t, "delay"))}
		size := int64(rapid.IntRange(1, 12).Draw(t, "size"))
		slide := int64(rapid.IntRange(1, int(size)).Draw(t, "slide"))
		q.sql = fmt.Sprintf("SELECT cast(unix_seconds(window.end) AS string) AS e, coalesce(k, '') AS k, count(*) AS n FROM a GROUP BY window(ts, '%d seconds', '%d seconds'), k", size, slide)
		m := &groupModel{mode: q.mode, size: size, slide: slide, state: map[string]int64{}}
		x := newSim(t, q, cp, false)
		x.hidden = rapid.Bool().Draw(t, "hidden")
		for _, p := range cut(t, events(t, "rows", 0)) {
			for more := true; more; more = rapid.Bool().Draw(t, "empty") {
				late, evict := x.prev, x.w
				rows := x.run(p)
				want, counters := m.run(p, late, evict)
				if !slices.Equal(rows, want) || x.counters() != counters {
					t.Fatalf("%s %s, batch %d\ngot  %v %s\nwant %v %s", q.sql, q.mode, x.batch-1, rows, x.counters(), want, counters)
				}
				p = nil
			}
		}
	})
}

// Deduplication, batch by batch: with and without event time among the keys, and within the watermark.
func TestDedupAgainstAModel(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"k", "ts", "within"}).Draw(t, "kind")
		q := query{mode: rapid.SampledFrom([]string{"append", "update"}).Draw(t, "mode"), delay: int64(rapid.IntRange(1, 9).Draw(t, "delay")),
			sql: "SELECT coalesce(k, '') AS k, cast(unix_seconds(ts) AS string) AS t FROM da"}
		name := "dedupe"
		switch kind {
		case "k":
			q.dedup = []string{"k"}
		case "ts":
			q.dedup = []string{"k", "ts"}
		default:
			q.dedup, name = []string{"within", "k"}, "dedupeWithinWatermark"
		}
		x := newSim(t, q, cp, false)
		x.hidden = rapid.Bool().Draw(t, "hidden")
		state := map[string]int64{} // expiry in seconds
		for _, p := range cut(t, events(t, "rows", 0)) {
			for more := true; more; more = rapid.Bool().Draw(t, "empty") {
				late, evict := x.prev, x.w
				dropped, removed := 0, 0
				var want []string
				for _, r := range p {
					if r.t*1000 <= late {
						dropped++
						continue
					}
					key, expiry := r.k, int64(1<<40)
					switch kind {
					case "ts":
						key, expiry = fmt.Sprint(r.k, r.t), r.t
					case "within":
						expiry = r.t + q.delay
					}
					if _, had := state[key]; !had {
						state[key] = expiry
						want = append(want, fmt.Sprintf("%s|%d", r.k, r.t))
					}
				}
				for k, e := range state {
					if e*1000 <= evict {
						removed++
						delete(state, k)
					}
				}
				sort.Strings(want)
				rows := x.run(p)
				counters := fmt.Sprint(name, len(state), len(want), removed, dropped, ";")
				if !slices.Equal(rows, want) || x.counters() != counters {
					t.Fatalf("dedup by %v, batch %d %v\ngot  %v %s\nwant %v %s", q.dedup, x.batch-1, p, rows, x.counters(), want, counters)
				}
				p = nil
			}
		}
	})
}

// Joins of two streams against loops over all rows, whatever the batches, once everything is flushed.
func TestStreamJoinAgainstLoops(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN"}).Draw(t, "kind")
		low, high := int64(rapid.IntRange(-4, 2).Draw(t, "low")), int64(rapid.IntRange(2, 6).Draw(t, "high"))
		q := query{mode: "append", delay: int64(rapid.IntRange(1, 9).Draw(t, "delay"))}
		byTime := rapid.Bool().Draw(t, "equal times")
		cond := fmt.Sprintf("a.k = b.k AND b.ts BETWEEN a.ts + INTERVAL '%d' SECOND AND a.ts + INTERVAL '%d' SECOND", low, high)
		if byTime {
			low, high = 0, 0
			cond = "a.k = b.k AND a.ts = b.ts"
		}
		extra := rapid.Bool().Draw(t, "condition")
		if extra {
			cond += " AND a.v <= b.v"
		}
		cell := func(side string) string {
			return "coalesce(" + side + ".k, '-'), cast(unix_seconds(" + side + ".ts) AS string), cast(" + side + ".v AS string)"
		}
		q.sql = "SELECT concat_ws(' ', " + cell("a") + ", 'and', " + cell("b") + ") AS r FROM a " + kind + " b ON " + cond
		if kind == "LEFT SEMI JOIN" {
			q.sql = "SELECT concat_ws(' ', " + cell("a") + ") AS r FROM a " + kind + " b ON " + cond
		}
		left, right := events(t, "left", q.delay), events(t, "right", q.delay)
		show := func(e *event) string {
			if e == nil {
				return "-"
			}
			k := e.k
			if k == "" {
				k = "-"
			}
			return fmt.Sprint(k, " ", e.t, " ", e.v)
		}
		var want []string
		matched := map[int]bool{}
		for i := range left {
			l, any := &left[i], false
			for j := range right {
				r := &right[j]
				if l.k == "" && kind != "FULL JOIN" || l.k != r.k || // null keys match in a full outer join only, as in Spark
					r.t < l.t+low || r.t > l.t+high || extra && l.v > r.v {
					continue
				}
				any, matched[j] = true, true
				if kind != "LEFT SEMI JOIN" {
					want = append(want, show(l)+" and "+show(r))
				}
			}
			switch {
			case kind == "LEFT SEMI JOIN" && any:
				want = append(want, show(l))
			case (kind == "LEFT JOIN" || kind == "FULL JOIN") && !any:
				want = append(want, show(l)+" and -")
			}
		}
		if kind == "RIGHT JOIN" || kind == "FULL JOIN" {
			for j := range right {
				if !matched[j] {
					want = append(want, "- and "+show(&right[j]))
				}
			}
		}
		sort.Strings(want)
		x := newSim(t, q, cp, false)
		x.hidden = rapid.Bool().Draw(t, "hidden")
		ls, rs := cut(t, left), cut(t, right)
		for len(ls)+len(rs) > 0 {
			var in [2][]event
			for i, s := range []*[][]event{&ls, &rs} {
				if len(*s) > 0 && rapid.Bool().Draw(t, "side") {
					in[i], *s = (*s)[0], (*s)[1:]
				}
			}
			x.run(in[0], in[1])
			if rapid.Bool().Draw(t, "settle") {
				x.settle()
			}
		}
		x.run([]event{{k: "left flush", t: flushTime}}, []event{{k: "right flush", t: flushTime}})
		x.settle()
		var kept []string // the flushing rows may be out of reach of each other
		for _, r := range strings.Split(x.all(), "\n") {
			if r != "" && !strings.Contains(r, "flush") {
				kept = append(kept, r)
			}
		}
		if got := strings.Join(kept, "\n"); got != strings.Join(want, "\n") {
			t.Fatalf("%s\nleft %v\nright %v\ngot\n%s\nwant\n%s", q.sql, left, right, got, strings.Join(want, "\n"))
		}
	})
}

var restartQueries = append([]query{
	{sql: "SELECT k, v FROM a LIMIT 7", mode: "append"},
	{sql: "SELECT k, ts, v FROM da", dedup: []string{"k"}, mode: "append"},
	{sql: "SELECT k, ts, v FROM da", dedup: []string{"within", "k", "v"}, mode: "append"},
	{sql: "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k", mode: "append"},
	{sql: "SELECT a.k, a.ts, b.v FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 4 SECONDS", mode: "append"},
	{sql: "SELECT a.k, a.ts, b.v FROM a FULL JOIN b ON a.k = b.k AND a.ts = b.ts", mode: "append"},
	{sql: "SELECT a.k, a.ts FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 4 SECONDS", mode: "append"},
	{sql: "SELECT w.start AS s, count(*) AS n FROM (SELECT window(a.ts, '5 seconds') AS w, a.k FROM a JOIN b ON a.k = b.k AND a.ts = b.ts) GROUP BY w", mode: "append"},
}, appendQueries...)

// Plans that are built anew from the checkpoint, after any batch, go on as if they had never stopped.
func TestARestartChangesNothing(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		q := rapid.SampledFrom(restartQueries).Draw(t, "query")
		q.delay = int64(rapid.IntRange(1, 9).Draw(t, "delay"))
		if q.mode == "" {
			q.mode = "append"
			if rapid.Bool().Draw(t, "other mode") {
				q = rapid.SampledFrom(completeQueries).Draw(t, "complete query")
				q.mode, q.delay = "complete", 1
			}
		}
		own, err := store.Open("", store.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		often, after := rapid.Bool().Draw(t, "bases often"), rapid.IntRange(0, 3).Draw(t, "divide after")
		left, right := cut(t, events(t, "left", 0)), cut(t, events(t, "right", 0))
		x, y := newSim(t, q, cp, false), newSim(t, q, own, true)
		for i := range max(len(left), len(right)) + 2 {
			var in [2][]event
			if i < len(left) {
				in[0] = left[i]
			}
			if i < len(right) {
				in[1] = right[i]
			}
			if i == max(len(left), len(right)) {
				in = [2][]event{flush, flush}
			}
			a := x.run(in[0], in[1])
			b := func() []string {
				if often { // not for x, which commits nothing
					defer basesOften(after)()
				}
				if rapid.Bool().Draw(t, "restart") {
					y.build()
				}
				return y.run(in[0], in[1])
			}()
			if !slices.Equal(a, b) || x.counters() != y.counters() || x.w != y.w {
				t.Fatalf("%s, batch %d\nrestarted %v %s\nrunning on %v %s", q.sql, i, b, y.counters(), a, x.counters())
			}
		}
	})
}
