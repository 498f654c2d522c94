package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/sinks"
	"streamlab/store"
)

// situation is a query that was stopped or crashed, perhaps changed since, and is about to start again.
type situation struct {
	t     *testing.T
	r     *rand.Rand
	dir   string
	files int
	rows  int
	sink  string
	query string
	mode  string
	delay string
	conf  map[string]string
	seen  map[int64]int // calls of foreachBatch by batch, both runs
	again bool          // foreachBatch was told that a batch is a repetition
	out   *bytes.Buffer
}

var situationQueries = []string{
	"SELECT id, k FROM s",
	"SELECT id, k FROM s WHERE id % 3 > 0",
	"SELECT id, k FROM s UNION ALL SELECT id + 1000 AS id, k FROM s2",
	"SELECT window(ts, '10 seconds') AS w, k, count(*) AS id FROM s GROUP BY 1, 2",
	"SELECT k, count(*) AS id FROM s GROUP BY k",
	"SELECT k, count(*) AS id, max(id) AS m FROM s GROUP BY k",
	"SELECT id % 5 AS k, count(*) AS id FROM s GROUP BY 1",
	"SELECT s.id, s2.k FROM s JOIN s2 ON s.k = s2.k AND s.ts BETWEEN s2.ts - INTERVAL 5 SECONDS AND s2.ts + INTERVAL 5 SECONDS",
	"SELECT DISTINCT window(ts, '10 seconds') AS w, k, 1L AS id FROM s",
}

func (x *situation) feed(folder string) {
	var b strings.Builder
	for range 1 + x.r.IntN(4) {
		fmt.Fprintf(&b, `{"ts": "2026-01-01T00:%02d:%02dZ", "id": %d, "k": "k%d"}`+"\n", x.files%60, x.r.IntN(60), x.rows, x.r.IntN(4))
		x.rows++
	}
	x.files++
	name := filepath.Join(x.dir, folder, fmt.Sprintf("%04d.json", x.files))
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

// writer makes a session over the folder and the query as it is defined now.
func (x *situation) writer() (*engine.DataStreamWriter, *engine.Session) {
	conf := map[string]string{"streamlab.durability": "process"}
	for k, v := range x.conf {
		conf[k] = v
	}
	s, err := engine.NewSession(engine.Config{Dir: x.dir, Conf: conf, Out: x.out})
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { s.Close() })
	for name, folder := range map[string]string{"s": "in", "s2": "in2"} {
		df := s.ReadStream().Format("json").Option("maxFilesPerTrigger", 2).Schema("ts TIMESTAMP, id BIGINT, k STRING").
			Load(filepath.Join(x.dir, folder)).WithWatermark("ts", x.delay)
		if err := df.CreateOrReplaceTempView(name); err != nil {
			x.t.Fatal(err)
		}
	}
	w := must(x.t, s, x.query).WriteStream().OutputMode(x.mode).QueryName("q").Trigger(engine.AvailableNow()).
		Option("checkpointLocation", filepath.Join(x.dir, "chk"))
	switch x.sink {
	case "foreachBatch":
		return w.EachBatch(func(ctx context.Context, b sinks.Batch) error {
			x.seen[b.ID]++
			x.again = x.again || b.Replay
			if err := fault.Point("sink.stage.begin"); err != nil {
				return err
			}
			for _, p := range b.Parts {
				for _, err := range p.Rows(ctx) {
					if err != nil {
						return err
					}
				}
			}
			return fault.Point("sink.commit.after")
		}), s
	case "json", "delta":
		w = w.Option("path", filepath.Join(x.dir, "out"))
	}
	return w.Format(x.sink), s
}

// run starts the query and waits for its end; started is the run, nil if it was refused at once.
func (x *situation) run(w *engine.DataStreamWriter) (q *engine.StreamingQuery, err error) {
	if q, err = w.Start(context.Background()); err != nil {
		return nil, err
	}
	return q, q.AwaitTermination(context.Background())
}

// crash keeps a copy of the folder as it is when a point is passed the n-th time, which takes the folder's
// place after the run.
func (x *situation) crash(point string, n int, run func()) (crashed bool) {
	image := x.dir + ".image"
	hits := 0
	var seen map[int64]int
	stop := fault.Watch(point, func() {
		if hits++; hits == n {
			crashed, seen = copyHoles(x.dir, image) == nil, maps.Clone(x.seen)
		}
	})
	run()
	stop()
	if crashed {
		x.seen = seen
		if err := os.RemoveAll(x.dir); err != nil {
			x.t.Fatal(err)
		}
		if err := os.Rename(image, x.dir); err != nil {
			x.t.Fatal(err)
		}
	}
	return crashed
}

// copyHoles copies a folder; what files have no data for stays so.
func copyHoles(from, to string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, rel), bytes.TrimRight(data, "\x00"), 0o644); err != nil {
			return err
		}
		return os.Truncate(filepath.Join(to, rel), int64(len(data)))
	})
}

// ids counts the ids that a sink that keeps batches holds.
func (x *situation) ids(s *engine.Session) map[string]int {
	out := map[string]int{}
	var df *engine.DataFrame
	switch x.sink {
	case "json":
		df = s.Read().Format("json").Schema("id BIGINT").Load(context.Background(), filepath.Join(x.dir, "out"))
	case "delta":
		df = s.Read().Format("delta").Load(context.Background(), filepath.Join(x.dir, "out")).SelectExpr("id")
	default:
		return out
	}
	rows, _, err := df.Collect(context.Background())
	if err != nil {
		return out
	}
	for _, rb := range rows {
		for i := range int(rb.NumRows()) {
			out[rb.Column(0).ValueStr(i)]++
		}
	}
	return out
}

// artefact is what the sink keeps of a batch, "" if nothing.
func (x *situation) artefact(n int64) string {
	switch x.sink {
	case "json":
		info, err := os.Stat(filepath.Join(x.dir, "out", "_spark_metadata", fmt.Sprint(n)))
		if err == nil {
			return info.ModTime().String()
		}
	case "delta":
		entries, _ := filepath.Glob(filepath.Join(x.dir, "out", "_delta_log", "*.json"))
		return fmt.Sprint(len(entries))
	}
	return ""
}

// What is said of a restart is what the restart then does: which batch runs with which offsets or none,
// whether the sink writes it, and what refuses it.
func TestForecastIsWhatTheRestartDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("200 restarts")
	}
	seen := map[string]int{}
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for _, k := range foresee(t, seed) {
				seen[k]++
			}
		})
	}
	for _, k := range []string{"rerun", "rerun empty", "fresh", "fresh idle", "due", "refused", "refused later", "twice", "skipped", "again", "changed"} {
		if seen[k] == 0 {
			t.Errorf("no situation was %q: %v", k, seen)
		}
	}
	t.Log(seen)
}

func foresee(t *testing.T, seed uint64) (kinds []string) {
	r := rand.New(rand.NewPCG(seed, 7))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	x := &situation{t: t, r: r, dir: filepath.Join(t.TempDir(), "w"), sink: pick("json", "delta", "memory", "foreachBatch", "console", "noop"),
		query: pick(situationQueries...), delay: "10 seconds", conf: map[string]string{}, seen: map[int64]int{}, out: &bytes.Buffer{}}
	x.modeFor()
	if x.sink == "memory" && r.IntN(3) > 0 {
		x.conf["streamlab.memory.resume"] = "true"
	}
	for _, d := range []string{"in", "in2"} {
		if err := os.MkdirAll(filepath.Join(x.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 1 + r.IntN(5) {
		x.feed(pick("in", "in2"))
	}
	w, s := x.writer()
	point := pick("", "plan.after_wal", "exec.begin", "sink.stage.begin", "sink.commit.after", "commit.before", "commit.after", "plan.begin")
	if point == "" {
		if _, err := x.run(w); err != nil {
			t.Fatalf("first run: %v", err)
		}
	} else {
		x.crash(point, 1+r.IntN(3), func() { _, _ = x.run(w) })
	}
	s.Close()

	changed := r.IntN(2) == 0
	if changed {
		kinds = append(kinds, "changed")
		switch r.IntN(4) {
		case 0, 1:
			x.query = pick(situationQueries...)
			x.modeFor()
		case 2:
			x.delay = "25 seconds"
		case 3:
			x.conf["spark.sql.shuffle.partitions"] = "7"
		}
	}
	fed := 0
	for range r.IntN(3) {
		x.feed("in")
		fed++
	}
	w, s = x.writer()
	chk := filepath.Join(x.dir, "chk")
	cp, err := store.Open(chk, store.Options{Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.Forecast(context.Background(), cp)
	if err != nil {
		cp.Close()
		if _, started := x.run(w); started == nil {
			t.Errorf("no forecast, %v, and yet it starts", err)
		}
		return append(kinds, "refused")
	}
	if len(f.Lines) == 0 {
		t.Error("nothing is said")
	}
	if err := cp.Close(); err != nil {
		t.Fatal(err)
	}
	before, called := x.artefact(f.Batch), x.seen[f.Batch]
	x.again = false
	x.out.Reset()
	q, err := x.run(w.MaxBatches(1))
	says := func() string { b, _ := json.Marshal(f.Lines); return string(b) }

	var ran []int64
	if q != nil {
		for _, p := range q.RecentProgress() {
			if _, ok := p.DurationMs["addBatch"]; ok {
				ran = append(ran, p.BatchID)
			}
		}
	}
	if f.Refused != nil {
		if !f.Later {
			kinds = append(kinds, "refused")
			if !errs.Has(err, f.Refused.Condition) || len(ran) > 0 {
				t.Errorf("%s\nthe restart says %v and ran %v", says(), err, ran)
			}
			return kinds
		}
		kinds = append(kinds, "refused later")
		if err == nil && (len(ran) > 0 || f.Rerun) || err != nil && !errs.Has(err, f.Refused.Condition) {
			t.Errorf("%s\nthe restart says %v and ran %v", says(), err, ran)
		}
		return kinds
	}
	if changed && x.sink == "delta" && errs.Has(err, "DELTA_METADATA_MISMATCH") {
		return kinds // the table does not take the new columns: Changes says that it must
	}
	if err != nil {
		t.Fatalf("%s\nthe restart fails: %v", says(), err)
	}
	cp, err = store.Open(chk, store.Options{Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	entry, logged, err := cp.Offsets(f.Batch)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case f.Rerun:
		kinds = append(kinds, "rerun")
		if !slices.Equal(ran, []int64{f.Batch}) || !slices.Equal(entry.Offsets, f.End) {
			t.Errorf("%s\nran %v with %v, foreseen batch %d with %v", says(), ran, entry.Offsets, f.Batch, f.End)
		}
		if entry.BatchWatermarkMs != f.Watermark {
			t.Errorf("%s\nwatermark %d, foreseen %d", says(), entry.BatchWatermarkMs, f.Watermark)
		}
	case len(ran) > 0:
		kinds = append(kinds, "fresh")
		if ran[0] != f.Batch || !logged || slices.Equal(entry.Offsets, f.Start) || entry.BatchWatermarkMs != f.Watermark {
			t.Errorf("%s\nran %v to %v with watermark %d, foreseen batch %d from %v with %d", says(), ran, entry.Offsets, entry.BatchWatermarkMs, f.Batch, f.Start, f.Watermark)
		}
	default:
		kinds = append(kinds, "fresh idle")
		if fed > 0 && point == "" {
			t.Errorf("%s\nnew rows, and no batch", says())
		}
	}
	if f.Due {
		kinds = append(kinds, "due")
		if fed == 0 && point == "" && len(ran) > 0 {
			t.Errorf("%s\nno new rows, and batch %v", says(), ran)
		}
	}
	if f.Rerun && f.Arrives != engine.ArrivesSkipped { // what is skipped need not be read
		p := q.RecentProgress()
		if i := slices.IndexFunc(p, func(p engine.Progress) bool { return p.BatchID == f.Batch }); i >= 0 && f.Empty != (p[i].NumInputRows == 0) {
			t.Errorf("%s\n%d rows in, foreseen empty %v", says(), p[i].NumInputRows, f.Empty)
		}
		if f.Empty {
			kinds = append(kinds, "rerun empty")
		}
	}
	if len(ran) == 0 {
		return kinds
	}
	after := x.artefact(f.Batch)
	switch f.Arrives {
	case engine.ArrivesTwice:
		kinds = append(kinds, "twice")
		if x.sink != "foreachBatch" || !x.again {
			t.Errorf("%s\nfeared twice of %s, told so: %v", says(), x.sink, x.again)
		}
	case engine.ArrivesSkipped:
		kinds = append(kinds, "skipped")
		if before != after {
			t.Errorf("%s\nthe sink was to skip the batch and has changed", says())
		}
	case engine.ArrivesAgain:
		kinds = append(kinds, "again")
		if !strings.Contains(x.out.String(), "replay") {
			t.Errorf("%s\nthe console says:\n%s", says(), x.out)
		}
	case engine.ArrivesOnce:
		if x.sink == "foreachBatch" && called > 0 || strings.Contains(x.out.String(), "replay") {
			t.Errorf("%s\nfirst time, and the sink saw it %d times before", says(), called)
		}
		if (x.sink == "json" || x.sink == "delta") && before == after {
			t.Errorf("%s\nthe sink was to get the batch and has not changed", says())
		}
	}
	if !changed && strings.HasPrefix(x.query, "SELECT id") {
		for id, n := range x.ids(s) {
			if n > 1 {
				t.Errorf("%s\nid %s is there %d times", says(), id, n)
			}
		}
	}
	return kinds
}

// modeFor chooses an output mode that query and sink take.
func (x *situation) modeFor() {
	x.mode = "append"
	if strings.Contains(x.query, "GROUP BY") && !strings.Contains(x.query, "window(") {
		x.mode = "complete"
		if x.sink == "json" {
			x.query, x.mode = situationQueries[3], "append"
		}
	}
}
