// Package store keeps what a streaming query must remember: which offsets each micro-batch reads, that
// it was committed, and the state after it. One checkpoint location is one folder:
//
//	LOCK     held (flock) while the checkpoint is open; its text says by whom
//	META     format, query id, creation time; written once
//	ANCHOR   slots, written in turn: the last batch planned and committed, with digests, and the records of a
//	         small batch, which are durable by that
//	db/      one Badger database in managed mode
//
// Everything of batch N is written at version N+1, which is Spark's state version after N. The commit
// record c/<N> is written alone and last; since nobody reads above the version of the last commit record,
// whatever else a batch wrote is invisible until then, and Open deletes it if then never came. So one
// record is the unit of atomicity, and a batch may be as large as it likes.
//
// State comes and goes as segments: packed rows of a shard that belong to exactly one batch. A batch
// writes what it changed (deltas) and which time buckets it dropped (releases); now and then it also
// writes bases, which are buckets as the previous batch left them, so that older deltas can go. What is
// superfluous is deleted at the version of the next batch: views of older batches still see it, and
// Badger drops it when the last of them has left the retained range.
//
// Offsets and commits form two chains of digests. The anchor outside Badger repeats the ends of both, at
// most one batch behind: a database that silently forgot its tail is found out by it. It is ahead only by
// records that it carries itself: those of a small batch are written there and are durable by that, while
// the database gets them too, but syncs its log for many batches at once. After a power cut Open puts back
// what the log has lost (ride.go).
//
// One goroutine, the query's driver, writes a checkpoint. Views and the other reading methods may be used
// from any goroutine, also beside the driver.
package store
