package plan

import (
	"fmt"
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// windowMark is the metadata of columns that hold a time window.
const windowMark = "spark.timeWindow"

func windowField(name string, e expr.Expr) types.Field {
	t := e.Type()
	return types.Field{Name: name, Type: types.StructOf(
		types.Field{Name: "start", Type: t, Nullable: true}, types.Field{Name: "end", Type: t, Nullable: true}),
		DelayMicros: delayOf(e), Metadata: map[string]string{windowMark: "true"}}
}

// time resolves the time argument of a window: a timestamp, or a window whose window_time it means.
func (x *resolver) time(f *sql.FuncCall, text string) expr.Expr {
	e := x.expr(f.Args[0])
	if c, ok := e.(*expr.Column); ok && isWindow(c.Field) {
		return x.endOf(f, c)
	}
	switch e.Type().Kind {
	case types.Timestamp, types.TimestampNTZ:
		return e
	case types.Date, types.String, types.Null:
		return expr.CastTo(e, types.Of(types.Timestamp), x.a.conf.Expr)
	}
	if e.Type().Kind == types.Time { // asked for as a cast, which there is not
		x.fail(f, "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", "sqlExpr", `"`+e.String()+`"`, "srcType", `"`+e.Type().SQL()+`"`,
			"targetType", `"TIMESTAMP"`)
	}
	x.fail(f, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "sqlExpr", `"`+text+`"`, "paramIndex", "first",
		"requiredType", `("(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)" or "STRUCT<start: TIMESTAMP, end: TIMESTAMP>" or "STRUCT<start: TIMESTAMP_NTZ, end: TIMESTAMP_NTZ>")`,
		"inputSql", `"`+e.String()+`"`, "inputType", `"`+e.Type().SQL()+`"`)
	return nil
}

// endOf is the last microsecond of a window; it stays an event time.
func (x *resolver) endOf(at sql.Node, c *expr.Column) expr.Expr {
	end, err := expr.NewGetField(c, "end", x.a.conf.Expr)
	x.a.check(at, err)
	e := x.build(at, "-", end, expr.IntegralLit(1, types.DayTime))
	return &eventTime{&named{e, "window_time(" + c.String() + ")"}, c.Field.DelayMicros}
}

// eventTime keeps the mark of an expression that is no plain column.
type eventTime struct {
	child expr.Expr
	delay int64
}

func (e *eventTime) Type() types.DataType  { return e.child.Type() }
func (e *eventTime) Nullable() bool        { return e.child.Nullable() }
func (e *eventTime) Children() []expr.Expr { return []expr.Expr{e.child} }
func (e *eventTime) String() string        { return e.child.String() }

func (x *resolver) windowTime(f *sql.FuncCall) expr.Expr {
	if len(f.Args) != 1 {
		x.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", "`window_time`", "expectedNum", 1, "actualNum", len(f.Args), "docroot", docroot)
	}
	e := x.expr(f.Args[0])
	if e.Type().Kind != types.Struct {
		x.fail(f, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "sqlExpr", `"window_time(`+e.String()+`)"`, "paramIndex", "first",
			"requiredType", `"STRUCT"`, "inputSql", `"`+e.String()+`"`, "inputType", `"`+e.Type().SQL()+`"`)
	}
	if n, ok := e.(*named); ok {
		e = n.child
	}
	c, ok := e.(*expr.Column)
	if !ok || !isWindow(c.Field) {
		x.fail(f, "_LEGACY_ERROR_TEMP_3101", "windowTime", "window_time("+e.String()+")")
	}
	if c.Index == x.sc.windowIndex && x.grouped {
		x.fail(f, "MISSING_AGGREGATION", "expression", `"window_time(`+e.String()+`)"`, "expressionAnyValue", `"any_value(window_time(`+e.String()+`))"`)
	}
	return x.endOf(f, c)
}

// duration is a constant argument of window(), in microseconds.
func (x *resolver) duration(f *sql.FuncCall, i int) int64 {
	l, ok := x.expr(f.Args[i]).(*expr.Literal)
	if ok && !l.Value.IsNull(0) {
		switch l.Type().Kind {
		case types.Int:
			return int64(l.Value.I32[0])
		case types.BigInt:
			return l.Value.I64[0]
		case types.String:
			text := string(l.Value.Bytes(0))
			months, days, micros, err := expr.ParseCalendarInterval(text)
			if err != nil {
				x.fail(f, "CANNOT_PARSE_INTERVAL", "intervalString", "'"+text+"'")
			}
			if months != 0 {
				x.fail(f, "_LEGACY_ERROR_TEMP_3231", "interval", text)
			}
			return int64(days)*dayMicros + micros
		}
	}
	x.fail(f, "_LEGACY_ERROR_TEMP_1207")
	return 0
}

// timeWindow resolves window(time, size [, slide [, start]]): the column of a TimeWindow below.
func (x *resolver) timeWindow(f *sql.FuncCall) expr.Expr {
	if len(f.Args) < 2 || len(f.Args) > 4 {
		x.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", "`window`", "expectedNum", "[2, 3, 4]", "actualNum", len(f.Args), "docroot", docroot)
	}
	size := x.duration(f, 1)
	slide, start := size, int64(0)
	if len(f.Args) > 2 {
		slide = x.duration(f, 2)
	}
	if len(f.Args) > 3 {
		start = x.duration(f, 3)
	}
	text := fmt.Sprintf("window(%s, %d, %d, %d)", sourceText(x, f.Args[0]), size, slide, start)
	t := x.time(f, text)
	x.windowBounds(f, text, size, slide, start)
	id := fmt.Sprintf("window|%s|%d|%d|%d", identity(t), size, slide, start)
	out := windowField("window", t)
	out.Nullable = slide != size // several windows of a row are rows of an expansion, whose columns may be null to Spark
	return x.appended(f, id, "window", func(child Node) Node {
		return &TimeWindow{Child: child, Time: strip(t), Size: size, Slide: slide, Start: start,
			Out: append(append(types.Schema{}, child.Schema()...), out)}
	})
}

func sourceText(x *resolver, e sql.Expr) string { return x.expr(e).String() }

// maxWindows bounds how many windows a row may be in: each is a row of what comes next.
const maxWindows = 100_000

func (x *resolver) windowBounds(f *sql.FuncCall, text string, size, slide, start int64) {
	outOfRange := func(name string, v int64) {
		x.fail(f, "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "sqlExpr", `"`+text+`"`, "exprName", "`"+name+"`",
			"valueRange", "(0, 9223372036854775807]", "currentValue", fmt.Sprintf("%dL", v))
	}
	constraint := func(l string, lv int64, op, r string, rv int64) {
		x.fail(f, "DATATYPE_MISMATCH.PARAMETER_CONSTRAINT_VIOLATION", "sqlExpr", `"`+text+`"`, "leftExprName", "`"+l+"`",
			"leftExprValue", fmt.Sprintf("%dL", lv), "constraint", op, "rightExprName", "`"+r+"`", "rightExprValue", fmt.Sprintf("%dL", rv))
	}
	switch {
	case size <= 0:
		outOfRange("window_duration", size)
	case slide <= 0:
		outOfRange("slide_duration", slide)
	case size/slide >= maxWindows:
		x.fail(f, "TOO_MANY_WINDOWS", "sqlExpr", `"`+text+`"`, "windows", size/slide, "limit", maxWindows)
	case slide > size:
		constraint("slide_duration", slide, "<=", "window_duration", size)
	case max(start, -start) >= slide:
		constraint("abs(start_time)", max(start, -start), "<", "slide_duration", slide)
	}
}

// appended gives the window column of this query block, making its node at the first use.
func (x *resolver) appended(f *sql.FuncCall, id, name string, make func(child Node) Node) expr.Expr {
	sc := x.sc
	if sc.windowIndex >= 0 && sc.window != id {
		at := sql.Node(f)
		if x.groupAt.End > 0 {
			at = x.groupAt
		}
		x.fail(at, "_LEGACY_ERROR_TEMP_1039")
	}
	if sc.windowIndex < 0 {
		sc.window, sc.windowName = id, name
		sc.windowIndex = len(sc.node.Schema())
		sc.node = make(sc.node)
		if name == "session_window" {
			sc.sessionAt = sc.windowIndex
		}
	}
	c := columnAt(sc.node, sc.windowIndex)
	x.a.spans[c] = f.Span
	return c
}

// sessionWindow resolves session_window(time, gap).
func (x *resolver) sessionWindow(f *sql.FuncCall) expr.Expr {
	if len(f.Args) != 2 {
		x.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", "`session_window`", "expectedNum", 2, "actualNum", len(f.Args), "docroot", docroot)
	}
	gap := x.expr(f.Args[1])
	text := "sessionwindow(" + sourceText(x, f.Args[0]) + ", " + gap.String() + ")"
	t := x.time(f, text)
	switch gap.Type().Kind {
	case types.Calendar:
	case types.String:
		gap = x.gapOf(f, gap)
	default:
		x.fail(f, "_LEGACY_ERROR_TEMP_1040", "dt", catalystType(gap.Type()))
	}
	id := "session|" + identity(t) + "|" + identity(gap)
	return x.appended(f, id, "session_window", func(child Node) Node {
		return &SessionWindow{Child: child, Time: strip(t), Gap: strip(gap),
			Out: append(append(types.Schema{}, child.Schema()...), windowField("session_window", t))}
	})
}

// gapOf converts text to an interval; what is no interval is null.
func (x *resolver) gapOf(f *sql.FuncCall, gap expr.Expr) expr.Expr {
	if l, ok := gap.(*expr.Literal); ok && !l.Value.IsNull(0) {
		m, d, us, err := expr.ParseCalendarInterval(string(l.Value.Bytes(0)))
		if err != nil {
			return expr.NullLit(types.Of(types.Calendar))
		}
		return expr.CalendarLit(m, d, us)
	}
	r, err := expr.NewCast(gap, types.Of(types.Calendar), expr.Try, x.a.conf.Expr)
	if errs.As(err) != nil {
		r, err = expr.NewCast(gap, types.Of(types.Calendar), expr.Explicit, x.a.conf.Expr)
	}
	x.a.check(f, err)
	return r
}

// catalystType is a type as Spark's classes print it.
func catalystType(t types.DataType) string {
	switch t.Kind {
	case types.DayTime:
		return fmt.Sprintf("DayTimeIntervalType(%d,%d)", t.From, t.To)
	case types.YearMonth:
		return fmt.Sprintf("YearMonthIntervalType(%d,%d)", t.From, t.To)
	case types.Int:
		return "IntegerType"
	case types.BigInt:
		return "LongType"
	}
	s := strings.ToLower(t.SQL())
	return strings.ToUpper(s[:1]) + s[1:] + "Type"
}
