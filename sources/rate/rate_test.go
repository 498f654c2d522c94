package rate

import (
	"context"
	"strings"
	"testing"
	"time"

	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sources/sourcetest"
)

func def(log sources.Log, now *time.Time, options ...string) sources.Def {
	d := sources.Def{Log: log, Options: sources.Options{"numPartitions": "2"}, Now: func() time.Time { return *now }}
	for i := 0; i < len(options); i += 2 {
		d.Options[options[i]] = options[i+1]
	}
	return d
}

func TestProtocol(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_500)
	sourcetest.Run(t, func(log sources.Log) (sources.Source, error) { return New(def(log, &now, "rowsPerSecond", "7")) },
		func(int) { now = now.Add(1700 * time.Millisecond) })
	sourcetest.Run(t, func(log sources.Log) (sources.Source, error) {
		return NewMicroBatch(def(log, &now, "rowsPerBatch", "5"))
	}, func(int) {})
}

func TestRamp(t *testing.T) {
	for _, c := range []struct {
		r    ramp
		want [11]int64
	}{
		{ramp{10, 4}, [11]int64{0, 2, 6, 12, 20, 30, 40, 50, 60, 70, 80}},
		{ramp{3, 9}, [11]int64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}},
		{ramp{5, 0}, [11]int64{0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50}},
	} {
		for s, want := range c.want {
			if got := c.r.valueAt(int64(s)); got != want {
				t.Errorf("%v at %d: %d, want %d", c.r, s, got, want)
			}
		}
	}
}

func TestRowsAndRestart(t *testing.T) {
	log := sourcetest.NewLog()
	now := time.UnixMilli(1_700_000_000_000)
	s, err := New(def(log, &now, "rowsPerSecond", "3"))
	if err != nil {
		t.Fatal(err)
	}
	at, _ := s.InitialOffset(context.Background())
	now = now.Add(1999 * time.Millisecond)
	end, rows := sourcetest.Batch(t, s, at, sources.ReadLimit{})
	want := "2023-11-14 22:13:20|0 2023-11-14 22:13:20.667|2 2023-11-14 22:13:20.333|1"
	if got := strings.Join(rows, " "); got != want || end != "1" {
		t.Errorf("%s at %s", got, end)
	}
	if got := string(log.Entries[0]); got != "v1\n1700000000000" {
		t.Error(got)
	}
	s, _ = New(def(log, &now, "rowsPerSecond", "3"))
	if end, rows := sourcetest.Batch(t, s, end, sources.ReadLimit{}); end != "1" || rows != nil {
		t.Error(end, rows)
	}
	now = now.Add(time.Millisecond)
	if end, rows := sourcetest.Batch(t, s, end, sources.ReadLimit{}); end != "2" || len(rows) != 3 || !strings.HasPrefix(rows[0], "2023-11-14 22:13:21|3") {
		t.Error(end, rows)
	}
}

func TestMicroBatch(t *testing.T) {
	now := time.Now()
	s, err := NewMicroBatch(def(nil, &now, "rowsPerBatch", "3", "startTimestamp", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	at, _ := s.InitialOffset(context.Background())
	if err := s.(sources.AvailableNow).PrepareAvailableNow(context.Background()); err != nil {
		t.Fatal(err)
	}
	end, rows := sourcetest.Batch(t, s, at, sources.ReadLimit{})
	if at != `{"offset":0,"timestamp":1000}` || end != `{"offset":3,"timestamp":2000}` || strings.Join(rows, " ") != "1970-01-01 00:00:01|0 1970-01-01 00:00:01|2 1970-01-01 00:00:01|1" {
		t.Error(at, end, rows)
	}
	if again, _ := sourcetest.Batch(t, s, end, sources.ReadLimit{}); again != end {
		t.Error("an AvailableNow run gave a second batch", again)
	}
}

func TestRefused(t *testing.T) {
	now := time.Now()
	for _, o := range [][]string{{"rowsPerSecond", "0"}, {"rowsPerSecond", "fast"}, {"rampUpTime", "-1s"}, {"numPartitions", "0"}, {"rampUpTime", "1 minute"}} {
		if _, err := New(def(nil, &now, o...)); !errs.Has(err, "INVALID_OPTION") {
			t.Error(o, err)
		}
	}
	s, err := New(def(nil, &now, "rowsPerSecond", "9223372036854775807", "rampUpTime", "2s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.InitialOffset(context.Background()); !errs.Has(err, "INCORRECT_RAMP_UP_RATE") {
		t.Error(err)
	}
	if _, err := NewMicroBatch(def(nil, &now)); !errs.Has(err, "INVALID_OPTION") {
		t.Error(err)
	}
}
