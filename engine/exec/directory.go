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
	out   [1]uint32
}

// numbers are the groups + 1 of a pane by number, from base on; 0 is none.
type numbers struct {
	base   int64
	groups []uint32
}

const (
	leastNumbered = 128     // rows below which nothing is numbered
	spanNumbered  = 16      // numbers for each row that there may be room for
	mostNumbered  = 1 << 20 // that there is room for in all
	mostPanes     = 1 << 12
	pauseLearned  = 32 // chunks that are not looked up by number after one of which a third of the keys were new
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
	out = out[:sel.N]
	switch keys[0].Phys {
	case columnar.PI8:
		d.pause = findNumbered(d, t, e, keys, keys[0].I8, sel, out)
	case columnar.PI16:
		d.pause = findNumbered(d, t, e, keys, keys[0].I16, sel, out)
	case columnar.PI32:
		d.pause = findNumbered(d, t, e, keys, keys[0].I32, sel, out)
	default:
		d.pause = findNumbered(d, t, e, keys, keys[0].I64, sel, out)
	}
	d.t, d.age = t, t.age
	return true
}

// forget empties the directory and keeps its memory.
func (d *directory) forget() {
	for i := range d.panes {
		d.panes[i].groups = d.panes[i].groups[:0]
	}
	d.panes, d.held, d.rows = d.panes[:0], 0, 0
}

func (d *directory) bytes() int64 {
	n := int64(0)
	for _, p := range d.panes[:cap(d.panes)] {
		n += int64(cap(p.groups))*4 + 32
	}
	return n
}

// findNumbered fills out, and says for how many chunks to pause since it was of little use.
func findNumbered[T int8 | int16 | int32 | int64](d *directory, t *table, e *encoder, keys []*columnar.Vec, vals []T, sel columnar.Sel, out []uint32) (pause int) {
	starts := keys[1].I64
	var p numbers
	runs, learned, unplaced, from := 0, 0, 0, starts[sel.At(0)]-1 // no row's pane
	if sel.All {
		vals = vals[:len(out)]
		for n, s := range starts[:len(out)] {
			if s != from {
				from, p = s, d.of(s)
				runs++
			}
			g, v := uint32(0), int64(vals[n])
			if k := uint64(v - p.base); k < uint64(len(p.groups)) {
				g = p.groups[k]
			}
			if g == 0 {
				g, p = d.learn(t, e, s, v, &learned, &unplaced)
			}
			out[n] = g - 1
		}
	} else {
		for n, i := range sel.Idx[:len(out)] {
			s := starts[i]
			if s != from {
				from, p = s, d.of(s)
				runs++
			}
			g, v := uint32(0), int64(vals[i])
			if k := uint64(v - p.base); k < uint64(len(p.groups)) {
				g = p.groups[k]
			}
			if g == 0 {
				g, p = d.learn(t, e, s, v, &learned, &unplaced)
			}
			out[n] = g - 1
		}
	}
	switch n := len(out); {
	case 4*runs > n || 2*unplaced > n:
		return pauseCoded
	case 3*learned > n: // a key at a time is dearer than many at once
		return pauseLearned
	}
	return 0
}

// learn looks a key up in the table, where it is put if it is new, and gives its group + 1 and its pane. The hash of the
// key is only computed here.
func (d *directory) learn(t *table, e *encoder, start, number int64, learned, unplaced *int) (uint32, numbers) {
	*learned++
	w := e.lay.words
	e.n, e.anyLong = 1, false
	e.words, e.hash = grow(e.words[:0], w), grow(e.hash[:0], 1)
	clear(e.words)
	e.words[e.lay.fields[0].at], e.words[e.lay.fields[1].at] = uint64(number), uint64(start)
	e.hashRows()
	t.upsert(e, d.out[:])
	g := d.out[0] + 1
	if place := d.place(start, number); place != nil {
		*place = g
	} else {
		*unplaced++
	}
	return g, d.of(start)
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
	}
	if len(old) > 0 {
		copy(p.groups[base-low:], old)
	}
	p.base = low
	return true
}
