package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
)

// numbered is a session with a memory source `n` (v BIGINT) that gives one micro-batch a push.
func numbered(t *testing.T, batches ...[][]any) *engine.Session {
	t.Helper()
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	df := s.ReadStream().Format("memory").Schema("v BIGINT").Option("maxPushesPerTrigger", 1).Register("n")
	if df.Err() != nil {
		t.Fatal(df.Err())
	}
	for _, b := range batches {
		if err := s.Feed("n", b); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func must(t *testing.T, s *engine.Session, text string) *engine.DataFrame {
	t.Helper()
	df, err := s.SQL(context.Background(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return df
}

func count(t *testing.T, s *engine.Session, text string) string {
	t.Helper()
	rows, _, err := must(t, s, text).Collect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, rb := range rows {
		for i := range int(rb.NumRows()) {
			for c := range rb.Columns() {
				out += rb.Column(c).ValueStr(i) + " "
			}
		}
	}
	return out
}

func TestForeachBatchSQLRunsStatementsOverEveryBatch(t *testing.T) {
	ctx := context.Background()
	s := numbered(t, [][]any{{1}, {2}}, [][]any{{3}})
	must(t, s, "CREATE TABLE copied (v BIGINT)")
	must(t, s, "CREATE TABLE audit (batch BIGINT, n BIGINT)")
	q, err := must(t, s, "SELECT v * 10 AS v FROM n").WriteStream().Trigger(engine.AvailableNow()).ForeachBatchSQL([]engine.Statement{
		{SQL: "INSERT INTO copied SELECT v FROM batch"},
		{SQL: "INSERT INTO audit SELECT :batch_id, count(*) FROM batch"},
		{SQL: "INSERT INTO audit VALUES (-1, :batch_id)", Only: func(id int64) bool { return id == 1 }},
	}, true).Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.AwaitTermination(ctx); err != nil {
		t.Fatal(err)
	}
	if got := count(t, s, "SELECT * FROM copied ORDER BY v"); got != "10 20 30 " {
		t.Errorf("copied: %s", got)
	}
	if got := count(t, s, "SELECT * FROM audit ORDER BY batch, n"); got != "-1 1 0 2 1 1 " {
		t.Errorf("audit: %s", got)
	}
	if _, ok := s.Catalog().Lookup("batch"); ok {
		t.Error("the view batch is seen outside its call")
	}
}

func TestForeachBatchGivesAFiniteDataFrame(t *testing.T) {
	ctx := context.Background()
	s := numbered(t, [][]any{{1}, {2}, {2}})
	var got []string
	q, err := must(t, s, "SELECT v FROM n").WriteStream().Trigger(engine.AvailableNow()).
		ForeachBatch(func(ctx context.Context, batch *engine.DataFrame, id int64) error {
			if batch.IsStreaming() {
				return errors.New("the batch is a stream")
			}
			df, err := batch.Session().SQL(ctx, "SELECT v, count(*) AS c FROM batch GROUP BY v ORDER BY c DESC LIMIT 1")
			if err != nil {
				return err
			}
			rows, _, err := df.Collect(ctx)
			if err != nil {
				return err
			}
			got = append(got, fmt.Sprint(id, " ", rows[0].Column(0).ValueStr(0), " ", rows[0].Column(1).ValueStr(0)))
			return nil
		}).Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.AwaitTermination(ctx); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[0 2 2]" {
		t.Errorf("got %v", got)
	}
}

// What is wrong with a statement is said before the query starts.
func TestForeachBatchSQLIsAnalysedBeforeTheStart(t *testing.T) {
	s := numbered(t)
	for text, want := range map[string]string{
		"INSERT INTO nowhere SELECT * FROM batch": "TABLE_OR_VIEW_NOT_FOUND",
		"SELECT w FROM batch":                     "UNRESOLVED_COLUMN",
		"SELEC":                                   "PARSE_SYNTAX_ERROR",
	} {
		err := must(t, s, "SELECT v FROM n").WriteStream().ForeachBatchSQL([]engine.Statement{{SQL: text}}, true).Check()
		if !errs.Has(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
