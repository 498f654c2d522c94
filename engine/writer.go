package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/sinks"
	"streamlab/sinks/memory"
	"streamlab/sources"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// DataStreamWriter describes a streaming query, as Spark's does. A builder is used by one goroutine.
type DataStreamWriter struct {
	d           *DataFrame
	format      string
	mode        string
	name        string
	trigger     Trigger
	maxBatches  int
	options     sources.Options
	partitionBy []string
	sink        sinks.Sink // set by Sink and ForeachBatch
	sinkName    string
	statements  []Statement // of ForeachBatchSQL
	err         error
}

// Format names the kind of sink.
func (w *DataStreamWriter) Format(name string) *DataStreamWriter { w.format = name; return w }

// OutputMode is append (default), update or complete, in any case. Errors at Start:
// STREAMING_OUTPUT_MODE.INVALID.
func (w *DataStreamWriter) OutputMode(mode string) *DataStreamWriter { w.mode = mode; return w }

// QueryName names the query; unique among the active ones of a session.
func (w *DataStreamWriter) QueryName(name string) *DataStreamWriter { w.name = name; return w }

// Trigger says when micro-batches run.
func (w *DataStreamWriter) Trigger(t Trigger) *DataStreamWriter { w.trigger = t; return w }

// MaxBatches ends the query after n micro-batches; 0 is no limit. (Ours.)
func (w *DataStreamWriter) MaxBatches(n int) *DataStreamWriter { w.maxBatches = n; return w }

// PartitionBy divides the output of file sinks by columns.
func (w *DataStreamWriter) PartitionBy(columns ...string) *DataStreamWriter {
	w.partitionBy = columns
	return w
}

// Option sets an option; value is printed with %v.
func (w *DataStreamWriter) Option(name string, value any) *DataStreamWriter {
	w.options[name] = fmt.Sprint(value)
	return w
}

// Options sets several options.
func (w *DataStreamWriter) Options(m map[string]string) *DataStreamWriter {
	for k, v := range m {
		w.options[k] = v
	}
	return w
}

// Sink writes to a sink of the caller's own; it is closed with the query. description is shown in progress.
func (w *DataStreamWriter) Sink(s sinks.Sink, description string) *DataStreamWriter {
	w.sink, w.sinkName = s, description
	return w
}

// BatchWriter writes the rows of one micro-batch; see ForeachBatch.
type BatchWriter func(ctx context.Context, b sinks.Batch) error

type batchSink struct{ f BatchWriter }

func (s batchSink) Close() error { return nil }

func (s batchSink) AddBatch(ctx context.Context, b sinks.Batch) error {
	err := safego.Call("foreachBatch", func() error { return s.f(ctx, b) })
	if err != nil && ctx.Err() == nil && !exec.BeforeRows(err) {
		return errs.Wrap(err, "FOREACH_BATCH_USER_FUNCTION_ERROR", "reason", err.Error())
	}
	return err
}

// EachBatch calls f with every micro-batch, also empty ones; f may read its partitions several times. It is
// called again with the same batch id after a crash: at least once, unless f makes use of the id.
func (w *DataStreamWriter) EachBatch(f BatchWriter) *DataStreamWriter {
	return w.Sink(batchSink{f}, "ForeachBatchSink")
}

// Start starts the query. Errors of the plan, of the mode, of the checkpoint's location and of names come
// from here; what goes wrong later is the query's Exception.
func (w *DataStreamWriter) Start(ctx context.Context, path ...string) (*StreamingQuery, error) {
	p, err := w.prepare(path...)
	if err != nil {
		return nil, err
	}
	return p.start()
}

// Check finds what Start would refuse, and what the query would fail with before its first batch, without
// starting anything or touching a disk.
func (w *DataStreamWriter) Check(path ...string) error {
	if w.sink == nil {
		if f, err := w.d.s.formats.sink(w.format); err == nil {
			if err := checkOptions(f.Options, w.options, w.format); err != nil {
				return err
			}
		}
	}
	p, err := w.prepare(path...)
	if err != nil {
		return err
	}
	return p.foretell()
}

// prepared is a query that passed every check that needs no checkpoint.
type prepared struct {
	w          *DataStreamWriter
	s          *Session
	conf       *Conf
	node       plan.Node
	mode       sinks.OutputMode
	format     SinkFormat
	path       string
	checkpoint string // "" is a temporary one
}

func (w *DataStreamWriter) prepare(path ...string) (*prepared, error) {
	p, err := w.prepareUnnamed(path...)
	if err != nil {
		return nil, err
	}
	return p, p.s.streams.checkName(w.name)
}

// prepareUnnamed is prepare of a query that may be running already.
func (w *DataStreamWriter) prepareUnnamed(path ...string) (*prepared, error) {
	if w.err != nil {
		return nil, w.err
	}
	if w.d.err != nil {
		return nil, w.d.err
	}
	s := w.d.s
	p := &prepared{w: w, s: s, conf: s.conf.clone(), mode: sinks.OutputMode(strings.ToLower(w.mode))}
	switch p.mode {
	case "":
		p.mode = sinks.Append
	case sinks.Append, sinks.Update, sinks.Complete:
	default:
		return nil, errs.New("STREAMING_OUTPUT_MODE.INVALID", "outputMode", w.mode)
	}
	if !w.d.node.Streaming() {
		return nil, errs.New("WRITE_STREAM_NOT_ALLOWED")
	}
	if w.sink == nil {
		f, err := s.formats.sink(w.format)
		if err != nil {
			return nil, err
		}
		p.format = f
	} else {
		p.format = SinkFormat{Name: w.sinkName, Temporary: true, Modes: []sinks.OutputMode{sinks.Append, sinks.Update, sinks.Complete}}
		if len(w.partitionBy) > 0 {
			return nil, errs.New("_LEGACY_ERROR_TEMP_1197", "operation", "foreachBatch")
		}
	}
	if p.format.Name == "memory" && len(w.partitionBy) > 0 {
		return nil, errs.New("_LEGACY_ERROR_TEMP_1197", "operation", "memory")
	}
	if err := s.checkStatements(w.statements, w.d.node.Schema()); err != nil {
		return nil, err
	}
	if p.format.Name == "memory" { // a name that is none, or none for a view
		if _, err := memory.New(sinks.Def{QueryName: w.name}); err != nil {
			return nil, err
		}
	}
	if p.format.Name == "delta" {
		if _, err := readDeltaOptions(w.options, s.conf); err != nil {
			return nil, err
		}
	}
	if err := p.refuseTrigger(); err != nil {
		return nil, err
	}
	target, _ := w.options.Get("path")
	if len(path) > 0 && path[0] != "" {
		target = path[0]
	}
	if p.format.Path && target == "" {
		return nil, errs.New("_LEGACY_ERROR_TEMP_2047")
	}
	p.path = s.path(target)
	if err := p.locate(); err != nil {
		return nil, err
	}
	if err := p.refuseMode(); err != nil {
		return nil, err
	}
	if err := p.refuseRealTime(); err != nil {
		return nil, err
	}
	if p.conf.flag(keyOperatorCheck) {
		if err := plan.CheckStreaming(w.d.node, string(p.mode), planConf(p.conf)); err != nil {
			return nil, err
		}
	}
	if err := p.refuseContinuous(); err != nil {
		return nil, err
	}
	if err := p.refuseAsync(); err != nil {
		return nil, err
	}
	for _, c := range w.partitionBy {
		if w.d.node.Schema().Index(c) < 0 {
			return nil, errs.New("_LEGACY_ERROR_TEMP_1196", "columnName", c, "columnType", "Partition",
				"validColumnNames", strings.Join(w.d.node.Schema().Names(), ", "))
		}
	}
	p.node = plan.Optimize(w.d.node)
	return p, nil
}

// locate decides where the checkpoint is (engine.md 2.1).
func (p *prepared) locate() error {
	if l, ok := p.w.options.Get("checkpointLocation"); ok && l != "" {
		p.checkpoint = p.s.path(l)
		return nil
	}
	if l := p.conf.Get(keyCheckpoint); l != "" {
		name := p.w.name
		if name == "" {
			name = uuid.NewString()
		}
		p.checkpoint = filepath.Join(p.s.path(l), name)
		return nil
	}
	if p.format.Temporary {
		return nil
	}
	return errs.New("_LEGACY_ERROR_TEMP_1298", "config", keyCheckpoint)
}

func (p *prepared) start() (*StreamingQuery, error) {
	w, s := p.w, p.s
	temporary := p.checkpoint == ""
	if temporary {
		dir, err := os.MkdirTemp("", "temporary-")
		if err != nil {
			return nil, err
		}
		p.checkpoint = dir
	}
	if err := p.stopOldRun(); err != nil {
		return nil, err
	}
	durability := p.conf.Get(keyDurability)
	if temporary {
		durability = "process" // it is thrown away at the end: nothing to keep over a power cut
	}
	cp, err := store.Open(p.checkpoint, store.Options{Durability: durability, MinBatchesToRetain: int64(p.conf.number(keyRetain))})
	if err != nil {
		if temporary {
			os.RemoveAll(p.checkpoint)
		}
		return nil, err
	}
	fail := func(err error) (*StreamingQuery, error) {
		cp.Close()
		if temporary {
			os.RemoveAll(p.checkpoint)
		}
		return nil, err
	}
	if p.format.Name == "memory" && p.mode != sinks.Complete && !temporary {
		resumes := p.conf.flag(keyMemoryResume) && !p.async() && memory.Door(s.workspace).Owns(context.Background(), w.name, cp.ID())
		if _, ok := cp.Head(); ok && !resumes {
			return fail(errs.New("_LEGACY_ERROR_TEMP_1299", "checkpointPath", filepath.Join(p.checkpoint, "offsets")))
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	q := &StreamingQuery{s: s, id: cp.ID(), runID: uuid.NewString(), name: w.name, cancel: cancel, started: s.now(),
		wake: make(chan struct{}, 1), idle: make(chan struct{}), done: make(chan struct{})}
	ep, err := exec.Build(p.node, exec.Conf{Expr: exprConf(p.conf), Mode: string(p.mode),
		ShufflePartitions: p.conf.number(keyPartitions), QueryID: q.id, Get: p.conf.Get, Now: s.now})
	if err != nil {
		cancel()
		return fail(err)
	}
	head, ok := cp.Head()
	if !ok {
		head = -1
	}
	q.driver = &driver{q: q, s: s, conf: p.conf, p: p, plan: ep, cp: cp, temporary: temporary}
	q.snap.Store(&Snapshot{Version: 1, ID: q.id, RunID: q.runID, Name: q.name, Mode: string(p.mode), Trigger: w.trigger.String(), TriggerEvery: w.trigger.every,
		Sink: p.format.Name, Checkpoint: p.checkpoint, Temporary: temporary, State: Initializing, StartedAt: q.started,
		Status: Status{Message: "Initializing StreamExecution"}, Batch: head, HasState: len(ep.Stateful()) > 0,
		Explain: plan.Explain(p.node), OutputNames: p.node.Schema().Names()})
	if err := s.streams.register(q); err != nil {
		cancel()
		return fail(err)
	}
	s.owners.put(p.checkpoint, w)
	activeRuns.Lock()
	activeRuns.byID[q.id] = q
	activeRuns.Unlock()
	s.streams.bus.post(Event{Time: q.started, Kind: QueryStarted, ID: q.id, RunID: q.runID, Name: q.name, Text: "started"})
	if p.format.Name == "memory" {
		if err := s.showMemory(w.name, p.node.Schema()); err != nil {
			q.driver.notice("the rows of " + w.name + " cannot be asked by name: " + err.Error())
		}
	}
	q.handle = safego.Go("query "+q.name, func() error { return q.run(ctx) })
	return q, nil
}

// stopOldRun ends the run that holds the checkpoint, if it is one of this process and the settings say so.
func (p *prepared) stopOldRun() error {
	activeRuns.Lock()
	var old *StreamingQuery
	for _, q := range activeRuns.byID {
		if q.driver.p.checkpoint == p.checkpoint {
			old = q
		}
	}
	activeRuns.Unlock()
	if old == nil {
		return nil
	}
	if old.s == p.s && !p.conf.flag(keyStopActive) || old.name != p.w.name {
		return errs.New("CHECKPOINT_IN_USE", "checkpointLocation", p.checkpoint, "id", old.id, "runId", old.runID,
			"pid", os.Getpid(), "host", "this process", "since", old.started.UTC().Format(TimestampLayout))
	}
	return old.Stop()
}

// StateTable gives the rows of a stateful operator as a view of the query's checkpoint has them: a struct
// "key" and a struct "value" each. operator counts from the sink; storeName is "default", or "left" and
// "right" of a join.
func (w *DataStreamWriter) StateTable(v *store.View, operator int, storeName string) ([]arrow.RecordBatch, types.Schema, error) {
	p, err := w.prepareNode()
	if err != nil {
		return nil, nil, err
	}
	ep, err := exec.Build(p.node, exec.Conf{Expr: exprConf(p.conf), Mode: string(p.mode), ShufflePartitions: p.conf.number(keyPartitions)})
	if err != nil {
		return nil, nil, err
	}
	return ep.StateTable(v, operator, storeName)
}

// prepareNode is the part of prepare that a plan alone needs.
func (w *DataStreamWriter) prepareNode() (*prepared, error) {
	if w.err != nil || w.d.err != nil {
		return nil, errors.Join(w.err, w.d.err)
	}
	p := &prepared{w: w, s: w.d.s, conf: w.d.s.conf.clone(), mode: sinks.OutputMode(strings.ToLower(w.mode))}
	if p.mode == "" {
		p.mode = sinks.Append
	}
	p.node = plan.Optimize(w.d.node)
	return p, nil
}
