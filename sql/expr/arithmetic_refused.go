package expr

import (
	"streamlab/errs"
	"streamlab/sql/types"
)

// What operators refuse, and in which words. Spark rewrites an operation on dates, timestamps and intervals to a
// function of its own by the types of its two sides, long before it looks whether that function takes them: the
// refusal speaks of the function (`1 + INTERVAL '1' DAY` asks for a timestamp where 1 stands). What is left is an
// operator of two numbers, whose sides are brought to one type where a common type is one that it takes.

func anyTimestamp(t types.DataType) bool {
	return t.Kind == types.Timestamp || t.Kind == types.TimestampNTZ
}

// moves are the intervals that TIMESTAMP + x adds.
func moves(t types.DataType) bool { return t.Kind == types.Calendar || t.Kind == types.DayTime }

func ansiInterval(t types.DataType) bool { return t.Kind == types.YearMonth || t.Kind == types.DayTime }

const (
	wantsTimestamp = `"(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)"`
	wantsDays      = `("INT" or "SMALLINT" or "TINYINT")`
)

// refused says why Spark does not take the operation, or nil.
func (a arithmetic) refused(l, r Expr) error {
	lt, rt := l.Type(), r.Type()
	if (lt.Kind == types.Time || rt.Kind == types.Time) && !a.conf.TimeType {
		for _, o := range []types.DataType{lt, rt} {
			if o.Kind == types.Null && (a.op == "+" || a.op == "-") || o.Kind == types.String {
				return errs.New("UNSUPPORTED_TIME_TYPE")
			}
		}
	}
	switch a.op {
	case "+":
		if done, err := a.plusRefused(l, r); done {
			return err
		}
	case "-":
		if done, err := a.minusRefused(l, r); done {
			return err
		}
	case "*":
		// The order of Spark's cases.
		for _, kind := range []types.Kind{types.Calendar, types.YearMonth, types.DayTime} {
			if lt.Kind == kind {
				return a.timesRefused(l, r)
			}
			if rt.Kind == kind {
				return a.timesRefused(r, l)
			}
		}
	case "/":
		if lt.IsInterval() {
			return a.timesRefused(l, r)
		}
	}
	return a.numbersRefused(l, r)
}

// addsTo checks t + interval, whose timestamp may be a date or a text. The interval's text carries the sign.
func (a arithmetic) addsTo(t Expr, interval string) error {
	switch k := t.Type(); {
	case anyTimestamp(k), k.Kind == types.Date, k.Kind == types.String, k.Kind == types.Null:
		return nil
	}
	return WrongType(t.String()+" + "+interval, 0, wantsTimestamp, t)
}

// days checks date_add(d, n) and date_sub(d, n).
func (a arithmetic) days(name string, d, n Expr) error {
	switch n.Type().Kind {
	case types.TinyInt, types.SmallInt, types.Int, types.Null:
		return nil
	}
	return WrongType(callText(name, []Expr{d, n}), 1, wantsDays, n)
}

// toNumber is a text that stands in arithmetic when ANSI is off.
func (a arithmetic) toNumber(e Expr) Expr {
	if e.Type().Kind == types.String && !a.conf.ANSI {
		return CastTo(e, types.Of(types.Double), a.conf)
	}
	return e
}

// timeAndText says whether one side is TIME and the other one takes its meaning from that: null, and below a minus a
// text, too.
func (a arithmetic) timeAndText(lt, rt types.DataType) bool {
	if !a.conf.TimeType {
		return false
	}
	if lt.Kind != types.Time {
		lt, rt = rt, lt
		if a.op == "+" {
			return false
		}
	}
	return lt.Kind == types.Time && (rt.Kind == types.Null || a.op == "-" && rt.Kind == types.String)
}

func (a arithmetic) plusRefused(l, r Expr) (done bool, err error) {
	lt, rt := l.Type(), r.Type()
	if a.timeAndText(lt, rt) {
		return true, nil
	}
	switch {
	case lt.Kind == types.Date && rt.IsInterval(), rt.Kind == types.Date && lt.IsInterval(),
		anyTimestamp(lt) && (rt.Kind == types.YearMonth || rt.Kind == types.Null),
		anyTimestamp(rt) && (lt.Kind == types.YearMonth || lt.Kind == types.Null),
		moves(lt) && lt.Kind == rt.Kind, lt.Kind == types.Null && ansiInterval(rt), rt.Kind == types.Null && ansiInterval(lt),
		lt.Kind == types.Time && rt.Kind == types.DayTime, rt.Kind == types.Time && lt.Kind == types.DayTime:
		return true, nil
	case moves(rt) && lt.Kind == types.Null, moves(lt) && rt.Kind == types.Null:
		return true, nil
	case moves(rt):
		return true, a.addsTo(l, r.String())
	case moves(lt):
		return true, a.addsTo(r, l.String())
	case lt.Kind == types.Date && rt.Kind == types.String && a.conf.ANSI: // the text becomes a date first
		return true, a.days("date_add", l, CastTo(r, lt, a.conf))
	case rt.Kind == types.Date && lt.Kind == types.String && a.conf.ANSI:
		return true, a.days("date_add", CastTo(l, rt, a.conf), r)
	case lt.Kind == types.Date:
		return true, a.days("date_add", l, a.toNumber(r))
	case rt.Kind == types.Date:
		return true, a.days("date_add", r, a.toNumber(l))
	}
	return false, nil
}

func (a arithmetic) minusRefused(l, r Expr) (done bool, err error) {
	lt, rt := l.Type(), r.Type()
	if a.timeAndText(lt, rt) {
		return true, nil
	}
	switch {
	case lt.Kind == types.Time && (rt.Kind == types.Time || rt.Kind == types.DayTime),
		lt.Kind == types.Date && rt.IsInterval(), anyTimestamp(lt) && rt.Kind == types.YearMonth,
		moves(lt) && lt.Kind == rt.Kind, lt.Kind == types.Null && ansiInterval(rt), rt.Kind == types.Null && ansiInterval(lt):
		return true, nil
	case moves(rt) && lt.Kind == types.Null:
		return true, nil
	case moves(rt):
		return true, a.addsTo(l, "(- "+r.String()+")")
	case anyTimestamp(lt) || anyTimestamp(rt):
		for i, e := range []Expr{l, r} {
			switch t := e.Type(); {
			case anyTimestamp(t), t.Kind == types.Date, t.Kind == types.Null, t.Kind == types.String && a.conf.ANSI:
			default:
				return true, WrongType(a.text, i, wantsTimestamp, e)
			}
		}
		return true, nil
	case rt.Kind == types.Date:
		switch lt.Kind {
		case types.Date, types.String, types.Null:
			return true, nil
		case types.Time: // which Spark casts, and then finds that it cannot
			return true, errs.New("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", "sqlExpr", quoted(l.String()),
				"srcType", quoted(lt.SQL()), "targetType", quoted(rt.SQL()))
		}
		return true, WrongType(a.text, 0, quoted(rt.SQL()), l)
	case lt.Kind == types.Date && rt.Kind == types.String && a.conf.ANSI:
		return true, nil
	case lt.Kind == types.Date:
		return true, a.days("date_sub", l, a.toNumber(r))
	}
	return false, nil
}

// timesRefused checks interval * n and interval / n.
func (a arithmetic) timesRefused(interval, n Expr) error {
	t := n.Type()
	if t.IsNumeric() || t.Kind == types.String || t.Kind == types.Null {
		return nil
	}
	if interval.Type().Kind == types.Calendar {
		name := "multiply_interval"
		if a.op == "/" {
			name = "divide_interval"
		}
		return WrongType(callText(name, []Expr{interval, n}), 1, `"DOUBLE"`, n)
	}
	return WrongType("("+interval.String()+" "+a.op+" "+n.String()+")", 1, `"NUMERIC"`, n)
}

// takes reports whether the operator takes two sides of a type.
func (a arithmetic) takes(t types.DataType) bool {
	switch a.op {
	case "+", "-":
		return t.IsNumeric() || t.IsInterval()
	case "/":
		return t.Kind == types.Double || t.Kind == types.Decimal
	case "div":
		return t.Kind == types.BigInt || t.Kind == types.Decimal || ansiInterval(t)
	case "&", "|", "^":
		return t.IsIntegral()
	}
	return t.IsNumeric()
}

// numbersRefused checks an operator whose sides have to have one type.
func (a arithmetic) numbersRefused(l, r Expr) error {
	lt, rt := l.Type(), r.Type()
	if lt.Kind == types.Null && rt.Kind == types.Null {
		return nil
	}
	l, r = a.promoted(l, r)
	lt, rt = l.Type(), r.Type()
	if lt.Equal(rt) || lt.Kind == rt.Kind && lt.Kind == types.Decimal && a.takes(lt) {
		if a.takes(lt) {
			return nil
		}
		return errs.New("DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE", "sqlExpr", quoted(a.text),
			"inputType", arithmeticInputs(a.op), "actualDataType", quoted(lt.SQL()))
	}
	if t, ok := TightestCommonType(lt, rt); ok && a.takes(t) {
		return nil
	}
	return errs.New("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "sqlExpr", quoted(a.text),
		"left", quoted(lt.SQL()), "right", quoted(rt.SQL()))
}

// promoted brings the sides of an operator closer to each other: texts beside other types, decimals beside other
// numbers, and the integers of `div` and `/`.
func (a arithmetic) promoted(l, r Expr) (Expr, Expr) {
	wide := types.Of(types.Double)
	text := func(s, o Expr) (Expr, Expr) { // as the types of operators are found for a text s
		st, ot := s.Type(), o.Type()
		switch {
		case st.Kind != types.String || ot.IsInterval():
		case !a.conf.ANSI:
			return CastTo(s, wide, a.conf), o
		case ot.IsIntegral():
			t := types.Of(types.BigInt)
			return CastTo(s, t, a.conf), CastTo(o, t, a.conf)
		case ot.IsNumeric():
			return CastTo(s, wide, a.conf), CastTo(o, wide, a.conf)
		case ot.IsAtomic() && ot.Kind != types.String, ot.Kind == types.Variant:
			return NullLit(ot), o // of that type
		}
		return s, o
	}
	word := func(e Expr) bool { return e.Type().Kind == types.String || e.Type().Kind == types.Null }
	if word(l) && word(r) {
		if a.conf.ANSI {
			wide = types.Of(types.String) // which no operator takes
		}
		return CastTo(l, wide, a.conf), CastTo(r, wide, a.conf)
	}
	l, r = text(l, r)
	r, l = text(r, l)
	lt, rt := l.Type(), r.Type()
	switch {
	case lt.Kind == types.Decimal && rt.IsFractional():
		l = CastTo(l, wide, a.conf)
	case rt.Kind == types.Decimal && lt.IsFractional():
		r = CastTo(r, wide, a.conf)
	case lt.Kind == types.Decimal && rt.IsIntegral():
		r = a.toDecimal(r, lt)
	case rt.Kind == types.Decimal && lt.IsIntegral():
		l = a.toDecimal(l, rt)
	}
	if a.op == "div" {
		for _, e := range []*Expr{&l, &r} {
			if (*e).Type().IsIntegral() {
				*e = CastTo(*e, types.Of(types.BigInt), a.conf)
			}
		}
	}
	number := func(t types.DataType) bool { return t.IsNumeric() || t.Kind == types.Null }
	if a.op == "/" && number(l.Type()) && number(r.Type()) && (l.Type().Kind != types.Decimal || r.Type().Kind != types.Decimal) {
		l, r = CastTo(l, wide, a.conf), CastTo(r, wide, a.conf)
	}
	return l, r
}
