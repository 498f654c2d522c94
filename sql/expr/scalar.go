package expr

import (
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// A Kernel computes a scalar function over the selected rows. dst is reset to (type, rows) before the call:
// bitmaps and offsets are zero, Valid is nil or what NullIfAnyNull made of the arguments. The kernel sets
// values and nulls (SetNull) of the selected rows only, in ascending order. For bytes and lists it appends
// and sets Off[row+1] of the selected rows; the program closes the gaps. args may be Const (use Row(i)).
type Kernel func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error

// EvalContext is what kernels see of the run. It belongs to one worker.
type EvalContext struct {
	Conf Conf
	Task Task
	Rows int   // rows of the input of this evaluation
	Base int64 // rows seen before this evaluation, since Begin: rand and ids count from here
}

// Scalar is a function of its arguments that a kernel computes. Set the flags before it is shared.
type Scalar struct {
	Name   string // identity together with Extra, type and arguments: equal ones share a register
	Out    types.DataType
	Null   bool
	Args   []Expr
	Text   string
	Extra  string // what the kernel depends on besides name and arguments
	Kernel Kernel
	// Fresh, if set, makes the kernel for one program: kernels with scratch of their own.
	Fresh func() Kernel
	// Pick, if set, makes the kernel for a program that looks at some fields of the resulting struct only: want
	// says which. The others may be anything.
	Pick func(want []bool) Kernel
	// NullIfAnyNull: the result is null where an argument is. The program computes Valid and, unless
	// Total, hands only valid rows to the kernel.
	NullIfAnyNull bool
	// Total kernels never fail and may run over values under nulls.
	Total bool
	// Nondeterministic functions are neither folded nor shared.
	Nondeterministic bool
	// PerBatch functions are constants of the micro-batch (current_timestamp): not folded, but one value.
	PerBatch bool
	// Alias kernels make dst show (parts of) an argument instead of filling it.
	Alias bool
	// Effect functions run although their type is VOID: raise_error, assert_true.
	Effect bool
	Pos    errs.Pos // where the user wrote it; zero if unknown
}

// NewScalar makes a call that a kernel computes. Nulls are the kernel's business; see Strict.
func NewScalar(name string, t types.DataType, nullable bool, args []Expr, text string, kernel Kernel) *Scalar {
	if text == "" {
		text = callText(name, args)
	}
	return &Scalar{Name: name, Out: t, Null: nullable, Args: args, Text: text, Kernel: kernel}
}

// Strict makes a call that is null where an argument is null, and only there unless the kernel says so.
// text "" prints name(args).
func Strict(name string, t types.DataType, args []Expr, text string, kernel Kernel) *Scalar {
	s := NewScalar(name, t, anyNullable(args), args, text, kernel)
	s.NullIfAnyNull = true
	return s
}

// Type of the result.
func (s *Scalar) Type() types.DataType { return s.Out }

// Nullable says whether the result may be null.
func (s *Scalar) Nullable() bool { return s.Null }

// Children are the arguments.
func (s *Scalar) Children() []Expr { return s.Args }

func (s *Scalar) String() string { return s.Text }

func anyNullable(es []Expr) bool {
	for _, e := range es {
		if e.Nullable() {
			return true
		}
	}
	return false
}

// LambdaVar is a parameter of a lambda; identity is the pointer.
type LambdaVar struct {
	Name  string
	Field types.Field
	// Unbound parameters have no type yet and print as their names: for errors.
	Unbound bool
}

// Type of the parameter.
func (v *LambdaVar) Type() types.DataType { return v.Field.Type }

// Nullable as the elements are.
func (v *LambdaVar) Nullable() bool { return v.Field.Nullable }

// Children of a parameter: none.
func (v *LambdaVar) Children() []Expr { return nil }

func (v *LambdaVar) String() string {
	if v.Unbound {
		return v.Name
	}
	return "namedlambdavariable()"
}

// Lambda is a function argument "x -> body". It is no value by itself; its type is the body's.
type Lambda struct {
	Params []*LambdaVar
	Body   Expr
}

// Type of the body.
func (l *Lambda) Type() types.DataType { return l.Body.Type() }

// Nullable as the body.
func (l *Lambda) Nullable() bool { return l.Body.Nullable() }

// Children is the body.
func (l *Lambda) Children() []Expr { return []Expr{l.Body} }

func (l *Lambda) String() string {
	s := "lambdafunction(" + l.Body.String()
	for _, p := range l.Params {
		s += ", " + p.String()
	}
	return s + ")"
}

// A HigherKernel computes a higher-order function: args are the arguments that are values, lambdas the
// compiled lambdas, both in order.
type HigherKernel func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, lambdas []*LambdaProgram,
	sel columnar.Sel) error

// Higher is a higher-order function: some of its arguments are *Lambda. Nulls as for Scalar.
type Higher struct {
	Scalar
	HigherKernel HigherKernel
}

// NewHigher makes a call of a higher-order function; args holds values and lambdas as written.
func NewHigher(name string, t types.DataType, nullable bool, args []Expr, text string, k HigherKernel) *Higher {
	if text == "" {
		text = callText(name, args)
	}
	return &Higher{Scalar: Scalar{Name: name, Out: t, Null: nullable, Args: args, Text: text}, HigherKernel: k}
}

// SetNull makes row i of a vector that a kernel fills null.
func SetNull(dst *columnar.Vec, i int) {
	if dst.Valid == nil {
		dst.MakeValid(dst.Len)
	}
	columnar.ClearBit(dst.Valid, i)
}

// MapChildren gives e with f applied to its children; e itself if nothing changed. Leaves are returned.
func MapChildren(e Expr, f func(Expr) Expr) Expr {
	mapped := func(es []Expr) ([]Expr, bool) {
		changed := false
		out := es
		for i, a := range es {
			b := f(a)
			if b != a {
				if !changed {
					out = append([]Expr{}, es...)
					changed = true
				}
				out[i] = b
			}
		}
		return out, changed
	}
	switch x := e.(type) {
	case *Alias:
		if b := f(x.Child); b != x.Child {
			c := *x
			c.Child = b
			return &c
		}
	case *Scalar:
		if args, ok := mapped(x.Args); ok {
			c := *x
			c.Args = args
			return &c
		}
	case *Higher:
		if args, ok := mapped(x.Args); ok {
			c := *x
			c.Args = args
			return &c
		}
	case *Lambda:
		if b := f(x.Body); b != x.Body {
			c := *x
			c.Body = b
			return &c
		}
	case *Cast:
		if b := f(x.Child); b != x.Child {
			c := *x
			c.Child = b
			return &c
		}
	case *Lazy:
		if args, ok := mapped(x.Args); ok {
			c := *x
			c.Args = args
			return &c
		}
	case *AggregateCall:
		args, ok := mapped(x.Args)
		filter := x.Filter
		if filter != nil {
			filter = f(filter)
		}
		if ok || filter != x.Filter {
			c := *x
			c.Args, c.Filter = args, filter
			return &c
		}
	}
	return e
}

// Transform rewrites e from the leaves up.
func Transform(e Expr, f func(Expr) Expr) Expr {
	return f(MapChildren(e, func(c Expr) Expr { return Transform(c, f) }))
}

// Walk visits e and everything below it, parents first; visit returns false to skip what is below.
func Walk(e Expr, visit func(Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	for _, c := range e.Children() {
		Walk(c, visit)
	}
}

// Deterministic reports whether e gives the same value for the same row: no rand() below it.
func Deterministic(e Expr) bool {
	ok := true
	Walk(e, func(x Expr) bool {
		switch s := x.(type) {
		case *Scalar:
			ok = ok && !s.Nondeterministic
		case *Higher:
			ok = ok && !s.Nondeterministic
		}
		return ok
	})
	return ok
}

// SetPos notes where the user wrote an expression that was just built, for errors at run time: in the
// expression itself and in the conversions that building it put around its arguments. It does nothing for
// expressions that cannot fail by themselves or have a place.
func SetPos(e Expr, p errs.Pos) {
	switch x := e.(type) {
	case *Scalar:
		if x.Pos.IsZero() {
			x.Pos = p
			setPosOfCasts(x.Args, p)
		}
	case *Higher:
		if x.Pos.IsZero() {
			x.Pos = p
			setPosOfCasts(x.Args, p)
		}
	case *Cast:
		if x.Pos.IsZero() {
			x.Pos = p
		}
		setPosOfCasts([]Expr{x.Child}, p)
	case *Lazy:
		setPosOfCasts(x.Args, p)
	case *AggregateCall:
		setPosOfCasts(x.Args, p)
		make := x.New
		x.New = func() Aggregate { return placedAggregate{make(), p} }
	}
}

// placedAggregate puts the place of its call into the errors of an aggregate.
type placedAggregate struct {
	Aggregate
	pos errs.Pos
}

func (a placedAggregate) place(err error) error {
	if e := errs.As(err); e != nil {
		return e.At(a.pos)
	}
	return err
}

func (a placedAggregate) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	return a.place(a.Aggregate.Update(r, off, groups, args, sel))
}

func (a placedAggregate) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	return a.place(a.Aggregate.Merge(into, off, groups, from, fromOff, fromGroups))
}

func (a placedAggregate) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	return a.place(a.Aggregate.Result(r, off, groups, out))
}

// setPosOfCasts places implicit casts; what was placed before, and all below it, stays as it is.
func setPosOfCasts(args []Expr, p errs.Pos) {
	for _, a := range args {
		switch x := a.(type) {
		case *Cast:
			if x.Pos.IsZero() && x.Mode == Implicit {
				x.Pos = p
				setPosOfCasts([]Expr{x.Child}, p)
			}
		case *Scalar: // what a builder puts together of other functions
			if x.Pos.IsZero() {
				x.Pos = p
				setPosOfCasts(x.Args, p)
			}
		case *Lazy:
			setPosOfCasts(x.Args, p)
		}
	}
}
