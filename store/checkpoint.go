package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"

	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/internal/safego"
	"streamlab/internal/vfs"
)

// A Checkpoint is an open checkpoint location. Its writing methods belong to one goroutine; the others
// may be called from any. After a failed write it refuses everything until it is opened again: what is on
// disk decides then, not what is remembered here.
type Checkpoint struct {
	dir    string // absolute; "" in memory
	opts   Options
	retain int64
	lock   *os.File
	anchor *anchorFile // nil in memory
	meta   metaFile

	// life is held for reading by whoever touches db, so that Close waits for them.
	life   sync.RWMutex
	db     *badger.DB
	wal    *walSync // nil if records need no sync
	closed bool

	mu       sync.Mutex
	broken   error
	head     int64 // last committed batch, -1 if none
	chain    digest
	planned  int64 // last logged batch, -1 if none
	print    digest
	pending  *OffsetEntry  // of planned, if that is head+1
	from     int64         // oldest retained batch
	low      int64         // lowest commit record not yet deleted
	purged   int64         // offset and progress records below are deleted
	long     map[int64]int // batch → further parts of its offset record, if it has any
	shards   map[Shard]*shardIndex
	inline   map[int64]int           // commit record → shards whose inline segments are not covered by bases
	opened   map[int64]*commitRecord // those of inline that were read when it was opened, for the first view
	small    map[int64][]staged      // of commit records of this run: inline segments, if they are few bytes
	drops    []write                 // superfluous keys, to be deleted with the next commit
	purging  []write                 // records past retention, likewise; the last commit record says they may go
	progress map[int64][]byte
	views    map[*View]int64
	logs     logBuffer
	states   map[Shard]*resident

	resting bool // see Rest

	synced uint64 // the anchor up to which the log is being synced, see raiseFloor

	filled int64 // bytes written since the database was opened, at least; see roomToWrite

	salvage *int64 // records of later batches are not looked at, nor is the anchor; see Forget

	// Tests crash at the hook (nil otherwise), say how full the disk is and lower the limits.
	free      func(dir string) (int64, bool)
	hook      func(point string) error
	inlineMax int
	slack     int64
	moveAfter int64
}

// Open opens the checkpoint at dir for this caller alone and removes what a crash left; a dir without
// one gets a new one. Before any side effect on an existing checkpoint it refuses one that is open already
// (CHECKPOINT_IN_USE). A checkpoint that is damaged, or that holds less than it once did, is refused by
// name: CHECKPOINT_CORRUPT, CHECKPOINT_LOST_COMMITS, CHECKPOINT_LOG_GAP, CHECKPOINT_LOG_ENTRY_MISSING.
func Open(dir string, o Options) (*Checkpoint, error) {
	c := &Checkpoint{opts: o, retain: o.MinBatchesToRetain, inlineMax: inlineLimit, slack: stateSlack,
		moveAfter: moveAfter}
	c.reset()
	if c.retain <= 0 {
		c.retain = 100
	}
	if o.InMemory {
		c.meta = newMeta()
		db, err := openBadger("", o)
		if err != nil {
			return nil, errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", "(memory)")
		}
		c.db = db
		return c, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	c.dir = dir
	if err := closeLeft(dir); err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		c.release()
		if e := errs.As(err); e == nil {
			err = errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
		}
		return nil, err
	}
	return c, nil
}

// reset forgets everything that is read from disk.
func (c *Checkpoint) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.head, c.chain, c.planned, c.print, c.pending = -1, digest{}, -1, digest{}, nil
	c.from, c.low, c.purged, c.drops, c.purging = 0, 0, 0, nil, nil
	c.long, c.inline, c.shards = map[int64]int{}, map[int64]int{}, map[Shard]*shardIndex{}
	c.small = map[int64][]staged{}
	c.progress, c.views, c.states = map[int64][]byte{}, map[*View]int64{}, map[Shard]*resident{}
}

// open does Open's work on a folder.
func (c *Checkpoint) open() error {
	if err := finishRewind(c.dir); err != nil {
		return err
	}
	if err := vfs.MkdirAll(vfs.OS, c.dir, 0o700); err != nil {
		return err
	}
	if c.lock == nil {
		lock, err := takeLock(c.dir)
		if err != nil {
			return err
		}
		c.lock = lock
	}
	meta, found, err := readMeta(c.dir)
	if err != nil {
		return err
	}
	path := filepath.Join(c.dir, "db")
	if found {
		// Badger would make an empty database where there is none.
		if _, err := vfs.OS.Stat(filepath.Join(path, "MANIFEST")); errors.Is(err, fs.ErrNotExist) {
			return corrupt(c.dir, "db/MANIFEST is missing", nil)
		}
		var ok bool
		if c.anchor, ok, err = openAnchor(c.dir, c.opts.power()); errors.Is(err, fs.ErrNotExist) && c.salvage == nil {
			return corrupt(c.dir, "ANCHOR is missing", nil)
		}
		if err != nil && c.salvage == nil {
			return err
		}
		if !ok && c.salvage == nil {
			return corrupt(c.dir, "no slot of ANCHOR is whole", nil)
		}
		c.meta = meta
	}
	if err := c.roomToOpen(path); err != nil {
		return err
	}
	if found && c.opts.power() && c.salvage == nil { // whoever was killed may have written more than it has synced
		if err := syncLogs(path); err != nil {
			return err
		}
	}
	var anchor *safego.Handle
	if !found && c.salvage == nil && isNew(c.dir, path) { // as long as the database takes to open
		anchor = safego.Go("first anchor", func() error { return createAnchor(c.dir, c.ends()) })
	}
	c.db, err = openBadger(path, c.opts)
	if anchor != nil {
		if err2 := anchor.Wait(); err == nil && err2 != nil {
			return err2
		}
	}
	if err != nil {
		if badEnvironment(err) {
			return err
		}
		return corrupt(c.dir, "the database does not open", err)
	}
	if c.opts.power() {
		if c.wal, err = followWAL(path); err != nil {
			return err
		}
	}
	if found && c.salvage == nil {
		if err := c.replay(); err != nil {
			return err
		}
	}
	if err := c.recover(); err != nil {
		return err
	}
	if found {
		if c.salvage != nil {
			return nil // only to be copied
		}
		if c.anchor.first {
			if err := errors.Join(c.anchor.close(), createAnchor(c.dir, c.ends())); err != nil {
				return err
			}
			c.anchor, _, err = openAnchor(c.dir, c.opts.power())
			return err
		}
		// After a crash the anchor may be one batch behind.
		if a := c.ends(); !c.anchor.says(a) {
			c.anchor.start(a, c.point)
			return c.anchor.wait()
		}
		return nil
	}
	if c.planned >= 0 || c.head >= 0 || c.salvage != nil { // whoever salvages changes nothing, nor begins anew
		return corrupt(c.dir, "META is missing", nil)
	}
	if anchor == nil {
		if err := createAnchor(c.dir, c.ends()); err != nil {
			return err
		}
	}
	if c.anchor, _, err = openAnchor(c.dir, c.opts.power()); err != nil {
		return err
	}
	c.meta = newMeta()
	return c.meta.write(c.dir)
}

// isNew says that there is neither a database nor an anchor, which might tell of what is missing.
func isNew(dir, db string) bool {
	for _, path := range []string{db, filepath.Join(dir, "ANCHOR")} {
		if _, err := vfs.OS.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// badEnvironment tells errors of the machine, which may pass, from damage, which will not.
func badEnvironment(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EMFILE)
}

// release lets go of whatever open got hold of.
func (c *Checkpoint) release() {
	if c.db != nil {
		_ = c.db.Close()
	}
	_ = c.wal.close()
	_ = c.anchor.close()
	if c.lock != nil {
		_ = c.lock.Close()
	}
}

// point passes a named crash point.
func (c *Checkpoint) point(name string) error {
	if c.hook != nil {
		if err := c.hook(name); err != nil {
			return err
		}
	}
	return fault.Point(name)
}

// ends is what the anchor is to say now. The caller holds mu or owns c.
func (c *Checkpoint) ends() anchor {
	return anchor{lastPlanned: c.planned, fingerprint: c.print, lastCommitted: c.head, chain: c.chain}
}

// ID is the query's id: made when the checkpoint was, and the same for all its runs.
func (c *Checkpoint) ID() string { return c.meta.ID }

// Dir is the folder, absolute; "" for a checkpoint in memory.
func (c *Checkpoint) Dir() string { return c.dir }

// Head is the last committed batch; ok is false if there is none.
func (c *Checkpoint) Head() (batch int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head, c.head >= 0
}

// Pending is the batch after Head if its offsets were logged: it must be run with these.
func (c *Checkpoint) Pending() (OffsetEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		return OffsetEntry{}, false
	}
	return *c.pending, true
}

// Retained is the range of committed batches that can be read, both inclusive; to < from if there is
// none.
func (c *Checkpoint) Retained() (from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from, c.head
}

// usable reports why c takes no more writes.
func (c *Checkpoint) usable() error {
	if c.closed {
		return errs.New("CHECKPOINT_CLOSED", "checkpointLocation", c.dir)
	}
	return c.broken
}

// fail makes c refuse everything from now on: after a failed write nobody knows what is on disk.
func (c *Checkpoint) fail(err error, batch int64) error {
	e := err
	if !errs.Has(err, "DISK_FULL") { // which comes before anything is written
		e = errs.Wrap(err, "FSYNC_FAILED", "path", c.dir, "batchId", batch)
	}
	c.mu.Lock()
	if c.broken == nil {
		c.broken = e
	}
	c.mu.Unlock()
	return e
}

// write puts writes at the version of batch, each transaction durable before the next; between is a point's
// name, "" for none.
func (c *Checkpoint) write(batch int64, writes []write, between string) error {
	return c.put(true, batch, writes, between)
}

// writeTogether is write for records that count for nothing until all of them are durable.
func (c *Checkpoint) writeTogether(batch int64, writes []write, between string) error {
	return c.put(false, batch, writes, between)
}

func (c *Checkpoint) put(each bool, batch int64, writes []write, between string) error {
	pause := func() error { return nil }
	if between != "" {
		pause = func() error { return c.point(between) }
	}
	c.work()
	err := c.roomToWrite(writes)
	if err == nil {
		err = put(c.db, c.wal, each, version(batch), writes, pause)
	}
	if err == nil && c.anchor != nil && len(writes) > 0 {
		c.anchor.floor = c.anchor.last.seq
	}
	if err != nil {
		return c.fail(err, batch)
	}
	return nil
}

// LogOffsets records what batch reads. It is durable when LogOffsets returns, and before that the batch
// must have no visible effect. batch is the one after Head.
func (c *Checkpoint) LogOffsets(batch int64, e OffsetEntry) error {
	c.life.RLock()
	defer c.life.RUnlock()
	c.mu.Lock()
	err := c.usable()
	if err == nil && (batch != c.head+1 || c.planned >= batch) {
		err = outOfOrder("offsets", batch, c.head, c.planned)
	}
	payload, merr := json.Marshal(offsetRecord{Batch: batch, Prev: c.print, Entry: e})
	var riders []write
	if err = errors.Join(err, merr); err == nil {
		riders = c.takeProgress()
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err := c.point("plan.before_wal"); err != nil {
		return c.fail(err, batch)
	}
	ends := anchor{lastPlanned: batch, fingerprint: digestOf(payload), lastCommitted: c.head, chain: c.chain}
	put := func(writes []write) error { _, err := c.record(batch, writes, ends); return err }
	if err := c.flushLogsBy(put, append(riders, long(batchKey(keyOffsets, batch), payload)...)); err != nil {
		return err
	}
	if err := c.point("plan.after_wal"); err != nil {
		return c.fail(err, batch)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logged(batch, e, payload, true)
	return nil
}

// logged takes note of an offset record on disk. The caller holds mu.
func (c *Checkpoint) logged(batch int64, e OffsetEntry, payload []byte, alone bool) {
	c.planned, c.print, c.pending = batch, digestOf(payload), &e
	if n := (len(payload) - 1) / partSize; n > 0 && alone {
		c.long[batch] = n
	}
}

func outOfOrder(what string, batch, head, planned int64) error {
	return errs.New("INTERNAL_ERROR", "message", what+" of batch "+strconv.FormatInt(batch, 10)+
		" come out of order: committed "+strconv.FormatInt(head, 10)+", logged "+strconv.FormatInt(planned, 10))
}

// Close writes what was kept for the next batch and lets go of the folder; a second call does nothing.
func (c *Checkpoint) Close() error {
	c.life.Lock()
	defer c.life.Unlock()
	if c.closed {
		return nil
	}
	var err error
	if c.broken == nil {
		err = c.settle()
	}
	if err2 := c.roomToClose(); err2 != nil {
		return c.leave(err2)
	}
	c.closed = true
	err = errors.Join(err, c.db.Close(), c.wal.close())
	if c.dir == "" {
		return err
	}
	err = errors.Join(err, c.anchor.close(), c.lock.Close())
	if c.opts.Temporary {
		err = errors.Join(err, vfs.OS.RemoveAll(c.dir))
	}
	return err
}

// settle writes everything that waits for a next batch. The caller holds life.
func (c *Checkpoint) settle() error {
	c.mu.Lock()
	riders, batch := c.takeProgress(), c.head+1
	a := c.ends()
	c.mu.Unlock()
	if err := c.flushLogs(batch); err != nil {
		return err
	}
	if err := c.write(batch, riders, ""); err != nil {
		return err
	}
	if c.anchor == nil {
		return nil
	}
	if err := c.wal.sync(); err != nil { // what only the anchors have made durable
		return c.fail(err, batch)
	}
	if err := c.anchor.wait(); err != nil {
		return c.fail(err, batch)
	}
	if !c.anchor.says(a) {
		c.anchor.start(a, c.point)
		if err := c.anchor.wait(); err != nil {
			return c.fail(err, batch)
		}
	}
	return nil
}
