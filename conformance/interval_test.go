package conformance

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"streamlab/engine"
)

// TestTriggerIntervals holds the interval texts of triggers against what Spark makes of them.
func TestTriggerIntervals(t *testing.T) {
	raw, err := os.ReadFile("text/triggers/intervals.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Interval string
		Ms       int64
		Trigger  string
		Error    map[string]any
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{"ProcessingTime": "processingTime", "Continuous": "continuous", "RealTime": "realTime"}
	for _, c := range cases {
		kind, ok := kinds[c.Trigger]
		if !ok {
			t.Fatalf("trigger %s is not known", c.Trigger)
		}
		trigger, err := engine.ParseTrigger(kind, c.Interval)
		switch {
		case c.Error != nil && err == nil:
			t.Errorf("%s %q: want an error", c.Trigger, c.Interval)
		case c.Error != nil:
			if d := compareScenarioError(err, c.Error); d != "" {
				t.Errorf("%s %q: %s", c.Trigger, c.Interval, d)
			}
		case err != nil:
			t.Errorf("%s %q: %v", c.Trigger, c.Interval, err)
		case trigger.Interval().Milliseconds() != min(c.Ms, math.MaxInt64/int64(time.Millisecond)):
			t.Errorf("%s %q is %v, want %d ms", c.Trigger, c.Interval, trigger.Interval(), c.Ms)
		}
	}
}

func compareScenarioError(err error, want map[string]any) string {
	if gap(str(want["class"])) {
		return ""
	}
	return compareError(err, want)
}
