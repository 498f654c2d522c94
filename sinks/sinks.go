// Package sinks says what a sink is: something that takes the result of one micro-batch after another and
// keeps its promise when the same micro-batch comes again.
package sinks

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// OutputMode is Spark's: "append", "update", "complete".
type OutputMode string

// The output modes.
const (
	Append   OutputMode = "append"
	Update   OutputMode = "update"
	Complete OutputMode = "complete"
)

// String is the mode as Spark prints it: Append, Update, Complete.
func (m OutputMode) String() string {
	if m == "" {
		return "Append"
	}
	return strings.ToUpper(string(m[:1])) + string(m[1:])
}

// A Batch is the result of one micro-batch of one query.
type Batch struct {
	ID        int64
	QueryID   string
	RunID     string
	QueryName string
	Mode      OutputMode
	Schema    types.Schema
	Parts     []columnar.Partition // reading them runs the plan
	Replay    bool                 // the batch was begun by an earlier run
	Live      bool                 // an epoch: its rows come as they are made and should leave as they come
}

// ErrSkipped is what AddBatch of a sink with a log of its own returns for a batch that the log has already.
// It is no failure: nothing was read and nothing is to be written.
var ErrSkipped = errors.New("the batch is there already")

// A Sink writes results. AddBatch may be called again with the same id after a failure and must leave the
// same result, unless the sink says in its package comment that it is at-least-once (Kafka, console,
// foreach). Called by one goroutine.
type Sink interface {
	AddBatch(ctx context.Context, b Batch) error
	Close() error
}

// Described is implemented by sinks that are named in progress (Spark's class or table text) and know how
// many rows they wrote in the last batch; -1 is unknown.
type Described interface {
	Description() string
	NumOutputRows() int64
}

// A Borrower is a Sink that reads every partition at most once, as a columnar.Lender where it is one, and keeps
// nothing that it was shown. Its rows need not be kept for it, and are not computed before it asks.
type Borrower interface {
	Sink
	Borrows()
}

// Each reads all partitions in order and hands every batch to write; it stops at the first error. Sinks
// that keep partitions apart range over b.Parts themselves.
func Each(ctx context.Context, b Batch, write func(part int, rb arrow.RecordBatch) error) error {
	for i, p := range b.Parts {
		for rb, err := range p.Rows(ctx) {
			if err != nil {
				return err
			}
			if err := write(i, rb); err != nil {
				return err
			}
		}
	}
	return nil
}
