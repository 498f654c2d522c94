package engine

import (
	"testing"
	"time"
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
