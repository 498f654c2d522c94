package engine

import (
	"testing"

	"streamlab/errs"
)

// A format that there is not comes with the one that was meant, of those that can be read or written.
func TestUnknownFormatsNameTheNearest(t *testing.T) {
	f := AllFormats()
	source := func(name string) error { _, err := f.source(name); return err }
	sink := func(name string) error { _, err := f.sink(name); return err }
	for _, c := range []struct {
		err  error
		hint string
	}{
		{source("jsn"), "Did you mean `json`?"},
		{source("kafkaa"), "Did you mean `kafka`?"},
		{sink("consol"), "Did you mean `console`?"},
		{sink("avvvvvvvvvro"), ""},
	} {
		if e := errs.As(c.err); e == nil || e.Condition != "DATA_SOURCE_NOT_FOUND" || e.Hint != c.hint {
			t.Errorf("%v, hint %q", c.err, e.Hint)
		}
	}
}
