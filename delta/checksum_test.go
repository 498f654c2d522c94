package delta

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every version has a checksum that agrees with it, with the bins of file sizes that others use.
func TestChecksums(t *testing.T) {
	l := checkedTable(t, nil)
	if n := len(sizeBounds); n != 95 || sizeBounds[35] != 144<<20 || sizeBounds[62] != 576<<20 || sizeBounds[75] != 1408<<20 || sizeBounds[94] != 256<<30 {
		t.Errorf("%d bins: %v", n, sizeBounds)
	}
	for v := int64(0); v <= 10; v++ {
		c, err := l.readChecksum(v)
		if err != nil || c == nil {
			t.Fatalf("version %d: %v %v", v, c, err)
		}
		s, err := l.At(v)
		if err != nil {
			t.Fatal(err)
		}
		var r CheckReport
		l.checkChecksum(s, &r)
		if len(r.Findings) > 0 || *c.NumFiles != int64(s.NumFiles()) || len(c.AllFiles) != s.NumFiles() || c.TxnID == "" {
			t.Errorf("version %d: %+v", v, r.Findings)
		}
	}
	for n, want := range map[int64]int{0: 0, 1: 1, 9: 1, 10: 2, 999999: 6, 1000000: 7, 9999999: 7, 10000000: 8, 2147483646: 8, 2147483647: 9} {
		if got := deletedBin(n); got != want {
			t.Errorf("%d hidden rows are in bin %d, want %d", n, got, want)
		}
	}
}

// Versions older than the table keeps them go after a checkpoint, never one that a kept version needs.
func TestOldVersionsGo(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name    string
		props   map[string]string
		age     time.Duration // of versions 0 to 15
		foreign bool
		oldest  int64
	}{
		{"young", nil, 29 * day, false, 0},
		{"old", nil, 32 * day, false, 10},
		{"short retention", map[string]string{"delta.logRetentionDuration": "interval 2 days"}, 4 * day, false, 10},
		{"not wanted", map[string]string{"delta.enableExpiredLogCleanup": "false"}, 90 * day, false, 0},
		{"made by another", nil, 90 * day, true, 0},
		{"made by another and wanted", map[string]string{"delta.enableExpiredLogCleanup": "true"}, 90 * day, true, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := checkedTable(t, c.props)
			for l.Known().Version < 15 {
				commitEmpty(t, l)
			}
			old := time.Now().Add(-c.age)
			for v := int64(0); v <= 15; v++ {
				if err := os.Chtimes(l.CommitPath(v), old, old); err != nil {
					t.Fatal(err)
				}
			}
			if c.foreign {
				text, err := os.ReadFile(l.CommitPath(0))
				if err != nil {
					t.Fatal(err)
				}
				other := strings.Replace(string(text), engineVersion, "Apache-Spark/4.2.0", 1)
				if err := os.WriteFile(l.CommitPath(0), []byte(other), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(l.CommitPath(0), old, old); err != nil {
					t.Fatal(err)
				}
			}
			l = Open(l.Root)
			for {
				if commitEmpty(t, l); l.Known().Version == 20 {
					break
				}
			}
			g, err := l.list()
			if err != nil || g.commits[0] != c.oldest {
				t.Fatalf("the oldest version is %d, want %d, %v", g.commits[0], c.oldest, err)
			}
			sums, _ := filepath.Glob(filepath.Join(l.dir(), "0*.crc"))
			if want := int(21 - c.oldest); len(sums) != want {
				t.Errorf("%d checksums, want %d", len(sums), want)
			}
			for v := c.oldest; v <= 20; v++ {
				if s, err := Open(l.Root).At(v); err != nil || s.NumFiles() != int(min(v+1, 11)) {
					t.Errorf("version %d: %v", v, err)
				}
			}
		})
	}
}

// commitEmpty adds a version that changes nothing but a mark.
func commitEmpty(t *testing.T, l *Log) {
	t.Helper()
	txn, err := l.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := txn.Commit(Operation{Name: "WRITE"}, []Action{txn.MarkAction("app", int64(txn.Snapshot().Version))}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Snapshot(); err != nil {
		t.Fatal(err)
	}
}
