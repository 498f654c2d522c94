package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/sources/files"
	"streamlab/sql/plan"
	"streamlab/store"
)

// Verdict says what a difference between a query and the checkpoint it would go on from means (engine.md 6).
type Verdict string

// The verdicts, from worst to best.
const (
	Refused    Verdict = "refused"     // Start, or the first batch, fails with Change.Err
	NotAllowed Verdict = "not allowed" // nothing checks it, and it goes wrong sooner or later
	Undefined  Verdict = "undefined"   // nothing checks it; what it means is for the reader to judge
	Pinned     Verdict = "pinned"      // the checkpoint's value stays, the new one has no effect
	Allowed    Verdict = "allowed"
)

// Change is one difference between a query and its checkpoint.
type Change struct {
	Verdict  Verdict
	What     string // "source 1", "output mode", a setting, …
	Was, Now string
	Text     string      // what follows from it, one sentence
	Err      *errs.Error // of Refused; nil else
}

// Restart holds the query against the checkpoint that it would go on from, worst first, and starts nothing.
// A query without a checkpoint, or with a new one, has no differences. Errors: those of Check; those of
// store.Look (CHECKPOINT_IN_USE while the query runs): the checkpoint is not touched.
func (w *DataStreamWriter) Restart(path ...string) ([]Change, error) {
	p, err := w.prepare(path...)
	if err != nil || p.checkpoint == "" {
		return nil, err
	}
	if _, err := os.Stat(p.checkpoint); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	cp, done, err := store.Look(p.checkpoint, store.Options{MinBatchesToRetain: int64(p.conf.number(keyRetain))})
	if err != nil {
		return nil, err
	}
	defer done()
	return p.against(cp)
}

// RestartOf is Restart against the checkpoint of a query that runs, as if that one had ended. A temporary
// checkpoint ends with its run: there is one change, which says so.
func (w *DataStreamWriter) RestartOf(q *StreamingQuery, path ...string) ([]Change, error) {
	p, err := w.prepareUnnamed(path...)
	if err != nil || q.driver.cp == nil {
		return nil, err
	}
	if q.Snapshot().Temporary {
		return []Change{{Verdict: Allowed, What: "checkpoint", Text: "It is temporary: started again, the query begins anew."}}, nil
	}
	return p.against(q.driver.cp)
}

// against compares the query with a checkpoint, worst first.
func (p *prepared) against(cp *store.Checkpoint) ([]Change, error) {
	ep, err := exec.Build(p.node, exec.Conf{Expr: exprConf(p.conf), Mode: string(p.mode), ShufflePartitions: p.conf.number(keyPartitions),
		Get: p.conf.Get})
	if err != nil {
		return nil, err
	}
	d := &driver{s: p.s, conf: p.conf, p: p, plan: ep, cp: cp}
	d.list()
	out, err := d.changes()
	sortChanges(out)
	return out, err
}

// sortChanges puts the worst first.
func sortChanges(list []Change) {
	rank := map[Verdict]int{Refused: 0, NotAllowed: 1, Undefined: 2, Pinned: 3, Allowed: 4}
	sort.SliceStable(list, func(i, j int) bool { return rank[list[i].Verdict] < rank[list[j].Verdict] })
}

// list gives the driver its sources without opening them, for record.
func (d *driver) list() {
	byStream := map[int64]int{}
	for _, sc := range d.plan.Scans() {
		i, ok := byStream[sc.Stream.ID]
		if !ok {
			i = len(d.sources)
			byStream[sc.Stream.ID] = i
			d.sources = append(d.sources, &querySource{stream: sc.Stream})
		}
		d.scans = append(d.scans, i)
	}
}

// changes compares the query with what its checkpoint remembers.
func (d *driver) changes() (out []Change, err error) {
	was, committed, err := d.remembered()
	if err != nil {
		return nil, err
	}
	head, _ := d.cp.Head()
	pending, isPending := d.cp.Pending()
	entry := pending
	if !isPending {
		if !committed {
			return nil, nil
		}
		if entry, _, err = d.cp.Offsets(head); err != nil {
			return nil, err
		}
	}
	now := d.record()
	add := func(v Verdict, what, before, after, text string) {
		out = append(out, Change{Verdict: v, What: what, Was: before, Now: after, Text: text})
	}
	refuse := func(what, before, after string, err error) {
		out = append(out, Change{Verdict: Refused, What: what, Was: before, Now: after, Text: "The restart is refused.", Err: errs.As(err)})
	}
	if len(entry.Offsets) != len(d.scans) {
		refuse("number of sources", fmt.Sprint(len(entry.Offsets)), fmt.Sprint(len(d.scans)),
			errs.New("SOURCE_SET_CHANGED", "stored", len(entry.Offsets), "current", len(d.scans)))
	}
	if committed {
		d.changedSources(was, now, add, refuse)
		if err := compareOperators(was.Operators, now.Operators, d.conf.flag(keySchemaCheck)); err != nil {
			before, after := operatorWords(was.Operators, now.Operators)
			refuse("stateful operators", before, after, err)
		}
		if was.Mode != now.Mode {
			add(Undefined, "output mode", was.Mode, now.Mode, "The state goes on; the sink sees rows of another meaning from the next batch on.")
		}
		changedSink(was, now, add)
		if was.Watermarks != nil && !slices.Equal(was.Watermarks, now.Watermarks) {
			add(Undefined, "watermark", strings.Join(was.Watermarks, ", "), strings.Join(now.Watermarks, ", "),
				"It takes effect with the next batch; the watermark that was reached never goes back.")
		}
		if was.Schema != "" && was.Schema != now.Schema {
			add(Allowed, "columns of the result", was.Schema, now.Schema, "The sink must take the new columns.")
		}
	}
	if isPending && was.Query != "" && was.Query != now.Query {
		add(Undefined, "query", "another text", "this text", fmt.Sprintf("Batch %d was logged and not committed: it runs again with the new text.", head+1))
	}
	for _, s := range settings {
		if before, ok := entry.Conf[s.Key]; s.Pinned && ok && before != d.conf.Get(s.Key) {
			add(Pinned, s.Key, before, d.conf.Get(s.Key), "The checkpoint's value stays in force.")
		}
	}
	return out, nil
}

func (d *driver) changedSources(was, now planRecord, add func(Verdict, string, string, string, string), refuse func(string, string, string, error)) {
	for i := range min(len(was.Sources), len(now.Sources)) {
		a, b := was.Sources[i], now.Sources[i]
		what := fmt.Sprintf("source %d", i)
		kindA, pathA, _ := strings.Cut(a, ":")
		kindB, pathB, _ := strings.Cut(b, ":")
		switch {
		case kindA != kindB:
			refuse(what, a, b, errs.New("SOURCE_SET_CHANGED", "stored", a, "current", b))
		case pathA != pathB:
			if err := d.sourceGoesOn(i, was); err != nil {
				refuse(what, a, b, err)
				continue
			}
			add(Undefined, what, a, b, "The last batch is asked for again at the new place, which may not have it.")
		}
	}
}

// sourceGoesOn asks the log of source k whether the source can go on from it at the place that it has now. Only
// folders of files know that beforehand.
func (d *driver) sourceGoesOn(k int, was planRecord) error {
	st := d.sources[k].stream
	o, ok := st.Open.(*opening)
	if !ok {
		return nil
	}
	switch strings.ToLower(st.Format) {
	case "text", "json", "csv", "parquet", "binaryfile":
		return files.GoesOn(d.definition(k, st, o, was))
	}
	return nil
}

// changedSink judges another sink by the table of Spark's guide.
func changedSink(was, now planRecord, add func(Verdict, string, string, string, string)) {
	isFile := func(name string) bool {
		return slices.Contains([]string{"json", "csv", "text", "parquet", "orc"}, name)
	}
	a, b := was.Sink, now.Sink
	switch {
	case a == b && isFile(a) && was.Target != "" && was.Target != now.Target:
		add(NotAllowed, "folder of the sink", was.Target, now.Target, "The log in the new folder lacks the earlier batches: it cannot be read as a table.")
	case a == b && was.Target != "" && was.Target != now.Target:
		add(Allowed, "target of the sink", was.Target, now.Target, "It gets the new batches only.")
	case a == b:
	case isFile(b):
		add(NotAllowed, "sink", a, b, "The log of the file sink lacks the earlier batches and breaks, at the latest when it is compacted.")
	case b == "kafka", b == "foreach", b == "foreachBatch", b == "ForeachBatchSink":
		add(Allowed, "sink", a, b, "It gets the new batches only.")
	default:
		add(Undefined, "sink", a, b, "It gets the new batches only; whether that is right depends on the two sinks.")
	}
}

// watermarks names the watermark columns and their delays in milliseconds.
func (d *driver) watermarks() []string {
	out := []string{}
	for _, e := range d.plan.EventTimes() {
		out = append(out, fmt.Sprintf("%s %d ms", e.Column, e.DelayMicros/1000))
	}
	return out
}

// fingerprint is the same for queries with the same plan.
func (p *prepared) fingerprint() string {
	h := sha256.Sum256([]byte(plan.Explain(p.node)))
	return hex.EncodeToString(h[:8])
}

// target is where the sink writes; a path inside the session's folder counts from there.
func (p *prepared) target() string {
	if p.path == "" {
		return ""
	}
	if rel, err := filepath.Rel(p.s.dir, p.path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return p.path
}
