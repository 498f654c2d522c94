package store

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"streamlab/internal/safego"
	"streamlab/internal/vfs"
)

// An anchor repeats the ends of the two logs outside the database.
type anchor struct {
	seq           uint64
	lastPlanned   int64 // -1: none
	fingerprint   digest
	lastCommitted int64 // -1: none
	chain         digest
}

const (
	slotSize    = 4096
	anchorMagic = "SLANCHR1"
	anchorBytes = 8 + 8 + 8 + 16 + 8 + 16
)

func (a anchor) encode() []byte {
	b := make([]byte, 0, slotSize)
	b = append(b, anchorMagic...)
	b = binary.LittleEndian.AppendUint64(b, a.seq)
	b = binary.LittleEndian.AppendUint64(b, uint64(a.lastPlanned))
	b = append(b, a.fingerprint[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(a.lastCommitted))
	b = append(b, a.chain[:]...)
	return seal(b)[:slotSize]
}

func decodeAnchor(b []byte) (a anchor, ok bool) {
	if len(b) < anchorBytes+4 || string(b[:8]) != anchorMagic {
		return a, false
	}
	if string(seal(b[:anchorBytes:anchorBytes])[anchorBytes:]) != string(b[anchorBytes:anchorBytes+4]) {
		return a, false
	}
	a.seq = binary.LittleEndian.Uint64(b[8:])
	a.lastPlanned = int64(binary.LittleEndian.Uint64(b[16:]))
	copy(a.fingerprint[:], b[24:])
	a.lastCommitted = int64(binary.LittleEndian.Uint64(b[40:]))
	copy(a.chain[:], b[48:])
	return a, true
}

// An anchorFile writes slots in turn, so that a torn write leaves the other one. One write at a time.
type anchorFile struct {
	f      *os.File
	last   anchor
	sync   bool
	beside *pageWriter        // nil: it is not to be synced, or the machine has no such writes
	flight *safego.Handle     // of a write without it; nil if none is on its way
	after  func(string) error // to be told of the end of a write by beside; nil if none is on its way
	failed error              // of start, for wait
}

// createAnchor writes ANCHOR for a new checkpoint, both slots saying the same.
func createAnchor(dir string, a anchor) error {
	a.seq = 1
	first := a.encode()
	a.seq = 2
	return vfs.WriteFile(vfs.OS, filepath.Join(dir, "ANCHOR"), append(first, a.encode()...), 0o600)
}

// openAnchor reads the newest good slot; ok is false if there is none.
func openAnchor(dir string, sync bool) (f *anchorFile, ok bool, err error) {
	path := filepath.Join(dir, "ANCHOR")
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, false, err
	}
	f = &anchorFile{f: file, sync: sync}
	buf := make([]byte, 2*slotSize)
	n, _ := file.ReadAt(buf, 0)
	for i := 0; i+anchorBytes+4 <= n; i += slotSize {
		if a, good := decodeAnchor(buf[i:min(n, i+slotSize)]); good && (!ok || a.seq > f.last.seq) {
			f.last, ok = a, true
		}
	}
	if sync && n == len(buf) {
		f.beside, _ = openPageWriter(path) // without it there is another way
	}
	return f, ok, nil
}

// start writes a beside what the caller does next; wait ends it.
func (f *anchorFile) start(a anchor, point func(string) error) {
	a.seq = f.last.seq + 1
	f.last = a
	if f.beside != nil || !f.sync {
		f.failed = point("anchor.before")
	}
	switch {
	case f.failed != nil:
	case f.beside != nil:
		err := f.beside.start(a.encode(), a.place())
		if errors.Is(err, errNoQueue) {
			f.plain(a, point)
			return
		}
		f.failed, f.after = err, point
	case f.sync:
		f.flight = safego.Go("anchor", func() error {
			if err := point("anchor.before"); err != nil {
				return err
			}
			return f.write(a, point)
		})
	default:
		f.failed = f.write(a, point)
	}
}

// plain gives up writing beside, and writes at once.
func (f *anchorFile) plain(a anchor, point func(string) error) {
	f.failed = errors.Join(f.beside.close(), f.write(a, point))
	f.beside = nil
}

// place is the offset of the slot.
func (a anchor) place() int64 { return int64(a.seq%2) * slotSize }

// write returns when a is durable, if it has to be.
func (f *anchorFile) write(a anchor, point func(string) error) error {
	if _, err := f.f.WriteAt(a.encode(), a.place()); err != nil {
		return err
	}
	if f.sync {
		if err := unix.Fdatasync(int(f.f.Fd())); err != nil {
			return err
		}
	}
	return point("anchor.after")
}

// says reports whether the last anchor written tells of the same batches as a.
func (f *anchorFile) says(a anchor) bool {
	return a.lastCommitted == f.last.lastCommitted && a.lastPlanned == f.last.lastPlanned
}

// wait ends start, and gives its error.
func (f *anchorFile) wait() error {
	if f == nil {
		return nil
	}
	if f.flight != nil {
		err := f.flight.Wait()
		f.flight = nil
		return err
	}
	if after := f.after; after != nil {
		f.after = nil
		err := f.failed
		if err == nil {
			err = f.beside.wait()
		}
		switch {
		case errors.Is(err, errNoQueue):
			f.plain(f.last, after)
		case err == nil:
			f.failed = after("anchor.after")
		default:
			f.failed = err
		}
	}
	err := f.failed
	f.failed = nil
	return err
}

func (f *anchorFile) close() error {
	if f == nil {
		return nil
	}
	return errors.Join(f.wait(), f.beside.close(), f.f.Close())
}
