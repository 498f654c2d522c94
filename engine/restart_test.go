package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
)

// restartable is a session with a folder of JSON as source s and the writer of a query over it.
type restartable struct {
	t     *testing.T
	s     *engine.Session
	dir   string
	chk   string
	files int
}

func newRestartable(t *testing.T) *restartable {
	r := &restartable{t: t, dir: t.TempDir()}
	r.chk = filepath.Join(r.dir, "chk")
	if err := os.MkdirAll(filepath.Join(r.dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.session()
	r.feed(`{"ts": "2026-01-01T00:00:00Z", "k": "a", "v": 1}`)
	return r
}

func (r *restartable) session() {
	s, err := engine.NewSession(engine.Config{Dir: r.dir, Conf: map[string]string{"streamlab.durability": "process"}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	r.s = s
}

func (r *restartable) feed(row string) {
	r.files++
	name := filepath.Join(r.dir, "in", strings.Repeat("x", r.files)+".json")
	if err := os.WriteFile(name, []byte(row+"\n"), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// writer is a query over source s with a watermark of the delay.
func (r *restartable) writer(format, delay, query, mode, sink string) *engine.DataStreamWriter {
	read := r.s.ReadStream().Format(format)
	df := read.Schema("ts TIMESTAMP, k STRING, v INT").Load(filepath.Join(r.dir, "in"))
	if format == "rate" {
		df = r.s.ReadStream().Format("rate").Load().SelectExpr("timestamp AS ts", "'a' AS k", "CAST(value AS INT) AS v")
	}
	if delay != "" {
		df = df.WithWatermark("ts", delay)
	}
	if err := df.CreateOrReplaceTempView("s"); err != nil {
		r.t.Fatal(err)
	}
	w := must(r.t, r.s, query).WriteStream().OutputMode(mode).Trigger(engine.AvailableNow()).Format(sink).
		Option("checkpointLocation", r.chk)
	if sink == "json" {
		w = w.Option("path", filepath.Join(r.dir, "out"))
	}
	return w
}

func (r *restartable) run(w *engine.DataStreamWriter) error {
	q, err := w.Start(context.Background())
	if err != nil {
		return err
	}
	return q.AwaitTermination(context.Background())
}

// Each change of a query is judged before it starts, and what is said to be refused is refused.
func TestRestartJudgesEveryChange(t *testing.T) {
	const count = "SELECT k, count(*) AS n FROM s GROUP BY k"
	for name, c := range map[string]struct {
		format, delay, query, mode, sink string
		conf                             map[string]string
		verdict                          engine.Verdict // "": no difference
		what, condition                  string
	}{
		"nothing":         {},
		"filter":          {query: "SELECT k, count(*) AS n FROM s WHERE v > 0 GROUP BY k"},
		"two keys":        {query: "SELECT DISTINCT k, 1L AS n FROM s", verdict: engine.Refused, what: "stateful operators", condition: "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"},
		"no operator":     {query: "SELECT k, 1L AS n FROM s", verdict: engine.Refused, what: "stateful operators", condition: "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"},
		"another key":     {query: "SELECT v AS k, count(*) AS n FROM s GROUP BY v", verdict: engine.Refused, what: "stateful operators", condition: "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"},
		"more aggregates": {query: "SELECT k, count(*) AS n, max(k) AS m FROM s GROUP BY k", verdict: engine.Refused, what: "stateful operators", condition: "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"},
		"another source":  {format: "rate", verdict: engine.Refused, what: "source 0", condition: "SOURCE_SET_CHANGED"},
		"two sources":     {query: "SELECT k, count(*) AS n FROM (SELECT * FROM s UNION ALL SELECT * FROM s) GROUP BY k", verdict: engine.Refused, what: "number of sources", condition: "SOURCE_SET_CHANGED"},
		"mode":            {mode: "complete", verdict: engine.Undefined, what: "output mode"},
		"delay":           {delay: "5 minutes", verdict: engine.Undefined, what: "watermark"},
		"pinned":          {conf: map[string]string{"spark.sql.shuffle.partitions": "9"}, verdict: engine.Pinned, what: "spark.sql.shuffle.partitions"},
		"columns":         {query: "SELECT k AS other, count(*) AS n FROM s GROUP BY k", verdict: engine.Allowed, what: "columns of the result"},
		"sink":            {sink: "console", verdict: engine.Undefined, what: "sink"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRestartable(t)
			if err := r.run(r.writer("json", "1 minute", count, "update", "noop")); err != nil {
				t.Fatal(err)
			}
			r.session()
			for k, v := range c.conf {
				if err := r.s.Conf().Set(k, v); err != nil {
					t.Fatal(err)
				}
			}
			or := func(a, b string) string {
				if a != "" {
					return a
				}
				return b
			}
			w := r.writer(or(c.format, "json"), or(c.delay, "1 minute"), or(c.query, count), or(c.mode, "update"), or(c.sink, "noop"))
			changes, err := w.Restart()
			if err != nil {
				t.Fatal(err)
			}
			if c.verdict == "" {
				if len(changes) > 0 {
					t.Errorf("differs: %+v", changes)
				}
			} else if len(changes) == 0 || changes[0].Verdict != c.verdict || changes[0].What != c.what {
				t.Errorf("changes %+v, want %s of %s", changes, c.verdict, c.what)
			} else if c.verdict == engine.Refused && changes[0].Was == changes[0].Now {
				t.Errorf("both were and are %s", changes[0].Was)
			} else if c.condition != "" && !errs.Has(changes[0].Err, c.condition) {
				t.Errorf("refused by %v, want %s", changes[0].Err, c.condition)
			}
			if c.sink == "console" {
				return
			}
			r.feed(`{"ts": "2026-01-01T00:00:10Z", "k": "b", "v": 2}`)
			err = r.run(w)
			if refused := c.verdict == engine.Refused; refused != (err != nil) || refused && !errs.Has(err, c.condition) {
				t.Errorf("the start says %v, want %q", err, c.condition)
			}
		})
	}
}

// A sink of files after another sink is not allowed, a checkpoint that is not there says nothing.
func TestRestartOfAFileSink(t *testing.T) {
	r := newRestartable(t)
	const query = "SELECT k, v FROM s"
	changes, err := r.writer("json", "", query, "append", "json").Restart()
	if err != nil || changes != nil {
		t.Errorf("without a checkpoint: %v, %v", changes, err)
	}
	if _, err := os.Stat(r.chk); err == nil {
		t.Error("looking made a checkpoint")
	}
	if err := r.run(r.writer("json", "", query, "append", "noop")); err != nil {
		t.Fatal(err)
	}
	if changes, err = r.writer("json", "", query, "append", "json").Restart(); err != nil {
		t.Fatal(err)
	}
	if len(changes) != 1 || changes[0].Verdict != engine.NotAllowed || changes[0].What != "sink" {
		t.Errorf("changes %+v", changes)
	}
}
