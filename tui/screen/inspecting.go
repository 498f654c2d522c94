package screen

import (
	"context"
	"time"
)

// An Inspecting workbench reads checkpoints in depth. It is asked for with a type assertion; without it the
// checkpoint screen shows records and the first rows of the state, as Workbench alone gives them. All methods
// may block and are called as those of Workbench.
type Inspecting interface {
	// StatePage reads rows of a store in the order of their keys. The first page of a batch may take long, the
	// next ones are quick.
	StatePage(ctx context.Context, q StateQuery) (StatePage, error)
	// KeyHistory gives what the retained batches did to the key of a row, newest first, at most limit
	// versions.
	KeyHistory(ctx context.Context, q StateQuery, id []byte, limit int) ([]KeyVersion, error)
	// DiffBatches compares the ends of two batches; at most limit rows of the store of q come back.
	DiffBatches(ctx context.Context, q StateQuery, from, to int64, limit int) (*Diff, error)
	// VerifyCheckpoint reads everything and joins what is not whole. progress may be called from any
	// goroutine, with done of total.
	VerifyCheckpoint(ctx context.Context, query string, progress func(done, total int64)) error
	// ExportCheckpoint writes the checkpoint in Spark's layout into a new folder and counts the files.
	ExportCheckpoint(ctx context.Context, query, dir string) (files int, err error)
	// ReleaseState forgets state that was read to be paged through.
	ReleaseState()
}

// StateQuery says which rows of which store to read.
type StateQuery struct {
	Query    string
	Batch    int64 // the state after it
	Operator int
	Store    string
	Filter   string // "" all; the beginning of a key as JSON, a condition, or the beginning of a column
	From, N  int
}

// A StatePage is some rows of a store.
type StatePage struct {
	Key     string // names of the key's columns: "window_start, page"
	Values  []Column
	Total   int // rows of the store
	Matches int // that the filter keeps
	From    int
	Rows    []StateRow
}

// A StateRow is a row of a store.
type StateRow struct {
	ID     []byte // names the key to KeyHistory
	Key    string
	JSON   string // the key as the command line takes it
	Values []Cell
	Batch  int64 // that last wrote it; -1: not known
	AtMost bool  // Batch is an upper bound
	Bytes  int
}

// A KeyVersion is what a batch did to a key.
type KeyVersion struct {
	Batch   int64
	AtMost  bool // it is the value from before the retained batches
	Time    time.Time
	Removed bool
	Values  []Cell
	Change  []string // per value, for numbers: "+157"; "" otherwise
}

// A Diff is what differs between the ends of two batches.
type Diff struct {
	From, To                int64
	Offsets                 []string // one line per source that moved
	WatermarkFrom           time.Time
	WatermarkTo             time.Time
	Before, After           int // keys of the store
	Added, Removed, Changed int
	Rows                    []DiffRow
}

// A DiffRow is a key that differs.
type DiffRow struct {
	Change byte // '+', '-' or '~'
	Key    string
	Before string
	After  string
}
