package lab

import (
	"strings"
	"testing"

	"streamlab/errs"
)

// What stands where a list belongs is refused at its place: taken for an empty list its rows or names would be
// lost without a word.
func TestWhatIsNoListIsRefused(t *testing.T) {
	for _, c := range []string{
		"sources:\n  s: {format: memory, schema: 'a INT', rows: HERE}\n",
		"sources:\n  s: {format: memory, schema: 'a INT', rows: [HERE]}\n",
		"sources:\n  s: {format: memory, schema: 'a INT', rows: [[HERE]]}\n",
		"tables:\n  t: {schema: 'a INT', rows: HERE}\n",
		"tables:\n  t: {schema: 'a INT', rows: [HERE]}\n",
	} {
		for _, wrong := range []string{"7", "x", "{a: 1}"} {
			_, err := Parse("l.yaml", "l.yaml", []byte(strings.Replace(c, "HERE", wrong, 1)))
			found := false
			for _, e := range Problems(err) {
				found = found || e.Condition == "LAB_VALUE" && e.Params["key"] == "rows" && e.Pos.Line == 2
			}
			if !found {
				t.Errorf("%s in %s: %v", wrong, c, err)
			}
		}
	}
	for _, key := range []string{"dropDuplicates", "dropDuplicatesWithinWatermark"} {
		text := "sources:\n  s: {format: rate}\nviews:\n  v: {sql: SELECT * FROM s, " + key + ": {value: 1}}\n"
		if _, err := Parse("l.yaml", "l.yaml", []byte(text)); !errs.Has(err, "LAB_VALUE") {
			t.Errorf("%s: %v", key, err)
		}
	}
}
