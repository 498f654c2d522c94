package delta

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"streamlab/errs"
	"streamlab/internal/vfs"
)

// nullPartition is the folder of rows whose partition value is null.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

const upperHex = "0123456789ABCDEF"

// hiveSpecial are the characters that Hive escapes in names of partition folders, control characters aside.
const hiveSpecial = "\"#%'*/:=?\\{[]^\x7f"

// hiveEscape makes a name or value fit for a partition folder.
func hiveEscape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x20 || strings.IndexByte(hiveSpecial, c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// encodePath makes the URI form of a relative path as the log holds it: % becomes %25, a space %20; what
// Java's URI leaves alone (letters beyond ASCII as well) stays.
func encodePath(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case c >= 0x80, 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			strings.IndexByte("-_.!~*'()/=:@&+$,;", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

// decodePath undoes encodePath, once. A bad escape stays as it is; + is a plus.
func decodePath(p string) string {
	if strings.IndexByte(p, '%') < 0 {
		return p
	}
	b := make([]byte, 0, len(p))
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) {
			h, l := unhex(p[i+1]), unhex(p[i+2])
			if h >= 0 && l >= 0 {
				b = append(b, byte(h<<4|l))
				i += 2
				continue
			}
		}
		b = append(b, p[i])
	}
	return string(b)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// canonicalPath is a path of the log by which files are compared: decoded once; file:/a, file:///a and /a
// are the same.
func canonicalPath(p string) string {
	d := decodePath(p)
	if rest, ok := strings.CutPrefix(d, "file:"); ok && strings.HasPrefix(rest, "/") {
		return "/" + strings.TrimLeft(rest, "/")
	}
	return d
}

// resolve gives the path on disk of a file that the log names. A file outside the table's folder is refused
// with DELTA_PATH_OUTSIDE_TABLE: a log is data, and data must not say what else is read.
func (l *Log) resolve(path string) (string, error) {
	p := canonicalPath(path)
	outside := func() (string, error) {
		return "", errs.New("DELTA_PATH_OUTSIDE_TABLE", "path", path, "table", l.Root)
	}
	if i := strings.Index(p, "://"); i > 0 && !strings.ContainsAny(p[:i], "/=") {
		return outside()
	}
	if strings.ContainsRune(p, 0) {
		return outside()
	}
	if filepath.IsAbs(p) {
		rel, err := filepath.Rel(l.Root, filepath.Clean(p))
		if err != nil || !filepath.IsLocal(rel) {
			return outside()
		}
		return filepath.Join(l.Root, rel), nil
	}
	if !filepath.IsLocal(p) {
		return outside()
	}
	return filepath.Join(l.Root, p), nil
}

// cloned finds the file of another table that an absolute path of the log names: shallow clones have such paths.
// The file must lie in a folder that has a log itself; root is that folder.
func (l *Log) cloned(path string) (root, name string, ok bool) {
	p := canonicalPath(path)
	if !filepath.IsAbs(p) || strings.ContainsRune(p, 0) {
		return "", "", false
	}
	name = filepath.Clean(p)
	for root = filepath.Dir(name); ; root = filepath.Dir(root) {
		if info, err := l.FS.Stat(filepath.Join(root, LogDir)); err == nil && info.IsDir() {
			return root, name, root != l.Root
		}
		if root == filepath.Dir(root) {
			return "", "", false
		}
	}
}

// reading is resolve for a file that is to be read: it must lie in the table's folder also when links on the way
// are followed, or in that of another table if the path is absolute. One that is not there is left to the reading.
func (l *Log) reading(path string) (string, error) {
	root := l.Root
	p, err := l.resolve(path)
	if err != nil {
		var ok bool
		if root, p, ok = l.cloned(path); !ok {
			return "", err
		}
	}
	outside, err := vfs.Leads(l.FS, root, p)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil && outside {
		err = errs.New("DELTA_PATH_OUTSIDE_TABLE", "path", path, "table", l.Root)
	}
	return p, err
}

// writable refuses a folder of the table that cannot be made or that a link leads out of.
func (l *Log) writable(folder string) error {
	rel, err := filepath.Rel(l.Root, folder)
	if err != nil {
		return err
	}
	for _, part := range strings.Split(rel, "/") {
		if name, _, ok := strings.Cut(part, "="); ok && len(part) > 255 {
			return errs.New("PARTITION_VALUE_TOO_LONG", "column", name, "bytes", len(part), "limit", 255)
		}
	}
	link, err := vfs.Link(l.FS, l.Root, rel)
	if err == nil && link != "" {
		err = errs.New("OUTPUT_THROUGH_LINK", "path", link, "folder", l.Root)
	}
	return err
}

// partitionDir is the folder of a file with the given values, one per column, nil for null.
func partitionDir(columns []string, values []*string) string {
	var parts []string
	for i, c := range columns {
		v := nullPartition
		if values[i] != nil {
			v = hiveEscape(*values[i])
		}
		parts = append(parts, hiveEscape(c)+"="+v)
	}
	return strings.Join(parts, "/")
}
