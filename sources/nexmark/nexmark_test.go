package nexmark

import (
	"context"
	"strings"
	"testing"

	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sources/sourcetest"
)

func open(t *testing.T, o sources.Options) sources.Source {
	t.Helper()
	s, err := New(sources.Def{Options: o, Log: sourcetest.NewLog()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, s sources.Source, from, until sources.Offset) []string {
	t.Helper()
	parts, err := s.PlanPartitions(context.Background(), from, until)
	if err != nil {
		t.Fatal(err)
	}
	return sourcetest.Rows(t, s.Schema(), parts)
}

func TestEventsFollowFromTheirNumbers(t *testing.T) {
	all := read(t, open(t, sources.Options{"numPartitions": "1"}), "0", "200")
	if len(all) != 200 {
		t.Fatalf("%d rows", len(all))
	}
	parts := append(read(t, open(t, sources.Options{"numPartitions": "3"}), "0", "77"), read(t, open(t, sources.Options{"numPartitions": "2"}), "77", "200")...)
	for i := range all {
		if all[i] != parts[i] {
			t.Fatalf("event %d:\n%s\n%s", i, all[i], parts[i])
		}
	}
	if other := read(t, open(t, sources.Options{"seed": "43", "numPartitions": "1"}), "0", "200"); strings.Join(other, "\n") == strings.Join(all, "\n") {
		t.Error("another seed gives the same events")
	}
}

func TestOfFiftyEventsOneIsAPersonAndThreeAreAuctions(t *testing.T) {
	var n [3]int
	for k := range int64(5000) {
		n[kindOf(k)]++
	}
	if n != [3]int{100, 300, 4600} {
		t.Error(n)
	}
	g := generator{seed: 1, gap: 1}
	for k := range int64(5000) { // bids and auctions name only what exists
		d := g.dice(k)
		if a := g.recent(&d, max(1, auctions(k)), lookBack); a < 0 || a >= max(1, auctions(k)) {
			t.Fatalf("event %d names auction %d of %d", k, a, auctions(k))
		}
	}
}

func TestBatchesOfAFixedSizeEnd(t *testing.T) {
	s := open(t, sources.Options{"rowsPerBatch": "30", "numEvents": "70"})
	at := sources.Offset("0")
	var ends []string
	for range 4 {
		end, err := s.LatestOffset(context.Background(), at, sources.ReadLimit{})
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, string(end))
		at = end
	}
	if got := strings.Join(ends, " "); got != "30 60 70 70" {
		t.Error(got)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for _, o := range []sources.Options{{"rowsPerSecond": "0"}, {"rowsPerBatch": "0"}, {"seed": "x"}, {"numPartitions": "0"}, {"startTimestamp": "-1"}} {
		if _, err := New(sources.Def{Options: o}); !errs.Has(err, "INVALID_OPTION") {
			t.Errorf("%v: %v", o, err)
		}
	}
}
