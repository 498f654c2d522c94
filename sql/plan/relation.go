package plan

import (
	"sort"
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// relation analyses what stands in FROM; outer is the scope around the query.
func (a *analyzer) relation(r sql.Relation, outer *scope) *scope {
	switch n := r.(type) {
	case *sql.TableName:
		return a.table(n, outer)
	case *sql.SubqueryRelation:
		node := a.query(n.Query, outer)
		sc := newScope(node, columnsOf(node, nil), outer)
		for i := range sc.cols {
			sc.cols[i].auto = n.Alias.Name == ""
		}
		sc = a.watermarked(sc, n.Watermark)
		sc = a.sampled(sc, n.Sample)
		return a.aliased(n, sc, n.Alias)
	case *sql.ValuesRelation:
		node := a.values(n.Values, n.Alias.Columns)
		sc := a.watermarked(newScope(node, columnsOf(node, nil), outer), n.Watermark)
		return a.aliased(n, a.sampled(sc, n.Sample), n.Alias)
	case *sql.TableFunc:
		sc := a.watermarked(a.tableFunction(n, outer), n.Watermark)
		return a.aliased(n, sc, n.Alias)
	case *sql.ParenRelation:
		sc := a.watermarked(a.relation(n.Relation, outer), n.Watermark)
		return a.aliased(n, a.sampled(sc, n.Sample), n.Alias)
	case *sql.Join:
		return a.join(n, outer)
	case *sql.Pivot:
		return a.pivot(n, a.relation(n.Input, outer))
	case *sql.Unpivot:
		return a.unpivot(n, a.relation(n.Input, outer))
	}
	a.fail(r, "UNSUPPORTED_FEATURE", "feature", "this relation")
	return nil
}

// aliased puts a relation under another name, and its columns too.
func (a *analyzer) aliased(at sql.Node, sc *scope, al sql.Alias) *scope {
	if al.Name == "" && len(al.Columns) == 0 {
		return sc
	}
	cols := requalified(sc.cols, []string{al.Name})
	if len(al.Columns) > 0 {
		if len(al.Columns) != len(cols) {
			a.fail(at, "ASSIGNMENT_ARITY_MISMATCH", "numExpr", len(al.Columns), "numTarget", len(cols))
		}
		for i := range cols {
			cols[i].name, cols[i].field.Name = al.Columns[i], al.Columns[i]
		}
	}
	return newScope(sc.node, cols, sc.parent)
}

func (a *analyzer) notFound(at sql.Node, parts []string) {
	a.fail(at, "TABLE_OR_VIEW_NOT_FOUND", "relationName", quoteParts(parts), "searchPath", SearchPath(a.cat))
}

func (a *analyzer) asOf(t *sql.TableName, tt catalog.TimeTraveler) (catalog.Table, error) {
	if t.Version != nil {
		return tt.AsOfVersion(a.travelConstant(t.Version, types.BigInt))
	}
	return tt.AsOfTimestamp(a.travelConstant(t.Timestamp, types.Timestamp))
}

// travelConstant is the value of VERSION or TIMESTAMP AS OF.
func (a *analyzer) travelConstant(e sql.Expr, k types.Kind) int64 {
	x := &resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}
	l, err := expr.Const(expr.CastTo(x.expr(e), types.Of(k), a.conf.Expr), a.conf.Expr)
	if err != nil || l == nil || l.Value.IsNull(0) {
		if k == types.BigInt {
			a.fail(e, "DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE", "timeTravelKey", "versionAsOf")
		}
		a.fail(e, "INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT", "expr", `"`+x.expr(e).String()+`"`)
	}
	return l.Value.I64[0]
}

// table resolves a name: WITH entries, then the catalog.
func (a *analyzer) table(t *sql.TableName, outer *scope) *scope {
	at := sql.Node(t)
	if t.NameSpan.End > 0 && !t.Stream {
		at = t.NameSpan
	}
	parts := t.Parts
	if t.Ident != nil {
		parts = (&resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}).identifier(t.Ident)
	}
	if len(parts) == 1 {
		for s := a.ctes; s != nil; s = s.outer {
			if c, ok := s.names[strings.ToLower(parts[0])]; ok && !t.Stream {
				if c.refuse != nil {
					c.refuse(at)
				}
				sc := newScope(c.reading(), c.cols, outer)
				sc = a.watermarked(sc, t.Watermark)
				sc = a.sampled(sc, t.Sample)
				return a.aliased(t, sc, t.Alias)
			}
		}
	}
	r, ok := a.find(at, parts)
	if !ok {
		if len(parts) > 3 || len(parts) == 3 && !strings.EqualFold(parts[0], "spark_catalog") && !strings.EqualFold(parts[0], "system") {
			a.fail(at, "REQUIRES_SINGLE_PART_NAMESPACE", "sessionCatalog", "spark_catalog", "identifier", quoteParts(parts))
		}
		a.notFound(at, parts)
	}
	if tt, ok := r.Table.(catalog.TimeTraveler); ok && (t.Version != nil || t.Timestamp != nil) {
		old, err := a.asOf(t, tt)
		a.check(at, err)
		r.Table = old
	} else if t.Version != nil || t.Timestamp != nil {
		a.fail(at, "UNSUPPORTED_FEATURE.TIME_TRAVEL", "relationId", quoteParts(parts))
	}
	if t.Stream && r.View != nil {
		if !a.relationNode(at, r, nil).Streaming() {
			a.fail(at, "_LEGACY_ERROR_TEMP_1008", "quoted", strings.Join(parts, "."))
		}
	}
	if t.Stream && r.Table != nil {
		if s, ok := r.Table.(catalog.Streamer); ok {
			stream, err := s.AsStream(options(t.Options))
			a.check(at, err)
			r.Table, r.Stream = nil, stream
		}
	}
	if t.Stream && r.Table != nil {
		a.fail(at, "UNSUPPORTED_FEATURE", "feature", "reading the table "+strings.Join(parts, ".")+" as a stream by STREAM")
	}
	if r.Temporary && r.View != nil {
		a.used("VIEW", parts)
	}
	qual := a.fullName(r, parts)
	if parts[0] == "__this__" { // a DataFrame, whose columns have no table's name before them
		qual = nil
	}
	n := a.relationNode(at, r, options(t.Options))
	if r.View != nil && parts[0] != "__this__" { // which is a DataFrame
		a.opaque = append(a.opaque, n)
	}
	sc := newScope(n, columnsOf(n, qual), outer)
	sc = a.watermarked(sc, t.Watermark)
	sc = a.sampled(sc, t.Sample)
	return a.aliased(t, sc, t.Alias)
}

func options(ps []sql.Property) map[string]string {
	if len(ps) == 0 {
		return nil
	}
	m := map[string]string{}
	for _, p := range ps {
		m[p.Key] = p.Value
	}
	return m
}

func (a *analyzer) relationNode(at sql.Node, r catalog.Relation, opts map[string]string) Node {
	switch {
	case r.Table != nil:
		return &Scan{Name: r.Name, Table: r.Table, Options: opts, Out: plainSchema(r.Table.Schema())}
	case r.Stream != nil:
		return &Scan{Name: r.Name, Stream: r.Stream, Options: opts, Out: plainSchema(r.Stream.Schema())}
	case r.View != nil && r.View.Plan != nil:
		n, ok := r.View.Plan.(Node)
		if !ok {
			a.fail(at, "INTERNAL_ERROR", "message", "the view "+r.Name+" holds no plan")
		}
		return n
	case r.View != nil:
		return a.expanded(at, r)
	}
	a.fail(at, "INTERNAL_ERROR", "message", "the name "+r.Name+" stands for nothing")
	return nil
}

// plainSchema drops event-time marks, which only Watermark makes, and the lengths of CHAR and VARCHAR, which
// only matter where values are stored.
func plainSchema(s types.Schema) types.Schema {
	out := append(types.Schema{}, s...)
	for i := range out {
		out[i].DelayMicros = 0
		if out[i].Type.Kind == types.String {
			out[i].Type.Length, out[i].Type.Fixed = 0, false
		}
	}
	return out
}

func (a *analyzer) sampled(sc *scope, s *sql.Sample) *scope {
	if s == nil {
		return sc
	}
	x := &resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}
	number := func(e sql.Expr) float64 {
		v := expr.CastTo(x.expr(e), types.Of(types.Double), a.conf.Expr)
		l, err := expr.Const(v, a.conf.Expr)
		a.check(e, err)
		if l == nil || l.Value.IsNull(0) {
			a.fail(e, "_LEGACY_ERROR_TEMP_0064", "msg", "TABLESAMPLE needs a number")
		}
		return l.Value.F64[0]
	}
	out := *sc
	switch s.Kind {
	case "ROWS":
		out.node = &Limit{Child: sc.node, N: int64(number(s.Value))}
		return &out
	case "PERCENT":
		p := number(s.Value) / 100
		if p < 0 || p > 1 {
			a.fail(s, "_LEGACY_ERROR_TEMP_0064", "msg", "Sampling fraction ("+string(expr.AppendDouble(nil, p, 64))+") must be on interval [0, 1]")
		}
		seed := int64(0)
		if s.Seed != nil {
			seed = int64(number(s.Seed))
		}
		out.node = &Sample{Child: sc.node, High: p, Seed: seed}
		return &out
	}
	n, of := number(s.Bucket[0]), number(s.Bucket[1])
	if of <= 0 || n < 1 || n > of {
		a.fail(s, "_LEGACY_ERROR_TEMP_0064", "msg", "the bucket must be between 1 and the number of buckets")
	}
	out.node = &Sample{Child: sc.node, Low: 0, High: 1 / of * n / n}
	return &out
}

// watermarked marks the column of a WATERMARK clause.
func (a *analyzer) watermarked(sc *scope, w *sql.Watermark) *scope {
	if w == nil {
		return sc
	}
	x := &resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}
	var delay int64
	switch v := x.expr(w.Delay).(type) {
	case *expr.Literal:
		switch v.Type().Kind {
		case types.DayTime:
			delay = v.Value.I64[0]
		case types.YearMonth:
			delay = int64(v.Value.I32[0]) * 31 * dayMicros
		default:
			a.fail(w, "PARSE_SYNTAX_ERROR", "error", "'DELAY'", "hint", "")
		}
	}
	if delay < 0 {
		a.fail(w, "INVALID_PARAMETER_VALUE", "parameter", "delay", "functionName", "WATERMARK", "expected", "an interval that is not negative")
	}
	y := &resolver{a: a, sc: sc}
	e := y.expr(w.Expr)
	cols := append([]column{}, sc.cols...)
	node := sc.node
	index := -1
	if c, ok := e.(*expr.Column); ok && (w.Name == "" || strings.EqualFold(w.Name, c.Field.Name)) {
		index = c.Index
	} else {
		if w.Name == "" {
			shown := a.qualified(e, sc)
			if s, ok := e.(*expr.Scalar); ok && s.Type().IsDatetime() && len(s.Args) == 2 && (s.Args[0].Type().IsInterval() || s.Args[1].Type().IsInterval()) {
				shown = "CAST(" + shown + " AS " + s.Type().SQL() + ")" // Spark's sum of a time and an interval is one
			}
			a.fail(nil, "REQUIRES_EXPLICIT_NAME_IN_WATERMARK_CLAUSE", "sqlExpr", shown+" AS "+types.QuoteIfNeeded(e.String()))
		}
		s := node.Schema()
		index = 0 // the new column comes first
		node = newProject(node, append([]expr.Expr{e}, allColumns(node)...), append([]string{w.Name}, s.Names()...))
		var qual []string
		if len(cols) > 0 {
			qual = cols[0].qual
		}
		cols = append([]column{{qual: qual, name: w.Name, field: node.Schema()[0]}}, shifted(cols, 1)...)
	}
	if !node.Streaming() {
		out := newScope(node, cols, sc.parent)
		return out
	}
	n, err := watermark(node, index, delay)
	a.check(w, err)
	out := newScope(n, cols, sc.parent)
	for i := range out.cols {
		out.cols[i].field = refield(out.cols[i].field, n.Schema()[out.cols[i].index])
	}
	return out
}

// refield takes the mark of a changed field and keeps the name.
func refield(f, now types.Field) types.Field {
	now.Name = f.Name
	return now
}

func watermark(n Node, index int, delay int64) (Node, error) {
	f := n.Schema()[index]
	if f.Type.Kind != types.Timestamp && !isWindow(f) {
		return nil, errs.New("EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE", "eventName", types.Quote(f.Name), "eventType", `"`+f.Type.SQL()+`"`)
	}
	out := plainSchema(n.Schema()) // a new event time replaces the old one
	out[index].DelayMicros = delay + 1
	return &Watermark{Child: n, Column: index, DelayMicros: delay, Out: out}, nil
}

func isWindow(f types.Field) bool { return f.Metadata[windowMark] != "" }

// ---- joins

var joinKinds = map[sql.JoinKind]JoinKind{sql.InnerJoin: Inner, sql.CrossJoin: Inner, sql.LeftOuter: LeftOuter,
	sql.RightOuter: RightOuter, sql.FullOuter: FullOuter, sql.LeftSemi: LeftSemi, sql.LeftAnti: LeftAnti}

func (a *analyzer) join(j *sql.Join, outer *scope) *scope {
	return a.joinWith(a.relation(j.Left, outer), j, outer)
}

// joinWith joins a scope with the right side of a join.
func (a *analyzer) joinWith(left *scope, j *sql.Join, outer *scope) *scope {
	if j.Lateral || isLateral(j.Right) {
		return a.lateralJoin(j.Right, j, left, outer)
	}
	right := a.relation(j.Right, outer)
	using := j.Using
	if j.Natural && j.Kind == sql.CrossJoin {
		a.fail(a.joinPlace(j), "INCOMPATIBLE_JOIN_TYPES", "joinType1", "NATURAL", "joinType2", "CROSS")
	}
	if j.Natural && (j.Kind == sql.LeftSemi || j.Kind == sql.LeftAnti) {
		a.fail(a.joinPlace(j), "UNSUPPORTED_FEATURE", "feature", "NATURAL "+string(j.Kind)+" JOIN")
	}
	if j.Natural {
		for _, c := range left.cols {
			for _, d := range right.cols {
				if !c.hidden && !d.hidden && strings.EqualFold(c.name, d.name) {
					using = append(using, c.name)
				}
			}
		}
	}
	if len(using) > 0 {
		return a.usingJoin(j, left, right, using, outer)
	}
	return a.joined(a.joinPlace(j), j.Kind, left, right, j.On, outer)
}

// joinPlace is where the words of a join begin, behind its left side.
func (a *analyzer) joinPlace(j *sql.Join) sql.Span {
	s := j.Span
	if j.Left == nil {
		return s
	}
	at := j.Left.Pos().End
	for at > 0 && at < len(a.text) && (a.text[at] == ' ' || a.text[at] == '\n' || a.text[at] == '\t') {
		at++
	}
	if at > s.Start && at < s.End {
		s.Start = at
	}
	return s
}

// joined joins two scopes on a condition.
func (a *analyzer) joined(at sql.Node, kind sql.JoinKind, left, right *scope, on sql.Expr, outer *scope) *scope {
	n := len(left.node.Schema())
	both := &scope{node: &Join{Kind: Inner, Left: left.node, Right: right.node, Out: joinSchema(Inner, left.node, right.node)},
		cols: append(append([]column{}, left.cols...), shifted(right.cols, n)...), parent: outer, windowIndex: -1, sessionAt: -1}
	var cond expr.Expr
	if on != nil {
		cond = (&resolver{a: a, sc: both}).expr(on)
		if k := cond.Type().Kind; k != types.Boolean {
			a.fail(at, "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE", "joinCondition", `"`+cond.String()+`"`, "conditionType", `"`+cond.Type().SQL()+`"`)
		}
		if hasAggregate(cond) || hasWindow(cond) {
			bad := cond
			expr.Walk(cond, func(x expr.Expr) bool {
				switch x.(type) {
				case *expr.AggregateCall, *WindowCall:
					bad = x
				}
				return true
			})
			a.fail(at, "UNSUPPORTED_EXPR_FOR_OPERATOR", "invalidExprSqls", `"`+bad.String()+`"`)
		}
		if !expr.Deterministic(cond) {
			a.fail(on, "INVALID_NON_DETERMINISTIC_EXPRESSIONS", "sqlExprs", `"`+cond.String()+`"`)
		}
		if hasSubquery(cond) {
			if joinKinds[kind] != Inner {
				a.fail(on, "UNSUPPORTED_FEATURE", "feature", "a subquery in ON of a "+string(kind)+" join")
			}
			both.node = a.filtered(both.node, cond)
			return both
		}
	}
	j := newJoin(joinKinds[kind], left.node, right.node, cond)
	if len(j.LeftKeys) == 0 && kind != sql.CrossJoin && !a.conf.on("spark.sql.crossJoin.enabled", true) && j.Residual == nil {
		a.fail(nil, "_LEGACY_ERROR_TEMP_1211", "joinType", string(kind), "leftPlan", "", "rightPlan", "")
	}
	out := newScope(j, nil, outer)
	out.cols = rescoped(j, left.cols, right.cols, n)
	return out
}

// rescoped are the columns in sight above a join.
func rescoped(j *Join, left, right []column, n int) []column {
	cols := append([]column{}, left...)
	if j.Kind != LeftSemi && j.Kind != LeftAnti && j.Kind != Existence {
		cols = append(cols, shifted(right, n)...)
	}
	for i := range cols {
		cols[i].field = refield(cols[i].field, j.Out[cols[i].index])
	}
	return cols
}

func joinSchema(kind JoinKind, l, r Node) types.Schema {
	ls, rs := append(types.Schema{}, l.Schema()...), append(types.Schema{}, r.Schema()...)
	switch kind {
	case LeftSemi, LeftAnti:
		return ls
	case Existence:
		return append(ls, types.Field{Name: "exists", Type: types.Of(types.Boolean)})
	}
	if kind == RightOuter || kind == FullOuter {
		for i := range ls {
			ls[i].Nullable = true
		}
	}
	if kind == LeftOuter || kind == FullOuter {
		for i := range rs {
			rs[i].Nullable = true
		}
	}
	return append(ls, rs...)
}

// newJoin makes a join on a condition over both sides; equalities between them become keys. cond may be nil.
func newJoin(kind JoinKind, l, r Node, cond expr.Expr) *Join {
	j := &Join{Kind: kind, Left: l, Right: r, Out: joinSchema(kind, l, r)}
	if cond == nil {
		return j
	}
	n := len(l.Schema())
	for _, c := range expr.Conjuncts(strip(cond)) {
		if s, ok := c.(*expr.Scalar); ok && len(s.Args) == 2 && (s.Name == "=" || s.Name == "<=>" || s.Name == "==") {
			x, y := s.Args[0], s.Args[1]
			if side(x, n) == rightSide && side(y, n) == leftSide {
				x, y = y, x
			}
			if side(x, n) == leftSide && side(y, n) == rightSide && x.Type().Equal(y.Type()) {
				j.LeftKeys = append(j.LeftKeys, x)
				j.RightKeys = append(j.RightKeys, moved(y, -n))
				j.NullSafe = append(j.NullSafe, s.Name == "<=>")
				continue
			}
		}
		j.Residual = and(j.Residual, c)
	}
	safe := false
	for _, s := range j.NullSafe {
		safe = safe || s
	}
	if !safe {
		j.NullSafe = nil
	}
	return j
}

const (
	noSide    = 0
	leftSide  = 1
	rightSide = 2
	bothSides = 3
)

// side tells which columns an expression reads, when the left side has n; outer references count as both.
func side(e expr.Expr, n int) int {
	s := noSide
	expr.Walk(e, func(x expr.Expr) bool {
		switch c := x.(type) {
		case *expr.Column:
			if c.Index < n {
				s |= leftSide
			} else {
				s |= rightSide
			}
		case *outerRef, *subquery:
			s = bothSides
		}
		return true
	})
	return s
}

// moved shifts the positions of all columns.
func moved(e expr.Expr, by int) expr.Expr {
	return mapColumns(e, func(i int) int { return i + by })
}

func mapColumns(e expr.Expr, f func(int) int) expr.Expr {
	return transform(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Column); ok {
			d := *c
			d.Index = f(c.Index)
			return &d
		}
		return x
	})
}

// and joins two conditions; either may be nil.
func and(x, y expr.Expr) expr.Expr {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return &expr.Lazy{Kind: expr.LazyAnd, Name: "and", Out: types.Of(types.Boolean), Null: x.Nullable() || y.Nullable(),
		Args: []expr.Expr{x, y}, Text: "(" + x.String() + " AND " + y.String() + ")"}
}

// usingJoin joins on equal names: the shared columns come first and once, the sides stay reachable by
// their qualifiers.
func (a *analyzer) usingJoin(j *sql.Join, left, right *scope, using []string, outer *scope) *scope {
	find := func(sc *scope, name, sideName string) column {
		for _, c := range sc.cols {
			if !c.hidden && strings.EqualFold(c.name, name) {
				return c
			}
		}
		var names []string
		for _, c := range sc.cols {
			names = append(names, types.Quote(c.name))
		}
		sort.Strings(names)
		a.fail(j, "UNRESOLVED_USING_COLUMN_FOR_JOIN", "colName", types.Quote(name), "side", sideName,
			"suggestion", strings.Join(names, ", "))
		return column{}
	}
	n := len(left.node.Schema())
	var cond expr.Expr
	type pair struct{ l, r column }
	var pairs []pair
	x := &resolver{a: a, sc: left}
	for _, u := range using {
		l := find(left, u, "left")
		r := find(right, u, "right")
		eq := x.build(j, "=", &expr.Column{Index: l.index, Field: l.field}, &expr.Column{Index: r.index + n, Field: r.field})
		cond = and(cond, eq)
		pairs = append(pairs, pair{l, r})
	}
	kind := joinKinds[j.Kind]
	node := newJoin(kind, left.node, right.node, cond)
	all := rescoped(node, left.cols, right.cols, n)
	if kind == LeftSemi || kind == LeftAnti {
		out := newScope(node, nil, outer)
		for _, p := range pairs {
			out.cols = append(out.cols, pick(all, p.l.index))
		}
		for _, c := range all {
			shared := false
			for _, p := range pairs {
				shared = shared || p.l.index == c.index
			}
			if !shared {
				out.cols = append(out.cols, c)
			}
		}
		return out
	}
	out := newScope(node, nil, outer)
	if kind == FullOuter { // the shared column is computed
		es := allColumns(node)
		names := node.Out.Names()
		for _, p := range pairs {
			c := x.build(j, "coalesce", columnAt(node, p.l.index), columnAt(node, p.r.index+n))
			es = append(es, c)
			names = append(names, p.l.name)
		}
		out.node = newProject(node, es, names)
		for i, p := range pairs {
			at := len(node.Out) + i
			out.cols = append(out.cols, column{name: p.l.name, index: at, field: out.node.Schema()[at]})
		}
	} else {
		for _, p := range pairs {
			c := pick(all, p.l.index)
			if kind == RightOuter {
				c = pick(all, p.r.index+n)
				c.name, c.field.Name = p.l.name, p.l.name
			}
			out.cols = append(out.cols, c)
		}
	}
	for _, c := range all {
		shared, shown := false, false
		for _, p := range pairs {
			if c.index == p.l.index || c.index == p.r.index+n {
				shared = true
				shown = kind != FullOuter && (c.index == p.l.index) == (kind != RightOuter)
			}
		}
		if shown {
			continue // it is there already, with its qualifier
		}
		c.hidden = c.hidden || shared
		out.cols = append(out.cols, c)
	}
	return out
}

func pick(cols []column, index int) column {
	for _, c := range cols {
		if c.index == index {
			return c
		}
	}
	return column{}
}
