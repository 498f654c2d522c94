package engine

import (
	"encoding/json"
	"strings"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/sql/plan"
)

// Observe computes aggregates of the rows that pass here, in every micro-batch, as Dataset.observe does; the
// rows go on unchanged. exprs are SQL, with names: "count(*) AS n". The values stand in Progress.Observed under
// name. Errors: INVALID_OBSERVED_METRICS.* for what is no aggregate, DUPLICATED_METRICS_NAME.
func (d *DataFrame) Observe(name string, exprs ...string) *DataFrame {
	return d.with(func(n plan.Node) (plan.Node, error) {
		return plan.ObserveMetrics(n, name, exprs, d.s.catalog, planConf(d.s.conf))
	})
}

// observedJSON is a row of metrics as a JSON object in the order of its columns. Nulls are kept, and times have
// no fraction, as Spark prints a Row.
func (d *driver) observedJSON(m exec.Metrics) (json.RawMessage, error) {
	options := map[string]string{"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd HH:mm:ss", "timestampNTZFormat": "yyyy-MM-dd HH:mm:ss"}
	w, err := codec.NewWriter(codec.Settings{Format: "json", Zone: d.conf.zone(), Conf: d.conf.Get,
		Option: func(name string) (string, bool) { v, ok := options[name]; return v, ok }}, m.Schema)
	if err != nil {
		return nil, err
	}
	cols := make([]columnar.Vec, len(m.Row))
	for i, v := range m.Row {
		cols[i] = *v
	}
	return json.RawMessage(strings.TrimSpace(string(w.Append(nil, cols, 0, 1)))), nil
}

// observe keeps what the plan observed in the batch that was run.
func (d *driver) observe() error {
	d.observed = nil
	ms, err := d.plan.Metrics()
	if err != nil || len(ms) == 0 {
		return err
	}
	d.observed = map[string]json.RawMessage{}
	for _, m := range ms {
		if d.observed[m.Name], err = d.observedJSON(m); err != nil {
			return err
		}
	}
	return nil
}
