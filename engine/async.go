package engine

import (
	"context"
	"time"

	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/store"
)

// Asynchronous progress tracking (engine.md 11.3): a query without state records its offsets and commits only
// once in an interval. The batches between exist in memory only. After a crash the query goes on from the newest
// record, so that their rows come again, perhaps cut into other batches: at least once.
//
// Spark leaves the writing to a thread of its own, because a write takes it tens of milliseconds. A record costs
// a fraction of one here and is written where it is due; what is recorded, and when, is the same.

type asyncProgress struct {
	interval time.Duration    // between two records; 0 or less: every batch
	last     time.Time        // when the newest offsets were recorded; zero: none in this run
	logged   bool             // the offsets of the batch are recorded
	ends     []sources.Offset // per source, of the newest recorded batch; nil: of none
}

// slot is the place of the batch's record in the checkpoint.
func (d *driver) slot() int64 { return d.batch - d.skipped }

// beginAsync is for a query that has recovered.
func (d *driver) beginAsync() error {
	if !d.p.async() {
		return nil
	}
	if err := refuseState(d.plan); err != nil {
		return err
	}
	ms, err := d.p.w.options.Int(optionAsyncInterval, 1000, -1<<62)
	if err != nil {
		return err
	}
	d.async = &asyncProgress{interval: time.Duration(ms) * time.Millisecond, logged: d.constructed}
	if d.batch > 0 {
		d.async.ends = make([]sources.Offset, len(d.sources))
		for i, x := range d.sources {
			d.async.ends[i] = x.committed
		}
	}
	return nil
}

func refuseState(p *exec.Plan) error {
	if len(p.Stateful()) > 0 {
		return errs.New("ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED", "reason", "a query that keeps state")
	}
	return nil
}

// logNowAndThen records the offsets of the batch if that is due. Only then may the sources forget something:
// what came before the record that is now the newest but one.
func (d *driver) logNowAndThen(ctx context.Context) error {
	a := d.async
	now := d.s.now()
	a.logged = a.interval <= 0 || a.last.IsZero() || now.Sub(a.last) >= a.interval
	d.constructed = true
	if !a.logged {
		return nil
	}
	a.last = now
	if err := d.cp.LogOffsets(d.slot(), d.entry()); err != nil {
		return errs.Wrap(err, "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE.OFFSET_LOG", "batchId", d.batch, "checkpointLocation", d.p.checkpoint)
	}
	for i, x := range d.sources {
		if a.ends != nil && a.ends[i] != "" {
			if err := x.src.Commit(ctx, a.ends[i]); err != nil {
				return err
			}
		}
	}
	a.ends = make([]sources.Offset, len(d.sources))
	for i, x := range d.sources {
		a.ends[i] = x.end
	}
	return nil
}

// commitNowAndThen records the end of a batch whose offsets are recorded; of another it notes that it has no
// record.
func (d *driver) commitNowAndThen(b *store.Batch, mark int64) error {
	a := d.async
	if !a.logged {
		d.skipped++
		return nil
	}
	a.logged = false
	if err := b.Commit(store.CommitEntry{NextBatchWatermarkMs: mark, Sent: d.samples.sent(d.batch)}, nil); err != nil {
		return errs.Wrap(err, "STREAMING_CHECKPOINT_LOG_WRITE_FAILURE.COMMIT_LOG", "batchId", d.batch, "checkpointLocation", d.p.checkpoint)
	}
	return nil
}
