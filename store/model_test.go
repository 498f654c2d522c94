package store

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var errCrash = errors.New("crash")

// The model: what a checkpoint must hold after each committed batch.
type modelState struct {
	slow  map[string]string           // of the State
	fast  map[int64]map[string]string // of the shard kept with deltas and bases, by bucket
	entry OffsetEntry
	next  int64
}

type machine struct {
	dir      string
	c        *Checkpoint
	retain   int64
	versions []modelState
	pending  *OffsetEntry
	log      map[int64]string
	logged   map[int64]string // durable for certain
	based    map[int64]int64  // bucket → batch of its last base or release
	counter  int64
}

var (
	slowShard = Shard{Operator: 1, Range: 3, Store: "left"}
	fastShard = Shard{Operator: 0, Range: 0}
)

const buckets = 3

func cloneBuckets(m map[int64]map[string]string) map[int64]map[string]string {
	out := map[int64]map[string]string{}
	for b, rows := range m {
		out[b] = maps.Clone(rows)
	}
	return out
}

func (m *machine) open(t *rapid.T) {
	c, err := Open(m.dir, Options{MinBatchesToRetain: m.retain, Durability: "process"})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	m.c = c
	m.limits()
}

func (m *machine) limits() { m.c.inlineMax, m.c.slack, m.c.moveAfter = 200, 300, 3 }

func (m *machine) last() modelState {
	if len(m.versions) == 0 {
		return modelState{slow: map[string]string{}, fast: map[int64]map[string]string{}}
	}
	return m.versions[len(m.versions)-1]
}

func bucketOf(key string) int64 { return int64(key[1]) % buckets }

// batch runs the next batch, crashing at a point if crash is not empty.
func (m *machine) batch(t *rapid.T, crash string) {
	m.settle(t)
	n := int64(len(m.versions))
	hit := false
	m.c.hook = func(point string) error {
		if point == crash {
			hit = true
			return errCrash
		}
		return nil
	}
	e := OffsetEntry{Offsets: []string{fmt.Sprintf(`{"n":%d}`, m.counter)}, BatchTimestampMs: m.counter}
	m.counter++
	if m.pending == nil {
		log := m.c.SourceLog(0)
		if rapid.Bool().Draw(t, "entry") {
			text := fmt.Sprintf("entry %d", m.counter)
			if err := log.Add(n, []byte(text)); err != nil {
				t.Fatal(err)
			}
			m.log[n] = text
		}
		if err := m.c.LogOffsets(n, e); err != nil {
			m.crashed(t, err, hit)
			return
		}
		m.pending = &e
		m.logged = maps.Clone(m.log)
	}
	e = *m.pending
	v := modelState{slow: maps.Clone(m.last().slow), fast: cloneBuckets(m.last().fast), entry: e, next: m.counter}
	b := m.c.Begin(n)
	st := b.State(slowShard)
	for range rapid.IntRange(0, 5).Draw(t, "slow changes") {
		k := rapid.StringMatching(`k[a-f]{1,2}`).Draw(t, "key")
		if rapid.IntRange(0, 3).Draw(t, "op") == 0 {
			st.Delete([]byte(k))
			delete(v.slow, k)
		} else {
			x := rapid.StringMatching(`v{0,60}`).Draw(t, "value")
			st.Put([]byte(k), []byte(x))
			v.slow[k] = x
		}
	}
	based := maps.Clone(m.based)
	// Bases are the state before this batch.
	for bucket := range int64(buckets) {
		if n == 0 || rapid.IntRange(0, 3).Draw(t, "base") != 0 {
			continue
		}
		var seg Segment
		rows := m.last().fast[bucket]
		for _, k := range slices.Sorted(maps.Keys(rows)) {
			seg = appendRow(seg, []byte(k), []byte(rows[k]))
		}
		if err := b.Base(fastShard, bucket, seg); err != nil {
			t.Fatal(err)
		}
		based[bucket] = n - 1
	}
	if len(based) == buckets {
		b.Covered(fastShard, slices.Min(slices.Collect(maps.Values(based))))
	}
	var seg Segment
	for range rapid.IntRange(0, 5).Draw(t, "fast changes") {
		k := rapid.StringMatching(`k[a-z]`).Draw(t, "key")
		rows := v.fast[bucketOf(k)]
		if rows == nil {
			rows = map[string]string{}
			v.fast[bucketOf(k)] = rows
		}
		if rapid.IntRange(0, 4).Draw(t, "op") == 0 {
			seg = appendRow(seg, []byte(k), nil)
			delete(rows, k)
		} else {
			x := rapid.StringMatching(`w{0,60}`).Draw(t, "value")
			seg = appendRow(seg, []byte(k), []byte(x))
			rows[k] = x
		}
	}
	if len(seg) > 0 {
		b.Delta(fastShard, seg)
	}
	if rapid.IntRange(0, 5).Draw(t, "release") == 0 {
		bucket := rapid.Int64Range(0, buckets-1).Draw(t, "bucket")
		b.Release(fastShard, bucket)
		v.fast[bucket] = nil
		based[bucket] = n
	}
	if rapid.IntRange(0, 9).Draw(t, "discard") == 0 {
		b.Discard()
		return
	}
	var next *OffsetEntry
	if rapid.Bool().Draw(t, "next") {
		next = &OffsetEntry{Offsets: []string{fmt.Sprintf(`{"next":%d}`, m.counter)}, BatchTimestampMs: m.counter}
		m.counter++
	}
	err := b.Commit(CommitEntry{NextBatchWatermarkMs: v.next, Progress: []byte(fmt.Sprint("p", n))}, next)
	if err == nil || (crash == "commit.after" || crash == "plan.after_wal") && hit {
		m.versions = append(m.versions, v)
		m.pending, m.based = next, based
	}
	if err != nil {
		m.crashed(t, err, hit)
	}
}

// settle waits for the anchor of the last batch, which may have been told to crash.
func (m *machine) settle(t *rapid.T) {
	if err := m.c.anchor.wait(); err != nil {
		m.crashed(t, m.c.fail(err, -1), true)
	}
}

// crashed leaves the checkpoint as a killed process would and opens it again.
func (m *machine) crashed(t *rapid.T, err error, hit bool) {
	if !hit || !errors.Is(err, errCrash) {
		t.Fatalf("unexpected: %v", err)
	}
	_ = m.c.Close() // a failed checkpoint writes nothing more
	m.open(t)
	if e, ok := m.c.Pending(); ok {
		if m.pending == nil { // logged just before the crash
			m.pending = &e
		}
	} else if m.pending != nil {
		t.Fatalf("the offsets of batch %d are gone", len(m.versions))
	}
	if m.log != nil {
		m.log = map[int64]string{}
		for n, e := range m.c.SourceLog(0).From(0) {
			m.log[n] = string(e)
		}
		for n, e := range m.logged {
			if m.log[n] != e && n < int64(len(m.versions)) {
				t.Fatalf("source log entry %d is %q, want %q", n, m.log[n], e)
			}
		}
	}
}

func (m *machine) check(t *rapid.T) { checkAgainst(t, m.c, m.versions, m.pending) }

func checkAgainst(t *rapid.T, c *Checkpoint, versions []modelState, pending *OffsetEntry) {
	head, ok := c.Head()
	if ok != (len(versions) > 0) || ok && head != int64(len(versions)-1) {
		t.Fatalf("head is %d %v, want %d", head, ok, len(versions)-1)
	}
	p, ok := c.Pending()
	if ok != (pending != nil) || ok && p.Offsets[0] != pending.Offsets[0] {
		t.Fatalf("pending is %v %v, want %v", p, ok, pending)
	}
	from, to := c.Retained()
	if to != head || from > max(0, head-c.retain+1) && from > 0 && head-from < c.retain {
		t.Fatalf("retained %d to %d with head %d", from, to, head)
	}
	for n := from; n <= to; n++ {
		want := versions[n]
		v := c.At(n)
		got := map[string]string{}
		prev := ""
		for r, err := range v.State(slowShard).Range(nil, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Key) <= prev {
				t.Fatalf("%q after %q", r.Key, prev)
			}
			prev = string(r.Key)
			got[prev] = string(r.Value)
		}
		if !maps.Equal(got, want.slow) {
			t.Fatalf("state after %d of %d (from %d): %v, want %v", n, head, from, got, want.slow)
		}
		if n > from {
			checkChanges(t, c, n, versions[n-1].slow, want.slow)
		}
		fast := rebuild(t, v)
		for b := range int64(buckets) {
			if !maps.Equal(fast[b], want.fast[b]) {
				t.Fatalf("bucket %d after %d of %d: %v, want %v", b, n, head, fast[b], want.fast[b])
			}
		}
		v.Close()
		o, ok, err := c.Offsets(n)
		if err != nil || !ok || o.Offsets[0] != want.entry.Offsets[0] {
			t.Fatalf("offsets of %d: %v %v %v", n, o, ok, err)
		}
		e, ok, err := c.Commits(n)
		if err != nil || !ok || e.NextBatchWatermarkMs != want.next {
			t.Fatalf("commit of %d: %v %v %v", n, e, ok, err)
		}
	}
}

// checkChanges applies what a batch wrote to the rows before it.
func checkChanges(t *rapid.T, c *Checkpoint, n int64, before, after map[string]string) {
	v := c.ChangesOf(n)
	defer v.Close()
	var st State
	for k, x := range before {
		st.set([]byte(k), []byte(x))
	}
	for p, err := range v.Pieces(slowShard) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Kind != KindDelta || p.Batch != n {
			t.Fatalf("changes of %d have a piece %c of %d", n, p.Kind, p.Batch)
		}
		if err := st.replay(p.Rows); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for r := range st.Range(nil, nil) {
		got[string(r.Key)] = string(r.Value)
	}
	if !maps.Equal(got, after) {
		t.Fatalf("%v with the changes of %d is %v, want %v", before, n, got, after)
	}
}

// rebuild applies pieces as an operator would.
func rebuild(t *rapid.T, v *View) map[int64]map[string]string {
	out := map[int64]map[string]string{}
	base := map[int64]int64{}
	for p, err := range v.Pieces(fastShard) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Kind == KindRelease {
			if b, ok := base[p.Bucket]; !ok || b < p.Batch {
				delete(out, p.Bucket)
			}
			continue
		}
		if p.Kind == KindBase {
			base[p.Bucket] = p.Batch
		}
		rows := p.Rows
		for len(rows) > 0 {
			st := State{}
			one := rows
			key, rest, _ := cutBytes(rows)
			n := int(rest[0])
			rows = rest[1:]
			if n > 0 {
				rows = rows[n-1:]
			}
			if err := st.replay(one[:len(one)-len(rows)]); err != nil {
				t.Fatal(err)
			}
			b := bucketOf(string(key))
			if at, ok := base[b]; ok && p.Kind == KindDelta && p.Batch <= at {
				continue
			}
			if out[b] == nil {
				out[b] = map[string]string{}
			}
			if x, ok := st.root.get(key); ok {
				out[b][string(key)] = string(x)
			} else {
				delete(out[b], string(key))
			}
		}
	}
	return out
}

var points = []string{"plan.before_wal", "plan.after_wal", "state.mid", "state.end", "commit.before",
	"commit.after", "compact.mid", "purge.mid", "anchor.before", "anchor.after"}

func TestModel(t *testing.T) {
	// A check opens and closes databases, which waits for the disk; -rapid.checks asks for more.
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "30"); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	seq := 0
	rapid.Check(t, func(t *rapid.T) {
		seq++
		m := &machine{dir: filepath.Join(root, fmt.Sprint(seq)), log: map[int64]string{}, based: map[int64]int64{},
			retain: rapid.Int64Range(1, 6).Draw(t, "retain")}
		m.open(t)
		defer func() { _ = m.c.Close() }()
		for range rapid.IntRange(5, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 19).Draw(t, "step") {
			case 0, 1, 2:
				m.batch(t, rapid.SampledFrom(points).Draw(t, "crash"))
			case 3:
				m.settle(t)
				m.c.hook = nil
				_ = m.c.Close()
				m.open(t)
				m.check(t)
			case 4:
				from, to := m.c.Retained()
				if to < from {
					continue
				}
				n := rapid.Int64Range(from, to).Draw(t, "copy")
				dir := filepath.Join(root, fmt.Sprint(seq, "-copy-", m.counter))
				m.counter++
				if err := m.c.CopyTo(dir, n); err != nil {
					t.Fatal(err)
				}
				c, err := Open(dir, Options{MinBatchesToRetain: m.retain})
				if err != nil {
					t.Fatal(err)
				}
				checkAgainst(t, c, m.versions[:n+1], nil)
				if c.ID() == m.c.ID() {
					t.Fatal("the copy has the same id")
				}
				_ = c.Close()
			case 5:
				from, to := m.c.Retained()
				if to < from {
					continue
				}
				n := rapid.Int64Range(from, to).Draw(t, "rewind")
				m.settle(t)
				m.c.hook = nil
				if err := m.c.Rewind(n); err != nil {
					t.Fatal(err)
				}
				m.limits()
				m.versions, m.pending, m.log, m.logged = m.versions[:n+1], nil, map[int64]string{}, nil
				m.based = map[int64]int64{}
				m.check(t)
			default:
				m.batch(t, "")
			}
		}
		m.check(t)
	})
}
