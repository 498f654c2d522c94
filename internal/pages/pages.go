// Package pages keeps large flat data outside of the collector's heap. Data of millions of rows that lives long
// would make the heap, and with it the garbage that may gather between two collections, several times as large.
package pages

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// least is the size from which memory comes from the system, not from the heap.
const least = 512 << 10

// A Slab is an array of values without pointers that can grow. The zero Slab is empty. Not safe for concurrent
// use.
type Slab[T any] struct {
	all  []T // as long as there is room
	kept *kept
}

// kept is memory of the system; it goes back when nobody holds it any more.
type kept struct {
	mem     []byte
	cleanup runtime.Cleanup
}

// Room is the array; its length is what the last Grow asked for. It is valid until the next Grow or Free.
func (s *Slab[T]) Room() []T { return s.all }

// Grow makes room for n values and keeps those that are there; further ones are zero. A smaller n does nothing.
func (s *Slab[T]) Grow(n int) {
	if n <= len(s.all) {
		return
	}
	var one T
	size := n * int(unsafe.Sizeof(one))
	next := Slab[T]{}
	if size >= least {
		if mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err == nil {
			next.kept = &kept{mem: mem}
			next.kept.cleanup = runtime.AddCleanup(next.kept, func(mem []byte) { _ = unix.Munmap(mem) }, mem)
			next.all = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n)
		}
	}
	if next.all == nil { // small, or the system gives none: the heap says so in its own way
		next.all = make([]T, n)
	}
	copy(next.all, s.all)
	s.Free()
	*s = next
}

// Free gives the memory back; the Slab is empty then.
func (s *Slab[T]) Free() {
	if k := s.kept; k != nil {
		k.cleanup.Stop()
		_ = unix.Munmap(k.mem)
	}
	*s = Slab[T]{}
}
