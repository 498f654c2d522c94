package exec

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/plan"
	"streamlab/store"
)

// Earlier versions kept the keys of all ranges in one. A checkpoint of such a version is read, and its keys are
// where they belong after the next batch, once.
func TestKeysOfOneRangeAreDivided(t *testing.T) {
	s := stream(t, 1, "k STRING")
	n := &plan.Dedup{Child: s, Cols: []int{0}}
	cp, err := store.Open("", store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("a key that is longer than others, %d", i))
	}
	rows := rowsOf(t, s.Out, lines...)
	b := cp.Begin(0)
	lay := newDedup(nil, s.Out, []int{0}, false, -1, 0, inMark{}).lay
	old, e := newTable(lay, 0), newEncoder(lay)
	col := columnar.Vectors(rows, s.Out)[0]
	e.encode([]*columnar.Vec{&col}, columnar.AllRows(100))
	old.upsert(e, make([]uint32, 100))
	saveDelta(b, store.Shard{}, old, nil, &segmentStats{})
	commit := func(n int64, b *store.Batch) {
		t.Helper()
		if err := cp.LogOffsets(n, store.OffsetEntry{}); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(store.CommitEntry{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	commit(0, b)
	for batch := int64(1); batch < 3; batch++ {
		p, err := Build(n, Conf{Expr: ansi, Mode: "append"})
		if err != nil {
			t.Fatal(err)
		}
		v := cp.At(batch - 1)
		if err := p.Load(v); err != nil {
			t.Fatal(err)
		}
		v.Close()
		more := rowsOf(t, s.Out, append(lines, fmt.Sprint("new in ", batch))...)
		task := &Task{Batch: batch, Inputs: [][]columnar.Partition{{columnar.Batches{List: []arrow.RecordBatch{more}}}}}
		if err := p.Bind(task); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, part := range p.Partitions(context.Background(), task) {
			for rb, err := range part.Rows(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, show([]arrow.RecordBatch{rb}, p.Schema())...)
			}
		}
		if err := p.Finish(context.Background(), task); err != nil {
			t.Fatal(err)
		}
		c := task.Counters.Operators[0]
		if strings.Join(got, ";") != fmt.Sprint("new in ", batch) || c.NumRowsTotal != 100+batch || c.NumRowsUpdated != 1 {
			t.Fatalf("batch %d gave %v and counts %+v", batch, got, c)
		}
		b := cp.Begin(batch)
		if err := p.Save(b); err != nil {
			t.Fatal(err)
		}
		commit(batch, b)
	}
	v := cp.At(2)
	defer v.Close()
	total := 0
	for i := range ranges {
		a := newTable(lay, 0)
		if err := loadTable(v, store.Shard{Range: i}, a, nil, &segmentStats{}); err != nil {
			t.Fatal(err)
		}
		for _, g := range a.groups(nil) {
			total++
			if at := rangeOf(a.hash(g)); at != i {
				t.Fatalf("range %d holds a key of range %d", i, at)
			}
		}
	}
	if total != 102 {
		t.Errorf("%d keys are stored", total)
	}
}

// Many rows, which make workers start, leave in the order of the input, each key once, whatever the batches.
func TestDedupKeepsTheOrderOfTheInput(t *testing.T) {
	s := stream(t, 1, "k BIGINT, v BIGINT")
	p, err := Build(&plan.Dedup{Child: s, Cols: []int{0}}, Conf{Expr: ansi, Mode: "append", Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	x := uint64(3)
	for batch := range int64(3) {
		var want []int64
		var parts []columnar.Partition
		for range 11 {
			k, v := columnar.NewVec(s.Out[0].Type, 9000), columnar.NewVec(s.Out[1].Type, 9000)
			for i := range k.I64 {
				x = x*6364136223846793005 + 1442695040888963407
				k.I64[i], v.I64[i] = int64(x>>33)%100_000, int64(x>>40)
				if !seen[k.I64[i]] {
					seen[k.I64[i]] = true
					want = append(want, v.I64[i])
				}
			}
			parts = append(parts, columnar.Batches{List: []arrow.RecordBatch{columnar.RecordOf(s.Out, []*columnar.Vec{k, v}, columnar.AllRows(9000))}})
		}
		task := &Task{Batch: batch, Inputs: [][]columnar.Partition{parts}}
		if err := p.Bind(task); err != nil {
			t.Fatal(err)
		}
		for _, part := range p.Partitions(context.Background(), task) {
			for rb, err := range part.Rows(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range columnar.Vectors(rb, s.Out)[1].I64 {
					if len(want) == 0 || want[0] != v {
						t.Fatalf("batch %d: rows are not in order", batch)
					}
					want = want[1:]
				}
			}
		}
		if len(want) > 0 {
			t.Fatalf("batch %d: %d rows are missing", batch, len(want))
		}
		for _, st := range p.stateful {
			st.settle()
		}
	}
}

// Earlier versions removed expired keys one by one; now the store is told up to when they have expired. State in
// which both happened has the keys that are left, each once and with its time.
func TestKeysLeaveOneByOneAndByTime(t *testing.T) {
	s := stream(t, 1, "k STRING, ts TIMESTAMP")
	cp, err := store.Open("", store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	o := newDedup(nil, s.Out, []int{0}, true, 1, 10, inMark{})
	alive := map[string]int64{}
	stats := make([]segmentStats, ranges)
	write := func(batch int64, oneByOne bool, due func(at int64) bool, keys int) {
		t.Helper()
		bound := int64(noBound)
		for _, a := range o.ranges {
			for _, g := range a.t.groups(nil) {
				if at, _ := o.expires(a, g); due(at) {
					if bound = max(bound, at); oneByOne {
						a.t.unlink(g)
					}
					delete(alive, string(o.lay.bytes(a.t.rec, g, recKey, &o.lay.fields[0])))
				}
			}
		}
		col := columnar.NewVec(s.Out[0].Type, 0)
		for i := range keys {
			col.Data = fmt.Appendf(col.Data, "a key that is longer than others, %d of %d", i, batch/2)
			col.Off = append(col.Off, int32(len(col.Data)))
		}
		col.Len = keys
		b := cp.Begin(batch)
		for i, a := range o.ranges {
			e := newEncoder(o.lay)
			e.encode([]*columnar.Vec{col}, columnar.AllRows(keys))
			for k, h := range e.hash {
				if rangeOf(h) != i {
					continue
				}
				g, isNew := a.t.upsertOne(e, k)
				if at := 1000*batch + int64(k); isNew {
					*(*int64)(a.t.rec.Ptr(g, a.t.extraAt())) = at
					alive[string(col.Bytes(k))] = at
				}
			}
			saveDelta(b, store.Shard{Range: i}, a.t, nil, &stats[i])
			if !oneByOne && bound != noBound {
				b.Delta(store.Shard{Range: i}, encodeBound(bound))
			}
			a.t.settle()
		}
		if err := cp.LogOffsets(batch, store.OffsetEntry{}); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(store.CommitEntry{}, nil); err != nil {
			t.Fatal(err)
		}
		v := cp.At(batch)
		defer v.Close()
		o = newDedup(nil, s.Out, []int{0}, true, 1, 10, inMark{})
		if err := o.load(v, 0); err != nil {
			t.Fatal(err)
		}
		have := map[string]int64{}
		listed := 0
		for _, a := range o.ranges {
			for _, g := range a.t.groups(nil) {
				have[string(o.lay.bytes(a.t.rec, g, recKey, &o.lay.fields[0]))], _ = o.expires(a, g)
			}
			listed += a.x.due(math.MaxInt64 / 2)
		}
		if fmt.Sprint(have) != fmt.Sprint(alive) || listed != len(alive) {
			t.Fatalf("after batch %d: %d keys, %d listed, not %d", batch, len(have), listed, len(alive))
		}
	}
	none := func(int64) bool { return false }
	write(0, true, none, 400)
	write(1, true, func(at int64) bool { return at%1000 < 100 }, 200)
	write(2, true, func(at int64) bool { return at < 300 }, 300)
	write(3, false, func(at int64) bool { return at < 2100 }, 350)
	write(4, false, func(at int64) bool { return at < 3200 }, 10)
}
