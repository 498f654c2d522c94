package exec

import "streamlab/columnar"

// A directory finds the groups of keys that are one whole number and a pane: times are nearly sorted, so rows that
// follow each other are in the same pane, and what is counted at one time has numbers that are close together. Each
// pane has an array of groups by the number, which stays in the first cache: a row costs two loads instead of encoding,
// hashing and comparing its key. Numbers that are far apart, or panes that have few rows each, are left to the hashes.
//
// What it remembers is of one table and of one micro-batch, as with codedKeys.
type directory struct {
	t     *table
	age   uint32
	width int64
	first int64     // the pane of panes[0]
	panes []numbers // one after the other in time
	held  int       // groups that panes have room for
	rows  int       // that were looked for since it is empty
	pause int

	miss []int32 // rows whose keys are not known, the first of each key
	at   []int32 // where they are among the rows that are looked for
	late []int32 // where others with these keys are
	out  []uint32
}

// numbers are the groups of a pane by number, from base on. 0 is none, noGroup one that is being looked up, others a
// group + 1.
type numbers struct {
	base   int64
	groups []uint32
}

const (
	leastNumbered = 128     // rows below which nothing is numbered
	spanNumbered  = 16      // numbers for each row that there may be room for
	mostNumbered  = 1 << 20 // that there is room for in all
	mostPanes     = 1 << 12
)

// fits says whether keys are of the kind that a directory finds: a whole number and, behind it, the start of a pane.
func (d *directory) fits(keys []*columnar.Vec, n int) bool {
	if n < leastNumbered || len(keys) != 2 || keys[0].Valid != nil || keys[0].Const || keys[1].Phys != columnar.PI64 || keys[1].Const {
		return false
	}
	switch keys[0].Phys {
	case columnar.PI8, columnar.PI16, columnar.PI32, columnar.PI64:
		return true
	}
	return false
}

// find fills out with the groups of rows, of which new ones go into the table as the encoder would bring them; false
// if they have to be found otherwise.
func (d *directory) find(t *table, e *encoder, keys []*columnar.Vec, sel columnar.Sel, out []uint32) bool {
	if !d.fits(keys, sel.N) || t.onlyNew || t.track {
		return false
	}
	if d.pause > 0 {
		d.pause--
		return false
	}
	if d.t != t || d.age != t.age {
		d.forget()
	}
	d.rows += sel.N
	var found bool
	switch keys[0].Phys {
	case columnar.PI8:
		found = findNumbered(d, t, e, keys, keys[0].I8, sel, out[:sel.N])
	case columnar.PI16:
		found = findNumbered(d, t, e, keys, keys[0].I16, sel, out[:sel.N])
	case columnar.PI32:
		found = findNumbered(d, t, e, keys, keys[0].I32, sel, out[:sel.N])
	default:
		found = findNumbered(d, t, e, keys, keys[0].I64, sel, out[:sel.N])
	}
	d.t, d.age = t, t.age
	if !found {
		d.pause = pauseCoded
	}
	return found
}

// forget empties the directory and keeps its memory.
func (d *directory) forget() {
	for i := range d.panes {
		d.panes[i].groups = d.panes[i].groups[:0]
	}
	d.panes, d.held, d.rows = d.panes[:0], 0, 0
}

func (d *directory) bytes() int64 {
	n := int64(cap(d.miss)+cap(d.at)+cap(d.late)+cap(d.out)) * 4
	for _, p := range d.panes[:cap(d.panes)] {
		n += int64(cap(p.groups))*4 + 32
	}
	return n
}

func findNumbered[T int8 | int16 | int32 | int64](d *directory, t *table, e *encoder, keys []*columnar.Vec, vals []T, sel columnar.Sel, out []uint32) bool {
	starts := keys[1].I64
	known := uint32(1)
	var p numbers
	runs, from := 0, starts[sel.At(0)]-1 // no row's pane
	if sel.All {
		vals = vals[:len(out)]
		for n, s := range starts[:len(out)] {
			if s != from {
				from, p = s, d.of(s)
				runs++
			}
			g := uint32(0)
			if k := uint64(int64(vals[n]) - p.base); k < uint64(len(p.groups)) {
				g = p.groups[k]
			}
			known &= (g | -g) >> 31 // 0 from the first that is not known
			out[n] = g - 1
		}
	} else {
		for n, i := range sel.Idx[:len(out)] {
			if s := starts[i]; s != from {
				from, p = s, d.of(s)
				runs++
			}
			g := uint32(0)
			if k := uint64(int64(vals[i]) - p.base); k < uint64(len(p.groups)) {
				g = p.groups[k]
			}
			known &= (g | -g) >> 31
			out[n] = g - 1
		}
	}
	if runs*4 > len(out) {
		return false
	}
	return known != 0 || learnNumbered(d, t, e, keys, vals, sel, out)
}

// learnNumbered looks up what is not known, every key once and in the order of the rows, and fills out up.
func learnNumbered[T int8 | int16 | int32 | int64](d *directory, t *table, e *encoder, keys []*columnar.Vec, vals []T, sel columnar.Sel, out []uint32) bool {
	starts := keys[1].I64
	d.miss, d.at, d.late = d.miss[:0], d.at[:0], d.late[:0]
	unplaced := 0
	for n, g := range out {
		if g != noGroup {
			continue
		}
		i := sel.At(n)
		place := d.place(starts[i], int64(vals[i]))
		switch {
		case place == nil:
			unplaced++
		case *place == noGroup:
			d.late = append(d.late, int32(n))
			continue
		case *place != 0:
			out[n] = *place - 1
			continue
		default:
			*place = noGroup // until it is found
		}
		d.miss, d.at = append(d.miss, int32(i)), append(d.at, int32(n))
	}
	e.encode(keys, columnar.Sel{Idx: d.miss, N: len(d.miss)})
	d.out = grow(d.out[:0], len(d.miss))
	t.upsert(e, d.out)
	for k, n := range d.at {
		i := d.miss[k]
		out[n] = d.out[k]
		if p := d.of(starts[i]); uint64(int64(vals[i])-p.base) < uint64(len(p.groups)) {
			p.groups[int64(vals[i])-p.base] = d.out[k] + 1
		}
	}
	for _, n := range d.late {
		i := sel.At(int(n))
		p := d.of(starts[i])
		out[n] = p.groups[int64(vals[i])-p.base] - 1
	}
	if 2*unplaced > len(out) {
		d.pause = pauseCoded
	}
	return true
}

// of gives what is known of the pane that begins at a time.
func (d *directory) of(start int64) numbers {
	if len(d.panes) == 0 || start < d.first {
		return numbers{}
	}
	if i := uint64(start-d.first) / uint64(d.width); i < uint64(len(d.panes)) {
		return d.panes[i]
	}
	return numbers{}
}

// place points to the group of a number in a pane, for which it makes room; nil if there is none. It is valid until the
// next call.
func (d *directory) place(start, number int64) *uint32 {
	if len(d.panes) == 0 {
		d.first = start
	}
	if start < d.first { // panes before the first
		more := uint64(d.first-start) / uint64(d.width)
		if more >= mostPanes || len(d.panes)+int(more) > mostPanes {
			return nil
		}
		n := len(d.panes)
		d.room(n + int(more))
		for i := n - 1; i >= 0; i-- {
			d.panes[i], d.panes[i+int(more)] = d.panes[i+int(more)], d.panes[i]
		}
		d.first = start
	}
	i := uint64(start-d.first) / uint64(d.width)
	if i >= mostPanes {
		return nil
	}
	d.room(int(i) + 1)
	p := &d.panes[i]
	k := uint64(number - p.base)
	if k >= uint64(len(p.groups)) {
		if !d.widen(p, number) {
			return nil
		}
		k = uint64(number - p.base)
	}
	return &p.groups[k]
}

// room makes panes up to a number of them.
func (d *directory) room(n int) {
	for len(d.panes) < n {
		if len(d.panes) < cap(d.panes) {
			d.panes = d.panes[:len(d.panes)+1]
		} else {
			d.panes = append(d.panes, numbers{})
		}
	}
}

// widen makes room for a number in a pane; false if that takes more than the rows are worth.
func (d *directory) widen(p *numbers, number int64) bool {
	const apart = int64(1) << 40 // so that nothing overflows
	if number < -apart || number > apart {
		return false
	}
	low, high := number, number+1
	if n := int64(len(p.groups)); n > 0 {
		low, high = min(low, p.base), max(high, p.base+n)
	}
	most := min(spanNumbered*d.rows, mostNumbered)
	span := high - low
	if span > int64(most) {
		return false
	}
	slack := span/2 + 64
	switch { // to the side on which it grows
	case len(p.groups) == 0:
		low, high = low-slack, high+slack
	case low < p.base:
		low -= slack
	default:
		high += slack
	}
	if d.held+int(high-low)-len(p.groups) > most+2048 {
		return false
	}
	d.held += int(high-low) - len(p.groups)
	old, base := p.groups, p.base
	if len(old) == 0 && cap(old) >= int(high-low) {
		p.groups = old[:high-low]
		clear(p.groups)
	} else {
		p.groups = make([]uint32, high-low)
		copy(p.groups[max(0, base-low):], old)
	}
	p.base = low
	return true
}
