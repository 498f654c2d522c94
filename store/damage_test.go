package store

import (
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"streamlab/errs"
)

// copyDir copies a folder as it is on disk at the moment.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		return copyFile(path, filepath.Join(to, rel))
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// copyFile copies a file without writing its trailing zeros, which Badger's files have many of.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, []byte(strings.TrimRight(string(data), "\x00")), 0o600); err != nil {
		return err
	}
	return os.Truncate(to, int64(len(data)))
}

// tell says all that a checkpoint holds, or the condition that refuses it.
func tell(dir string) (text string, err error) {
	c, err := Open(dir, Options{Durability: "process"})
	if err != nil {
		return "", err
	}
	defer c.Close()
	var b strings.Builder
	head, _ := c.Head()
	pending, ok := c.Pending()
	fmt.Fprintln(&b, c.ID(), head, ok, pending)
	for e, err := range c.History() {
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, e.Batch, e.Offsets, e.Commit)
	}
	from, to := c.Retained()
	for n := from; n <= to; n++ {
		segments, err := segmentsAt(c, n)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%d %x\n", n, segments)
	}
	for n, e := range c.SourceLog(0).From(0) {
		fmt.Fprintln(&b, n, string(e))
	}
	if c.broken != nil {
		return "", c.broken
	}
	return b.String(), nil
}

// sample makes a checkpoint with small and large segments, a base, a source log and a pending batch.
func sample(t testing.TB, c *Checkpoint) {
	t.Helper()
	for n := range int64(8) {
		if err := c.SourceLog(0).Add(n, []byte(fmt.Sprint("entry ", n))); err != nil {
			t.Fatal(err)
		}
		if err := c.LogOffsets(n, offsetsOf(n)); err != nil {
			t.Fatal(err)
		}
		b := c.Begin(n)
		seg := make(Segment, 60)
		if n%3 == 1 {
			seg = make(Segment, 600<<10)
		}
		for i := range seg {
			seg[i] = byte(int(n) + i/7)
		}
		b.Delta(shard, seg)
		if n == 5 {
			if err := b.Base(shard, 0, Segment("base")); err != nil {
				t.Fatal(err)
			}
			b.Covered(shard, 4)
		}
		if err := b.Commit(CommitEntry{NextBatchWatermarkMs: n}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk is a folder's files in memory, without their trailing zeros, of which Badger's have many.
type disk map[string]content

type content struct {
	data string
	size int64
}

func readDisk(t *testing.T, dir string) disk {
	d := disk{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		data, err := os.ReadFile(path)
		d[rel] = content{strings.TrimRight(string(data), "\x00"), int64(len(data))}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d disk) write(t *testing.T, dir string) string {
	for name, c := range d {
		path := filepath.Join(dir, name)
		_ = os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, c.size); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDamageIsNeverSilent: whatever bit flips and wherever a file is cut, the checkpoint says the same as
// before or is refused by name.
func TestDamageIsNeverSilent(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	sample(t, c)
	if err := c.anchor.wait(); err != nil {
		t.Fatal(err)
	}
	earlier, err := tell(copyDir(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LogOffsets(8, offsetsOf(8)); err != nil {
		t.Fatal(err)
	}
	killed := readDisk(t, dir) // everything is in Badger's write-ahead log
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for name, whole := range map[string]disk{"killed": killed, "closed": readDisk(t, dir)} {
		want, err := tell(whole.write(t, t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		same, refused := 0, 0
		for _, at := range places(whole) {
			for _, cut := range []bool{false, true} {
				broken := whole.write(t, t.TempDir())
				if path := filepath.Join(broken, at.file); cut {
					_ = os.Truncate(path, at.offset)
				} else {
					flip(t, path, at.offset)
				}
				got, err := tell(broken)
				switch {
				case err == nil && got == want, err == nil && got == earlier && name == "killed":
					// The anchor is one record behind: the last one looks as if it had never been written.
					same++
				case err == nil:
					t.Errorf("%s: %s at %d (cut: %t): the difference is silent", name, at.file, at.offset, cut)
				case errs.As(err) == nil || !strings.HasPrefix(errs.As(err).Condition, "CHECKPOINT_"):
					t.Errorf("%s: %s at %d (cut: %t): %v", name, at.file, at.offset, cut, err)
				default:
					refused++
				}
				_ = os.RemoveAll(broken)
			}
		}
		t.Logf("%s: %d the same, %d refused", name, same, refused)
		if refused < 10 {
			t.Errorf("%s: only %d times was damage noticed", name, refused)
		}
	}
}

type place struct {
	file   string
	offset int64
}

// places picks offsets over all files, where they have content.
func places(d disk) (list []place) {
	for name, c := range d {
		if n := int64(len(c.data)); n > 0 {
			for i := range int64(5) {
				list = append(list, place{name, (n - 1) * i / 4})
			}
		}
	}
	return list
}

func flip(t *testing.T, path string, offset int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := []byte{0}
	if _, err := f.ReadAt(b, offset); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << (offset % 8)
	if _, err := f.WriteAt(b, offset); err != nil {
		t.Fatal(err)
	}
}

func TestLostCommits(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	run(t, c, 10)
	early := copyDir(t, dir)
	run(t, c, 60) // so many that the log is known to be durable up to some batch behind the damage
	if err := c.anchor.wait(); err != nil {
		t.Fatal(err)
	}
	late := copyDir(t, dir)
	// The write-ahead log is damaged in its middle: Badger drops what follows without a word.
	mem, _ := filepath.Glob(filepath.Join(late, "db", "*.mem"))
	if len(mem) != 1 {
		t.Fatalf("write-ahead files %v", mem)
	}
	flip(t, mem[0], 6000)
	_, err := Open(late, Options{})
	e := wantCondition(t, err, "CHECKPOINT_LOST_COMMITS")
	if !strings.HasSuffix(e.Params["range"], " to 59") {
		t.Errorf("params are %v", e.Params)
	}
	// The database is an older copy of itself.
	if err := os.Rename(filepath.Join(early, "db"), filepath.Join(late, "db2")); err != nil {
		t.Fatal(err)
	}
	_ = os.RemoveAll(filepath.Join(late, "db"))
	_ = os.Rename(filepath.Join(late, "db2"), filepath.Join(late, "db"))
	_, err = Open(late, Options{})
	wantCondition(t, err, "CHECKPOINT_LOST_COMMITS")
}

func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	run(t, c, 6)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	remove := func(key []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			edit(t, dir, func(db *badger.DB) error { return putOnce(db, 100, []write{{key: key}}) })
		}
	}
	for _, x := range []struct {
		name, condition string
		harm            func(t *testing.T, dir string)
	}{
		{"one slot of ANCHOR", "", func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "ANCHOR"), 20) }},
		{"all slots of ANCHOR", "CHECKPOINT_CORRUPT", func(t *testing.T, dir string) {
			for i := range int64(slotCount) {
				flip(t, filepath.Join(dir, "ANCHOR"), i*slotSize+20)
			}
		}},
		{"no ANCHOR", "CHECKPOINT_CORRUPT", func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "ANCHOR")) }},
		{"no META", "CHECKPOINT_CORRUPT", func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "META")) }},
		{"no database", "CHECKPOINT_CORRUPT", func(t *testing.T, dir string) { _ = os.RemoveAll(filepath.Join(dir, "db")) }},
		{"META of a later format", "CHECKPOINT_TOO_NEW", func(t *testing.T, dir string) {
			line := `{"version":2,"id":"?"}`
			text := fmt.Sprintf("%s\n%08x\n", line, crc32.Checksum([]byte(line), castagnoli))
			_ = os.WriteFile(filepath.Join(dir, "META"), []byte(text), 0o600)
		}},
		{"a commit in the middle", "CHECKPOINT_LOG_ENTRY_MISSING", remove(batchKey(keyCommit, 3))},
		{"the first commit", "CHECKPOINT_LOG_ENTRY_MISSING", remove(batchKey(keyCommit, 0))},
		{"the last commit", "CHECKPOINT_LOST_COMMITS", remove(batchKey(keyCommit, 5))},
		{"an offset record", "CHECKPOINT_LOG_ENTRY_MISSING", remove(batchKey(keyOffsets, 2))},
		{"offsets far ahead", "CHECKPOINT_LOG_GAP", func(t *testing.T, dir string) {
			edit(t, dir, func(db *badger.DB) error {
				return putOnce(db, 9, []write{{batchKey(keyOffsets, 8), frame(flagGroupEnd, []byte(`{"batch":8}`))}})
			})
		}},
		{"an exchanged commit", "CHECKPOINT_CORRUPT", func(t *testing.T, dir string) {
			edit(t, dir, func(db *badger.DB) error {
				txn := db.NewTransactionAt(latest, false)
				defer txn.Discard()
				_, payload, err := fetch(txn, batchKey(keyCommit, 2))
				if err != nil {
					return err
				}
				return putOnce(db, version(3), []write{{batchKey(keyCommit, 3), frame(0, payload)}})
			})
		}},
		{"an empty write-ahead file", "", func(t *testing.T, dir string) {
			_ = os.WriteFile(filepath.Join(dir, "db", "00077.mem"), nil, 0o600)
			_ = os.WriteFile(filepath.Join(dir, "db", "000077.vlog"), nil, 0o600)
		}},
	} {
		broken := copyDir(t, dir)
		x.harm(t, broken)
		c, err := Open(broken, Options{})
		if x.condition == "" {
			if err != nil {
				t.Errorf("%s: %v", x.name, err)
				continue
			}
			if head, _ := c.Head(); head != 5 {
				t.Errorf("%s: head is %d", x.name, head)
			}
			run(t, c, 8)
			_ = c.Close()
			continue
		}
		if err == nil {
			_ = c.Close()
		}
		if !errs.Has(err, x.condition) {
			t.Errorf("%s: %v, want %s", x.name, err, x.condition)
		}
	}
}

// edit changes a database behind the checkpoint's back.
func edit(t *testing.T, dir string, f func(*badger.DB) error) {
	t.Helper()
	db, err := openBadger(filepath.Join(dir, "db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f(db); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMissingState: a segment that a commit record tells of and that is gone is found at open.
func TestMissingState(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	sample(t, c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, g := range []group{
		{letter: keyDelta, shard: shard, batch: 7},
		{letter: keyBase, shard: shard, batch: 4},
	} {
		broken := copyDir(t, dir)
		edit(t, broken, func(db *badger.DB) error {
			return putOnce(db, version(7), []write{{key: partKey(g.prefix(), 0)}, {key: partKey(g.prefix(), 1)}})
		})
		_, err := Open(broken, Options{})
		wantCondition(t, err, "CHECKPOINT_CORRUPT")
	}
}

func TestVerify(t *testing.T) {
	c := mustOpen(t, t.TempDir(), Options{})
	sample(t, c)
	if err := c.Verify(); err != nil {
		t.Fatal(err)
	}
	g := group{letter: keyDelta, shard: shard, batch: 7}
	bad := frame(flagSegmentEnd, []byte("rows"))
	bad[3] ^= 1
	if err := putOnce(c.db, version(7), []write{{partKey(g.prefix(), 0), bad}}); err != nil {
		t.Fatal(err)
	}
	e := wantCondition(t, c.Verify(), "CHECKPOINT_CORRUPT")
	if !strings.Contains(e.Error(), "batch 7") {
		t.Error(e)
	}
	if _, err := segmentsAt(c, 7); !errs.Has(err, "CHECKPOINT_CORRUPT") {
		t.Errorf("reading gives %v", err)
	}
}
