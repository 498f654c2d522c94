package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/store"
)

// driver runs the micro-batches of one query. Everything in it belongs to the query's goroutine.
type driver struct {
	q         *StreamingQuery
	s         *Session
	conf      *Conf
	p         *prepared
	plan      *exec.Plan
	cp        *store.Checkpoint
	temporary bool

	sources []*querySource // one per distinct stream, in plan order
	scans   []int          // per scan occurrence, in plan order: index into sources
	sink    sinks.Sink
	marks   *watermarkTracker
	pinned  map[string]string

	batch       int64 // the batch that is next, or is being run
	constructed bool  // its offsets are logged
	replay      bool  // and were logged by an earlier run
	resumed     bool  // the plan was held against the checkpoint's, and has its state
	watermark   int64 // in force for batch
	prevMark    int64 // in force for the batch before: the bound for late rows
	timestamp   int64 // batch time, ms
	ran         bool  // a batch was run in this run
	idleAt      time.Time
	ranAt       time.Time // when batches ceased; zero while they run
	idleBefore  bool      // an idle report was made, or a batch was run
	trigger     time.Time
	lastTrigger time.Time
	next        *nextBatch // the one after batch, if it is planned already
	early       *nextBatch // the one that begins, if it was
	batches     int        // run in this run
	quiet       int        // evaluations since the last batch that found nothing
	durations   map[string]int64
	recent      []Progress
	samples     samples
	observed    map[string]json.RawMessage // of the batch
	told        []string                   // lines of events for other processes
	saidAt      time.Time                  // when they were told
	said        said
	async       *asyncProgress // nil: every batch is recorded
	skipped     int64          // batches before this one that have no record
	memory      QueryMemory
}

// querySource is a source as one query reads it.
type querySource struct {
	stream    *catalog.Stream
	src       sources.Source
	limit     sources.ReadLimit // of the options
	most      sources.ReadLimit // of the memory; zero if there is enough
	files     int64             // or other pieces that the batch reads
	committed sources.Offset    // end of the last batch
	start     sources.Offset    // of the batch being constructed or run; "" is none
	end       sources.Offset
	latest    sources.Offset    // what the source says is there; "" is unknown
	metrics   map[string]string // of the batch, taken before the next one is planned
	rows      int64             // that left the scans of the batch
	shared    *sources.Shared   // nil: the query reads for itself
	columns   []int             // that its scan wants of the shared read; nil is all
}

func (d *driver) status(message string, change func(st *Status)) {
	d.q.publish(func(s *Snapshot) {
		s.Status.Message = message
		if change != nil {
			change(&s.Status)
		}
	})
}

func (d *driver) run(ctx context.Context) error {
	d.status("Initializing sources", nil)
	if err := d.open(ctx); err != nil {
		return err
	}
	if err := d.recover(ctx); err != nil {
		return err
	}
	if err := d.beginAsync(); err != nil {
		return err
	}
	d.q.publish(func(s *Snapshot) {
		s.State = Running
		s.Watermark = d.watermark
		for _, x := range d.sources {
			s.Sources = append(s.Sources, describe(x.src))
		}
	})
	d.say("started")
	if k := d.p.w.trigger.kind; k == continuous || k == realTime {
		return d.runEpochs(ctx)
	}
	return d.loop(ctx)
}

// loop is the trigger executor.
func (d *driver) loop(ctx context.Context) error {
	t := d.p.w.trigger
	for {
		if d.q.stopRequested() != keepRunning {
			return nil
		}
		ran, err := d.once(ctx)
		if err != nil {
			return err
		}
		if ran {
			d.batches++
			d.quiet = 0
			d.ranAt = time.Time{}
		} else {
			d.rest()
		}
		switch {
		case t.kind == once || d.p.w.maxBatches > 0 && d.batches == d.p.w.maxBatches:
			return nil
		case t.kind == availableNow:
			if !ran {
				return nil
			}
			continue
		}
		if !ran {
			if more, err := d.plan.Fetch(); err != nil {
				return err
			} else if more && t.every == 0 {
				continue
			}
		}
		now := d.s.now()
		if t.every > 0 {
			if err := d.wait(ctx, t.next(d.trigger).Sub(now)); err != nil {
				return err
			}
		} else if !ran {
			if err := d.await(ctx); err != nil {
				return err
			}
		}
	}
}

// wait sleeps to a trigger boundary; a boundary that has passed is not waited for.
func (d *driver) wait(ctx context.Context, pause time.Duration) error {
	until := d.s.now().Add(pause)
	for pause > 0 && d.q.stopRequested() == keepRunning {
		if err := d.s.clock.Wait(ctx, pause, d.q.wake); err != nil {
			return err
		}
		pause = until.Sub(d.s.now())
	}
	return nil
}

// await pauses an idle query for the polling delay, or until it is woken. When nothing has come for a while it
// looks less often, as far as a person would not notice: looking costs some fifty microseconds a source.
func (d *driver) await(ctx context.Context) error {
	pause := d.conf.duration(keyPolling)
	if d.quiet++; d.quiet > quietAfter && pause < quietPause {
		// All queries that wait so look at the same moments: waking up costs more than looking.
		pause = quietPause - time.Duration(d.s.now().UnixNano())%quietPause
	}
	return d.s.clock.Wait(ctx, pause, d.q.wake)
}

const (
	quietAfter = 200 // evaluations that found nothing, two seconds of them by default
	quietPause = 100 * time.Millisecond
	restAfter  = 3 * time.Second // without a batch
)

// rest lets the checkpoint do nothing in the background once no batch has been run for a while.
func (d *driver) rest() {
	switch now := d.s.now(); {
	case d.ranAt.IsZero():
		d.ranAt = now
	case now.Sub(d.ranAt) > restAfter:
		d.cp.Rest()
	}
}

func (d *driver) open(ctx context.Context) error {
	byStream := map[int64]int{}
	was := d.stored()
	for _, sc := range d.plan.Scans() {
		i, ok := byStream[sc.Stream.ID]
		if !ok {
			o, isOurs := sc.Stream.Open.(*opening)
			if !isOurs {
				return errs.New("INTERNAL_ERROR", "message", "the stream "+sc.Stream.Name+" was not opened by a session")
			}
			i = len(d.sources)
			byStream[sc.Stream.ID] = i
			src, err := o.open(d.definition(i, sc.Stream, o, was))
			if err != nil {
				return err
			}
			x := &querySource{stream: sc.Stream, src: src}
			if l, ok := src.(sources.DefaultLimit); ok {
				x.limit = l.DefaultReadLimit()
			}
			d.sources = append(d.sources, x)
		}
		d.scans = append(d.scans, i)
	}
	if err := d.checkSources(); err != nil {
		return err
	}
	d.prune()
	switch d.p.w.trigger.kind {
	case availableNow:
		for _, x := range d.sources {
			if a, ok := x.src.(sources.AvailableNow); ok {
				if err := a.PrepareAvailableNow(ctx); err != nil {
					return err
				}
			}
		}
	case once:
		for _, x := range d.sources {
			x.limit = sources.ReadLimit{}
		}
	}
	if d.p.w.sink != nil {
		d.sink = d.p.w.sink
		return nil
	}
	sink, err := d.p.format.New(sinks.Def{Format: d.p.format.Name, Path: d.p.path, Options: d.p.w.options,
		PartitionBy: d.p.w.partitionBy, Mode: d.p.mode, QueryName: d.q.name, QueryID: d.q.id, Schema: d.p.node.Schema(), Keys: groupingKeys(d.p.node),
		Conf: d.conf.Get, Zone: d.conf.zone(), Dir: d.s.workspace, Out: d.s.console(d.q.name), Notice: d.warn,
		Durable: d.conf.Get(keyDurability) == "power" && !d.temporary})
	d.sink = sink
	if r, ok := sink.(interface{ Restart(context.Context) error }); ok && d.p.mode == sinks.Complete && !d.conf.flag(keyMemoryResume) {
		if err := r.Restart(ctx); err != nil {
			return err
		}
	}
	if own, ok := sink.(*deltaSink); ok {
		own.own = d.readsTable
	}
	return err
}

// definition is what source k is opened with.
func (d *driver) definition(k int, st *catalog.Stream, o *opening, was planRecord) sources.Def {
	def := o.def
	def.Log = d.cp.SourceLog(k)
	if o.shared != nil {
		def.Began = o.shared.Began
	}
	if k < len(was.Sources) && was.Dir != d.s.dir && !filepath.IsAbs(place(def, d.s.dir)) &&
		was.Sources[k] == st.Format+":"+place(def, d.s.dir) {
		def.MovedFrom, def.MovedTo = was.Dir, d.s.dir
	}
	return def
}

// prune tells sources which columns the plan reads. A source that is scanned several times is told only if
// all scans read the same ones: a batch has the columns of its scan, or all.
func (d *driver) prune() {
	for k, x := range d.sources {
		p, ok := x.src.(sources.Pruner)
		shared := x.stream.Open.(*opening).shared
		if !ok {
			x.shared = shared
			continue
		}
		if columns := d.wanted(k); x.joins(shared, columns) {
			x.shared = shared
			if shared.Columns() == nil || p.Prune(shared.Columns()) {
				x.columns = columns
			}
			continue
		}
		d.narrow(k)
	}
}

// wanted are the columns that the scans of source k read; nil is all.
func (d *driver) wanted(k int) (columns []int) {
	scans, x := d.plan.Scans(), d.sources[k]
	for i, s := range d.scans {
		if s != k {
			continue
		}
		if scans[i].Columns == nil || columns != nil && !slices.Equal(columns, scans[i].Columns) {
			columns = nil
			break
		}
		columns = append([]int{}, scans[i].Columns...)
	}
	if columns != nil {
		return columns
	}
	visible := len(x.stream.Schema()) // every scan picks; hidden columns have to be asked for
	for i, s := range d.scans {
		for _, c := range scans[i].Columns {
			if s == k && c >= visible && columns == nil {
				for j := range visible + len(x.stream.Hidden) {
					columns = append(columns, j)
				}
			}
		}
	}
	return columns
}

// narrow tells a source that the query reads for itself what it may leave out.
func (d *driver) narrow(k int) {
	x := d.sources[k]
	p, ok := x.src.(sources.Pruner)
	if !ok {
		return
	}
	if columns := d.wanted(k); columns != nil {
		p.Prune(columns)
	}
	if sk, ok := x.src.(sources.Skipper); ok {
		var tests []columnar.Test
		n := 0
		scans := d.plan.Scans()
		for i, s := range d.scans {
			if s == k {
				tests = catalog.Tests(scans[i].Where)
				n++
			}
		}
		if n == 1 {
			sk.Skip(tests)
		}
	}
}

// recover finds where the query goes on (MicroBatchExecution.populateStartOffsets).
func (d *driver) recover(ctx context.Context) error {
	head, committed := d.cp.Head()
	pending, isPending := d.cp.Pending()
	d.pinned = d.pin(nil)
	var entry store.OffsetEntry
	switch {
	case isPending:
		entry = pending
		d.batch = 0
		if committed {
			d.batch = head + 1
		}
		d.constructed, d.replay = true, true
		d.watermark, d.timestamp = entry.BatchWatermarkMs, entry.BatchTimestampMs
	case committed:
		e, ok, err := d.cp.Offsets(head)
		if err != nil {
			return err
		}
		if !ok {
			return errs.New("CHECKPOINT_LOG_ENTRY_MISSING", "batchId", head)
		}
		c, _, err := d.cp.Commits(head)
		if err != nil {
			return err
		}
		entry = e
		d.batch = head + 1
		d.watermark = max(e.BatchWatermarkMs, c.NextBatchWatermarkMs)
		d.prevMark = e.BatchWatermarkMs
	default:
		d.batch = 0
	}
	if isPending || committed {
		d.skipped = entry.Skipped()
		d.batch += d.skipped
		if len(entry.Offsets) != len(d.scans) {
			return errs.New("SOURCE_SET_CHANGED", "stored", len(entry.Offsets), "current", len(d.scans))
		}
		d.pinned = d.pin(entry.Conf)
		for i, k := range d.scans {
			if isPending {
				d.sources[k].end = sources.Offset(entry.Offsets[i])
			} else {
				d.sources[k].committed = sources.Offset(entry.Offsets[i])
			}
		}
		if isPending && d.slot() > 0 {
			prev, ok, err := d.cp.Offsets(d.slot() - 1)
			if err != nil {
				return err
			}
			if !ok {
				return errs.New("CHECKPOINT_LOG_ENTRY_MISSING", "batchId", d.slot()-1)
			}
			for i, k := range d.scans {
				d.sources[k].committed = sources.Offset(prev.Offsets[i])
			}
			d.prevMark = prev.BatchWatermarkMs
		}
	}
	d.marks = newWatermarkTracker(len(d.plan.EventTimes()), d.watermark, strings.EqualFold(d.pinned[keyPolicy], "max"))
	return nil
}

// pin gives the settings that a checkpoint fixes: those stored, else the session's. Unknown stored keys are
// kept as they are.
func (d *driver) pin(stored map[string]string) map[string]string {
	m := map[string]string{}
	for k, v := range stored {
		m[k] = v
	}
	for _, s := range settings {
		if !s.Pinned {
			continue
		}
		have := d.conf.Get(s.Key)
		if v, ok := m[s.Key]; !ok {
			m[s.Key] = have
		} else if v != have && d.q != nil {
			d.notice(fmt.Sprintf("%s is %s in the checkpoint; the session's %s has no effect", s.Key, v, have))
		}
	}
	return m
}

func (d *driver) notice(text string) {
	d.s.streams.bus.post(Event{Time: d.s.now(), Kind: Notice, ID: d.q.id, RunID: d.q.runID, Name: d.q.name, Text: text})
}

// warn is a notice of the sink, which stays with the run.
func (d *driver) warn(text string) {
	d.q.publish(func(s *Snapshot) { s.Warning = text })
	d.notice(text)
}

// timed adds the time of f to a duration of the progress.
func (d *driver) timed(name string, f func() error) error {
	t := d.s.now()
	err := f()
	d.durations[name] += d.s.now().Sub(t).Milliseconds()
	return err
}

// once is one trigger (executeOneBatch); ran says whether a batch was run.
func (d *driver) once(ctx context.Context) (ran bool, err error) {
	d.lastTrigger, d.trigger = d.trigger, d.s.now()
	d.durations = map[string]int64{}
	if !d.constructed {
		if err := d.construct(ctx); err != nil {
			return false, err
		}
	}
	if !d.constructed {
		d.durations["triggerExecution"] = d.s.now().Sub(d.trigger).Milliseconds()
		d.reportIdle()
		d.q.finishTrigger(false)
		return false, nil
	}
	if err := d.runBatch(ctx); err != nil {
		return false, err
	}
	d.durations["triggerExecution"] = d.s.now().Sub(d.trigger).Milliseconds()
	d.reportBatch()
	for _, x := range d.sources {
		x.committed = x.end
	}
	d.prevMark, d.watermark = d.watermark, d.marks.global
	d.batch++
	d.constructed, d.replay, d.ran = false, false, true
	d.q.finishTrigger(true)
	return true, nil
}

// construct decides whether there is a next batch and logs what it is.
func (d *driver) construct(ctx context.Context) error {
	if d.next != nil {
		return d.adopt(ctx)
	}
	if err := fault.Point("plan.begin"); err != nil {
		return err
	}
	newData := false
	err := d.timed("latestOffset", func() error {
		for _, x := range d.sources {
			x.start = x.committed
			if x.start == "" {
				o, err := x.src.InitialOffset(ctx)
				if err != nil {
					return err
				}
				x.start = o
			}
			end, err := x.src.LatestOffset(ctx, x.start, x.admits())
			if err != nil {
				return err
			}
			x.latest = ""
			if r, ok := x.src.(sources.Reporter); ok {
				x.latest = r.ReportLatestOffset()
			}
			if end == "" {
				end = x.committed
			}
			x.end = end
			if end != "" && end != x.committed {
				newData = true
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	another := d.ran && d.p.w.trigger.kind != once && d.conf.flag(keyNoData) &&
		(d.plan.NeedsBatch(d.watermark) || d.p.w.trigger.kind != availableNow && d.plan.TimersDue(d.s.now().UnixMilli()))
	if !newData && !another {
		return nil
	}
	d.timestamp = max(d.timestamp, d.s.now().UnixMilli())
	return d.timed("walCommit", func() error {
		d.status("Writing offsets to log", nil)
		if d.async != nil {
			return d.logNowAndThen(ctx)
		}
		if err := d.cp.LogOffsets(d.slot(), d.entry()); err != nil {
			return err
		}
		return d.planned(ctx)
	})
}

// planned follows the logging of a batch: the sources may forget what the batch before read.
func (d *driver) planned(ctx context.Context) error {
	if d.batch > 0 {
		for _, x := range d.sources {
			if x.committed == "" {
				continue
			}
			if err := x.src.Commit(ctx, x.committed); err != nil {
				return err
			}
		}
	}
	d.constructed = true
	return nil
}

func (d *driver) entry() store.OffsetEntry {
	e := store.OffsetEntry{BatchWatermarkMs: d.watermark, BatchTimestampMs: d.timestamp, Conf: d.pinned}.WithSkipped(d.skipped)
	for _, k := range d.scans {
		e.Offsets = append(e.Offsets, string(d.sources[k].end))
	}
	return e
}

func (d *driver) runBatch(ctx context.Context) error {
	data := false
	early := d.early
	if d.early = nil; early != nil && (early.read == nil || early.read.Batch != d.batch) {
		early = nil
	}
	inputs := make([][]columnar.Partition, len(d.scans))
	if early != nil {
		inputs = early.read.Inputs
	}
	err := d.timed("getBatch", func() error {
		for k, x := range d.sources {
			if d.replay {
				x.start = x.committed
				if x.start == "" {
					o, err := x.src.InitialOffset(ctx)
					if err != nil {
						return err
					}
					x.start = o
				}
				x.latest = ""
			}
			x.rows, x.files = 0, 0
			if x.end == "" || x.end == x.committed {
				continue
			}
			data = true
			if early != nil {
				x.files = early.files[k]
				continue
			}
			parts, err := x.src.PlanPartitions(ctx, x.start, x.end)
			if err != nil {
				return err
			}
			x.files = pieces(parts)
			parts = x.share(parts)
			for i, s := range d.scans {
				if s == k {
					inputs[i] = parts
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	message := "Processing new data"
	if !data {
		message = "No new data but cleaning up state"
	}
	d.status(message, func(st *Status) { st.IsTriggerActive, st.IsDataAvailable = true, data })
	if err := fault.Point("exec.begin"); err != nil {
		return err
	}
	late := d.prevMark
	if d.batch == 0 {
		late = 0
	}
	var rec *recording
	if early == nil { // else the one after is recorded
		rec = d.q.recordings.wrap(d.batch, inputs)
	}
	b := d.cp.Begin(d.slot())
	defer b.Discard() // does nothing after the commit
	task := &exec.Task{Batch: d.batch, Inputs: inputs, NowMicros: d.timestamp * 1000, LateWatermarkMs: late,
		EvictWatermarkMs: d.watermark}
	if early != nil {
		task = early.read
	}
	task.State = b
	_, task.Lent = d.sink.(sinks.Borrower)
	err = d.timed("queryPlanning", func() error {
		if err := d.resume(); err != nil {
			return err
		}
		d.allow()
		return d.plan.Bind(task)
	})
	if err != nil {
		return err
	}
	if !d.q.snap.Load().Planned {
		d.q.publish(func(s *Snapshot) { s.Planned = true })
	}
	err = d.timed("addBatch", func() error {
		err := d.sink.AddBatch(ctx, sinks.Batch{ID: d.batch, QueryID: d.q.id, RunID: d.q.runID, QueryName: d.q.name, Mode: d.p.mode,
			Schema: d.p.node.Schema(), Replay: d.replay,
			Parts: d.samples.wrap(d.batch, d.p.node.Schema(), points(d.plan.Partitions(ctx, task)))})
		if errors.Is(err, sinks.ErrSkipped) {
			if len(d.plan.Stateful()) == 0 {
				return nil
			}
			err = nil // state must be as if the batch had been written
		}
		if err != nil {
			return err
		}
		return d.plan.Finish(ctx, task) // whatever the sink left unread
	})
	if err != nil {
		return err
	}
	if err := d.observe(); err != nil {
		return err
	}
	for i, k := range d.scans {
		d.sources[k].rows += task.Counters.ScanRows[i]
	}
	for _, x := range d.sources {
		if m, ok := x.src.(sources.Metrics); ok {
			x.metrics = m.Metrics(x.end)
		}
		x.metrics = x.sharedMetrics(x.metrics)
	}
	for i, e := range task.Counters.EventTimes {
		if e.Count > 0 {
			d.marks.observe(i, floorDiv(e.Max, 1000), d.plan.EventTimes()[i].DelayMicros/1000)
		}
	}
	mark := d.marks.advance()
	d.weigh(b)
	next, err := d.ahead(ctx, mark)
	if err != nil {
		return err
	}
	d.readAhead(ctx, d.watermark, mark)
	err = d.timed("commitOffsets", func() error {
		if err := d.plan.Save(b); err != nil {
			return err
		}
		if d.async != nil {
			return d.commitNowAndThen(b, mark)
		}
		return b.Commit(store.CommitEntry{NextBatchWatermarkMs: mark, Sent: d.samples.sent(d.batch), Rows: d.plan.StateRows()}, next)
	})
	if err == nil {
		d.q.recordings.keep(rec)
	} else {
		d.plan.Forgo()
	}
	return err
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// shut closes what the run opened.
func (d *driver) shut() error {
	d.s.memory.leave(d)
	var first error
	keep := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	d.unsay()
	if d.plan != nil {
		d.plan.Forgo() // the sources are still open
	}
	for _, x := range d.sources {
		keep(x.src.Close())
	}
	if d.sink != nil {
		keep(d.sink.Close())
	}
	if d.plan != nil {
		d.plan.Leave()
	}
	keep(d.cp.Close())
	return first
}

// dropTemporary deletes a temporary checkpoint, but not that of a failed query unless the settings say so.
func (d *driver) dropTemporary(failed bool) {
	if d.temporary && (!failed || d.s.conf.flag(keyForceDelete)) {
		if err := os.RemoveAll(d.p.checkpoint); err != nil {
			d.notice("temporary checkpoint left behind: " + err.Error())
		}
	}
}
