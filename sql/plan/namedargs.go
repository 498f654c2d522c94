package plan

import (
	"sort"
	"strings"

	"streamlab/sql"
	"streamlab/sql/types"
)

// byPlace puts named arguments at the places of their parameters; required is how many parameters need a
// value. Parameters left out between others get no argument, which only a literal default could fill, so they
// become the word DEFAULT's value: NULL of the function's own choice.
func (x *resolver) byPlace(f *sql.FuncCall, name string, params []string, required int) *sql.FuncCall {
	given := make([]sql.Expr, len(params))
	fail := func(condition string, more ...any) {
		x.fail(f, condition, append([]any{"routineName", types.Quote(name)}, more...)...)
	}
	if len(f.Args) > len(params) {
		want := itoa(len(params))
		x.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", types.Quote(name), "expectedNum", want,
			"actualNum", len(f.Args), "docroot", docroot)
	}
	last := ""
	for i, a := range f.Args {
		n := ""
		if f.ArgNames != nil {
			n = f.ArgNames[i]
		}
		if n == "" {
			if last != "" {
				fail("UNEXPECTED_POSITIONAL_ARGUMENT", "parameterName", types.Quote(last))
			}
			given[i] = a
			continue
		}
		last = n
		at := -1
		for k, p := range params {
			if strings.EqualFold(p, n) {
				at = k
			}
		}
		switch {
		case at < 0:
			var free []string
			for k, p := range params {
				if given[k] == nil {
					free = append(free, p)
				}
			}
			if len(free) < len(params) {
				free = params
			}
			fail("UNRECOGNIZED_PARAMETER_NAME", "argumentName", types.Quote(n), "proposal", similar(n, free))
		case given[at] != nil && f.ArgNames[at] == "":
			fail("DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.BOTH_POSITIONAL_AND_NAMED", "parameterName", types.Quote(n))
		case given[at] != nil:
			fail("DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE", "parameterName", types.Quote(n))
		}
		given[at] = a
	}
	for k := 0; k < required; k++ {
		if given[k] == nil {
			fail("REQUIRED_PARAMETER_NOT_FOUND", "parameterName", types.Quote(params[k]), "index", k)
		}
	}
	g := *f
	g.ArgNames, g.Args = nil, nil
	end := len(given)
	for end > 0 && given[end-1] == nil {
		end--
	}
	for k, a := range given[:end] {
		if a == nil {
			a = &sql.Literal{Span: f.Span, Kind: "string", Text: namedDefaults[name+"."+params[k]]}
		}
		g.Args = append(g.Args, a)
	}
	return &g
}

// namedDefaults are the texts of parameters that a call by name may leave out before one that it gives.
var namedDefaults = map[string]string{"mask.upperChar": "X", "mask.lowerChar": "x", "mask.digitChar": "n"}

// similar lists the three names most like n.
func similar(n string, names []string) string {
	l := append([]string{}, names...)
	sort.SliceStable(l, func(i, j int) bool {
		return levenshtein(strings.ToLower(n), strings.ToLower(l[i])) < levenshtein(strings.ToLower(n), strings.ToLower(l[j]))
	})
	var out []string
	for _, s := range l[:min(3, len(l))] {
		out = append(out, types.Quote(s))
	}
	return strings.Join(out, " ")
}
