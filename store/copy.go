package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"

	"streamlab/errs"
	"streamlab/internal/vfs"
)

// CopyTo makes a checkpoint at dir, which must not exist, that holds this one's past up to a retained
// batch: records, state and source logs, each older retained batch included. Its next batch is planned
// afresh. The copy is a query of its own and has another id, so that a sink does not take its batches for
// those of the original. The original may go on meanwhile.
func (c *Checkpoint) CopyTo(dir string, batch int64) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	m := newMeta()
	m.ForkOf, m.Batch = c.meta.ID, &batch
	c.life.RLock()
	defer c.life.RUnlock()
	if c.closed {
		return errs.New("CHECKPOINT_CLOSED", "checkpointLocation", c.dir)
	}
	return c.copyTo(dir, batch, m)
}

// copyTo makes the copy with m as its META, which comes last: without it there is no checkpoint. The
// caller holds life.
func (c *Checkpoint) copyTo(dir string, batch int64, m metaFile) (err error) {
	// An open view of the oldest batch keeps all versions in place while they are read.
	c.mu.Lock()
	guard := &View{c: c}
	from, head := c.from, c.head
	if batch < from || batch > head || head < 0 {
		err = c.notRetained(batch)
	} else {
		c.views[guard] = from
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	defer func() {
		c.mu.Lock()
		delete(c.views, guard)
		c.mu.Unlock()
	}()
	if _, err := vfs.OS.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return errs.New("CHECKPOINT_LOCATION_EXISTS", "path", dir)
	}
	if err := vfs.MkdirAll(vfs.OS, dir, 0o700); err != nil {
		return errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	db, err := openBadger(filepath.Join(dir, "db"), Options{})
	if err != nil {
		return errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	last, err := c.copyRecords(db, batch)
	if err = errors.Join(err, db.Close()); err != nil {
		return errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	a := anchor{lastPlanned: batch, fingerprint: last.Offset, lastCommitted: batch, chain: last.digest}
	if err := createAnchor(dir, a); err != nil {
		return errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	if err := m.write(dir); err != nil {
		return errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	return nil
}

// copyRecords copies every version up to that of batch and gives the last commit record as it is in the
// copy.
func (c *Checkpoint) copyRecords(db *badger.DB, batch int64) (*commitRecord, error) {
	src := c.db.NewTransactionAt(version(batch), false)
	defer src.Discard()
	to := db.NewManagedWriteBatch()
	defer to.Cancel()
	final := batchKey(keyCommit, batch)
	o := badger.DefaultIteratorOptions
	o.AllVersions = true
	o.PrefetchValues = false
	it := src.NewIterator(o)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		item := it.Item()
		k := item.KeyCopy(nil)
		if k[0] == keyProgress || bytes.Equal(k, final) || item.Version() > version(batch) {
			continue
		}
		if item.IsDeletedOrExpired() {
			if err := to.DeleteAt(k, item.Version()); err != nil {
				return nil, err
			}
			continue
		}
		v, err := item.ValueCopy(nil)
		if err != nil {
			return nil, err
		}
		if err := to.SetEntryAt(badger.NewEntry(k, v), item.Version()); err != nil {
			return nil, err
		}
	}
	// Progress is written with the batch after its own, hence is found above.
	now := c.db.NewTransactionAt(latest, false)
	defer now.Discard()
	for n := max(batch-c.retain, 0); n <= batch; n++ {
		if p, ok := c.waitingProgress(now, n); ok {
			e := badger.NewEntry(batchKey(keyProgress, n), frame(flagSegmentEnd|flagGroupEnd, p))
			if err := to.SetEntryAt(e, version(n)); err != nil {
				return nil, err
			}
		}
	}
	_, payload, err := fetch(src, final)
	if err != nil {
		return nil, err
	}
	if payload == nil {
		return nil, c.missing("commit", batch)
	}
	r, err := decodeCommit(payload)
	if err != nil {
		return nil, err
	}
	// The offsets of the next batch may have travelled with this record; the copy plans that batch afresh.
	record, d, err := encodeCommit(&r.commitHeader, nil, []Segment{r.inline})
	if err != nil {
		return nil, err
	}
	r.digest, r.next = d, nil
	if err := to.SetEntryAt(badger.NewEntry(final, record), version(batch)); err != nil {
		return nil, err
	}
	return r, to.Flush()
}

func (c *Checkpoint) waitingProgress(txn *badger.Txn, n int64) ([]byte, bool) {
	c.mu.Lock()
	p, ok := c.progress[n]
	c.mu.Unlock()
	if ok {
		return p, true
	}
	_, p, err := fetch(txn, batchKey(keyProgress, n))
	return p, err == nil && p != nil
}

// rewindSuffix names the copy that takes the checkpoint's place, until it has.
const rewindSuffix = ".rewind"

// Rewind goes back to a retained batch: it becomes Head, and what came after is gone from here. The
// folder as it was is kept beside it, as <dir>.before-<time>, which the newest of Audits names. Open views
// end. The id stays. Rewind may not be called while a batch is under way.
func (c *Checkpoint) Rewind(batch int64) error {
	c.mu.Lock()
	newest := max(c.head, c.planned)
	c.mu.Unlock()
	return c.goBack(batch, Audit{Action: "rewind", Batch: batch, From: batch + 1, To: newest})
}

// goBack puts a copy up to batch in the checkpoint's place, opens it, and notes why.
func (c *Checkpoint) goBack(batch int64, why Audit) error {
	if c.dir == "" {
		return errs.New("UNSUPPORTED_FEATURE", "feature", "rewinding a checkpoint in memory")
	}
	c.life.Lock()
	defer c.life.Unlock()
	if err := c.usable(); err != nil {
		return err
	}
	if c.salvage == nil {
		if err := c.settle(); err != nil {
			return err
		}
	}
	copied := c.dir + rewindSuffix
	if err := clearRewind(c.dir); err != nil {
		return errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", copied)
	}
	if err := c.copyTo(copied, batch, c.meta); err != nil {
		return err
	}
	lock, err := takeLock(copied)
	if err != nil {
		return err
	}
	old := c.lock
	c.lock = lock
	err = errors.Join(c.db.Close(), c.wal.close(), c.anchor.close())
	c.db, c.wal, c.anchor = nil, nil, nil
	if err == nil {
		why.Kept, err = swap(c.dir, copied)
	}
	err = errors.Join(err, old.Close())
	if err == nil {
		c.salvage = nil
		c.reset()
		err = c.open()
	}
	if err == nil {
		err = c.audit(why)
	}
	if err != nil {
		c.release()
		c.closed = true
		if errs.As(err) == nil {
			err = errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", c.dir)
		}
		return err
	}
	return nil
}

// aside is the name under which a folder is kept.
func aside(dir string) string {
	return dir + ".before-" + strings.ReplaceAll(time.Now().UTC().Format("20060102T150405.000000"), ".", "-") +
		"-" + strconv.Itoa(unix.Getpid())
}

// swap puts copied in the place of dir, in one step where the file system can. Where it cannot, a crash
// between the two steps is repaired by finishRewind. kept is where dir is now.
func swap(dir, copied string) (kept string, err error) {
	parent := filepath.Dir(dir)
	kept = aside(dir)
	err = exchange(copied, dir)
	if err == nil {
		err = vfs.OS.Rename(copied, kept)
	} else if err = vfs.OS.Rename(dir, kept); err == nil {
		err = vfs.OS.Rename(copied, dir)
	}
	return kept, errors.Join(err, vfs.OS.SyncDir(parent))
}

// finishRewind completes a swap that a crash interrupted after the old folder was put aside.
func finishRewind(dir string) error {
	if _, err := vfs.OS.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := vfs.OS.Stat(filepath.Join(dir+rewindSuffix, "META")); err != nil {
		return nil // there was none
	}
	if err := vfs.OS.Rename(dir+rewindSuffix, dir); err != nil {
		return err
	}
	return vfs.OS.SyncDir(filepath.Dir(dir))
}

// clearRewind makes room for a copy. A whole checkpoint found there is kept: it may be the folder as it
// was before an earlier rewind whose last step was interrupted.
func clearRewind(dir string) error {
	copied := dir + rewindSuffix
	if _, err := vfs.OS.Stat(filepath.Join(copied, "META")); err == nil {
		return vfs.OS.Rename(copied, aside(dir))
	}
	return vfs.OS.RemoveAll(copied)
}

// describe prints a key for people.
func describe(k []byte) string {
	if n, ok := batchOfKey(k); ok {
		return fmt.Sprintf("%c/%d", k[0], n)
	}
	if g, part, ok := groupOfKey(k); ok && strings.IndexByte("dxbk", k[0]) >= 0 {
		return fmt.Sprintf("%c of batch %d, operator %d, range %d, store %q, part %d", k[0], g.batch,
			g.shard.Operator, g.shard.Range, g.shard.Store, part)
	}
	return fmt.Sprintf("%q", k)
}
