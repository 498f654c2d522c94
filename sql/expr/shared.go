package expr

import (
	"encoding/binary"
	"fmt"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// What several places of a program compute is computed once, as Spark's subexpression elimination does it. Where a
// place is reached by no row that another one was not reached by, the two share a register: the scopes of a program
// know that when it is compiled. Branches of CASE, COALESCE, AND and OR do not: whether one of them needs more rows than
// another is seen when they run. There an expression looks at those of its kind that ran before it on the same rows, and
// takes the values of one that was computed for all the rows that it needs. Nothing is ever computed for a row that does
// not need it, since it might fail for such a row.

// identities numbers expressions: equal ones, that give the same value for the same row, have the same number.
type identities struct {
	numbers map[string]int
	known   map[Expr]int
}

func (d *identities) of(e Expr) int {
	if n, ok := d.known[e]; ok {
		return n
	}
	if d.known == nil {
		d.known, d.numbers = map[Expr]int{}, map[string]int{}
	}
	var key []byte
	switch x := e.(type) {
	case *Alias:
		n := d.of(x.Child)
		d.known[e] = n
		return n
	case *Column:
		key = fmt.Appendf(key, "#%d", x.Index)
	case *Literal:
		key = EncodeValue(append(append(key, '='), x.Value.Type.SQL()...), x.Value, 0)
	case *Cast:
		key = d.scalar(x.scalar())
	case *Scalar:
		key = d.scalar(x)
	case *Lazy:
		key = d.call(fmt.Appendf(key, "?%d|%s|%s", x.Kind, x.Name, x.Out.SQL()), x.Args)
	default: // a lambda or one of its parameters
		key = fmt.Appendf(key, "&%p", e)
	}
	n, ok := d.numbers[string(key)]
	if !ok {
		n = len(d.numbers)
		d.numbers[string(key)] = n
	}
	d.known[e] = n
	return n
}

func (d *identities) scalar(x *Scalar) []byte {
	if x.Nondeterministic {
		return fmt.Appendf(nil, "&%p", x)
	}
	return d.call(fmt.Appendf(nil, "|%s|%s|%s|%s", x.Name, x.Extra, x.Text, x.Out.SQL()), x.Args)
}

func (d *identities) call(key []byte, args []Expr) []byte {
	key = append(key, 0)
	for _, a := range args {
		key = binary.AppendUvarint(key, uint64(d.of(a)))
	}
	return key
}

// inCommon says that a condition computes something that the expressions above it compute, too.
func inCommon(cond Expr, es []Expr) bool {
	var d identities
	below := map[int]bool{}
	Walk(cond, func(e Expr) bool {
		if computes(e) {
			below[d.of(e)] = true
		}
		return true
	})
	found := false
	for _, e := range es {
		Walk(e, func(e Expr) bool {
			found = found || computes(e) && below[d.of(e)]
			return !found
		})
	}
	return found
}

// computes leaves out what costs nothing.
func computes(e Expr) bool {
	var args []Expr
	switch x := e.(type) {
	case *Scalar:
		if x.Alias || x.Nondeterministic {
			return false
		}
		args = x.Args
	case *Cast:
		args = []Expr{x.Child}
	case *Lazy:
		args = x.Args
	}
	for _, a := range args {
		if _, ok := a.(*Literal); !ok {
			return true
		}
	}
	return false
}

// dear are calls that cost more than finding out whether another one has the values: those of texts and of nested values.
func dear(x *Scalar) bool {
	if x.Alias || x.Nondeterministic || x.PerBatch {
		return false
	}
	wide := func(t types.DataType) bool {
		switch columnar.PhysicalOf(t) {
		case columnar.PBytes, columnar.PList, columnar.PMap, columnar.PStruct:
			return true
		}
		return false
	}
	if wide(x.Out) {
		return true
	}
	for _, a := range x.Args {
		if wide(a.Type()) {
			return true
		}
	}
	return false
}

// A memo is what a step in a branch knows of the steps that compute the same.
type memo struct {
	elders  []*memo // that are compiled before it, and so run before it if they run
	dst     int
	watched bool   // it has younger ones
	turn    uint64 // of the program when it ran last
	all     bool   // it ran for all rows, else for those of done
	done    []uint64
}

// mostElders bounds what a step asks.
const mostElders = 4

// join makes m one of the steps that compute what id stands for.
func (p *Program) join(m *memo, id string, dst int) {
	m.dst = dst
	if p.memos == nil {
		p.memos = map[string][]*memo{}
	}
	list := p.memos[id]
	m.elders = list
	for _, e := range list {
		e.watched = true
	}
	if len(list) < mostElders {
		p.memos[id] = append(list[:len(list):len(list)], m)
	}
}

// had shows the values of an elder that ran for all the rows of sel.
func (m *memo) had(p *Program, sel columnar.Sel) bool {
	for _, e := range m.elders {
		if e.turn == p.turn && e.covers(sel) {
			p.regs[m.dst] = p.regs[e.dst]
			return true
		}
	}
	return false
}

func (m *memo) covers(sel columnar.Sel) bool {
	if m.all {
		return true
	}
	missing := uint64(0)
	if sel.All {
		for w := range columnar.Words(sel.N) {
			all := ^uint64(0)
			if rest := sel.N - w<<6; rest < 64 {
				all = 1<<uint(rest) - 1
			}
			missing |= all &^ m.done[w]
		}
		return missing == 0
	}
	for _, i := range sel.Idx[:sel.N] {
		missing |= ^m.done[i>>6] >> (uint(i) & 63) & 1
	}
	return missing == 0
}

// ran notes that the step was computed for sel of n rows.
func (m *memo) ran(p *Program, n int, sel columnar.Sel) {
	if !m.watched {
		return
	}
	m.turn, m.all = p.turn, sel.All && sel.N == n
	if m.all {
		return
	}
	w := columnar.Words(n)
	if cap(m.done) < w {
		m.done = make([]uint64, w)
	}
	m.done = m.done[:w]
	clear(m.done)
	for k := range sel.N {
		columnar.SetBit(m.done, sel.At(k))
	}
}

// CompileFiltered makes a program of a condition and of expressions over the rows that pass it, which computes once what
// both need. It is nil if they have nothing in common, or if one of them is not deterministic: what rand() gives depends
// on the rows that it is asked for. For each chunk call Select, and after it Passed if rows are left.
func CompileFiltered(cond Expr, es []Expr, in types.Schema, c Conf) (*Program, error) {
	if !Deterministic(cond) || !inCommon(cond, es) {
		return nil, nil
	}
	for _, e := range es {
		if !Deterministic(e) {
			return nil, nil
		}
	}
	below, above := fieldUses([]Expr{cond}), fieldUses(es)
	together(below, above)
	p := &Program{in: in, es: []Expr{cond}, conf: c, picks: below}
	p.ctx.Conf = c
	last, err := p.compileFilter()
	if err != nil {
		return nil, err
	}
	p.picks = above
	if err := p.compileOuts(last.child(), es); err != nil {
		return nil, err
	}
	return p, nil
}

// mostMore is how many fields more a condition has made of a struct, for rows that may not pass, so that it is made once.
// Taking a text apart costs as much as some twenty fields: where a quarter of the rows pass that pays for five.
const mostMore = 5

// together makes the condition ask for the fields that the expressions over it need, too, unless those are many.
func together(below, above map[string]*fieldUse) {
	for key, a := range above {
		b := below[key]
		if b == nil {
			continue
		}
		more := 0
		for i, w := range a.want {
			if (w || a.whole) && !b.want[i] && !b.whole {
				more++
			}
		}
		if more > mostMore {
			continue
		}
		for i, w := range a.want {
			b.want[i] = b.want[i] || w
		}
		b.whole = b.whole || a.whole
		above[key] = b
	}
}

// Passed computes the expressions of CompileFiltered for the rows that Select has just given: sel or fewer of them. What
// holds of the results of Eval holds of these.
func (p *Program) Passed(sel columnar.Sel) ([]*columnar.Vec, error) {
	if err := p.runSteps(p.steps, p.ctx.Rows, sel); err != nil {
		return nil, err
	}
	for i, r := range p.outs {
		p.result[i] = p.regs[r]
	}
	return p.result, nil
}
