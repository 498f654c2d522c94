package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sys/unix"

	"streamlab/columnar"
	"streamlab/engine"
	"streamlab/sinks"
	"streamlab/sql/types"
)

// A Result is one run of one engine. With check there are a number of rows and a checksum instead of times.
type Result struct {
	Engine   string    `json:"engine"`
	Workload string    `json:"workload"`
	Variant  string    `json:"variant"`
	Config   string    `json:"config,omitempty"`
	Rows     int64     `json:"in_rows,omitempty"`
	Seconds  float64   `json:"seconds,omitempty"`
	CPU      float64   `json:"cpu_seconds,omitempty"`
	RowsPerS float64   `json:"rows_per_s,omitempty"`
	OutRows  int64     `json:"out_rows"`
	Batches  int       `json:"batches,omitempty"`
	BatchMs  []float64 `json:"batch_ms,omitempty"`
	P50      float64   `json:"p50_ms,omitempty"`
	P95      float64   `json:"p95_ms,omitempty"`
	P99      float64   `json:"p99_ms,omitempty"`
	CheckN   int64     `json:"rows,omitempty"`
	Checksum string    `json:"checksum,omitempty"`
	// Parts sums the durations of the progress reports up, in ms: where the time of the batches went.
	Parts map[string]int64 `json:"parts_ms,omitempty"`
}

// Run runs a workload on the engine: available-now, one file a batch, durable state, into a sink that reads
// every column, or into the files of w.Sink. scratch is where the checkpoint goes. With check the result is collected and summed up
// instead of timed.
func Run(ctx context.Context, w Workload, variant, data, scratch string, check bool) (*Result, error) {
	files, err := w.files(data, variant)
	if err != nil {
		return nil, err
	}
	var t *topics
	if w.Topics {
		if t, err = openTopics(ctx, files[0]); err != nil {
			return nil, err
		}
		defer t.Close()
	}
	dir, err := os.MkdirTemp(scratch, "bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := engine.NewSession(engine.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.Conf().Set("spark.sql.streaming.numRecentProgressUpdates", "100000"); err != nil {
		return nil, err
	}
	res := &Result{Engine: "streamlab", Workload: w.Name, Variant: variant, Parts: map[string]int64{}}
	topic := "" // of the result
	if w.Topics {
		res.Config = t.config
		if variant == variantOut {
			if topic, err = t.fresh(ctx); err != nil {
				return nil, err
			}
			defer t.drop(ctx, topic)
		}
	}
	cpu := cpuSeconds()
	start := time.Now()
	q, err := w.open(ctx, s, t, variant, data)
	if err != nil {
		return nil, err
	}
	if topic != "" {
		q = q.SelectExpr("to_json(struct(*)) AS value")
	}
	writer := q.WriteStream().OutputMode(w.Mode).QueryName("bench").Trigger(engine.AvailableNow()).
		Option("checkpointLocation", filepath.Join(dir, "chk"))
	got := collected{keys: w.Keys}
	out := filepath.Join(dir, "out")
	if w.Sink != "" {
		writer = writer.Format(w.Sink).Option("path", out)
		if w.Partition != "" {
			writer = writer.PartitionBy(w.Partition)
		}
	} else if topic != "" {
		writer = writer.Format("kafka").Option("kafka.bootstrap.servers", t.addr).Option("topic", topic)
	} else if check {
		writer = writer.EachBatch(func(ctx context.Context, b sinks.Batch) error {
			return sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error { got.add(rb, b.Schema); return nil })
		})
	} else {
		writer = writer.Format("noop")
	}
	run, err := writer.Start(ctx)
	if err != nil {
		return nil, err
	}
	if err := run.AwaitTermination(ctx); err != nil {
		return nil, err
	}
	res.Seconds = lastCommit(s).Sub(start).Seconds()
	res.CPU = cpuSeconds() - cpu
	for _, p := range run.RecentProgress() {
		input := false
		for _, x := range p.Sources {
			input = input || x.StartOffset != x.EndOffset
		}
		if p.Sink.NumOutputRows > 0 {
			res.OutRows += p.Sink.NumOutputRows
		}
		for name, ms := range p.DurationMs {
			res.Parts[name] += ms
		}
		if input {
			res.Batches++
			res.BatchMs = append(res.BatchMs, p.TriggerMs())
		}
	}
	if res.Rows, err = countRows(files); err != nil {
		return nil, err
	}
	res.RowsPerS = float64(res.Rows) / res.Seconds
	res.percentiles()
	if check && (w.Sink != "" || topic != "") {
		var written *engine.DataFrame
		if topic != "" {
			written = t.result(ctx, s, topic)
		} else {
			written = s.Read().Format(w.Sink).Load(ctx, out)
		}
		rows, schema, err := written.Collect(ctx)
		if err != nil {
			return nil, err
		}
		for _, rb := range rows {
			got.add(rb, schema)
		}
	}
	if check {
		sum := got.total()
		res.CheckN, res.Checksum = sum.Rows, sum.String()
		res.Seconds, res.BatchMs, res.Parts = 0, nil, nil
	}
	return res, nil
}

// lastCommit is when the last batch of the session's query had committed: what follows, the closing of the checkpoint,
// is not part of the time of a run (peers/README.md). It is now if no batch ran.
func lastCommit(s *engine.Session) time.Time {
	events, _ := s.Events(0)
	for _, e := range slices.Backward(events) {
		if e.Kind == engine.QueryProgress {
			return e.Time
		}
	}
	return time.Now()
}

// open registers the views and gives the query; t is nil unless rows come from a topic.
func (w Workload) open(ctx context.Context, s *engine.Session, t *topics, variant, data string) (*engine.DataFrame, error) {
	for _, v := range w.Views {
		var df *engine.DataFrame
		if t != nil {
			df = t.source(s, v)
		} else {
			df = s.ReadStream().Format(v.format()).Schema(v.Schema).Option("maxFilesPerTrigger", 1).Load(v.folder(data, variant))
		}
		if v.Watermark != "" {
			df = df.WithWatermark(v.time(), v.Watermark)
		}
		if err := df.CreateOrReplaceTempView(v.Name); err != nil {
			return nil, err
		}
	}
	q, err := s.SQL(ctx, w.Query)
	if err != nil {
		return nil, err
	}
	if w.Dedup != nil {
		q = q.DropDuplicatesWithinWatermark(w.Dedup...)
	}
	return q, q.Err()
}

// cpuSeconds is what this process has used.
func cpuSeconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// countRows counts the lines of the input: the engine's own count leaves out rows that a filter pushed into
// the scan drops.
func countRows(files [][]string) (int64, error) {
	n := int64(0)
	for _, view := range files {
		for _, f := range view {
			if strings.HasSuffix(f, ".parquet") {
				rows, err := parquetRows(f)
				if err != nil {
					return 0, err
				}
				n += rows
				continue
			}
			data, err := os.ReadFile(f)
			if err != nil {
				return 0, err
			}
			n += int64(bytes.Count(data, []byte{'\n'}))
		}
	}
	return n, nil
}

func (r *Result) percentiles() {
	if len(r.BatchMs) == 0 {
		return
	}
	s := append([]float64(nil), r.BatchMs...)
	sort.Float64s(s)
	at := func(q float64) float64 { return s[min(len(s)-1, int(q*float64(len(s))))] }
	r.P50, r.P95, r.P99 = at(0.50), at(0.95), at(0.99)
}

// RunLimit runs the hand-written loop of a workload over the same files, or the same topic. scratch is where it writes
// files, if it does.
func RunLimit(ctx context.Context, w Workload, variant, data, scratch string, check bool) (*Result, error) {
	files, err := w.files(data, variant)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(scratch, "limit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	outs := make([]output, workers())
	for i := range outs {
		outs[i].check, outs[i].dir = check, dir
	}
	run := func() (int64, error) { return w.limit(files, outs) }
	if w.Topics {
		t, err := openTopics(ctx, files[0])
		if err != nil {
			return nil, err
		}
		defer t.Close()
		out := ""
		if variant == variantOut {
			if out, err = t.fresh(ctx); err != nil {
				return nil, err
			}
			defer t.drop(ctx, out)
		}
		run = func() (int64, error) { return limitTopics(ctx, t, out, outs) }
	}
	cpu := cpuSeconds()
	start := time.Now()
	in, err := run()
	if err != nil {
		return nil, err
	}
	res := &Result{Engine: "limit", Workload: w.Name, Variant: variant, Rows: in, Batches: len(files[0])}
	res.Seconds = time.Since(start).Seconds()
	res.CPU = cpuSeconds() - cpu
	res.RowsPerS = float64(in) / res.Seconds
	var sum Sum
	for _, o := range outs {
		res.OutRows += o.rows
		sum.merge(o.sum)
	}
	if check {
		res.CheckN, res.Checksum = sum.Rows, sum.String()
	}
	return res, nil
}

// collected sums a result up; of an update stream the last row of each key counts.
type collected struct {
	keys int
	sum  Sum
	last map[string]string
}

func (t *collected) add(rb arrow.RecordBatch, s types.Schema) {
	vs := columnar.Vectors(rb, s)
	var row []byte
	for i := range int(rb.NumRows()) {
		row = row[:0]
		key := 0
		for j := range vs {
			if j > 0 {
				row = append(row, 0x1f)
			}
			row = appendCell(row, &vs[j], i)
			if j == t.keys-1 {
				key = len(row)
			}
		}
		if t.keys == 0 {
			t.sum.Add(row)
			continue
		}
		if t.last == nil {
			t.last = map[string]string{}
		}
		t.last[string(row[:key])] = string(row)
	}
}

func (t *collected) total() *Sum {
	sum := t.sum
	for _, r := range t.last {
		sum.Add([]byte(r))
	}
	return &sum
}

func appendCell(b []byte, v *columnar.Vec, i int) []byte {
	if v.IsNull(i) {
		return append(b, `\N`...)
	}
	switch v.Type.Kind {
	case types.BigInt, types.Timestamp:
		return strconv.AppendInt(b, v.I64[i], 10)
	case types.Double:
		return appendDouble(b, v.F64[i])
	case types.Int:
		return strconv.AppendInt(b, int64(v.I32[i]), 10)
	case types.Decimal:
		return appendDouble(b, v.Dec[i].ToFloat64(int32(v.Type.Scale)))
	case types.Boolean:
		return strconv.AppendBool(b, v.Bool(i))
	}
	return append(b, v.Bytes(i)...)
}
