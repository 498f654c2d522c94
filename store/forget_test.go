package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"streamlab/errs"
)

// Whatever batch lost its record, exactly the range from there on can be forgotten, the query goes on after
// the batch before, and the damaged folder is kept.
func TestForgetAcceptsExactlyTheLoss(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	sample(t, c)
	want, err := tellUpTo(c, 7)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Forget(dir, 6, 7, Options{}); !errs.Has(err, "CHECKPOINT_NOTHING_LOST") {
		t.Errorf("a sound one: %v", err)
	}
	for lost := int64(1); lost < 8; lost++ {
		broken := filepath.Join(t.TempDir(), "broken")
		if err := os.Rename(copyDir(t, dir), broken); err != nil {
			t.Fatal(err)
		}
		edit(t, broken, func(db *badger.DB) error {
			return putOnce(db, version(lost), []write{{key: batchKey(keyCommit, lost)}})
		})
		d, damaged, err := Damaged(broken, Options{})
		if err != nil || !damaged || d.From != lost || d.To != 7 || d.Whole != lost-1 {
			t.Fatalf("lost %d: %+v, %v, %v", lost, d, damaged, err)
		}
		if _, err := Forget(broken, lost+1, 7, Options{}); !errs.Has(err, "CHECKPOINT_OTHER_LOSS") {
			t.Errorf("another range: %v", err)
		}
		a, err := Forget(broken, lost, 7, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if a.Action != "forget" || a.From != lost || a.To != 7 || a.Batch != lost-1 {
			t.Errorf("note %+v", a)
		}
		if _, err := os.Stat(filepath.Join(a.Kept, "META")); err != nil {
			t.Error(err)
		}
		c := mustOpen(t, broken, Options{})
		if head, _ := c.Head(); head != lost-1 {
			t.Errorf("head %d after batches from %d were forgotten", head, lost)
		}
		for n := range lost {
			got, err := segmentsAt(c, n)
			if err != nil || len(got) != len(want[n]) {
				t.Errorf("state after %d: %d segments, %v", n, len(got), err)
			}
		}
		run(t, c, lost+3)
		if list, err := c.Audits(); err != nil || len(list) != 1 {
			t.Errorf("notes %v, %v", list, err)
		}
		_ = c.Close()
	}
}

func tellUpTo(c *Checkpoint, to int64) (out [][]Segment, err error) {
	for n := range to + 1 {
		s, err := segmentsAt(c, n)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// The database is an older copy of itself: the anchor tells how far it was.
func TestForgetWhatTheAnchorKnows(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	run(t, c, 10)
	if err := c.anchor.wait(); err != nil {
		t.Fatal(err)
	}
	early := copyDir(t, dir)
	run(t, c, 20)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "db")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(early, "db"), filepath.Join(dir, "db")); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, Options{})
	wantCondition(t, err, "CHECKPOINT_LOST_COMMITS")
	if _, err := Forget(dir, 10, 18, Options{}); !errs.Has(err, "CHECKPOINT_OTHER_LOSS") {
		t.Errorf("too few: %v", err)
	}
	if _, err := Forget(dir, 10, 19, Options{}); err != nil {
		t.Fatal(err)
	}
	c = mustOpen(t, dir, Options{})
	if head, _ := c.Head(); head != 9 {
		t.Errorf("head %d", head)
	}
}

// A checkpoint that lost its middle can be rewound to any batch before, and to none after.
func TestRewindOfADamagedCheckpoint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	c := mustOpen(t, dir, Options{})
	sample(t, c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, func(db *badger.DB) error {
		return putOnce(db, version(4), []write{{key: batchKey(keyCommit, 4)}})
	})
	if _, err := RewindDamaged(dir, 5, Options{}); err == nil {
		t.Error("rewound to a batch behind the hole")
	}
	a, err := RewindDamaged(dir, 2, Options{})
	if err != nil || a.Action != "rewind" || a.To != 7 {
		t.Fatalf("%+v, %v", a, err)
	}
	c = mustOpen(t, dir, Options{})
	if head, _ := c.Head(); head != 2 {
		t.Errorf("head %d", head)
	}
}

func TestVerifySaysHowFarItIsAndStops(t *testing.T) {
	c := mustOpen(t, t.TempDir(), Options{})
	sample(t, c)
	last, calls := int64(-1), 0
	err := c.VerifyWith(context.Background(), func(done, total int64) {
		calls++
		if done > total || total <= 0 {
			t.Errorf("%d of %d", done, total)
		}
		last = done * 100 / total
	})
	if err != nil || last != 100 || calls < 8 {
		t.Errorf("%v, %d%%, %d calls", err, last, calls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.VerifyWith(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// A part with another content and a good checksum of its own.
	g := group{letter: keyDelta, shard: shard, batch: 7}
	if err := putOnce(c.db, version(7), []write{{partKey(g.prefix(), 0), frame(flagSegmentEnd|flagGroupEnd, []byte("other"))}}); err != nil {
		t.Fatal(err)
	}
	wantCondition(t, c.Verify(), "CHECKPOINT_CORRUPT")
}

func TestWrittenCountsBases(t *testing.T) {
	c := mustOpen(t, t.TempDir(), Options{})
	sample(t, c)
	for n := range int64(8) {
		w, ok, err := c.Written(n)
		want := 0
		if n == 5 {
			want = 1
		}
		if err != nil || !ok || w.Bases != want || w.Deltas != 1 {
			t.Errorf("batch %d: %+v, %v, %v", n, w, ok, err)
		}
	}
	if _, ok, _ := c.Written(8); ok {
		t.Error("a batch that is not there has written something")
	}
}
