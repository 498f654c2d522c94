package expr

import (
	"fmt"
	"math/bits"
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// A Program computes expressions over vectors: steps over numbered registers, compiled once per run. It
// holds scratch and so belongs to one worker; what it returns is valid until its next evaluation.
type Program struct {
	in      types.Schema
	es      []Expr
	conf    Conf
	regs    []*columnar.Vec // what a register shows now: own, an input or a constant
	own     []*columnar.Vec // buffers of registers that steps fill; nil for inputs and constants
	folded  []bool          // constant registers
	inputs  []inputRegister
	steps   []step
	outs    []int
	result  []*columnar.Vec
	ctx     EvalContext
	filters []filterPart // conjuncts of es[0], made by the first Select
	selBuf  [2][]int32
	picks   map[string]*fieldUse
	ids     identities
	memos   map[string][]*memo
	turn    uint64 // of Eval or Select
}

type inputRegister struct{ reg, column int }

// A step computes registers over the selected rows of n.
type step interface {
	run(p *Program, n int, sel columnar.Sel) error
}

// Compile makes a program of expressions over input columns. Constants are folded (a failing one fails when
// it is reached), equal subexpressions share a register.
func Compile(es []Expr, in types.Schema, c Conf) (*Program, error) {
	p := &Program{in: in, es: es, conf: c, picks: fieldUses(es)}
	p.ctx.Conf = c
	if err := p.compileOuts(&scope{p: p, seen: map[string]int{}}, es); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Program) compileOuts(sc *scope, es []Expr) error {
	for _, e := range es {
		r, err := sc.compile(e)
		if err != nil {
			return err
		}
		p.outs = append(p.outs, r)
	}
	p.steps = sc.steps
	p.result = make([]*columnar.Vec, len(p.outs))
	return nil
}

// Begin sets the task of the evaluations that follow and starts row numbers anew.
func (p *Program) Begin(t Task) {
	p.ctx.Task, p.ctx.Base = t, 0
	for _, s := range p.steps {
		begin(s, t)
	}
	for _, f := range p.filters {
		for _, s := range f.steps {
			begin(s, t)
		}
	}
}

func begin(s step, t Task) {
	switch x := s.(type) {
	case *higherStep:
		for _, l := range x.lambdas {
			l.p.Begin(t)
		}
	case *lazyStep:
		for _, b := range x.blocks {
			for _, s := range b.steps {
				begin(s, t)
			}
		}
	}
}

// Eval computes the expressions for the selected rows of the input vectors; other rows of the results are
// undefined. Results may be Const, and may be input vectors.
func (p *Program) Eval(in []columnar.Vec, sel columnar.Sel) ([]*columnar.Vec, error) {
	n := rowsOf(in, sel)
	p.bind(in, n)
	if err := p.runSteps(p.steps, n, sel); err != nil {
		return nil, err
	}
	for i, r := range p.outs {
		p.result[i] = p.regs[r]
	}
	p.ctx.Base += int64(n)
	return p.result, nil
}

func rowsOf(in []columnar.Vec, sel columnar.Sel) int {
	for i := range in {
		if !in[i].Const {
			return in[i].Len
		}
	}
	if sel.All || sel.N == 0 {
		return sel.N
	}
	return int(sel.Idx[sel.N-1]) + 1
}

func (p *Program) bind(in []columnar.Vec, n int) {
	for _, ir := range p.inputs {
		p.regs[ir.reg] = &in[ir.column]
	}
	p.ctx.Rows = n
	p.turn++
}

func (p *Program) runSteps(steps []step, n int, sel columnar.Sel) error {
	for _, s := range steps {
		if err := s.run(p, n, sel); err != nil {
			return err
		}
	}
	return nil
}

// scope is a list of steps that run over the same selection. Registers of outer scopes were computed over
// a superset of it and may be used.
type scope struct {
	p      *Program
	outer  *scope
	steps  []step
	seen   map[string]int
	leaves map[*LambdaVar]int // parameters and captured parameters: input columns
	cols   map[int]int        // captured columns: input columns; nil: as they are
}

func (sc *scope) find(key string) (int, bool) {
	for s := sc; s != nil; s = s.outer {
		if r, ok := s.seen[key]; ok {
			return r, true
		}
	}
	return 0, false
}

func (sc *scope) child() *scope {
	return &scope{p: sc.p, outer: sc, seen: map[string]int{}, leaves: sc.leaves, cols: sc.cols}
}

func (p *Program) newReg(v *columnar.Vec) int {
	p.regs = append(p.regs, v)
	p.own = append(p.own, v)
	p.folded = append(p.folded, false)
	return len(p.regs) - 1
}

// root is the outermost scope: inputs and constants are registered there.
func (sc *scope) root() *scope {
	for sc.outer != nil {
		sc = sc.outer
	}
	return sc
}

func (sc *scope) input(column int) (int, error) {
	if column < 0 || column >= len(sc.p.in) {
		return 0, errs.New("INTERNAL_ERROR", "message", fmt.Sprintf("column %d of %d", column, len(sc.p.in)))
	}
	key := fmt.Sprintf("#%d", column)
	if r, ok := sc.find(key); ok {
		return r, nil
	}
	r := sc.p.newReg(nil)
	sc.p.inputs = append(sc.p.inputs, inputRegister{r, column})
	sc.root().seen[key] = r
	return r, nil
}

func (sc *scope) constant(v *columnar.Vec) int {
	key := "=" + v.Type.SQL() + string(EncodeValue(nil, v, 0))
	if r, ok := sc.find(key); ok {
		return r
	}
	c := *v
	c.Const = true
	r := sc.p.newReg(&c)
	sc.p.own[r], sc.p.folded[r] = nil, true
	sc.root().seen[key] = r
	return r
}

func (sc *scope) compile(e Expr) (int, error) {
	switch x := e.(type) {
	case *Column:
		if sc.cols != nil {
			c, ok := sc.cols[x.Index]
			if !ok {
				return 0, errs.New("INTERNAL_ERROR", "message", "column "+x.Field.Name+" not captured by lambda")
			}
			return sc.input(c)
		}
		return sc.input(x.Index)
	case *LambdaVar:
		c, ok := sc.leaves[x]
		if !ok {
			return 0, errs.New("INTERNAL_ERROR", "message", "lambda parameter "+x.Name+" outside of its lambda")
		}
		return sc.input(c)
	case *Alias:
		return sc.compile(x.Child)
	case *Literal:
		return sc.constant(x.Value), nil
	case *Cast:
		return sc.compileScalar(x.scalar())
	case *Scalar:
		return sc.compileScalar(x)
	case *Lazy:
		return sc.compileLazy(x)
	case *Higher:
		return sc.compileHigher(x)
	case *AggregateCall:
		return 0, errs.New("UNSUPPORTED_EXPR_FOR_OPERATOR", "invalidExprSqls", quoted(x.String()))
	}
	return 0, errs.New("INTERNAL_ERROR", "message", fmt.Sprintf("expression %T cannot be computed", e))
}

func (sc *scope) compileArgs(es []Expr) ([]int, error) {
	out := make([]int, len(es))
	for i, e := range es {
		r, err := sc.compile(e)
		if err != nil {
			return nil, err
		}
		out[i] = r
	}
	return out, nil
}

func (sc *scope) compileScalar(x *Scalar) (int, error) {
	args, err := sc.compileArgs(x.Args)
	if err != nil {
		return 0, err
	}
	id := fmt.Sprintf("%s|%s|%s|%s|", x.Name, x.Extra, x.Text, x.Out.SQL())
	use := sc.p.picks[useKey(x)]
	picked := x.Pick != nil && use != nil && !use.whole
	if picked {
		id += fmt.Sprint(use.want)
	}
	key := id + fmt.Sprint(args)
	constant := len(args) > 0 || !x.PerBatch
	for _, a := range args {
		constant = constant && sc.p.folded[a]
	}
	if !x.Nondeterministic {
		if r, ok := sc.find(key); ok {
			return r, nil
		}
	}
	s := &kernelStep{e: x, kernel: x.Kernel, args: args, argv: make([]*columnar.Vec, len(args))}
	if picked {
		s.kernel = x.Pick(use.want)
	} else if x.Fresh != nil {
		s.kernel = x.Fresh()
	}
	s.dst = sc.p.newReg(new(columnar.Vec))
	if constant && !x.Nondeterministic && !x.PerBatch {
		if err := s.run(sc.p, 1, columnar.AllRows(1)); err == nil {
			v := sc.p.regs[s.dst]
			sc.p.own[s.dst], sc.p.folded[s.dst] = nil, true
			if !v.Const {
				c := *v
				c.Const, c.Len = true, 1
				sc.p.regs[s.dst] = &c
			}
			sc.seen[key] = s.dst
			return s.dst, nil
		}
		sc.p.regs[s.dst] = sc.p.own[s.dst]
	}
	sc.steps = append(sc.steps, s)
	if !x.Nondeterministic {
		sc.seen[key] = s.dst
		if dear(x) && Deterministic(x) {
			sc.p.join(&s.memo, string(sc.p.ids.call([]byte(id), x.Args)), s.dst)
		}
	}
	return s.dst, nil
}

// kernelStep runs one kernel.
type kernelStep struct {
	memo
	e      *Scalar
	kernel Kernel
	args   []int
	argv   []*columnar.Vec
	valid  []uint64
	idx    []int32
}

func (s *kernelStep) run(p *Program, n int, sel columnar.Sel) error {
	if s.elders != nil && s.had(p, sel) {
		return nil
	}
	for i, a := range s.args {
		s.argv[i] = p.regs[a]
	}
	dst := p.own[s.dst]
	p.regs[s.dst] = dst
	err := runKernel(p, s.e, dst, s.argv, n, sel, &s.valid, &s.idx, s.kernel)
	if err != nil && !s.e.Pos.IsZero() {
		if e := errs.As(err); e != nil {
			return e.At(s.e.Pos)
		}
	}
	s.ran(p, n, sel)
	return err
}

func runKernel(p *Program, e *Scalar, dst *columnar.Vec, argv []*columnar.Vec, n int, sel columnar.Sel,
	validBuf *[]uint64, idxBuf *[]int32, kernel Kernel) error {
	isConst := !e.Nondeterministic
	for _, a := range argv {
		isConst = isConst && a.Const
	}
	if isConst {
		n = 1
		sel = columnar.Sel{N: min(sel.N, 1), All: true}
	}
	if e.Alias {
		*dst = columnar.Vec{} // its buffers belong to an argument
	}
	dst.Reset(e.Out, n)
	if isConst && sel.N == 0 { // never reached: any value will do
		dst.Const = true
		nullAll(dst, n, validBuf)
		return nil
	}
	if e.NullIfAnyNull {
		var allNull bool
		dst.Valid, allNull = combineValid(argv, n, validBuf)
		if allNull {
			nullAll(dst, n, validBuf)
			dst.Const = isConst
			closeGaps(dst)
			return nil
		}
		if dst.Valid != nil && !e.Total {
			sel = narrow(sel, dst.Valid, idxBuf)
		}
	}
	if dst.Phys != columnar.PNull || e.Effect {
		if err := kernel(&p.ctx, dst, argv, sel); err != nil {
			return err
		}
	}
	dst.Const = isConst
	if !e.Alias {
		if int64(len(dst.Data)) > maxVector {
			return tooLarge()
		}
		closeGaps(dst)
	}
	return nil
}

// combineValid ands the validity of the arguments; allNull if a constant among them is null.
func combineValid(argv []*columnar.Vec, n int, buf *[]uint64) (valid []uint64, allNull bool) {
	w := columnar.Words(n)
	for _, a := range argv {
		if a.Phys == columnar.PNull || a.Const && a.IsNull(0) {
			return nil, true
		}
		if a.Valid == nil || a.Const {
			continue
		}
		if valid == nil {
			if cap(*buf) < w {
				*buf = make([]uint64, w)
			}
			valid = (*buf)[:w]
			copy(valid, a.Valid[:w])
			continue
		}
		av := a.Valid[:w]
		for i := range valid {
			valid[i] &= av[i]
		}
	}
	return valid, false
}

func nullAll(dst *columnar.Vec, n int, buf *[]uint64) {
	w := columnar.Words(n)
	if cap(*buf) < w {
		*buf = make([]uint64, w)
	}
	dst.Valid = (*buf)[:w]
	clear(dst.Valid)
}

// narrow keeps the selected rows that are valid.
func narrow(sel columnar.Sel, valid []uint64, buf *[]int32) columnar.Sel {
	if cap(*buf) < sel.N {
		*buf = make([]int32, sel.N)
	}
	out := (*buf)[:sel.N]
	k := 0
	if sel.All {
		for i := range sel.N {
			out[k] = int32(i)
			k += int(valid[i>>6] >> (uint(i) & 63) & 1)
		}
	} else {
		for _, i := range sel.Idx[:sel.N] {
			out[k] = i
			k += int(valid[i>>6] >> (uint(i) & 63) & 1)
		}
	}
	return columnar.Sel{Idx: out, N: k}
}

// closeGaps makes offsets ascend over the rows that the kernel did not fill.
func closeGaps(v *columnar.Vec) {
	switch v.Phys {
	case columnar.PBytes, columnar.PList, columnar.PMap:
		last := int32(0)
		for i, o := range v.Off {
			last = max(last, o)
			v.Off[i] = last
		}
	case columnar.PStruct:
		for _, k := range v.Kids {
			closeGaps(k)
		}
	}
}

// filterPart is a conjunct of a condition: its steps run over the survivors of the earlier ones.
type filterPart struct {
	steps []step
	out   int
}

// Select keeps the selected rows for which the first expression, a BOOLEAN, is true. Conjuncts of AND are
// applied one after the other, each to the survivors of those before.
func (p *Program) Select(in []columnar.Vec, sel columnar.Sel) (columnar.Sel, error) {
	if p.filters == nil {
		if _, err := p.compileFilter(); err != nil {
			return sel, err
		}
	}
	n := rowsOf(in, sel)
	p.bind(in, n)
	for i, f := range p.filters {
		if sel.N == 0 {
			break
		}
		if err := p.runSteps(f.steps, n, sel); err != nil {
			return sel, err
		}
		sel = keepTrue(p.regs[f.out], sel, &p.selBuf[i&1])
	}
	p.ctx.Base += int64(n)
	return sel, nil
}

// compileFilter gives the scope of the last conjunct.
func (p *Program) compileFilter() (*scope, error) {
	sc := &scope{p: p, seen: map[string]int{}}
	for _, c := range Conjuncts(p.es[0]) {
		child := &scope{p: p, outer: sc, seen: map[string]int{}}
		r, err := child.compile(c)
		if err != nil {
			return nil, err
		}
		p.filters = append(p.filters, filterPart{child.steps, r})
		sc = child
	}
	for _, f := range p.filters {
		for _, s := range f.steps {
			begin(s, p.ctx.Task)
		}
	}
	return sc, nil
}

// keepTrue keeps the selected rows whose value is true and not null, without branches.
func keepTrue(v *columnar.Vec, sel columnar.Sel, buf *[]int32) columnar.Sel {
	if v.Phys == columnar.PNull {
		return columnar.Sel{}
	}
	if v.Const {
		if v.IsNull(0) || !v.Bool(0) {
			return columnar.Sel{}
		}
		return sel
	}
	if cap(*buf) < sel.N {
		*buf = make([]int32, sel.N)
	}
	out := (*buf)[:sel.N]
	k := 0
	if sel.All {
		for w := range columnar.Words(sel.N) {
			word := v.Bits[w]
			if v.Valid != nil {
				word &= v.Valid[w]
			}
			base := w << 6
			if rest := sel.N - base; rest < 64 {
				word &= 1<<uint(rest) - 1
			}
			for word != 0 {
				out[k] = int32(base + bits.TrailingZeros64(word))
				k++
				word &= word - 1
			}
		}
		return columnar.Sel{Idx: out, N: k}
	}
	for _, i := range sel.Idx[:sel.N] {
		bit := v.Bits[i>>6] >> (uint(i) & 63) & 1
		if v.Valid != nil {
			bit &= v.Valid[i>>6] >> (uint(i) & 63) & 1
		}
		out[k] = i
		k += int(bit)
	}
	return columnar.Sel{Idx: out, N: k}
}

// Explain prints the steps, one a line, for tests and plans.
func (p *Program) Explain() string {
	var b strings.Builder
	explainSteps(&b, p.steps, "")
	return b.String()
}

func explainSteps(b *strings.Builder, steps []step, indent string) {
	for _, s := range steps {
		switch x := s.(type) {
		case *kernelStep:
			fmt.Fprintf(b, "%sr%d = %s%v\n", indent, x.dst, x.e.Name, x.args)
		case *higherStep:
			fmt.Fprintf(b, "%sr%d = %s%v\n", indent, x.dst, x.e.Name, x.args)
		case *lazyStep:
			fmt.Fprintf(b, "%sr%d = %s\n", indent, x.dst, x.e.Name)
			for _, bl := range x.blocks {
				explainSteps(b, bl.steps, indent+"  ")
			}
		}
	}
}
