package store

import (
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"streamlab/errs"
	"streamlab/internal/vfs"
)

// Badger writes its log and its tables through memory maps of files that have no blocks yet. On a full disk
// such a write is no error that could be returned but a SIGBUS, and one query would end the whole program. So
// the room that a write can come to need is asked for before it: the write itself, the memtables that it may
// push into tables, and the tables that those may push together.

const (
	memtable  = 16 << 20
	memtables = 2
	roomOpen  = 1 << 20   // headers of new files
	roomMerge = 128 << 20 // what compactions hold twice at most, about a full level 0
)

// freeBytes is the room on the file system of dir; ok is false where it cannot be told.
func freeBytes(dir string) (free int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// roomFor refuses with DISK_FULL if there is less than need on the disk.
func (c *Checkpoint) roomFor(need int64) error {
	if c.dir == "" {
		return nil
	}
	tell := c.free
	if tell == nil {
		tell = freeBytes
	}
	if free, ok := tell(c.dir); ok && free < need {
		return errs.Wrap(unix.ENOSPC, "DISK_FULL", "path", c.dir, "free", free, "needed", need)
	}
	return nil
}

// roomToOpen asks for the room that opening the database in path needs: logs that a crash left become tables.
func (c *Checkpoint) roomToOpen(path string) error {
	need := int64(roomOpen)
	logs, err := filepath.Glob(filepath.Join(path, "*.mem"))
	if err != nil {
		return err
	}
	for _, name := range logs {
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err == nil {
			need += st.Blocks * 512 // they are longer than what is in them
		}
	}
	c.filled = need - roomOpen
	return c.roomFor(need)
}

// roomToWrite asks for the room of writes, and counts them.
func (c *Checkpoint) roomToWrite(writes []write) error {
	for _, w := range writes {
		c.filled += int64(len(w.key)+len(w.value)) + 64
	}
	// What is written lies in the log, and in a memtable that closing writes out.
	need := roomOpen + 2*min(c.filled, memtables*memtable)
	if c.filled > memtable {
		tables, _ := c.db.Size()
		need += min(tables, roomMerge)
	}
	return c.roomFor(need)
}

// roomToClose asks for the room of the tables that closing the database writes.
func (c *Checkpoint) roomToClose() error {
	if c.filled == 0 {
		return nil
	}
	return c.roomFor(roomOpen/2 + min(c.filled, memtables*memtable))
}

// left holds, by folder, checkpoints that could not be closed for lack of room. Whoever opens one of them
// again in this program closes it first; if the program ends before, its log is read as after a crash.
var left sync.Map

// leave ends c without closing its database: what it has written is safe in the log, and stays open and
// locked. A temporary checkpoint goes, and with it the want of room. The caller holds life.
func (c *Checkpoint) leave(err error) error {
	c.mu.Lock()
	if c.broken == nil {
		c.broken = err
	}
	c.mu.Unlock()
	if c.opts.Temporary {
		c.closed = true
		return vfs.OS.RemoveAll(c.dir)
	}
	left.Store(c.dir, c)
	return err
}

// closeLeft closes a checkpoint that was left at dir, if there is room now.
func closeLeft(dir string) error {
	c, ok := left.LoadAndDelete(dir)
	if !ok {
		return nil
	}
	return c.(*Checkpoint).Close()
}
