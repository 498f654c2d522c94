package engine

import (
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/sql/types"
)

// Ref names a row of a trace: the place of its stage and its number there. Stage -1 is a row that was stored
// by an earlier batch.
type Ref = exec.Ref

// A Trace is what became of the rows of one batch. Its stages stand in the order of the rows' way, the sink
// last. It is immutable.
type Trace struct {
	*exec.Trace
	Batch    int64
	Mode     string // append, update, complete
	Partial  bool   // the batch still ran: rows may have no fate yet
	Live     bool   // the rows were recorded when the batch ran; else the sources gave them again
	At       time.Time
	Sources  []string    // as progress describes them
	Offsets  [][2]string // where each scan began and ended
	SinkName string

	// Watermarks, epoch ms; 0 is none: rows at or before LateMs are late, state at or before EvictMs goes, NextMs
	// is what this batch moved it to. LateMovedBy and EvictMovedBy are the batches whose rows moved it there, -1
	// if that is not retained.
	LateMs, EvictMs, NextMs   int64
	LateMovedBy, EvictMovedBy int64

	Followed map[int]map[int64]bool // what was kept beside the sample, by stage and number; nil: nothing
	RowsThen int64                  // input rows that the batch reported when it ran; -1 is unknown
	RowsNow  int64                  // input rows of this run: fewer if files have gone

	// HideDay is a date that Cell, Why and the like leave out of times; see Day. Set it before anybody else reads.
	HideDay string
}

// Cells prints rows of a record batch as the console sink does, a list of texts a row; null is NULL.
func Cells(rb arrow.RecordBatch, schema types.Schema) [][]string {
	if rb == nil {
		return nil
	}
	vs := columnar.Vectors(rb, schema)
	rows := make([][]string, rb.NumRows())
	for i := range rows {
		rows[i] = make([]string, len(vs))
		for j := range vs {
			rows[i][j] = string(codec.AppendDisplay(nil, &vs[j], i, time.UTC))
		}
	}
	return rows
}

// ShortCell is a cell for the eye: of windows only what tells them apart, "2026-01-05 12:40 → 12:41".
func ShortCell(t types.DataType, text string) string {
	if !isWindow(t) {
		return text
	}
	from, to, ok := strings.Cut(strings.Trim(text, "{}"), ", ")
	if !ok {
		return text
	}
	if a, okA := strings.CutSuffix(from, ":00"); okA {
		if b, okB := strings.CutSuffix(to, ":00"); okB {
			from, to = a, b
		}
	}
	if day, clock, ok := strings.Cut(to, " "); ok && strings.HasPrefix(from, day+" ") {
		to = clock
	}
	return from + " → " + to
}

// Cells are the kept values of a stage, a list of texts a row.
func (t *Trace) Cells(stage int) [][]string {
	return Cells(t.Stages[stage].Values, t.Stages[stage].Schema)
}

// Before are the values of the same rows before the batch: groups of an aggregation only, nil else. Rows of a
// group that is new are all NULL.
func (t *Trace) Before(stage int) [][]string {
	return Cells(t.Stages[stage].Before, t.Stages[stage].Schema)
}

// Row finds the place of a row among the kept ones of its stage; -1 if it is not kept.
func (t *Trace) Row(r Ref) int {
	if r.Stage < 0 || r.Stage >= len(t.Stages) {
		return -1
	}
	rows := t.Stages[r.Stage].Rows
	lo, hi := 0, len(rows)
	for lo < hi {
		if m := (lo + hi) / 2; rows[m].N < r.N {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(rows) && rows[lo].N == r.N {
		return lo
	}
	return -1
}

// Next is the stage that reads the rows of a stage; -1 behind the sink.
func (t *Trace) Next(stage int) int {
	for i := range t.Stages {
		for _, b := range t.Stages[i].Below {
			if b == stage {
				return i
			}
		}
	}
	return -1
}

// matcher finds the rows with given texts in given columns; nil if none are asked for.
func matcher(key map[string]string) func(types.Schema, []columnar.Vec, columnar.Sel) []int {
	if len(key) == 0 {
		return nil
	}
	return func(s types.Schema, cols []columnar.Vec, sel columnar.Sel) (out []int) {
		var at []int
		var want []string
		for name, text := range key {
			i := s.Index(name)
			if i < 0 {
				return nil
			}
			at, want = append(at, i), append(want, text)
		}
		var buf []byte
		for k := range sel.N {
			i := sel.At(k)
			same := true
			for j, c := range at {
				buf = codec.AppendDisplay(buf[:0], &cols[c], i, time.UTC)
				if same = string(buf) == want[j]; !same {
					break
				}
			}
			if same {
				out = append(out, i)
			}
		}
		return out
	}
}
