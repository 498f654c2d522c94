package engine

import (
	"regexp"
	"strings"

	"streamlab/engine/exec"
)

// operatorWords says how the stateful operators differ: by their names, or, where these are the same, by the
// keys or the values of the first that has others. The error of the refusal has Spark's words for it.
func operatorWords(was, now []exec.OperatorShape) (before, after string) {
	before, after = operatorList(was), operatorList(now)
	if before != after {
		return before, after
	}
	for i := range was {
		a, b := was[i], now[i]
		switch {
		case !a.SameKeys(b):
			word := "keys of " + a.Name
			if a.Name == "stateStoreSave" { // the keys of an aggregation are those it groups by
				word = "grouped by"
			}
			return word + " " + columnWords(a.Key), word + " " + columnWords(b.Key)
		case !a.SameValues(b):
			return a.Name + " with state " + columnWords(a.Value), a.Name + " with state " + columnWords(b.Value)
		}
	}
	return before, after
}

var structField = regexp.MustCompile(`StructField\(([^,]*),(.*?),(?:true|false)\)`)

// columnWords is a schema in Spark's words as columns with their types: "k string, n bigint".
func columnWords(schema string) string {
	var out []string
	for _, m := range structField.FindAllStringSubmatch(schema, -1) {
		out = append(out, m[1]+" "+m[2])
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}
