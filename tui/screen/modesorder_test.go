package screen

import (
	"fmt"
	"testing"
)

// Late is what was dropped. A row whose window is open is out of order, however old it is.
func TestARowIsLateOnlyIfItIsDropped(t *testing.T) {
	in := &ModesInput{Rows: [][]string{{"a"}, {"b"}, {"c"}, {"d"}}, Late: []bool{true, false, true, true},
		Times: []string{"10:00:18", "10:00:40", "10:00:13", "10:00:15"}}
	step := func(dropped int64) (s ModesStep) {
		s.Columns[1].Batches = []ModesBatch{{Watermark: "10:00:16", Dropped: dropped}}
		return s
	}
	for dropped, want := range map[int64]string{
		0: "[out of order  out of order out of order]",
		1: "[out of order  late behind the watermark]",
		2: "[out of order  late late]",
	} {
		if got := fmt.Sprint(orderOf(in, step(dropped))); got != want {
			t.Errorf("%d dropped: %s, want %s", dropped, got, want)
		}
	}
	in.Times = nil // not known: what was dropped is one of those that are out of order
	if got := fmt.Sprint(orderOf(in, step(3))); got != "[late  late late]" {
		t.Errorf("without times: %s", got)
	}
}
