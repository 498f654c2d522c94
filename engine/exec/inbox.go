package exec

import (
	"streamlab/columnar"
	"streamlab/sql/types"
)

// An inbox is the rows of one part of an operator's input on their way to the ranges of its state: the reader
// of the part puts them in and divides them by the hash of their keys; then each range, whoever works on it,
// takes its own out of all inboxes, part by part. So every range meets its rows in the order of the input,
// however many workers there are. Rows lie there once, in that order; what is divided are their positions.
type inbox struct {
	buf *rowsBuffer
	by  [ranges][]int32 // ascending
}

func newInbox(s types.Schema) *inbox { return &inbox{buf: newRowsBuffer(s)} }

// fewRows is up to how many rows an inbox may have room for without being used.
const fewRows = 1 << 12

// reset empties the inbox for the next batch. Its memory is kept unless the last batch needed little of it.
func (b *inbox) reset() {
	n := b.buf.n
	for i := range b.by {
		if cap(b.by[i]) > fewRows && n < cap(b.by[i]) {
			b.by[i] = nil
		}
		b.by[i] = b.by[i][:0]
	}
	b.buf.clear()
}

// bytes is the memory of an inbox, by capacity.
func (b *inbox) bytes() int64 {
	n := b.buf.bytes()
	for i := range b.by {
		n += int64(cap(b.by[i])) * 4
	}
	return n
}

// account tells the meter of an operator what a part that has been read holds. Errors: BATCH_TOO_LARGE.
func (b *inbox) account(r *run, of Stateful) error {
	r.exchange(of).Add(b.bytes())
	return r.p.meter.room()
}

// divide notes that rows from position at on have these hashes.
func (b *inbox) divide(hash []uint64, at int) {
	for k, h := range hash {
		i := rangeOf(h)
		b.by[i] = append(b.by[i], int32(at+k))
	}
}

// slices calls fn with a range's rows of an inbox, a slice of columnar.Slice rows at most at a time.
func (b *inbox) slices(i int, fn func(sel columnar.Sel) error) error {
	for idx := b.by[i]; len(idx) > 0; {
		n := min(len(idx), columnar.Slice)
		if err := fn(columnar.Sel{Idx: idx[:n], N: n}); err != nil {
			return err
		}
		idx = idx[n:]
	}
	return nil
}

// merged is the ascending union of ascending lists of positions below n, as a bitmap in buf.
func merged(lists [][]int32, n int, buf []uint64) (bits []uint64, count int) {
	bits = grow(buf[:0], columnar.Words(n))
	clear(bits)
	for _, l := range lists {
		for _, i := range l {
			bits[i>>6] |= 1 << (uint(i) & 63)
		}
		count += len(l)
	}
	return bits, count
}

// readInboxes calls read for every part: by the workers, or one after the other if the rows are few or the
// operator is traced.
func (r *run) readInboxes(name string, parts int, inOrder bool, read func(w, p int) error) error {
	if inOrder || r.units(parts) == 1 {
		for p := range parts {
			if err := read(0, p); err != nil {
				return err
			}
		}
		return nil
	}
	return r.parallel(name, parts, read)
}

// eachRange calls fn for every range: by the workers, unless the rows are few.
func (r *run) eachRange(name string, rows int, fn func(w, i int) error) error {
	if rows < 2*smallRows {
		for i := range ranges {
			if err := fn(0, i); err != nil {
				return err
			}
		}
		return nil
	}
	return r.parallel(name, ranges, fn)
}
