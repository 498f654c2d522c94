// Package sources says what a source is: something that can be read from any offset it still holds, again
// and again with the same result. The formats stand in the folders below; the engine knows only this page.
//
// Protocol, driven by one goroutine (the query's driver):
//
//  1. InitialOffset once, when the checkpoint knows no offset.
//  2. Per trigger LatestOffset(start, limit) plans the end of the next micro-batch.
//  3. The engine logs the end, then PlanPartitions(start, end) gives what to read; it may be called again
//     with the same range after a crash and must give the same rows.
//  4. Commit(end) when the micro-batch up to end is committed: nothing at or before it is asked for again.
//  5. Close.
//
// Partitions are read on any goroutine, concurrently with each other.
package sources

import (
	"context"
	"iter"
	"time"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// An Offset is a position in one source, as canonical JSON. Equal text means equal position; "" is none.
type Offset string

// A ReadLimit bounds a micro-batch. Zero fields do not bound; the zero value is all that is available.
type ReadLimit struct {
	MaxRows  int64
	MinRows  int64
	MaxDelay time.Duration // with MinRows: how long to wait for them
	MaxFiles int64
	MaxBytes int64
}

// A Source can be read from any offset it still holds, again and again with the same result.
type Source interface {
	Schema() types.Schema
	// InitialOffset is where a new query starts; "" if the first LatestOffset decides.
	InitialOffset(ctx context.Context) (Offset, error)
	// LatestOffset is the furthest end of the next batch after start that limit allows; start itself (or "")
	// if there is nothing new.
	LatestOffset(ctx context.Context, start Offset, limit ReadLimit) (Offset, error)
	// PlanPartitions gives the rows in (start, end].
	PlanPartitions(ctx context.Context, start, end Offset) ([]columnar.Partition, error)
	Commit(ctx context.Context, end Offset) error
	Close() error
}

// Repeatable is implemented by sources whose planned end can be read before it is logged: nobody notices
// that. Partitions of the next batch are then read while Commit of the one before is called.
type Repeatable interface{ Repeatable() }

// DefaultLimit is implemented by sources whose options bound a micro-batch.
type DefaultLimit interface{ DefaultReadLimit() ReadLimit }

// AvailableNow is implemented by sources that can fix the end of a run: after PrepareAvailableNow
// LatestOffset never answers past what was there at the call.
type AvailableNow interface {
	PrepareAvailableNow(ctx context.Context) error
}

// Reporter is implemented by sources that know what is there beyond the planned end: shown in progress as
// latestOffset. "" is unknown (null).
type Reporter interface{ ReportLatestOffset() Offset }

// Metrics is implemented by sources that show figures of their own in progress.
type Metrics interface {
	Metrics(end Offset) map[string]string
}

// Pruner is implemented by sources that can leave out columns. Prune is called once, before the first
// PlanPartitions, with the positions of the columns that are needed, ascending; batches then have just
// these columns. It returns false if the source cannot do so.
type Pruner interface{ Prune(columns []int) bool }

// Skipper is implemented by sources that can leave out parts in which no row passes tests. Skip is called at
// most once, after Prune; tests name columns of the full schema. Rows that do not pass may still come.
type Skipper interface{ Skip(tests []columnar.Test) }

// Notifier is implemented by sources that can say that new data may be there. The channel is buffered by
// one, written by the source, never closed.
type Notifier interface{ Changed() <-chan struct{} }

// Counter is implemented by partitions that know their number of rows before they are read.
type Counter interface{ NumRows() (n int64, exact bool) }

// A Log is where a source keeps what does not fit an offset; the engine backs it with the checkpoint.
// Entries have the source's own counter. Add is durable before the offsets that need it are.
type Log interface {
	Add(n int64, entry []byte) error
	Get(n int64) ([]byte, bool, error)
	Latest() (n int64, entry []byte, ok bool, err error)
	From(n int64) iter.Seq2[int64, []byte]
	PutKey(key string, value []byte) error
	Key(key string) ([]byte, bool, error)
}

// A Forgetter is a Log whose old entries can be dropped: those below a number, some time later.
type Forgetter interface{ Forget(below int64) error }

// Options are the options of a reader or writer; keys are kept as written and looked up without case.
type Options map[string]string

// Get finds an option without regard to case; ok says whether it is set.
func (o Options) Get(name string) (value string, ok bool) {
	if v, ok := o[name]; ok {
		return v, true
	}
	for k, v := range o {
		if equalFold(k, name) {
			return v, true
		}
	}
	return "", false
}

func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		x, y := a[i], b[i]
		if 'A' <= x && x <= 'Z' {
			x += 'a' - 'A'
		}
		if 'A' <= y && y <= 'Z' {
			y += 'a' - 'A'
		}
		if x != y {
			return false
		}
	}
	return true
}

// Def is what a format's constructor gets. A constructor checks options and opens nothing that costs.
type Def struct {
	Format  string
	Path    string       // "" if none; absolute
	Schema  types.Schema // the user's; nil if none
	Options Options
	Conf    func(key string) string // session settings, Spark's keys; "" if unset
	Now     func() time.Time
	Log     Log // nil when only the schema is asked for
	Zone    *time.Location
	// MovedFrom and MovedTo are set when a checkpoint came to another place together with the files of the
	// source: paths below the one that the log holds stand below the other now.
	MovedFrom, MovedTo string
	// Began, if there is one, is asked once by a source whose rows depend on when it was first started: it gives
	// the moment, in ms, that queries which share one read and start together have in common.
	Began func(now int64) int64
}

// OptionDoc describes one option of a format: for checks, completion and the manual.
type OptionDoc struct {
	Name, Default, Doc string
	Secret             bool
}
