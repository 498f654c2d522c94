package store

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"streamlab/errs"
)

// A SourceLog is what one source remembers beyond an offset: entries under its own counter, and names to
// look up. What is added can be read at once; it becomes durable before the next offset record does, and
// at Close. Entries added for a batch that was never logged stay.
type SourceLog struct {
	c      *Checkpoint
	source int
}

// A logBuffer holds what source logs have added since the last flush.
type logBuffer struct {
	mu   sync.Mutex
	recs map[string][]byte // by key
}

// SourceLog opens the log of the k-th source of the query.
func (c *Checkpoint) SourceLog(k int) *SourceLog { return &SourceLog{c, k} }

func (c *Checkpoint) buffer(key, value []byte) {
	c.logs.mu.Lock()
	defer c.logs.mu.Unlock()
	if c.logs.recs == nil {
		c.logs.recs = map[string][]byte{}
	}
	c.logs.recs[string(key)] = bytes.Clone(value)
}

func (c *Checkpoint) buffered(key []byte) ([]byte, bool) {
	c.logs.mu.Lock()
	defer c.logs.mu.Unlock()
	v, ok := c.logs.recs[string(key)]
	return v, ok
}

// flushLogs makes the buffer durable, and after it, in as few transactions as they fit, writes that need
// it. The caller holds life.
func (c *Checkpoint) flushLogs(batch int64, after ...write) error {
	return c.flushLogsBy(func(writes []write) error { return c.write(batch, writes, "") }, after)
}

// flushLogsBy is flushLogs with another way to write.
func (c *Checkpoint) flushLogsBy(put func(writes []write) error, after []write) error {
	c.logs.mu.Lock()
	defer c.logs.mu.Unlock()
	names := make([]string, 0, len(c.logs.recs))
	for k := range c.logs.recs {
		names = append(names, k)
	}
	slices.Sort(names)
	var writes []write
	for _, k := range names {
		writes = append(writes, long([]byte(k), c.logs.recs[k])...)
	}
	if writes = append(writes, after...); len(writes) == 0 {
		return nil
	}
	if err := put(writes); err != nil {
		return err
	}
	clear(c.logs.recs)
	return nil
}

// get reads a record that is not part of the state; ok is false if there is none.
func (c *Checkpoint) get(key []byte) (payload []byte, ok bool, err error) {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.closed {
		return nil, false, errs.New("CHECKPOINT_CLOSED", "checkpointLocation", c.dir)
	}
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	payload, err = fetchLong(txn, key)
	if err != nil {
		return nil, false, corrupt(c.dir, "a record cannot be read", err)
	}
	return payload, payload != nil, nil
}

func (c *Checkpoint) lookup(key []byte) ([]byte, bool, error) {
	if v, ok := c.buffered(key); ok {
		return v, true, nil
	}
	return c.get(key)
}

// Add sets entry n.
func (l *SourceLog) Add(n int64, entry []byte) error {
	if n < 0 {
		return errs.New("INTERNAL_ERROR", "message", "entries of a source log count from 0")
	}
	l.c.buffer(logKey(l.source, n), pack(entry))
	return nil
}

// Get reads entry n.
func (l *SourceLog) Get(n int64) ([]byte, bool, error) {
	entry, ok, err := l.c.lookup(logKey(l.source, n))
	if err == nil && ok {
		if entry, err = unpack(entry); err != nil {
			err = corrupt(l.c.dir, "an entry of a source log cannot be unpacked", err)
		}
	}
	return entry, ok && err == nil, err
}

// Latest reads the entry with the highest number; ok is false if there is none.
func (l *SourceLog) Latest() (n int64, entry []byte, ok bool, err error) {
	n, err = l.last()
	if err != nil {
		return 0, nil, false, err
	}
	for _, k := range l.waiting(n) {
		n = max(n, k)
	}
	if n < 0 {
		return 0, nil, false, nil
	}
	entry, ok, err = l.Get(n)
	return n, entry, ok, err
}

// last is the highest number in the database, -1 if there is none.
func (l *SourceLog) last() (int64, error) {
	c := l.c
	c.life.RLock()
	defer c.life.RUnlock()
	if c.closed {
		return 0, errs.New("CHECKPOINT_CLOSED", "checkpointLocation", c.dir)
	}
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	prefix := logPrefix(keyLog, l.source)
	o := badger.DefaultIteratorOptions
	o.PrefetchValues, o.Reverse = false, true
	it := txn.NewIterator(o)
	defer it.Close()
	for it.Seek(append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 13)...)); it.ValidForPrefix(prefix); it.Next() {
		if n, ok := entryOfKey(it.Item().Key()); ok {
			return n, nil
		}
	}
	return -1, nil
}

func entryOfKey(k []byte) (int64, bool) {
	if len(k) != 15 {
		return 0, false // a further part
	}
	return int64(binary.BigEndian.Uint64(k[7:])), true
}

// waiting lists the buffered numbers from n on, in order.
func (l *SourceLog) waiting(n int64) (list []int64) {
	c := l.c
	c.logs.mu.Lock()
	defer c.logs.mu.Unlock()
	prefix := string(logPrefix(keyLog, l.source))
	for k := range c.logs.recs {
		if len(k) == 15 && k[:7] == prefix {
			if m, _ := entryOfKey([]byte(k)); m >= n {
				list = append(list, m)
			}
		}
	}
	slices.Sort(list)
	return list
}

// From yields the entries from number n on, in order. A read error ends it, and every later write to the
// checkpoint is refused with that error.
func (l *SourceLog) From(n int64) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		numbers := append(l.stored(n), l.waiting(n)...)
		slices.Sort(numbers)
		for _, m := range slices.Compact(numbers) {
			entry, ok, err := l.Get(m)
			if err == nil && !ok {
				err = errDamaged
			}
			if err != nil {
				l.c.fail(err, -1)
				return
			}
			if !yield(m, entry) {
				return
			}
		}
	}
}

func (l *SourceLog) stored(n int64) (list []int64) {
	c := l.c
	c.life.RLock()
	defer c.life.RUnlock()
	if c.closed {
		return nil
	}
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	o := badger.DefaultIteratorOptions
	o.PrefetchValues = false
	o.Prefix = logPrefix(keyLog, l.source)
	it := txn.NewIterator(o)
	defer it.Close()
	for it.Seek(logKey(l.source, max(n, 0))); it.Valid(); it.Next() {
		if m, ok := entryOfKey(it.Item().Key()); ok {
			list = append(list, m)
		}
	}
	return list
}

// PutKey remembers a name, such as the path of a file already read, with a value.
func (l *SourceLog) PutKey(key string, value []byte) error {
	l.c.buffer(fileKey(l.source, key), value)
	return nil
}

// Key looks a name up.
func (l *SourceLog) Key(key string) ([]byte, bool, error) { return l.c.lookup(fileKey(l.source, key)) }

// Has reports whether a name is remembered.
func (l *SourceLog) Has(key string) (bool, error) {
	_, ok, err := l.Key(key)
	return ok, err
}

// Forget drops the entries below a number, with the next commit; views of older batches keep them as long as
// they are retained.
func (l *SourceLog) Forget(below int64) error {
	c := l.c
	c.life.RLock()
	defer c.life.RUnlock()
	if c.closed {
		return errs.New("CHECKPOINT_CLOSED", "checkpointLocation", c.dir)
	}
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	var gone []write
	keys(txn, logPrefix(keyLog, l.source), func(key []byte, _ uint64) {
		if len(key) >= 15 && int64(binary.BigEndian.Uint64(key[7:15])) < below {
			gone = append(gone, write{key, nil})
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops = append(c.drops, gone...)
	return nil
}
