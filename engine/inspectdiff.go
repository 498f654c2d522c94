package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/sql/types"
	"streamlab/store"
)

// A BatchDiff is what differs between the ends of two batches.
type BatchDiff struct {
	From, To        int64
	Sources         []SourceDiff // per occurrence of a source in the plan
	WatermarkBefore int64        // in force during From, in milliseconds since 1970; 0: none
	WatermarkAfter  int64        // in force during To
	Stores          []*StateDiff
}

// Same reports that nothing differs.
func (d *BatchDiff) Same() bool {
	for _, s := range d.Sources {
		if s.Before != s.After {
			return false
		}
	}
	for _, s := range d.Stores {
		if s.Len() > 0 {
			return false
		}
	}
	return d.WatermarkBefore == d.WatermarkAfter
}

// A SourceDiff is how far a source came.
type SourceDiff struct {
	Source        string // name and format
	Before, After string // offsets as JSON; "" is none
	Parts         []OffsetPart
}

// An OffsetPart is a number in an offset: a partition, or all of it.
type OffsetPart struct {
	Name          string // "clicks 0"; "" if the offset is but a number
	Before, After int64
}

// OffsetParts are the numbers of two offsets of one source, by name. A number that one of them lacks counts
// as 0.
func OffsetParts(before, after string) []OffsetPart {
	a, b := map[string]int64{}, map[string]int64{}
	numbersOf(before, a)
	numbersOf(after, b)
	names := slices.Collect(maps.Keys(b))
	for n := range a {
		if _, ok := b[n]; !ok {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(x, y string) int { return comparePaths(x, y) })
	var out []OffsetPart
	for _, n := range names {
		out = append(out, OffsetPart{n, a[n], b[n]})
	}
	return out
}

// comparePaths orders names word by word, numbers as numbers.
func comparePaths(x, y string) int {
	a, b := strings.Fields(x), strings.Fields(y)
	for i := range min(len(a), len(b)) {
		n, err1 := strconv.ParseInt(a[i], 10, 64)
		m, err2 := strconv.ParseInt(b[i], 10, 64)
		if err1 == nil && err2 == nil && n != m {
			return int(max(-1, min(1, n-m)))
		}
		if c := strings.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return len(a) - len(b)
}

func numbersOf(offset string, out map[string]int64) {
	var x any
	d := json.NewDecoder(strings.NewReader(offset))
	d.UseNumber()
	if d.Decode(&x) != nil {
		return
	}
	var walk func(path string, x any)
	walk = func(path string, x any) {
		switch x := x.(type) {
		case json.Number:
			if n, err := x.Int64(); err == nil {
				out[path] = n
			}
		case map[string]any:
			for k, v := range x {
				walk(strings.TrimSpace(path+" "+k), v)
			}
		}
	}
	walk("", x)
}

// A StateDiff is what differs between two states of a store.
type StateDiff struct {
	StateStore
	Key           []string
	Values        types.Schema
	Before, After int // rows
	Added         int
	Removed       int
	Changed       int

	zone *time.Location
	list []diffAt
}

type diffAt struct {
	key           []byte
	before, after *exec.StateImage // nil: no such row
	at            [2]int
}

// A DiffRow is a key that differs.
type DiffRow struct {
	Change        string // "added", "removed" or "changed"
	KeyText       string
	KeyJSON       string
	Before, After []StateValue // nil: there was none, or is none
}

// Len is the number of keys that differ.
func (d *StateDiff) Len() int { return len(d.list) }

// Rows gives some of the keys that differ, in their order: at most n from the place from on.
func (d *StateDiff) Rows(from, n int) []DiffRow {
	var out []DiffRow
	for _, x := range d.list[min(max(0, from), len(d.list)):min(max(0, from+n), len(d.list))] {
		var r DiffRow
		if x.before != nil {
			row := rowAt(x.before, x.at[0], d.zone)
			r.KeyText, r.KeyJSON, r.Before = row.KeyText, row.KeyJSON, row.Values
		}
		if x.after != nil {
			row := rowAt(x.after, x.at[1], d.zone)
			r.KeyText, r.KeyJSON, r.After = row.KeyText, row.KeyJSON, row.Values
		}
		switch {
		case x.before == nil:
			r.Change = "added"
		case x.after == nil:
			r.Change = "removed"
		default:
			r.Change = "changed"
		}
		out = append(out, r)
	}
	return out
}

// Diff compares the checkpoint as of two batches, of which to may be pending: then it has offsets and no
// state of its own. from may be -1, the state before batch 0. Reading costs the state after from once and what
// the batches up to to wrote; the rows that differ are kept in memory. If from is after to, both change places.
// Errors: those of Checkpoint.At, NO_BATCH.
func (x *Inspector) Diff(ctx context.Context, cp *store.Checkpoint, from, to int64) (*BatchDiff, error) {
	if from > to {
		from, to = to, from
	}
	d := &BatchDiff{From: from, To: to}
	first, head := cp.Retained()
	var entries [2]store.OffsetEntry
	for i, n := range []int64{from, to} {
		if n == -1 && first == 0 {
			continue
		}
		e, ok, err := cp.Offsets(n)
		if err != nil {
			return nil, err
		}
		if !ok || n < first {
			return nil, errs.New("NO_BATCH", "batch", n, "from", first, "to", head)
		}
		entries[i] = e
	}
	d.WatermarkBefore, d.WatermarkAfter = entries[0].BatchWatermarkMs, entries[1].BatchWatermarkMs
	names := x.sourceNames()
	for i, after := range entries[1].Offsets {
		s := SourceDiff{After: after}
		if i < len(names) {
			s.Source = names[i]
		}
		if i < len(entries[0].Offsets) {
			s.Before = entries[0].Offsets[i]
		}
		s.Parts = OffsetParts(s.Before, s.After)
		d.Sources = append(d.Sources, s)
	}
	a, b := min(from, head), min(to, head)
	if b < 0 {
		return d, nil
	}
	stores, err := x.Stores(cp, b)
	if err != nil {
		return nil, err
	}
	for _, s := range stores {
		sd, err := x.diffStore(ctx, cp, s, a, b)
		if err != nil {
			return nil, err
		}
		d.Stores = append(d.Stores, sd)
	}
	return d, nil
}

// sourceNames names the occurrences of sources in the plan.
func (x *Inspector) sourceNames() []string {
	ep, err := x.build()
	if err != nil {
		return nil
	}
	var out []string
	for _, sc := range ep.Scans() {
		name := sc.Stream.Format
		if sc.Stream.Name != "" && sc.Stream.Name != name {
			name = sc.Stream.Name + " (" + name + ")"
		}
		out = append(out, name)
	}
	return out
}

// Sources names the occurrences of sources in the query, in the order of the offsets of a batch.
func (x *Inspector) Sources() []string { return x.sourceNames() }

func (x *Inspector) diffStore(ctx context.Context, cp *store.Checkpoint, s StateStore, from, to int64) (*StateDiff, error) {
	ep, err := x.build()
	if err != nil {
		return nil, err
	}
	d := &StateDiff{StateStore: s, zone: x.p.conf.zone()}
	type touch struct {
		after, before *exec.StateImage
		at            [2]int
	}
	touched := map[string]*touch{}
	var before *exec.StateImage
	if ep.TellsRemoved(s.Operator) {
		for n := from + 1; n <= to; n++ {
			c, err := x.changes(ctx, cp, n, s.Operator, s.Store)
			if err != nil {
				return nil, err
			}
			for i := range c.removed.Len() {
				touched[string(c.removed.Key(i))] = &touch{}
			}
			for i := range c.changed.Len() {
				touched[string(c.changed.Key(i))] = &touch{after: c.changed, at: [2]int{0, i}}
			}
		}
		if before, err = x.read(cp, from, s.Operator, s.Store, false); err != nil {
			return nil, err
		}
	} else {
		after, err := x.read(cp, to, s.Operator, s.Store, true)
		if err != nil {
			return nil, err
		}
		if before, err = x.readOrNone(cp, from, s.Operator, s.Store, after); err != nil {
			return nil, err
		}
		gone, changed := before.Except(after, false), after.Except(before, true)
		for i := range gone.Len() {
			touched[string(gone.Key(i))] = &touch{}
		}
		for i := range changed.Len() {
			touched[string(changed.Key(i))] = &touch{after: changed, at: [2]int{0, i}}
		}
	}
	d.Key, d.Values, d.Before = keyNames(before.Keys), before.Values, before.Len()
	for i := range before.Len() {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if t := touched[string(before.Key(i))]; t != nil {
			t.before, t.at[0] = before, i
		}
	}
	var a, b []byte
	for k, t := range touched {
		switch {
		case t.before == nil && t.after == nil:
			continue
		case t.before == nil:
			d.Added++
		case t.after == nil:
			d.Removed++
		default:
			a, b = t.before.AppendValue(a[:0], t.at[0]), t.after.AppendValue(b[:0], t.at[1])
			if bytes.Equal(a, b) {
				continue
			}
			d.Changed++
		}
		d.list = append(d.list, diffAt{[]byte(k), t.before, t.after, t.at})
	}
	slices.SortFunc(d.list, func(a, b diffAt) int { return bytes.Compare(a.key, b.key) })
	d.After = d.Before + d.Added - d.Removed
	return d, nil
}
