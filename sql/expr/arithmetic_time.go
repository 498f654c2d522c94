package expr

import (
	"math"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// buildTemporal builds operations on dates, timestamps and intervals; done is false for all others.
func (a arithmetic) buildTemporal(l, r Expr) (e Expr, done bool, err error) {
	lt, rt := l.Type(), r.Type()
	temporal := func(t types.DataType) bool { return t.IsDatetime() || t.IsInterval() || t.Kind == types.Time }
	if !temporal(lt) && !temporal(rt) {
		return nil, false, nil
	}
	if lt.Kind == types.Time || rt.Kind == types.Time {
		e, err := a.timeOfDay(l, r)
		return e, true, err
	}
	switch a.op {
	case "+":
		if rt.IsDatetime() && !lt.IsDatetime() {
			e, err := a.dateTimePlus(r, l, 1, lt, true)
			if e != nil || err != nil {
				return e, true, err
			}
		}
		if lt.IsDatetime() {
			e, err := a.dateTimePlus(l, r, 1, rt, false)
			if e != nil || err != nil {
				return e, true, err
			}
		}
	case "-":
		if lt.IsDatetime() || rt.IsDatetime() {
			if e, err := a.dateTimeMinus(l, r); e != nil || err != nil {
				return e, true, err
			}
		}
	}
	switch a.op {
	case "+", "-":
		if lt.Kind == types.Null && rt.IsInterval() {
			l = CastTo(l, rt, a.conf)
			lt = rt
		}
		if rt.Kind == types.Null && lt.IsInterval() {
			r = CastTo(r, lt, a.conf)
			rt = lt
		}
		if lt.IsInterval() && lt.Kind == rt.Kind {
			return a.intervalSum(l, r), true, nil
		}
		if moves(lt) && rt.Kind == types.String && a.op == "+" {
			return a.stringPlusInterval(r, l)
		}
		if moves(rt) && lt.Kind == types.String {
			return a.stringPlusInterval(l, r)
		}
	case "*":
		if lt.IsInterval() && (rt.IsNumeric() || rt.Kind == types.String || rt.Kind == types.Null) {
			return a.intervalTimes(l, r, []Expr{l, r}), true, nil
		}
		if rt.IsInterval() && (lt.IsNumeric() || lt.Kind == types.String || lt.Kind == types.Null) {
			a.text = "(" + r.String() + " * " + l.String() + ")" // Spark turns the operands round
			return a.intervalTimes(r, l, []Expr{r, l}), true, nil
		}
	case "/":
		if lt.IsInterval() && (rt.IsNumeric() || rt.Kind == types.String || rt.Kind == types.Null) {
			return a.intervalTimes(l, r, []Expr{l, r}), true, nil
		}
	case "div":
		if lt.Kind == rt.Kind && (lt.Kind == types.DayTime || lt.Kind == types.YearMonth) {
			s := a.strict(l, r, types.Of(types.BigInt), func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
				for k := range sel.N {
					i := sel.At(k)
					x, y := i64At(args[0], args[0].Row(i)), i64At(args[1], args[1].Row(i))
					if y == 0 {
						return divideByZero("div")
					}
					if x == math.MinInt64 && y == -1 {
						return overflowError("Overflow in integral divide", "try_divide")
					}
					dst.I64[i] = x / y
				}
				return nil
			})
			return s, true, nil
		}
	}
	return nil, true, a.mismatch(l, r)
}

// stringPlusInterval takes the string as a timestamp, as Spark does, and gives text again.
func (a arithmetic) stringPlusInterval(s, iv Expr) (Expr, bool, error) {
	ts := CastTo(s, types.Of(types.Timestamp), a.conf)
	e, err := a.dateTimePlus(ts, iv, a.sign(), iv.Type(), false)
	if err != nil || e == nil {
		return nil, true, a.mismatch(s, iv)
	}
	return CastTo(e, types.Of(types.String), a.conf), true, nil
}

func (a arithmetic) sign() int64 {
	if a.op == "-" {
		return -1
	}
	return 1
}

// DateAdd is a date plus (sign 1) or minus (sign -1) a number of days; text "" prints date_add(d, n).
func DateAdd(d, n Expr, sign int64, text string) Expr {
	name := "date_add"
	if sign < 0 {
		name = "date_sub"
	}
	return Strict(name, types.Of(types.Date), []Expr{d, n}, text,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			x, y := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				r := int64(x.I32[x.Row(i)]) + sign*i64At(y, y.Row(i))
				if r != int64(int32(r)) {
					return overflowError("integer overflow", "")
				}
				dst.I32[i] = int32(r)
			}
			return nil
		})
}

// dateTimePlus builds datetime ± n, or nil if o is nothing to add.
func (a arithmetic) dateTimePlus(d, o Expr, sign int64, ot types.DataType, swapped bool) (Expr, error) {
	dt := d.Type()
	opSign := " + "
	if sign < 0 {
		opSign = " - "
	}
	text := d.String() + opSign + o.String()
	if dt.Kind == types.Date {
		name := "date_add"
		if sign < 0 {
			name = "date_sub"
		}
		switch {
		case ot.Kind == types.TinyInt || ot.Kind == types.SmallInt || ot.Kind == types.Int:
			return a.named(DateAdd(d, CastTo(o, types.Of(types.Int), a.conf), sign, callText(name, []Expr{d, o}))), nil
		case ot.Kind == types.Null && sign > 0: // taken for an interval, which a timestamp is moved by
			iv := CastTo(o, types.Of(types.DayTime), a.conf)
			return a.named(a.addMicros(CastTo(d, types.Of(types.Timestamp), a.conf), iv, sign, text)), nil
		case ot.Kind == types.Null:
			return a.named(DateAdd(d, CastTo(o, types.Of(types.Int), a.conf), sign, callText(name, []Expr{d, o}))), nil
		case ot.IsNumeric(), ot.Kind == types.Boolean, ot.Kind == types.Binary, ot.IsDatetime():
			return nil, WrongType(callText(name, []Expr{d, o}), 1, `("INT" or "SMALLINT" or "TINYINT")`, o)
		case ot.Kind == types.String && a.conf.ANSI: // taken as a date, which cannot be added
			return nil, WrongType(callText(name, []Expr{d, o}), 1, `("INT" or "SMALLINT" or "TINYINT")`, CastTo(o, dt, a.conf))
		case ot.Kind == types.String:
			n := CastTo(o, types.Of(types.Int), a.conf)
			return a.named(DateAdd(d, n, sign, callText(name, []Expr{d, o}))), nil
		case ot.Kind == types.DayTime && ot.From == types.Day && ot.To == types.Day:
			days := Strict("extractansiintervaldays", types.Of(types.Int), []Expr{o}, "",
				func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
					for k := range sel.N {
						i := sel.At(k)
						dst.I32[i] = int32(args[0].I64[i] / microsPerDay)
					}
					return nil
				})
			text := callText("date_add", []Expr{d, days})
			if sign < 0 {
				text = "date_add(" + d.String() + ", (- " + days.String() + "))"
			}
			return a.named(DateAdd(d, days, sign, text)), nil
		case ot.Kind == types.YearMonth:
			return a.named(AddMonths(d, o, sign, text)), nil
		case ot.Kind == types.DayTime:
			return a.named(a.addMicros(CastTo(d, types.Of(types.Timestamp), a.conf), o, sign, text)), nil
		case ot.Kind == types.Calendar:
			return a.named(a.addCalendar(d, o, sign, text)), nil
		}
		return nil, nil
	}
	switch ot.Kind {
	case types.YearMonth:
		return a.named(a.timestampAddMonths(d, o, sign, text)), nil
	case types.DayTime:
		return a.named(a.addMicros(d, o, sign, text)), nil
	case types.Calendar:
		return a.named(a.addCalendar(d, o, sign, text)), nil
	case types.Null:
		return a.named(a.addMicros(d, CastTo(o, types.Of(types.DayTime), a.conf), sign, text)), nil
	}
	return nil, nil
}

// named gives try_add its own text and mode.
func (a arithmetic) named(e Expr) Expr { return e }

// AddMonths is a date plus (sign 1) or minus (-1) a number of months: an INT or a year-month interval. The day
// is cut to the length of the month.
func AddMonths(d, m Expr, sign int64, text string) Expr {
	return Strict("add_months", types.Of(types.Date), []Expr{d, m}, text,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			x, y := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				r := addMonthsTo(int64(x.I32[x.Row(i)]), sign*int64(y.I32[y.Row(i)]))
				if r != int64(int32(r)) {
					return overflowError("integer overflow", "")
				}
				dst.I32[i] = int32(r)
			}
			return nil
		})
}

func addMonthsTo(days, months int64) int64 {
	y, m, d := civil(days)
	t := y*12 + int64(m-1) + months
	y, m = floorDiv(t, 12), int(floorMod(t, 12))+1
	return daysOf(y, m, min(d, daysIn(y, m)))
}

// addLocal moves the local time of an instant by months and whole days and adds micros to the result.
func addLocal(us, months, days, micros int64, zone *time.Location) (int64, bool) {
	if months != 0 || days != 0 {
		local := LocalMicros(us, zone)
		day := floorDiv(local, microsPerDay)
		rest := local - day*microsPerDay
		if months != 0 {
			day = addMonthsTo(day, months)
		}
		day += days
		l, ok := mulI64(day, microsPerDay)
		if ok {
			l, ok = addI64(l, rest)
		}
		if !ok {
			return 0, false
		}
		moved := InstantOf(l, zone)
		// In an overlap the offset of the start is kept if it is one of the two.
		if zone != nil && zone != time.UTC {
			keep := l - (LocalMicros(us, zone) - us)
			if keep != moved && LocalMicros(keep, zone) == l {
				moved = keep
			}
		}
		us = moved
	}
	return addI64(us, micros)
}

func (a arithmetic) zoneOf(t types.DataType) *time.Location {
	if t.Kind == types.TimestampNTZ {
		return nil
	}
	return a.conf.Zone
}

func (a arithmetic) timestampAddMonths(d, m Expr, sign int64, text string) Expr {
	zone := a.zoneOf(d.Type())
	return a.timestampAdd(sign, "ym", d, m, text, func(us int64, v *columnar.Vec, i int) (int64, bool) {
		return addLocal(us, sign*int64(v.I32[i]), 0, 0, zone)
	})
}

func (a arithmetic) addMicros(d, m Expr, sign int64, text string) Expr {
	zone := a.zoneOf(d.Type())
	return a.timestampAdd(sign, "dt", d, m, text, func(us int64, v *columnar.Vec, i int) (int64, bool) {
		x := sign * v.I64[i]
		return addLocal(us, 0, x/microsPerDay, x%microsPerDay, zone)
	})
}

func (a arithmetic) addCalendar(d, m Expr, sign int64, text string) Expr {
	if d.Type().Kind == types.Date {
		return Strict("date_add_interval", types.Of(types.Date), []Expr{d, m}, text,
			func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
				x, v := args[0], args[1]
				for k := range sel.N {
					i := sel.At(k)
					j := v.Row(i)
					if v.Kids[2].I64[j] != 0 {
						return errs.New("INVALID_INTERVAL_WITH_MICROSECONDS_ADDITION")
					}
					r := addMonthsTo(int64(x.I32[x.Row(i)]), sign*int64(v.Kids[0].I32[j])) + sign*int64(v.Kids[1].I32[j])
					dst.I32[i] = int32(r)
				}
				return nil
			})
	}
	zone := a.zoneOf(d.Type())
	return a.timestampAdd(sign, "interval", d, m, text, func(us int64, v *columnar.Vec, i int) (int64, bool) {
		return addLocal(us, sign*int64(v.Kids[0].I32[i]), sign*int64(v.Kids[1].I32[i]), sign*v.Kids[2].I64[i], zone)
	})
}

// timestampAdd is timestamp_add_<unit> or timestamp_sub_<unit>: whoever takes sums apart sees the sign.
func (a arithmetic) timestampAdd(sign int64, unit string, d, m Expr, text string, f func(us int64, v *columnar.Vec, i int) (int64, bool)) Expr {
	name := "timestamp_add_" + unit
	if sign < 0 {
		name = "timestamp_sub_" + unit
	}
	return Strict(name, d.Type(), []Expr{d, m}, text,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			x, y := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				r, ok := f(x.I64[x.Row(i)], y, y.Row(i))
				if !ok {
					if a.try {
						SetNull(dst, i)
						continue
					}
					return overflowError("long overflow", "")
				}
				dst.I64[i] = r
			}
			return nil
		})
}

// dateTimeMinus builds the difference of two datetimes, or datetime minus interval or days.
func (a arithmetic) dateTimeMinus(l, r Expr) (Expr, error) {
	lt, rt := l.Type(), r.Type()
	if rt.Kind == types.Null && lt.IsDatetime() { // of the same type, if it had one
		r, rt = CastTo(r, lt, a.conf), lt
	}
	if lt.Kind == types.Date && rt.Kind == types.Date && a.conf.CalendarIntervals {
		return a.strict(l, r, types.Of(types.Calendar), calendarBetween), nil
	}
	if lt.Kind == types.Date && (rt.Kind == types.Date) {
		t := types.DataType{Kind: types.DayTime, From: types.Day, To: types.Day}
		return a.strict(l, r, t, func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			x, y := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				dst.I64[i] = (int64(x.I32[x.Row(i)]) - int64(y.I32[y.Row(i)])) * microsPerDay
			}
			return nil
		}), nil
	}
	if lt.IsDatetime() && !rt.IsDatetime() && rt.Kind != types.String {
		return a.dateTimePlus(l, r, -1, rt, false)
	}
	if lt.IsDatetime() && rt.Kind == types.String && lt.Kind == types.Date {
		return a.dateTimeMinus(l, CastTo(r, types.Of(types.Date), a.conf))
	}
	if !lt.IsDatetime() && lt.Kind != types.String && lt.Kind != types.Null || !rt.IsDatetime() && rt.Kind != types.String {
		return nil, nil
	}
	if lt.Kind == types.Null || lt.Kind == types.String && rt.Kind == types.Date {
		return a.dateTimeMinus(CastTo(l, rt, a.conf), r)
	}
	t := types.Of(types.Timestamp)
	if lt.Kind == types.TimestampNTZ && (rt.Kind == types.TimestampNTZ || rt.Kind == types.Date) || lt.Kind == types.Date && rt.Kind == types.TimestampNTZ {
		t = types.Of(types.TimestampNTZ)
	}
	zone := a.zoneOf(t)
	out := types.Of(types.DayTime)
	if a.conf.CalendarIntervals {
		out = types.Of(types.Calendar)
	}
	return a.strict(CastTo(l, t, a.conf), CastTo(r, t, a.conf), out,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			x, y := args[0], args[1]
			if dst.Phys == columnar.PStruct {
				dst = dst.Kids[2] // no months, no days
			}
			for k := range sel.N {
				i := sel.At(k)
				d, ok := subI64(LocalMicros(x.I64[x.Row(i)], zone), LocalMicros(y.I64[y.Row(i)], zone))
				if !ok {
					return overflowError("long overflow", "")
				}
				dst.I64[i] = d
			}
			return nil
		}), nil
}

// calendarBetween is the difference of dates in months and days: as many whole months as there are, then days.
func calendarBetween(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
	for k := range sel.N {
		i := sel.At(k)
		from, to := int64(args[1].I32[args[1].Row(i)]), int64(args[0].I32[args[0].Row(i)])
		y0, m0, d0 := civil(from)
		y1, m1, d1 := civil(to)
		months := (y1*12 + int64(m1)) - (y0*12 + int64(m0))
		if months > 0 && d1 < d0 {
			months--
		} else if months < 0 && d1 > d0 {
			months++
		}
		days := to - addMonthsTo(from, months)
		dst.Kids[0].I32[i], dst.Kids[1].I32[i] = int32(months), int32(days)
	}
	return nil
}

func (a arithmetic) intervalSum(l, r Expr) Expr {
	t, _ := TightestCommonType(l.Type(), r.Type())
	sign := a.sign()
	if t.Kind == types.Calendar {
		return a.strict(l, r, t, func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			x, y := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				p, q := x.Row(i), y.Row(i)
				months := int64(x.Kids[0].I32[p]) + sign*int64(y.Kids[0].I32[q])
				days := int64(x.Kids[1].I32[p]) + sign*int64(y.Kids[1].I32[q])
				us, ok := addI64(x.Kids[2].I64[p], y.Kids[2].I64[q])
				if sign < 0 {
					us, ok = subI64(x.Kids[2].I64[p], y.Kids[2].I64[q])
				}
				if !ok || months != int64(int32(months)) || days != int64(int32(days)) {
					if a.try {
						SetNull(dst, i)
						continue
					}
					return overflowError("overflow", "")
				}
				dst.Kids[0].I32[i], dst.Kids[1].I32[i], dst.Kids[2].I64[i] = int32(months), int32(days), us
			}
			return nil
		})
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if t.Kind == types.YearMonth {
		lo, hi = math.MinInt32, math.MaxInt32
	}
	return a.strict(CastTo(l, t, a.conf), CastTo(r, t, a.conf), t,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			x, y := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				v, w := i64At(x, x.Row(i)), i64At(y, y.Row(i))
				s, ok := addI64(v, w)
				if sign < 0 {
					s, ok = subI64(v, w)
				}
				if !ok || s < lo || s > hi {
					if a.try {
						SetNull(dst, i)
						continue
					}
					f := map[string]string{"+": "`try_add`", "-": "`try_subtract`"}[a.op]
					return errs.New("INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION", "functionName", f)
				}
				putI64(dst, i, s)
			}
			return nil
		})
}

// intervalTimes multiplies or divides an interval by a number; halves round away from zero.
func (a arithmetic) intervalTimes(iv, n Expr, args []Expr) Expr {
	it, nt := iv.Type(), n.Type()
	t := types.Of(it.Kind)
	if nt.Kind == types.String || nt.Kind == types.Null {
		n = CastTo(n, types.Of(types.Double), a.conf)
		nt = n.Type()
	}
	divide := a.op == "/"
	text := a.text
	if it.Kind == types.Calendar {
		name := "multiply_interval"
		if divide {
			name = "divide_interval"
		}
		if !a.try {
			text = callText(name, []Expr{iv, n})
		}
		n = CastTo(n, types.Of(types.Double), a.conf)
		return Strict(name, t, []Expr{iv, n}, text, func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			x, y := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				p, f := x.Row(i), y.F64[y.Row(i)]
				if divide {
					if f == 0 {
						return errs.New("INTERVAL_DIVIDED_BY_ZERO")
					}
					f = 1 / f
				}
				dst.Kids[0].I32[i] = int32(float64(x.Kids[0].I32[p]) * f)
				days := float64(x.Kids[1].I32[p]) * f
				dst.Kids[1].I32[i] = int32(days)
				dst.Kids[2].I64[i] = int64(math.RoundToEven(float64(x.Kids[2].I64[p])*f + (days-math.Trunc(days))*microsPerDay))
			}
			return nil
		})
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if it.Kind == types.YearMonth {
		lo, hi = math.MinInt32, math.MaxInt32
	}
	overflow := func() error {
		if divide {
			return errs.New("INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION", "functionName", "`try_divide`")
		}
		return overflowError("long overflow", "")
	}
	name := "multiply_" + it.Simple()
	if divide {
		name = "divide_" + it.Simple()
	}
	return Strict(name, t, []Expr{iv, n}, text, func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		x, y := args[0], args[1]
		for k := range sel.N {
			i := sel.At(k)
			v := i64At(x, x.Row(i))
			j := y.Row(i)
			var num, den big.Int
			switch {
			case nt.IsFractional():
				f := f64At(y, j)
				if divide && f == 0 {
					if a.try {
						SetNull(dst, i)
						continue
					}
					return errs.New("INTERVAL_DIVIDED_BY_ZERO")
				}
				r := float64(v) * f
				if divide {
					r = float64(v) / f
				}
				r = math.Round(r)
				if math.IsNaN(r) || r < float64(lo) || r > float64(hi) {
					if a.try {
						SetNull(dst, i)
						continue
					}
					return overflow()
				}
				putI64(dst, i, int64(r))
				continue
			case nt.Kind == types.Decimal:
				decBig(&num, y.Dec[j])
				den.Set(pow10Big[nt.Scale])
			default:
				decBig(&num, decimal128.FromI64(i64At(y, j)))
				den.SetInt64(1)
			}
			if divide {
				num, den = den, num
				if den.Sign() == 0 {
					if a.try {
						SetNull(dst, i)
						continue
					}
					return errs.New("INTERVAL_DIVIDED_BY_ZERO")
				}
			}
			num.Mul(&num, big.NewInt(v))
			var q big.Int
			bigDivHalfUp(&q, &num, &den)
			if !q.IsInt64() || q.Int64() < lo || q.Int64() > hi {
				if a.try {
					SetNull(dst, i)
					continue
				}
				return overflow()
			}
			putI64(dst, i, q.Int64())
		}
		return nil
	})
}

// timeOfDay builds TIME plus or minus a day-time interval, and the difference of two TIME values.
func (a arithmetic) timeOfDay(l, r Expr) (Expr, error) {
	lt, rt := l.Type(), r.Type()
	if a.op == "+" && rt.Kind == types.Time && lt.Kind == types.DayTime {
		l, r, lt, rt = r, l, rt, lt
	}
	text := l.String() + " " + a.op + " " + r.String()
	if a.conf.TimeType { // the type of the other side says what a text or a null is
		switch {
		case a.op == "-" && lt.Kind == types.Time && (rt.Kind == types.String || rt.Kind == types.Null):
			r = CastTo(r, lt, a.conf)
			rt = lt
		case a.op == "-" && rt.Kind == types.Time && (lt.Kind == types.String || lt.Kind == types.Null):
			l = CastTo(l, rt, a.conf)
			lt = rt
		case lt.Kind == types.Time && rt.Kind == types.Null:
			rt = types.DataType{Kind: types.DayTime, From: types.Day, To: types.Second}
			r = CastTo(r, rt, a.conf)
		}
	}
	switch {
	case a.op != "+" && a.op != "-" || lt.Kind != types.Time:
		return nil, a.mismatch(l, r)
	case !a.conf.TimeType:
		return nil, errs.New("UNSUPPORTED_TIME_TYPE")
	case a.op == "-" && rt.Kind == types.Time:
		t := types.DataType{Kind: types.DayTime, From: types.Hour, To: types.Second}
		return Strict("subtract_times", t, []Expr{l, r}, text,
			func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
				x, y := args[0], args[1]
				for k := range sel.N {
					i := sel.At(k)
					dst.I64[i] = (x.I64[x.Row(i)] - y.I64[y.Row(i)]) / 1000
				}
				return nil
			}), nil
	case rt.Kind != types.DayTime:
		return nil, a.mismatch(l, r)
	}
	t := lt
	if rt.To == types.Second {
		t.Precision = 6
	}
	sign := a.sign()
	const nanosPerDay = microsPerDay * 1000
	return Strict("time_add_interval", t, []Expr{l, r}, text,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			x, y := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				us := sign * y.I64[y.Row(i)]
				n := x.I64[x.Row(i)]
				if us > microsPerDay || us < -microsPerDay || n+us*1000 < 0 || n+us*1000 >= nanosPerDay {
					if a.try {
						SetNull(dst, i)
						continue
					}
					return errs.New("DATETIME_OVERFLOW", "operation", "add "+string(appendDayTime(nil, us, y.Type))+
						" to the time value "+sqlValue(x, i, a.conf))
				}
				dst.I64[i] = n + us*1000
			}
			return nil
		}), nil
}
