package store

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"streamlab/internal/safego"
	"streamlab/internal/vfs"
)

// latest is the version at which records outside the state are read: their keys exist once.
const latest = math.MaxUint64

const (
	maxKey   = 60_000
	maxValue = 1<<20 - 1 // a byte more and the value would go to the value log
	txnBytes = 2 << 20   // Badger allows 15 % of a memtable
	txnCount = 10_000
)

// badgerOptions are part of the format; they are set here and nowhere else. Some combinations of others
// make Badger panic instead of returning an error.
func badgerOptions(dir string, o Options) badger.Options {
	b := badger.DefaultOptions(dir)
	if o.InMemory {
		b = badger.DefaultOptions("").WithInMemory(true)
	}
	b.SyncWrites = false // see walSync
	b.MemTableSize = memtable
	b.NumMemtables = memtables
	b.NumCompactors = 2
	b.Compression = options.None
	b.BlockCacheSize = 0
	b.DetectConflicts = false // one writer
	b.NumVersionsToKeep = 1
	b.ValueThreshold = 1 << 20
	b.ValueLogFileSize = 4 << 20 // stays empty
	// Blocks are checked once, by verifyTables, and every value has a sum of its own (see frame): a block is most of all
	// one value, so checking it whenever it is read would double the work.
	b.ChecksumVerificationMode = options.NoVerification
	b.MetricsEnabled = false
	b.Logger = nil
	return b
}

func (o Options) power() bool { return o.Durability != "process" }

// openBadger opens the database in dir. The caller holds LOCK.
func openBadger(dir string, o Options) (db *badger.DB, err error) {
	if !o.InMemory {
		if err := removeEmptyLogs(dir); err != nil {
			return nil, err
		}
		if err := verifyTables(dir, badgerOptions(dir, o)); err != nil {
			return nil, err
		}
	}
	// A damaged file may make Badger panic; that is the file's fault, not a bug of ours.
	err = safego.Call("opening the database", func() error {
		db, err = badger.OpenManaged(badgerOptions(dir, o))
		return err
	})
	if err != nil {
		return nil, err // what Badger returns with an error is half open and cannot be closed
	}
	return db, nil
}

// removeEmptyLogs removes write-ahead files that a kill during their deletion left at length zero: Badger
// would refuse to open.
func removeEmptyLogs(dir string) error {
	entries, err := vfs.OS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".mem" && ext != ".vlog" {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Size() == 0 {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// A write is one key to set or, with a nil value, to delete.
type write struct {
	key, value []byte
}

// put writes in as few transactions as Badger's limits allow, in order. With each, every one is durable before
// the next begins; without, all are when put returns. between is called between two of them.
func put(db *badger.DB, wal *walSync, each bool, v uint64, writes []write, between func() error) error {
	for len(writes) > 0 {
		n, size := 0, 0
		for n < len(writes) && n < txnCount {
			s := len(writes[n].key) + len(writes[n].value) + 64
			if n > 0 && size+s > txnBytes {
				break
			}
			size += s
			n++
		}
		if err := putOnce(db, v, writes[:n]); err != nil {
			return err
		}
		writes = writes[n:]
		done := wal.follow
		if each || len(writes) == 0 {
			done = wal.sync
		}
		if err := done(); err != nil {
			return err
		}
		if len(writes) > 0 && between != nil {
			if err := between(); err != nil {
				return err
			}
		}
	}
	return nil
}

func putOnce(db *badger.DB, v uint64, writes []write) error {
	txn := db.NewTransactionAt(latest, true)
	defer txn.Discard()
	for _, w := range writes {
		var err error
		switch {
		case len(w.key) > maxKey || len(w.value) > maxValue:
			err = badger.ErrTxnTooBig
		case w.value == nil:
			err = txn.Delete(w.key)
		default:
			err = txn.SetEntry(badger.NewEntry(w.key, w.value))
		}
		if err != nil {
			return err
		}
	}
	return txn.CommitAt(v, nil)
}

// fetch reads one framed record; nil if there is none.
func fetch(txn *badger.Txn, key []byte) (flags byte, payload []byte, err error) {
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	v, err := item.ValueCopy(nil)
	if err != nil {
		return 0, nil, err
	}
	return unframe(v)
}

// payloadSize is how long the payload of a record is.
func payloadSize(it *badger.Item) int64 { return it.EstimatedSize() - it.KeySize() - frameSize }

// fetchLong reads a record that may be in parts: the first at key, the others at key plus part number.
func fetchLong(txn *badger.Txn, key []byte) ([]byte, error) {
	flags, payload, err := fetch(txn, key)
	for part := 1; err == nil && payload != nil && flags&flagGroupEnd == 0; part++ {
		var more []byte
		flags, more, err = fetch(txn, partKey(key, part))
		if err == nil && more == nil {
			err = errDamaged
		}
		payload = append(payload, more...)
	}
	return payload, err
}

// long makes the writes of a record that may be in parts; the first part comes last, so that the record
// is there only when all of it is.
func long(key, payload []byte) []write {
	parts := cutParts([]Segment{payload})
	writes := make([]write, 0, len(parts))
	for i := len(parts) - 1; i > 0; i-- {
		writes = append(writes, write{partKey(key, i), parts[i]})
	}
	return append(writes, write{key, parts[0]})
}

// keys lists the keys below a prefix that are alive in txn.
func keys(txn *badger.Txn, prefix []byte, each func(key []byte, version uint64)) {
	items(txn, prefix, func(it *badger.Item) { each(it.KeyCopy(nil), it.Version()) })
}

// items lists what is alive in txn below a prefix, without the values.
func items(txn *badger.Txn, prefix []byte, each func(it *badger.Item)) {
	o := badger.DefaultIteratorOptions
	o.PrefetchValues = false
	o.Prefix = prefix
	it := txn.NewIterator(o)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		each(it.Item())
	}
}
