//go:build cgo

package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/lab"
	"streamlab/sinks/memory"
	"streamlab/sql/types"
	"streamlab/tui/screen"
)

// localLab shows a lab of this process to the screens.
type localLab struct {
	*wright
	w *lab.Workbench

	mu       sync.Mutex
	consoles map[string]*consoleText
	cache    map[string]*cachedSnapshot
	pasts    map[string]past   // by query
	kept     map[string]string // folders that checkpoints were put aside under, by query
	reading  *safego.Handle    // of pasts when the lab was opened
	lesson   *lesson           // nil: the lab has no steps
	started  bool              // opening the lab started queries

	conf      map[string]string // settings of the command line
	*learning                   // what the user has learned
	crashes   *crashDesk
	modes     *modesRun // behind the screen of output modes; nil: none

	log   *eventLog
	file  fileWatch
	play  sync.Mutex // held while a step is played
	files sync.Mutex // held while a file of statements is written

	looks    looksAt
	insp     *engine.Inspector // reads state of the query inspOf; nil: none
	inspOf   string
	inspDone func()
	known    []screen.BatchMark // of the checkpoint knownOf
	knownOf  string

	facts knownFacts
}

type cachedSnapshot struct {
	version int64
	run     *engine.StreamingQuery
	refused error
	past    int64 // version of what is known from before
	facts   *queryFacts
	snap    *screen.QuerySnapshot
}

// consoleText keeps the newest lines that a console sink printed.
type consoleText struct {
	mu      sync.Mutex
	lines   []string
	partial string
	version int64
	dropped int64
}

const keptLines = 5000

func (c *consoleText) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := strings.Split(c.partial+string(p), "\n")
	c.partial = parts[len(parts)-1]
	lines := append(c.lines, parts[:len(parts)-1]...)
	if over := len(lines) - keptLines; over > 0 {
		c.dropped += int64(over)
		lines = append([]string(nil), lines[over:]...)
	}
	c.lines = lines
	c.version++
	return len(p), nil
}

func (b *localLab) console(query string) *consoleText {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.consoles[query]
	if c == nil {
		c = &consoleText{}
		b.consoles[query] = c
	}
	return c
}

// Lab says which lab this is.
func (b *localLab) Lab() screen.LabInfo {
	l := b.w.Lab
	info := screen.LabInfo{Name: l.Name, About: l.Teaches, Path: l.File, Folder: b.w.Session().Workspace()}
	info.Started, info.Lesson, info.Changed = b.started, lessonOf(l), b.file.changed()
	b.mu.Lock()
	if b.lesson != nil {
		info.Steps = b.lesson.steps
	}
	b.mu.Unlock()
	return info
}

// Queries gives a snapshot per query of the file; unchanged ones are the same pointers.
func (b *localLab) Queries() []*screen.QuerySnapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cache == nil {
		b.cache = map[string]*cachedSnapshot{}
	}
	out := make([]*screen.QuerySnapshot, 0, len(b.w.Current().Queries))
	for _, q := range b.w.Current().Queries {
		name := q.Name.Value
		run, refused := b.w.Query(name), b.w.Refused(name)
		version := int64(0)
		if run != nil {
			version = run.Snapshot().Version
		}
		c := b.cache[name]
		if c != nil && c.run != nil && c.run != run { // the run before this one is past now
			if b.pasts == nil {
				b.pasts = map[string]past{}
			}
			b.pasts[name] = past{version: b.pasts[name].version + 1, reports: c.snap.Progress}
		}
		was, facts := b.pasts[name], b.factsOf(name)
		if c == nil || c.version != version || c.run != run || c.refused != refused || c.past != was.version || c.facts != facts {
			n := int64(1)
			if c != nil {
				n = c.snap.Version + 1
			}
			c = &cachedSnapshot{version, run, refused, was.version, facts, b.snapshot(q, run, refused, facts)}
			c.snap.Progress = was.before(run, c.snap.Progress)
			noteSlow(c.snap.Progress)
			if last := c.snap.Last(); run == nil && last.BatchID >= 0 || run != nil && was.run == run && was.version > 0 {
				c.snap.BatchID, c.snap.Watermark = last.BatchID, last.Watermark // also after the checkpoint was changed
			}
			c.snap.Version = n
			b.cache[name] = c
		}
		out = append(out, c.snap)
	}
	return out
}

func (b *localLab) snapshot(q lab.Query, run *engine.StreamingQuery, refused error, facts *queryFacts) *screen.QuerySnapshot {
	s := &screen.QuerySnapshot{Name: q.Name.Value, Sink: q.SinkName(), Mode: q.OutputMode.Value, BatchID: -1,
		Promise: word(promise(q.SinkName(), q.Options["checkpointLocation"].Value != ""))}
	if s.Mode == "" {
		s.Mode = "append"
	}
	if s.Trigger = "as fast as possible"; q.TriggerKind != "" {
		if t, err := engine.ParseTrigger(q.TriggerKind, q.TriggerValue.Value); err == nil {
			s.Trigger = triggerWords(t.String())
		}
	}
	folder := b.w.Session().Workspace()
	if facts != nil {
		s.Source, s.Limit, s.WatermarkDelay = facts.sourceWords(folder, nil), facts.limitWords(), facts.delay
	}
	s.Grows = facts != nil && facts.windows && strings.EqualFold(s.Mode, "complete")
	if refused != nil {
		s.State, s.Error = screen.Failed, asError(refused)
		return s
	}
	if run == nil {
		return s
	}
	x := run.Snapshot()
	s.ID, s.RunID, s.Message, s.Since, s.Mode, s.Trigger = x.ID, x.RunID, x.Status.Message, x.StartedAt, x.Mode, triggerWords(x.Trigger)
	s.Temporary, s.BatchID, s.TriggerEvery, s.Warning = x.Temporary, x.Batch, x.TriggerEvery, x.Warning
	if n := len(x.Recent); n > 0 {
		s.Memory = memoryOf(x.Recent[n-1].Memory)
		if facts != nil {
			var ends []string
			for _, src := range x.Recent[n-1].Sources {
				ends = append(ends, src.EndOffset)
			}
			s.Source = facts.sourceWords(folder, ends)
		}
	}
	if s.Source == "" {
		s.Source = strings.Join(x.Sources, ", ")
	}
	if x.Watermark > 0 {
		s.Watermark = timeOf(x.Watermark)
	}
	switch {
	case x.Exception != nil:
		s.State, s.Error = screen.Failed, asError(x.Exception)
		if f := run.Failure(); f != nil {
			s.BatchID = max(s.BatchID, f.Batch)
		}
	case x.State == engine.Terminated:
		s.State = screen.Stopped
	case x.State == engine.Initializing:
		s.State = screen.Starting
	default:
		s.State = screen.Running
	}
	recent := x.Recent
	recent = recent[max(0, len(recent)-keptReports):]
	for i := range recent {
		p := &recent[i]
		if _, ran := p.DurationMs["addBatch"]; !ran {
			continue // an idle report is no batch
		}
		s.Progress = append(s.Progress, progressOf(p))
	}
	return s
}

func asError(err error) *errs.Error {
	if e := errs.As(err); e != nil {
		return e
	}
	return errs.Wrap(err, "INTERNAL_ERROR", "message", err.Error())
}

func word(promise string) string { w, _, _ := strings.Cut(promise, ":"); return w }

func progressOf(p *engine.Progress) screen.Progress {
	out := screen.Progress{BatchID: p.BatchID, Time: p.Timestamp, Duration: time.Duration(p.BatchDuration) * time.Millisecond,
		RowsIn: p.NumInputRows, RowsOut: p.Sink.NumOutputRows, InputRate: p.InputRate, ProcessRate: p.ProcessedRate, Retried: p.Replayed,
		JSON: func() string { return p.Pretty() }}
	out.Phases, out.Operators = phasesOf(p.DurationMs), operatorsOf(p.StateOperators)
	out.Watermark, out.EventMax = eventTimes(p.EventTime)
	if out.RowsOut < 0 { // Spark's sinks of files and functions do not say
		out.RowsOut = p.Sent
	}
	return out
}

// Events gives the session's events.
func (b *localLab) Events(after int64) ([]screen.Event, int64) {
	list, newest := b.w.Session().Events(after)
	out := make([]screen.Event, 0, len(list))
	for _, e := range list {
		x := screen.Event{Seq: e.Seq, Time: e.Time, Query: e.Name, Message: e.Text}
		if x.Level, x.Batch = levelOf(e); x.Level == screen.Error {
			if q := b.w.Query(e.Name); q != nil && q.RunID() == e.RunID {
				x.Err = asError(q.Exception())
			}
		}
		out = append(out, x)
	}
	return out, newest
}

// Note writes an event of the screens to the log of the workspace.
func (b *localLab) Note(e screen.Event) { b.log.note(e) }

func (b *localLab) door() *memory.DB { return memory.Door(b.w.Session().Workspace()) }

// Query asks SQLite what the memory sinks hold.
func (b *localLab) Query(ctx context.Context, sql string, limit int) (screen.Result, error) {
	return b.Ask(ctx, screen.SQLiteDoor, sql, limit)
}

// Catalog lists the tables of memory sinks and the views beside them.
func (b *localLab) Catalog(ctx context.Context) ([]screen.Table, error) {
	return b.Names(ctx, screen.SQLiteDoor)
}

// State reads the rows of a stateful operator.
func (b *localLab) State(ctx context.Context, query string, batch int64, operator int, filter string, limit int) (screen.Result, error) {
	t := time.Now()
	cp, _, done, err := b.at(query)
	if err != nil {
		return screen.Result{}, err
	}
	defer done()
	v := cp.At(batch)
	defer v.Close()
	dw, forget, err := b.writerOf(ctx, query)
	if err != nil {
		return screen.Result{}, err
	}
	defer forget()
	batches, schema, err := dw.StateTable(v, operator, "default")
	if err != nil {
		return screen.Result{}, err
	}
	return resultOf(batches, schema, filter, limit, batch, t), nil
}

// BatchRows gives what a batch sent to its sink: as it was kept, else by running the batch again.
func (b *localLab) BatchRows(ctx context.Context, query string, batch int64, limit int) (screen.Result, error) {
	t := time.Now()
	if q := b.w.Query(query); q != nil {
		if rows, total, ok := q.BatchRows(batch); ok {
			r := resultOf(rows, q.Schema(), "", limit, batch, t)
			r.Total, r.More = total, total > int64(len(r.Rows))
			r.Note = "as sent to the sink"
			return r, nil
		}
	}
	return b.rowsAgain(ctx, query, batch, limit)
}

func resultOf(batches []arrow.RecordBatch, schema types.Schema, filter string, limit int, batch int64, t time.Time) screen.Result {
	r := screen.Result{Batch: batch}
	for _, f := range schema {
		r.Columns = append(r.Columns, screen.Column{Name: f.Name, Type: f.Type.Simple(), Right: f.Type.IsNumeric()})
	}
	for _, row := range lab.Cells(batches, schema) {
		if filter != "" && !strings.Contains(strings.Join(row, "\x00"), filter) {
			continue
		}
		r.Total++
		if limit > 0 && len(r.Rows) >= limit {
			r.More = true
			continue
		}
		cells := make([]screen.Cell, len(row))
		for i, x := range row {
			cells[i] = screen.Cell{Text: x, Null: x == "NULL"}
		}
		r.Rows = append(r.Rows, cells)
	}
	r.Took = time.Since(t)
	return r
}

// Console gives the kept lines of a console sink.
func (b *localLab) Console(query string) screen.Console {
	c := b.console(query)
	c.mu.Lock()
	defer c.mu.Unlock()
	return screen.Console{Version: c.version, Lines: c.lines[:len(c.lines):len(c.lines)], Dropped: c.dropped}
}

// Explain gives plan, schema and promise.
func (b *localLab) Explain(ctx context.Context, query string) (string, error) {
	return explain(ctx, b.w, query)
}

// Close stops everything: after the running batches while ctx lasts, then at once.
func (b *localLab) Close(ctx context.Context) error {
	b.file.end()
	var runs []*engine.StreamingQuery
	for _, n := range b.w.Names() {
		if q := b.w.Query(n); q != nil && q.IsActive() {
			q.RequestStop(true)
			runs = append(runs, q)
		}
	}
	for _, q := range runs {
		_ = q.AwaitTermination(ctx) // its failure stands in its snapshot
	}
	b.mu.Lock()
	modes := b.modes
	b.modes = nil
	b.mu.Unlock()
	if modes != nil {
		_ = modes.close() // a scratch of ours
	}
	err := b.w.Close()
	b.log.end()
	return err
}
