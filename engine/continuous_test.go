package engine

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"streamlab/errs"
	"streamlab/sinks"
)

// gather is a sink of single rows that remembers BIGINT values by epoch, and tells of each.
type gather struct {
	mu   sync.Mutex
	rows map[int64][]int64
	seen chan int64
	fail func(epoch int64) error
}

func newGather() *gather { return &gather{rows: map[int64][]int64{}, seen: make(chan int64, 100_000)} }

func (g *gather) Close() error { return nil }

func (g *gather) AddBatch(ctx context.Context, b sinks.Batch) error {
	var got []int64
	err := sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
		for i := range int(rb.NumRows()) {
			v := rb.Column(0).(*array.Int64).Value(i)
			got = append(got, v)
			g.seen <- v
		}
		return nil
	})
	if err == nil && g.fail != nil {
		err = g.fail(b.ID)
	}
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.rows[b.ID] = got
	g.mu.Unlock()
	return nil
}

// all is every row in the order of the epochs.
func (g *gather) all() (out []int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for e := int64(0); e <= int64(len(g.rows)); e++ {
		out = append(out, g.rows[e]...)
	}
	return out
}

func continuousSession(t *testing.T) (*Session, *DataFrame, func(values ...int)) {
	t.Helper()
	s, err := NewSession(Config{Dir: t.TempDir(), Out: io.Discard, Conf: map[string]string{keyDurability: "process"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	df := s.ReadStream().Format("memory").Schema("v BIGINT").Register("m")
	return s, df, func(values ...int) {
		t.Helper()
		var rows [][]any
		for _, v := range values {
			rows = append(rows, []any{v})
		}
		if err := s.Feed("m", rows); err != nil {
			t.Fatal(err)
		}
	}
}

func TestContinuousRowsLeaveBeforeTheirEpochEnds(t *testing.T) {
	_, df, feed := continuousSession(t)
	g := newGather()
	q, err := df.Where("v % 2 = 0").SelectExpr("v * 10 AS v").WriteStream().Trigger(Continuous(time.Hour)).
		Option("checkpointLocation", filepath.Join(t.TempDir(), "chk")).Sink(g, "gather").Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	feed(1, 2, 3, 4)
	if a, b := <-g.seen, <-g.seen; a != 20 || b != 40 {
		t.Errorf("rows %d, %d", a, b)
	}
	feed(6)
	if v := <-g.seen; v != 60 {
		t.Errorf("the second push gave %d", v)
	}
	if n := len(q.RecentProgress()); n != 0 {
		t.Errorf("%d epochs have ended within the hour", n)
	}
	if m := q.Status(); m.Message != "Running" || m.IsTriggerActive || m.IsDataAvailable {
		t.Errorf("status %+v", m)
	}
	if err := q.StopAfterBatch(); err != nil || q.Exception() != nil {
		t.Fatal(err, q.Exception())
	}
	p := q.LastProgress()
	if p == nil || p.BatchID != 0 || p.NumInputRows != 5 || p.Sources[0].EndOffset != "1" {
		t.Errorf("progress %+v", p)
	}
}

func TestContinuousGoesOnBehindTheLastEpoch(t *testing.T) {
	_, df, feed := continuousSession(t)
	dir := filepath.Join(t.TempDir(), "chk")
	g := newGather()
	begin := func(tr Trigger) *StreamingQuery {
		t.Helper()
		q, err := df.WriteStream().Trigger(tr).Option("checkpointLocation", dir).Sink(g, "gather").Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	wait := func(n int) {
		for range n {
			<-g.seen
		}
	}
	feed(1, 2)
	q := begin(Continuous(time.Hour))
	wait(2)
	if err := q.StopAfterBatch(); err != nil {
		t.Fatal(err)
	}
	feed(3)
	q = begin(AvailableNow()) // micro-batches go on where epochs ended
	if err := q.AwaitTermination(context.Background()); err != nil {
		t.Fatal(err)
	}
	feed(4)
	q = begin(Continuous(time.Hour)) // and the other way round
	wait(2)
	if err := q.Stop(); err != nil { // abandons the epoch: its row comes again
		t.Fatal(err)
	}
	q = begin(Continuous(time.Hour))
	if v := <-g.seen; v != 4 {
		t.Errorf("after the stop came %d", v)
	}
	if err := q.StopAfterBatch(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(g.all()); got != "[1 2 3 4]" {
		t.Error(got)
	}
}

func TestContinuousRunsALoggedEpochAgainWithItsRows(t *testing.T) {
	_, df, feed := continuousSession(t)
	dir := filepath.Join(t.TempDir(), "chk")
	g := newGather()
	g.fail = func(int64) error { return errs.New("SINK_FAILED", "sink", "gather", "reason", "full") }
	begin := func() *StreamingQuery {
		t.Helper()
		q, err := df.WriteStream().Trigger(Continuous(time.Hour)).Option("checkpointLocation", dir).Sink(g, "gather").Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	feed(1, 2)
	q := begin()
	<-g.seen
	<-g.seen
	if err := q.StopAfterBatch(); err != nil {
		t.Fatal(err)
	}
	if err := q.AwaitTermination(context.Background()); !errs.Has(err, "SINK_FAILED") {
		t.Fatal(err)
	}
	feed(3)
	g.fail = nil
	q = begin()
	for range 3 {
		<-g.seen
	}
	if err := q.StopAfterBatch(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(g.rows[0], g.rows[1]); got != "[1 2] [3]" {
		t.Error(got)
	}
}

func TestContinuousReadsRateIntoMemory(t *testing.T) {
	s, err := NewSession(Config{Dir: t.TempDir(), Out: io.Discard, Conf: map[string]string{keyDurability: "process"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("rate").Option("rowsPerSecond", "500").Option("numPartitions", "3").Load()
	dir := filepath.Join(t.TempDir(), "chk")
	g := newGather()
	for _, tr := range []Trigger{Continuous(10 * time.Millisecond), ProcessingTime(0), Continuous(20 * time.Millisecond)} {
		q, err := df.SelectExpr("value").WriteStream().Trigger(tr).Option("checkpointLocation", dir).Sink(g, "gather").Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			<-g.seen
		}
		if err := q.StopAfterBatch(); err != nil || q.Exception() != nil {
			t.Fatal(err, q.Exception())
		}
	}
	have := map[int64]bool{}
	for _, v := range g.all() {
		if have[v] {
			t.Errorf("%d came twice", v)
		}
		have[v] = true
	}
	gaps := 0
	for v := range int64(len(have)) {
		if !have[v] {
			gaps++
		}
	}
	if gaps > 9 { // partitions are not equally far at the end
		t.Errorf("%d of the first %d values are missing", gaps, len(have))
	}
}

func TestContinuousWithoutIntervalCommitsWhatComes(t *testing.T) {
	_, df, feed := continuousSession(t)
	g := newGather()
	q, err := df.WriteStream().Trigger(Continuous(0)).MaxBatches(2).Option("checkpointLocation", filepath.Join(t.TempDir(), "chk")).
		Sink(g, "gather").Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	feed(1, 2)
	<-g.seen
	<-g.seen
	feed(3)
	if err := q.AwaitTermination(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(g.rows[0], g.rows[1]); got != "[1 2] [3]" {
		t.Error(got)
	}
}

func TestContinuousEndsWithTheErrorOfARow(t *testing.T) {
	_, df, feed := continuousSession(t)
	q, err := df.SelectExpr("1 / v AS x").WriteStream().Format("noop").Trigger(Continuous(time.Hour)).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	feed(0)
	if err := q.AwaitTermination(context.Background()); !errs.Has(err, "DIVIDE_BY_ZERO") {
		t.Error(err)
	}
}

func TestRealTimeRunsUpdateAndRefusesState(t *testing.T) {
	s, df, feed := continuousSession(t)
	g := newGather()
	q, err := df.WriteStream().OutputMode("update").Trigger(RealTime(0)).Sink(g, "gather").Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	feed(7)
	if v := <-g.seen; v != 7 {
		t.Errorf("came %d", v)
	}
	if err := q.StopAfterBatch(); err != nil || q.Exception() != nil {
		t.Fatal(err, q.Exception())
	}
	for _, c := range []struct{ sql, condition string }{
		{"SELECT count(*) FROM m", "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"},
		{"SELECT v FROM m UNION ALL SELECT v FROM m", "STREAMING_REAL_TIME_MODE.IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED"},
	} {
		x, err := s.SQL(context.Background(), c.sql)
		if err != nil {
			t.Fatal(err)
		}
		q, err := x.WriteStream().Format("console").OutputMode("update").Trigger(RealTime(0)).Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := q.AwaitTermination(context.Background()); !errs.Has(err, c.condition) {
			t.Errorf("%s: %v", c.sql, err)
		}
	}
}

func TestWhatTheContinuousTriggerRefuses(t *testing.T) {
	s, _, _ := continuousSession(t)
	s.ReadStream().Format("rate").Register("r")
	for text, want := range map[string]string{
		"SELECT count(*) FROM r":                                   "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
		"SELECT value, current_timestamp() FROM r":                 "current time",
		"SELECT value FROM r WHERE current_date() > '2020-01-01'":  "current time",
		"SELECT explode(array(value)) FROM r":                      "Generate",
		"SELECT value FROM r LIMIT 3":                              "LocalLimit",
		"SELECT value FROM r UNION ALL SELECT value FROM r":        "Union",
		"SELECT x.value FROM r x JOIN r y ON x.value = y.value":    "Join",
		"SELECT window(timestamp, '5 seconds', '1 second') FROM r": "Expand",
		"SELECT window(timestamp, '5 seconds'), rand() FROM r":     "",
		"SELECT v.value FROM (SELECT value FROM r) v":              "",
	} {
		df, err := s.SQL(context.Background(), text)
		if err != nil {
			t.Fatal(err)
		}
		err = df.WriteStream().Format("console").Trigger(Continuous(time.Second)).Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
