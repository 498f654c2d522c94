package store

import "encoding/binary"

// The records that end a small micro-batch, or plan one, ride in an anchor: one page that is written over another,
// which changes nothing of the file but its content. That makes them durable with a single write and a single flush
// of the device; syncing the log of the database takes about twice as much, because the log grows, and the anchor
// came on top. They are put into the database as well, at the same time, and the log is synced beside the batches
// that follow, before the anchor's slot is needed again. Should the machine stop before, the anchors that are not
// below the floor tell what the log may have lost, and the next Open writes it again.

// encodeWrites packs writes at a version; nil if they do not fit into an anchor.
func encodeWrites(v uint64, writes []write) []byte {
	size := 16
	for _, w := range writes {
		size += len(w.key) + len(w.value) + 10
	}
	if size > mostRecords {
		return nil
	}
	b := make([]byte, 0, size)
	b = binary.AppendUvarint(b, v)
	for _, w := range writes {
		b = binary.AppendUvarint(b, uint64(len(w.key)))
		b = append(b, w.key...)
		if w.value == nil {
			b = binary.AppendUvarint(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(w.value))+1)
		b = append(b, w.value...)
	}
	return b
}

// decodeWrites reads what encodeWrites has packed; what it gives aliases b.
func decodeWrites(b []byte) (v uint64, writes []write, err error) {
	number := func() uint64 {
		n, k := binary.Uvarint(b)
		if k <= 0 {
			err, b = errDamaged, nil
			return 0
		}
		b = b[k:]
		return n
	}
	text := func(n uint64) []byte {
		if n > uint64(len(b)) {
			err, b = errDamaged, nil
			return nil
		}
		t := b[:n:n]
		b = b[n:]
		return t
	}
	v = number()
	for err == nil && len(b) > 0 {
		w := write{key: text(number())}
		if n := number(); n > 0 {
			w.value = text(n - 1)
		}
		writes = append(writes, w)
	}
	return v, writes, err
}

// record writes the records that end with one on which a batch depends, and after which the anchor is to say ends.
// When it returns they are durable, and with anchored the anchor is written, too.
func (c *Checkpoint) record(batch int64, writes []write, ends anchor) (anchored bool, err error) {
	if c.wal == nil || c.anchor == nil || !c.anchor.sync {
		return false, c.write(batch, writes, "")
	}
	if ends.records = encodeWrites(version(batch), writes); ends.records == nil {
		return false, c.write(batch, writes, "")
	}
	c.work()
	err = c.roomToWrite(writes)
	if err == nil {
		err = c.anchor.wait()
	}
	if err == nil {
		err = c.raiseFloor()
	}
	if err != nil {
		return false, c.fail(err, batch)
	}
	nothing := func(string) error { return nil }
	c.anchor.submit(ends, nothing)
	err = putOnce(c.db, version(batch), writes) // while the device writes
	if err == nil {
		err = c.wal.follow()
	}
	if err2 := c.anchor.wait(); err == nil {
		err = err2
	}
	if err != nil {
		return false, c.fail(err, batch)
	}
	return true, nil
}

// raiseFloor lets the log be synced when half of the slots hold records that it may lose, and waits for that before
// one of them is needed.
func (c *Checkpoint) raiseFloor() error {
	f := c.anchor
	switch used := f.last.seq - f.floor; {
	case c.wal.flight != nil && (used >= slotCount-2 || c.wal.ended()):
		if err := c.wal.join(); err != nil {
			return err
		}
		f.floor = max(f.floor, c.synced)
	case c.wal.flight == nil && used >= slotCount/2:
		c.synced = f.last.seq
		c.wal.begin()
	}
	return nil
}

// replay writes what anchors tell of and the database does not have: the machine stopped before its log was synced.
func (c *Checkpoint) replay() error {
	all := true
	var lost [][]write
	var versions []uint64
	for _, a := range c.anchor.lost {
		if a.records == nil {
			continue
		}
		v, writes, err := decodeWrites(a.records)
		if err != nil || len(writes) == 0 {
			return corrupt(c.dir, "the records in ANCHOR are not readable", err)
		}
		lost, versions = append(lost, writes), append(versions, v)
		all = all && c.holds(writes[len(writes)-1].key, v)
	}
	c.anchor.lost = nil
	if all {
		return nil
	}
	// If the database lacks more than these, they would come after a hole. It is found out without them, see
	// checkAnchor.
	if n, ok := batchOfKey(lost[0][len(lost[0])-1].key); !ok || n > 0 && !c.has(batchKey(keyCommit, n-1)) {
		return nil
	}
	for i, writes := range lost { // in order, and all of them: what is there already becomes what it is
		if err := putOnce(c.db, versions[i], writes); err != nil {
			return err
		}
		if err := c.wal.follow(); err != nil {
			return err
		}
	}
	return c.wal.sync()
}

// has says whether the database has a key.
func (c *Checkpoint) has(key []byte) bool {
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	_, err := txn.Get(key)
	return err == nil
}

// holds says whether the database has a key as of a version.
func (c *Checkpoint) holds(key []byte, v uint64) bool {
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	item, err := txn.Get(key)
	return err == nil && item.Version() == v
}
