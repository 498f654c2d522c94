package errs

import "sort"

// A ConditionDoc is a line of the table of conditions, for the manual.
type ConditionDoc struct {
	Name     string
	SQLState string
	Message  string // template: <name> stands for a parameter
	Hint     string // "" if there is nothing to advise
}

// Conditions are those that this program words itself, by name. Conditions of Spark whose text comes from their
// parameters alone are left out.
func Conditions() []ConditionDoc {
	var out []ConditionDoc
	for name, c := range conditions() {
		if c.Message != "" {
			out = append(out, ConditionDoc{name, c.SQLState, c.Message, c.Hint})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
