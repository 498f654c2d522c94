package engine

import (
	"testing"
	"time"

	"streamlab/engine/exec"
	"streamlab/sql/types"
)

// A join of two streams, one of them named twice, reads two; of their watermarks the greater delay counts.
func TestReadsListStreamsOnce(t *testing.T) {
	s, err := NewSession(Config{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.ReadStream().Format("rate").Option("rowsPerSecond", 7).Register("a").WithWatermark("timestamp", "10 seconds").CreateOrReplaceTempView("wa"); err != nil {
		t.Fatal(err)
	}
	if err := s.ReadStream().Format("rate").Register("b").WithWatermark("timestamp", "3 minutes").CreateOrReplaceTempView("wb"); err != nil {
		t.Fatal(err)
	}
	df, err := s.SQL(t.Context(), "SELECT x.value FROM wa x JOIN wb y ON x.value = y.value AND x.timestamp = y.timestamp UNION ALL SELECT value FROM wa")
	if err != nil {
		t.Fatal(err)
	}
	reads, delay, windows := df.Reads()
	if windows || len(reads) != 2 || reads[0].Name != "a" || reads[1].Name != "b" || delay != 3*time.Minute {
		t.Fatalf("reads %+v, delay %v", reads, delay)
	}
	df, err = s.SQL(t.Context(), "SELECT count(*) FROM wa GROUP BY window(timestamp, '1 minute')")
	if err != nil {
		t.Fatal(err)
	}
	if _, delay, windows := df.Reads(); !windows || delay != 10*time.Second {
		t.Errorf("windows %v, delay %v", windows, delay)
	}
	if v := reads[0].Options["rowspersecond"] + reads[0].Options["rowsPerSecond"]; reads[0].Format != "rate" || v != "7" {
		t.Errorf("options %v of %s", reads[0].Options, reads[0].Format)
	}
}

// A date is left out of the texts of a trace if all its times have it.
func TestTraceHidesOneDay(t *testing.T) {
	day := &Trace{Trace: &exec.Trace{}, EvictMs: 1_767_616_847_000, NextMs: 1_767_616_848_000}
	if got := day.Day(); got != "2026-01-05" {
		t.Errorf("day %q", got)
	}
	day.LateMs = day.EvictMs - 86_400_000
	if got := day.Day(); got != "" {
		t.Errorf("of two days: %q", got)
	}
	day.HideDay = "2026-01-05"
	for text, want := range map[string]string{"2026-01-05 12:40:00": "12:40:00", "NULL": "NULL"} {
		if got := day.Cell(types.DataType{Kind: types.Timestamp}, text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := day.Cell(types.DataType{Kind: types.String}, "2026-01-05 x"); got != "2026-01-05 x" {
		t.Errorf("a string became %q", got)
	}
	for text, want := range map[string]string{"1204880": "1,204,880", "-1234.50": "-1,234.50", "x": "x", "007": "007"} {
		if got := grouped(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
