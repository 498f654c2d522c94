package engine_test

import (
	"strings"
	"testing"
)

// A refused change of an operator says what of it is another: the grouping, or what is kept of a group.
func TestAChangedOperatorIsSaidInItsColumns(t *testing.T) {
	const count = "SELECT k, count(*) AS n FROM s GROUP BY k"
	r := newRestartable(t)
	if err := r.run(r.writer("json", "1 minute", count, "update", "noop")); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][2]string{
		"SELECT v, count(*) AS n FROM s GROUP BY v":                                 {"grouped by k string", "grouped by v int"},
		"SELECT k, v, count(*) AS n FROM s GROUP BY k, v":                           {"grouped by k string", "grouped by k string, v int"},
		"SELECT CAST(v AS DECIMAL(10,2)) AS d, count(*) AS n FROM s GROUP BY 1":     {"grouped by k string", "decimal(10,2)"},
		"SELECT k, count(*) AS n, max(v) AS m FROM s GROUP BY k":                    {"stateStoreSave with state", "stateStoreSave with state"},
		"SELECT window(ts, '1 minute') AS w, k, count(*) AS n FROM s GROUP BY 1, 2": {"grouped by k string", "struct<start:timestamp,end:timestamp>"},
	} {
		r.session()
		changes, err := r.writer("json", "1 minute", query, "update", "noop").Restart()
		if err != nil || len(changes) == 0 {
			t.Fatalf("%s: %v, %v", query, changes, err)
		}
		if c := changes[0]; !strings.Contains(c.Was, want[0]) || !strings.Contains(c.Now, want[1]) || c.Was == c.Now {
			t.Errorf("%s: was %q, is %q", query, c.Was, c.Now)
		}
	}
}
