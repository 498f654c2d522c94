package store

import (
	"iter"

	"streamlab/errs"
)

// Offsets reads what a batch reads or read; ok is false if it is not retained or not yet logged.
func (c *Checkpoint) Offsets(n int64) (OffsetEntry, bool, error) {
	if n < 0 {
		return OffsetEntry{}, false, nil
	}
	payload, ok, err := c.get(batchKey(keyOffsets, n))
	if err == nil && !ok && n > 0 {
		var r *commitRecord // the record may have travelled with the commit before
		if r, err = c.commitRecord(n - 1); r != nil {
			payload, ok = r.next, r.next != nil
		}
	}
	if err != nil || !ok {
		return OffsetEntry{}, false, err
	}
	r, _, err := decodeOffsets(payload)
	if err != nil {
		return OffsetEntry{}, false, corrupt(c.dir, "an offset record is not readable", err)
	}
	return r.Entry, true, nil
}

// commitRecord reads c/<n>; nil if there is none.
func (c *Checkpoint) commitRecord(n int64) (*commitRecord, error) {
	payload, ok, err := c.get(batchKey(keyCommit, n))
	if err != nil || !ok {
		return nil, err
	}
	r, err := decodeCommit(payload)
	if err != nil {
		return nil, corrupt(c.dir, "a commit record is not readable", err)
	}
	return r, nil
}

// Commits reads how a batch ended; ok is false if it is not retained or not committed.
func (c *Checkpoint) Commits(n int64) (CommitEntry, bool, error) {
	if from, to := c.Retained(); n < from || n > to {
		return CommitEntry{}, false, nil
	}
	r, err := c.commitRecord(n)
	if err != nil || r == nil {
		return CommitEntry{}, false, err
	}
	return r.Entry, true, nil
}

// SetProgress keeps the progress of a batch, as JSON. It is written with the records of the next batch or
// at Close, so a crash may lose it.
func (c *Checkpoint) SetProgress(batch int64, json []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress[batch] = json
}

// Progress reads the progress of a batch; ok is false if none was kept.
func (c *Checkpoint) Progress(batch int64) ([]byte, bool) {
	c.mu.Lock()
	p, ok := c.progress[batch]
	c.mu.Unlock()
	if ok {
		return p, true
	}
	p, ok, err := c.get(batchKey(keyProgress, batch))
	return p, ok && err == nil
}

// takeProgress turns waiting progress into writes. The caller holds mu.
func (c *Checkpoint) takeProgress() (writes []write) {
	for n, p := range c.progress {
		if len(p) <= partSize { // a report larger than that is nobody's reading
			writes = append(writes, write{batchKey(keyProgress, n), frame(flagSegmentEnd|flagGroupEnd, p)})
		}
		delete(c.progress, n)
	}
	return writes
}

// SetMeta keeps a record about the query, such as its plan, durably. Copies of the checkpoint as of an
// older batch get the record as it was then.
func (c *Checkpoint) SetMeta(key string, value []byte) error {
	c.life.RLock()
	defer c.life.RUnlock()
	c.mu.Lock()
	err, batch := c.usable(), c.head+1
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if len(key) > 1000 || len(value) > partSize {
		return errs.New("INTERNAL_ERROR", "message", "a meta record must stay below 512 KiB")
	}
	return c.write(batch, []write{{metaKey(key), frame(flagSegmentEnd|flagGroupEnd, value)}}, "")
}

// Meta reads what SetMeta kept; ok is false if there is none.
func (c *Checkpoint) Meta(key string) ([]byte, bool) {
	p, ok, err := c.get(metaKey(key))
	return p, ok && err == nil
}

// History yields what is known of the retained batches and of a pending one, newest first. An error ends
// it.
func (c *Checkpoint) History() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		from, head := c.Retained()
		c.mu.Lock()
		newest := c.planned
		c.mu.Unlock()
		for n := newest; n >= from && n >= 0; n-- {
			e, ok, err := c.entry(n, head)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !ok {
				return // the oldest have just left the retained range
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (c *Checkpoint) entry(n, head int64) (e Entry, ok bool, err error) {
	e.Batch = n
	if e.Offsets, ok, err = c.Offsets(n); err != nil || !ok {
		return e, false, err
	}
	if n <= head {
		r, err := c.commitRecord(n)
		if err != nil || r == nil {
			return e, false, err
		}
		e.Commit = &r.Entry
	}
	e.Progress, _ = c.Progress(n)
	return e, true, nil
}
