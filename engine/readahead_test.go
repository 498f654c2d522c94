package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamlab/sinks"
)

// Batches whose input is read while the one before commits give the rows and count what they do when nothing is read
// ahead, in a run that goes through, in one that fails in the middle, and after it.
func TestReadingAheadChangesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, in := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, in), 0o755); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(uint64(in[0]), 1))
		for f := range 12 {
			var b strings.Builder
			for range 2500 {
				second := f*30 + rng.IntN(90)
				fmt.Fprintf(&b, `{"ts":"2026-01-01T00:%02d:%02dZ","id":%d,"k":"key %d","v":%d.25}`+"\n", second/60, second%60, rng.IntN(4000), rng.IntN(40), rng.IntN(100))
			}
			if f == 8 {
				b.WriteString(`{"ts":"2026-01-01T00:04:00Z","id":-1,"k":"bad","v":0}` + "\n")
			}
			if err := os.WriteFile(filepath.Join(dir, in, fmt.Sprintf("%02d.json", f)), []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	queries := map[string]struct {
		mode string
		make func(s *Session, a, b *DataFrame) *DataFrame
	}{
		"few groups":   {"update", sqlOf("SELECT k, count(*) n, avg(v) m, min(id) FROM a GROUP BY k")},
		"many groups":  {"complete", sqlOf("SELECT id, k, count(*) n, sum(v) m FROM a WHERE id % 3 > 0 GROUP BY id, k")},
		"texts":        {"update", sqlOf("SELECT k, max(concat(k, id)) n, min(v) FROM a GROUP BY k")},
		"tumbling":     {"append", sqlOf("SELECT window(ts, '10 seconds') w, k, count(*) n, sum(v) FROM a GROUP BY window(ts, '10 seconds'), k")},
		"sliding":      {"append", sqlOf("SELECT window(ts, '30 seconds', '5 seconds') w, id % 50 g, count(*) n FROM a GROUP BY window(ts, '30 seconds', '5 seconds'), id % 50")},
		"session":      {"append", sqlOf("SELECT session_window(ts, '2 seconds') w, id, count(*) n FROM a GROUP BY session_window(ts, '2 seconds'), id")},
		"random":       {"update", sqlOf("SELECT k, count_if(x > 0.5) n FROM (SELECT k, rand(3) x FROM a) GROUP BY k")},
		"batch's time": {"update", sqlOf("SELECT k, count_if(current_timestamp() > ts + INTERVAL 2 MINUTES) n FROM a GROUP BY k")},
		"union":        {"update", sqlOf("SELECT k, count(*) n FROM (SELECT k FROM a UNION ALL SELECT k FROM b) GROUP BY k")},
		"dedup":        {"append", func(s *Session, a, b *DataFrame) *DataFrame { return a.DropDuplicates("id", "ts") }},
		"within":       {"append", func(s *Session, a, b *DataFrame) *DataFrame { return a.DropDuplicatesWithinWatermark("id") }},
		"inner join":   {"append", sqlOf("SELECT a.id, a.ts, b.ts u FROM a JOIN b ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 2 SECONDS")},
		"outer join":   {"append", sqlOf("SELECT a.id, a.ts, b.ts u FROM a LEFT JOIN b ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 2 SECONDS")},
		"fails first":  {"update", sqlOf("SELECT k, count(*) n FROM (SELECT k, id FROM a WHERE 10 DIV (id + 1) > 0) GROUP BY k")},
		"fails late":   {"update", sqlOf("SELECT k, sum(10 / (id + 1)) n FROM a GROUP BY k")},
	}
	least := readAheadFrom
	defer func() { readAheadFrom = least }()
	for name, q := range queries {
		t.Run(name, func(t *testing.T) {
			run := func(from int64, end string) string {
				readAheadFrom = from
				s, err := NewSession(Config{Dir: dir, Workspace: filepath.Join(dir, "ws", name, end), Conf: map[string]string{"streamlab.durability": "process"}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				read := func(in string) *DataFrame {
					df := s.ReadStream().Format("json").Schema("ts TIMESTAMP, id BIGINT, k STRING, v DOUBLE").Option("maxFilesPerTrigger", 2).
						Load(filepath.Join(dir, in)).WithWatermark("ts", "20 seconds")
					if err := df.CreateOrReplaceTempView(in); err != nil {
						t.Fatal(err)
					}
					return df
				}
				a, b := read("a"), read("b")
				var out strings.Builder
				for _, fail := range []int64{2, -1} {
					x, err := q.make(s, a, b).WriteStream().OutputMode(q.mode).Trigger(AvailableNow()).Option("checkpointLocation", filepath.Join("chk", name, end)).
						EachBatch(func(ctx context.Context, b sinks.Batch) error {
							var rows []string
							for _, p := range b.Parts {
								for rb, err := range p.Rows(ctx) {
									if err != nil {
										return err
									}
									for r := range int(rb.NumRows()) {
										line := ""
										for c := range rb.Columns() {
											line += rb.Column(c).ValueStr(r) + " "
										}
										rows = append(rows, line)
									}
								}
							}
							if b.ID == fail {
								return fmt.Errorf("no")
							}
							slices.Sort(rows)
							fmt.Fprintf(&out, "batch %d\n%s\n", b.ID, strings.Join(rows, "\n"))
							return nil
						}).Start(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintln(&out, x.AwaitTermination(t.Context()) != nil)
					for _, p := range x.RecentProgress() {
						what, err := json.Marshal([]any{p.BatchID, p.NumInputRows, p.EventTime})
						if err != nil {
							t.Fatal(err)
						}
						fmt.Fprintf(&out, "%s", what)
						for _, o := range p.StateOperators {
							fmt.Fprint(&out, " ", o.NumRowsTotal, o.NumRowsUpdated, o.NumRowsRemoved, o.NumRowsDroppedByWatermark)
						}
						fmt.Fprintln(&out)
					}
				}
				return out.String()
			}
			want, got := strings.Split(run(1<<62, "alone"), "\n"), strings.Split(run(0, "ahead"), "\n")
			for i := range max(len(want), len(got)) {
				if i >= len(want) || i >= len(got) || want[i] != got[i] {
					t.Fatalf("line %d of %d and %d\nwant %q\ngot  %q", i, len(want), len(got), at(want, i), at(got, i))
				}
			}
			if len(want) < 20 {
				t.Fatalf("too little to compare: %q", want)
			}
		})
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func sqlOf(text string) func(s *Session, a, b *DataFrame) *DataFrame {
	return func(s *Session, a, b *DataFrame) *DataFrame {
		df, err := s.SQL(context.Background(), text) // of views that are there
		if err != nil {
			panic(err)
		}
		return df
	}
}
