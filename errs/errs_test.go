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

func TestEveryConditionHasASQLStateUnlessSparkHasNone(t *testing.T) {
	for name, c := range conditions() {
		if c.SQLState == "" && !strings.HasPrefix(name, "_LEGACY") {
			t.Errorf("%s has no SQLSTATE", name)
		}
	}
}
