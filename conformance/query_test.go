package conformance

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"streamlab/engine"
)

// run starts the step's query and waits for its end. Whatever goes wrong in the query is got.err; err is the
// player's own trouble.
func (p *player) run(ctx context.Context, crash doc, got *outcome) error {
	q, schema, err := p.start(ctx, crash)
	got.schema, got.err = schema, err
	if q == nil {
		return nil
	}
	p.query, got.started = q, true
	if has(get(p.scenario, "trigger"), "processingTime") || has(p.scenario, "runFor") {
		if has(p.scenario, "runFor") && has(get(p.scenario, "sources"), "r") { // a source that never ends
			for len(q.RecentProgress()) < max(1, p.reports) && ctx.Err() == nil && q.IsActive() {
				runtime.Gosched()
			}
			err = q.Stop()
		} else if err = q.ProcessAllAvailable(ctx); err == nil {
			for len(q.RecentProgress()) < p.reports && ctx.Err() == nil && q.IsActive() {
				runtime.Gosched()
			}
			err = q.Stop()
		}
	}
	if e := q.AwaitTermination(ctx); e != nil {
		err = e
	}
	got.err = err
	if ctx.Err() != nil {
		_ = q.Stop()
		return harness("the query did not end in time")
	}
	p.progress = q.RecentProgress()
	got.batches = p.batches
	if s, plain := get(p.scenario, "sink").(string); len(got.batches) == 0 && has(p.scenario, "sink") && !(plain && s == "foreachBatch") {
		var ids []int64
		for i := range p.progress {
			ids = append(ids, p.progress[i].BatchID)
		}
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			got.batches = append(got.batches, recordedBatch{id: id})
		}
	}
	return nil
}

// start defines the sources and starts the query; the query is nil if it was refused.
func (p *player) start(ctx context.Context, crash doc) (*engine.StreamingQuery, string, error) {
	if err := p.define(ctx); err != nil {
		return nil, "", err
	}
	df, err := p.session.SQL(ctx, p.here(str(get(p.scenario, "query"))))
	if err != nil {
		return nil, "", err
	}
	for _, o := range asMap(get(p.scenario, "observe")) {
		df = df.Observe(str(o.Key), texts(o.Value)...)
	}
	if df.Err() != nil {
		return nil, "", df.Err()
	}
	schema := df.Schema().Simple()
	w := df.WriteStream()
	mode, given := lookup(p.scenario, "outputMode")
	if m := str(mode); given && m != "default" {
		w = w.OutputMode(m)
	} else if !given {
		w = w.OutputMode("append")
	}
	if chk := p.checkpoint(); chk != "" {
		w = w.Option("checkpointLocation", chk)
	}
	trigger := engine.AvailableNow()
	for _, e := range asMap(get(p.scenario, "trigger")) {
		if trigger, err = engine.ParseTrigger(fmt.Sprint(e.Key), triggerText(e.Value)); err != nil {
			return nil, schema, err
		}
	}
	w = w.Trigger(trigger)
	sink := asMap(get(p.scenario, "sink"))
	if sink == nil {
		format := str(get(p.scenario, "sink"))
		if format == "" {
			format = "foreachBatch"
		}
		sink = doc{{Key: "format", Value: format}}
	}
	if by := texts(get(sink, "partitionBy")); len(by) > 0 {
		w = w.PartitionBy(by...)
	}
	format := str(get(sink, "format"))
	p.writer = w
	if format == "foreachBatch" {
		q, err := w.ForeachBatch(p.collector(sink, crash)).Start(ctx)
		return q, schema, err
	}
	w = w.Format(format)
	if name, ok := lookup(sink, "name"); !ok || name != nil && name != "" {
		n := str(name)
		if n == "" {
			n = strings.ReplaceAll(p.name, "-", "_")
		}
		w = w.QueryName(n)
	}
	w = w.Options(p.options(sink))
	var q *engine.StreamingQuery
	if has(sink, "table") {
		q, err = w.ToTable(ctx, str(get(sink, "table")))
	} else {
		q, err = w.Start(ctx)
	}
	return q, schema, err
}

// triggerText is a trigger's value as a lab file would say it.
func triggerText(v any) string {
	if b, ok := v.(bool); ok {
		return fmt.Sprint(b)
	}
	return str(v)
}

// collector is the function of foreachBatch: it records the rows, runs the statements, and fails where the
// scenario wants it to.
func (p *player) collector(sink, crash doc) func(context.Context, *engine.DataFrame, int64) error {
	statements := asList(get(sink, "statements"))
	recording := get(sink, "rows") != false
	return func(ctx context.Context, batch *engine.DataFrame, id int64) error {
		where, isThere := lookup(crash, "where")
		if !isThere {
			where = "before"
		}
		crashes := func(at any) error {
			if crash != nil && whole(get(crash, "batchId"), -1) == id && fmt.Sprint(where) == fmt.Sprint(at) {
				return errCrash
			}
			return nil
		}
		if err := crashes("before"); err != nil {
			return err
		}
		entry := recordedBatch{id: id}
		if recording {
			rows, schema, err := batch.Collect(ctx)
			if err != nil {
				return err
			}
			entry.rows = result{schema, rows}
		}
		for i, st := range statements {
			if err := crashes(i); err != nil {
				return err
			}
			if err := p.act(ctx, batch.Session(), st, id); err != nil {
				return err
			}
		}
		p.batches = append(p.batches, entry)
		return crashes("after")
	}
}

// act runs one statement of foreachBatch or of a step: SQL text, or a map with conf, sql or write. id is -1
// outside a micro-batch.
func (p *player) act(ctx context.Context, s *engine.Session, statement any, id int64) error {
	m := asMap(statement)
	if m == nil {
		m = doc{{Key: "sql", Value: statement}}
	}
	if at, ok := lookup(m, "at"); ok && whole(at, -1) != id {
		return nil
	}
	conf := map[string]string{}
	for _, e := range asMap(get(m, "conf")) {
		conf[str(e.Key)] = p.here(str(e.Value))
	}
	st := engine.Statement{Conf: conf}
	if has(m, "sql") {
		st.SQL = p.here(str(get(m, "sql")))
		if err := st.Run(ctx, s, id); err != nil {
			return err
		}
		st = engine.Statement{}
	}
	if w := asMap(get(m, "write")); w != nil {
		st.SQL = p.here(str(get(w, "query")))
		st.Write = &engine.StatementWrite{Format: str(get(w, "format")), Mode: str(get(w, "mode")), Path: p.here(str(get(w, "path"))),
			Table: str(get(w, "table")), Options: p.options(w), PartitionBy: texts(get(w, "partitionBy"))}
	}
	return st.Run(ctx, s, id)
}
