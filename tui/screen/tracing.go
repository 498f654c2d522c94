package screen

import (
	"context"
	"time"
)

// A Tracer is a Workbench that can run a batch again and tell what became of its rows. It is an ability of its
// own: a lab on a Spark server has none.
type Tracer interface {
	// Trace runs a retained batch again without touching checkpoint or sink, or takes the recording of a batch
	// that was asked for by TraceNext. It blocks; ctx cancels it.
	Trace(ctx context.Context, query string, batch int64, o TraceOptions) (*Trace, error)
	// TraceNext records the rows of the query's next batch. It returns at once.
	TraceNext(query string) error
	// Traced lists the recorded batches, oldest first. It returns at once.
	Traced(query string) []int64
}

// TraceOptions say how much of a batch is kept.
type TraceOptions struct {
	Rows   int      // of each stage; 0 is the workbench's own measure
	Follow []RowRef // rows whose ancestors and descendants are kept too
	// Partial may be called from any goroutine with what is known while the batch still runs. Nil: not wanted.
	Partial func(*Trace)
}

// A RowRef names a row of a trace: the place of its stage and its number there, both from 0.
type RowRef struct {
	Stage int
	N     int64
}

// A Trace is what became of the rows of a batch. It is immutable; its functions may be called from anywhere
// and return at once.
type Trace struct {
	Batch    int64
	Day      string // date of all its times, which is left out of them: "2026-01-05"; empty: they have their dates
	Partial  bool   // the batch still runs: nothing can be followed or explained
	Live     bool   // of a recording; else the batch was run again
	RowsIn   int64
	RowsThen int64     // that it read when it ran; -1 is unknown. Files may have gone since.
	Closes   time.Time // windows that end by it are closed; zero: none
	Stages   []TraceStage
	Follow   func(RowRef) map[int]map[int64]bool // ancestors and descendants of a row, itself among them
	Why      func(stage, row int) []Reason       // explains a kept row, by its place in Rows
}

// A Reason is one thing to say of a row.
type Reason struct{ About, Text string }

// A TraceStage is an operator of the batch. Stages stand in the order of the rows' way, the sink last.
type TraceStage struct {
	Kind   string // "source", "filter", "aggregate", …
	Detail string
	Note   string // "37 late rows dropped"; may be empty
	In     int64  // -1: a source
	Out    int64
	Took   time.Duration
	Below  []int
	Values Result     // the kept rows; Total counts those that were made
	Rows   []TraceRow // one a row of Values
}

// A TraceRow is what Values does not say of a row.
type TraceRow struct {
	N       int64
	Emitted bool // it left the stage; groups may be held back
	// Mark is a word for what happened to it that is worth a mark: "late", "duplicate", "held"; empty for rows
	// that just went on.
	Mark string
	// From are rows that it was made of, as far as they are kept: places in Rows of their stages. FromAll is how
	// many there are.
	From    []RowPlace
	FromAll int64
}

// A RowPlace is the place of a kept row.
type RowPlace struct{ Stage, Row int }

// keeps tells whether the values of all rows of a set are kept.
func (t *Trace) keeps(set map[int]map[int64]bool) bool {
	for stage, rows := range set {
		have := 0
		for i := range t.Stages[stage].Rows {
			if rows[t.Stages[stage].Rows[i].N] {
				have++
			}
		}
		if have < len(rows) {
			return false
		}
	}
	return true
}
