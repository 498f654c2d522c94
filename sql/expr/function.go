package expr

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	"streamlab/errs"
	"streamlab/sql/types"
)

// Kind says where a function may stand.
type Kind uint8

// The kinds of functions.
const (
	ScalarFunction Kind = iota
	AggregateFunction
	GeneratorFunction
	WindowFunction
)

// A Function is an entry of the function table.
type Function struct {
	Name      string // lower case
	Kind      Kind
	Signature string // "round(expr[, scale])"
	Doc       string // one line for the manual
	Portable  bool   // also a function of Spark itself
	Hidden    bool   // operators and internal names: not listed by Names

	// Params are the names that arguments may be given by, in order; nil if by place only.
	Params []string

	// Build checks and coerces the arguments of a scalar function. Nil for other kinds.
	Build func(c *Call) (Expr, error)
	// BuildAggregate does so for an aggregate function. Nil for other kinds.
	BuildAggregate func(c *Call) (*AggregateCall, error)
	// LambdaParams gives the parameters (type, nullability) of the lambda that is argument i of n, when
	// it has arity parameters; args holds the arguments, nil where they are lambdas. Nil if the function
	// takes no lambdas. An error says that the lambda or an argument does not fit.
	LambdaParams func(args []Expr, i, arity int) ([]types.Field, error)
}

// Call is a use of a function before it is checked.
type Call struct {
	Name        string // as the user wrote it, lower case
	Args        []Expr // lambdas are *Lambda
	Distinct    bool
	IgnoreNulls bool
	Filter      Expr // nil if none
	// WithinGroup is the ordering of WITHIN GROUP (ORDER BY ...), nil if none.
	WithinGroup []Ordering
	Conf        Conf
}

// Ordering is one item of ORDER BY.
type Ordering struct {
	Child      Expr
	Desc       bool
	NullsFirst bool
}

// Text prints name(arg, arg), the default text of a call.
func (c *Call) Text() string { return callText(c.Name, c.Args) }

func callText(name string, args []Expr) string {
	var b strings.Builder
	b.WriteString(name)
	b.WriteByte('(')
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.String())
	}
	b.WriteByte(')')
	return b.String()
}

// The table is filled on first use and not by initialisers, because builders look functions up again.
var (
	functionsOnce  sync.Once
	functionsTable map[string]*Function
)

func functions() map[string]*Function {
	functionsOnce.Do(func() {
		m := map[string]*Function{}
		for _, family := range [][]Function{
			operatorFunctions(), logicFunctions(), likeFunctions(), conditionalFunctions(), castFunctions(), aggregateFunctions(), bitmapFunctions(),
		} {
			addFunctions(m, family)
		}
		for _, family := range functionFamilies() {
			addFunctions(m, family)
		}
		functionsTable = m
	})
	return functionsTable
}

func addFunctions(m map[string]*Function, family []Function) {
	for i := range family {
		f := &family[i]
		if m[f.Name] == nil {
			m[f.Name] = f
		}
	}
}

// Lookup finds a function by name without regard to case.
func Lookup(name string) (*Function, bool) {
	f, ok := functions()[name]
	if !ok {
		f, ok = functions()[strings.ToLower(name)]
	}
	return f, ok
}

// Names lists the functions a user may call, sorted.
func Names() []string {
	var out []string
	for n, f := range functions() {
		if !f.Hidden {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
}

// Build makes a call of a scalar function or operator; operators go by Spark's symbols ("+", "<=>", "and").
func Build(name string, args []Expr, c Conf) (Expr, error) {
	return BuildCall(&Call{Name: name, Args: args, Conf: c})
}

// BuildCall is Build for a call with all its parts.
func BuildCall(call *Call) (Expr, error) {
	f, ok := Lookup(call.Name)
	if !ok || f.Build == nil {
		return nil, errs.New("UNRESOLVED_ROUTINE", "routineName", types.Quote(call.Name),
			"searchPath", "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]")
	}
	if err := refuseClauses(call); err != nil {
		return nil, err
	}
	if err := call.inputs(); err != nil {
		return nil, err
	}
	for _, a := range call.Args {
		if t := a.Type(); t.Kind >= types.String && isCollated(t) {
			return buildCollated(f, call)
		}
	}
	return f.Build(call)
}

// BuildAggregate makes a call of an aggregate function.
func BuildAggregate(call *Call) (*AggregateCall, error) {
	f, ok := Lookup(call.Name)
	if !ok || f.BuildAggregate == nil {
		return nil, errs.New("UNRESOLVED_ROUTINE", "routineName", types.Quote(call.Name),
			"searchPath", "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]")
	}
	if err := call.inputs(); err != nil {
		return nil, err
	}
	for _, a := range call.Args {
		if t := a.Type(); t.Kind == types.String && !BinaryComparable(t) {
			return aggregateCollated(f, call)
		}
	}
	return f.BuildAggregate(call)
}

func refuseClauses(call *Call) error {
	syntax := ""
	switch {
	case call.Distinct:
		syntax = "DISTINCT"
	case call.WithinGroup != nil:
		syntax = "WITHIN GROUP (ORDER BY ...)"
	case call.Filter != nil:
		syntax = "FILTER CLAUSE"
	case call.IgnoreNulls:
		syntax = "IGNORE NULLS"
	default:
		return nil
	}
	return errs.New("INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
		"prettyName", types.Quote(call.Name), "syntax", syntax)
}

// Arity checks the number of arguments; max < 0 is no limit.
func (c *Call) Arity(min, max int) error {
	n := len(c.Args)
	if n >= min && (max < 0 || n <= max) {
		return nil
	}
	want := fmt.Sprint(min)
	switch {
	case max < 0:
		want = fmt.Sprintf("> %d", min-1)
	case max > min:
		l := make([]string, 0, max-min+1)
		for i := min; i <= max; i++ {
			l = append(l, fmt.Sprint(i))
		}
		want = "[" + strings.Join(l, ", ") + "]"
	}
	return wrongArity(c.Name, want, n)
}

func wrongArity(name, want string, got int) error {
	return errs.New("WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", types.Quote(name),
		"expectedNum", want, "actualNum", got, "docroot", "https://spark.apache.org/docs/latest")
}

// ordinals name arguments in errors.
var ordinals = [...]string{"first", "second", "third"}

func ordinal(i int) string {
	if i < len(ordinals) {
		return ordinals[i]
	}
	return fmt.Sprintf("%dth", i+1)
}

// WrongType says that argument i (from 0) of a call is not of the required type; text is the call's.
func WrongType(text string, i int, required string, arg Expr) error {
	return errs.New("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "sqlExpr", quoted(text), "paramIndex", ordinal(i),
		"requiredType", required, "inputSql", quoted(arg.String()), "inputType", quoted(arg.Type().SQL()))
}

// quoted puts expressions and types between double quotes, as Spark's errors show them.
func quoted(s string) string { return `"` + s + `"` }
