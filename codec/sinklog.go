package codec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"streamlab/errs"
	"streamlab/internal/vfs"
)

// SinkLogDir is the folder inside an output folder that holds the log of a file sink.
const SinkLogDir = "_spark_metadata"

// SinkFile is one line of the log of a file sink: a file that is committed.
type SinkFile struct {
	Path             string `json:"path"`
	Size             int64  `json:"size"`
	IsDir            bool   `json:"isDir"`
	ModificationTime int64  `json:"modificationTime"` // ms
	BlockReplication int    `json:"blockReplication"`
	BlockSize        int64  `json:"blockSize"`
	Action           string `json:"action"`
}

// SinkLogIDs lists the batches of a sink log that have a file, ascending, and the newest compacted one (-1:
// none). A folder that is not there has no batches.
func SinkLogIDs(fsys vfs.FS, root string) (ids []int64, compact int64, err error) {
	entries, err := fsys.ReadDir(filepath.Join(root, SinkLogDir))
	compact = -1
	if errors.Is(err, fs.ErrNotExist) {
		return nil, compact, nil
	}
	if err != nil {
		return nil, compact, err
	}
	for _, e := range entries {
		name, isCompact := strings.CutSuffix(e.Name(), ".compact")
		n, err := strconv.ParseInt(name, 10, 64)
		if err != nil || n < 0 {
			continue
		}
		ids = append(ids, n)
		if isCompact {
			compact = max(compact, n)
		}
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	return ids, compact, nil
}

// eachSinkLogEntry gives the newest compacted entry of a sink log and those behind it, in order. latest is the newest
// batch, -1 if there is none. Errors: SINK_LOG_GAP, those of f.
func eachSinkLogEntry(fsys vfs.FS, root string, f func(data []byte) error) (latest int64, err error) {
	ids, compact, err := SinkLogIDs(fsys, root)
	if err != nil || len(ids) == 0 {
		return -1, err
	}
	next := max(compact, 0)
	for _, n := range ids {
		if n < compact {
			continue
		}
		if n != next { // a batch that another sink of the query wrote
			return -1, errs.New("SINK_LOG_GAP", "path", root, "batchId", next)
		}
		next++
		name := strconv.FormatInt(n, 10)
		if n == compact {
			name += ".compact"
		}
		data, err := vfs.ReadFile(fsys, filepath.Join(root, SinkLogDir, name))
		if err != nil {
			return -1, err
		}
		if err := f(data); err != nil {
			return -1, err
		}
	}
	return ids[len(ids)-1], nil
}

// ReadSinkLog lists the files that a file sink has committed to a folder, in the order of the log: those of
// the newest compacted entry and of the entries behind it. latest is the newest batch, -1 if there is none.
func ReadSinkLog(fsys vfs.FS, root string) (files []SinkFile, latest int64, err error) {
	latest, err = eachSinkLogEntry(fsys, root, func(data []byte) error {
		list, err := ParseSinkLog(data)
		files = append(files, list...)
		return err
	})
	if err != nil {
		return nil, -1, err
	}
	gone := map[string]bool{}
	for _, f := range files {
		if f.Action == "delete" {
			gone[f.Path] = true
		}
	}
	kept := files[:0]
	for _, f := range files {
		if !gone[f.Path] {
			kept = append(kept, f)
		}
	}
	return kept, latest, nil
}

// SinkLogLines gives the lines of ReadSinkLog's files as they were written, each behind the end of a line. ok is
// false if some lines take back others, or are of another version: then they have to be read.
func SinkLogLines(fsys vfs.FS, root string) (lines []byte, ok bool, err error) {
	ok = true
	_, err = eachSinkLogEntry(fsys, root, func(data []byte) error {
		rest, isV1 := bytes.CutPrefix(bytes.TrimRight(data, "\n"), []byte("v1"))
		if !isV1 || len(rest) > 0 && rest[0] != '\n' || bytes.Contains(rest, []byte(`"delete"`)) || bytes.IndexByte(rest, '\r') >= 0 {
			ok = false
		}
		lines = append(lines, rest...)
		return nil
	})
	if err != nil || !ok {
		return nil, false, err
	}
	return lines, true, nil
}

// ParseSinkLog reads one entry of a sink log: a version line, then a JSON object a line.
func ParseSinkLog(data []byte) ([]SinkFile, error) {
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, MaxRecord)
	if !sc.Scan() || !strings.HasPrefix(sc.Text(), "v1") {
		return nil, errors.New("no version line v1")
	}
	var out []SinkFile
	for sc.Scan() {
		var f SinkFile
		if err := json.Unmarshal(sc.Bytes(), &f); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, sc.Err()
}

// FileURL prints a path as the URL that Spark's logs hold: file:///a/b%20c.
func FileURL(path string) string {
	return string(AppendFileURL(make([]byte, 0, len(path)+8), path))
}

// AppendFileURL is FileURL behind b.
func AppendFileURL(b []byte, path string) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, "file://"...)
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c <= ' ' || c == 0x7f || strings.IndexByte("\"<>\\^`{|}%[]?#", c) >= 0 {
			b = append(b, '%', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// FilePath is the inverse of FileURL; text that is no file URL is a path already.
func FilePath(url string) string {
	rest, ok := strings.CutPrefix(url, "file:")
	if !ok {
		return url
	}
	if r, ok := strings.CutPrefix(rest, "//"); ok {
		rest = r
	}
	return PercentDecode(rest)
}

// PercentDecode replaces %XX; a bad sequence stays as it is.
func PercentDecode(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}
