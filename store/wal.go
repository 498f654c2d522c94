package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"streamlab/internal/safego"
	"streamlab/internal/vfs"
)

// A walSync syncs the database's write-ahead log. Badger would do so itself after each transaction
// (SyncWrites), but it syncs its value log too, in which we keep nothing: a second flush of the device for
// every record. And the segments of a batch, which take many transactions, need no sync until all are there.
//
// Badger maps the log, NNNNN.mem, and writes a transaction to one of them; a full one is replaced by the next
// number before the transaction that did not fit is written. We are its only writer and wait for each
// transaction, so when one has ended it is in the file of the highest number, and what was not yet synced is
// in it or in files between it and the last one seen. fdatasync of a file writes what was changed through the
// map, as msync does.
type walSync struct {
	dir  string
	id   int
	f    *os.File
	next string // the name of the log after f

	flight *safego.Handle // of a sync beside what the owner does; nil if there is none
}

// followWAL finds the log of a database that has just been opened.
func followWAL(dir string) (*walSync, error) {
	entries, err := vfs.OS.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	w := &walSync{dir: dir, id: -1}
	for _, e := range entries {
		if number, ok := strings.CutSuffix(e.Name(), ".mem"); ok {
			if n, err := strconv.Atoi(number); err == nil {
				w.id = max(w.id, n)
			}
		}
	}
	if w.id < 0 {
		return nil, errors.New("the database has no write-ahead log")
	}
	w.f, err = os.Open(w.name(w.id))
	w.next = w.name(w.id + 1)
	return w, err
}

func (w *walSync) name(id int) string { return filepath.Join(w.dir, fmt.Sprintf("%05d.mem", id)) }

// follow goes on to the newest log. A log is open here before the next one but one can be made, since
// follow is called after each transaction; Badger may remove it, once its content is in a table and synced,
// but not take it from us.
func (w *walSync) follow() error {
	if w == nil {
		return nil
	}
	for {
		if unix.Access(w.next, unix.F_OK) == unix.ENOENT { // nearly always; os.Open would make an error of it
			return nil
		}
		next, err := os.Open(w.next)
		if err != nil {
			return err
		}
		err = errors.Join(w.join(), datasync(w.f), w.f.Close())
		w.f, w.id = next, w.id+1
		w.next = w.name(w.id + 1)
		if err != nil {
			return err
		}
	}
}

// sync makes all transactions that have ended durable. nil does nothing.
func (w *walSync) sync() error {
	if w == nil {
		return nil
	}
	if err := w.follow(); err != nil {
		return err
	}
	return errors.Join(w.join(), datasync(w.f))
}

// begin starts a sync of what is there now; join ends it. follow has been called since the last transaction.
func (w *walSync) begin() {
	f := w.f
	w.flight = safego.Go("sync of the log", func() error { return datasync(f) })
}

// ended says that what begin has started has come to its end.
func (w *walSync) ended() bool {
	select {
	case <-w.flight.Done():
		return true
	default:
		return false
	}
}

// join waits for what begin has started, if anything.
func (w *walSync) join() error {
	if w.flight == nil {
		return nil
	}
	err := w.flight.Wait()
	w.flight = nil
	return err
}

func (w *walSync) close() error {
	if w == nil || w.f == nil {
		return nil
	}
	return errors.Join(w.join(), w.f.Close())
}

// syncLogs makes durable what an earlier process has written to the logs of a database that is not open.
func syncLogs(dir string) error {
	entries, err := vfs.OS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".mem" {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if err := errors.Join(datasync(f), f.Close()); err != nil {
			return err
		}
	}
	return err
}
