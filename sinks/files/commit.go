package files

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"streamlab/codec"
	"streamlab/errs"
	"streamlab/internal/fault"
)

// commit writes the log entry of a batch: the whole entry under a temporary name, then linked to its name,
// which fails if somebody else was first.
func (s *sink) commit(id int64, files []codec.SinkFile) error {
	dir := filepath.Join(s.def.Path, codec.SinkLogDir)
	if s.every == 0 {
		if err := s.look(); err != nil {
			return err
		}
	}
	compact := (id+1)%s.every == 0
	entry := []byte("v1")
	whole := false
	if compact && s.retention == 0 { // what was written is repeated as it is
		old, ok, err := codec.SinkLogLines(s.fs, s.def.Path)
		if err != nil {
			return err
		}
		if whole = ok; ok {
			entry = append(entry, old...)
		}
	}
	if compact && !whole {
		old, _, err := codec.ReadSinkLog(s.fs, s.def.Path)
		if err != nil {
			return err
		}
		files = append(old, files...)
		if s.retention > 0 {
			// Ages count in milliseconds that have begun: what was written before is older than 1 ms.
			limit := time.Now().UnixMilli() + 1 - s.retention.Milliseconds()
			kept := files[:0]
			for _, f := range files {
				if f.ModificationTime > limit {
					kept = append(kept, f)
				}
			}
			files = kept
		}
	}
	for _, f := range files {
		line, err := json.Marshal(f)
		if err != nil {
			return err
		}
		entry = append(append(entry, '\n'), unescapeHTML(line)...)
	}
	name := filepath.Join(dir, entryName(id, compact))
	temp := filepath.Join(dir, "."+entryName(id, compact)+".tmp")
	if err := s.writeTemp(temp, entry); err != nil {
		return err
	}
	if err := fault.Point("sink.commit.before"); err != nil {
		return err
	}
	if err := s.fs.Link(temp, name); err != nil {
		_ = s.fs.Remove(temp)
		if errors.Is(err, fs.ErrExist) {
			return errs.New("SINK_LOG_EXISTS", "batchId", id, "path", s.def.Path)
		}
		return err
	}
	if s.def.Durable {
		if err := s.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	if err := s.fs.Remove(temp); err != nil {
		return err
	}
	s.entries = append(s.entries, id)
	s.clean(id)
	return nil
}

func (s *sink) writeTemp(name string, data []byte) error {
	// A temporary file that a crash has left may be linked to a committed entry: it is unlinked, not emptied.
	if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := s.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && s.def.Durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// unescapeHTML undoes what encoding/json does to < > &, which are plain characters in Spark's log.
func unescapeHTML(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+5 < len(b) && b[i+1] == 'u' {
			switch string(b[i+2 : i+6]) {
			case "003c":
				out = append(out, '<')
				i += 5
				continue
			case "003e":
				out = append(out, '>')
				i += 5
				continue
			case "0026":
				out = append(out, '&')
				i += 5
				continue
			}
		}
		out = append(out, b[i])
	}
	return out
}

// look lists the log once: later entries are our own, as the folder is locked. The distance of compacted entries
// is that of the setting, unless the log has some already, which it must fit.
func (s *sink) look() error {
	found, err := s.fs.ReadDir(filepath.Join(s.def.Path, codec.SinkLogDir))
	if err != nil {
		return err
	}
	var compacted []int64
	for _, e := range found {
		if id, ok := compactID(e.Name()); ok {
			compacted = append(compacted, id)
		}
	}
	if s.entries, _, err = codec.SinkLogIDs(s.fs, s.def.Path); err != nil {
		return err
	}
	s.every = fitInterval(compacted, s.interval)
	return nil
}

func compactID(name string) (int64, bool) {
	base, ok := strings.CutSuffix(name, ".compact")
	if !ok {
		return 0, false
	}
	var id int64
	for _, c := range []byte(base) {
		if c < '0' || c > '9' {
			return 0, false
		}
		id = id*10 + int64(c-'0')
	}
	return id, base != ""
}

// fitInterval chooses an interval that the compacted entries ids agree with.
func fitInterval(ids []int64, want int64) int64 {
	newest, before := int64(-1), int64(-1)
	for _, id := range ids {
		if id > newest {
			newest, before = id, newest
		} else if id > before {
			before = id
		}
	}
	switch {
	case newest < 0:
		return want
	case before >= 0:
		return newest - before
	}
	n := newest + 1
	if n <= want {
		return n
	}
	for d := want; d <= n/2; d++ {
		if n%d == 0 {
			return d
		}
	}
	return n
}

// clean removes entries that a compacted one repeats: those before the compacted entry that keeps the number of
// micro-batches that is to be kept, when they are older than the delay. id is the entry just written. Entries are
// as old as their numbers say, so that the first one that is too young ends it, and nothing is looked at until
// that one is old enough. Best effort.
func (s *sink) clean(id int64) {
	first := id + 1 - s.retain
	if !s.deletes || first < s.every || time.Now().Before(s.cleanAt) {
		return
	}
	kept := first - first%s.every - 1 // compacted
	for len(s.entries) > 0 && s.entries[0] < kept {
		for _, compact := range []bool{false, true} {
			name := filepath.Join(s.def.Path, codec.SinkLogDir, entryName(s.entries[0], compact))
			info, err := s.fs.Stat(name)
			if err != nil {
				continue
			}
			if due := info.ModTime().Add(s.delay); time.Now().Before(due) {
				s.cleanAt = due
				return
			}
			_ = s.fs.Remove(name)
		}
		s.entries = s.entries[1:]
	}
}
