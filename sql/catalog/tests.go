package catalog

import "streamlab/columnar"

// Tests turns predicates into what readers decide by least and greatest values.
func Tests(where []Predicate) []columnar.Test {
	ops := map[string]columnar.TestOp{"=": columnar.Equal, "<": columnar.Less, "<=": columnar.AtMost, ">": columnar.Greater,
		">=": columnar.AtLeast, "IS NULL": columnar.IsNull, "IS NOT NULL": columnar.IsNotNull}
	var out []columnar.Test
	for _, p := range where {
		op, ok := ops[p.Op]
		if !ok {
			continue
		}
		t := columnar.Test{Column: p.Column, Op: op}
		if p.Value != nil {
			t.Values = []*columnar.Vec{p.Value}
		}
		out = append(out, t)
	}
	return out
}
