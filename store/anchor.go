package store

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"

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
	floor         uint64 // the database holds, durably, what anchors up to this seq tell of
	// records is what was written to the database with this anchor, see encodeWrites; nil if the database had
	// it, durably, before the anchor was written.
	records []byte
}

const (
	pageSize    = 4096
	slotSize    = 4 * pageSize
	slotCount   = 32
	anchorMagic = "SLANCHR2"
	anchorBytes = 8 + 8 + 8 + 16 + 8 + 16 + 8 + 4
	mostRecords = slotSize - anchorBytes - 4

	// The first form had two slots of a page, without floor and records.
	firstMagic = "SLANCHR1"
	firstBytes = 8 + 8 + 8 + 16 + 8 + 16
)

// encode gives whole pages.
func (a anchor) encode() []byte { return a.encodeInto(nil) }

// encodeInto is encode into memory that is used again.
func (a anchor) encodeInto(b []byte) []byte {
	size := (anchorBytes + len(a.records) + 4 + pageSize - 1) / pageSize * pageSize
	if cap(b) < size {
		b = make([]byte, 0, size)
	}
	b = append(b[:0], anchorMagic...)
	b = binary.LittleEndian.AppendUint64(b, a.seq)
	b = binary.LittleEndian.AppendUint64(b, uint64(a.lastPlanned))
	b = append(b, a.fingerprint[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(a.lastCommitted))
	b = append(b, a.chain[:]...)
	b = binary.LittleEndian.AppendUint64(b, a.floor)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(a.records)))
	b = seal(append(b, a.records...))
	clear(b[len(b):size])
	return b[:size]
}

// decodeAnchor reads a slot of either form.
func decodeAnchor(b []byte) (a anchor, ok bool) {
	if len(b) < firstBytes+4 {
		return a, false
	}
	size := firstBytes
	switch string(b[:8]) {
	case firstMagic:
	case anchorMagic:
		if len(b) < anchorBytes+4 {
			return a, false
		}
		size = anchorBytes + int(binary.LittleEndian.Uint32(b[anchorBytes-4:]))
		if size+4 > len(b) {
			return a, false
		}
		a.floor = binary.LittleEndian.Uint64(b[firstBytes:])
		if size > anchorBytes {
			a.records = b[anchorBytes:size:size]
		}
	default:
		return a, false
	}
	if string(seal(b[:size:size])[size:]) != string(b[size:size+4]) {
		return a, false
	}
	a.seq = binary.LittleEndian.Uint64(b[8:])
	a.lastPlanned = int64(binary.LittleEndian.Uint64(b[16:]))
	copy(a.fingerprint[:], b[24:])
	a.lastCommitted = int64(binary.LittleEndian.Uint64(b[40:]))
	copy(a.chain[:], b[48:])
	if size == firstBytes {
		a.floor = a.seq
	}
	return a, true
}

// An anchorFile writes slots in turn, so that a torn write leaves the others. One write at a time.
type anchorFile struct {
	f      *os.File
	last   anchor // the one written last, or under way
	floor  uint64
	lost   []anchor // found on opening: those after the floor, in order, as far as none is missing
	first  bool     // the file has the first form
	sync   bool
	beside *pageWriter        // nil: it is not to be synced, or the machine has no such writes
	flight *safego.Handle     // of a write without it; nil if none is on its way
	after  func(string) error // to be told of the end of a write; nil if none is on its way
	failed error              // of start, for wait
}

// createAnchor writes ANCHOR, two slots saying the same. All slots have their place, so that writing one changes
// nothing but its content.
func createAnchor(dir string, a anchor) error {
	ring := make([]byte, slotCount*slotSize)
	a.records = nil
	for a.seq = 1; a.seq <= 2; a.seq++ {
		a.floor = a.seq
		copy(ring[a.place():], a.encode())
	}
	return vfs.WriteFile(vfs.OS, filepath.Join(dir, "ANCHOR"), ring, 0o600)
}

// openAnchor reads the newest good slot; ok is false if there is none.
func openAnchor(dir string, sync bool) (f *anchorFile, ok bool, err error) {
	path := filepath.Join(dir, "ANCHOR")
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, false, err
	}
	f = &anchorFile{f: file, sync: sync}
	buf := make([]byte, slotCount*slotSize)
	n, _ := file.ReadAt(buf, 0)
	f.first = n <= 2*pageSize
	size := slotSize
	if f.first {
		size = pageSize
	}
	found := map[uint64]anchor{}
	for i := 0; i < n; i += size {
		if a, good := decodeAnchor(buf[i:min(n, i+size)]); good {
			found[a.seq] = a
			if !ok || a.seq > f.last.seq {
				f.last, ok = a, true
			}
		}
	}
	f.floor = f.last.floor
	for seq := f.floor + 1; seq <= f.last.seq; seq++ {
		a, there := found[seq]
		if !there {
			break // damage, or the floor is wrong: whoever compares will miss what it told of
		}
		f.lost = append(f.lost, a)
	}
	if sync && n == len(buf) {
		f.beside, _ = openPageWriter(path) // without it there is another way
	}
	return f, ok, nil
}

// start writes a beside what the caller does next; wait ends it. What it tells of is in the database, durably,
// unless it carries the records itself.
func (f *anchorFile) start(a anchor, point func(string) error) {
	if err := point("anchor.before"); err != nil {
		f.failed = err
		return
	}
	f.submit(a, point)
}

func (f *anchorFile) submit(a anchor, point func(string) error) {
	a.seq, a.floor = f.last.seq+1, f.floor
	if a.records == nil {
		a.floor = a.seq
	}
	f.floor = a.floor
	f.last = a
	switch {
	case f.beside != nil:
		err := f.beside.start(a.encodeInto(f.beside.pages()), a.place())
		if errors.Is(err, errNoQueue) {
			f.plain(a, point)
			return
		}
		f.failed, f.after = err, point
	case f.sync:
		f.flight = safego.Go("anchor", func() error { return f.write(a, point) })
	default:
		f.failed = f.write(a, point)
	}
}

// told is start and wait for an anchor that has been written already, with its records, as far as the points go.
func (f *anchorFile) told(point func(string) error) {
	if f.failed = point("anchor.before"); f.failed == nil {
		f.after = point
	}
}

// plain gives up writing beside, and writes at once.
func (f *anchorFile) plain(a anchor, point func(string) error) {
	f.failed = errors.Join(f.beside.close(), f.write(a, point))
	f.beside = nil
}

// place is the offset of the slot.
func (a anchor) place() int64 { return int64(a.seq%slotCount) * slotSize }

// write returns when a is durable, if it has to be.
func (f *anchorFile) write(a anchor, point func(string) error) error {
	if _, err := f.f.WriteAt(a.encode(), a.place()); err != nil {
		return err
	}
	if f.sync {
		if err := datasync(f.f); err != nil {
			return err
		}
	}
	return point("anchor.after")
}

// says reports whether the last anchor written tells of the same batches as a, and needs nothing of those before.
func (f *anchorFile) says(a anchor) bool {
	return a.lastCommitted == f.last.lastCommitted && a.lastPlanned == f.last.lastPlanned && f.last.floor == f.last.seq
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
		if err == nil && f.beside != nil {
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
