package files

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"streamlab/internal/vfs"
)

// A newSet is a lister and what it has found so far.
type newSet struct {
	l    *lister
	seen map[string]bool
	read int // readings of whole folders
}

// next gives the names that a source would find now, and remembers them.
func (s *newSet) next(t *testing.T) []string {
	t.Helper()
	var out listing
	defer out.free()
	keep := func(dir string, name []byte) bool { return !s.seen[dir+"/"+string(name)] }
	some, err := s.l.fresh(&out, keep)
	if err == nil && !some {
		s.read++
		err = s.l.into(&out, keep)
	}
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range out.files() {
		paths = append(paths, f.path)
		s.seen[f.path] = true
	}
	return paths
}

func needWatch(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "in")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := vfs.NewWatch(vfs.OS)
	if err == nil {
		err = w.Add(dir)
		w.Close()
	}
	if err != nil {
		t.Skip(err)
	}
	return dir
}

// Whatever happens in the folders, a lister that is told of new names finds what one finds that reads them.
func TestFreshFindsWhatAReadingFinds(t *testing.T) {
	for _, recursive := range []bool{false, true} {
		t.Run(fmt.Sprint("recursive ", recursive), func(t *testing.T) {
			dir := needWatch(t)
			outside := t.TempDir()
			for i := range watchFrom + 10 {
				put(t, dir, fmt.Sprintf("old%d", i), "x", 0)
			}
			told := &newSet{l: &lister{fs: vfs.OS, path: dir, recursive: recursive}, seen: map[string]bool{}}
			defer func() { told.l.news.close() }()
			reads := map[string]bool{} // what the other one has seen
			rng := rand.New(rand.NewPCG(7, 7))
			n := 0
			must := func(err error) {
				if err != nil {
					t.Fatal(err)
				}
			}
			name := func(form string) string { n++; return fmt.Sprintf(form, n) }
			some := func() string { // a file that is there
				list, err := os.ReadDir(dir)
				must(err)
				for {
					if e := list[rng.IntN(len(list))]; !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
						return filepath.Join(dir, e.Name())
					}
				}
			}
			folder := func() string { // where a file is put
				if rng.IntN(4) > 0 {
					return dir
				}
				sub := filepath.Join(dir, fmt.Sprintf("sub%d", rng.IntN(3)), "deep")
				must(os.MkdirAll(sub, 0o755))
				return sub
			}
			ops := []func(){
				func() { put(t, folder(), name("new%d"), "x", 1) },
				func() { put(t, folder(), name("new%d"), "x", 1) },
				func() {
					put(t, outside, "file", "x", 2)
					must(os.Rename(filepath.Join(outside, "file"), filepath.Join(folder(), name("moved%d"))))
				},
				func() {
					put(t, dir, ".hidden", "x", 2)
					must(os.Rename(filepath.Join(dir, ".hidden"), filepath.Join(dir, name("shown%d"))))
				},
				func() { must(os.Link(some(), filepath.Join(folder(), name("linked%d")))) },
				func() { must(os.Symlink(some(), filepath.Join(folder(), name("soft%d")))) },
				func() { must(os.Rename(some(), filepath.Join(dir, name("renamed%d")))) },
				func() { must(os.Remove(some())) },
				func() { must(os.Chtimes(some(), time.Now(), time.Now())) },
				func() { // the folder is another one
					must(os.Rename(dir, filepath.Join(outside, name("was%d"))))
					must(os.Mkdir(dir, 0o755))
					for range watchFrom + 1 {
						put(t, dir, name("anew%d"), "x", 3)
					}
				},
				func() { // and so is one above it
					up := filepath.Dir(dir)
					must(os.Rename(up, up+"-"))
					must(os.MkdirAll(dir, 0o755))
					for range watchFrom + 1 {
						put(t, dir, name("above%d"), "x", 3)
					}
					must(os.RemoveAll(up + "-"))
				},
			}
			for step := range 400 {
				for range rng.IntN(4) {
					k := rng.IntN(len(ops))
					if k >= len(ops)-2 && rng.IntN(10) > 0 {
						k = 0
					}
					ops[k]()
				}
				other := &newSet{l: &lister{fs: vfs.OS, path: dir, recursive: recursive}, seen: reads}
				got, want := told.next(t), other.next(t)
				if !slices.Equal(got, want) {
					t.Fatalf("step %d: told %q, read %q", step, got, want)
				}
			}
			if t.Logf("the folders were read %d times", told.read); told.read > 150 {
				t.Errorf("the folders were read %d times", told.read)
			}
		})
	}
}

// A watch may be refused, and may miss something: then the folders are read.
func TestFreshReadsWhereNothingIsTold(t *testing.T) {
	dir := needWatch(t)
	for i := range watchFrom + 10 {
		put(t, dir, fmt.Sprintf("old%d", i), "x", 0)
	}
	s := &newSet{l: &lister{fs: vfs.OS, path: dir}, seen: map[string]bool{}}
	defer func() { s.l.news.close() }()
	s.next(t)
	s.next(t)
	if s.read != 2 || !s.l.news.armed {
		t.Fatalf("read %d times, armed %v", s.read, s.l.news.armed)
	}
	put(t, dir, "one", "x", 1)
	if got := s.next(t); len(got) != 1 || s.read != 2 {
		t.Fatalf("found %q, read %d times", got, s.read)
	}
	s.l.news.w = deaf{s.l.news.w}
	put(t, dir, "two", "x", 1)
	if got := s.next(t); len(got) != 1 || s.read != 3 {
		t.Fatalf("found %q, read %d times", got, s.read)
	}
	s.l.news.read = time.Now().Add(-2 * relistAfter) // it was long ago
	put(t, dir, "three", "x", 1)
	if got := s.next(t); len(got) != 1 || s.read != 4 {
		t.Fatalf("found %q, read %d times", got, s.read)
	}
	put(t, dir, "k=1/four", "x", 1) // the folder has become one of partitions
	if got := s.next(t); len(got) != 1 || s.read != 5 {
		t.Fatalf("found %q, read %d times", got, s.read)
	}
}

// deaf has missed something.
type deaf struct{ vfs.Watch }

func (deaf) Changes(func(dir string, name []byte, folder bool)) bool { return false }
