package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// A powerCut keeps what a disk is sure to hold of a checkpoint's database: what had been written when the last
// sync that has ended began.
type powerCut struct {
	dir       string
	held, new string // copies
	newSeq    uint64
	floor     uint64
}

// look is called after each batch.
func (p *powerCut) look(t *testing.T, c *Checkpoint) {
	t.Helper()
	f := c.anchor
	if p.new != "" && f.floor >= p.newSeq {
		p.held, p.new, p.floor = p.new, "", p.newSeq
	}
	if f.floor != p.floor { // the log was synced by the batch
		p.held, p.new = copyDir(t, p.dir), ""
	}
	p.floor = f.floor
	if c.wal.flight != nil && p.new == "" { // it began one record ago
		p.new, p.newSeq = copyDir(t, p.dir), c.synced
	}
}

// cut gives the checkpoint as it is after the power went.
func (p *powerCut) cut(t *testing.T) string {
	t.Helper()
	after := copyDir(t, p.held)
	text, err := os.ReadFile(filepath.Join(p.dir, "ANCHOR"))
	if err == nil {
		err = os.WriteFile(filepath.Join(after, "ANCHOR"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func TestPowerCut(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		c := mustOpen(t, dir, Options{MinBatchesToRetain: 1 + int64(rng.IntN(3))*50})
		p := &powerCut{dir: dir, held: copyDir(t, dir)}
		var want []Segment
		recovered := 0
		for n := int64(0); n < 100; n++ {
			seg := Segment(fmt.Sprint("row ", n))
			switch rng.IntN(40) {
			case 0:
				seg = bytes.Repeat([]byte{byte(n)}, slotSize) // no anchor has room for it
			case 1:
				seg = bytes.Repeat([]byte{byte(n)}, inlineLimit+1)
			}
			want = append(want, seg)
			if _, ok := c.Pending(); !ok {
				if err := c.SourceLog(0).Add(n, []byte(fmt.Sprint("entry ", n))); err != nil {
					t.Fatal(err)
				}
				if err := c.LogOffsets(n, offsetsOf(n)); err != nil {
					t.Fatal(err)
				}
				p.look(t, c)
			}
			b := c.Begin(n)
			b.Delta(shard, seg)
			var next *OffsetEntry
			if rng.IntN(2) == 0 {
				e := offsetsOf(n + 1)
				next = &e
				if err := c.SourceLog(0).Add(n+1, []byte(fmt.Sprint("entry ", n+1))); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Commit(CommitEntry{NextBatchWatermarkMs: n, Progress: []byte(fmt.Sprint("p", n))}, next); err != nil {
				t.Fatal(err)
			}
			p.look(t, c)
			if rng.IntN(8) > 0 {
				continue
			}
			if err := c.anchor.wait(); err != nil {
				t.Fatal(err)
			}
			if c.anchor.floor != c.anchor.last.seq {
				recovered++
			}
			after := p.cut(t)
			for again := range 2 {
				d := mustOpen(t, after, Options{MinBatchesToRetain: c.retain})
				head, _ := d.Head()
				_, pending := d.Pending()
				if head != n || pending != (next != nil) {
					t.Fatalf("seed %d, opened %d times: head is %d of %d, pending %v", seed, again+1, head, n, pending)
				}
				got, err := segmentsAt(d, n)
				if err != nil || len(got) != len(want) {
					t.Fatalf("seed %d: %v, %d segments of %d", seed, err, len(got), len(want))
				}
				for i := range got {
					if !bytes.Equal(got[i], want[i]) {
						t.Fatalf("seed %d: segment %d is %.40q", seed, i, got[i])
					}
				}
				last := n
				if next != nil {
					last++
				}
				if e, ok, err := d.SourceLog(0).Get(last); err != nil || !ok || string(e) != fmt.Sprint("entry ", last) {
					t.Fatalf("seed %d: entry %d is %q %v %v", seed, last, e, ok, err)
				}
				if again == 1 {
					run(t, d, n+20)
				}
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if recovered == 0 {
			t.Errorf("seed %d: no cut lost anything", seed)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A checkpoint of the form before, whose ANCHOR has two slots of a page, is opened and gets the new one.
func TestAnchorOfTheFirstForm(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, Options{})
	run(t, c, 5)
	ends := c.ends()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	var old []byte
	for seq := range uint64(2) {
		a := ends
		a.seq = seq + 8
		b := a.encode()[:firstBytes:firstBytes]
		copy(b, firstMagic)
		old = append(old, append(seal(b), make([]byte, pageSize-firstBytes-4)...)...)
	}
	if err := os.WriteFile(filepath.Join(dir, "ANCHOR"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	c = mustOpen(t, dir, Options{})
	run(t, c, 50)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = mustOpen(t, dir, Options{})
	if head, _ := c.Head(); head != 49 || c.anchor.first {
		t.Fatalf("head is %d, of the first form: %v", head, c.anchor.first)
	}
}
