package screen

import (
	"context"

	"streamlab/errs"
)

// A ModesBench is a workbench that can run a query in all output modes beside each other.
type ModesBench interface {
	// Modes makes ready three real runs of a query: append, update, complete, over one input. Nothing is fed
	// yet. It may read a sample of the query's sources, and ends what an earlier call made.
	Modes(ctx context.Context, query string, o ModesOptions) (ModesRun, error)
}

// ModesOptions choose what is fed; the zero value is the lab's own input with pauses between.
type ModesOptions struct {
	Hurried bool   // the next input is there before a batch without rows could run
	Split   string // "", "one": all rows at once, "rows": one row at a time
	Late    bool   // the first row comes once more at the end
	Delay   string // of the watermarks; "" is the lab's own
	Sink    string // "" is memory
}

// A ModesRun is three runs that are fed step by step. Its methods are called one after the other.
type ModesRun interface {
	Info() ModesInfo
	// Feed gives the next input to all three and returns what they did; false when all was fed.
	Feed(ctx context.Context) (ModesStep, bool, error)
}

// ModesInfo is what is known before anything is fed. Cells are text as the console sink prints them.
type ModesInfo struct {
	Query   string
	SQL     string
	Names   []string // columns of the result
	Group   []bool   // columns that name the group of a row; nil: there are no groups
	Inputs  []ModesInput
	Delays  []string       // delays of the lab's watermarks; nil: none that can be changed
	Sample  string         // how much of its sources the input is, such as "6 of 20 rows"; "": it is the lab's own
	Refused [3]*errs.Error // why a mode cannot run; nil if it can
}

// ModesInput is the rows of one input, each as short text.
type ModesInput struct {
	Rows [][]string
	Late []bool // older than the newest row of an input before
	// Times are what the rows are older or newer by, as timestamps are printed; nil or "": not known.
	Times []string
}

// ModesStep is what one input did, by mode: append, update, complete.
type ModesStep struct{ Columns [3]ModesColumn }

// ModesColumn is what one input did in one mode.
type ModesColumn struct {
	Batches   []ModesBatch
	State     [][]string // rows of state afterwards, at most forty
	StateRows int64
	Watermark string // afterwards, as timestamps are printed; "" is none
	Err       *errs.Error
}

// A ModesBatch is one micro-batch.
type ModesBatch struct {
	Batch     int64
	NoData    bool
	Rows      [][]string
	Watermark string // that it closed windows by
	Dropped   int64
}

// A Prediction is what the user thought would come, and what came.
type Prediction struct {
	Lab   string
	Place string // "input 2 of per_minute", "delta at sink.commit.after", "step 3"
	Said  string
	Was   string
	Right bool
	Open  bool // nobody judged it: Said is an answer in words
}

// A Predictor keeps predictions for the user, across labs and starts.
type Predictor interface {
	// Predicted stores a prediction.
	Predicted(p Prediction) error
	// Score counts the predictions that were judged.
	Score() (right, total int)
}
