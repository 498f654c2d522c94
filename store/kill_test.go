package store

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"streamlab/errs"
)

// TestKill kills a process at every crash point and looks at what it leaves: every batch it reported is
// there, at most one more, and the next process goes on.
func TestKill(t *testing.T) {
	if dir := os.Getenv("STORE_TEST_DIR"); dir != "" {
		killChild(t, dir)
		return
	}
	dir := t.TempDir()
	done := int64(-1)
	for round, point := range append(points, points...) {
		child := exec.Command(os.Args[0], "-test.run=^TestKill$")
		child.Env = append(os.Environ(), "STORE_TEST_DIR="+dir, "STREAMLAB_UNSAFE_FAULTS=1",
			fmt.Sprintf("STREAMLAB_FAULT=%s@%d=kill", point, 1+round%4))
		out, err := child.Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: the child ended with %v: %s", point, err, out)
		}
		for _, line := range splitLines(out) {
			if _, err := fmt.Sscanf(line, "committed %d", &done); err != nil {
				t.Fatalf("%s: the child says %q", point, line)
			}
		}
		c, err := Open(dir, Options{MinBatchesToRetain: 3})
		if err != nil {
			t.Fatalf("after a kill at %s: %v", point, err)
		}
		head, _ := c.Head()
		if head != done && head != done+1 {
			t.Fatalf("after a kill at %s: head is %d, the child reported %d", point, head, done)
		}
		done = head
		if e, ok := c.Pending(); ok && head >= 0 && head%3 == 0 {
			if _, seen, err := c.SourceLog(0).Get(head + 1); err != nil || !seen || e.Offsets[0] != offsetsOf(head + 1).Offsets[0] {
				t.Fatalf("after a kill at %s: batch %d is planned as %v, its source log says %v %v", point, head+1, e, seen, err)
			}
		}
		if err := killCheck(c, head); err != nil {
			t.Fatalf("after a kill at %s: %v", point, err)
		}
		_ = c.Close()
	}
}

func splitLines(out []byte) (lines []string) {
	for s := string(out); s != ""; {
		var line string
		for i := range s {
			if s[i] == '\n' {
				line, s = s[:i], s[i+1:]
				lines = append(lines, line)
				break
			}
			if i == len(s)-1 {
				return lines // cut off by the kill
			}
		}
	}
	return lines
}

// killChild commits batches until it is killed. Every second batch is too large for its commit record.
func killChild(t *testing.T, dir string) {
	c, err := Open(dir, Options{MinBatchesToRetain: 3})
	if err != nil {
		t.Fatal(err)
	}
	c.slack = 2000
	head, _ := c.Head()
	for n := head + 1; n < head+200; n++ {
		if _, ok := c.Pending(); !ok {
			if err := c.LogOffsets(n, offsetsOf(n)); err != nil {
				t.Fatal(err)
			}
		}
		b := c.Begin(n)
		b.State(slowShard).Put([]byte(fmt.Sprint("key ", n%7)), []byte(fmt.Sprint(n)))
		b.State(slowShard).Put([]byte("last"), make([]byte, 1000*(1+n%3)))
		b.State(slowShard).Delete([]byte(fmt.Sprint("key ", (n+3)%7)))
		if n%2 == 1 {
			for range 5 {
				b.Delta(shard, make(Segment, 500<<10))
			}
			b.Covered(shard, n-1)
		}
		var next *OffsetEntry
		if n%3 == 0 { // the next batch's offsets travel, with what its source remembers
			e := offsetsOf(n + 1)
			next = &e
			if err := c.SourceLog(0).Add(n+1, []byte("seen")); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Commit(CommitEntry{NextBatchWatermarkMs: n}, next); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("committed %d\n", n)
	}
	t.Fatal("not killed")
}

func killCheck(c *Checkpoint, head int64) error {
	if head < 0 {
		return nil
	}
	v := c.At(head)
	defer v.Close()
	want := map[string]string{}
	for n := range head + 1 {
		want[fmt.Sprint("key ", n%7)] = fmt.Sprint(n)
		delete(want, fmt.Sprint("key ", (n+3)%7))
	}
	got := 0
	for r, err := range v.State(slowShard).Range(nil, nil) {
		if err != nil {
			return err
		}
		if string(r.Key) == "last" {
			if len(r.Value) != int(1000*(1+head%3)) {
				return fmt.Errorf("the last value has %d bytes", len(r.Value))
			}
			continue
		}
		if want[string(r.Key)] != string(r.Value) {
			return fmt.Errorf("%s is %s, want %s", r.Key, r.Value, want[string(r.Key)])
		}
		got++
	}
	if got != len(want) {
		return fmt.Errorf("%d rows, want %d", got, len(want))
	}
	for _, letter := range []byte{keyDelta, keyBase, keyCovered, keyRelease} {
		if _, left := count(c, letter); left > 0 {
			return errs.New("INTERNAL_ERROR", "message", fmt.Sprintf("%d leftovers with %c", left, letter))
		}
	}
	return nil
}
