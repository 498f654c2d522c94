package plan

import (
	"slices"
	"strings"

	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// grouping is a resolved GROUP BY.
type grouping struct {
	keys  []expr.Expr
	names []string
	sets  [][]int // positions among keys, one list a grouping set; nil for plain grouping
}

// groupBy resolves GROUP BY; nil if there is none.
func (x *resolver) groupBy(g *sql.GroupBy, items []*item) *grouping {
	if g == nil {
		return nil
	}
	out := &grouping{}
	if g.All {
		for _, it := range items {
			if !hasAggregate(it.e) && !hasWindow(it.e) {
				out.add(it.e)
			}
		}
		return out
	}
	var lists [][][]int // each grouping's sets, to be multiplied
	analytic := false
	one := func(e sql.Expr) []int { // a composite (a, b) is several keys
		if r, ok := e.(*sql.RowExpr); ok {
			var at []int
			for _, i := range r.Items {
				at = append(at, out.add(x.groupKey(i, items)))
			}
			return at
		}
		return []int{out.add(x.groupKey(e, items))}
	}
	many := func(es []sql.Expr) []int {
		var at []int
		for _, e := range es {
			at = append(at, one(e)...)
		}
		return at
	}
	for _, it := range g.Items {
		switch it.Kind {
		case "":
			lists = append(lists, [][]int{{out.add(x.groupKey(it.Expr, items))}})
		case "ROLLUP", "CUBE":
			analytic = true
			var levels [][]int
			for _, s := range it.Sets {
				levels = append(levels, many(s))
			}
			lists = append(lists, rolled(it.Kind, levels))
		default:
			analytic = true
			var sets [][]int
			for _, s := range it.Sets {
				sets = append(sets, many(s))
			}
			lists = append(lists, sets)
		}
	}
	if g.Legacy != "" {
		analytic = true
		var levels [][]int
		for _, l := range lists {
			levels = append(levels, l[0])
		}
		lists = [][][]int{rolled(g.Legacy, levels)}
	}
	if g.HasSet {
		analytic = true
		var sets [][]int
		for _, s := range g.Sets {
			sets = append(sets, many(s))
		}
		lists = [][][]int{sets}
	}
	if analytic {
		out.sets = [][]int{nil}
		for _, l := range lists {
			var next [][]int
			for _, a := range out.sets {
				for _, b := range l {
					next = append(next, append(append([]int{}, a...), b...))
				}
			}
			out.sets = next
		}
	}
	return out
}

func rolled(kind string, levels [][]int) [][]int {
	var out [][]int
	if kind == "ROLLUP" {
		for n := len(levels); n >= 0; n-- {
			var s []int
			for _, l := range levels[:n] {
				s = append(s, l...)
			}
			out = append(out, s)
		}
		return out
	}
	for mask := 1<<len(levels) - 1; mask >= 0; mask-- {
		var s []int
		for i, l := range levels {
			if mask>>(len(levels)-1-i)&1 == 1 {
				s = append(s, l...)
			}
		}
		out = append(out, s)
	}
	return out
}

func (g *grouping) add(e expr.Expr) int {
	id := identity(e)
	for i, k := range g.keys {
		if identity(k) == id {
			return i
		}
	}
	g.keys = append(g.keys, e)
	g.names = append(g.names, e.String())
	return len(g.keys) - 1
}

// groupKey resolves one grouping expression: a position, columns of FROM, then aliases.
func (x *resolver) groupKey(e sql.Expr, items []*item) expr.Expr {
	if i, ok := x.a.ordinal(e, "spark.sql.groupByOrdinal"); ok {
		for _, it := range items {
			if it.star {
				x.fail(e, "STAR_GROUP_BY_POS")
			}
		}
		if i < 1 || i > len(items) {
			x.fail(e, "GROUP_BY_POS_OUT_OF_RANGE", "index", i, "size", len(items))
		}
		it := items[i-1]
		if hasAggregate(it.e) {
			shown := it.e.String()
			x.fail(e, "GROUP_BY_POS_AGGREGATE", "index", i, "aggExpr", shown+" AS "+types.QuoteIfNeeded(it.name))
		}
		return it.e
	}
	y := *x
	y.generators, y.inKeys = false, true
	if x.a.conf.on("spark.sql.groupByAliases", true) {
		y.aliases = items
	}
	k := y.expr(e)
	if t := k.Type(); t.Kind == types.Variant {
		x.fail(e, "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE", "sqlExpr", `"`+k.String()+`"`, "dataType", `"`+t.SQL()+`"`)
	}
	if hasAggregate(k) {
		var agg expr.Expr = k
		expr.Walk(k, func(z expr.Expr) bool {
			if _, ok := z.(*expr.AggregateCall); ok {
				agg = z
			}
			return true
		})
		x.fail(e, "GROUP_BY_AGGREGATE", "sqlExpr", agg.String())
	}
	return k
}

// group puts an Aggregate below the block's expressions and rewrites them to its output.
func (b *block) group(g *grouping) {
	a := b.a
	explicit := g != nil
	if g == nil {
		g = &grouping{}
		if b.having != nil && !anyItem(b.items, hasAggregate) && !hasAggregate(b.having) {
			if len(b.items) > 0 {
				a.fail(b.at, "MISSING_GROUP_BY")
			}
		}
	}
	for i := range g.keys {
		b.sc.node, g.keys[i] = a.lowered(b.sc.node, g.keys[i])
	}
	keyIDs := map[string]int{}
	for i, k := range g.keys {
		if _, literal := k.(*expr.Literal); !literal {
			keyIDs[identity(k)] = i
		}
	}
	keys := append([]expr.Expr{}, g.keys...)
	names := append([]string{}, g.names...)
	gid := -1
	if len(g.sets) > 0 && !(len(g.sets) == 1 && len(g.sets[0]) == len(keys)) {
		if len(g.sets) == 1 && len(g.sets[0]) == 0 {
			keys, names = nil, nil
			keyIDs = map[string]int{}
		} else {
			keys, names, gid = b.expand(g)
		}
	}
	var calls []*expr.AggregateCall
	callIDs := map[string]int{}
	session := -1
	for i, k := range g.keys {
		if c, ok := k.(*expr.Column); ok && c.Index == b.sc.sessionAt && b.sc.sessionAt >= 0 && i < len(keys) {
			session = i
			for _, s := range g.sets {
				if gid >= 0 && !slices.Contains(s, i) {
					a.fail(b.at, "UNSUPPORTED_FEATURE.STREAMLAB", "feature", "a grouping set without the session window that others have")
				}
			}
		}
	}
	inClause, inOrder := false, false
	var rewrite func(e expr.Expr) expr.Expr
	rewrite = func(e expr.Expr) expr.Expr {
		if i, ok := keyIDs[identity(e)]; ok {
			f := fieldOf(names[i], keys[i])
			if c, isCol := e.(*expr.Column); isCol {
				f.Name = c.Field.Name
			}
			return &expr.Column{Index: i, Field: f}
		}
		switch n := e.(type) {
		case *expr.AggregateCall:
			id := identity(n)
			i, ok := callIDs[id]
			if !ok {
				i = len(calls)
				callIDs[id] = i
				c := *n
				c.Args = append([]expr.Expr{}, n.Args...)
				for k := range c.Args {
					b.sc.node, c.Args[k] = a.lowered(b.sc.node, c.Args[k])
					c.Args[k] = strip(c.Args[k])
				}
				if c.Filter != nil {
					b.sc.node, c.Filter = a.lowered(b.sc.node, c.Filter)
					c.Filter = strip(c.Filter)
				}
				calls = append(calls, &c)
			}
			return &expr.Column{Index: len(keys) + i, Field: types.Field{Name: n.String(), Type: n.Type(), Nullable: n.Nullable()}}
		case *groupingCall:
			return b.groupingValue(n, g, gid)
		case *expr.Column:
			at := a.spans[n]
			if inClause && explicit {
				cols := make([]column, 0, len(keys))
				for i, k := range b.items {
					cols = append(cols, column{name: k.name, index: i})
				}
				for i, k := range g.keys {
					if c, ok := k.(*expr.Column); ok && !inOrder && !b.isItemName(c.Field.Name) {
						cols = append(cols, column{name: c.Field.Name, index: i})
					}
				}
				a.failWith(at, unresolvedColumn([]string{n.String()}, cols))
			}
			shown := n.String()
			if !explicit {
				a.fail(b.at, "MISSING_GROUP_BY")
			}
			a.fail(at, "MISSING_AGGREGATION", "expression", `"`+shown+`"`, "expressionAnyValue", `"any_value(`+shown+`)"`)
		case *subquery:
			return b.groupedSubquery(n, rewrite)
		}
		return mapKids(e, rewrite)
	}
	if g.sets == nil && b.having != nil && b.qualify == nil && !anyItem(b.items, hasWindow) && b.beyondItems(b.having, keyIDs) {
		b.orderOverItems(keyIDs)
	}
	for _, it := range b.items {
		it.e = rewrite(it.e)
	}
	inClause = true // HAVING and ORDER BY see the grouped output only
	if b.having != nil {
		b.having = rewrite(b.having)
	}
	if b.qualify != nil {
		b.qualify = rewrite(b.qualify)
	}
	inOrder = true
	for i := range b.sort {
		b.sort[i].Child = rewrite(b.sort[i].Child)
	}
	n := newAggregate(b.sc.node, keys, names, calls)
	n.Session = session
	b.sc.node = n
	having := b.having
	b.having = nil
	if having != nil {
		if hasWindow(having) {
			a.fail(b.havingAt, "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE", "clauseName", "HAVING")
		}
		if having.Type().Kind == types.String {
			having = expr.CastTo(having, types.Of(types.Boolean), a.conf.Expr)
			b.x.place(b.at, having)
		}
		a.boolean(b.havingAt, having)
		b.sc.node = a.filtered(n, having)
	}
	b.lower()
}

func (b *block) isItemName(name string) bool {
	for _, it := range b.items {
		if strings.EqualFold(it.name, name) {
			return true
		}
	}
	return false
}

// groupedSubquery rewrites what a subquery takes from around it to the grouped columns.
func (b *block) groupedSubquery(s *subquery, rewrite func(expr.Expr) expr.Expr) expr.Expr {
	c := *s
	c.xs = make([]expr.Expr, len(s.xs))
	for i, x := range s.xs {
		c.xs[i] = rewrite(x)
	}
	c.node = mapOuter(s.node, func(o *outerRef) expr.Expr {
		e := rewrite(o.col)
		if col, ok := e.(*expr.Column); ok {
			return &outerRef{col}
		}
		return o
	})
	return &c
}

// expand puts an Expand below: one copy of a row per grouping set, with the keys that the set leaves out
// null and a number that tells the sets apart.
func (b *block) expand(g *grouping) (keys []expr.Expr, names []string, gid int) {
	child := b.sc.node
	base := allColumns(child)
	n := len(g.keys)
	out := append(types.Schema{}, child.Schema()...)
	for i, k := range g.keys {
		f := fieldOf(g.names[i], k)
		f.Nullable = true
		out = append(out, f)
	}
	out = append(out, types.Field{Name: "spark_grouping_id", Type: types.Of(types.BigInt)})
	dup := map[int64]int{}
	duplicates := false
	ids := make([]int64, len(g.sets))
	for i, s := range g.sets {
		id := int64(1)<<n - 1
		for _, k := range s {
			id &^= 1 << (n - 1 - k)
		}
		ids[i] = id
		dup[id]++
		duplicates = duplicates || dup[id] > 1
	}
	if duplicates {
		out = append(out, types.Field{Name: "_gen_grouping_pos", Type: types.Of(types.BigInt)})
	}
	e := &Expand{Child: child, Out: out}
	for i, s := range g.sets {
		has := map[int]bool{}
		for _, k := range s {
			has[k] = true
		}
		row := append([]expr.Expr{}, base...)
		for k, key := range g.keys {
			if has[k] {
				row = append(row, strip(key))
			} else {
				row = append(row, expr.NullLit(key.Type()))
			}
		}
		row = append(row, expr.BigIntLit(ids[i]))
		if duplicates {
			row = append(row, expr.BigIntLit(int64(i)))
		}
		e.Projections = append(e.Projections, row)
	}
	b.sc.node = e
	for i := len(base); i < len(out); i++ {
		keys = append(keys, columnAt(e, i))
		names = append(names, out[i].Name)
	}
	return keys, names, n
}

// groupingValue is grouping(c) or grouping_id(…) over the grouped output.
func (b *block) groupingValue(c *groupingCall, g *grouping, gid int) expr.Expr {
	a := b.a
	var shown []string
	for _, k := range g.keys {
		shown = append(shown, k.String())
	}
	var at sql.Node = sql.Span{}
	for _, it := range b.items {
		if anyExpr(it.e, func(e expr.Expr) bool { return e == expr.Expr(c) }) {
			at = it.span
		}
	}
	if g.sets == nil {
		a.fail(at, "UNSUPPORTED_GROUPING_EXPRESSION")
	}
	position := -1
	if !c.id {
		for i, k := range g.keys {
			if identity(k) == identity(c.args[0]) {
				position = i
			}
		}
		if position < 0 {
			a.fail(at, "GROUPING_COLUMN_MISMATCH", "grouping", c.args[0].String(), "groupingColumns", strings.Join(shown, ","))
		}
	} else if len(c.args) > 0 {
		same := len(c.args) == len(g.keys)
		var given []string
		for i, k := range c.args {
			given = append(given, k.String())
			same = same && identity(k) == identity(g.keys[i])
		}
		if !same {
			a.fail(at, "GROUPING_ID_COLUMN_MISMATCH", "groupingIdColumn", strings.Join(given, ","), "groupByColumns", strings.Join(shown, ","))
		}
	}
	var id expr.Expr = expr.BigIntLit(0)
	if gid >= 0 {
		id = &expr.Column{Index: gid, Field: types.Field{Name: "spark_grouping_id", Type: types.Of(types.BigInt)}}
	} else if len(g.sets) == 1 && len(g.sets[0]) == 0 {
		id = expr.BigIntLit(int64(1)<<len(g.keys) - 1)
	}
	if c.id {
		return &named{id, c.text}
	}
	bit := b.x.build(at, "&", b.x.build(at, "shiftright", id, expr.IntLit(int32(len(g.keys)-1-position))), expr.BigIntLit(1))
	v, err := expr.NewCast(bit, types.Of(types.TinyInt), expr.Explicit, a.conf.Expr)
	a.check(at, err)
	return &named{v, c.text}
}
