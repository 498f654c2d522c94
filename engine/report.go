package engine

import (
	"fmt"
	"math"
	"time"

	"streamlab/engine/exec"
	"streamlab/sinks"
	"streamlab/sources"
)

// describe is how a source is named in progress: its own text if it has one.
func describe(s sources.Source) string {
	if d, ok := s.(fmt.Stringer); ok {
		return d.String()
	}
	return fmt.Sprintf("%T", s)
}

// progress begins a report of the current trigger.
func (d *driver) progress(idle bool) Progress {
	p := Progress{ID: d.q.id, RunID: d.q.runID, Name: d.q.name, Timestamp: d.trigger, BatchID: d.batch,
		BatchDuration: d.s.now().Sub(d.trigger).Milliseconds(), DurationMs: d.durations, Memory: d.memory,
		Replayed: d.replay && !idle}
	seconds := math.Inf(1) // the first trigger of a run has no trigger before it
	if !d.lastTrigger.IsZero() {
		seconds = float64(d.trigger.Sub(d.lastTrigger).Milliseconds()) / 1000
	}
	busy := float64(max(1, p.BatchDuration)) / 1000
	for _, x := range d.sources {
		rows := x.rows
		if idle {
			rows = 0
		}
		sp := SourceProgress{Description: describe(x.src), StartOffset: string(x.committed), EndOffset: string(x.end),
			LatestOffset: string(x.latest), NumInputRows: rows, InputRate: float64(rows) / seconds, ProcessedRate: float64(rows) / busy}
		sp.Metrics = x.metrics
		if m, ok := x.src.(sources.Metrics); ok && idle {
			sp.Metrics = m.Metrics(x.end)
		}
		p.NumInputRows += rows
		p.InputRate += sp.InputRate
		p.ProcessedRate += sp.ProcessedRate
		p.Sources = append(p.Sources, sp)
	}
	p.Sink = SinkProgress{Description: d.p.format.Name, NumOutputRows: -1}
	if s, ok := d.sink.(sinks.Described); ok {
		p.Sink.Description = s.Description()
		p.Sink.NumOutputRows = s.NumOutputRows()
		if idle && p.Sink.NumOutputRows >= 0 {
			p.Sink.NumOutputRows = 0
		}
	}
	return p
}

func (d *driver) reportBatch() {
	p := d.progress(false)
	if n := d.samples.sent(d.batch); n != nil {
		p.Sent = *n
	}
	p.trigger = d.s.now().Sub(d.trigger)
	p.EventTime = d.eventTime(d.plan.Counters())
	p.Observed = d.observed
	for _, o := range d.plan.Counters().Operators {
		p.StateOperators = append(p.StateOperators, d.operator(o))
	}
	d.append(p)
	d.idleAt, d.idleBefore = d.s.now(), true
	if raw, err := p.MarshalJSON(); err == nil {
		d.cp.SetProgress(d.slot(), raw)
	}
	d.q.publish(func(s *Snapshot) {
		s.Batch = d.batch
		s.Watermark = d.marks.global
		s.TotalRows += p.NumInputRows
		s.Recent = d.recent
		s.Status = Status{Message: "Waiting for next trigger", IsDataAvailable: s.Status.IsDataAvailable}
	})
	text := fmt.Sprintf("batch %d: %s in %d ms", p.BatchID, plural(p.NumInputRows, "row"), p.BatchDuration)
	d.say(text)
	d.s.streams.bus.post(Event{Time: d.s.now(), Kind: QueryProgress, ID: d.q.id, RunID: d.q.runID, Name: d.q.name, Progress: &p,
		Text: text})
}

func (d *driver) operator(o exec.OperatorCounters) StateOperatorProgress {
	n := int64(d.conf.number(keyPartitions))
	if v, ok := d.pinned[keyPartitions]; ok {
		fmt.Sscan(v, &n)
	}
	if o.SinglePartition {
		n = 1
	}
	stores := n
	if o.Stores > 1 {
		stores *= int64(o.Stores)
	}
	return StateOperatorProgress{OperatorName: o.Name, NumRowsTotal: o.NumRowsTotal, NumRowsUpdated: o.NumRowsUpdated,
		NumRowsRemoved: o.NumRowsRemoved, NumRowsDroppedByWatermark: o.NumRowsDroppedByWatermark,
		AllUpdatesTimeMs: o.AllUpdatesTimeMs, AllRemovalsTimeMs: o.AllRemovalsTimeMs, CommitTimeMs: o.CommitTimeMs,
		MemoryUsedBytes: o.MemoryUsedBytes, NumShufflePartitions: n, NumStateStoreInstances: stores, CustomMetrics: o.CustomMetrics}
}

// eventTime is the progress field of that name; nil when the query has no watermark.
func (d *driver) eventTime(c *exec.Counters) map[string]string {
	if len(d.plan.EventTimes()) == 0 {
		return nil
	}
	ms := func(v int64) string { return time.UnixMilli(v).UTC().Format(TimestampLayout) }
	m := map[string]string{"watermark": ms(d.watermark)}
	if c == nil {
		return m
	}
	for _, e := range c.EventTimes {
		if e.Count > 0 { // several watermarks: Spark shows the first in plan order that saw rows
			m["max"], m["min"], m["avg"] = ms(floorDiv(e.Max, 1000)), ms(floorDiv(e.Min, 1000)), ms(int64(e.AvgMs))
			break
		}
	}
	return m
}

// reportIdle tells, now and then, that there was nothing to do.
func (d *driver) reportIdle() {
	d.say("")
	now := d.s.now()
	if d.idleBefore && now.Sub(d.idleAt) < d.conf.duration(keyIdleInterval) {
		if st := d.q.Snapshot().Status; st.Message != "Waiting for data to arrive" || st.IsTriggerActive || st.IsDataAvailable {
			d.q.publish(func(s *Snapshot) { s.Status = Status{Message: "Waiting for data to arrive"} })
		}
		return
	}
	p := d.progress(true)
	p.EventTime = d.eventTime(nil)
	if n := len(d.recent); n > 0 {
		p.StateOperators = append(p.StateOperators, d.recent[n-1].StateOperators...)
		for i := range p.StateOperators {
			o := &p.StateOperators[i]
			o.NumRowsUpdated, o.NumRowsRemoved, o.NumRowsDroppedByWatermark = 0, 0, 0
			o.AllUpdatesTimeMs, o.AllRemovalsTimeMs, o.CommitTimeMs = 0, 0, 0
		}
	}
	d.append(p)
	first := !d.idleBefore
	d.idleAt, d.idleBefore = now, true
	d.q.publish(func(s *Snapshot) {
		s.Status = Status{Message: "Waiting for data to arrive"}
		s.Recent = d.recent
	})
	if !first {
		d.s.streams.bus.post(Event{Time: now, Kind: QueryIdle, ID: d.q.id, RunID: d.q.runID, Name: d.q.name, Text: "idle"})
	}
}

// append keeps the newest reports in a slice that snapshots may share: it is never written to again.
func (d *driver) append(p Progress) {
	keep := d.conf.number(keyRecent)
	from := max(0, len(d.recent)+1-keep)
	if cap(d.recent) == len(d.recent) { // appending in place is safe: readers see only their length
		// Room for all that may be kept is not taken before it is needed: keep may be very large, and the collector
		// would look at all of it.
		next := make([]Progress, 0, min(2*keep, 2*len(d.recent)+15)+1)
		d.recent = append(next, d.recent[from:]...)
		from = max(0, len(d.recent)+1-keep)
	}
	d.recent = append(d.recent[from:], p)
}
