package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"streamlab/columnar"
)

// A set is rows in files of cut rows. The path ends with the format, and how the rows are cut.
type set struct {
	group, path string
	cut, rows   int
	row         func(b []byte, i int) []byte                // appends the text of row i; of Parquet the row as JSON
	schema      string                                      // of Parquet
	table       func(from, to int) ([]*columnar.Vec, error) // of Parquet, instead of row
}

// format is that of the files, and the end of their names.
func (s set) format() string { return formatOf(s.path) }

// formatOf gives the format of the files of a set by its path.
func formatOf(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	format, _, _ := strings.Cut(name, "-")
	return format
}

// Size says how much Generate writes.
type Size struct {
	Rows      int // of events and keys; ads: a quarter
	DripFiles int // of each drip set
}

// Groups of sets that Generate knows.
var Groups = []string{"events", "zipf", "dups", "ads", "drip", "keys", "nexmark", "first"}

func (z Size) sets() []set {
	large, small := min(1_000_000, (z.Rows+1)/2), min(200_000, (z.Rows+9)/10)
	event := func(b []byte, i int) []byte { return appendEvent(b, uint64(i)) }
	ads := max(z.Rows/4, 10)
	var dups, imps []uint64
	var times []int64
	skewed := func(b []byte, i int) []byte { return appendEventOf(b, uint64(i), zipfUser(uint64(i))) }
	key := func(k uint64) func(b []byte, i int) []byte {
		return func(b []byte, i int) []byte { return appendKey(b, uint64(i), k) }
	}
	lines := []set{
		{"events", "events/json-large", large, z.Rows, event, "", nil},
		{"events", "events/json-small", small, z.Rows, event, "", nil},
		{"events", "events/csv-large", large, z.Rows, func(b []byte, i int) []byte { return appendEventCSV(b, uint64(i)) }, "", nil},
		{"events", "events/parquet-large", large, z.Rows, event, eventSchema, nil},
		{"events", "events/parquet-small", small, z.Rows, event, eventSchema, nil},
		{"zipf", "zipf/json-large", large, z.Rows, skewed, "", nil},
		{"zipf", "zipf/json-small", small, z.Rows, skewed, "", nil},
		{"keys", "keys1000000/parquet-large", large, z.Rows, key(1_000_000), keySchema, nil},
		{"keys", "keys1000000/parquet-small", small, z.Rows, key(1_000_000), keySchema, nil},
		{"dups", "dups/json-small", small, -1, func(b []byte, i int) []byte {
			if dups == nil {
				dups = duplicated(uint64(z.Rows))
			}
			if i >= len(dups) {
				return b
			}
			return appendEvent(b, dups[i])
		}, "", nil},
		{"ads", "impressions/json-small", small, ads, func(b []byte, i int) []byte { return appendImpression(b, uint64(i)) }, "", nil},
		{"ads", "clicks/json-small", max(small*3/10, 1), -1, func(b []byte, i int) []byte {
			if imps == nil {
				imps, times = clicks(uint64(ads))
			}
			if i >= len(imps) {
				return b
			}
			return appendClick(b, imps[i], times[i])
		}, "", nil},
		{"drip", "drip1/json", 1, z.DripFiles, event, "", nil},
		{"drip", "drip1000/json", 1000, z.DripFiles * 1000, event, "", nil},
		{"keys", "keys10000000/json-tiny", min(10_000, (z.Rows+19)/20), z.Rows, key(10_000_000), "", nil},
		{"first", "first/json", 1000, 1000, event, "", nil},
	}
	return append(lines, nexmarkSets(z.Rows, large, small)...)
}

// A manifest is what peers read about a data folder.
type manifest struct {
	Rows   int                `json:"rows"`
	LastTs int64              `json:"last_ts_ms"`
	Sets   map[string]setNote `json:"sets"`
}

type setNote struct {
	Files int `json:"files"`
	Rows  int `json:"rows"`
	Cut   int `json:"rows_per_file"`
}

// SizeOf is the size of the sets that lie in a folder; the usual one if there are none.
func SizeOf(dir string) (Size, error) {
	z := Size{Rows: 2_000_000, DripFiles: 1000}
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return z, nil
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		return z, err
	}
	z.Rows = m.Rows
	if drip := m.Sets["drip1/json"]; drip.Files > 0 {
		z.DripFiles = drip.Files
	}
	return z, nil
}

// Generate writes sets of the given groups, all if there are none, below dir, and a manifest. A set that the
// manifest says is there in this size is left alone.
func Generate(dir string, z Size, groups []string, say func(string)) error {
	m := manifest{Rows: z.Rows, Sets: map[string]setNote{}}
	if raw, err := os.ReadFile(filepath.Join(dir, "manifest.json")); err == nil {
		var had manifest
		if err := json.Unmarshal(raw, &had); err == nil && had.Rows == z.Rows {
			m.Sets = had.Sets
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i := max(0, z.Rows-2000); i < z.Rows; i++ {
		m.LastTs = max(m.LastTs, eventMs(uint64(i)))
	}
	wanted := func(group string) bool {
		for _, g := range groups {
			if g == group {
				return true
			}
		}
		return len(groups) == 0
	}
	for _, s := range z.sets() {
		if !wanted(s.group) {
			continue
		}
		if had, ok := m.Sets[s.path]; ok && had.Cut == s.cut && (s.rows < 0 || had.Rows == s.rows) {
			if have, _ := filepath.Glob(filepath.Join(dir, s.path, "part-*")); len(have) == had.Files {
				say(fmt.Sprintf("%s: %d files are there", s.path, had.Files))
				continue
			}
		}
		note, err := s.write(filepath.Join(dir, s.path))
		if err != nil {
			return err
		}
		m.Sets[s.path] = note
		say(fmt.Sprintf("%s: %d rows, %d files", s.path, note.Rows, note.Files))
	}
	raw, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), append(raw, '\n'), 0o644)
}

// write writes the files of a set; rows -1: until row adds nothing.
func (s set) write(folder string) (n setNote, err error) {
	if err := os.RemoveAll(folder); err != nil {
		return n, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return n, err
	}
	n.Cut = s.cut
	for more := true; more && (s.rows < 0 || n.Rows < s.rows); {
		path := filepath.Join(folder, fmt.Sprintf("part-%05d.%s", n.Files, s.format()))
		to := n.Rows + s.cut
		if s.rows >= 0 {
			to = min(to, s.rows)
		}
		wrote, err := s.file(path, n.Rows, to)
		if err != nil {
			return n, err
		}
		more = wrote == to-n.Rows
		if wrote == 0 {
			return n, os.Remove(path)
		}
		t := time.Unix(baseMs/1000+int64(n.Files), 0)
		if err := os.Chtimes(path, t, t); err != nil {
			return n, err
		}
		n.Files, n.Rows = n.Files+1, n.Rows+wrote
	}
	return n, nil
}

func (s set) file(path string, from, to int) (wrote int, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if s.schema != "" {
		if err := s.parquet(w, from, to); err != nil {
			return 0, err
		}
		return to - from, w.Flush()
	}
	var b []byte
	for i := from; i < to; i++ {
		if b = s.row(b[:0], i); len(b) == 0 {
			break
		}
		if _, err := w.Write(b); err != nil {
			return 0, err
		}
		wrote++
	}
	return wrote, w.Flush()
}
