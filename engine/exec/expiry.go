package exec

import "container/heap"

// An expiry lists groups by the time at which they may go, in buckets of a fixed width, so that a moved
// watermark costs what it frees. A group stands in one bucket; whoever removes it otherwise, or gives it
// another time, leaves a stale entry that the owner must recognise when it comes up.
type expiry struct {
	width   int64 // microseconds
	buckets map[int64]*expiryBucket
	order   int64Heap
	last    *expiryBucket // that was added to last; nil: none, or it has gone
	spare   [][]uint32    // lists of buckets that have gone
}

type expiryBucket struct {
	key    int64
	groups []uint32
}

// spareLists is how many lists are kept for buckets to come.
const spareLists = 4

func newExpiry(width int64) *expiry {
	return &expiry{width: max(width, 1), buckets: map[int64]*expiryBucket{}}
}

// expiryWidth is the bucket width for a watermark delay in microseconds.
func expiryWidth(delay int64) int64 { return max(1_000_000, delay/64) }

func (x *expiry) add(t int64, g uint32) {
	k := floorDiv(t, x.width)
	b := x.last
	if b == nil || b.key != k {
		if b = x.buckets[k]; b == nil {
			b = &expiryBucket{key: k}
			if n := len(x.spare); n > 0 {
				b.groups, x.spare = x.spare[n-1], x.spare[:n-1]
			}
			x.buckets[k] = b
			heap.Push(&x.order, k)
		}
		x.last = b
	}
	b.groups = append(b.groups, g)
}

// first takes the first bucket out if it begins at or before bound; nil if it does not.
func (x *expiry) first(bound int64) *expiryBucket {
	if len(x.order) == 0 || x.order[0] > floorDiv(bound, x.width) {
		return nil
	}
	b := x.buckets[heap.Pop(&x.order).(int64)]
	delete(x.buckets, b.key)
	if x.last == b {
		x.last = nil
	}
	return b
}

// giveBack puts a bucket of which only these groups are left where it was; without any its memory is kept.
func (x *expiry) giveBack(b *expiryBucket, left []uint32) {
	switch old := x.buckets[b.key]; {
	case len(left) == 0:
		if len(x.spare) < spareLists {
			x.spare = append(x.spare, b.groups[:0])
		}
	case old != nil:
		old.groups = append(left, old.groups...)
	default:
		b.groups = left
		x.buckets[b.key] = b
		heap.Push(&x.order, b.key)
	}
}

// pop takes the groups whose bucket begins at or before bound. at gives a group's time, ok false if the
// entry is stale; groups with a time after bound stay (in the bucket of that time). due gets the others in
// bucket order.
func (x *expiry) pop(bound int64, at func(g uint32) (t int64, ok bool), due func(g uint32)) {
	last := floorDiv(bound, x.width)
	for b := x.first(bound); b != nil; b = x.first(bound) {
		keep := b.groups[:0]
		for _, g := range b.groups {
			t, ok := at(g)
			switch {
			case !ok:
			case t <= bound:
				due(g)
			case floorDiv(t, x.width) == b.key:
				keep = append(keep, g)
			default:
				x.add(t, g)
			}
		}
		x.giveBack(b, keep)
		if len(keep) > 0 && b.key == last {
			return
		}
	}
}

// drop is pop for an owner whose entries are never stale: of buckets that end at or before bound no group is looked
// at. What due gets is valid during the call.
func (x *expiry) drop(bound int64, at func(g uint32) int64, due func(gs []uint32)) {
	last := floorDiv(bound, x.width)
	for b := x.first(bound); b != nil; b = x.first(bound) {
		var keep []uint32
		gs := b.groups
		if (b.key+1)*x.width-1 > bound {
			gs = nil
			for _, g := range b.groups {
				if at(g) <= bound {
					gs = append(gs, g)
				} else {
					keep = append(keep, g)
				}
			}
		}
		if len(gs) > 0 {
			due(gs)
		}
		x.giveBack(b, keep)
		if len(keep) > 0 && b.key == last {
			return
		}
	}
}

// due is about how many groups pop will look at.
func (x *expiry) due(bound int64) int {
	last := floorDiv(bound, x.width)
	var below func(i int) int
	below = func(i int) int { // the heap's order leaves out what is later
		if i >= len(x.order) || x.order[i] > last {
			return 0
		}
		return len(x.buckets[x.order[i]].groups) + below(2*i+1) + below(2*i+2)
	}
	return below(0)
}

func (x *expiry) reset() { x.buckets, x.order, x.last = map[int64]*expiryBucket{}, nil, nil }

func (x *expiry) bytes() int64 {
	n := int64(0)
	for _, b := range x.buckets {
		n += int64(cap(b.groups))*4 + 80
	}
	for _, l := range x.spare {
		n += int64(cap(l)) * 4
	}
	return n
}

type int64Heap []int64

func (h int64Heap) Len() int           { return len(h) }
func (h int64Heap) Less(i, j int) bool { return h[i] < h[j] }
func (h int64Heap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *int64Heap) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *int64Heap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
