package engine_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"streamlab/engine"
)

// A sink that keeps nothing is lent its rows; who looks at the batch finds the first thousand all the same, and the
// counts are those of all.
func TestRowsThatAreLentAreSampled(t *testing.T) {
	ctx := context.Background()
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir(), Out: io.Discard, Conf: map[string]string{"streamlab.durability": "process"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.ReadStream().Format("memory").Schema("page STRING, v INT").Register("m")
	var rows [][]any
	for i := range 9000 {
		rows = append(rows, []any{fmt.Sprintf("/%d", i), i})
	}
	if err := s.Feed("m", rows); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query string
		total int64
		cell  string
	}{{"SELECT page, v FROM m", 9000, "[/7 7]"}, {"SELECT page, v + 1 AS w, 'x' AS x FROM m WHERE v % 3 = 0", 3000, "[/21 22 x]"}} {
		q, err := s.SQL(ctx, c.query)
		if err != nil {
			t.Fatal(err)
		}
		run, err := q.WriteStream().Format("noop").Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.ProcessAllAvailable(ctx); err != nil {
			t.Fatal(err)
		}
		kept, total, ok := run.BatchRows(0)
		if !ok || total != c.total {
			t.Fatalf("%s: %d rows, %v", c.query, total, ok)
		}
		n, seventh := int64(0), ""
		for _, rb := range kept {
			if at := 7 - n; at >= 0 && at < rb.NumRows() {
				var cells []string
				for i := range rb.Columns() {
					cells = append(cells, rb.Column(i).ValueStr(int(at)))
				}
				seventh = fmt.Sprint(cells)
			}
			n += rb.NumRows()
		}
		if n != 1000 || seventh != c.cell {
			t.Errorf("%s: %d rows are kept, the eighth is %s", c.query, n, seventh)
		}
		if got := run.LastProgress().Sink.NumOutputRows; got != c.total {
			t.Errorf("%s: progress says %d rows", c.query, got)
		}
		if err := run.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}
