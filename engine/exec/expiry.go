package exec

import "container/heap"

// An expiry lists groups by the time at which they may go, in buckets of a fixed width, so that a moved
// watermark costs what it frees. A group stands in one bucket; whoever removes it otherwise, or gives it
// another time, leaves a stale entry that the owner must recognise when it comes up.
type expiry struct {
	width   int64 // microseconds
	buckets map[int64][]uint32
	order   int64Heap
}

func newExpiry(width int64) *expiry {
	return &expiry{width: max(width, 1), buckets: map[int64][]uint32{}}
}

// expiryWidth is the bucket width for a watermark delay in microseconds.
func expiryWidth(delay int64) int64 { return max(1_000_000, delay/64) }

func (x *expiry) add(t int64, g uint32) {
	k := floorDiv(t, x.width)
	l, ok := x.buckets[k]
	if !ok {
		heap.Push(&x.order, k)
	}
	x.buckets[k] = append(l, g)
}

// pop takes the groups whose bucket begins at or before bound. at gives a group's time, ok false if the
// entry is stale; groups with a time after bound stay (in the bucket of that time). due gets the others in
// bucket order.
func (x *expiry) pop(bound int64, at func(g uint32) (t int64, ok bool), due func(g uint32)) {
	last := floorDiv(bound, x.width)
	for len(x.order) > 0 && x.order[0] <= last {
		k := x.order[0]
		l := x.buckets[k]
		heap.Pop(&x.order)
		delete(x.buckets, k)
		var keep []uint32
		for _, g := range l {
			t, ok := at(g)
			switch {
			case !ok:
			case t <= bound:
				due(g)
			case floorDiv(t, x.width) == k:
				keep = append(keep, g)
			default:
				x.add(t, g)
			}
		}
		if len(keep) > 0 {
			if _, ok := x.buckets[k]; !ok {
				heap.Push(&x.order, k)
			}
			x.buckets[k] = append(keep, x.buckets[k]...)
			if k == last {
				return
			}
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
		return len(x.buckets[x.order[i]]) + below(2*i+1) + below(2*i+2)
	}
	return below(0)
}

func (x *expiry) reset() { x.buckets, x.order = map[int64][]uint32{}, nil }

func (x *expiry) bytes() int64 {
	n := int64(0)
	for _, l := range x.buckets {
		n += int64(cap(l))*4 + 48
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
