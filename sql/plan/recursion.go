package plan

import (
	"strconv"
	"strings"

	"streamlab/sql"
	"streamlab/sql/types"
)

// Recursion yields the rows of Anchor, then those of Step over the rows of the round before, which take the
// place of Hole, until a round gives none. More than MaxLevel rounds with rows, or more than MaxRows rows, are
// errors; MaxLevel < 0 and MaxRows < 0 are no limit. It is unrolled before a plan is run and so has no
// children.
type Recursion struct {
	Anchor, Step Node
	Hole         *Scan
	MaxLevel     int
	MaxRows      int64
	Out          types.Schema
}

// Schema is the anchor's, nullable.
func (n *Recursion) Schema() types.Schema { return n.Out }

// Children of a recursion: none.
func (n *Recursion) Children() []Node { return nil }

// Streaming is false.
func (n *Recursion) Streaming() bool { return false }

// recursive analyses an entry of WITH RECURSIVE; nil if its query does not read itself.
func (a *analyzer) recursive(q *sql.Query, c *sql.CTE, outer *scope) Node {
	if !a.mentions(c.Query, c.Name) {
		return nil
	}
	key := strings.ToLower(c.Name)
	old := a.ctes
	defer func() { a.ctes = old }()
	if len(c.Query.With) > 0 {
		a.with(c.Query, nil, outer)
	}
	base := a.ctes
	enter := func(e *cte) { a.ctes = &cteScope{base, map[string]*cte{key: e}} }
	body := c.Query.Body
	for {
		p, ok := body.(*sql.Parens)
		if !ok || len(p.Query.OrderBy) > 0 || p.Query.Limit != nil || len(p.Query.With) > 0 {
			break
		}
		body = p.Query.Body
	}
	u, ok := body.(*sql.SetOp)
	if !ok || !strings.EqualFold(u.Op, "UNION") {
		enter(&cte{refuse: func(sql.Node) { a.fail(nil, "INVALID_RECURSIVE_CTE") }})
		a.query(c.Query, outer) // fails where it reads itself
		return nil
	}
	enter(&cte{refuse: func(sql.Node) { a.fail(nil, "INVALID_RECURSIVE_CTE") }})
	anchor := a.body(u.Left, outer, nil)
	s := append(types.Schema{}, anchor.Schema()...)
	used := false
	hole := newHole(s)
	entry := &cte{node: hole}
	entry.refuse = func(at sql.Node) {
		used = true
		if !u.All {
			a.fail(sql.Span{Start: q.Start, End: q.End}, "UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE")
		}
		if len(c.Columns) > 0 && len(c.Columns) != len(s) {
			a.fail(at, "ASSIGNMENT_ARITY_MISMATCH", "numExpr", len(c.Columns), "numTarget", len(s))
		}
	}
	for i := range s {
		s[i].Nullable = true
		if len(c.Columns) == len(s) {
			s[i].Name = c.Columns[i]
		}
	}
	hole.Out = plainSchema(s)
	entry.cols = columnsOf(hole, []string{c.Name})
	enter(entry)
	step := a.body(u.Right, outer, nil)
	if !used {
		return nil
	}
	if len(step.Schema()) != len(s) {
		a.fail(u, "NUM_COLUMNS_MISMATCH", "operator", "UNION", "firstNumColumns", len(s), "invalidOrdinalNum", "second", "invalidNumColumns", len(step.Schema()))
	}
	if !a.recursivePlace(step, hole, true) {
		a.fail(nil, "INVALID_RECURSIVE_REFERENCE.PLACE")
	}
	for i, f := range step.Schema() {
		if !f.Type.Equal(s[i].Type) {
			a.fail(nil, "CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE", "left", `"`+s[i].Type.SQL()+`"`, "right", `"`+f.Type.SQL()+`"`)
		}
	}
	n := &Recursion{Anchor: anchor, Step: step, Hole: hole, Out: hole.Out,
		MaxLevel: a.setting("spark.sql.cteRecursionLevelLimit", 100), MaxRows: int64(a.setting("spark.sql.cteRecursionRowLimit", 1_000_000))}
	if c.MaxRecursion != nil {
		n.MaxLevel = int(a.count("max recursion level", c.MaxRecursion, hole, nil))
	}
	return n
}

// setting is a whole number of the session.
func (a *analyzer) setting(key string, def int) int {
	if a.conf.Get == nil {
		return def
	}
	if n, err := strconv.Atoi(a.conf.Get(key)); err == nil {
		return n
	}
	return def
}

// recursivePlace reports whether the hole stands only where each of its rows counts for itself: not below
// aggregates, not on the null-extended or tested side of a join.
func (a *analyzer) recursivePlace(n Node, hole *Scan, free bool) bool {
	if n == Node(hole) {
		return free
	}
	cs := n.Children()
	for i, c := range cs {
		ok := free
		switch x := n.(type) {
		case *Aggregate, *Window, *SetOp, *Dedup, *SingleRow:
			ok = false
		case *Join:
			switch x.Kind {
			case LeftOuter, LeftSemi, LeftAnti, Existence:
				ok = ok && i == 0
			case RightOuter:
				ok = ok && i == 1
			case FullOuter:
				ok = false
			}
		}
		if !a.recursivePlace(c, hole, ok) {
			return false
		}
	}
	return true
}

// Unroll replaces the recursions of a plan by rows. rows runs one and gives what stands in its place; limit
// is the number of rows that are enough, -1 for all.
func Unroll(n Node, limit int64, rows func(r *Recursion, limit int64) (Node, error)) (Node, error) {
	if r, ok := n.(*Recursion); ok {
		return rows(r, limit)
	}
	below := int64(-1)
	switch x := n.(type) {
	case *Limit:
		if x.N >= 0 {
			below = x.N + x.Offset
		}
	case *Project:
		below = limit
	}
	cs := n.Children()
	if len(cs) == 0 {
		return n, nil
	}
	out := make([]Node, len(cs))
	for i, c := range cs {
		var err error
		if out[i], err = Unroll(c, below, rows); err != nil {
			return nil, err
		}
	}
	return withChildren(n, out), nil
}

// hasRecursion reports whether a plan holds one.
func hasRecursion(n Node) bool {
	if _, ok := n.(*Recursion); ok {
		return true
	}
	for _, c := range n.Children() {
		if hasRecursion(c) {
			return true
		}
	}
	return false
}

// HasRecursion reports whether a plan must be unrolled before it is run.
func HasRecursion(n Node) bool { return hasRecursion(n) }
