package exec

import (
	"testing"

	"streamlab/columnar"
)

// What a limit leaves unread is taken out of the count, whether the scan filters or not.
func TestUnreadRowsDoNotCount(t *testing.T) {
	for _, c := range []struct {
		counted columnar.Sel
		last    int
		want    int64
	}{
		{columnar.AllRows(5), 1, 2},
		{columnar.AllRows(5), 4, 5},
		{columnar.Sel{Idx: []int32{0, 2, 3, 7}, N: 4}, 2, 2},
		{columnar.Sel{Idx: []int32{0, 2, 3, 7}, N: 4}, 7, 4},
	} {
		s := &scan{}
		if scanBelow(s) != s {
			t.Fatal("a scan is not found below itself")
		}
		at, err := s.chunks.get(0)
		if err != nil {
			t.Fatal(err)
		}
		**at = c.counted
		r := &run{counting: true, task: &Task{Counters: &Counters{ScanRows: []int64{int64(c.counted.N)}}}}
		if err := s.unread(r, 0, c.last); err != nil {
			t.Fatal(err)
		}
		if got := r.task.Counters.ScanRows[0]; got != c.want {
			t.Errorf("%v behind %d: %d rows count, want %d", c.counted, c.last, got, c.want)
		}
	}
}
