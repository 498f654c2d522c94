package expr

import (
	"fmt"
	"math/bits"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// LazyKind says how a Lazy expression chooses what it evaluates.
type LazyKind uint8

// The kinds of lazy expressions.
const (
	LazyAnd      LazyKind = iota // two conditions
	LazyOr                       // two conditions
	LazyCase                     // condition, value, condition, value, …, [else]
	LazyCoalesce                 // values: the first that is not null
)

// Lazy is an expression whose arguments are evaluated only for the rows that need them: AND, OR, CASE, IF,
// COALESCE. Values have the type of the result; conditions are BOOLEAN.
type Lazy struct {
	Kind LazyKind
	Name string
	Out  types.DataType
	Null bool
	Args []Expr
	Text string
}

// Type of the result.
func (l *Lazy) Type() types.DataType { return l.Out }

// Nullable says whether the result may be null.
func (l *Lazy) Nullable() bool { return l.Null }

// Children are the arguments.
func (l *Lazy) Children() []Expr { return l.Args }

func (l *Lazy) String() string { return l.Text }

// Conjuncts splits a condition at its ANDs, left to right.
func Conjuncts(e Expr) []Expr {
	if l, ok := e.(*Lazy); ok && l.Kind == LazyAnd {
		return append(Conjuncts(l.Args[0]), Conjuncts(l.Args[1])...)
	}
	return []Expr{e}
}

type lazyBlock struct {
	steps []step
	out   int
}

type lazyStep struct {
	memo
	e      *Lazy
	blocks []lazyBlock
	valid  []uint64
	choice []int16 // which block gave the row's value; -1: null
	sels   [3][]int32
	srcs   []*columnar.Vec
}

func (sc *scope) compileLazy(x *Lazy) (int, error) {
	det := Deterministic(x)
	key := fmt.Sprintf("?%d", sc.p.ids.of(x))
	if det {
		if r, ok := sc.find(key); ok {
			return r, nil
		}
	}
	s := &lazyStep{e: x}
	constant := true
	cur := sc
	for i, a := range x.Args {
		if i == 0 { // always evaluated: shares with what is around
			r, err := sc.compile(a)
			if err != nil {
				return 0, err
			}
			s.blocks = append(s.blocks, lazyBlock{nil, r})
			constant = constant && sc.p.folded[r]
			continue
		}
		child := cur.child()
		r, err := child.compile(a)
		if err != nil {
			return 0, err
		}
		s.blocks = append(s.blocks, lazyBlock{child.steps, r})
		constant = constant && sc.p.folded[r]
		// A later condition runs on rows that all earlier conditions saw.
		if x.Kind == LazyCase && i&1 == 0 || x.Kind == LazyCoalesce {
			cur = child
		}
	}
	s.dst = sc.p.newReg(new(columnar.Vec))
	if constant && det {
		if err := s.run(sc.p, 1, columnar.AllRows(1)); err == nil {
			c := *sc.p.regs[s.dst]
			c.Const, c.Len = true, 1
			sc.p.regs[s.dst] = &c
			sc.p.own[s.dst], sc.p.folded[s.dst] = nil, true
			return s.dst, nil
		}
		sc.p.regs[s.dst] = sc.p.own[s.dst]
	}
	sc.steps = append(sc.steps, s)
	if det {
		sc.seen[key] = s.dst
		sc.p.join(&s.memo, key, s.dst)
	}
	return s.dst, nil
}

// leavesOf lists columns and parameters below e: two texts that are equal but mean different columns differ
// in them.
func leavesOf(e Expr, out []Expr) []Expr {
	Walk(e, func(x Expr) bool {
		switch x.(type) {
		case *Column, *LambdaVar:
			out = append(out, x)
		}
		return true
	})
	return out
}

func (s *lazyStep) run(p *Program, n int, sel columnar.Sel) error {
	if s.elders != nil && s.had(p, sel) {
		return nil
	}
	if err := s.compute(p, n, sel); err != nil {
		return err
	}
	s.ran(p, n, sel)
	return nil
}

func (s *lazyStep) compute(p *Program, n int, sel columnar.Sel) error {
	dst := p.own[s.dst]
	p.regs[s.dst] = dst
	switch s.e.Kind {
	case LazyAnd, LazyOr:
		return s.runLogic(p, dst, n, sel)
	}
	if cap(s.choice) < n {
		s.choice = make([]int16, n)
	}
	s.choice = s.choice[:n]
	for i := range s.choice {
		s.choice[i] = -1
	}
	rest := sel
	step := 1
	if s.e.Kind == LazyCase {
		step = 2
	}
	turn := 0
	for b := 0; b < len(s.blocks) && rest.N > 0; b += step {
		bl := s.blocks[b]
		if err := p.runSteps(bl.steps, n, rest); err != nil {
			return err
		}
		v := p.regs[bl.out]
		if s.e.Kind == LazyCase && b+1 == len(s.blocks) { // ELSE
			s.choose(rest, int16(b))
			break
		}
		var taken columnar.Sel
		next := &s.sels[1+turn]
		turn ^= 1
		taken, rest = s.split(v, rest, next)
		if taken.N == 0 {
			continue
		}
		if s.e.Kind == LazyCase {
			b1 := s.blocks[b+1]
			if err := p.runSteps(b1.steps, n, taken); err != nil {
				return err
			}
			s.choose(taken, int16(b+1))
		} else {
			s.choose(taken, int16(b))
		}
	}
	return s.merge(p, dst, n, sel)
}

func (s *lazyStep) choose(sel columnar.Sel, b int16) {
	if sel.All {
		for i := range sel.N {
			s.choice[i] = b
		}
		return
	}
	for _, i := range sel.Idx[:sel.N] {
		s.choice[i] = b
	}
}

// split divides the rows by a condition being true, or for COALESCE by a value being there.
func (s *lazyStep) split(v *columnar.Vec, sel columnar.Sel, restBuf *[]int32) (yes, no columnar.Sel) {
	coalesce := s.e.Kind == LazyCoalesce
	switch {
	case v.Phys == columnar.PNull:
		return columnar.Sel{}, sel
	case v.Const:
		if v.IsNull(0) || !coalesce && !v.Bool(0) {
			return columnar.Sel{}, sel
		}
		return sel, columnar.Sel{}
	case coalesce && v.Valid == nil:
		return sel, columnar.Sel{}
	}
	if cap(s.sels[0]) < sel.N {
		s.sels[0] = make([]int32, sel.N)
	}
	if cap(*restBuf) < sel.N {
		*restBuf = make([]int32, sel.N)
	}
	y, r := s.sels[0][:sel.N], (*restBuf)[:sel.N]
	ky, kr := 0, 0
	for k := range sel.N {
		i := sel.At(k)
		bit := 1
		if !coalesce {
			bit = int(v.Bits[i>>6] >> (uint(i) & 63) & 1)
		}
		if v.Valid != nil {
			bit &= int(v.Valid[i>>6] >> (uint(i) & 63) & 1)
		}
		y[ky], r[kr] = int32(i), int32(i)
		ky += bit
		kr += 1 - bit
	}
	return columnar.Sel{Idx: y, N: ky}, columnar.Sel{Idx: r, N: kr}
}

// merge copies the chosen values into dst.
func (s *lazyStep) merge(p *Program, dst *columnar.Vec, n int, sel columnar.Sel) error {
	dst.Reset(s.e.Out, n)
	if dst.Phys == columnar.PNull {
		return nil
	}
	if cap(s.srcs) < len(s.blocks) {
		s.srcs = make([]*columnar.Vec, len(s.blocks))
	}
	nulls := false
	for i, b := range s.blocks {
		v := p.regs[b.out]
		s.srcs[i] = v
		nulls = nulls || v != nil && (v.Valid != nil || v.Phys == columnar.PNull)
	}
	for k := range sel.N {
		nulls = nulls || s.choice[sel.At(k)] < 0
		if nulls {
			break
		}
	}
	if nulls {
		nullAll(dst, n, &s.valid)
		for k := range sel.N {
			i := sel.At(k)
			if c := s.choice[i]; c >= 0 && !s.srcs[c].IsNull(i) {
				columnar.SetBit(dst.Valid, i)
			}
		}
	}
	mergeValues(dst, s.srcs, s.choice, sel)
	return nil
}

func mergeValues(dst *columnar.Vec, srcs []*columnar.Vec, choice []int16, sel columnar.Sel) {
	switch dst.Phys {
	case columnar.PBool:
		for k := range sel.N {
			i := sel.At(k)
			if c := choice[i]; c >= 0 && srcs[c].Phys != columnar.PNull && srcs[c].Bool(i) {
				columnar.SetBit(dst.Bits, i)
			}
		}
	case columnar.PI8:
		mergeFixed(dst.I8, srcs, choice, sel, func(v *columnar.Vec) []int8 { return v.I8 })
	case columnar.PI16:
		mergeFixed(dst.I16, srcs, choice, sel, func(v *columnar.Vec) []int16 { return v.I16 })
	case columnar.PI32:
		mergeFixed(dst.I32, srcs, choice, sel, func(v *columnar.Vec) []int32 { return v.I32 })
	case columnar.PI64:
		mergeFixed(dst.I64, srcs, choice, sel, func(v *columnar.Vec) []int64 { return v.I64 })
	case columnar.PF32:
		mergeFixed(dst.F32, srcs, choice, sel, func(v *columnar.Vec) []float32 { return v.F32 })
	case columnar.PF64:
		mergeFixed(dst.F64, srcs, choice, sel, func(v *columnar.Vec) []float64 { return v.F64 })
	case columnar.PDec:
		mergeFixed(dst.Dec, srcs, choice, sel, decValues)
	case columnar.PBytes:
		for k := range sel.N {
			i := sel.At(k)
			if c := choice[i]; c >= 0 && !srcs[c].IsNull(i) {
				dst.Data = append(dst.Data, srcs[c].Bytes(i)...)
			}
			dst.Off[i+1] = int32(len(dst.Data))
		}
		closeGaps(dst)
	default:
		n, at := dst.Len, 0
		a := NewAppender(dst)
		for k := range sel.N {
			i := sel.At(k)
			for ; at < i; at++ {
				a.AppendNull()
			}
			if c := choice[i]; c >= 0 && !srcs[c].IsNull(i) {
				a.Append(srcs[c], i)
			} else {
				a.AppendNull()
			}
			at++
		}
		for ; at < n; at++ {
			a.AppendNull()
		}
		a.Finish()
	}
}

func mergeFixed[T any](dst []T, srcs []*columnar.Vec, choice []int16, sel columnar.Sel, get func(*columnar.Vec) []T) {
	for b, v := range srcs {
		if v == nil || v.Phys == columnar.PNull {
			continue
		}
		src := get(v)
		if len(src) == 0 {
			continue
		}
		c := int16(b)
		if v.Const {
			for k := range sel.N {
				if i := sel.At(k); choice[i] == c {
					dst[i] = src[0]
				}
			}
			continue
		}
		for k := range sel.N {
			if i := sel.At(k); choice[i] == c && i < len(src) {
				dst[i] = src[i]
			}
		}
	}
}

// truthWords gives word w of the values and of the validity of a BOOLEAN vector.
func truthWords(v *columnar.Vec, w int) (value, valid uint64) {
	switch {
	case v.Phys == columnar.PNull:
		return 0, 0
	case v.Const:
		if v.IsNull(0) {
			return 0, 0
		}
		if v.Bool(0) {
			return ^uint64(0), ^uint64(0)
		}
		return 0, ^uint64(0)
	case v.Valid == nil:
		return v.Bits[w], ^uint64(0)
	}
	return v.Bits[w], v.Valid[w]
}

// runLogic computes AND and OR with three values, 64 rows at a time: the right side only for the rows that
// the left does not decide. Rows that are not selected get any value.
func (s *lazyStep) runLogic(p *Program, dst *columnar.Vec, n int, sel columnar.Sel) error {
	dst.Reset(s.e.Out, n)
	nullAll(dst, n, &s.valid)
	left := p.regs[s.blocks[0].out]
	or := s.e.Kind == LazyOr
	words := columnar.Words(n)
	for w := range words { // first what the left side decides
		value, valid := truthWords(left, w)
		if or {
			dst.Bits[w], dst.Valid[w] = value&valid, value&valid
		} else {
			dst.Valid[w] = valid &^ value
		}
	}
	if cap(s.sels[0]) < sel.N {
		s.sels[0] = make([]int32, sel.N)
	}
	out := s.sels[0][:sel.N]
	k := 0
	if sel.All {
		for w := range columnar.Words(sel.N) {
			open := ^dst.Valid[w]
			base := w << 6
			if rest := sel.N - base; rest < 64 {
				open &= 1<<uint(rest) - 1
			}
			for ; open != 0; open &= open - 1 {
				out[k] = int32(base + bits.TrailingZeros64(open))
				k++
			}
		}
	} else {
		for _, i := range sel.Idx[:sel.N] {
			out[k] = i
			k += int(^dst.Valid[i>>6] >> (uint(i) & 63) & 1)
		}
	}
	undecided := sel
	if k < sel.N {
		undecided = columnar.Sel{Idx: out, N: k}
	}
	if k == 0 {
		return nil
	}
	b := s.blocks[1]
	if err := p.runSteps(b.steps, n, undecided); err != nil {
		return err
	}
	right := p.regs[b.out]
	for w := range words {
		l, lv := truthWords(left, w)
		r, rv := truthWords(right, w)
		open := ^dst.Valid[w]
		if or {
			dst.Bits[w] |= open & r & rv
			dst.Valid[w] |= open & rv & (r | lv)
		} else {
			dst.Bits[w] = open & l & lv & r & rv
			dst.Valid[w] |= open & rv & (^r | lv)
		}
	}
	return nil
}

// higherStep runs a higher-order function.
type higherStep struct {
	e       *Higher
	args    []int
	argv    []*columnar.Vec
	lambdas []*LambdaProgram
	dst     int
	valid   []uint64
	idx     []int32
}

// A LambdaProgram computes the body of a lambda over elements. It belongs to the program around it.
type LambdaProgram struct {
	p        *Program
	captured []int // registers of the program around
	outer    *Program
	bufs     []*columnar.Vec
	in       []columnar.Vec
}

// Eval computes the body for n elements: params holds the parameters element by element, rows[k] is the row
// of the outer input that element k belongs to (for captured columns). The result may be Const; it is valid
// until the next call.
func (l *LambdaProgram) Eval(params []*columnar.Vec, rows []int32, n int) (*columnar.Vec, error) {
	l.in = l.in[:0]
	for i, r := range l.captured {
		v := l.outer.regs[r]
		if !v.Const {
			columnar.GatherIdx(l.bufs[i], v, rows[:n])
			v = l.bufs[i]
		}
		l.in = append(l.in, *v)
	}
	for _, v := range params {
		l.in = append(l.in, *v)
	}
	out, err := l.p.Eval(l.in, columnar.AllRows(n))
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func (sc *scope) compileHigher(x *Higher) (int, error) {
	s := &higherStep{e: x}
	for _, a := range x.Args {
		l, ok := a.(*Lambda)
		if !ok {
			r, err := sc.compile(a)
			if err != nil {
				return 0, err
			}
			s.args = append(s.args, r)
			continue
		}
		lp, err := sc.compileLambda(l)
		if err != nil {
			return 0, err
		}
		s.lambdas = append(s.lambdas, lp)
	}
	s.argv = make([]*columnar.Vec, len(s.args))
	s.dst = sc.p.newReg(new(columnar.Vec))
	sc.steps = append(sc.steps, s)
	return s.dst, nil
}

func (sc *scope) compileLambda(l *Lambda) (*LambdaProgram, error) {
	lp := &LambdaProgram{outer: sc.p}
	inner := &Program{conf: sc.p.conf, es: []Expr{l.Body}}
	inner.ctx = sc.p.ctx
	own := map[*LambdaVar]bool{}
	// Parameters of lambdas inside the body are theirs, not ours to capture.
	Walk(l, func(e Expr) bool {
		if x, ok := e.(*Lambda); ok {
			for _, v := range x.Params {
				own[v] = true
			}
		}
		return true
	})
	isc := &scope{p: inner, seen: map[string]int{}, leaves: map[*LambdaVar]int{}, cols: map[int]int{}}
	for _, leaf := range leavesOf(l.Body, nil) {
		switch x := leaf.(type) {
		case *Column:
			if _, ok := isc.cols[x.Index]; ok {
				continue
			}
			isc.cols[x.Index] = len(inner.in)
			inner.in = append(inner.in, x.Field)
		case *LambdaVar:
			if _, ok := isc.leaves[x]; ok || own[x] {
				continue
			}
			isc.leaves[x] = len(inner.in)
			inner.in = append(inner.in, x.Field)
		}
		r, err := sc.compile(leaf)
		if err != nil {
			return nil, err
		}
		lp.captured = append(lp.captured, r)
		lp.bufs = append(lp.bufs, new(columnar.Vec))
	}
	for _, v := range l.Params {
		isc.leaves[v] = len(inner.in)
		inner.in = append(inner.in, v.Field)
	}
	r, err := isc.compile(l.Body)
	if err != nil {
		return nil, err
	}
	inner.outs = []int{r}
	inner.steps = isc.steps
	inner.result = make([]*columnar.Vec, 1)
	lp.p = inner
	return lp, nil
}

func (s *higherStep) run(p *Program, n int, sel columnar.Sel) error {
	constant := !s.e.Nondeterministic
	for i, a := range s.args {
		s.argv[i] = p.regs[a]
		constant = constant && s.argv[i].Const
	}
	for _, l := range s.lambdas {
		for _, r := range l.captured {
			constant = constant && p.regs[r].Const
		}
	}
	if constant { // one row stands for all
		n = 1
		sel = columnar.Sel{N: min(sel.N, 1), All: true}
	}
	dst := p.own[s.dst]
	p.regs[s.dst] = dst
	dst.Reset(s.e.Out, n)
	if constant && sel.N == 0 {
		nullAll(dst, n, &s.valid)
		dst.Const = true
		return nil
	}
	if s.e.NullIfAnyNull {
		var allNull bool
		dst.Valid, allNull = combineValid(s.argv, n, &s.valid)
		if allNull {
			nullAll(dst, n, &s.valid)
			closeGaps(dst)
			dst.Const = constant
			return nil
		}
		if dst.Valid != nil {
			sel = narrow(sel, dst.Valid, &s.idx)
		}
	}
	if err := s.e.HigherKernel(&p.ctx, dst, s.argv, s.lambdas, sel); err != nil {
		if e := errs.As(err); e != nil && !s.e.Pos.IsZero() {
			return e.At(s.e.Pos)
		}
		return err
	}
	dst.Const = constant
	closeGaps(dst)
	return nil
}
