package screen

import (
	"testing"
	"time"

	"streamlab/tui/widget"
)

// Where the legend has no room for all parts of a batch it leaves out the shortest, not the last.
func TestTheLegendKeepsWhatTookLong(t *testing.T) {
	part := func(name string, ms int) widget.Part {
		return widget.Part{Name: text(name), Shade: "█", Took: time.Duration(ms) * time.Millisecond}
	}
	ps := []widget.Part{part("offset", 0), part("getBatch", 0), part("planning", 3), part("walCommit", 27), part("addBatch", 80), part("commit", 31)}
	names := func(w int) (out string) {
		for _, p := range fitting(ps, w) {
			out += " " + string(legend(p))
		}
		return out
	}
	for w, want := range map[int]string{200: " offset 0 getBatch 0 planning 3 walCommit 27 addBatch 80 commit 31",
		70: " getBatch 0 planning 3 walCommit 27 addBatch 80 commit 31", 40: " addBatch 80 commit 31", 5: ""} {
		if got := names(w); got != want {
			t.Errorf("on %d cells:%s, want%s", w, got, want)
		}
	}
}
