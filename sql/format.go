package sql

import "strings"

// Format writes a tree as one line of text that reads back as the same tree under the default settings,
// places and texts kept as written left aside. Brackets are written where the tree has them (Paren, Parens,
// ParenRelation), so a tree that was not read but built needs them where precedence asks for them.
func Format(n Node) string {
	f := &formatter{}
	switch n := n.(type) {
	case nil:
	case Statement:
		f.statement(n)
	case Expr:
		f.expr(n)
	case Relation:
		f.relation(n)
	case Body:
		f.body(n)
	case SelectItem:
		f.item(n)
	case OrderItem:
		f.orderItems([]OrderItem{n})
	case *WindowSpec:
		f.window(n)
	case TypeName:
		f.put(n.Text)
	}
	return f.b.String()
}

type formatter struct{ b strings.Builder }

func (f *formatter) put(parts ...string) {
	for _, s := range parts {
		f.b.WriteString(s)
	}
}

func (f *formatter) name(parts []string) { f.put(QuoteNames(parts)) }

// names writes (a, b).
func (f *formatter) names(names []string) {
	f.put("(")
	list(f, names, func(n string) { f.put(QuoteName(n)) })
	f.put(")")
}

func list[T any](f *formatter, items []T, put func(T)) {
	for i, x := range items {
		if i > 0 {
			f.put(", ")
		}
		put(x)
	}
}

func (f *formatter) exprs(es []Expr) { list(f, es, f.expr) }

func (f *formatter) exprIf(prefix string, e Expr) {
	if e != nil {
		f.put(prefix)
		f.expr(e)
	}
}

func (f *formatter) strIf(prefix, s string) {
	if s != "" {
		f.put(prefix, quoteString(s))
	}
}

func (f *formatter) flag(on bool, text string) {
	if on {
		f.put(text)
	}
}

func (f *formatter) literal(l *Literal) {
	switch l.Kind {
	case "string":
		f.put(quoteString(l.Text))
	case "typed", "binary":
		f.put(l.Type, " ", quoteString(l.Text))
	case "double":
		f.put(l.Text)
		f.flag(!strings.ContainsAny(l.Text, "eE"), "D")
	default:
		f.put(l.Text)
		for _, s := range numberSuffixes {
			f.flag(s.kind == l.Kind, s.suffix)
		}
	}
}

func (f *formatter) expr(e Expr) {
	switch e := e.(type) {
	case *Literal:
		f.literal(e)
	case *Interval:
		f.interval(e)
	case *Name:
		f.name(e.Parts)
	case *Star:
		if len(e.Qualifier) > 0 {
			f.name(e.Qualifier)
			f.put(".")
		}
		f.put("*")
		if e.Except != nil {
			f.put(" EXCEPT (")
			list(f, e.Except, func(n *Name) { f.name(n.Parts) })
			f.put(")")
		}
	case *Unary:
		rest := Format(e.X)
		if e.Op == "NOT" && strings.HasPrefix(rest, "*") {
			f.put("! ", rest) // NOT * would be a column times something
			break
		}
		f.put(e.Op)
		if e.Op == "NOT" || strings.HasPrefix(rest, e.Op) {
			f.put(" ") // two minus signs would be a comment
		}
		f.put(rest)
	case *Binary:
		f.binary(e)
	case *Between:
		f.expr(e.X)
		f.flag(e.Not, " NOT")
		f.exprIf(" BETWEEN ", e.Lo)
		f.exprIf(" AND ", e.Hi)
	case *In:
		f.expr(e.X)
		f.flag(e.Not, " NOT")
		f.put(" IN (")
		f.exprs(e.List)
		f.put(")")
	case *InQuery:
		f.expr(e.X)
		f.flag(e.Not, " NOT")
		f.put(" IN (")
		f.query(e.Query)
		f.put(")")
	case *Like:
		f.expr(e.X)
		f.flag(e.Not, " NOT")
		f.put(" ", e.Op, " ")
		if e.Quantifier != "" {
			f.put(e.Quantifier, " (")
			f.exprs(e.List)
			f.put(")")
		} else {
			f.expr(e.Pattern)
			f.exprIf(" ESCAPE ", e.Escape)
		}
	case *Is:
		f.expr(e.X)
		f.put(" IS ")
		f.flag(e.Not, "NOT ")
		f.put(e.What)
		f.exprIf(" FROM ", e.Y)
	case *Case:
		f.put("CASE")
		f.exprIf(" ", e.Operand)
		for _, w := range e.Whens {
			f.exprIf(" WHEN ", w.Cond)
			f.exprIf(" THEN ", w.Then)
		}
		f.exprIf(" ELSE ", e.Else)
		f.put(" END")
	case *Cast:
		f.cast(e)
	case *FuncCall:
		f.call(e)
	case *Lambda:
		if len(e.Params) == 1 {
			f.put(QuoteName(e.Params[0]))
		} else {
			f.names(e.Params)
		}
		f.exprIf(" -> ", e.Body)
	case *Subscript:
		f.expr(e.X)
		f.put("[")
		f.expr(e.Index)
		f.put("]")
	case *Field:
		f.expr(e.X)
		if l, ok := e.X.(*Literal); ok && l.Kind != "string" {
			f.put(" ") // 1.a would be a number
		}
		f.put(".", QuoteName(e.Name))
	case *Exists:
		f.put("EXISTS (")
		f.query(e.Query)
		f.put(")")
	case *Scalar:
		f.put("(")
		f.query(e.Query)
		f.put(")")
	case *RowExpr:
		f.put("(")
		f.exprs(e.Items)
		f.put(")")
	case *Paren:
		f.put("(")
		f.expr(e.X)
		f.put(")")
	case *Param:
		if e.Name == "" {
			f.put("?")
		} else {
			f.put(":", e.Name)
		}
	case *Collate:
		f.expr(e.X)
		f.put(" COLLATE ", e.Name)
	case *SemiPath:
		f.expr(e.X)
		f.put(":", e.Path)
	}
}

// binary walks down the left side of a chain in a loop: OR of thousands is as deep as it is long.
func (f *formatter) binary(e *Binary) {
	var chain []*Binary
	x := Expr(e)
	for {
		b, ok := x.(*Binary)
		if !ok {
			break
		}
		chain = append(chain, b)
		x = b.X
	}
	f.expr(x)
	for i := len(chain) - 1; i >= 0; i-- {
		f.put(" ", chain[i].Op, " ")
		f.expr(chain[i].Y)
	}
}

func (f *formatter) cast(e *Cast) {
	switch {
	case e.Colon:
		f.expr(e.X)
		f.put("::", e.Type.Text)
		return
	case e.Try:
		f.put("TRY_")
	}
	f.put("CAST(")
	f.expr(e.X)
	f.put(" AS ", e.Type.Text, ")")
}

func (f *formatter) interval(e *Interval) {
	f.put("INTERVAL")
	if len(e.Parts) == 0 {
		f.put(" ", quoteString(e.Text))
	}
	for _, p := range e.Parts {
		f.put(" ")
		f.expr(p.Value)
		f.put(" ", p.Unit)
	}
	if e.To != "" {
		f.put(" TO ", e.To)
	}
}

// plainCalls are keywords that name functions and may stand before a bracket without quotes.
var plainCalls = wordSet(strings.Fields(`LEFT RIGHT IF REPLACE DATE TIMESTAMP YEAR MONTH DAY HOUR MINUTE SECOND FIRST LAST ANY SOME MAX
	RANGE WINDOW MAP STRUCT SUBSTRING SUBSTR TRIM POSITION OVERLAY INT BIGINT SMALLINT TINYINT DOUBLE FLOAT DECIMAL STRING BINARY BOOLEAN
	DATE_ADD DATEADD DATE_DIFF DATEDIFF CURRENT_DATE CURRENT_TIMESTAMP CURRENT_USER LOCALTIMESTAMP SESSION_USER USER IDENTIFIER GROUPING
	CHAR PERCENT`))

func (f *formatter) call(e *FuncCall) {
	switch e.Syntax {
	case "KEYWORD":
		f.put(strings.ToUpper(e.Name[0]))
		return
	case "AS":
		f.expr(e.Args[0])
		f.put(" AS ", QuoteName(e.ArgNames[0]))
		return
	case "EXTRACT":
		f.put("EXTRACT(", e.Args[0].(*Literal).Text)
		f.exprIf(" FROM ", e.Args[1])
		f.put(")")
		return
	case "POSITION":
		f.put("POSITION(")
		f.expr(e.Args[0])
		f.exprIf(" IN ", e.Args[1])
		f.put(")")
		return
	case "FROM", "PLACING":
		f.keywordCall(e)
		return
	case "TRIM", "TRIM BOTH", "TRIM LEADING", "TRIM TRAILING":
		f.put("TRIM(", strings.TrimPrefix(strings.TrimPrefix(e.Syntax, "TRIM"), " "))
		if len(e.Args) == 2 {
			f.flag(e.Syntax != "TRIM", " ")
			f.expr(e.Args[0])
		}
		f.flag(len(e.Args) == 2 || e.Syntax != "TRIM", " ")
		f.exprIf("FROM ", e.Args[len(e.Args)-1])
		f.put(")")
		return
	case "UNIT":
		f.put(e.Name[0], "(", e.Args[0].(*Literal).Text)
		for _, a := range e.Args[1:] {
			f.exprIf(", ", a)
		}
		f.put(")")
		return
	}
	switch {
	case e.Ident != nil:
		f.exprIf("IDENTIFIER(", e.Ident)
		f.put(")")
	case len(e.Name) == 1 && plainCalls[strings.ToUpper(e.Name[0])] && plainWord(e.Name[0]):
		f.put(e.Name[0])
	default:
		f.name(e.Name)
	}
	f.put("(")
	f.flag(e.Distinct, "DISTINCT ")
	for i, a := range e.Args {
		f.flag(i > 0, ", ")
		named := i < len(e.ArgNames) && e.ArgNames[i] != ""
		if named && e.Syntax == "" {
			f.put(QuoteName(e.ArgNames[i]), " => ")
		}
		f.expr(a)
		if named && e.Syntax == "STRUCT" {
			f.put(" AS ", QuoteName(e.ArgNames[i]))
		}
	}
	f.put(")")
	if e.WithinGroup != nil {
		f.put(" WITHIN GROUP (ORDER BY ")
		f.orderItems(e.WithinGroup)
		f.put(")")
	}
	if e.Filter != nil {
		f.exprIf(" FILTER (WHERE ", e.Filter)
		f.put(")")
	}
	f.flag(e.IgnoreNulls, " IGNORE NULLS")
	f.flag(e.RespectNulls, " RESPECT NULLS")
	if e.Over != nil {
		f.put(" OVER ")
		f.window(e.Over)
	}
}

func (f *formatter) keywordCall(e *FuncCall) {
	f.put(e.Name[0], "(")
	f.expr(e.Args[0])
	rest := e.Args[1:]
	if e.Syntax == "PLACING" {
		f.exprIf(" PLACING ", rest[0])
		rest = rest[1:]
	}
	f.exprIf(" FROM ", rest[0])
	if len(rest) > 1 {
		f.exprIf(" FOR ", rest[1])
	}
	f.put(")")
}

func (f *formatter) window(w *WindowSpec) {
	if w.Name != "" {
		f.put(QuoteName(w.Name))
		return
	}
	f.put("(")
	sep := ""
	if w.PartitionBy != nil {
		f.put("PARTITION BY ")
		f.exprs(w.PartitionBy)
		sep = " "
	}
	if w.OrderBy != nil {
		f.put(sep, "ORDER BY ")
		f.orderItems(w.OrderBy)
		sep = " "
	}
	if w.Frame != nil {
		kind := "RANGE"
		if w.Frame.Rows {
			kind = "ROWS"
		}
		f.put(sep, kind, " BETWEEN ")
		f.bound(w.Frame.From)
		f.put(" AND ")
		f.bound(w.Frame.To)
	}
	f.put(")")
}

func (f *formatter) bound(b Bound) {
	if b.Expr != nil {
		f.expr(b.Expr)
		f.put(" ")
	}
	f.put(b.Kind)
}

func (f *formatter) orderItems(items []OrderItem) {
	list(f, items, func(o OrderItem) {
		f.expr(o.Expr)
		f.direction(o)
	})
}

func (f *formatter) direction(o OrderItem) {
	f.flag(o.Desc, " DESC")
	if o.Nulls != "" {
		f.put(" NULLS ", o.Nulls)
	}
}
