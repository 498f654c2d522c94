package screen

import (
	"strings"
	"testing"

	"streamlab/internal/safe"
)

// Only a checkpoint that stays is gone on from.
func TestWhatIsStoppedSaysWhetherItsCheckpointStays(t *testing.T) {
	q := func(name string, temporary bool) *QuerySnapshot {
		return &QuerySnapshot{Name: name, Temporary: temporary, State: Running}
	}
	for _, c := range []struct {
		queries []*QuerySnapshot
		want    safe.Line
	}{
		{[]*QuerySnapshot{q("a", false)}, "goes on after those"},
		{[]*QuerySnapshot{q("a", true), q("b", true)}, "begins anew"},
		{[]*QuerySnapshot{q("a", true), q("b", false)}, "goes on after those batches; a begins anew"},
		{[]*QuerySnapshot{{Name: "off", Temporary: true, State: Stopped}, q("b", false)}, "checkpoints stay"},
	} {
		got := string(WhatStays(c.queries))
		if !strings.Contains(got, string(c.want)) {
			t.Errorf("%s", got)
		}
		if len(c.queries) == 1 && strings.Contains(got, "anew") {
			t.Errorf("%s", got)
		}
	}
}
