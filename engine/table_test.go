package engine_test

import (
	"context"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
)

func TestToTableAppendsToATable(t *testing.T) {
	ctx := context.Background()
	s := numbered(t, [][]any{{1}, {2}}, [][]any{{3}})
	must(t, s, "CREATE TABLE kept (v BIGINT)")
	q, err := must(t, s, "SELECT v + 1 AS v FROM n").WriteStream().Trigger(engine.AvailableNow()).
		Option("checkpointLocation", t.TempDir()).ToTable(ctx, "kept")
	if err != nil {
		t.Fatal(err)
	}
	if err := q.AwaitTermination(ctx); err != nil {
		t.Fatal(err)
	}
	if got := count(t, s, "SELECT v FROM kept ORDER BY v"); got != "2 3 4 " {
		t.Errorf("kept: %s", got)
	}
}

func TestToTableRefusesViewsAndMissingCheckpoints(t *testing.T) {
	ctx := context.Background()
	s := numbered(t)
	must(t, s, "CREATE TEMPORARY VIEW w AS SELECT 1 AS v")
	for name, want := range map[string]string{"w": "_LEGACY_ERROR_TEMP_1190", "nowhere": "_LEGACY_ERROR_TEMP_1298"} {
		if _, err := must(t, s, "SELECT v FROM n").WriteStream().ToTable(ctx, name); !errs.Has(err, want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, ok := s.Catalog().Lookup("nowhere"); ok {
		t.Error("a refused query made its table")
	}
}
