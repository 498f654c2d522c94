package engine

import (
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sql/plan"
)

// A ModeVerdict says whether a query may run in an output mode. The two reasons are apart because they have
// different cures: one lies in the SQL, the other in the sink.
type ModeVerdict struct {
	Mode  string // append, update or complete
	Shape error  // why the query's shape refuses the mode (operators.md 2); nil: it does not
	Sink  error  // why the sink refuses it (operators.md 12); nil: it does not
}

// Allowed tells whether the query may run in the mode.
func (v ModeVerdict) Allowed() bool { return v.Shape == nil && v.Sink == nil }

// Modes gives the verdict of all three modes, in the order append, update, complete. It starts nothing. Of a
// writer whose DataFrame or sink has an error of its own, every mode has this error as Shape.
func (w *DataStreamWriter) Modes() []ModeVerdict {
	all := []ModeVerdict{{Mode: "append"}, {Mode: "update"}, {Mode: "complete"}}
	err := w.err
	if err == nil {
		err = w.d.err
	}
	format := SinkFormat{Name: w.sinkName, Modes: []sinks.OutputMode{sinks.Append, sinks.Update, sinks.Complete}}
	if err == nil && w.sink == nil {
		format, err = w.d.s.formats.sink(w.format)
	}
	if err == nil && !w.d.node.Streaming() {
		err = errs.New("WRITE_STREAM_NOT_ALLOWED")
	}
	for i := range all {
		v := &all[i]
		if err != nil {
			v.Shape = err
			continue
		}
		c := *w
		c.mode = v.Mode
		p := &prepared{w: &c, s: w.d.s, conf: w.d.s.conf.clone(), mode: sinks.OutputMode(v.Mode), format: format}
		v.Sink = p.refuseMode()
		if p.conf.flag(keyOperatorCheck) {
			v.Shape = plan.CheckStreaming(w.d.node, v.Mode, planConf(p.conf))
		}
		if v.Shape == nil {
			p.node = plan.Optimize(w.d.node)
			v.Shape = p.foretell()
		}
	}
	return all
}

// refuseMode is the sink's own word on the output mode.
func (p *prepared) refuseMode() error {
	if p.format.accepts(p.mode) {
		return nil
	}
	if p.format.Refuse != nil {
		return p.format.Refuse(p.mode)
	}
	return errs.New("STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE", "outputMode", string(p.mode), "className", p.format.Name)
}

// foretell is what the query would fail with before its first batch, although Start accepts it: Spark finds
// these things out when it plans the batch.
func (p *prepared) foretell() error {
	ep, err := exec.Build(p.node, exec.Conf{Expr: exprConf(p.conf), Mode: string(p.mode),
		ShufflePartitions: p.conf.number(keyPartitions), Get: p.conf.Get, Now: p.s.now})
	if err != nil {
		return err
	}
	if err := ep.First(); err != nil {
		return err
	}
	if p.async() {
		if err := refuseState(ep); err != nil {
			return err
		}
	}
	if k := p.w.trigger.kind; k == continuous || k == realTime {
		d := &driver{s: p.s, conf: p.conf, p: p, plan: ep}
		return d.checkEpochs()
	}
	return nil
}
