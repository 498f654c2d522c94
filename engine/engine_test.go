package engine

import (
	"context"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/errs"
	"streamlab/sinks"
)

func TestIntervalsOfTriggers(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10 seconds": 10 * time.Second, "interval 1 minute -5 seconds": 55 * time.Second, "999 microseconds": 0,
		"1.5 seconds": 1500 * time.Millisecond, ".5 SECONDS": 500 * time.Millisecond, "1 day 1 day": 48 * time.Hour, " + 1 week ": 168 * time.Hour,
	} {
		if got, err := ParseInterval(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "INVALID_INTERVAL_FORMAT.INPUT_IS_EMPTY", "interval": "INVALID_INTERVAL_FORMAT.INPUT_IS_EMPTY", "10s": "INVALID_INTERVAL_FORMAT.INVALID_VALUE",
		"interval10 s": "INVALID_INTERVAL_FORMAT.INVALID_PREFIX", "ten seconds": "INVALID_INTERVAL_FORMAT.UNRECOGNIZED_NUMBER",
		"1.5 minutes": "INVALID_INTERVAL_FORMAT.INVALID_FRACTION", "1.1234567890 seconds": "INVALID_INTERVAL_FORMAT.INVALID_PRECISION",
		"10 sec": "INVALID_INTERVAL_FORMAT.INVALID_UNIT", "10": "INVALID_INTERVAL_FORMAT.MISSING_UNIT", "-": "INVALID_INTERVAL_FORMAT.MISSING_NUMBER",
		"1 month": "_LEGACY_ERROR_TEMP_3262", "-1 seconds": "NEGATIVE_TRIGGER_INTERVAL",
	} {
		if _, err := ParseInterval(text); errs.As(err) == nil || errs.As(err).Condition != want {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

func TestWatermarkFollowsThePolicyAndNeverGoesBack(t *testing.T) {
	low := newWatermarkTracker(2, 0, false)
	low.observe(0, 30_000, 10_000)
	if g := low.advance(); g != 0 {
		t.Errorf("min moved to %d before every input was seen", g)
	}
	low.observe(1, 15_000, 0)
	if g := low.advance(); g != 15_000 {
		t.Errorf("min is %d, want 15000", g)
	}
	low.observe(1, 1_000, 0)
	if g := low.advance(); g != 15_000 {
		t.Errorf("the watermark went back to %d", g)
	}
	high := newWatermarkTracker(2, 5_000, true)
	high.observe(0, 30_000, 10_000)
	if g := high.advance(); g != 20_000 {
		t.Errorf("max is %d, want 20000", g)
	}
}

func TestTriggersFireAtMultiplesSinceTheEpoch(t *testing.T) {
	tr := ProcessingTime(10 * time.Second)
	for at, want := range map[int64]int64{3_000: 10_000, 10_000: 20_000, 22_000: 30_000} {
		if got := tr.next(time.UnixMilli(at)).UnixMilli(); got != want {
			t.Errorf("after %d ms: %d, want %d", at, got, want)
		}
	}
}

func TestProgressPrintsAsSparkDoes(t *testing.T) {
	p := Progress{ID: "i", RunID: "r", Timestamp: time.UnixMilli(1_767_258_000_120), BatchID: 7, BatchDuration: 480, NumInputRows: 120,
		InputRate: 12, ProcessedRate: math.NaN(), DurationMs: map[string]int64{"walCommit": 41, "addBatch": 310},
		Sources: []SourceProgress{{Description: "d", EndOffset: `{"logOffset":0}`, NumInputRows: 120, InputRate: math.Inf(1), ProcessedRate: 0.05}},
		Sink:    SinkProgress{Description: "MemorySink", NumOutputRows: 5}}
	raw, err := p.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"i","runId":"r","name":null,"timestamp":"2026-01-01T09:00:00.120Z","batchId":7,"batchDuration":480,"numInputRows":120,` +
		`"inputRowsPerSecond":12.0,"durationMs":{"addBatch":310,"walCommit":41},"stateOperators":[],"sources":[{"description":"d",` +
		`"startOffset":null,"endOffset":{"logOffset":0},"latestOffset":null,"numInputRows":120,"processedRowsPerSecond":0.1}],` +
		`"sink":{"description":"MemorySink","numOutputRows":5}}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
	if s := p.Pretty(); !strings.HasPrefix(s, "{\n  \"id\" : \"i\",\n") || !strings.Contains(s, "\"sources\" : [ {\n    \"description\" : \"d\",") {
		t.Errorf("pretty:\n%s", s)
	}
}

// start begins a query over a memory source of numbers; got collects what the sink saw by batch id.
func start(t *testing.T, s *Session, df *DataFrame, dir, name string, got map[int64]int64, tr Trigger) (*StreamingQuery, error) {
	t.Helper()
	return df.WriteStream().QueryName(name).Trigger(tr).Option("checkpointLocation", dir).
		EachBatch(func(ctx context.Context, b sinks.Batch) error {
			n := int64(0)
			err := sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error { n += rb.NumRows(); return nil })
			got[b.ID] = n
			return err
		}).Start(context.Background())
}

func TestRestartKeepsTheIDAndGoesOn(t *testing.T) {
	ctx := context.Background()
	s, err := NewSession(Config{Dir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("memory").Schema("n INT").Register("m")
	feed := func(rows ...any) {
		t.Helper()
		var list [][]any
		for _, r := range rows {
			list = append(list, []any{r})
		}
		if err := s.Feed("m", list); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "chk")
	got := map[int64]int64{}
	feed(1, 2, 3)
	q1, err := start(t, s, df, dir, "q", got, AvailableNow())
	if err != nil {
		t.Fatal(err)
	}
	if err := q1.AwaitTermination(ctx); err != nil {
		t.Fatal(err)
	}
	feed(4)
	q2, err := start(t, s, df, dir, "q", got, AvailableNow())
	if err != nil {
		t.Fatal(err)
	}
	if err := q2.AwaitTermination(ctx); err != nil {
		t.Fatal(err)
	}
	if q1.ID() != q2.ID() || q1.RunID() == q2.RunID() {
		t.Errorf("ids %s, %s; run ids %s, %s", q1.ID(), q2.ID(), q1.RunID(), q2.RunID())
	}
	if got[0] != 3 || got[1] != 1 || len(got) != 2 {
		t.Errorf("batches %v", got)
	}
}

func TestOneNameAndOneCheckpointOneQuery(t *testing.T) {
	s, err := NewSession(Config{Dir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("memory").Schema("n INT").Register("m")
	dir := filepath.Join(t.TempDir(), "chk")
	q, err := start(t, s, df, dir, "a", map[int64]int64{}, ProcessingTime(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(t, s, df, t.TempDir(), "a", map[int64]int64{}, ProcessingTime(0)); !errs.Has(err, "QUERY_NAME_ALREADY_ACTIVE") {
		t.Errorf("a second query of the name: %v", err)
	}
	if _, err := start(t, s, df, dir, "b", map[int64]int64{}, ProcessingTime(0)); !errs.Has(err, "CHECKPOINT_IN_USE") {
		t.Errorf("a second query on the checkpoint: %v", err)
	}
	if err := q.Stop(); err != nil || q.Exception() != nil {
		t.Errorf("stop: %v, %v", err, q.Exception())
	}
}

func TestAFailedQueryTellsAndOthersRunOn(t *testing.T) {
	ctx := context.Background()
	s, err := NewSession(Config{Dir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("memory").Schema("n INT").Register("m")
	if err := s.Feed("m", [][]any{{0}}); err != nil {
		t.Fatal(err)
	}
	good, err := start(t, s, df, t.TempDir(), "good", map[int64]int64{}, ProcessingTime(0))
	if err != nil {
		t.Fatal(err)
	}
	bad, err := start(t, s, df.SelectExpr("1 / n AS x"), t.TempDir(), "bad", map[int64]int64{}, ProcessingTime(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := bad.AwaitTermination(ctx); !errs.Has(err, "STREAM_FAILED") || !errs.Has(err, "DIVIDE_BY_ZERO") {
		t.Errorf("the exception is %v", err)
	}
	if err := s.Streams().AwaitAnyTermination(ctx); !errs.Has(err, "STREAM_FAILED") {
		t.Errorf("awaitAnyTermination: %v", err)
	}
	if err := good.ProcessAllAvailable(ctx); err != nil || !good.IsActive() {
		t.Errorf("the other query: %v, active %v", err, good.IsActive())
	}
}
