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
			fail("UNRECOGNIZED_PARAMETER_NAME", "argumentName", types.Quote(n), "proposal", similar(n, params))
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

// similar lists three of the names, those most like n first. Which three is no choice of likeness: Spark takes
// the first ones of a hash set, whose order is that of hashOrder, and sorts them only then.
func similar(n string, names []string) string {
	l := hashOrder(names)
	l = l[:min(3, len(l))]
	for i := range l {
		l[i] = types.Quote(l[i])
	}
	sort.SliceStable(l, func(i, j int) bool { return levenshtein(l[i], n) < levenshtein(l[j], n) })
	return strings.Join(l, " ")
}

// hashOrder gives texts, all ASCII, in the order in which Scala's immutable sets hold them: up to four as they
// came, more by the bits of their scrambled hash codes, five at a time from the low end. Of each five bits, what
// stands alone comes before what shares its bits and so lies one level deeper.
func hashOrder(list []string) []string {
	list = append([]string{}, list...)
	if len(list) <= 4 {
		return list
	}
	return trieOrder(list, 0)
}

func trieOrder(list []string, shift uint) (out []string) {
	if shift >= 32 {
		return list
	}
	var slots [32][]string
	for _, s := range list {
		k := scrambled(s) >> shift & 31
		slots[k] = append(slots[k], s)
	}
	for _, s := range slots {
		if len(s) == 1 {
			out = append(out, s[0])
		}
	}
	for _, s := range slots {
		if len(s) > 1 {
			out = append(out, trieOrder(s, shift+5)...)
		}
	}
	return out
}

// scrambled is Java's hash code of a text with its bits spread as Scala's hash sets spread them.
func scrambled(s string) uint32 {
	var h uint32
	for i := range len(s) {
		h = 31*h + uint32(s[i])
	}
	h += ^(h << 9)
	h ^= h >> 14
	h += h << 4
	return h ^ h>>10
}
