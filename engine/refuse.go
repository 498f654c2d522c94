package engine

import (
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
)

const (
	keyRealTimeLeast = "spark.sql.streaming.realTimeMode.minBatchDuration"
	keyRealTimeAllow = "spark.sql.streaming.realTimeMode.allowlistCheck"

	optionAsync         = "asyncProgressTrackingEnabled"
	optionAsyncInterval = "asyncProgressTrackingCheckpointIntervalMs"
)

// rows says whether the sink takes rows one by one (Spark's v2 write API).
func (p *prepared) rows() bool {
	if p.w.sink != nil {
		_, whole := p.w.sink.(batchSink)
		return !whole
	}
	return p.format.Rows
}

// refuseTrigger is what Spark finds out about a trigger before it looks at anything else.
func (p *prepared) refuseTrigger() error {
	t := p.w.trigger
	switch t.kind {
	case continuous:
		if _, whole := p.w.sink.(batchSink); whole {
			return errs.New("_LEGACY_ERROR_TEMP_1195", "source", "foreachBatch")
		}
	case realTime:
		if least := p.conf.duration(keyRealTimeLeast); t.every < least {
			return errs.New("INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL", "interval", t.every.Milliseconds(),
				"minBatchDuration", least.Milliseconds())
		}
	}
	return nil
}

// refuseRealTime comes after the sink's own word on the output mode and before the plan's checks.
func (p *prepared) refuseRealTime() error {
	if p.w.trigger.kind != realTime {
		return nil
	}
	if p.conf.flag(keyRealTimeAllow) && !(p.rows() && p.format.Name != "memory" && p.format.Name != "noop") {
		return errs.New("STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST", "errorType", "sink", "message", p.format.Name+" is")
	}
	if p.mode != sinks.Update {
		return errs.New("STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED", "outputMode", p.mode.String())
	}
	if !p.rows() {
		return errs.New("STREAMING_REAL_TIME_MODE.SINK_NOT_SUPPORTED", "className", p.format.Name)
	}
	async, err := p.w.options.Bool(optionAsync, false)
	if err == nil && async {
		err = errs.New("STREAMING_REAL_TIME_MODE.ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED")
	}
	return err
}

// refuseContinuous comes after the plan's checks for streams.
func (p *prepared) refuseContinuous() error {
	if p.w.trigger.kind != continuous || !p.rows() { // a sink of whole batches fails when the query runs
		return nil
	}
	err := plan.CheckContinuous(p.w.d.node, func(format string) bool {
		f, err := p.s.formats.source(format)
		return err == nil && f.Path
	})
	if err != nil {
		if !p.conf.flag(keyOperatorCheck) {
			return errs.New("UNSUPPORTED_FEATURE", "feature", "The continuous trigger over more than projections and filters")
		}
		return err
	}
	for _, s := range streamsIn(p.w.d.node) {
		if f, err := p.s.formats.source(s.Format); err == nil && !f.Continuous {
			return errs.New("_LEGACY_ERROR_TEMP_2253", "sourceName", s.Format)
		}
	}
	return nil
}

// refuseAsync makes the checks of asynchronous progress tracking that need no plan, in Spark's order.
func (p *prepared) refuseAsync() error {
	if _, err := p.w.options.Bool(optionAsync, false); err != nil {
		return err
	}
	if _, err := p.w.options.Int(optionAsyncInterval, 1000, -1<<62); err != nil {
		return err
	}
	if !p.async() {
		return nil
	}
	switch p.format.Name {
	case "console", "memory", "noop", "kafka", "ForeachWriterTable":
	default:
		return errs.New("ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED", "reason", "the sink "+p.format.Name)
	}
	if k := p.w.trigger.kind; k == once || k == availableNow {
		return errs.New("ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED", "reason", "the trigger "+p.w.trigger.String())
	}
	return nil
}

// async tells whether batches are recorded only now and then.
func (p *prepared) async() bool {
	on, err := p.w.options.Bool(optionAsync, false)
	k := p.w.trigger.kind
	return err == nil && on && k != continuous && k != realTime
}

func streamsIn(n plan.Node) []*catalog.Stream {
	var out []*catalog.Stream
	if s, ok := n.(*plan.Scan); ok && s.Stream != nil {
		out = append(out, s.Stream)
	}
	for _, c := range n.Children() {
		out = append(out, streamsIn(c)...)
	}
	return out
}

// inRealTime lists what Spark's allow-list has of our nodes: stateless ones, a static side of a join too.
func inRealTime(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Project, *plan.Filter, *plan.Scan, *plan.Generate, *plan.Union, *plan.TimeWindow, *plan.Watermark:
	case *plan.Join:
		if x.Left.Streaming() && x.Right.Streaming() {
			return false
		}
	default:
		return !n.Streaming()
	}
	for _, c := range n.Children() {
		if !inRealTime(c) {
			return false
		}
	}
	return true
}

// checkEpochs is what the query's own goroutine finds out about a trigger without micro-batches.
func (d *driver) checkEpochs() error {
	if d.p.w.trigger.kind == continuous {
		if !d.p.rows() {
			return errs.New("UNKNOWN_TRIGGER_TYPE", "trigger", d.p.w.trigger.String(), "sink", d.p.format.Name)
		}
		return nil
	}
	seen := map[int64]bool{}
	for _, s := range streamsIn(d.p.node) {
		f, err := d.s.formats.source(s.Format)
		if err != nil || !f.RealTime {
			return errs.New("STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED", "className", s.Format)
		}
		if seen[s.ID] {
			return errs.New("STREAMING_REAL_TIME_MODE.IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED", "sources", s.Name)
		}
		seen[s.ID] = true
	}
	if d.conf.flag(keyRealTimeAllow) && !inRealTime(d.p.node) {
		return errs.New("STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST", "errorType", "operator", "message", "The plan's operators are")
	}
	if len(d.plan.Stateful()) > 0 {
		return errs.New("UNSUPPORTED_FEATURE", "feature", "State under the trigger `realTime`")
	}
	return nil
}
