package expr

import (
	"math"
	"strings"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func datetimeFunctions() []Function {
	var out []Function
	add := func(f Function, names ...string) { out = append(out, synonyms(f, names...)...) }
	day := func(f func(days int64) int32) func(c *Call) (Expr, error) {
		return sig{in: "D", out: tInt, total: true, k: i32i32(func(x int32) int32 { return f(int64(x)) })}.build
	}
	add(fn("year(date)", "Year.", day(func(d int64) int32 { y, _, _ := civil(d); return int32(y) })))
	add(fn("quarter(date)", "Quarter, 1 to 4.", day(func(d int64) int32 { _, m, _ := civil(d); return int32(m+2) / 3 })))
	add(fn("month(date)", "Month, 1 to 12.", day(func(d int64) int32 { _, m, _ := civil(d); return int32(m) })))
	add(fn("day(date)", "Day of the month.", day(func(d int64) int32 { _, _, x := civil(d); return int32(x) })), "dayofmonth")
	add(fn("dayofweek(date)", "Day of the week, Sunday is 1.", day(func(d int64) int32 { return int32(weekday(d)) + 1 })))
	add(fn("weekday(date)", "Day of the week, Monday is 0.", day(func(d int64) int32 { return int32(weekday(d)+6) % 7 })))
	add(fn("dayofyear(date)", "Day of the year.", day(func(d int64) int32 { return int32(dayOfYear(d)) })))
	add(fn("weekofyear(date)", "ISO week.", day(func(d int64) int32 { _, w := isoWeek(d); return int32(w) })))
	add(fn("dayname(date)", "Short name of the day of the week.", sig{in: "D", out: tString, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
		return append(dst, dayNames[weekday(int64(r.i32(0)))][:3]...), nil
	})}.build))
	add(fn("monthname(date)", "Short name of the month.", sig{in: "D", out: tString, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
		_, m, _ := civil(int64(r.i32(0)))
		return append(dst, monthNames[m-1][:3]...), nil
	})}.build))
	add(fn("hour(timestamp)", "Hour of the local time.", clockBuilder(microsPerHour, 24)))
	add(fn("minute(timestamp)", "Minute of the local time.", clockBuilder(microsPerMinute, 60)))
	add(fn("second(timestamp)", "Second of the local time.", clockBuilder(microsPerSecond, 60)))
	add(fn("date_add(start, days)", "A date so many days later.", dateAddBuilder("date_add", 1)), "dateadd")
	add(fn("date_sub(start, days)", "A date so many days earlier.", dateAddBuilder("date_sub", -1)))
	add(fn("datediff(end, start)", "Days from start to end.", sig{in: "DD", out: tInt, k: i32Rows(func(r *row) (int32, error) {
		return r.i32(0) - r.i32(1), nil
	})}.build), "date_diff")
	add(fn("add_months(start, months)", "A date so many months later; the day is cut to the month's length.", func(c *Call) (Expr, error) {
		c2 := *c
		c2.copyArgs()
		if err := c2.Arity(2, 2); err != nil {
			return nil, err
		}
		if err := c2.need(c.Text(), 0, tDate); err != nil {
			return nil, err
		}
		if err := c2.need(c.Text(), 1, tInt); err != nil {
			return nil, err
		}
		return AddMonths(c2.Args[0], c2.Args[1], 1, c.Text()), nil
	}))
	add(fn("last_day(date)", "Last day of the month.", sig{in: "D", out: tDate, k: i32i32(func(x int32) int32 {
		y, m, _ := civil(int64(x))
		return int32(daysOf(y, m, daysIn(y, m)))
	})}.build))
	add(fn("next_day(start, dayOfWeek)", "The next date after start with that day of the week.", nextDayBuilder))
	add(fn("months_between(end, start[, roundOff])", "Months between two times, of 31 days where not whole.",
		sig{in: "ttB", min: 2, defaults: []Expr{BoolLit(true)}, out: tDouble, k: f64Rows(monthsBetweenRow)}.build))
	add(fn("trunc(date, fmt)", "The first day of the year, quarter, month or week.", sig{in: "Ds", out: tDate, null: true, k: i32Rows(func(r *row) (int32, error) {
		d, ok := truncDate(int64(r.i32(0)), truncLevel(r.bytes(1)))
		if !ok {
			return 0, errNull
		}
		return int32(d), nil
	})}.build))
	add(fn("date_trunc(fmt, ts)", "The time cut to a unit of the local time.", sig{in: "st", out: tTimestamp, null: true, k: i64Rows(func(r *row) (int64, error) {
		x, ok := truncTime(r.i64(1), truncLevel(r.bytes(0)), r.ctx.Conf.Zone)
		if !ok {
			return 0, errNull
		}
		return x, nil
	})}.build))
	add(fn("date_format(timestamp, fmt)", "The time as a pattern says.", sig{in: "ts", out: tString, fresh: func() Kernel {
		var fs dateFormats
		return bytesRows(func(r *row, dst []byte) ([]byte, error) {
			fs.policy = r.ctx.Conf.TimeParser
			f, err := fs.get(r.bytes(1))
			if err != nil {
				return dst, err
			}
			return f.appendTo(dst, r.i64(0), r.ctx.Conf.Zone), nil
		})
	}, extra: func(c *Call) error {
		if t := c.Args[0].Type(); t.Kind == types.Time {
			return errs.New("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", "sqlExpr", quoted(c.Args[0].String()), "srcType", quoted(t.SQL()),
				"targetType", `"TIMESTAMP"`)
		}
		return nil
	}}.build))
	add(fn("from_unixtime(sec[, fmt])", "A number of seconds since the epoch as a text.", sig{in: "ls", min: 1, defaults: []Expr{StringLit(unixPattern)}, out: tString,
		fresh: func() Kernel {
			var fs dateFormats
			return bytesRows(func(r *row, dst []byte) ([]byte, error) {
				fs.policy = r.ctx.Conf.TimeParser
				f, err := fs.get(r.bytes(1))
				if err != nil {
					return dst, err
				}
				return f.appendTo(dst, r.i64(0)*microsPerSecond, r.ctx.Conf.Zone), nil
			})
		}}.build))
	seconds := func(per int64) func(c *Call) (Expr, error) {
		return sig{in: "t", out: tBigInt, total: true, k: i64i64(func(x int64) int64 { return floorDiv(x, per) })}.build
	}
	add(fn("unix_seconds(timestamp)", "Seconds since the epoch.", seconds(microsPerSecond)))
	add(fn("unix_millis(timestamp)", "Milliseconds since the epoch.", seconds(1000)))
	add(fn("unix_micros(timestamp)", "Microseconds since the epoch.", seconds(1)))
	add(fn("unix_date(date)", "Days since the epoch.", sig{in: "D", out: tInt, total: true, k: i32i32(func(x int32) int32 { return x })}.build))
	add(fn("date_from_unix_date(days)", "The date so many days after the epoch.", sig{in: "i", out: tDate, total: true, k: i32i32(func(x int32) int32 { return x })}.build))
	add(fn("timestamp_seconds(seconds)", "The time so many seconds after the epoch.", buildTimestampSeconds))
	scaled := func(per int64) func(c *Call) (Expr, error) {
		return sig{in: "l", out: tTimestamp, k: i64Rows(func(r *row) (int64, error) {
			x, ok := mulI64(r.i64(0), per)
			if !ok {
				return 0, errs.New("INTERNAL_ERROR", "message", "long overflow")
			}
			return x, nil
		})}.build
	}
	add(fn("timestamp_millis(millis)", "The time so many milliseconds after the epoch.", scaled(1000)))
	add(fn("timestamp_micros(micros)", "The time so many microseconds after the epoch.", scaled(1)))
	add(fn("from_utc_timestamp(timestamp, timezone)", "The time whose reading is what the zone's clocks show.", zoneShift(1)))
	add(fn("to_utc_timestamp(timestamp, timezone)", "The time whose reading the zone's clocks showed, in UTC.", zoneShift(-1)))
	add(fn("convert_timezone([sourceTz, ]targetTz, sourceTs)", "A local time moved from one zone to another.", buildConvertTimezone))
	out = append(out, parseTimeFunctions()...)
	out = append(out, makeTimeFunctions()...)
	out = append(out, timeUnitFunctions()...)
	return append(out, currentFunctions()...)
}

const unixPattern = "yyyy-MM-dd HH:mm:ss"

func isoWeek(days int64) (year int64, week int) {
	thursday := days + 3 - int64(weekday(days)+6)%7
	y, _, _ := civil(thursday)
	return y, (dayOfYear(thursday)-1)/7 + 1
}

// clockBuilder is hour, minute and second of a timestamp or a TIME.
func clockBuilder(unit, mod int64) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if len(c.Args) == 1 && c.Args[0].Type().Kind == types.Time {
			if !c.Conf.TimeType {
				return nil, errs.New("UNSUPPORTED_TIME_TYPE")
			}
			return Strict(c.Name, tInt, c.Args, "", i64i32(func(x int64) int32 { return int32(x / 1000 / unit % mod) })), nil
		}
		return sig{in: "t", out: tInt, k: i32Rows(func(r *row) (int32, error) {
			return int32(floorMod(floorDiv(LocalMicros(r.i64(0), r.ctx.Conf.Zone), unit), mod)), nil
		})}.build(c)
	}
}

func dateAddBuilder(name string, sign int32) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		c2 := *c
		c = &c2
		c.copyArgs()
		text := callText(name, c.Args)
		if err := c.need(text, 0, tDate); err != nil {
			return nil, err
		}
		switch k := c.Args[1].Type().Kind; k {
		case types.Int, types.SmallInt, types.TinyInt:
		case types.String, types.Null:
			c.Args[1] = CastTo(c.Args[1], tInt, c.Conf)
		default:
			return nil, WrongType(text, 1, `("INT" or "SMALLINT" or "TINYINT")`, c.Args[1])
		}
		return Strict(name, tDate, c.Args, text, i32Rows(func(r *row) (int32, error) {
			return r.i32(0) + sign*int32(r.integral(1)), nil // wraps, as in Spark
		})), nil
	}
}

func dayOfWeekOf(s []byte) int {
	name := strings.ToUpper(strings.TrimSpace(string(s)))
	for i, d := range dayNames {
		d = strings.ToUpper(d)
		if name == d || name == d[:3] || name == d[:2] {
			return i
		}
	}
	return -1
}

func nextDayBuilder(c *Call) (Expr, error) {
	ansi := c.Conf.ANSI
	return sig{in: "Ds", out: tDate, null: !ansi, k: i32Rows(func(r *row) (int32, error) {
		w := dayOfWeekOf(r.bytes(1))
		if w < 0 {
			if ansi {
				return 0, errs.New("ILLEGAL_DAY_OF_WEEK", "string", string(r.bytes(1)))
			}
			return 0, errNull
		}
		d := int64(r.i32(0))
		return int32(d + 1 + floorMod(int64(w-weekday(d)-1), 7)), nil
	})}.build(c)
}

func monthsBetweenRow(r *row) (float64, error) {
	a, b := LocalMicros(r.i64(0), r.ctx.Conf.Zone), LocalMicros(r.i64(1), r.ctx.Conf.Zone)
	da, db := floorDiv(a, microsPerDay), floorDiv(b, microsPerDay)
	ya, ma, dda := civil(da)
	yb, mb, ddb := civil(db)
	months := float64((ya-yb)*12 + int64(ma-mb))
	if dda == ddb || dda == daysIn(ya, ma) && ddb == daysIn(yb, mb) {
		return months, nil
	}
	sec := int64(dda-ddb)*86400 + (a-da*microsPerDay)/microsPerSecond - (b-db*microsPerDay)/microsPerSecond
	d := months + float64(sec)/(31*86400)
	if r.bool(2) {
		d = math.Floor(d*1e8+0.5) / 1e8
	}
	return d, nil
}

// The levels of truncation, finest first.
const (
	truncInvalid = iota
	truncMicrosecond
	truncMillisecond
	truncSecond
	truncMinute
	truncHour
	truncDay
	truncWeek
	truncMonth
	truncQuarter
	truncYear
)

func truncLevel(s []byte) int {
	var buf [16]byte
	if len(s) > len(buf) {
		return truncInvalid
	}
	switch string(appendUpper(buf[:0], s)) {
	case "MICROSECOND":
		return truncMicrosecond
	case "MILLISECOND":
		return truncMillisecond
	case "SECOND":
		return truncSecond
	case "MINUTE":
		return truncMinute
	case "HOUR":
		return truncHour
	case "DAY", "DD":
		return truncDay
	case "WEEK":
		return truncWeek
	case "MON", "MONTH", "MM":
		return truncMonth
	case "QUARTER":
		return truncQuarter
	case "YEAR", "YYYY", "YY":
		return truncYear
	}
	return truncInvalid
}

func truncDate(d int64, level int) (int64, bool) {
	y, m, _ := civil(d)
	switch level {
	case truncWeek:
		return d - int64(weekday(d)+6)%7, true
	case truncMonth:
		return daysOf(y, m, 1), true
	case truncQuarter:
		return daysOf(y, (m-1)/3*3+1, 1), true
	case truncYear:
		return daysOf(y, 1, 1), true
	}
	return 0, false
}

func truncTime(us int64, level int, zone *time.Location) (int64, bool) {
	unit := int64(0)
	switch level {
	case truncInvalid:
		return 0, false
	case truncMicrosecond:
		return us, true
	case truncMillisecond:
		unit = 1000
	case truncSecond:
		unit = microsPerSecond
	case truncMinute:
		unit = microsPerMinute
	case truncHour:
		unit = microsPerHour
	}
	local := LocalMicros(us, zone)
	if unit > 0 { // the offset stays what it is within the hour
		return us - floorMod(local, unit), true
	}
	d := floorDiv(local, microsPerDay)
	if level > truncDay {
		d, _ = truncDate(d, level)
	}
	return InstantOf(d*microsPerDay, zone), true
}

func buildTimestampSeconds(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	t := c.Args[0].Type()
	overflow := errs.New("INTERNAL_ERROR", "message", "long overflow")
	switch {
	case t.Kind == types.Decimal:
		scale := t.Scale
		return Strict("timestamp_seconds", tTimestamp, c.Args, "", i64Rows(func(r *row) (int64, error) {
			v := r.args[0]
			n := v.Dec[v.Row(r.i)]
			if scale > 6 {
				if m := decTruncPow(n, scale-6); true {
					back, ok := decMulPow(m, scale-6)
					if !ok || back != n {
						return 0, errs.New("INTERNAL_ERROR", "message", "Rounding necessary")
					}
					n = m
				}
			} else {
				var ok bool
				if n, ok = decMulPow(n, 6-scale); !ok {
					return 0, overflow
				}
			}
			if !decIsInt64(n) {
				return 0, overflow
			}
			return int64(n.LowBits()), nil
		})), nil
	case t.Kind == types.Float || t.Kind == types.Double:
		return Strict("timestamp_seconds", tTimestamp, []Expr{CastTo(c.Args[0], tDouble, c.Conf)}, c.Text(), i64Rows(func(r *row) (int64, error) {
			x := r.f64(0)
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return 0, errNull
			}
			return int64(x * microsPerSecond), nil
		})), nil
	}
	return sig{in: "l", out: tTimestamp, k: i64Rows(func(r *row) (int64, error) {
		x, ok := mulI64(r.i64(0), microsPerSecond)
		if !ok {
			return 0, overflow
		}
		return x, nil
	})}.build(c)
}

// zones finds time zones by name and remembers the last one.
type zones struct {
	name string
	zone *time.Location
}

func (z *zones) get(name []byte) (*time.Location, error) {
	if z.zone != nil && z.name == string(name) {
		return z.zone, nil
	}
	zone, ok := ParseZone(string(name))
	if !ok {
		return nil, errs.New("INVALID_TIMEZONE", "timeZone", string(name))
	}
	z.name, z.zone = string(name), zone
	return zone, nil
}

func zoneShift(sign int) func(c *Call) (Expr, error) {
	return sig{in: "ts", out: tTimestamp, fresh: func() Kernel {
		var zs zones
		return i64Rows(func(r *row) (int64, error) {
			z, err := zs.get(r.bytes(1))
			if err != nil {
				return 0, err
			}
			session := r.ctx.Conf.Zone
			local := LocalMicros(r.i64(0), session)
			if sign > 0 { // the reading in UTC of the session's clock, moved to the zone
				return InstantOf(LocalMicros(local, z), session), nil
			}
			return InstantOf(InstantOf(local, z), session), nil
		})
	}}.build
}

func buildConvertTimezone(c *Call) (Expr, error) {
	if err := c.Arity(2, 3); err != nil {
		return nil, err
	}
	call := *c
	if len(c.Args) == 2 {
		now, err := BuildCall(&Call{Name: "current_timezone", Conf: c.Conf})
		if err != nil {
			return nil, err
		}
		call.Args = append([]Expr{now}, c.Args...)
	}
	return sig{in: "ssn", out: tNTZ, fresh: func() Kernel {
		var from, to zones
		return i64Rows(func(r *row) (int64, error) {
			a, err := from.get(r.bytes(0))
			if err != nil {
				return 0, err
			}
			b, err := to.get(r.bytes(1))
			if err != nil {
				return 0, err
			}
			return LocalMicros(InstantOf(r.i64(2), a), b), nil
		})
	}}.build(&call)
}

// currentFunctions are constants of the micro-batch.
func currentFunctions() []Function {
	now := func(ctx *EvalContext) int64 {
		if ctx.Task.NowMicros == 0 {
			return time.Now().UnixMicro()
		}
		return ctx.Task.NowMicros
	}
	constant := func(name string, t types.DataType, f func(ctx *EvalContext, dst *columnar.Vec)) func(c *Call) (Expr, error) {
		return func(c *Call) (Expr, error) {
			if err := c.Arity(0, 0); err != nil {
				return nil, err
			}
			s := NewScalar(name, t, false, nil, "", func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
				f(ctx, dst)
				return nil
			})
			s.PerBatch = true
			return s, nil
		}
	}
	date := constant("current_date", tDate, func(ctx *EvalContext, dst *columnar.Vec) {
		dst.I32[0] = int32(floorDiv(LocalMicros(now(ctx), ctx.Conf.Zone), microsPerDay))
	})
	instant := func(ctx *EvalContext, dst *columnar.Vec) { dst.I64[0] = now(ctx) }
	out := synonyms(fn("current_date()", "Date of the micro-batch in the session zone.", date), "curdate")
	out = append(out, fn("current_timestamp()", "Time of the micro-batch.", constant("current_timestamp", tTimestamp, instant)),
		fn("now()", "Time at which the query, or the micro-batch of a stream, was planned.", constant("now", tTimestamp,
			func(ctx *EvalContext, dst *columnar.Vec) {
				dst.I64[0] = now(ctx)
				if w := ctx.Task.WallMicros; w != 0 {
					dst.I64[0] = w
				}
			})),
		fn("localtimestamp()", "Local time of the micro-batch.", constant("localtimestamp", tNTZ, func(ctx *EvalContext, dst *columnar.Vec) {
			dst.I64[0] = LocalMicros(now(ctx), ctx.Conf.Zone)
		})),
		fn("current_time([precision])", "Time of day of the micro-batch.", func(c *Call) (Expr, error) {
			if err := c.Arity(0, 1); err != nil {
				return nil, err
			}
			p := int64(6)
			if len(c.Args) == 1 {
				n, ok := constInt(c.Args[0], c.Conf)
				if !ok || n < 0 || n > 6 {
					return nil, errs.New("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "sqlExpr", quoted(c.Text()), "exprName", "`precision`",
						"valueRange", "[0, 6]", "currentValue", c.Args[0].String())
				}
				p = n
			}
			t := tTime
			t.Precision = int32(p)
			unit := int64(1000)
			for ; p < 6; p++ {
				unit *= 10
			}
			s := NewScalar("current_time", t, false, nil, callText("current_time", []Expr{IntLit(t.Precision)}),
				func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
					ns := floorMod(LocalMicros(now(ctx), ctx.Conf.Zone), microsPerDay) * 1000
					dst.I64[0] = ns / unit * unit
					return nil
				})
			s.PerBatch = true
			return s, nil
		}),
		fn("current_timezone()", "The session time zone.", constant("current_timezone", tString, func(ctx *EvalContext, dst *columnar.Vec) {
			zone := ctx.Conf.Zone
			if zone == nil {
				zone = time.UTC
			}
			dst.Data = append(dst.Data, zone.String()...)
			dst.Off[1] = int32(len(dst.Data))
		})))
	return out
}
