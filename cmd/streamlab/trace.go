//go:build cgo

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"streamlab/columnar"
	"streamlab/engine"
	"streamlab/engine/exec"
	"streamlab/errs"
)

// traceFlags are what `streamlab trace` is asked for.
type traceFlags struct {
	batch int64
	stage int
	key   []string
	limit int

	fromStart bool
}

// traceLimit is the most rows of a stage that are kept on demand.
const traceLimit = 100_000

func newTraceCommand(a *app) *cobra.Command {
	f := traceFlags{batch: -1, limit: 200}
	c := &cobra.Command{
		Use:   "trace LAB QUERY",
		Short: "Run a retained batch again and tell what became of its rows",
		Long: "The batch is run again from its stored offsets and the state before it. Checkpoint and sink stay as they are.\n" +
			"Of a query that keeps no checkpoint, and with --from-start, all batches up to it are run, beside the query if it runs.\n" +
			"Each stage gives its first rows, and as many to which something happened: late, left out, duplicate, held back.\n" +
			"With -o jsonl: a line of kind trace, one of kind stage for each operator, one of kind row for each row.",
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := engine.TraceOptions{Rows: f.limit, Key: map[string]string{}}
			if f.limit < 1 || f.limit > traceLimit {
				return errs.New("LAB_VALUE", "key", "--limit", "expected", fmt.Sprintf("a number from 1 to %d", traceLimit))
			}
			for _, k := range f.key {
				name, text, ok := strings.Cut(k, "=")
				if !ok {
					return errs.New("LAB_VALUE", "key", "--key", "expected", "COLUMN=VALUE")
				}
				o.Key[name] = text
			}
			tr, err := a.replay(cmd, args, f, o)
			if err != nil {
				return err
			}
			if err := keysOfStages(tr, o.Key); err != nil {
				return err
			}
			if f.stage > len(tr.Stages) {
				return errs.New("LAB_VALUE", "key", "--stage", "expected", fmt.Sprintf("a number from 1 to %d", len(tr.Stages)))
			}
			return a.printTrace(args[1], tr, f)
		},
	}
	c.Flags().Int64Var(&f.batch, "batch", -1, "batch; default the newest")
	c.Flags().IntVar(&f.stage, "stage", 0, "only the rows of this stage, counted from 1")
	c.Flags().StringArrayVar(&f.key, "key", nil, "COLUMN=VALUE: follow the rows with this value through all stages; may be repeated")
	c.Flags().IntVar(&f.limit, "limit", 200, "rows of each stage, up to 100000")
	c.Flags().BoolVar(&f.fromStart, "from-start", false, "run the query from the beginning of its sources, not from its checkpoint")
	return c
}

// keysOfStages refuses to follow a column that no stage has.
func keysOfStages(tr *engine.Trace, keys map[string]string) error {
	for key := range keys {
		has := func(name string) bool { return strings.EqualFold(name, key) }
		if !slices.ContainsFunc(tr.Stages, func(s exec.TraceStage) bool { return slices.ContainsFunc(s.Schema.Names(), has) }) {
			var names []string
			for _, s := range tr.Stages {
				for _, n := range s.Schema.Names() {
					if !slices.Contains(names, n) {
						names = append(names, n)
					}
				}
			}
			return errs.New("LAB_VALUE", "key", "--key", "expected", "a column of a stage, which are "+strings.Join(names, ", "))
		}
	}
	return nil
}

func (a *app) printTrace(query string, tr *engine.Trace, f traceFlags) error {
	if a.output == "json" || a.output == "jsonl" {
		a.traceLines(query, tr, f)
		return nil
	}
	clock := func(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.999") }
	if a.output == "csv" {
		var rows [][]string
		a.eachRow(tr, f, func(s *exec.TraceStage, i int, cells []string) {
			rows = append(rows, []string{strconv.Itoa(s.Number + 1), s.Kind, strconv.FormatInt(s.Rows[i].N+1, 10),
				strings.Join(cells, ", "), s.Rows[i].Fate.String(), tr.Fate(s.Number, i, clock)})
		})
		return a.table("row", []string{"stage", "operator", "row", "values", "fate", "reason"}, rows)
	}
	var rows [][]string
	for i := range tr.Stages {
		s := &tr.Stages[i]
		in := strconv.FormatInt(s.In, 10)
		if len(s.Below) == 0 {
			in = "-"
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), s.Kind, s.Detail, in, strconv.FormatInt(s.Out, 10),
			strconv.FormatInt(s.Took.Milliseconds(), 10), tr.Note(i, clock)})
	}
	if err := a.table("stage", []string{"#", "stage", "", "in", "out", "ms", "note"}, rows); err != nil || a.output == "name" {
		return err
	}
	for i := range tr.Stages {
		s := &tr.Stages[i]
		if f.stage > 0 && f.stage != i+1 || s.Values == nil {
			continue
		}
		fmt.Fprintf(a.out, "\nout of %d %s, %d of %d\n", i+1, s.Kind, len(s.Rows), total(s))
		columns := append([]string{"row"}, s.Schema.Names()...)
		groups := s.Before != nil && len(s.Schema) > s.Keys
		if groups {
			columns = append(columns, "before")
		}
		columns = append(columns, "then")
		var rows [][]string
		a.eachRow(tr, traceFlags{stage: i + 1}, func(s *exec.TraceStage, k int, cells []string) {
			row := append([]string{mark(tr, s.Number, s.Rows[k].N) + strconv.FormatInt(s.Rows[k].N+1, 10)}, cells...)
			if groups {
				was := "?"
				switch {
				case s.Rows[k].New:
					was = "new"
				case s.Rows[k].Known:
					was = strings.Join(tr.Before(i)[k][s.Keys:], ", ")
				}
				row = append(row, was)
			}
			rows = append(rows, append(row, tr.Fate(i, k, clock)))
		})
		if err := a.table("row", columns, rows); err != nil {
			return err
		}
	}
	return nil
}

// total is how many rows a stage made, groups that it held back included.
func total(s *exec.TraceStage) (n int64) {
	for _, c := range s.Fates {
		n += c
	}
	return n
}

// mark tells rows that are followed.
func mark(tr *engine.Trace, stage int, n int64) string {
	if tr.Followed[stage][n] {
		return "● "
	}
	return ""
}

// eachRow goes through the kept rows of the stages that are asked for.
func (a *app) eachRow(tr *engine.Trace, f traceFlags, do func(s *exec.TraceStage, i int, cells []string)) {
	for st := range tr.Stages {
		if f.stage > 0 && f.stage != st+1 {
			continue
		}
		for i, cells := range tr.Cells(st) {
			do(&tr.Stages[st], i, cells)
		}
	}
}

// traceLines prints a trace as JSON lines: fields are only added within a version.
func (a *app) traceLines(query string, tr *engine.Trace, f traceFlags) {
	millisOrNil := func(ms int64) any {
		if ms == 0 {
			return nil
		}
		return engine.UTC(ms * 1000)
	}
	head := map[string]any{"kind": "trace", "version": 1, "query": query, "batch": tr.Batch, "mode": tr.Mode, "time": engine.UTC(tr.At.UnixMicro()),
		"live": tr.Live, "lateBound": millisOrNil(tr.LateMs), "closedUpTo": millisOrNil(tr.EvictMs), "nextWatermark": millisOrNil(tr.NextMs),
		"inputRows": tr.RowsNow}
	if tr.RowsThen >= 0 {
		head["inputRowsThen"] = tr.RowsThen
	}
	if tr.LateMovedBy >= 0 {
		head["lateBoundMovedBy"] = tr.LateMovedBy
	}
	if tr.EvictMovedBy >= 0 {
		head["closedUpToMovedBy"] = tr.EvictMovedBy
	}
	a.json(a.out, head)
	for i := range tr.Stages {
		s := &tr.Stages[i]
		fates := map[string]int64{}
		for k, n := range s.Fates {
			if n > 0 {
				fates[k.String()] = n
			}
		}
		below := []int{}
		for _, b := range s.Below {
			below = append(below, b+1)
		}
		a.json(a.out, map[string]any{"kind": "stage", "version": 1, "batch": tr.Batch, "stage": i + 1, "operator": s.Kind, "detail": s.Detail,
			"below": below, "columns": s.Schema.Names(), "rowsIn": s.In, "rowsOut": s.Out, "ms": float64(s.Took.Microseconds()) / 1000,
			"kept": len(s.Rows), "fates": fates, "note": tr.Note(i, engine.UTC)})
	}
	for st := range tr.Stages {
		if f.stage == 0 || f.stage == st+1 {
			a.rowLines(tr, st)
		}
	}
}

// rowLines prints the kept rows of a stage.
func (a *app) rowLines(tr *engine.Trace, st int) {
	s := &tr.Stages[st]
	if s.Values == nil {
		return
	}
	values := columnar.Vectors(s.Values, s.Schema)
	var before []columnar.Vec
	if s.Before != nil {
		before = columnar.Vectors(s.Before, s.Schema)
	}
	cells, was := tr.Cells(st), tr.Before(st)
	object := func(vs []columnar.Vec, texts []string, i, from int) map[string]any {
		m := map[string]any{}
		for c := from; c < len(vs); c++ {
			m[s.Schema[c].Name] = jsonCell(&vs[c], i, texts[c])
		}
		return m
	}
	type ref struct {
		Stage int   `json:"stage"`
		Row   int64 `json:"row"`
	}
	for i, r := range s.Rows {
		m := map[string]any{"kind": "row", "version": 1, "batch": tr.Batch, "stage": st + 1, "operator": s.Kind, "row": r.N + 1,
			"values": object(values, cells[i], i, 0), "emitted": r.Emitted, "fate": r.Fate.String(), "reason": tr.Fate(st, i, engine.UTC)}
		if s.Keys > 0 {
			m["new"] = r.New
			if before != nil && r.Known {
				m["before"] = object(before, was[i], i, s.Keys)
			}
		}
		if len(r.From) > 0 {
			refs, stored := []ref{}, 0
			for _, f := range r.From {
				if f.Stage < 0 {
					stored++
				} else {
					refs = append(refs, ref{f.Stage + 1, f.N + 1})
				}
			}
			m["from"], m["fromRows"] = refs, r.FromAll
			if stored > 0 {
				m["fromState"] = stored
			}
		}
		if r.Into.Stage >= 0 {
			m["into"] = ref{r.Into.Stage + 1, r.Into.N + 1}
		}
		if r.Fate == exec.FateLate {
			m["compared"] = engine.UTC(r.Time)
			if next := tr.Next(st); next >= 0 {
				m["bound"] = engine.UTC(tr.Stages[next].Late)
			}
			if tr.LateMovedBy >= 0 {
				m["movedBy"] = tr.LateMovedBy
			}
		}
		if r.Until != 0 && r.Until != exec.Never {
			m["until"] = engine.UTC(r.Until)
		}
		if tr.Followed[st][r.N] {
			m["followed"] = true
		}
		a.json(a.out, m)
	}
}

// jsonCell is a value for JSON: numbers and booleans as such, everything else as the console sink prints it.
func jsonCell(v *columnar.Vec, i int, text string) any {
	if v.IsNull(i) {
		return nil
	}
	switch v.Phys {
	case columnar.PBool:
		return v.Bool(i)
	case columnar.PI8, columnar.PI16, columnar.PI32, columnar.PI64, columnar.PF32, columnar.PF64, columnar.PDec:
		if v.Type.IsNumeric() && json.Valid([]byte(text)) {
			return json.Number(text)
		}
	}
	return text
}
