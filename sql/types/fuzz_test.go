package types

import "testing"

// FuzzSchema reads any text as a type and as a list of columns, as from_json does: no panic, and a type that
// was read prints as one that reads alike.
func FuzzSchema(f *testing.F) {
	for _, s := range []string{"a INT, b STRING", "STRUCT<a: INT NOT NULL COMMENT 'x', `b c`: ARRAY<MAP<STRING, DECIMAL(10,2)>>>", "INTERVAL DAY TO SECOND", "a STRUCT<>", "DECIMAL(39)", "`a", "array<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = ParseDDL(s)
		d, err := ParseType(s)
		if err != nil {
			return
		}
		again, err := ParseType(d.SQL())
		if err != nil || again.SQL() != d.SQL() {
			t.Errorf("%q is %s, which reads as %s (%v)", s, d.SQL(), again.SQL(), err)
		}
	})
}
