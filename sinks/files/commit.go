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
	interval, err := s.compactInterval()
	if err != nil {
		return err
	}
	compact := (id+1)%interval == 0
	if compact {
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
	entry := []byte("v1")
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
	s.clean(id, interval)
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

// compactInterval is the distance of compacted entries: that of the setting, unless the log has some
// already, which it must fit.
func (s *sink) compactInterval() (int64, error) {
	entries, err := s.fs.ReadDir(filepath.Join(s.def.Path, codec.SinkLogDir))
	if err != nil {
		return 0, err
	}
	var ids []int64
	for _, e := range entries {
		if id, ok := compactID(e.Name()); ok {
			ids = append(ids, id)
		}
	}
	return fitInterval(ids, s.interval), nil
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
// micro-batches that is to be kept, when they are older than the delay. id is the entry just written. Best
// effort.
func (s *sink) clean(id, interval int64) {
	first := id + 1 - s.retain
	if !s.deletes || first < interval {
		return
	}
	kept := first - first%interval - 1 // compacted
	ids, _, err := codec.SinkLogIDs(s.fs, s.def.Path)
	if err != nil {
		return
	}
	for _, id := range ids {
		if id >= kept {
			break
		}
		for _, compact := range []bool{false, true} {
			name := filepath.Join(s.def.Path, codec.SinkLogDir, entryName(id, compact))
			if info, err := s.fs.Stat(name); err == nil && time.Since(info.ModTime()) >= s.delay {
				_ = s.fs.Remove(name)
			}
		}
	}
}
