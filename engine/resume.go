package engine

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/store"
)

// planRecord is what a checkpoint remembers of its query, to refuse another one.
type planRecord struct {
	Mode      string               `json:"outputMode"`
	Operators []exec.OperatorShape `json:"operators"`
	Sources   []string             `json:"sources"`
	Dir       string               `json:"dir,omitempty"` // the session's folder: paths of sources inside it count from there
	Sink      string               `json:"sink"`
	// What only Restart compares; empty in checkpoints of older versions.
	Target     string   `json:"target,omitempty"`     // of the sink
	Watermarks []string `json:"watermarks,omitempty"` // columns and delays
	Schema     string   `json:"schema,omitempty"`     // of the result
	Query      string   `json:"query,omitempty"`      // fingerprint of the plan
	// Planned are operators of a query that never committed a batch before one without operators took its place.
	Planned []exec.OperatorShape `json:"planned,omitempty"`
}

// record is what the checkpoint is going to remember of this query.
func (d *driver) record() planRecord {
	r := planRecord{Mode: string(d.p.mode), Operators: d.plan.Shapes(), Sink: d.p.format.Name, Dir: d.s.dir,
		Target: d.p.target(), Watermarks: d.watermarks(), Schema: d.p.node.Schema().Simple(), Query: d.p.fingerprint()}
	for _, x := range d.sources {
		r.Sources = append(r.Sources, identity(x, d.s.dir))
	}
	return r
}

// remembered is what the checkpoint remembers of the query that made it; ok is false if it is new.
func (d *driver) remembered() (was planRecord, ok bool, err error) {
	raw, ok := d.cp.Meta("plan")
	if _, committed := d.cp.Head(); !ok || !committed {
		return was, false, nil
	}
	if err := json.Unmarshal(raw, &was); err != nil {
		return was, false, errs.Wrap(err, "CHECKPOINT_CORRUPT", "checkpointLocation", d.p.checkpoint, "detail", "record y/plan")
	}
	return was, true, nil
}

// stored is remembered where a damaged record does not matter; empty if there is none.
func (d *driver) stored() (was planRecord) {
	if raw, ok := d.cp.Meta("plan"); ok {
		_ = json.Unmarshal(raw, &was) // remembered refuses a damaged one
	}
	return was
}

// checkSources refuses sources of other kinds than the checkpoint's, before anything is logged: their offsets
// would be read as something else.
func (d *driver) checkSources() error {
	was, ok, err := d.remembered()
	if !ok || err != nil {
		return err
	}
	now := d.record()
	for i := range min(len(was.Sources), len(now.Sources)) {
		a, _, _ := strings.Cut(was.Sources[i], ":")
		b, _, _ := strings.Cut(now.Sources[i], ":")
		if a != b { // another path is the source's affair
			return errs.New("SOURCE_SET_CHANGED", "stored", was.Sources[i], "current", now.Sources[i])
		}
	}
	return nil
}

// resume holds the stateful operators against the checkpoint's (engine.md 6, RC-1) and loads their state. It
// comes with the first batch of a run, when that batch is logged already: the query that takes the place of a
// refused one runs the batch as it was logged.
func (d *driver) resume() error {
	if d.resumed {
		return nil
	}
	was, ok, err := d.remembered()
	if err != nil {
		return err
	}
	now := d.record()
	if before := d.stored(); len(now.Operators) == 0 && !ok {
		now.Planned = append(before.Operators, before.Planned...)
	} else if len(now.Operators) == 0 {
		now.Planned = was.Planned
	}
	if ok && len(was.Operators) == 0 && len(was.Planned) > 0 && compareOperators(was.Planned, now.Operators, false) == nil {
		// As in Spark the operators pass, which the first query had planned; that they have no state is found
		// when a row is asked for.
		d.plan.Fail(errs.New("CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS", "fileToRead", "the state before batch "+fmt.Sprint(d.batch),
			"clazz", d.p.checkpoint))
	} else if ok {
		if err := compareOperators(was.Operators, now.Operators, d.conf.flag(keySchemaCheck)); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := d.cp.SetMeta("plan", raw); err != nil {
		return err
	}
	d.resumed = true
	d.plan.Demand(func() *store.View {
		head, _ := d.cp.Head()
		return d.cp.At(head)
	})
	head, committed := d.cp.Head()
	if !committed {
		return nil
	}
	c, _, err := d.cp.Commits(head)
	if err != nil {
		return err
	}
	return d.plan.Resume(c.Rows)
}

// identity describes a source: its kind, which must not change between two runs, and the path of a file
// source.
func identity(x *querySource, dir string) string {
	if o, ok := x.stream.Open.(*opening); ok && o.def.Path != "" {
		return x.stream.Format + ":" + place(o.def, dir)
	}
	return x.stream.Format
}

// place is the path of a source. One inside the session's folder counts from there, so that a lab may be
// moved with its checkpoints.
func place(def sources.Def, dir string) string {
	if rel, err := filepath.Rel(dir, def.Path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return def.Path
}

// operatorList names operators as Spark's refusals do.
func operatorList(l []exec.OperatorShape) string {
	var b []string
	for i, o := range l {
		b = append(b, fmt.Sprintf("(OperatorId: %d -> OperatorName: %s)", i, o.Name))
	}
	return strings.Join(b, ", ")
}

// compareOperators follows RC-1 and RC-2: operators by number and name, then key and value schemas by
// position (OperatorShape says how).
func compareOperators(was, now []exec.OperatorShape, schemas bool) error {
	same := len(was) == len(now)
	for i := 0; same && i < len(was); i++ {
		same = was[i].Name == now[i].Name
	}
	if !same {
		if len(was) == 0 {
			return errs.New("STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY", "OpsInCurBatchSeq", operatorList(now))
		}
		return errs.New("STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
			"OpsInMetadataSeq", operatorList(was), "OpsInCurBatchSeq", operatorList(now))
	}
	if !schemas {
		return nil
	}
	for i := range was {
		if !was[i].SameKeys(now[i]) {
			return errs.New("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "storedKeySchema", was[i].Key, "newKeySchema", now[i].Key)
		}
		if !was[i].SameValues(now[i]) {
			return errs.New("STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", "storedValueSchema", was[i].Value, "newValueSchema", now[i].Value)
		}
	}
	return nil
}
