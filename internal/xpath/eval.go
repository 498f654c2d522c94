package xpath

import (
	"math"
	"sort"
	"strings"
)

// context is where an expression is computed: at a node, which is the pos-th of size.
type context struct {
	node      *Node
	pos, size int
}

type node interface{ eval(c context) Value }

type (
	constant struct{ v Value }
	negative struct{ x node }
	binary   struct {
		op   string
		x, y node
	}
	union struct{ x, y node }
	call  struct {
		name string
		args []node
	}
	path struct {
		absolute bool
		base     node // nil: the context node
		steps    []step
	}
	step struct {
		axis, test string
		preds      []node
	}
)

func (k constant) eval(context) Value { return k.v }

func (n negative) eval(c context) Value { return Value{Kind: 'f', F: -n.x.eval(c).Number()} }

func (u union) eval(c context) Value {
	return Value{Kind: 'n', Nodes: inOrder(append(append([]*Node{}, u.x.eval(c).Nodes...), u.y.eval(c).Nodes...))}
}

// inOrder sorts nodes by their place in the document, each once.
func inOrder(l []*Node) []*Node {
	sort.SliceStable(l, func(i, j int) bool { return l[i].order < l[j].order })
	out := l[:0]
	for i, n := range l {
		if i == 0 || n != l[i-1] {
			out = append(out, n)
		}
	}
	return out
}

func (b binary) eval(c context) Value {
	switch b.op {
	case "or":
		return Value{Kind: 'b', B: b.x.eval(c).Bool() || b.y.eval(c).Bool()}
	case "and":
		return Value{Kind: 'b', B: b.x.eval(c).Bool() && b.y.eval(c).Bool()}
	}
	x, y := b.x.eval(c), b.y.eval(c)
	switch b.op {
	case "+", "-", "*", "div", "mod":
		m, n := x.Number(), y.Number()
		switch b.op {
		case "+":
			m += n
		case "-":
			m -= n
		case "*":
			m *= n
		case "div":
			m /= n
		default:
			m = math.Mod(m, n)
		}
		return Value{Kind: 'f', F: m}
	}
	return Value{Kind: 'b', B: compareValues(b.op, x, y)}
}

// compareValues compares sets of nodes by any of their nodes.
func compareValues(op string, x, y Value) bool {
	if x.Kind == 'n' && y.Kind != 'b' {
		for _, n := range x.Nodes {
			if compareValues(op, Value{Kind: 's', S: n.String()}, y) {
				return true
			}
		}
		return false
	}
	if y.Kind == 'n' && x.Kind != 'b' {
		for _, n := range y.Nodes {
			if compareValues(op, x, Value{Kind: 's', S: n.String()}) {
				return true
			}
		}
		return false
	}
	switch op {
	case "=", "!=":
		var same bool
		switch {
		case x.Kind == 'b' || y.Kind == 'b':
			same = x.Bool() == y.Bool()
		case x.Kind == 'f' || y.Kind == 'f':
			same = x.Number() == y.Number()
		default:
			same = x.Text() == y.Text()
		}
		return same == (op == "=")
	}
	m, n := x.Number(), y.Number()
	switch op {
	case "<":
		return m < n
	case "<=":
		return m <= n
	case ">":
		return m > n
	}
	return m >= n
}

func (p *path) eval(c context) Value {
	nodes := []*Node{c.node}
	switch {
	case p.absolute:
		n := c.node
		for n.Parent != nil {
			n = n.Parent
		}
		nodes = []*Node{n}
	case p.base != nil:
		v := p.base.eval(c)
		if v.Kind != 'n' {
			return v
		}
		nodes = v.Nodes
	}
	for _, s := range p.steps {
		if s.axis == "self" && len(s.preds) > 0 { // predicates of a set count in the set
			nodes = s.filter(nodes)
			continue
		}
		var next []*Node
		for _, n := range nodes {
			next = append(next, s.filter(s.from(n))...)
		}
		nodes = inOrder(next)
	}
	return Value{Kind: 'n', Nodes: nodes}
}

func (s step) filter(nodes []*Node) []*Node {
	for _, p := range s.preds {
		var kept []*Node
		for i, n := range nodes {
			v := p.eval(context{n, i + 1, len(nodes)})
			if v.Kind == 'f' && v.F == float64(i+1) || v.Kind != 'f' && v.Bool() {
				kept = append(kept, n)
			}
		}
		nodes = kept
	}
	return nodes
}

func (s step) fits(n *Node) bool {
	switch s.test {
	case "node()":
		return true
	case "text()":
		return n.Kind == Text
	case "*":
		return n.Kind == Element || n.Kind == Attribute
	}
	return (n.Kind == Element || n.Kind == Attribute) && n.Name == s.test
}

// from lists the nodes of the axis that fit, nearest first.
func (s step) from(n *Node) (out []*Node) {
	add := func(k *Node) {
		if s.fits(k) {
			out = append(out, k)
		}
	}
	var below func(k *Node)
	below = func(k *Node) {
		for _, c := range k.Children {
			add(c)
			below(c)
		}
	}
	switch s.axis {
	case "child":
		for _, c := range n.Children {
			add(c)
		}
	case "attribute":
		for _, a := range n.Attrs {
			add(a)
		}
	case "self":
		add(n)
	case "parent":
		if n.Parent != nil {
			add(n.Parent)
		}
	case "descendant-or-self":
		add(n)
		below(n)
	case "descendant":
		below(n)
	case "ancestor", "ancestor-or-self":
		if s.axis == "ancestor-or-self" {
			add(n)
		}
		for k := n.Parent; k != nil; k = k.Parent {
			add(k)
		}
	default:
		if n.Parent == nil || n.Kind == Attribute {
			return nil
		}
		seen := false
		for _, k := range n.Parent.Children {
			if k == n {
				seen = true
			} else if seen == (s.axis == "following-sibling") {
				add(k)
			}
		}
	}
	return out
}

// arity is the least and the greatest number of arguments of a function.
var arity = map[string][2]int{"last": {0, 0}, "position": {0, 0}, "count": {1, 1}, "name": {0, 1}, "local-name": {0, 1},
	"string": {0, 1}, "concat": {2, 99}, "starts-with": {2, 2}, "contains": {2, 2}, "substring-before": {2, 2},
	"substring-after": {2, 2}, "substring": {2, 3}, "string-length": {0, 1}, "normalize-space": {0, 1}, "translate": {3, 3},
	"boolean": {1, 1}, "not": {1, 1}, "true": {0, 0}, "false": {0, 0}, "number": {0, 1}, "sum": {1, 1}, "floor": {1, 1},
	"ceiling": {1, 1}, "round": {1, 1}}

func (f call) eval(c context) Value {
	text := func(s string) Value { return Value{Kind: 's', S: s} }
	number := func(x float64) Value { return Value{Kind: 'f', F: x} }
	truth := func(b bool) Value { return Value{Kind: 'b', B: b} }
	arg := func(i int) Value {
		if i < len(f.args) {
			return f.args[i].eval(c)
		}
		return Value{Kind: 'n', Nodes: []*Node{c.node}}
	}
	switch f.name {
	case "last":
		return number(float64(c.size))
	case "position":
		return number(float64(c.pos))
	case "count":
		return number(float64(len(arg(0).Nodes)))
	case "name", "local-name":
		v := arg(0)
		if len(v.Nodes) == 0 {
			return text("")
		}
		n := v.Nodes[0].Name
		if f.name == "local-name" {
			n = n[strings.IndexByte(n, ':')+1:]
		}
		return text(n)
	case "string":
		return text(arg(0).Text())
	case "concat":
		s := ""
		for i := range f.args {
			s += arg(i).Text()
		}
		return text(s)
	case "starts-with":
		return truth(strings.HasPrefix(arg(0).Text(), arg(1).Text()))
	case "contains":
		return truth(strings.Contains(arg(0).Text(), arg(1).Text()))
	case "substring-before":
		before, _, ok := strings.Cut(arg(0).Text(), arg(1).Text())
		if !ok {
			before = ""
		}
		return text(before)
	case "substring-after":
		_, after, _ := strings.Cut(arg(0).Text(), arg(1).Text())
		return text(after)
	case "substring":
		from := math.Floor(arg(1).Number() + 0.5)
		to := math.Inf(1)
		if len(f.args) == 3 {
			to = from + math.Floor(arg(2).Number()+0.5)
		}
		var b strings.Builder
		for i, r := range []rune(arg(0).Text()) {
			if p := float64(i + 1); p >= from && p < to {
				b.WriteRune(r)
			}
		}
		return text(b.String())
	case "string-length":
		return number(float64(len([]rune(arg(0).Text()))))
	case "normalize-space":
		return text(strings.Join(strings.Fields(arg(0).Text()), " "))
	case "translate":
		from, to := []rune(arg(1).Text()), []rune(arg(2).Text())
		return text(strings.Map(func(r rune) rune {
			for i, x := range from {
				if x == r {
					if i < len(to) {
						return to[i]
					}
					return -1
				}
			}
			return r
		}, arg(0).Text()))
	case "boolean":
		return truth(arg(0).Bool())
	case "not":
		return truth(!arg(0).Bool())
	case "true", "false":
		return truth(f.name == "true")
	case "number":
		return number(arg(0).Number())
	case "sum":
		s := 0.0
		for _, n := range arg(0).Nodes {
			s += Value{Kind: 's', S: n.String()}.Number()
		}
		return number(s)
	case "floor":
		return number(math.Floor(arg(0).Number()))
	case "ceiling":
		return number(math.Ceil(arg(0).Number()))
	}
	return number(math.Floor(arg(0).Number() + 0.5))
}
