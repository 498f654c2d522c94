package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sources/sourcetest"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// put writes a file whose modification time is second sec.
func put(t testing.TB, dir, name, text string, sec int64) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1767225600+sec, 0)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func def(t testing.TB, path, format, ddl string, log sources.Log, options ...string) sources.Def {
	t.Helper()
	d := sources.Def{Format: format, Path: path, Log: log, Options: sources.Options{}}
	if ddl != "" {
		s, err := types.ParseDDL(ddl)
		if err != nil {
			t.Fatal(err)
		}
		d.Schema = s
	}
	for i := 0; i < len(options); i += 2 {
		d.Options[options[i]] = options[i+1]
	}
	return d
}

func open(t testing.TB, d sources.Def) sources.Source {
	t.Helper()
	s, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func batches(t testing.TB, s sources.Source, at sources.Offset) (sources.Offset, string) {
	t.Helper()
	var out []string
	for {
		end, rows := sourcetest.Batch(t, s, at, s.(sources.DefaultLimit).DefaultReadLimit())
		if end == at {
			return at, strings.Join(out, " ; ")
		}
		out = append(out, strings.Join(rows, " "))
		at = end
	}
}

func TestProtocol(t *testing.T) {
	dir := t.TempDir()
	sourcetest.Run(t, func(log sources.Log) (sources.Source, error) { return New(def(t, dir, "json", "a INT", log)) }, func(n int) {
		put(t, dir, fmt.Sprintf("%d.json", n), fmt.Sprintf("{\"a\":%d}\n{\"a\":%d}\n", n, n+100), int64(n))
	})
}

func TestLimits(t *testing.T) {
	for _, c := range []struct{ option, value, want string }{
		{"maxFilesPerTrigger", "1", "a ; b ; c"}, {"maxFilesPerTrigger", "2", "a b ; c"}, {"maxBytesPerTrigger", "2", "a b ; c"},
		{"maxFilesPerTrigger", "9", "a b c"},
	} {
		dir := t.TempDir()
		put(t, dir, "2.txt", "b", 1)
		put(t, dir, "1.txt", "a", 1)
		put(t, dir, "0.txt", "c", 2)
		put(t, dir, "_hidden", "x", 2)
		put(t, dir, ".hidden", "x", 2)
		put(t, dir, "sub/deep.txt", "x", 2)
		s := open(t, def(t, dir, "text", "", sourcetest.NewLog(), c.option, c.value))
		at, got := batches(t, s, "")
		if got != c.want {
			t.Errorf("%s=%s: %s", c.option, c.value, got)
		}
		put(t, dir, "3.txt", "new", 3)
		if _, got := batches(t, s, at); got != "new" {
			t.Errorf("a new file: %q", got)
		}
	}
}

func TestLatestFirstAndAge(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		put(t, dir, fmt.Sprintf("%d", i), fmt.Sprint(i), int64(i*100))
	}
	s := open(t, def(t, dir, "text", "", sourcetest.NewLog(), "latestFirst", "true", "maxFilesPerTrigger", "1"))
	if _, got := batches(t, s, ""); got != "3 ; 2 ; 1 ; 0" {
		t.Error(got)
	}
	s = open(t, def(t, dir, "text", "", sourcetest.NewLog(), "maxFileAge", "150s"))
	at, got := batches(t, s, "")
	put(t, dir, "old", "old", 140)
	put(t, dir, "young", "young", 160)
	if at, more := batches(t, s, at); got != "0 1 2 3" || more != "young" || at != `{"logOffset":1}` {
		t.Error(got, more, at)
	}
	if n := s.(*Source).Metrics("")["filesIgnoredTooOld"]; n != "3" { // old, 0 and 1, which are forgotten
		t.Error(n)
	}
}

func TestLogIsSparks(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "2 b.json", "", 11)
	log := sourcetest.NewLog()
	s := open(t, def(t, dir, "json", "a INT", log))
	batches(t, s, "")
	want := `v1` + "\n" + `{"path":"file://` + dir + `/2%20b.json","timestamp":1767225611000,"batchId":0}`
	if got := string(log.Entries[0]); got != want {
		t.Errorf("%s\n%s", got, want)
	}
	// A crash between the log and the offset: the entry is found and not written again.
	s = open(t, def(t, dir, "json", "a INT", log))
	end, err := s.LatestOffset(context.Background(), "", sources.ReadLimit{})
	if err != nil || end != `{"logOffset":0}` || len(log.Entries) != 1 {
		t.Error(end, err, len(log.Entries))
	}
}

func TestPartitionFolders(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "p=x/q=1/1.json", "{\"a\":1}", 1)
	put(t, dir, "p=__HIVE_DEFAULT_PARTITION__/q=2/1.json", "{\"a\":2}", 2)
	put(t, dir, "0.json", "{\"a\":0}", 0)
	s := open(t, def(t, dir, "json", "p STRING, a INT", sourcetest.NewLog()))
	if got := s.Schema().DDL(); got != "a INT,p STRING,q INT" {
		t.Error(got)
	}
	at, got := batches(t, s, "")
	put(t, dir, "p=a%2Fb/q=3/2.json", "{\"a\":3,\"q\":99}", 3)
	if _, more := batches(t, s, at); got != "1|x|1 2|NULL|2" || more != "3|a/b|3" {
		t.Error(got, more)
	}
	s = open(t, def(t, dir, "json", "p STRING, a INT", sourcetest.NewLog()))
	if !s.(sources.Pruner).Prune([]int{2}) {
		t.Fatal("not pruned")
	}
	parts, err := func() ([]columnar.Partition, error) {
		end, _ := s.LatestOffset(context.Background(), "", sources.ReadLimit{})
		return s.PlanPartitions(context.Background(), "", end)
	}()
	if err != nil {
		t.Fatal(err)
	}
	if rows := sourcetest.Rows(t, s.Schema()[2:], parts); strings.Join(rows, " ") != "1 2 3" {
		t.Error(rows)
	}
	put(t, dir, "p=x/1.json", "{}", 4)
	if _, err := New(def(t, dir, "json", "a INT", nil)); !errs.Has(err, "CONFLICTING_PARTITION_COLUMN_NAMES") {
		t.Error(err)
	}
	if _, err := New(def(t, filepath.Join(dir, "none"), "json", "a INT", nil)); !errs.Has(err, "PATH_NOT_FOUND") {
		t.Error(err)
	}
	if _, err := New(def(t, dir, "json", "", nil)); !errs.Has(err, "_LEGACY_ERROR_TEMP_2048") && !errs.Has(err, "CONFLICTING_PARTITION_COLUMN_NAMES") {
		t.Error(err)
	}
}

func TestGlob(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "top.txt", "top", 0)
	put(t, dir, "s/one.txt", "one", 1)
	put(t, dir, "s/t/two.txt", "two", 2)
	put(t, dir, "s/t/u/three.txt", "three", 3)
	s := open(t, def(t, dir+"/*/*", "text", "", sourcetest.NewLog()))
	at, got := batches(t, s, "")
	put(t, dir, "v/w/new.txt", "new", 4)
	put(t, dir, "v/x.txt", "x", 5)
	if _, more := batches(t, s, at); got != "one two" || more != "new x" {
		t.Error(got, more)
	}
	for pattern, want := range map[string]bool{"*.txt": true, "{a,t}op.*": true, "t[n-p]p.txt": true, "t[!o]p.txt": false, "?.txt": false} {
		if match(pattern, "top.txt") != want {
			t.Error(pattern)
		}
	}
}

func TestCleanSource(t *testing.T) {
	dir, archive := t.TempDir(), t.TempDir()
	put(t, dir, "a.txt", "a", 1)
	s := open(t, def(t, dir, "text", "", sourcetest.NewLog(), "cleanSource", "archive", "sourceArchiveDir", archive))
	at, _ := batches(t, s, "")
	if err := s.Commit(context.Background(), at); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(archive, dir, "a.txt")); err != nil {
		t.Error(err)
	}
	if _, err := New(def(t, dir, "text", "", sourcetest.NewLog(), "cleanSource", "archive", "sourceArchiveDir", filepath.Join(dir, "x"))); !errs.Has(err, "INVALID_OPTION") {
		t.Error(err)
	}
}

func TestBadOptions(t *testing.T) {
	dir := t.TempDir()
	for _, o := range [][]string{{"maxFilesPerTrigger", "0"}, {"maxFilesPerTrigger", "10.1"}, {"latestFirst", "1"}, {"cleanSource", "x"},
		{"modifiedBefore", "2024-01-01"}, {"maxFilesPerTrigger", "1", "maxBytesPerTrigger", "1"}, {"maxFileAge", "1 week"}} {
		if _, err := New(def(t, dir, "text", "", sourcetest.NewLog(), o...)); !errs.Has(err, "INVALID_OPTION") {
			t.Errorf("%v: %v", o, err)
		}
		if _, err := New(def(t, dir, "text", "", nil, o...)); err != nil {
			t.Errorf("%v is refused when the source is defined: %v", o, err)
		}
		if err := Check(def(t, dir, "text", "", nil, o...)); !errs.Has(err, "INVALID_OPTION") {
			t.Errorf("%v: %v", o, err)
		}
	}
}

func TestTableInfersAndPrunes(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "1.csv", "id,name\n1,x\n", 1)
	put(t, dir, "2.csv", "id,name\n2,y\n", 2)
	tab, err := NewTable(context.Background(), def(t, dir, "csv", "", nil, "header", "true", "inferSchema", "true"))
	if err != nil {
		t.Fatal(err)
	}
	if got := tab.Schema().DDL(); got != "id INT,name STRING" {
		t.Error(got)
	}
	parts, err := tab.Scan(context.Background(), catalog.Scan{Columns: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	if rows := sourcetest.Rows(t, tab.Schema()[1:], parts); strings.Join(rows, " ") != "x y" {
		t.Error(rows)
	}
}

func TestBigFileIsCut(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&b, "{\"a\":%d,\"pad\":\"xxxxxxxx\"}\n", i)
	}
	put(t, dir, "big.json", b.String(), 1)
	s := open(t, def(t, dir, "json", "a INT", sourcetest.NewLog()))
	end, _ := s.LatestOffset(context.Background(), "", sources.ReadLimit{})
	parts, err := s.PlanPartitions(context.Background(), "", end)
	if err != nil || len(parts) < 3 {
		t.Fatal(len(parts), err)
	}
	rows := sourcetest.Rows(t, s.Schema(), parts)
	if len(rows) != 400_000 || rows[399_999] != "399999" || rows[200_000] != "200000" {
		t.Error(len(rows))
	}
}

// One file of many is planned without reading the folder again.
func BenchmarkPlanOneFile(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		put(b, dir, fmt.Sprintf("%05d.json", i), "{\"a\":1}\n", int64(i))
	}
	var s sources.Source
	at := sources.Offset("")
	for i := 0; b.Loop(); i++ {
		if i%9000 == 0 {
			b.StopTimer()
			s, at = open(b, def(b, dir, "json", "a INT", nil, "maxFilesPerTrigger", "1")), ""
			at, _ = s.LatestOffset(context.Background(), at, sources.ReadLimit{MaxFiles: 1})
			b.StartTimer()
		}
		end, err := s.LatestOffset(context.Background(), at, sources.ReadLimit{MaxFiles: 1})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.PlanPartitions(context.Background(), at, end); err != nil {
			b.Fatal(err)
		}
		if i%100 == 0 {
			s.Commit(context.Background(), at)
		}
		at = end
	}
}

// forgetful is a log that drops entries.
type forgetful struct {
	sources.Log
	below int64
}

func (l *forgetful) Forget(below int64) error { l.below = below; return nil }

// The log does not grow for ever: entries of files that are too old to be read again go, the last hundred stay.
func TestLogForgets(t *testing.T) {
	dir := t.TempDir()
	log := &forgetful{Log: sourcetest.NewLog()}
	s := open(t, def(t, dir, "text", "", log, "maxFileAge", "10ms", "maxFilesPerTrigger", "1"))
	at := sources.Offset("")
	for i := range 250 {
		put(t, dir, fmt.Sprintf("f%03d.txt", i), "x", int64(i+1))
		end, err := s.LatestOffset(context.Background(), at, sources.ReadLimit{MaxFiles: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(context.Background(), end); err != nil {
			t.Fatal(err)
		}
		at = end
	}
	if log.below < 100 || log.below > 150 {
		t.Errorf("forgotten below %d", log.below)
	}
}
