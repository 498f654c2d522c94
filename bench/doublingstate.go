package bench

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"streamlab/engine"
)

const (
	doublingState = 100_000 // rows or groups kept; the large state has ten times as many
	doublingRows  = 1_000   // of a batch
	doublingRuns  = 60      // batches of a measurement
	doublingSkip  = 15      // of them that are not counted: the state is being read
)

// A stateful is a query whose state can be made as large as one likes. Its input is the view "input" with the
// columns value, ts and k, and "other" like it. The first S rows of it are of tomorrow, so that the watermark does
// not reach them; the rows of later batches are of now, and expire some batches later. A text may name S as {S}.
type stateful struct {
	name, mode string
	sql        string
	build      func(s *engine.Session) *engine.DataFrame // instead of a text
	exempt     bool
}

// statefuls are the stateful operators; every one that there is belongs here.
func statefuls() []stateful {
	tumbling := `SELECT window(ts, '10 seconds') w, value, count(*) n, sum(k) s FROM input GROUP BY window(ts, '10 seconds'), value`
	join := `SELECT i.value, i.ts, o.k FROM input i %s JOIN other o ON i.value = o.value AND o.ts BETWEEN i.ts AND i.ts + INTERVAL 1 MINUTE`
	input := func(then func(*engine.DataFrame) *engine.DataFrame) func(*engine.Session) *engine.DataFrame {
		return func(s *engine.Session) *engine.DataFrame {
			df, err := s.Table("input")
			if err != nil {
				panic(err) // openInput has made it
			}
			return then(df)
		}
	}
	return []stateful{
		{name: "aggregate, update", mode: "update", sql: `SELECT mod(value * 7919, {S}) g, count(*) n, sum(value) s FROM input GROUP BY mod(value * 7919, {S})`},
		{name: "aggregate, append", mode: "append", sql: `SELECT ts, value, count(*) n FROM input GROUP BY ts, value`},
		{name: "aggregate, complete", mode: "complete", exempt: true, sql: `SELECT mod(value * 7919, {S}) g, count(*) n FROM plain GROUP BY mod(value * 7919, {S})`},
		{name: "tumbling window, append", mode: "append", sql: tumbling},
		{name: "tumbling window, update", mode: "update", sql: tumbling},
		{name: "sliding window, append", mode: "append", sql: `SELECT window(ts, '10 seconds', '5 seconds') w, value, count(*) n FROM input GROUP BY window(ts, '10 seconds', '5 seconds'), value`},
		{name: "sliding window of many panes, append", mode: "append", sql: `SELECT window(ts, '60 seconds', '1 second') w, value, count(*) n FROM input GROUP BY window(ts, '60 seconds', '1 second'), value`},
		{name: "sliding window, update", mode: "update", sql: `SELECT window(ts, '10 seconds', '2 seconds') w, value, avg(k) m FROM input GROUP BY window(ts, '10 seconds', '2 seconds'), value`},
		{name: "session window, append", mode: "append", sql: `SELECT session_window(ts, '5 seconds') w, value, count(*) n FROM input GROUP BY session_window(ts, '5 seconds'), value`},
		{name: "dropDuplicates", mode: "append", build: input(func(df *engine.DataFrame) *engine.DataFrame { return df.DropDuplicates("value", "ts") })},
		{name: "dropDuplicatesWithinWatermark", mode: "append", build: input(func(df *engine.DataFrame) *engine.DataFrame { return df.DropDuplicatesWithinWatermark("value") })},
		{name: "join, inner", mode: "append", sql: fmt.Sprintf(join, "")},
		{name: "join, left outer", mode: "append", sql: fmt.Sprintf(join, "LEFT OUTER")},
		{name: "limit", mode: "append", sql: `SELECT value FROM plain LIMIT 1000000000`},
		{name: "flatMapGroupsWithState", mode: "append", build: input(func(df *engine.DataFrame) *engine.DataFrame {
			return engine.FlatMapGroupsWithState(df.GroupBy("value"), engine.GroupStateConf{Timeout: engine.EventTimeTimeout}, keepUntil)
		})},
		{name: "mapGroupsWithState", mode: "update", build: input(func(df *engine.DataFrame) *engine.DataFrame {
			return engine.MapGroupsWithState(df.SelectExpr("value % 100000 AS value", "ts", "k").GroupBy("value"), engine.GroupStateConf{}, countAll)
		})},
	}
}

type doublingRow struct {
	Value int64     `col:"value"`
	Ts    time.Time `col:"ts"`
	K     int64     `col:"k"`
}

type doublingCount struct {
	Value int64 `col:"value"`
	Rows  int64 `col:"rows"`
}

// keepUntil keeps a count until the watermark is five seconds past the last row.
func keepUntil(value int64, rows iter.Seq[doublingRow], s *engine.GroupState[doublingCount], emit func(doublingCount)) error {
	c, _ := s.Get()
	if s.HasTimedOut() {
		emit(c)
		s.Remove()
		return nil
	}
	c.Value = value
	last := time.Time{}
	for r := range rows {
		c.Rows, last = c.Rows+1, r.Ts
	}
	if err := s.Update(c); err != nil {
		return err
	}
	return s.SetTimeoutTimestamp(last.Add(5 * time.Second).UnixMilli())
}

func countAll(value int64, rows iter.Seq[doublingRow], s *engine.GroupState[doublingCount]) (doublingCount, error) {
	c, _ := s.Get()
	c.Value = value
	for range rows {
		c.Rows++
	}
	return c, s.Update(c)
}

// openInput registers the views of a stateful query.
func openInput(ctx context.Context, s *engine.Session, state, rows int64) error {
	for _, name := range []string{"input", "other"} {
		numbers := s.ReadStream().Format("rate-micro-batch").Option("rowsPerBatch", rows).Option("advanceMillisPerBatch", 10_000).Load()
		if err := numbers.CreateOrReplaceTempView(name + "_numbers"); err != nil {
			return err
		}
		timed, err := s.SQL(ctx, fmt.Sprintf(`SELECT value, CASE WHEN value < %d OR value %% %d = 0 THEN timestamp + INTERVAL 1 DAY ELSE timestamp END AS ts, `+
			`value * 31 AS k FROM %s_numbers`, state, doublingRows, name))
		if err != nil {
			return err
		}
		if err := timed.WithWatermark("ts", "1 day").CreateOrReplaceTempView(name); err != nil {
			return err
		}
	}
	plain, err := s.SQL(ctx, "SELECT value FROM input_numbers")
	if err != nil {
		return err
	}
	return plain.CreateOrReplaceTempView("plain")
}

// run goes on with the query for some batches of the given rows, and gives the times of these.
func (q stateful) run(ctx context.Context, dir string, state, rows int64, batches int) ([]float64, error) {
	s, err := engine.NewSession(engine.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := openInput(ctx, s, state, rows); err != nil {
		return nil, err
	}
	var df *engine.DataFrame
	if q.build != nil {
		df = q.build(s)
	} else if df, err = s.SQL(ctx, strings.ReplaceAll(q.sql, "{S}", fmt.Sprint(state))); err != nil {
		return nil, err
	}
	return runBatches(ctx, s, df, q.mode, "noop", filepath.Join(dir, "chk"), batches)
}

// runBatches runs batches of a query into a sink and gives the time of each in ms.
func runBatches(ctx context.Context, s *engine.Session, df *engine.DataFrame, mode, format, checkpoint string, batches int, path ...string) ([]float64, error) {
	if err := s.Conf().Set("spark.sql.streaming.numRecentProgressUpdates", "1000000"); err != nil {
		return nil, err
	}
	run, err := df.WriteStream().OutputMode(mode).Format(format).MaxBatches(batches).QueryName("results").
		Option("checkpointLocation", checkpoint).Start(ctx, path...)
	if err != nil {
		return nil, err
	}
	if err := run.AwaitTermination(ctx); err != nil {
		return nil, err
	}
	var ms []float64
	for _, g := range run.RecentProgress() {
		ms = append(ms, g.TriggerMs())
	}
	return ms, nil
}

func (q stateful) doubled() doubled {
	return doubled{name: q.name, axis: "state", small: doublingState, exempt: q.exempt, unit: "ms", floor: 0.1,
		prepare: func(ctx context.Context, _ Probing, dir string, size int64) error {
			_, err := q.run(ctx, dir, size, size, 1)
			return err
		},
		measure: func(ctx context.Context, _ Probing, dir string, size int64) (float64, error) {
			ms, err := q.run(ctx, dir, size, doublingRows, doublingRuns)
			if err != nil {
				return 0, err
			}
			return percentile(ms[doublingSkip:], 0.5), nil
		}}
}
