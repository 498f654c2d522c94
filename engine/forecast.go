package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"streamlab/codec"
	"streamlab/delta"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/sinks"
	"streamlab/sinks/memory"
	"streamlab/store"
)

// What becomes of the rows of the next batch at the sink.
type Arrival string

// The arrivals.
const (
	ArrivesOnce    Arrival = "once"    // it has not been there, or a part that was is not seen
	ArrivesTwice   Arrival = "twice"   // it may have been there already, and nothing tells
	ArrivesSkipped Arrival = "skipped" // the sink has a batch of that number already and keeps it
	ArrivesAgain   Arrival = "again"   // the batch is shown again, and said to be
)

// A Forecast says what a restart of a query would do now.
type Forecast struct {
	Batch  int64    // that runs next
	Rerun  bool     // its offsets are logged: it runs with exactly these; else it is planned afresh
	Empty  bool     // of a rerun: its offsets hold no new rows
	Source []string // names per occurrence of a source in the plan
	Start  []string // offsets after which the batch reads; "" is the source's own beginning
	End    []string // of a rerun: offsets up to which it reads
	// Watermark is in force during the batch, in milliseconds since 1970; 0 is none.
	Watermark int64
	// Due says that the watermark has moved on since the last batch, so that state waits to be released; a
	// restart runs no batch for that alone: it comes with the next batch that has rows, or after it.
	Due bool

	Sink    string
	Arrives Arrival
	SinkHas int64 // newest batch of this query that the sink keeps; -1: none, or it keeps no numbers

	// Refused is why the restart fails; nil if nothing is known that would. With Later it starts, and fails
	// with the first batch that it runs.
	Refused *errs.Error
	Later   bool
	Changes []Change // of the definition against the checkpoint, worst first

	Lines []string // all of it in sentences
}

// Forecast says what a restart would do now, from an open checkpoint: that of the running query, or one
// opened for looking. It starts and writes nothing, and asks no source; what it says of the sink was read
// from the sink's own log. Errors are those of the query's plan and of reading the checkpoint.
func (w *DataStreamWriter) Forecast(ctx context.Context, cp *store.Checkpoint, path ...string) (*Forecast, error) {
	p, err := w.prepareUnnamed(path...)
	if err != nil {
		return nil, err
	}
	ep, err := exec.Build(p.node, exec.Conf{Expr: exprConf(p.conf), Mode: string(p.mode), ShufflePartitions: p.conf.number(keyPartitions),
		Get: p.conf.Get})
	if err != nil {
		return nil, err
	}
	d := &driver{s: p.s, conf: p.conf, p: p, plan: ep, cp: cp}
	d.list()
	f := &Forecast{Sink: p.format.Name, SinkHas: -1}
	for _, sc := range ep.Scans() {
		name := sc.Stream.Format
		if sc.Stream.Name != "" && sc.Stream.Name != name {
			name = sc.Stream.Name + " (" + name + ")"
		}
		f.Source = append(f.Source, name)
	}
	if err := d.foresee(f); err != nil {
		return nil, err
	}
	if f.Changes, err = d.changes(); err != nil {
		return nil, err
	}
	sortChanges(f.Changes)
	d.foreseeSink(ctx, f)
	d.foreseeRefusal(ctx, f)
	f.Lines = f.words(p)
	return f, nil
}

// foresee says which batch runs with which offsets, as driver.recover decides it.
func (d *driver) foresee(f *Forecast) error {
	head, committed := d.cp.Head()
	pending, isPending := d.cp.Pending()
	skipped := int64(0)
	if committed {
		f.Batch = head + 1
		e, ok, err := d.cp.Offsets(head)
		if err != nil {
			return err
		}
		if !ok {
			return errs.New("CHECKPOINT_LOG_ENTRY_MISSING", "batchId", head)
		}
		f.Start = e.Offsets
		skipped = e.Skipped()
		f.Batch += skipped
		c, _, err := d.cp.Commits(head)
		if err != nil {
			return err
		}
		f.Watermark = max(e.BatchWatermarkMs, c.NextBatchWatermarkMs)
		f.Due = d.conf.flag(keyNoData) && !isPending && d.plan.Awaits(e.BatchWatermarkMs, f.Watermark)
	} else {
		f.Start = make([]string, len(d.scans))
	}
	if isPending {
		f.Batch += pending.Skipped() - skipped
		f.Rerun, f.End, f.Watermark = true, pending.Offsets, pending.BatchWatermarkMs
		f.Empty = slices.Equal(f.Start, f.End)
	}
	return nil
}

// foreseeSink asks the sink's log how far it is.
func (d *driver) foreseeSink(ctx context.Context, f *Forecast) {
	p, id := d.p, d.cp.ID()
	f.Arrives = ArrivesOnce
	keeps := true // a batch that is there already is not written again
	switch p.format.Name {
	case "json", "csv", "text", "parquet", "orc":
		if ids, _, err := codec.SinkLogIDs(vfs.OS, p.path); err == nil && len(ids) > 0 {
			f.SinkHas = ids[len(ids)-1]
		}
	case "delta":
		if snap, err := delta.Open(p.path).Snapshot(); err == nil && snap != nil {
			if v, ok := snap.Txn(id); ok {
				f.SinkHas = v
			}
		}
	case "memory":
		if p.mode != sinks.Complete || d.conf.flag(keyMemoryResume) {
			f.SinkHas = memory.Door(p.s.workspace).LastBatch(ctx, p.w.name, id)
			for _, c := range f.Changes {
				if c.What == "columns of the result" { // then the table is made anew
					f.SinkHas = -1
				}
			}
		}
	case "noop":
		keeps = false
	case "console":
		keeps = false
		if f.Rerun {
			f.Arrives = ArrivesAgain
		}
	default:
		keeps = false
		if f.Rerun {
			f.Arrives = ArrivesTwice
		}
	}
	if keeps && f.SinkHas >= f.Batch {
		f.Arrives = ArrivesSkipped
	}
}

// foreseeRefusal finds what start, and then the first batch, would refuse, in their order.
func (d *driver) foreseeRefusal(ctx context.Context, f *Forecast) {
	p := d.p
	if _, committed := d.cp.Head(); committed && p.format.Name == "memory" && p.mode != sinks.Complete &&
		!(p.conf.flag(keyMemoryResume) && memory.Door(p.s.workspace).Owns(ctx, p.w.name, d.cp.ID())) {
		f.Refused = errs.New("_LEGACY_ERROR_TEMP_1299", "checkpointPath", p.checkpoint+"/offsets")
		return
	}
	for _, later := range []bool{false, true} {
		for i := range f.Changes {
			if c := &f.Changes[i]; c.Verdict == Refused && (c.What == "stateful operators") == later {
				f.Refused, f.Later = c.Err, later
				return
			}
		}
	}
	if compat, err := p.w.options.Bool("sparkCompat", true); err == nil && !compat && f.SinkHas >= 0 &&
		(f.SinkHas > f.Batch || f.SinkHas == f.Batch && !f.Rerun) {
		switch p.format.Name {
		case "json", "csv", "text", "parquet", "orc":
			f.Refused, f.Later = errs.New("FILE_SINK_OTHER_QUERY", "path", p.path, "latest", f.SinkHas, "current", f.Batch), true
		}
	}
}

// words puts a forecast into sentences.
func (f *Forecast) words(p *prepared) (out []string) {
	add := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	if f.Refused != nil && !f.Later {
		if errs.Has(f.Refused, "SOURCE_FOLDER_CHANGED") { // it starts, and ends before a batch
			add("The restart fails: %s.", strings.TrimSuffix(f.Refused.Message(), "."))
		} else {
			add("The restart is refused: %s.", strings.TrimSuffix(f.Refused.Message(), "."))
		}
		if f.Refused.Hint != "" {
			add("%s", f.Refused.Hint)
		}
		return append(out, f.changeWords()...)
	}
	switch {
	case f.Rerun && f.Empty:
		add("Batch %d runs again: its offsets are written, the commit is not. It has no new rows; it releases state behind the watermark.", f.Batch)
	case f.Rerun:
		add("Batch %d runs again with exactly these offsets: they are written, the commit is not.", f.Batch)
	case f.Batch == 0:
		add("Batch 0 is planned, from where the sources begin.")
	default:
		add("Batch %d is planned afresh, from where batch %d ended. It runs when a source has new rows.", f.Batch, f.Batch-1)
	}
	if f.Refused != nil {
		add("That batch is refused: %s.", strings.TrimSuffix(f.Refused.Message(), "."))
		return append(out, f.changeWords()...)
	}
	switch f.Arrives {
	case ArrivesTwice:
		add("%s", twiceWords(p))
	case ArrivesAgain:
		add("The console shows it again and says so.")
	case ArrivesSkipped:
		if f.Rerun {
			add("The %s sink has batch %d already: it is computed for the state and not written again.", f.Sink, f.Batch)
		} else {
			add("The %s sink has batches up to %d of this query: those it has are not written again, whatever rows they have now.", f.Sink, f.SinkHas)
		}
	case ArrivesOnce:
		if f.Rerun && f.Sink != "noop" {
			add("The %s sink has no batch %d yet: no row is seen twice.", f.Sink, f.Batch)
		}
	}
	if f.Due {
		add("The watermark has moved on to %s: the state behind it is released with the next batch that has rows, not before.",
			time.UnixMilli(f.Watermark).UTC().Format("2006-01-02 15:04:05"))
	}
	return append(out, f.changeWords()...)
}

func (f *Forecast) changeWords() (out []string) {
	for _, c := range f.Changes {
		switch c.Verdict {
		case NotAllowed, Undefined, Pinned:
			out = append(out, fmt.Sprintf("Changed: %s (%s). %s", c.What, c.Verdict, c.Text))
		}
	}
	return out
}

// twiceWords says why a sink may see a batch twice, and what to do about it.
func twiceWords(p *prepared) string {
	switch p.format.Name {
	case "kafka":
		return "Kafka may get its rows twice: a topic keeps no batch numbers. Readers can tell by a key of their own."
	case "foreach":
		return "foreach may be called twice for it: make its writes depend on partition and epoch."
	case "ForeachBatchSink":
		if p.w.statements != nil {
			return "foreachBatch may see it twice: its writes to Delta tables are tagged and skipped, others must depend on :batch_id."
		}
		return "foreachBatch may see it twice, so make its write depend on the batch id."
	}
	return "The sink " + strconv.Quote(p.format.Name) + " may see it twice: it keeps no batch numbers."
}
