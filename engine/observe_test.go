package engine_test

import (
	"context"
	"fmt"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sinks"
)

// TestObserveSeesTheRowsWhereItStands observes above a filter, reads every batch twice, and finds each row
// counted once.
func TestObserveSeesTheRowsWhereItStands(t *testing.T) {
	ctx := context.Background()
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.ReadStream().Format("memory").Schema("k INT, v INT").Option("maxPushesPerTrigger", 1).Register("m")
	for _, rows := range [][][]any{{{"1", "10"}, {"2", "20"}, {"1", nil}}, {{"3", "5"}}} {
		if err := s.Feed("m", rows); err != nil {
			t.Fatal(err)
		}
	}
	df, err := s.SQL(ctx, "SELECT * FROM m WHERE k < 3")
	if err != nil {
		t.Fatal(err)
	}
	df = df.Observe("in", "count(*) AS n", "max(v) - min(v) AS span", "avg(v) AS mean")
	df = df.GroupBy("k").Agg("sum(v) AS total").Observe("groups", "count(total) AS n")
	q, err := df.WriteStream().OutputMode("update").Trigger(engine.AvailableNow()).Option("checkpointLocation", "chk").
		EachBatch(func(ctx context.Context, b sinks.Batch) error {
			for range 2 {
				for _, p := range b.Parts {
					for _, err := range p.Rows(ctx) {
						if err != nil {
							return err
						}
					}
				}
			}
			return nil
		}).Start(ctx)
	if err == nil {
		err = q.AwaitTermination(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range q.RecentProgress() {
		if p.Observed != nil {
			got = append(got, fmt.Sprintf("%s %s", p.Observed["in"], p.Observed["groups"]))
		}
	}
	want := []string{`{"n":3,"span":10,"mean":15.0} {"n":2}`, `{"n":0,"span":null,"mean":null} {"n":0}`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

func TestObserveRefusesWhatIsNoAggregate(t *testing.T) {
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("rate").Load()
	for _, c := range []struct {
		name, expr, want string
	}{
		{"", "count(*)", "INVALID_OBSERVED_METRICS.MISSING_NAME"},
		{"m", "value", "INVALID_OBSERVED_METRICS.NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE"},
		{"m", "value + max(value)", "INVALID_OBSERVED_METRICS.NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE"},
		{"m", "count(DISTINCT value)", "INVALID_OBSERVED_METRICS.AGGREGATE_EXPRESSION_WITH_DISTINCT_UNSUPPORTED"},
		{"m", "count(*) FILTER (WHERE value > 1)", "INVALID_OBSERVED_METRICS.AGGREGATE_EXPRESSION_WITH_FILTER_UNSUPPORTED"},
		{"m", "nope(value)", "UNRESOLVED_ROUTINE"},
	} {
		if err := df.Observe(c.name, c.expr).Err(); !errs.Has(err, c.want) {
			t.Errorf("observe %q %s: %v, want %s", c.name, c.expr, err, c.want)
		}
	}
	if err := df.Observe("m", "count(*) AS n").Observe("m", "max(value)").Err(); !errs.Has(err, "DUPLICATED_METRICS_NAME") {
		t.Errorf("a name that is taken: %v", err)
	}
}
