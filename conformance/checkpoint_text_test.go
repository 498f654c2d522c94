package conformance

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"streamlab/store"
)

// sourceEntry gives the entry that Spark keeps in the file <checkpoint>/sources/K/N and streamlab in the log of
// the K-th source: the same bytes elsewhere.
func (p *player) sourceEntry(path string) ([]byte, bool) {
	parts := strings.Split(path, "/")
	n := len(parts)
	if n < 4 || parts[n-3] != "sources" {
		return nil, false
	}
	source, e1 := strconv.Atoi(parts[n-2])
	entry, e2 := strconv.ParseInt(parts[n-1], 10, 64)
	dir := filepath.Join(append([]string{p.work}, parts[:n-3]...)...)
	if _, err := os.Stat(filepath.Join(dir, "db")); e1 != nil || e2 != nil || err != nil {
		return nil, false
	}
	c, err := store.Open(dir, store.Options{Durability: "process"})
	if err != nil {
		return nil, false
	}
	defer c.Close()
	data, ok, err := c.SourceLog(source).Get(entry)
	return data, ok && err == nil
}
