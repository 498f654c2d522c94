package files

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// settled is the age from which a file's time tells its contents apart: younger ones may be written again
// within the same tick of the file system's clock.
const settled = 2 * time.Second

var young atomic.Int64 // makes versions of young files unequal

// Version lists the files with their times and sizes (catalog.Versioned).
func (t *table) Version(context.Context) (string, error) {
	files, err := t.list.list(all)
	if err != nil {
		return "", err
	}
	limit := time.Now().Add(-settled).UnixMilli()
	var b strings.Builder
	for _, f := range files {
		if f.mtime > limit {
			return "young " + strconv.FormatInt(young.Add(1), 10), nil
		}
		b.WriteString(f.path)
		b.WriteByte(0)
		b.WriteString(strconv.FormatInt(f.mtime, 10) + " " + strconv.FormatInt(f.size, 10))
		b.WriteByte(0)
	}
	return b.String(), nil
}
