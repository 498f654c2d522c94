package engine

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"time"

	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/sources"
	"streamlab/sql/plan"
	"streamlab/store"
)

// A batch that is retained can be run again to be looked at: its offsets say what it read, the checkpoint has
// the state before it, and a plan with taps tells what became of every row. Such a run writes nothing: it has
// sources of its own whose logs are read only, no sink, and it never saves. It runs on one thread of low
// priority, so that a query that runs meanwhile does not notice.

// TraceOptions say what of a batch to keep. The zero value keeps 200 rows of each stage.
type TraceOptions struct {
	Rows   int   // of each stage, from the first on, and again as many to which something happened
	Follow []Ref // rows of an earlier trace of the same batch: what they were made of and what was made of them is kept too
	// Key follows the rows that have these values (as the console sink prints them) in the columns of these
	// names, in every stage that has all of the columns.
	Key map[string]string
	// Partial gets what is known while the batch still runs, up to ten times a second, on the goroutine of the
	// replay; each is a Trace of its own. Nil: only the whole is wanted.
	Partial func(*Trace)
}

// partialEvery is how often rows are shown while they come.
const partialEvery = 100 * time.Millisecond

// Replay runs a batch of the query again and tells what became of its rows. It may be called while the query
// runs and after it has failed, as long as its checkpoint is open; ctx cancels it. Errors:
// TRACE_NO_SUCH_BATCH, TRACE_PURGED, TRACE_NOT_REPLAYABLE, those of the sources and of the batch itself.
func (q *StreamingQuery) Replay(ctx context.Context, batch int64, o TraceOptions) (*Trace, error) {
	return q.driver.p.replay(ctx, q.driver.cp, q.id, batch, o, q.recordings.of(batch))
}

// Replay runs a batch of a query that is not running again; cp is the query's checkpoint.
func (w *DataStreamWriter) Replay(ctx context.Context, cp *store.Checkpoint, batch int64, o TraceOptions) (*Trace, error) {
	p, err := w.prepareNode()
	if err != nil {
		return nil, err
	}
	return p.replay(ctx, cp, cp.ID(), batch, o, nil)
}

func (p *prepared) replay(ctx context.Context, cp *store.Checkpoint, id string, batch int64, o TraceOptions, rec *recording) (*Trace, error) {
	var out *Trace
	err := safego.Go("replay", func() error {
		runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine, and its priority with it
		lowPriority()
		r := &replayer{p: p, cp: cp, id: id, batch: batch, rec: rec}
		t, err := r.trace(ctx, o)
		out = t
		return err
	}).Wait()
	if err != nil {
		return nil, err
	}
	return out, nil
}

// replayer runs one batch again, once or, if rows are followed, twice.
type replayer struct {
	p     *prepared
	cp    *store.Checkpoint
	id    string
	batch int64
	rec   *recording // nil: the sources are asked again

	entry, before store.OffsetEntry
	sources       []string // descriptions, by source
	starts        []string // offsets, by scan
}

func (r *replayer) trace(ctx context.Context, o TraceOptions) (*Trace, error) {
	if err := r.find(); err != nil {
		return nil, err
	}
	c := exec.TraceConf{Rows: o.Rows, Match: matcher(o.Key), Every: partialEvery}
	if r.rec == nil { // what was recorded has the columns that the query reads
		c.Whole = r.whole
	}
	if o.Partial != nil {
		c.Partial = func(t *exec.Trace) {
			x := r.finish(t, nil)
			x.Partial = true
			o.Partial(x)
		}
	}
	t, err := r.run(ctx, c)
	if err != nil && c.Whole != nil && ctx.Err() == nil { // a column that the query does not read may be unreadable
		c.Whole = nil
		t, err = r.run(ctx, c)
	}
	c.Partial = nil // a second run would show the beginning again
	if err != nil {
		return nil, err
	}
	follow := append(append([]Ref(nil), o.Follow...), t.Matched...)
	if len(follow) == 0 {
		return r.finish(t, nil), nil
	}
	c.Match, c.Keep = nil, t.Follow(follow...)
	again, err := r.run(ctx, c)
	if err != nil {
		return nil, err
	}
	return r.finish(again, c.Keep), nil
}

// whole says that a scan may be read with all columns: who looks at a row wants to see what it was. Not so where the
// columns that are read decide what a malformed record becomes.
func (r *replayer) whole(x *plan.Scan) bool {
	o, ours := x.Stream.Open.(*opening)
	if !ours {
		return false
	}
	if mode := o.def.Options.Text("mode", ""); mode != "" && !strings.EqualFold(mode, "PERMISSIVE") {
		return false
	}
	corrupt := o.def.Options.Text("columnNameOfCorruptRecord", r.p.conf.Get("spark.sql.columnNameOfCorruptRecord"))
	if corrupt == "" {
		corrupt = "_corrupt_record"
	}
	return x.Out.Index(corrupt) < 0
}

// find reads what the batch was from the checkpoint.
func (r *replayer) find() error {
	from, head := r.cp.Retained()
	newest := head
	if _, pending := r.cp.Pending(); pending {
		newest = head + 1
	}
	if r.batch < 0 || r.batch > newest {
		return errs.New("TRACE_NO_SUCH_BATCH", "batch", r.batch, "to", newest)
	}
	// The state before the oldest retained batch has gone, and where it began reading.
	if r.batch < from || r.batch == from && from > 0 {
		return errs.New("TRACE_PURGED", "batch", r.batch, "kept", newest-from, "from", from+1, "to", newest)
	}
	var ok bool
	var err error
	if r.entry, ok, err = r.cp.Offsets(r.batch); err != nil {
		return err
	} else if !ok {
		return errs.New("TRACE_PURGED", "batch", r.batch, "kept", newest-from, "from", from+1, "to", newest)
	}
	if r.batch > 0 {
		r.before, ok, err = r.cp.Offsets(r.batch - 1)
		if err == nil && !ok {
			err = errs.New("TRACE_PURGED", "batch", r.batch, "kept", newest-from, "from", from+1, "to", newest)
		}
	}
	return err
}

// run executes the batch by a plan with taps.
func (r *replayer) run(ctx context.Context, c exec.TraceConf) (*exec.Trace, error) {
	p := r.p
	ep, err := exec.Build(p.node, exec.Conf{Expr: exprConf(p.conf), Mode: string(p.mode),
		ShufflePartitions: p.conf.number(keyPartitions), QueryID: r.id, Get: p.conf.Get, Now: time.Now, Trace: &c})
	if err != nil {
		return nil, err
	}
	v := r.cp.At(r.batch - 1)
	defer v.Close()
	if len(ep.Stateful()) > 0 {
		if err := r.compare(ep); err != nil {
			return nil, err
		}
		if err := ep.Load(v); err != nil {
			return nil, err
		}
	}
	d := &driver{s: p.s, conf: p.conf, p: p, plan: ep, cp: r.cp}
	inputs, err := r.inputs(ctx, d)
	defer func() {
		for _, x := range d.sources {
			if x.src != nil {
				_ = x.src.Close() // it was only read from
			}
		}
	}()
	if err != nil {
		return nil, err
	}
	task := &exec.Task{Past: v, Batch: r.batch, Inputs: inputs, NowMicros: r.entry.BatchTimestampMs * 1000,
		LateWatermarkMs: r.before.BatchWatermarkMs, EvictWatermarkMs: r.entry.BatchWatermarkMs}
	if err := ep.Bind(task); err != nil {
		return nil, err
	}
	for _, part := range ep.Partitions(ctx, task) {
		for _, err := range part.Rows(ctx) {
			if err != nil {
				return nil, err
			}
		}
	}
	if err := ep.Finish(ctx, task); err != nil {
		return nil, err
	}
	return ep.Trace(), ctx.Err()
}

// compare refuses a query whose state is not the checkpoint's: the file may have been edited since.
func (r *replayer) compare(ep *exec.Plan) error {
	raw, ok := r.cp.Meta("plan")
	if !ok {
		return nil
	}
	var was planRecord
	if err := json.Unmarshal(raw, &was); err != nil {
		return errs.Wrap(err, "CHECKPOINT_CORRUPT", "checkpointLocation", r.cp.Dir(), "detail", "record y/plan")
	}
	return compareOperators(was.Operators, ep.Shapes(), r.p.conf.flag(keySchemaCheck))
}

// inputs gives the partitions that the batch read, by scan.
func (r *replayer) inputs(ctx context.Context, d *driver) ([][]columnar.Partition, error) {
	scans := d.plan.Scans()
	byStream := map[int64]int{}
	for _, sc := range scans {
		k, ok := byStream[sc.Stream.ID]
		if !ok {
			k = len(d.sources)
			byStream[sc.Stream.ID] = k
			d.sources = append(d.sources, &querySource{stream: sc.Stream})
		}
		d.scans = append(d.scans, k)
	}
	if len(r.entry.Offsets) != len(scans) || r.batch > 0 && len(r.before.Offsets) != len(scans) {
		return nil, errs.New("SOURCE_SET_CHANGED", "stored", len(r.entry.Offsets), "current", len(scans))
	}
	r.sources, r.starts = make([]string, len(d.sources)), make([]string, len(scans))
	copy(r.starts, r.before.Offsets)
	if r.rec != nil {
		for k, x := range d.sources {
			r.sources[k] = x.stream.Format + " " + x.stream.Name
		}
		return r.rec.inputs()
	}
	was := d.stored()
	inputs := make([][]columnar.Partition, len(scans))
	for k, x := range d.sources {
		o, ours := x.stream.Open.(*opening)
		if !ours {
			return nil, errs.New("INTERNAL_ERROR", "message", "the stream "+x.stream.Name+" was not opened by a session")
		}
		if f, err := r.p.s.formats.source(o.format); err == nil && f.Once {
			return nil, errs.New("TRACE_NOT_REPLAYABLE", "batch", r.batch, "source", x.stream.Name, "format", x.stream.Format)
		}
		def := d.definition(k, x.stream, o, was)
		def.Log = &readOnlyLog{Log: r.cp.SourceLog(k), entries: map[int64][]byte{}, names: map[string][]byte{}}
		src, err := o.open(def)
		if err != nil {
			return nil, err
		}
		x.src = src
		r.sources[k] = describe(src)
		d.narrow(k)
		end, start := sources.Offset(""), sources.Offset("")
		for i, s := range d.scans {
			if s == k {
				end = sources.Offset(r.entry.Offsets[i])
				if r.batch > 0 {
					start = sources.Offset(r.before.Offsets[i])
				}
			}
		}
		if end == "" || end == start {
			continue
		}
		if start == "" {
			if start, err = src.InitialOffset(ctx); err != nil {
				return nil, err
			}
		}
		parts, err := src.PlanPartitions(ctx, start, end)
		if err != nil {
			if errs.Has(err, "OFFSET_FORM") { // rows that were fed by hand go with the process
				err = errs.New("TRACE_NOT_REPLAYABLE", "batch", r.batch, "source", x.stream.Name, "format", x.stream.Format)
			}
			return nil, err
		}
		for i, s := range d.scans {
			if s == k {
				inputs[i], r.starts[i] = parts, string(start)
			}
		}
	}
	return inputs, nil
}

// readOnlyLog is a source's log whose additions are forgotten.
type readOnlyLog struct {
	sources.Log
	entries map[int64][]byte
	names   map[string][]byte
}

func (l *readOnlyLog) Add(n int64, entry []byte) error {
	l.entries[n] = entry
	return nil
}

func (l *readOnlyLog) Get(n int64) ([]byte, bool, error) {
	if e, ok := l.entries[n]; ok {
		return e, true, nil
	}
	return l.Log.Get(n)
}

func (l *readOnlyLog) PutKey(key string, value []byte) error {
	l.names[key] = value
	return nil
}

func (l *readOnlyLog) Key(key string) ([]byte, bool, error) {
	if v, ok := l.names[key]; ok {
		return v, true, nil
	}
	return l.Log.Key(key)
}

// movedBy finds the batch whose rows moved the watermark to a value that was in force for batch n, ms: -1 if it
// is not retained.
func (r *replayer) movedBy(n, ms int64) int64 {
	for ; n > 0; n-- {
		e, ok, err := r.cp.Offsets(n - 1)
		if err != nil || !ok {
			return -1
		}
		if e.BatchWatermarkMs != ms {
			return n - 1
		}
	}
	return -1
}

// finish puts what the taps saw together with what the checkpoint says of the batch.
func (r *replayer) finish(t *exec.Trace, follow map[int]map[int64]bool) *Trace {
	out := &Trace{Trace: t, Batch: r.batch, Mode: string(r.p.mode), At: time.UnixMilli(r.entry.BatchTimestampMs).UTC(),
		LateMs: r.before.BatchWatermarkMs, EvictMs: r.entry.BatchWatermarkMs, LateMovedBy: -1, EvictMovedBy: -1,
		Live: r.rec != nil, Followed: follow, RowsThen: -1, Sources: r.sources}
	for i, end := range r.entry.Offsets {
		out.Offsets = append(out.Offsets, [2]string{r.starts[i], end})
	}
	if c, ok, err := r.cp.Commits(r.batch); err == nil && ok {
		out.NextMs = c.NextBatchWatermarkMs
	}
	if out.LateMs > 0 {
		out.LateMovedBy = r.movedBy(r.batch-1, out.LateMs)
	}
	if out.EvictMs > 0 {
		out.EvictMovedBy = r.movedBy(r.batch, out.EvictMs)
	}
	if raw, ok := r.cp.Progress(r.batch); ok {
		var p struct {
			NumInputRows *int64 `json:"numInputRows"`
		}
		if json.Unmarshal(raw, &p) == nil && p.NumInputRows != nil {
			out.RowsThen = *p.NumInputRows
		}
	}
	for _, s := range t.Stages {
		if s.Kind == "source" {
			out.RowsNow += s.Out
		}
	}
	out.SinkName = strings.TrimSpace(r.p.w.format + " " + r.p.w.sinkName)
	return out
}
