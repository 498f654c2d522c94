package engine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"streamlab/sinks"
)

// The rows that a front reads are the first ones of the whole state, with their values and batches, whatever the
// types of the keys, and whether rows change, leave, or share the beginning of a long text.
func TestFrontIsBeginOfWholeState(t *testing.T) {
	ctx := context.Background()
	narrowed := 0
	for i, query := range []string{
		"SELECT k, count(*) AS n, collect_list(v) AS l FROM a GROUP BY k",
		"SELECT v, count(*) AS n, max(k) AS m FROM a GROUP BY v",
		"SELECT d, count(*) AS n FROM a GROUP BY d",
		"SELECT CAST(d AS FLOAT), v > 100, count(*) AS n FROM a GROUP BY 1, 2",
		"SELECT ts, k, count(*) AS n FROM a GROUP BY ts, k",
		"SELECT struct(v, k) AS s, d, count(*) AS n FROM a GROUP BY 1, 2",
		"SELECT CAST(v AS DECIMAL(30, 2)), count(*) AS n FROM a GROUP BY 1",
		"SELECT v % 3, array(v, 1), count(*) AS n FROM a GROUP BY 1, 2",
		"SELECT array(v, 1), count(*) AS n FROM a GROUP BY 1",
		"SELECT k, v FROM u",
	} {
		t.Run(query, func(t *testing.T) {
			s, err := NewSession(Config{Dir: t.TempDir(), Conf: map[string]string{"streamlab.durability": "process"}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			a := s.ReadStream().Format("memory").Schema("ts TIMESTAMP, k STRING, v INT, d DOUBLE").Load().WithWatermark("ts", "20 seconds")
			if err := a.CreateOrReplaceTempView("a"); err != nil {
				t.Fatal(err)
			}
			if err := a.DropDuplicates("k", "v").CreateOrReplaceTempView("u"); err != nil {
				t.Fatal(err)
			}
			df, err := s.SQL(ctx, query)
			if err != nil {
				t.Fatal(err)
			}
			mode := "update"
			if strings.Contains(query, " ts,") {
				mode = "append"
			}
			w := df.WriteStream().OutputMode(mode).Option("checkpointLocation", t.TempDir()+"/c").
				EachBatch(func(context.Context, sinks.Batch) error { return nil })
			q, err := w.Start(ctx)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(uint64(i), 7))
			at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
			for range 6 {
				var rows [][]any
				for range 400 {
					k := strings.Repeat("long beginning of a text ", r.IntN(2)) + strings.Repeat("ab\x00c", r.IntN(6)) + fmt.Sprint(r.IntN(300))
					row := []any{at.Add(time.Duration(r.IntN(60)-30) * time.Second).Format("2006-01-02 15:04:05"), k, fmt.Sprint(r.IntN(1000) - 500),
						[]string{"NaN", "-0.0", "0.0", "Infinity", "-Infinity", fmt.Sprint(r.NormFloat64())}[min(5, r.IntN(40))]}
					for c := 1; c < len(row); c++ {
						if r.IntN(30) == 0 {
							row[c] = nil
						}
					}
					rows = append(rows, row)
				}
				if err := s.Feed("a", rows); err != nil {
					t.Fatal(err)
				}
				at = at.Add(15 * time.Second)
				if err := q.ProcessAllAvailable(ctx); err != nil {
					t.Fatal(err)
				}
			}
			x, err := w.Inspect()
			if err != nil {
				t.Fatal(err)
			}
			cp := q.Checkpoint()
			_, to := cp.Retained()
			for n := to; n >= 0 && n > to-3; n-- {
				whole, err := x.read(cp, n, 0, "default", true)
				if err != nil {
					t.Fatal(err)
				}
				for _, least := range []int{1, 5, 30, 5000} {
					ep, err := x.build()
					if err != nil {
						t.Fatal(err)
					}
					v := cp.At(n)
					m, ok, err := ep.StateFront(v, 0, "default", least)
					v.Close()
					if err != nil {
						t.Fatal(err)
					}
					if !ok {
						continue
					}
					if m.Len() < min(least, whole.Len()) || m.Len() > whole.Len() {
						t.Fatalf("batch %d: %d rows of %d, %d were asked for", n, m.Len(), whole.Len(), least)
					}
					if m.Len() < whole.Len() {
						narrowed++
					}
					for i := range m.Len() {
						b, most := m.Batch(i)
						wb, wmost := whole.Batch(i)
						if !bytes.Equal(m.Key(i), whole.Key(i)) || !bytes.Equal(m.AppendValue(nil, i), whole.AppendValue(nil, i)) || b != wb || most != wmost {
							t.Fatalf("batch %d, place %d of %d: key %q instead of %q, batch %d instead of %d", n, i, m.Len(), m.Key(i), whole.Key(i), b, wb)
						}
					}
				}
			}
			if err := q.Stop(); err != nil {
				t.Fatal(err)
			}
		})
	}
	if narrowed < 30 {
		t.Errorf("only %d fronts were smaller than the state", narrowed)
	}
}
