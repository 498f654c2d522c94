package sources

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// Continuous is implemented by sources that can be read without micro-batches: rows leave as they come, and
// only an epoch's end asks where the readers stand. Offsets are the same as those of micro-batches, so that
// a checkpoint can be gone on with by either kind of trigger; PlanPartitions must read the range between any
// two offsets that Merge gave.
type Continuous interface {
	Source
	// Readers begins to read behind start, one reader per partition of the source; "" is InitialOffset. Each
	// reader is used by one goroutine of its own.
	Readers(ctx context.Context, start Offset) ([]Reader, error)
	// Merge makes one offset of the places of all readers, in the order in which Readers gave them. A reader
	// that has delivered nothing stands where it began.
	Merge(places []Place) (Offset, error)
	// Repartitioned says that the source has partitions that no reader covers (a topic has grown): the
	// engine ends the epoch and asks for Readers again behind the merged offset. It is asked at the end of
	// epochs, by the goroutine that called Readers.
	Repartitioned(ctx context.Context) (bool, error)
}

// A Place is a position of one reader, in a form of the source's own (JSON, mostly).
type Place string

// A Reader delivers the rows of one partition without end.
type Reader interface {
	// Start is the place before the first row.
	Start() Place
	// Next waits until there is at least one row, and gives the rows that are there with the place behind
	// them. Batches have the source's columns, or those that Prune asked for. It returns ctx's error when ctx
	// is done; any other error ends the query.
	Next(ctx context.Context) (arrow.RecordBatch, Place, error)
	Close() error
}

// RealTime marks continuous sources that the real-time trigger may read (Spark: Kafka).
type RealTime interface {
	Continuous
	RealTime()
}
