package engine

import (
	"context"
	"fmt"
	"io"
	"testing"

	"streamlab/columnar"
)

func stillRows(t *testing.T, still func() (*Session, error), text string) []string {
	t.Helper()
	s, err := still()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	df, err := s.SQL(ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	list, schema, err := df.Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, rb := range list {
		vs := columnar.Vectors(rb, schema)
		for i := range int(rb.NumRows()) {
			row := ""
			for j := range vs {
				row += fmt.Sprint(vs[j].I64[i]) + " "
			}
			out = append(out, row)
		}
	}
	return out
}

func TestStillReadsStreamsAsTables(t *testing.T) {
	s, err := NewSession(Config{Dir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("memory").Schema("n BIGINT, ts TIMESTAMP").Option("maxPushesPerTrigger", 1).Register("clicks")
	if err := df.WithWatermark("ts", "1 minute").CreateOrReplaceTempView("clicks"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SQL(context.Background(), "CREATE TEMPORARY VIEW big AS SELECT * FROM clicks WHERE n > 1"); err != nil {
		t.Fatal(err)
	}
	for _, rows := range [][][]any{{{1, "2026-01-01 00:00:00"}, {2, "2026-01-01 00:00:01"}}, {{3, "2026-01-01 00:10:00"}}} {
		if err := s.Feed("clicks", rows); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"SELECT count(n) FROM clicks":                                   "[3 ]",
		"SELECT n FROM big ORDER BY n":                                  "[2  3 ]",
		"SELECT a.n FROM clicks a JOIN big b ON a.n = b.n ORDER BY a.n": "[2  3 ]",
	} {
		if got := fmt.Sprint(stillRows(t, s.Still, text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := fmt.Sprint(stillRows(t, s.FirstBatch, "SELECT n FROM clicks ORDER BY n")); got != "[1  2 ]" {
		t.Errorf("first batch: %s", got)
	}
	if err := s.ReadStream().Format("rate").Option("rowsPerSecond", 5).Register("ticks").Err(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(stillRows(t, s.Still, "SELECT count(value) FROM ticks")); got != "[50 ]" {
		t.Errorf("ten seconds of rate: %s", got)
	}
	// The session itself is as before.
	df, err = s.SQL(context.Background(), "SELECT n FROM clicks")
	if err != nil || !df.IsStreaming() {
		t.Errorf("the session's stream is none any more: %v", err)
	}
}
