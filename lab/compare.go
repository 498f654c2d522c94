package lab

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/safego"
)

// Modes are the output modes in the order of a Comparison's columns.
var Modes = [3]string{"append", "update", "complete"}

// CompareOptions choose what a Comparison runs on; the zero value is the lab's own input, fed with pauses.
type CompareOptions struct {
	// Pace "" waits after every input until nothing is left, so that a micro-batch without rows may follow it;
	// "hurried" has the next input ready before that.
	Pace string
	// Split "" keeps the micro-batches of the lab, "one" makes one of all, "rows" one of every row.
	Split string
	// Late feeds the first row of the first input once more at the end, when it is old.
	Late bool
	// Delay replaces the delay of every withWatermark of the lab; "" keeps them.
	Delay string
	// Sink is where the three queries write: "" and "memory", or "json", "parquet", "delta", "console", "noop".
	// Some refuse modes.
	Sink string
	// Dir is a folder for checkpoints and outputs; it must be empty and is the caller's to remove.
	Dir string
	// Sample bounds what is taken of a source that is not fed by hand: micro-batches, and rows of each. 0 is 5 and 6.
	SampleBatches, SampleRows int
	// Conf are settings that win over the lab's.
	Conf map[string]string
}

// CompareInput is what is fed at one step.
type CompareInput struct {
	Pushes []ComparePush
}

// ComparePush is rows for one source, cells as text.
type ComparePush struct {
	Source  string
	Columns []string
	Rows    [][]string
	Late    []bool   // rows that are older than the newest of an input before, by the source's watermark column
	Times   []string // of the rows, by that column; nil without one

	rb arrow.RecordBatch
}

// CompareBatch is one micro-batch of one mode.
type CompareBatch struct {
	Batch     int64
	NoData    bool // it read no rows: it ran because the watermark had moved
	Rows      [][]string
	RowsIn    int64
	Watermark time.Time // that it closed windows by; zero: none
	StateRows int64
	Removed   int64
	Dropped   int64 // as late
}

// CompareStep is what one input did in one mode.
type CompareStep struct {
	Batches []CompareBatch
	// State is the rows of the first stateful operator afterwards, key and value cells side by side.
	State     [][]string
	StateRows int64     // of all operators
	Watermark time.Time // afterwards; zero: none
	Err       error     // the query failed here
}

// Rows are the rows that the step sent, batch after batch.
func (s CompareStep) Rows() (rows [][]string) {
	for _, b := range s.Batches {
		rows = append(rows, b.Rows...)
	}
	return rows
}

// Dropped is how many rows, or groups, were too late in the step.
func (s CompareStep) Dropped() (n int64) {
	for _, b := range s.Batches {
		n += b.Dropped
	}
	return n
}

// CompareColumn is one mode.
type CompareColumn struct {
	Mode    string
	Refused error // it cannot run in this mode, and why
	Steps   []CompareStep

	w    *Workbench
	q    *engine.StreamingQuery
	seen int64 // newest batch that was recorded

	clock *stillClock
}

// Comparison runs one query of a lab in the three output modes over the same input, step by step: three real
// queries on three sessions, with a clock that stands still between the steps. Its methods are called from one
// goroutine at a time.
type Comparison struct {
	Lab       *Lab
	Query     string
	SQL       string
	Columns   [3]*CompareColumn
	Inputs    []CompareInput
	Names     []string // of the result
	Group     []bool   // columns that name the group of a row; nil: there are no groups
	Delays    []string // of the watermarks that Delay would replace
	Sampled   bool     // the input is a sample of sources that are not fed by hand
	Taken     int64    // rows of the sample
	Available int64    // rows that the sample was taken of: what was read of its sources
	More      bool     // the sources have more than was read, or rows come with time
	Fed       int      // inputs that were fed
	hurried   bool
	eventTime map[string]int // per source: the column of its watermark
	sampled   map[string]bool
}

// stillClock stands still between steps; who waits on it waits a moment of real time, so that a query looks
// at its sources again. While it is held nobody comes back from waiting: what is fed then is one micro-batch,
// whatever the number of sources.
type stillClock struct {
	mu      sync.Mutex
	changed *sync.Cond
	now     time.Time
	held    bool
	waiting int
}

func newStillClock(now time.Time) *stillClock {
	c := &stillClock{now: now}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Now is where the clock stands.
func (c *stillClock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

// step moves the clock on by a second.
func (c *stillClock) step() { c.mu.Lock(); c.now = c.now.Add(time.Second); c.mu.Unlock() }

// until tells the clock when its query ends: then nobody waits on it any more, and hold shall not wait for that.
func (c *stillClock) until(ended <-chan struct{}) {
	safego.Go("comparison", func() error {
		<-ended
		c.mu.Lock()
		c.waiting++
		c.changed.Broadcast()
		c.mu.Unlock()
		return nil
	})
}

// hold returns when the query waits, and keeps it waiting until release, or when it has ended.
func (c *stillClock) hold() {
	c.mu.Lock()
	for c.held = true; c.waiting == 0; {
		c.changed.Wait()
	}
	c.mu.Unlock()
}

func (c *stillClock) release() { c.mu.Lock(); c.held = false; c.changed.Broadcast(); c.mu.Unlock() }

// Wait implements engine.Clock.
func (c *stillClock) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	c.mu.Lock()
	c.waiting++
	c.changed.Broadcast()
	c.mu.Unlock()
	t := time.NewTimer(min(d, 2*time.Millisecond))
	defer t.Stop()
	var err error
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.mu.Lock()
	for c.held && err == nil {
		c.changed.Wait()
	}
	c.waiting--
	c.mu.Unlock()
	return err
}

// compareStart is where the clock of a Comparison stands at first.
var compareStart = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Compare makes a Comparison of a query of l; nothing is fed yet. A source of the query that is not fed by hand
// gives a sample: that reads it from its beginning, and writes nothing but below o.Dir. Errors: LAB_NO_QUERY, the
// problems of the lab's sources and views, LAB_VALUE of an option, LAB_NO_SAMPLE.
func Compare(ctx context.Context, l *Lab, query string, o CompareOptions) (_ *Comparison, err error) {
	switch {
	case o.Pace != "" && o.Pace != "hurried":
		return nil, errs.New("LAB_VALUE", "key", "pace", "expected", "hurried, or nothing")
	case o.Split != "" && o.Split != "one" && o.Split != "rows":
		return nil, errs.New("LAB_VALUE", "key", "split", "expected", "one, rows, or nothing")
	}
	if o.Delay != "" {
		if _, err := engine.ParseInterval(o.Delay); err != nil {
			return nil, err
		}
	}
	c := &Comparison{Lab: l, Query: query, hurried: o.Pace == "hurried", eventTime: map[string]int{}, sampled: map[string]bool{}}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	conf := engine.Config{Conf: o.Conf, Workspace: filepath.Join(o.Dir, "look"), Out: io.Discard}
	l = l.apart()
	c.Lab = l
	look, err := Open(ctx, l, conf)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, look.Close()) }()
	q, err := look.Find(query)
	if err != nil {
		return nil, err
	}
	c.SQL = q.SQL.Value
	df, err := look.Session().SQL(ctx, q.SQL.Value)
	if err != nil {
		return nil, l.locateText(err, q.SQL)
	}
	for _, f := range df.Schema() {
		c.Names = append(c.Names, f.Name)
	}
	c.Group = df.GroupColumns()
	scans := df.StreamScans()
	if len(scans) == 0 {
		return nil, errs.New("LAB_NO_SAMPLE", "query", query, "reason", "it reads no stream")
	}
	if err := c.gather(ctx, look, scans, o); err != nil {
		return nil, err
	}
	if err := c.split(o.Split); err != nil {
		return nil, err
	}
	if o.Late {
		c.late()
	}
	c.markLate()
	for i, mode := range Modes {
		c.Columns[i] = c.column(ctx, q, mode, scans, o)
	}
	if c.hurried { // everything lies ready before the queries start
		for _, col := range c.Columns {
			if col.Refused == nil {
				for _, in := range c.Inputs {
					if err := feedAll(col.w, in); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	for _, col := range c.Columns {
		if col.Refused != nil {
			continue
		}
		if col.q, err = col.w.Start(ctx, query, StartOptions{}); err != nil {
			col.Refused, err = err, nil
			continue
		}
		col.clock.until(col.q.Done())
	}
	return c, nil
}

// apart is the lab so that it can run on another workspace and beside itself: tables that it has made are read
// where they are, those that are not there yet are made in the other workspace.
func (l *Lab) apart() *Lab {
	a := *l
	a.Tables = append([]Table(nil), l.Tables...)
	for i := range a.Tables {
		t := &a.Tables[i]
		if !t.managed() {
			continue
		}
		folder := filepath.Join(l.Dir, ".streamlab", "warehouse", strings.ToLower(t.Name.Value))
		if p := t.Path.Value; p != "" {
			if folder = p; !filepath.IsAbs(p) {
				folder = filepath.Join(l.Dir, p)
			}
		}
		t.Path = Text{}
		if _, err := os.Stat(folder); err == nil {
			t.Path = Text{Value: folder}
		}
	}
	return &a
}

// derived is the lab with the sources of the query fed by hand and the query in a mode.
func (c *Comparison) derived(q Query, mode string, scans []engine.StreamScan, o CompareOptions) *Lab {
	l := *c.Lab
	l.Steps, l.Queries = nil, nil
	l.Sources = append([]Source(nil), l.Sources...)
	for i := range l.Sources {
		s := &l.Sources[i]
		for _, sc := range scans {
			if sc.Name != s.Name.Value {
				continue
			}
			*s = Source{Name: s.Name, Format: Text{Value: "memory"}, Schema: Text{Value: ddl(sc.Schema)}, Watermark: s.Watermark,
				Options: map[string]Text{"maxPushesPerTrigger": {Value: "1"}}}
		}
	}
	if o.Delay != "" {
		l.Views = append([]View(nil), l.Views...)
		for i := range l.Sources {
			l.Sources[i].Watermark = l.Sources[i].Watermark.withDelay(o.Delay)
		}
		for i := range l.Views {
			l.Views[i].Watermark = l.Views[i].Watermark.withDelay(o.Delay)
		}
	}
	q.OutputMode = Text{Value: mode, Pos: q.OutputMode.Pos}
	q.TriggerKind, q.ToTable, q.Path, q.Statements, q.Command, q.PartitionBy = "", Text{}, Text{}, nil, nil, nil
	q.Format = Text{Value: o.Sink}
	if o.Sink == "" {
		q.Format.Value = "memory"
	}
	q.Options = map[string]Text{"checkpointLocation": {Value: filepath.Join(o.Dir, mode, "checkpoint")}}
	switch q.Format.Value {
	case "memory", "console", "noop":
	default:
		q.Path = Text{Value: filepath.Join(o.Dir, mode, "out")}
	}
	q.Start = false
	l.Queries = []Query{q}
	return &l
}

func (w *Watermark) withDelay(delay string) *Watermark {
	if w == nil {
		return nil
	}
	n := *w
	n.Delay.Value = delay
	return &n
}

func (c *Comparison) column(ctx context.Context, q Query, mode string, scans []engine.StreamScan, o CompareOptions) *CompareColumn {
	col := &CompareColumn{Mode: mode, seen: -1, clock: newStillClock(compareStart)}
	w, err := Open(ctx, c.derived(q, mode, scans, o), engine.Config{Conf: o.Conf, Workspace: filepath.Join(o.Dir, mode, "work"),
		Clock: col.clock, Out: io.Discard})
	if err != nil {
		col.Refused = err
		return col
	}
	col.w = w
	dw, err := w.Writer(ctx, q.Name.Value)
	if err == nil {
		var path []string
		if p := w.Lab.Queries[0].Path.Value; p != "" {
			path = []string{p}
		}
		err = dw.Check(path...)
	}
	if e := errs.As(err); e != nil {
		bare := *e
		bare.Pos, bare.Excerpt = errs.Pos{}, "" // the mode is not the one that the file has there
		err = &bare
	}
	col.Refused = err
	return col
}

func feedAll(w *Workbench, in CompareInput) error {
	for _, p := range in.Pushes {
		if err := w.s.FeedRecord(p.Source, p.rb); err != nil {
			return err
		}
	}
	return nil
}

// Feed gives the next input to all three queries and records what they do with it. It returns false when all
// was fed. Errors: only ctx's; what a query met stands in its step.
func (c *Comparison) Feed(ctx context.Context) (bool, error) {
	if c.Fed >= len(c.Inputs) {
		return false, nil
	}
	if c.hurried && c.Fed > 0 { // they have run through already
		c.Fed++
		return true, nil
	}
	for _, col := range c.Columns {
		if col.Refused != nil {
			continue
		}
		if !c.hurried {
			col.clock.hold()
			col.clock.step()
			err := feedAll(col.w, c.Inputs[c.Fed])
			col.clock.release()
			if err != nil {
				return false, err
			}
		}
		err := col.q.ProcessAllAvailable(ctx)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err := c.record(ctx, col, err); err != nil {
			return false, err
		}
	}
	c.Fed++
	return true, nil
}

// record takes what a query did since the last look. In a hurry all inputs are done at once: every
// micro-batch with rows begins the next step.
func (c *Comparison) record(ctx context.Context, col *CompareColumn, failed error) error {
	var step *CompareStep
	begin := func() {
		col.Steps = append(col.Steps, CompareStep{})
		step = &col.Steps[len(col.Steps)-1]
	}
	begin()
	snap := col.q.Snapshot()
	for i := range snap.Recent {
		p := &snap.Recent[i]
		if _, ran := p.DurationMs["addBatch"]; !ran || p.BatchID <= col.seen {
			continue
		}
		col.seen = p.BatchID
		b := CompareBatch{Batch: p.BatchID, NoData: p.NumInputRows == 0, RowsIn: p.NumInputRows, Watermark: markOf(p.EventTime["watermark"])}
		for _, o := range p.StateOperators {
			b.StateRows += o.NumRowsTotal
			b.Removed += o.NumRowsRemoved
			b.Dropped += o.NumRowsDroppedByWatermark
		}
		if rows, _, kept := col.q.BatchRows(p.BatchID); kept {
			b.Rows = Cells(rows, col.q.OutputSchema())
		}
		if c.hurried && !b.NoData && len(step.Batches) > 0 {
			step.Watermark = b.Watermark
			if err := c.state(ctx, col, step); err != nil {
				return err
			}
			begin()
		}
		step.Batches = append(step.Batches, b)
		step.StateRows = b.StateRows
	}
	step.Err = failed
	if snap.Watermark > 0 {
		step.Watermark = time.UnixMilli(snap.Watermark).UTC()
	}
	if err := c.state(ctx, col, step); err != nil {
		return err
	}
	for c.hurried && len(col.Steps) < len(c.Inputs) { // it failed before
		begin()
		step.Err = failed
	}
	return nil
}

func markOf(text string) time.Time {
	t, err := time.Parse(engine.TimestampLayout, text)
	if err != nil || t.UnixMilli() <= 0 {
		return time.Time{}
	}
	return t
}

// keptState is how many rows of state a step keeps.
const keptState = 40

// state reads the rows of state that the last micro-batch of a step left. A query without state has none, and
// neither has an operator whose state cannot be shown.
func (c *Comparison) state(ctx context.Context, col *CompareColumn, step *CompareStep) error {
	if step.StateRows == 0 || len(step.Batches) == 0 || !col.q.IsActive() {
		if n := len(col.Steps); n > 1 && len(step.Batches) == 0 {
			step.State, step.StateRows = col.Steps[n-2].State, col.Steps[n-2].StateRows
		}
		return nil
	}
	dw, err := col.w.Writer(ctx, c.Query)
	if err != nil {
		return err
	}
	v := col.q.Checkpoint().At(step.Batches[len(step.Batches)-1].Batch)
	defer v.Close()
	rows, schema, err := dw.StateTable(v, 0, "default")
	if err != nil {
		return nil
	}
	step.State = [][]string{}
	for _, r := range Cells(rows, schema) {
		if len(step.State) == keptState {
			break
		}
		step.State = append(step.State, r)
	}
	return nil
}

// Close ends the three queries.
func (c *Comparison) Close() error {
	var problems []error
	for _, col := range c.Columns {
		if col != nil && col.w != nil {
			problems = append(problems, col.w.Close())
		}
	}
	return errors.Join(problems...)
}
