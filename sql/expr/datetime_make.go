package expr

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func makeTimeFunctions() []Function {
	var out []Function
	add := func(f Function) { out = append(out, f) }
	add(fn("make_date(year, month, day)", "A date of its parts.", func(c *Call) (Expr, error) {
		ansi := c.Conf.ANSI
		return sig{in: "iii", out: tDate, null: !ansi, k: i32Rows(func(r *row) (int32, error) {
			d, problem := makeDate(int64(r.i32(0)), int64(r.i32(1)), int64(r.i32(2)))
			if problem != "" {
				return 0, fieldOutOfBounds(ansi, problem)
			}
			return int32(d), nil
		})}.build(c)
	}))
	for _, n := range []string{"make_timestamp", "make_timestamp_ltz", "make_timestamp_ntz"} {
		t := tTimestamp
		if n == "make_timestamp_ntz" {
			t = tNTZ
		}
		args := "(year, month, day, hour, min, sec[, timezone])"
		if t.Kind == types.TimestampNTZ {
			args = "(year, month, day, hour, min, sec)"
		}
		add(fn(n+args, "A timestamp of its parts, or of a DATE and a TIME.", makeTimestampBuilder(t, false)))
		add(fn("try_"+n+args, "As "+n+", null for parts out of range.", makeTimestampBuilder(t, true)))
	}
	add(fn("make_time(hour, minute, second)", "A TIME of its parts.", func(c *Call) (Expr, error) {
		if !c.Conf.TimeType {
			return nil, errs.New("UNSUPPORTED_TIME_TYPE")
		}
		return makeParts(c, c.Name, "iim", 3, nil, tTime, i64Rows(func(r *row) (int64, error) {
			us, err := clockOf(r, 0, true)
			if err != nil {
				return 0, err
			}
			return us * 1000, nil
		}))
	}))
	zero := DecimalLit(decimal128.Num{}, 18, 6)
	z := IntLit(0)
	interval := func(try bool) func(c *Call) (Expr, error) {
		return func(c *Call) (Expr, error) {
			ansi := c.Conf.ANSI && !try
			e, err := makeParts(c, "make_interval", "iiiiiiM", 0, []Expr{z, z, z, z, z, z, zero}, types.Of(types.Calendar), makeIntervalKernel(ansi))
			if s, ok := e.(*Scalar); ok {
				s.Null, s.Extra = s.Null || !ansi, fmt.Sprint(ansi)
				if try {
					s.Text = "try_" + s.Text
				}
			}
			return e, err
		}
	}
	add(fn("make_interval([years, months, weeks, days, hours, mins, secs])", "A calendar interval of its parts.", interval(false)))
	add(fn("try_make_interval([years, months, weeks, days, hours, mins, secs])", "As make_interval, null on overflow.", interval(true)))
	add(fn("make_dt_interval([days, hours, mins, secs])", "A day-time interval of its parts.", func(c *Call) (Expr, error) {
		return makeParts(c, c.Name, "iiiM", 0, []Expr{z, z, z, zero}, types.Of(types.DayTime), i64Rows(func(r *row) (int64, error) {
			us, ok := addUnits(0, int64(r.i32(0)), microsPerDay)
			for k, unit := range [...]int64{microsPerHour, microsPerMinute} {
				var ok2 bool
				us, ok2 = addUnits(us, int64(r.i32(k+1)), unit)
				ok = ok && ok2
			}
			us, ok2 := addUnits(us, decMicros(r, 3), 1)
			if !ok || !ok2 {
				return 0, errs.New("INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION")
			}
			return us, nil
		}))
	}))
	add(fn("make_ym_interval([years, months])", "A year-month interval of its parts.", func(c *Call) (Expr, error) {
		return makeParts(c, c.Name, "ii", 0, []Expr{z, z}, types.Of(types.YearMonth), i32Rows(func(r *row) (int32, error) {
			m := int64(r.i32(0))*12 + int64(r.i32(1))
			if m != int64(int32(m)) {
				return 0, errs.New("INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION")
			}
			return int32(m), nil
		}))
	}))
	return out
}

func addUnits(us, n, unit int64) (int64, bool) {
	p, ok := mulI64(n, unit)
	if !ok {
		return 0, false
	}
	return addI64(us, p)
}

// decMicros is a DECIMAL of scale 6 as an integer: seconds as microseconds.
func decMicros(r *row, k int) int64 {
	v := r.args[k]
	return int64(v.Dec[v.Row(r.i)].LowBits())
}

// makeParts is sig.build with two more letters: m DECIMAL(16,6) and M DECIMAL(18,6).
func makeParts(c *Call, name, in string, min int, defaults []Expr, out types.DataType, k Kernel) (Expr, error) {
	if err := c.Arity(min, len(in)); err != nil {
		return nil, err
	}
	call := *c
	call.Name = name
	call.copyArgs()
	if defaults != nil {
		call.fill(len(in), defaults)
	}
	text := call.Text()
	for i := range call.Args {
		t := paramType(in[i])
		switch in[i] {
		case 'm':
			t = types.DecimalOf(16, 6)
		case 'M':
			t = types.DecimalOf(18, 6)
		}
		if err := call.need(text, i, t); err != nil {
			return nil, err
		}
	}
	return Strict(name, out, call.Args, text, k), nil
}

func fieldOutOfBounds(ansi bool, problem string) error {
	if !ansi {
		return errNull
	}
	return errs.New("DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION", "rangeMessage", problem, "ansiConfig", `"spark.sql.ansi.enabled"`)
}

func makeDate(y, m, d int64) (days int64, problem string) {
	switch {
	case m < 1 || m > 12:
		return 0, fmt.Sprintf("Invalid value for MonthOfYear (valid values 1 - 12): %d", m)
	case d < 1 || d > 31:
		return 0, fmt.Sprintf("Invalid value for DayOfMonth (valid values 1 - 28/31): %d", d)
	case d > int64(daysIn(y, int(m))):
		if d == 29 {
			return 0, fmt.Sprintf("Invalid date 'February 29' as '%d' is not a leap year", y)
		}
		return 0, fmt.Sprintf("Invalid date '%s %d'", strings.ToUpper(monthNames[m-1]), d)
	}
	days = daysOf(y, int(m), int(d))
	if days != int64(int32(days)) {
		return 0, "integer overflow"
	}
	return days, ""
}

// clockOf reads hour, minute and second (a decimal) from arguments k on; microseconds of the day. Second 60
// is the next minute.
func clockOf(r *row, k int, time bool) (int64, error) {
	h, m, s := int64(r.i32(k)), int64(r.i32(k+1)), decMicros(r, k+2)
	bad := func(field string, max, v int64) error {
		msg := fmt.Sprintf("Invalid value for %s (valid values 0 - %d): %d", field, max, v)
		if time {
			return errs.New("DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION", "rangeMessage", msg)
		}
		return fieldOutOfBounds(true, msg)
	}
	switch {
	case h < 0 || h > 23:
		return 0, bad("HourOfDay", 23, h)
	case m < 0 || m > 59:
		return 0, bad("MinuteOfHour", 59, m)
	case s == 60*microsPerSecond && !time:
	case s/microsPerSecond == 60 && !time:
		text := strings.TrimRight(fmt.Sprintf("%d.%06d", s/microsPerSecond, s%microsPerSecond), "0")
		return 0, errs.New("INVALID_FRACTION_OF_SECOND", "secAndMicros", text)
	case s < 0 || s >= 60*microsPerSecond:
		return 0, bad("SecondOfMinute", 59, floorDiv(s, microsPerSecond))
	}
	return h*microsPerHour + m*microsPerMinute + s, nil
}

func makeTimestampBuilder(t types.DataType, try bool) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		lenient := try || !c.Conf.ANSI
		if n := len(c.Args); (n == 2 || n == 3) && (c.Args[0].Type().Kind == types.Date || c.Args[1].Type().Kind == types.Time) {
			return makeTimestampOfTwo(c, t)
		}
		max := 7
		if t.Kind == types.TimestampNTZ {
			max = 6
		}
		if err := c.Arity(6, max); err != nil {
			return nil, err
		}
		e, err := makeParts(c, c.Name, "iiiiims"[:max], 6, nil, t, nil)
		s, ok := e.(*Scalar)
		if !ok {
			return e, err
		}
		s.Null = s.Null || lenient
		s.Fresh = func() Kernel {
			var zs zones
			return i64Rows(func(r *row) (int64, error) {
				days, problem := makeDate(int64(r.i32(0)), int64(r.i32(1)), int64(r.i32(2)))
				if problem != "" {
					return 0, fieldOutOfBounds(!lenient, problem)
				}
				us, err := clockOf(r, 3, false)
				if err != nil {
					if lenient {
						return 0, errNull
					}
					return 0, err
				}
				local := days*microsPerDay + us
				if t.Kind == types.TimestampNTZ {
					return local, nil
				}
				zone := r.ctx.Conf.Zone
				if len(r.args) == 7 {
					if zone, err = zs.get(r.bytes(6)); err != nil {
						return 0, err
					}
				}
				return InstantOf(local, zone), nil
			})
		}
		return s, nil
	}
}

func makeTimestampOfTwo(c *Call, t types.DataType) (Expr, error) {
	call := *c
	call.copyArgs()
	text := c.Text()
	if err := call.need(text, 0, tDate); err != nil {
		return nil, err
	}
	if call.Args[1].Type().Kind != types.Time {
		return nil, WrongType(text, 1, `"TIME(6)"`, call.Args[1])
	}
	if len(call.Args) == 3 {
		if err := call.need(text, 2, tString); err != nil {
			return nil, err
		}
	}
	s := Strict(c.Name, t, call.Args, text, nil)
	s.Fresh = func() Kernel {
		var zs zones
		return i64Rows(func(r *row) (int64, error) {
			local := int64(r.i32(0))*microsPerDay + r.i64(1)/1000
			if t.Kind == types.TimestampNTZ {
				return local, nil
			}
			zone := r.ctx.Conf.Zone
			if len(r.args) == 3 {
				var err error
				if zone, err = zs.get(r.bytes(2)); err != nil {
					return 0, err
				}
			}
			return InstantOf(local, zone), nil
		})
	}
	return s, nil
}

func makeIntervalKernel(ansi bool) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		r := row{ctx: ctx, args: args}
		for k := range sel.N {
			r.i = sel.At(k)
			months := int64(r.i32(0))*12 + int64(r.i32(1))
			days := int64(r.i32(2))*7 + int64(r.i32(3))
			us, ok := addUnits(0, int64(r.i32(4)), microsPerHour)
			us, ok2 := addUnits(us, int64(r.i32(5)), microsPerMinute)
			us, ok3 := addUnits(us, decMicros(&r, 6), 1)
			if !ok || !ok2 || !ok3 || months != int64(int32(months)) || days != int64(int32(days)) {
				if ansi {
					return errs.New("ARITHMETIC_OVERFLOW", "message", "overflow", "alternative", "", "config", `"spark.sql.ansi.enabled"`)
				}
				SetNull(dst, r.i)
				continue
			}
			dst.Kids[0].I32[r.i], dst.Kids[1].I32[r.i], dst.Kids[2].I64[r.i] = int32(months), int32(days), us
		}
		return nil
	}
}

// timeUnitFunctions are those that take a unit or field by name.
func timeUnitFunctions() []Function {
	return []Function{
		fn("timestampadd(unit, quantity, timestamp)", "A timestamp so many units later.", buildTimestampAdd),
		fn("timestampdiff(unit, start, end)", "Whole units of local time from start to end.", buildTimestampDiff),
		{Name: "extract", Signature: "extract(field FROM source)", Doc: "A field of a date, timestamp or interval.", Portable: true, Build: buildExtract},
		fn("date_part(field, source)", "A field of a date, timestamp or interval.", buildExtract),
		fn("datepart(field, source)", "A field of a date, timestamp or interval.", buildExtract),
		fn("time_trunc(unit, time)", "A TIME cut to a unit.", buildTimeTrunc),
		fn("time_diff(unit, start, end)", "Whole units from one TIME to another.", buildTimeDiff),
	}
}

func unitOf(c *Call) (string, error) {
	s, ok := constText(c.Args[0], c.Conf)
	u := strings.ToUpper(s)
	switch u {
	case "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND":
		if ok {
			return u, nil
		}
	}
	return "", errs.New("INVALID_PARAMETER_VALUE.DATETIME_UNIT", "functionName", types.Quote(c.Name), "parameter", "`unit`",
		"invalidValue", "'"+s+"'")
}

// microsOf is the length of the units of a day and less; months is that of the longer ones.
func unitLength(u string) (months, micros int64) {
	switch u {
	case "YEAR":
		return 12, 0
	case "QUARTER":
		return 3, 0
	case "MONTH":
		return 1, 0
	case "WEEK":
		return 0, 7 * microsPerDay
	case "DAY", "DAYOFYEAR":
		return 0, microsPerDay
	case "HOUR":
		return 0, microsPerHour
	case "MINUTE":
		return 0, microsPerMinute
	case "SECOND":
		return 0, microsPerSecond
	case "MILLISECOND":
		return 0, 1000
	}
	return 0, 1
}

// withoutUnit lets an error about an argument count without the unit, which is no argument to Spark; required, unless
// it is empty, is what the argument has to be.
func withoutUnit(err error, required string) error {
	bad := errs.As(err)
	if bad == nil || bad.Params["paramIndex"] == "" {
		return err
	}
	for i := 1; i < len(ordinals); i++ {
		if bad.Params["paramIndex"] == ordinals[i] {
			bad.Params["paramIndex"] = ordinals[i-1]
			break
		}
	}
	if required != "" {
		bad.Params["requiredType"] = required
	}
	return err
}

func buildTimestampAdd(c *Call) (Expr, error) {
	if err := c.Arity(3, 3); err != nil {
		return nil, err
	}
	u, err := unitOf(c)
	if err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	text := callText("timestampadd", c.Args)
	if err := withoutUnit(call.need(text, 1, tBigInt), ""); err != nil {
		return nil, err
	}
	t := call.Args[2].Type()
	if t.Kind != types.TimestampNTZ {
		t = tTimestamp
		if err := withoutUnit(call.need(text, 2, t), `"(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)"`); err != nil {
			return nil, err
		}
	}
	months, micros := unitLength(u)
	s := Strict("timestampadd", t, call.Args[1:], text, i64Rows(func(r *row) (int64, error) {
		n := r.i64(0)
		zone := r.ctx.Conf.Zone
		if t.Kind == types.TimestampNTZ {
			zone = time.UTC
		}
		var x int64
		ok := true
		switch {
		case months > 0:
			if n > math.MaxInt32 || n < math.MinInt32 {
				ok = false
				break
			}
			x, ok = addLocal(r.i64(1), n*months, 0, 0, zone)
		case micros%microsPerDay == 0:
			if n > math.MaxInt32 || n < math.MinInt32 {
				ok = false
				break
			}
			x, ok = addLocal(r.i64(1), 0, n*(micros/microsPerDay), 0, zone)
		default:
			x, ok = addUnits(r.i64(1), n, micros)
		}
		if !ok {
			return 0, errs.New("DATETIME_OVERFLOW", "operation", fmt.Sprintf("add %d %s to the timestamp value", n, u))
		}
		return x, nil
	}))
	s.Extra = u
	return s, nil
}

func buildTimestampDiff(c *Call) (Expr, error) {
	if err := c.Arity(3, 3); err != nil {
		return nil, err
	}
	u, err := unitOf(c)
	if err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	text := callText("timestampdiff", c.Args)
	for i := 1; i < 3; i++ {
		if err := withoutUnit(call.need(text, i, tTimestamp), ""); err != nil {
			return nil, err
		}
	}
	months, micros := unitLength(u)
	s := Strict("timestampdiff", tBigInt, call.Args[1:], text, i64Rows(func(r *row) (int64, error) {
		a, b := LocalMicros(r.i64(0), r.ctx.Conf.Zone), LocalMicros(r.i64(1), r.ctx.Conf.Zone)
		if months == 0 {
			return (b - a) / micros, nil
		}
		return wholeMonths(a, b) / months, nil
	}))
	s.Extra = u
	return s, nil
}

// wholeMonths counts the months between two local times, cut toward zero.
func wholeMonths(a, b int64) int64 {
	da, db := floorDiv(a, microsPerDay), floorDiv(b, microsPerDay)
	ya, ma, dda := civil(da)
	yb, mb, ddb := civil(db)
	n := (yb-ya)*12 + int64(mb-ma)
	ra := int64(dda)*microsPerDay + a - da*microsPerDay
	rb := int64(ddb)*microsPerDay + b - db*microsPerDay
	switch {
	case n > 0 && rb < ra:
		n--
	case n < 0 && rb > ra:
		n++
	}
	return n
}

func buildTimeTrunc(c *Call) (Expr, error) {
	if !c.Conf.TimeType {
		return nil, errs.New("UNSUPPORTED_TIME_TYPE")
	}
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	text := c.Text()
	args, err := c.timesOfDay(text, 1)
	if err != nil {
		return nil, err
	}
	if args[0], err = textArgument(c, text, 0); err != nil {
		return nil, err
	}
	return Strict("time_trunc", args[1].Type(), args, text, i64Rows(func(r *row) (int64, error) {
		unit := int64(1)
		switch truncLevel(r.bytes(0)) {
		case truncMicrosecond:
		case truncMillisecond:
			unit = 1000
		case truncSecond:
			unit = microsPerSecond
		case truncMinute:
			unit = microsPerMinute
		case truncHour:
			unit = microsPerHour
		default:
			return 0, errs.New("INVALID_PARAMETER_VALUE.TIME_UNIT", "functionName", "`time_trunc`", "parameter", "`unit`", "invalidValue", "'"+string(r.bytes(0))+"'")
		}
		unit *= 1000
		return r.i64(1) / unit * unit, nil
	})), nil
}

// timesOfDay are the arguments with those from number from on as TIME, which texts and null become.
func (c *Call) timesOfDay(text string, from int) ([]Expr, error) {
	args := append([]Expr{}, c.Args...)
	for i := from; i < len(args); i++ {
		switch t := args[i].Type(); t.Kind {
		case types.Time:
		case types.String, types.Null:
			args[i] = CastTo(args[i], tTime, c.Conf)
		default:
			return nil, WrongType(text, i, `"TIME"`, args[i])
		}
	}
	return args, nil
}

func textArgument(c *Call, text string, i int) (Expr, error) {
	e, ok := ImplicitCast(c.Args[i], tString, c.Conf)
	if !ok {
		return nil, WrongType(text, i, `"STRING"`, c.Args[i])
	}
	return e, nil
}

func buildTimeDiff(c *Call) (Expr, error) {
	if !c.Conf.TimeType {
		return nil, errs.New("UNSUPPORTED_TIME_TYPE")
	}
	if err := c.Arity(3, 3); err != nil {
		return nil, err
	}
	args, err := c.timesOfDay(c.Text(), 1)
	if err != nil {
		return nil, err
	}
	u, err := unitOf(c)
	if err != nil {
		return nil, err
	}
	_, micros := unitLength(u)
	if micros == 0 || micros > microsPerHour {
		return nil, errs.New("INVALID_PARAMETER_VALUE.TIME_UNIT", "functionName", "`time_diff`", "parameter", "`unit`", "invalidValue", "'"+u+"'")
	}
	s := Strict("time_diff", tBigInt, args[1:], c.Text(), i64Rows(func(r *row) (int64, error) {
		return (r.i64(1) - r.i64(0)) / 1000 / micros, nil
	}))
	s.Extra = u
	return s, nil
}

// extractField is the plain name of a field of EXTRACT.
func extractField(s string) string {
	switch s {
	case "YEAR", "Y", "YEARS", "YR", "YRS":
		return "YEAR"
	case "QUARTER", "QTR":
		return "QUARTER"
	case "MONTH", "MON", "MONS", "MONTHS":
		return "MONTH"
	case "WEEK", "W", "WEEKS":
		return "WEEK"
	case "DAY", "D", "DAYS":
		return "DAY"
	case "DAYOFWEEK", "DOW":
		return "DOW"
	case "DAYOFWEEK_ISO", "DOW_ISO":
		return "DOW_ISO"
	case "HOUR", "H", "HOURS", "HR", "HRS":
		return "HOUR"
	case "MINUTE", "M", "MIN", "MINS", "MINUTES":
		return "MINUTE"
	case "SECOND", "S", "SEC", "SECONDS", "SECS":
		return "SECOND"
	case "YEAROFWEEK", "DOY":
		return s
	}
	return ""
}

func buildExtract(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	given, ok := constText(c.Args[0], c.Conf)
	src := c.Args[1]
	if k := c.Args[0].Type().Kind; k != types.String && k != types.Null {
		return nil, errs.New("NON_FOLDABLE_ARGUMENT", "funcName", types.Quote(c.Name), "paramName", "`field`", "paramType", `"STRING"`)
	}
	if !ok {
		if !Foldable(c.Args[0]) {
			return nil, errs.New("NON_FOLDABLE_ARGUMENT", "funcName", types.Quote(c.Name), "paramName", "`field`", "paramType", `"STRING"`)
		}
		return &Literal{Value: NullLit(tDouble).Value, Text: c.Text()}, nil
	}
	text := c.Text()
	if c.Name != "date_part" {
		text = c.Name + "(" + given + " FROM " + src.String() + ")"
	}
	field := extractField(strings.ToUpper(given))
	bad := errs.New("INVALID_EXTRACT_FIELD", "field", types.Quote(given), "expr", quoted(src.String()))
	var e Expr
	var err error
	t := src.Type()
	switch t.Kind {
	case types.YearMonth, types.DayTime, types.Calendar:
		e = extractInterval(field, src, text)
	case types.Time:
		e = extractTime(field, src, text)
	default:
		name, ok := map[string]string{"YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "weekofyear", "DAY": "day",
			"DOW": "dayofweek", "DOY": "dayofyear", "HOUR": "hour", "MINUTE": "minute"}[field]
		switch {
		case ok:
			e, err = Build(name, []Expr{src}, c.Conf)
		case field == "DOW_ISO":
			e, err = sig{in: "D", out: tInt, k: i32i32(func(x int32) int32 { return int32(weekday(int64(x))+6)%7 + 1 })}.build(&Call{Name: "dow_iso", Args: []Expr{src}, Conf: c.Conf})
		case field == "YEAROFWEEK":
			e, err = sig{in: "D", out: tInt, k: i32i32(func(x int32) int32 { y, _ := isoWeek(int64(x)); return int32(y) })}.build(&Call{Name: "yearofweek", Args: []Expr{src}, Conf: c.Conf})
		case field == "SECOND":
			e, err = sig{in: "t", out: types.DecimalOf(8, 6), k: decRows(func(r *row) int64 {
				return floorMod(LocalMicros(r.i64(0), r.ctx.Conf.Zone), microsPerMinute)
			})}.build(&Call{Name: "secondwithfraction", Args: []Expr{src}, Conf: c.Conf})
		}
	}
	if err != nil {
		return nil, err
	}
	s, ok := e.(*Scalar)
	if !ok || s == nil {
		return nil, bad
	}
	s.Text = text
	return s, nil
}

func decRows(f func(r *row) int64) Kernel {
	return fixedRows(decValues, func(r *row) (decimal128.Num, error) { return decimal128.FromI64(f(r)), nil })
}

func extractTime(field string, src Expr, text string) Expr {
	unit, mod := int64(microsPerHour), int64(24)
	switch field {
	case "HOUR":
	case "MINUTE":
		unit, mod = microsPerMinute, 60
	case "SECOND":
		return Strict("extract_second", types.DecimalOf(8, 6), []Expr{src}, text, decRows(func(r *row) int64 { return r.i64(0) / 1000 % microsPerMinute }))
	default:
		return nil
	}
	return Strict("extract_"+field, tInt, []Expr{src}, text, i32Rows(func(r *row) (int32, error) { return int32(r.i64(0) / 1000 / unit % mod), nil }))
}

func extractInterval(field string, src Expr, text string) Expr {
	t := src.Type()
	units := map[string]uint8{"DAY": types.Day, "HOUR": types.Hour, "MINUTE": types.Minute, "SECOND": types.Second}
	if t.Kind == types.YearMonth {
		units = map[string]uint8{"YEAR": types.Year, "MONTH": types.Month}
	}
	if u, ok := units[field]; t.Kind != types.Calendar && (!ok || u < t.From || u > t.To) {
		return nil // a type has the fields of its range only
	}
	tiny := types.Of(types.TinyInt)
	months := func(r *row) int64 {
		if t.Kind == types.Calendar {
			return int64(r.args[0].Kids[0].I32[r.args[0].Row(r.i)])
		}
		return int64(r.i32(0))
	}
	micros := func(r *row) int64 {
		if t.Kind == types.Calendar {
			return r.args[0].Kids[2].I64[r.args[0].Row(r.i)]
		}
		return r.i64(0)
	}
	args := []Expr{src}
	name := "extract_" + field
	if t.Kind != types.DayTime {
		switch field {
		case "YEAR":
			return Strict(name, tInt, args, text, i32Rows(func(r *row) (int32, error) { return int32(months(r) / 12), nil }))
		case "MONTH":
			return Strict(name, tiny, args, text, i8Rows(func(r *row) (int8, error) { return int8(months(r) % 12), nil }))
		}
	}
	if t.Kind == types.YearMonth {
		return nil
	}
	part := func(unit, mod int64) Expr {
		return Strict(name, tiny, args, text, i8Rows(func(r *row) (int8, error) { return int8(micros(r) / unit % mod), nil }))
	}
	switch field {
	case "DAY":
		return Strict(name, tInt, args, text, i32Rows(func(r *row) (int32, error) {
			if t.Kind == types.Calendar {
				return r.args[0].Kids[1].I32[r.args[0].Row(r.i)], nil
			}
			return int32(r.i64(0) / microsPerDay), nil
		}))
	case "HOUR":
		return part(microsPerHour, 24)
	case "MINUTE":
		return part(microsPerMinute, 60)
	case "SECOND":
		return Strict(name, types.DecimalOf(8, 6), args, text, decRows(func(r *row) int64 { return micros(r) % microsPerMinute }))
	}
	return nil
}
