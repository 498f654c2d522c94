package codec

import (
	"testing"

	"streamlab/errs"
)

// CSV options that cannot be met are refused by name and never passed over.
func TestCSVOptionsThatAreRefused(t *testing.T) {
	for _, o := range [][]string{{"charToEscapeQuoteEscaping", "#"}, {"unescapedQuoteHandling", "BACK_TO_DELIMITER"}} {
		if _, err := readAll(t, settings("csv", o...), "a STRING", "x", nil); !errs.Has(err, "UNSUPPORTED_FEATURE") {
			t.Errorf("%v: %v", o, err)
		}
	}
	if _, err := readAll(t, settings("csv", "charToEscapeQuoteEscaping", "\\"), "a STRING", "x", nil); err != nil {
		t.Error(err)
	}
}
