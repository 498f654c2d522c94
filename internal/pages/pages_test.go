package pages

import "testing"

func TestSlabsKeepWhatTheyHold(t *testing.T) {
	var s Slab[uint64]
	n := 0
	for size := 1; size < 1<<20; size *= 3 {
		s.Grow(size)
		if len(s.Room()) != size {
			t.Fatal(len(s.Room()))
		}
		for ; n < size; n++ {
			if s.Room()[n] != 0 {
				t.Fatal("room that is not empty")
			}
			s.Room()[n] = uint64(n)
		}
		for i, v := range s.Room() {
			if v != uint64(i) {
				t.Fatalf("%d at %d of %d", v, i, size)
			}
		}
	}
	if s.kept == nil {
		t.Error("nothing came from the system")
	}
	s.Grow(1)
	s.Free()
	s.Free()
	if s.Room() != nil {
		t.Error("not empty")
	}
}
