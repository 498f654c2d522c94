package errs

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestMessageFillsParametersAndShowsThePlace(t *testing.T) {
	e := New("UNSUPPORTED_FEATURE", "feature", "The thing").At(Pos{File: "lab.yaml", Line: 3, Col: 5, Length: 2})
	if got, want := e.Error(), "lab.yaml:3:5: [UNSUPPORTED_FEATURE] The thing is not supported. SQLSTATE: 0A000"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if again := e.At(Pos{Line: 9}); again.Pos.Line != 3 {
		t.Errorf("a place was overwritten: %v", again.Pos)
	}
}

func TestHasSeesThroughCausesAndSubConditions(t *testing.T) {
	err := Wrap(Wrap(io.EOF, "A.B", "x", 1), "STREAM_FAILED")
	for c, want := range map[string]bool{"STREAM_FAILED": true, "A": true, "A.B": true, "B": false, "STREAM": false} {
		if Has(err, c) != want {
			t.Errorf("Has(%s) is %v", c, !want)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Error("the cause is hidden")
	}
}

// stateless are conditions of Spark's Kafka connector, which gives them no SQLSTATE.
var stateless = map[string]bool{
	"MISSING_KAFKA_OPTION":                                                                    true,
	"KAFKA_NULL_TOPIC_IN_DATA":                                                                true,
	"KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED":                                              true,
	"KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED":                                          true,
	"MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED":                           true,
	"MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET":                         true,
	"END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED":                       true,
	"END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW": true,
	"LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW":                           true,
	"RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET":                                           true,
	"UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET":                                         true,
}

func TestEveryConditionHasASQLStateUnlessSparkHasNone(t *testing.T) {
	for name, c := range conditions() {
		if c.SQLState == "" && !strings.HasPrefix(name, "_LEGACY") && !stateless[name] {
			t.Errorf("%s has no SQLSTATE", name)
		}
		if c.SQLState != "" && stateless[name] {
			t.Errorf("%s has a SQLSTATE and is listed as having none", name)
		}
	}
}

// A condition that is looked for in the text of the table is the one in the table.
func TestFindIsLookup(t *testing.T) {
	for name, want := range conditions() {
		if got, ok := find(name); !ok || got != want {
			t.Errorf("%s: found %v, %v; in the table %v", name, got, ok, want)
		}
	}
	if c, ok := find("NO_SUCH_CONDITION_AT_ALL"); ok {
		t.Errorf("found %v", c)
	}
}
