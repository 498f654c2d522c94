package engine

import (
	"context"
	"fmt"
	"io"
	"testing"

	"streamlab/sql/plan"
)

func TestGroupingKeys(t *testing.T) {
	s, err := NewSession(Config{Dir: t.TempDir(), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.ReadStream().Format("memory").Schema("n BIGINT, ts TIMESTAMP, page STRING").Register("clicks").Err(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"SELECT window(ts, '1 minute') AS w, page, count(*) FROM clicks GROUP BY window(ts, '1 minute'), page": "[0 1]",
		"SELECT count(*), page, window.start, window.end FROM clicks GROUP BY window(ts, '1 minute'), page":    "[1 2]",
		"SELECT count(*), page FROM clicks GROUP BY window(ts, '1 minute'), page":                              "[]",
		"SELECT page, sum(n) AS s FROM clicks GROUP BY page HAVING s > 3":                                      "[0]",
		"SELECT upper(page), sum(n) AS s FROM clicks GROUP BY page":                                            "[]",
		"SELECT upper(page) AS p, sum(n) AS s FROM clicks GROUP BY upper(page)":                                "[0]",
		"SELECT page, n FROM clicks":          "[]",
		"SELECT count(*) FROM clicks":         "[]",
		"SELECT DISTINCT page, n FROM clicks": "[0 1]",
	} {
		df, err := s.SQL(context.Background(), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := fmt.Sprint(groupingKeys(plan.Optimize(df.node))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
