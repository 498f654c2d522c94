package bench

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sql/types"
)

// Workload is one query over one kind of input.
type Workload struct {
	Name     string
	Variants []string // of files: large, small, 1, 1000
	Query    string
	Mode     string
	Keys     int // leading result columns that identify a row of an update stream
	Limit    func(files []string) (*Table, error)
}

// Workloads are those that are measured, by name.
func Workloads() []Workload {
	return []Workload{
		{"W1", []string{"large"}, `SELECT event_id, user_id, price * 0.908D AS eur, upper(country) AS c FROM events WHERE event_type = 'purchase' AND price > 100`,
			"append", 0, limitW1},
		{"W3json", []string{"large"}, `SELECT country, event_type, count(*) n, sum(price) s, max(price) m FROM events GROUP BY country, event_type`,
			"update", 2, limitW3},
		{"W4json", []string{"large", "small"}, `SELECT user_id, count(*) n, sum(price) s FROM events GROUP BY user_id`, "update", 1, limitW4},
		{"W10x1", []string{"1"}, `SELECT country, event_type, count(*) n, sum(price) s, max(price) m FROM events GROUP BY country, event_type`,
			"update", 2, limitW3},
		{"W10x1000", []string{"1000"}, `SELECT country, event_type, count(*) n, sum(price) s, max(price) m FROM events GROUP BY country, event_type`,
			"update", 2, limitW3},
	}
}

const eventSchema = "event_id BIGINT, user_id BIGINT, event_type STRING, price DOUBLE, ts TIMESTAMP, country STRING, ok BOOLEAN"

// Find gives a workload by name. Errors: NO_SUCH_WORKLOAD.
func Find(name string) (Workload, error) {
	for _, w := range Workloads() {
		if w.Name == name {
			return w, nil
		}
	}
	return Workload{}, errs.New("NO_SUCH_WORKLOAD", "name", name)
}

// folder is where the files of a variant lie.
func folder(data, variant string) string {
	if variant == "1" || variant == "1000" {
		return filepath.Join(data, "drip", "json-"+variant)
	}
	return filepath.Join(data, "events", "json-"+variant)
}

// Result is one run.
type Result struct {
	Engine   string    `json:"engine"`
	Workload string    `json:"workload"`
	Variant  string    `json:"variant"`
	Rows     int64     `json:"in_rows,omitempty"`
	Seconds  float64   `json:"seconds,omitempty"`
	RowsPerS float64   `json:"rows_per_s,omitempty"`
	OutRows  int64     `json:"out_rows"`
	Batches  int       `json:"batches,omitempty"`
	BatchMs  []float64 `json:"batch_ms,omitempty"`
	P50      float64   `json:"p50_ms,omitempty"`
	P95      float64   `json:"p95_ms,omitempty"`
	P99      float64   `json:"p99_ms,omitempty"`
	CheckN   int64     `json:"rows,omitempty"`
	Checksum string    `json:"checksum,omitempty"`
}

// Run runs a workload on the engine: available-now, one file a batch, durable state, into a sink that reads
// every column. scratch is where the checkpoint goes. With check the result is collected and summed up
// instead of timed.
func Run(ctx context.Context, w Workload, variant, data, scratch string, check bool) (*Result, error) {
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
	df := s.ReadStream().Format("json").Schema(eventSchema).Option("maxFilesPerTrigger", 1).Register("events", folder(data, variant))
	if df.Err() != nil {
		return nil, df.Err()
	}
	q, err := s.SQL(ctx, w.Query)
	if err != nil {
		return nil, err
	}
	res := &Result{Engine: "streamlab", Workload: w.Name, Variant: variant}
	writer := q.WriteStream().OutputMode(w.Mode).QueryName("bench").Trigger(engine.AvailableNow()).
		Option("checkpointLocation", filepath.Join(dir, "chk"))
	collected := &Table{Keys: w.Keys}
	if check {
		writer = writer.EachBatch(func(ctx context.Context, b sinks.Batch) error {
			return sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error { collected.add(rb, b.Schema); return nil })
		})
	} else {
		writer = writer.Format("noop")
	}
	if err := s.Conf().Set("spark.sql.streaming.numRecentProgressUpdates", "100000"); err != nil {
		return nil, err
	}
	start := time.Now()
	run, err := writer.Start(ctx)
	if err != nil {
		return nil, err
	}
	if err := run.AwaitTermination(ctx); err != nil {
		return nil, err
	}
	res.Seconds = time.Since(start).Seconds()
	for _, p := range run.RecentProgress() {
		if p.NumInputRows == 0 {
			continue
		}
		res.Batches++
		if p.Sink.NumOutputRows > 0 {
			res.OutRows += p.Sink.NumOutputRows
		}
		res.BatchMs = append(res.BatchMs, p.TriggerMs())
	}
	if res.Rows, err = countRows(folder(data, variant)); err != nil {
		return nil, err
	}
	res.RowsPerS = float64(res.Rows) / res.Seconds
	res.percentiles()
	if check {
		res.CheckN, res.Checksum = collected.Sum()
		res.Seconds, res.BatchMs = 0, nil
	}
	return res, nil
}

// countRows counts the lines of the input: the engine's own count leaves out rows that a filter pushed into
// the scan drops.
func countRows(dir string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(dir, "part-*.json"))
	if err != nil {
		return 0, err
	}
	n := int64(0)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return 0, err
		}
		n += int64(bytes.Count(data, []byte{'\n'}))
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

// RunLimit runs the hand-written loop of a workload over the same files.
func RunLimit(w Workload, variant, data string, check bool) (*Result, error) {
	files, err := filepath.Glob(filepath.Join(folder(data, variant), "part-*.json"))
	if err != nil || len(files) == 0 {
		return nil, errs.New("NO_BENCH_DATA", "folder", folder(data, variant))
	}
	sort.Strings(files)
	start := time.Now()
	t, err := w.Limit(files)
	if err != nil {
		return nil, err
	}
	res := &Result{Engine: "limit", Workload: w.Name, Variant: variant, Rows: t.In, OutRows: int64(len(t.rows)), Batches: len(files)}
	res.Seconds = time.Since(start).Seconds()
	res.RowsPerS = float64(t.In) / res.Seconds
	if check {
		res.CheckN, res.Checksum = t.Sum()
	}
	return res, nil
}

// Table is a result: rows as text, the last one of each key.
type Table struct {
	Keys int
	In   int64
	rows map[string]string // key to row; without keys the row's number
}

func (t *Table) put(key, row string) {
	if t.rows == nil {
		t.rows = map[string]string{}
	}
	if t.Keys == 0 {
		key = strconv.Itoa(len(t.rows))
	}
	t.rows[key] = row
}

func (t *Table) add(rb arrow.RecordBatch, s types.Schema) {
	vs := columnar.Vectors(rb, s)
	for i := range int(rb.NumRows()) {
		var row []byte
		key := 0
		for j := range vs {
			if j > 0 {
				row = append(row, 0x1f)
			}
			row = appendCell(row, &vs[j], i)
			if j == t.Keys-1 {
				key = len(row)
			}
		}
		t.put(string(row[:key]), string(row))
	}
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
	case types.Boolean:
		return strconv.AppendBool(b, v.Bool(i))
	}
	return append(b, v.Bytes(i)...)
}

// appendDouble puts a double on a grid that no exact result lies on the edges of, so that the order of a
// summation does not matter.
func appendDouble(b []byte, f float64) []byte {
	return strconv.AppendInt(b, int64(math.Floor(f*10_000+0.314159)), 10)
}

// Sum is the number of rows and their checksum, whatever their order.
func (t *Table) Sum() (int64, string) {
	var total uint64
	for _, r := range t.rows {
		h := md5.Sum([]byte(r))
		total += binary.LittleEndian.Uint64(h[:8])
	}
	return int64(len(t.rows)), fmt.Sprintf("%016x", total)
}
