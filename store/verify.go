package store

import (
	"context"
	"errors"

	"github.com/dgraph-io/badger/v4"

	"streamlab/errs"
)

// Verify reads everything that the database holds and reports what is not whole, all of it joined: each
// version of each record against its checksum, and the segments of each retained batch against the sums in
// its commit record. The chain of the logs and the presence of the segments were checked by Open.
func (c *Checkpoint) Verify() error { return c.VerifyWith(context.Background(), nil) }

// VerifyWith is Verify that says how far it is: done of total bytes, of which total is an estimate that done
// does not exceed. It ends with ctx's error when that ends. The checkpoint may be in use meanwhile.
func (c *Checkpoint) VerifyWith(ctx context.Context, progress func(done, total int64)) error {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	lsm, _ := c.size()
	total := max(lsm, 1)
	found, done, err := c.verifyRecords(ctx, func(done int64) { progress(min(done, total), 2*total) })
	if err != nil {
		return err
	}
	total = max(done, 1) // what records take is known now; the segments are most of it
	from, to := c.Retained()
	for n := from; n <= to && n >= 0; n++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v := c.At(n)
		err := v.with(v.checkGroupSums)
		v.Close()
		if errs.Has(err, "CHECKPOINT_CLOSED") {
			return err
		}
		if !errs.Has(err, "CHECKPOINT_BATCH_NOT_RETAINED") { // it has just left the retained range
			found = append(found, err)
		}
		progress(total+total*(n-from+1)/(to-from+1), 2*total)
	}
	return errors.Join(found...)
}

// size is what the database takes in bytes.
func (c *Checkpoint) size() (lsm, vlog int64) {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.closed {
		return 0, 0
	}
	return c.db.Size()
}

func (c *Checkpoint) verifyRecords(ctx context.Context, progress func(done int64)) (found []error, done int64, err error) {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.closed {
		return nil, 0, errs.New("CHECKPOINT_CLOSED", "checkpointLocation", c.dir)
	}
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	o := badger.DefaultIteratorOptions
	o.AllVersions = true
	o.PrefetchValues = false
	it := txn.NewIterator(o)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if ctx.Err() != nil {
			return found, done, ctx.Err()
		}
		item := it.Item()
		if item.IsDeletedOrExpired() {
			continue
		}
		err := item.Value(func(v []byte) error {
			done += int64(len(v))
			_, _, err := unframe(v)
			return err
		})
		if err != nil {
			found = append(found, corrupt(c.dir, "the record "+describe(item.Key())+" is not whole", err))
		}
		progress(done)
	}
	return found, done, nil
}
