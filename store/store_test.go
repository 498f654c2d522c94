package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamlab/errs"
)

var shard = Shard{Operator: 0, Range: 1}

func mustOpen(t testing.TB, dir string, o Options) *Checkpoint {
	t.Helper()
	c, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func offsetsOf(n int64) OffsetEntry {
	return OffsetEntry{Offsets: []string{fmt.Sprintf(`{"n":%d}`, n)}, BatchTimestampMs: n}
}

// run commits batches up to but not including end, each with one delta "row n".
func run(t testing.TB, c *Checkpoint, end int64) {
	t.Helper()
	head, _ := c.Head()
	for n := head + 1; n < end; n++ {
		if err := runOne(c, n, Segment(fmt.Sprint("row ", n))); err != nil {
			t.Fatal(err)
		}
	}
}

func runOne(c *Checkpoint, n int64, seg Segment) error {
	if _, ok := c.Pending(); !ok {
		if err := c.LogOffsets(n, offsetsOf(n)); err != nil {
			return err
		}
	}
	b := c.Begin(n)
	b.Delta(shard, seg)
	return b.Commit(CommitEntry{NextBatchWatermarkMs: n}, nil)
}

func segmentsAt(c *Checkpoint, n int64) (out []Segment, err error) {
	v := c.At(n)
	defer v.Close()
	for s, err := range v.Segments(shard) {
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// count counts the keys with a letter, and those of uncommitted batches.
func count(c *Checkpoint, letter byte) (all, leftovers int) {
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	keys(txn, []byte{letter, '/'}, func(_ []byte, v uint64) {
		all++
		if v > version(c.head) {
			leftovers++
		}
	})
	return all, leftovers
}

func wantCondition(t *testing.T, err error, condition string) *errs.Error {
	t.Helper()
	if !errs.Has(err, condition) {
		t.Fatalf("got %v, want %s", err, condition)
	}
	e := errs.As(err)
	if strings.Contains(e.Message(), "<") {
		t.Errorf("%s lacks a parameter: %s", condition, e.Message())
	}
	return e
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	_, err := Open(dir, Options{})
	e := wantCondition(t, err, "CHECKPOINT_IN_USE")
	if e.Params["pid"] != fmt.Sprint(os.Getpid()) || e.Params["checkpointLocation"] != dir {
		t.Errorf("params are %v", e.Params)
	}
	run(t, c, 3) // the refused open did no harm
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, dir, Options{})
	if again.ID() != c.ID() {
		t.Error("the id has changed")
	}
}

func TestLockOfOtherProcess(t *testing.T) {
	if dir := os.Getenv("STORE_TEST_HOLD"); dir != "" {
		mustOpen(t, dir, Options{})
		fmt.Println("held")
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		return
	}
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestLockOfOtherProcess$")
	child.Env = append(os.Environ(), "STORE_TEST_HOLD="+dir)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the child says %q", line)
	}
	_, err = Open(dir, Options{})
	if e := wantCondition(t, err, "CHECKPOINT_IN_USE"); e.Params["pid"] != fmt.Sprint(child.Process.Pid) {
		t.Errorf("params are %v", e.Params)
	}
	_ = child.Process.Kill() // the lock goes with the process, whatever LOCK says
	_ = in.Close()
	_ = child.Wait()
	mustOpen(t, dir, Options{})
}

func TestLeftoversAreDeleted(t *testing.T) {
	for _, point := range []string{"state.mid", "state.end", "commit.before"} {
		dir := t.TempDir()
		c := mustOpen(t, dir, Options{})
		run(t, c, 2)
		if err := c.anchor.wait(); err != nil { // it is written beside what follows, and looks at the hook too
			t.Fatal(err)
		}
		c.hook = func(p string) error {
			if p == point {
				return errCrash
			}
			return nil
		}
		err := runOne(c, 2, bytes.Repeat([]byte{7}, 5<<20))
		if !errors.Is(err, errCrash) {
			t.Fatalf("%s: %v", point, err)
		}
		wantCondition(t, err, "FSYNC_FAILED")
		if err := runOne(c, 2, Segment("x")); !errors.Is(err, errCrash) {
			t.Fatalf("%s: a failed checkpoint still works: %v", point, err)
		}
		if _, left := count(c, keyDelta); left == 0 {
			t.Fatalf("%s: nothing was left", point)
		}
		_ = c.Close()
		c = mustOpen(t, dir, Options{})
		if all, _ := count(c, keyDelta); all != 0 {
			t.Fatalf("%s: %d leftovers stay", point, all)
		}
		if p, ok := c.Pending(); !ok || p.Offsets[0] != `{"n":2}` {
			t.Fatalf("%s: pending is %v %v", point, p, ok)
		}
		run(t, c, 4)
		if got, err := segmentsAt(c, 3); err != nil || fmt.Sprintf("%s", got) != "[row 0 row 1 row 2 row 3]" {
			t.Fatalf("%s: %s %v", point, got, err)
		}
	}
}

func TestLargeSegments(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	var want []Segment
	for n := range int64(3) {
		if err := c.LogOffsets(n, offsetsOf(n)); err != nil {
			t.Fatal(err)
		}
		b := c.Begin(n)
		for i, size := range []int{0, 1, 400 << 10, partSize, partSize + 1, 3 << 20} {
			seg := bytes.Repeat([]byte{byte(n*10) + byte(i)}, size)
			want = append(want, seg)
			b.Delta(shard, seg)
		}
		if err := b.Commit(CommitEntry{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		got, err := segmentsAt(c, 2)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d segments, %v", len(got), err)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("segment %d differs", i)
			}
		}
		_ = c.Close()
		c = mustOpen(t, dir, Options{})
	}
}

func TestRetention(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{MinBatchesToRetain: 10, Durability: "process"})
	for n := range int64(300) {
		if err := c.LogOffsets(n, offsetsOf(n)); err != nil {
			t.Fatal(err)
		}
		b := c.Begin(n)
		b.Delta(shard, Segment(fmt.Sprint("row ", n)))
		if n > 0 && n%20 == 0 { // bases, so that commit records may go
			if err := b.Base(shard, 0, Segment(fmt.Sprint("base ", n-1))); err != nil {
				t.Fatal(err)
			}
			b.Covered(shard, n-1)
		}
		c.SetProgress(n, []byte("{}"))
		if err := b.Commit(CommitEntry{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		if from, to := c.Retained(); from != 289 || to != 299 {
			t.Errorf("retained %d to %d", from, to)
		}
		for _, letter := range []byte{keyOffsets, keyCommit, keyProgress, keyBase, keyCovered} {
			// A commit record may wait up to 20 batches for the base that covers it.
			if n, _ := count(c, letter); n > 36 {
				t.Errorf("%d keys with %c", n, letter)
			}
		}
		if _, ok, err := c.Offsets(200); ok || err != nil {
			t.Errorf("offsets of 200: %v %v", ok, err)
		}
		_, err := segmentsAt(c, 288)
		wantCondition(t, err, "CHECKPOINT_BATCH_NOT_RETAINED")
		for n := int64(289); n <= 299; n++ {
			got, err := segmentsAt(c, n)
			last := n - n%20 - 1
			if err != nil || len(got) != int(n-last)+1 || string(got[0]) != fmt.Sprint("base ", last) {
				t.Errorf("after %d: %s %v", n, got, err)
			}
		}
	}
	check()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = mustOpen(t, dir, Options{MinBatchesToRetain: 10})
	check()
	_ = c.Close()
	// More cannot be had back by asking for more.
	c = mustOpen(t, dir, Options{MinBatchesToRetain: 100})
	if from, to := c.Retained(); from < 288 || to != 299 {
		t.Errorf("retained %d to %d", from, to)
	}
}

// TestQuietShard: a shard that changes once and never again, and one that never gets a base, do not keep
// the commit records of all batches since.
func TestQuietShard(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{MinBatchesToRetain: 5, Durability: "process"})
	quiet := Shard{Operator: 7}
	for n := range int64(400) {
		if err := c.LogOffsets(n, offsetsOf(n)); err != nil {
			t.Fatal(err)
		}
		b := c.Begin(n)
		if n == 3 {
			b.Delta(quiet, Segment("once"))
			b.Release(quiet, 5)
		}
		b.Delta(shard, Segment(fmt.Sprint("row ", n)))
		if err := b.Commit(CommitEntry{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if n, _ := count(c, keyCommit); n > 5+2*moveAfter+2 {
			t.Errorf("%d commit records", n)
		}
		for n := int64(394); n < 400; n++ {
			got, err := segmentsAt(c, n)
			if err != nil || len(got) != int(n)+1 || string(got[n]) != fmt.Sprint("row ", n) || string(got[0]) != "row 0" {
				t.Errorf("after %d: %d segments %v", n, len(got), err)
			}
			v := c.At(n)
			var kinds []byte
			for p, err := range v.Pieces(quiet) {
				if err != nil || p.Batch != 3 {
					t.Errorf("%v %v", p, err)
				}
				kinds = append(kinds, byte(p.Kind))
			}
			if string(kinds) != "dx" {
				t.Errorf("the quiet shard has pieces %q", kinds)
			}
			v.Close()
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = mustOpen(t, dir, Options{MinBatchesToRetain: 5})
	}
}

func TestViewStaysWhileOpen(t *testing.T) {
	c := mustOpen(t, t.TempDir(), Options{MinBatchesToRetain: 2})
	run(t, c, 5)
	v := c.At(3)
	run(t, c, 40)
	n := 0
	for s, err := range v.Changes(shard) {
		if err != nil || string(s) != "row 3" {
			t.Errorf("%s %v", s, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d changes", n)
	}
	v.Close()
	for _, err := range v.Segments(shard) {
		wantCondition(t, err, "CHECKPOINT_CLOSED")
	}
}

func TestHistoryProgressMeta(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	if err := c.SetMeta("plan", []byte("p0")); err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		if n == 0 {
			if err := c.LogOffsets(n, offsetsOf(n)); err != nil {
				t.Fatal(err)
			}
		}
		next := offsetsOf(n + 1)
		if err := c.Begin(n).Commit(CommitEntry{Operators: []byte{1}, Rows: map[string]int64{"0": n}}, &next); err != nil {
			t.Fatal(err)
		}
		c.SetProgress(n, []byte(fmt.Sprint("p", n)))
	}
	if err := c.LogOffsets(3, offsetsOf(3)); err == nil {
		t.Error("offsets that travelled with the commit were logged again")
	}
	if err := c.SetMeta("plan", []byte("p3")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var got []string
		for e, err := range c.History() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %s %t %s", e.Batch, e.Offsets.Offsets, e.Commit != nil, e.Progress))
		}
		want := []string{`3 [{"n":3}] false `, `2 [{"n":2}] true p2`, `1 [{"n":1}] true p1`, `0 [{"n":0}] true p0`}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("history is %q", got)
		}
		if m, ok := c.Meta("plan"); !ok || string(m) != "p3" {
			t.Errorf("meta is %s %v", m, ok)
		}
		_ = c.Close()
		c = mustOpen(t, dir, Options{})
	}
	fork := filepath.Join(t.TempDir(), "fork")
	if err := c.CopyTo(fork, 1); err != nil {
		t.Fatal(err)
	}
	if err := c.CopyTo(fork, 1); err == nil {
		t.Error("copied over a checkpoint")
	}
	f := mustOpen(t, fork, Options{})
	if m, _ := f.Meta("plan"); string(m) != "p0" {
		t.Errorf("the fork's plan is %s", m)
	}
	if p, ok := f.Progress(1); !ok || string(p) != "p1" {
		t.Errorf("the fork's progress is %s", p)
	}
	if _, ok := f.Pending(); ok {
		t.Error("the fork has a pending batch")
	}
}

func TestSourceLog(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	other := c.SourceLog(2)
	if err := other.Add(9, []byte("other")); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("file\n", 400_000)
	for n, e := range []string{"a", "", long, "d"} {
		log := c.SourceLog(1)
		if err := errors.Join(log.Add(int64(n), []byte(e)), log.PutKey("path "+e, []byte("v"))); err != nil {
			t.Fatal(err)
		}
		if n == 1 { // some are durable, some wait
			if err := c.LogOffsets(0, offsetsOf(0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		log := c.SourceLog(1)
		n, e, ok, err := log.Latest()
		if n != 3 || string(e) != "d" || !ok || err != nil {
			t.Errorf("latest is %d %q %v %v", n, e, ok, err)
		}
		var got []int64
		for n, e := range log.From(1) {
			got = append(got, n)
			if n == 2 && string(e) != long {
				t.Error("the long entry differs")
			}
		}
		if fmt.Sprint(got) != "[1 2 3]" {
			t.Errorf("from 1: %v", got)
		}
		for key, want := range map[string]bool{"path a": true, "path d": true, "path x": false} {
			if has, err := log.Has(key); has != want || err != nil {
				t.Errorf("%s: %v %v", key, has, err)
			}
		}
		if _, _, ok, _ := c.SourceLog(0).Latest(); ok {
			t.Error("an empty log has a latest entry")
		}
		if _, ok, _ := log.Get(4); ok {
			t.Error("entry 4 exists")
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = mustOpen(t, dir, Options{})
	}
}

func TestInterruptedRewind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "q")
	c := mustOpen(t, dir, Options{})
	run(t, c, 5)
	if err := c.Rewind(9); !errs.Has(err, "CHECKPOINT_BATCH_NOT_RETAINED") {
		t.Fatal(err)
	}
	run(t, c, 6)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// As after the first of two renames, where the file system cannot exchange folders.
	if err := os.Rename(dir, dir+rewindSuffix); err != nil {
		t.Fatal(err)
	}
	c = mustOpen(t, dir, Options{})
	if head, _ := c.Head(); head != 5 {
		t.Errorf("head is %d", head)
	}
	id := c.ID()
	if err := c.Rewind(2); err != nil {
		t.Fatal(err)
	}
	if head, _ := c.Head(); head != 2 || c.ID() != id {
		t.Errorf("head is %d, id %s", head, c.ID())
	}
	kept, _ := filepath.Glob(dir + ".before-*")
	if len(kept) != 1 {
		t.Fatalf("kept %v", kept)
	}
	old := mustOpen(t, kept[0], Options{})
	if head, _ := old.Head(); head != 5 {
		t.Errorf("the kept one has head %d", head)
	}
	run(t, c, 4)
}

func TestInMemoryAndTemporary(t *testing.T) {
	c := mustOpen(t, "", Options{InMemory: true})
	run(t, c, 5)
	if got, err := segmentsAt(c, 4); err != nil || len(got) != 5 {
		t.Errorf("%s %v", got, err)
	}
	dir := filepath.Join(t.TempDir(), "q")
	c = mustOpen(t, dir, Options{Temporary: true})
	run(t, c, 2)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
	if err := runOne(c, 2, nil); !errs.Has(err, "CHECKPOINT_CLOSED") {
		t.Errorf("after Close: %v", err)
	}
}

func TestSourceLogForgets(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	long := strings.Repeat("file\n", 400_000)
	for n := range int64(6) {
		if err := c.SourceLog(0).Add(n, []byte(long)); err != nil {
			t.Fatal(err)
		}
		if n == 4 {
			if err := c.SourceLog(0).Forget(4); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.LogOffsets(n, offsetsOf(n)); err != nil {
			t.Fatal(err)
		}
		if err := c.Begin(n).Commit(CommitEntry{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = mustOpen(t, dir, Options{})
	defer c.Close()
	var left []int64
	for n, e := range c.SourceLog(0).From(0) {
		if string(e) != long {
			t.Errorf("entry %d differs", n)
		}
		left = append(left, n)
	}
	if !slices.Equal(left, []int64{4, 5}) {
		t.Errorf("left are %v", left)
	}
}
