package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// The file that is synced after transactions must be the one the last is in, also when the log has just been
// replaced by the next, and none may be passed over in between.
func TestSyncFollowsTheLog(t *testing.T) {
	for _, each := range []bool{true, false} {
		c, err := Open(t.TempDir(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		replaced, last := 0, c.wal.id
		for n := range 30 {
			var w []write
			for k := range 10 {
				w = append(w, write{metaKey(fmt.Sprint("k", n, k)), frame(0, make([]byte, partSize))})
			}
			if each {
				err = c.write(0, w, "")
			} else {
				err = c.writeTogether(0, w, "")
			}
			if err != nil {
				t.Fatal(err)
			}
			logs, err := filepath.Glob(filepath.Join(c.dir, "db", "*.mem"))
			if err != nil || len(logs) == 0 {
				t.Fatalf("%v %v", logs, err)
			}
			if newest := slices.Max(logs); newest != c.wal.name(c.wal.id) {
				t.Fatalf("write %d: %s is synced, the newest log is %s", n, c.wal.name(c.wal.id), newest)
			}
			if c.wal.id != last {
				last, replaced = c.wal.id, replaced+1
			}
		}
		if replaced == 0 {
			t.Error("the log was never replaced")
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
