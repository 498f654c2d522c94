package expr

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// timeOfDayFunctions convert TIME to numbers and back. TIME holds nanoseconds, to the microsecond.
func timeOfDayFunctions() []Function {
	from := func(name, doc string, nanos int64) Function {
		return fn(name+"(n)", doc, func(c *Call) (Expr, error) {
			if err := c.wantTime(1); err != nil {
				return nil, err
			}
			t := c.Args[0].Type()
			required := `"INTEGRAL"`
			ok := t.IsIntegral() || t.Kind == types.Null
			if name == "time_from_seconds" {
				required, ok = `"NUMERIC"`, t.IsNumeric() || t.Kind == types.Null
			}
			if !ok {
				return nil, WrongType(c.Text(), 0, required, c.Args[0])
			}
			call := *c
			call.copyArgs()
			if t.Kind == types.Null || t.IsIntegral() {
				call.Args[0] = CastTo(c.Args[0], tBigInt, c.Conf)
			} else if t.Kind == types.Float {
				call.Args[0] = CastTo(c.Args[0], tDouble, c.Conf)
			}
			return Strict(name, tTime, call.Args, c.Text(), i64Rows(func(r *row) (int64, error) { return timeOf(r, nanos) })), nil
		})
	}
	to := func(name, doc string, out types.DataType, nanos int64) Function {
		return fn(name+"(time)", doc, func(c *Call) (Expr, error) {
			if err := c.wantTime(1); err != nil {
				return nil, err
			}
			if k := c.Args[0].Type().Kind; k != types.Time && k != types.Null {
				return nil, WrongType(c.Text(), 0, `"TIME"`, c.Args[0])
			}
			call := *c
			call.copyArgs()
			call.Args[0] = CastTo(c.Args[0], tTime, c.Conf)
			k := i64Rows(func(r *row) (int64, error) { return r.i64(0) / nanos, nil })
			if out.Kind == types.Decimal {
				k = decRows(func(r *row) int64 { return r.i64(0) / 1000 })
			}
			return Strict(name, out, call.Args, c.Text(), k), nil
		})
	}
	return []Function{
		from("time_from_seconds", "TIME of a number of seconds since midnight.", 1e9),
		from("time_from_millis", "TIME of a number of milliseconds since midnight.", 1e6),
		from("time_from_micros", "TIME of a number of microseconds since midnight.", 1e3),
		to("time_to_seconds", "Seconds since midnight, with fraction.", types.DecimalOf(14, 6), 1e9),
		to("time_to_millis", "Milliseconds since midnight.", tBigInt, 1e6),
		to("time_to_micros", "Microseconds since midnight.", tBigInt, 1e3),
		fn("time_bucket(size, ts[, origin])", "Start of the bucket of an interval's size that a timestamp falls into.", buildTimeBucket),
	}
}

func (c *Call) wantTime(n int) error {
	if err := c.Arity(n, n); err != nil {
		return err
	}
	if !c.Conf.TimeType {
		return errs.New("UNSUPPORTED_TIME_TYPE")
	}
	return nil
}

// timeOf is the argument in units of so many nanoseconds as a time of day.
func timeOf(r *row, unit int64) (int64, error) {
	bad := func(text string) error {
		return errs.New("DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION", "rangeMessage", text)
	}
	out := func(n any) error {
		return bad(fmt.Sprintf("Invalid TIME value: must be between 00:00:00 and 23:59:59.999999999, but got %v nanoseconds", n))
	}
	v := r.args[0]
	i := v.Row(r.i)
	var n int64
	switch v.Type.Kind {
	case types.Double:
		f := v.F64[i]
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, bad("Cannot convert NaN or Infinite value to TIME")
		}
		if math.Abs(f) > 1e9 {
			return 0, out(new(big.Float).Mul(big.NewFloat(f), big.NewFloat(1e9)).Text('f', 0))
		}
		n = int64(f * 1e9)
	case types.Decimal:
		x := new(big.Int).Mul(v.Dec[i].BigInt(), big.NewInt(unit))
		x.Quo(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(v.Type.Scale)), nil))
		if !x.IsInt64() {
			return 0, out(x)
		}
		n = x.Int64()
	default:
		x, ok := mulI64(v.I64[i], unit)
		if !ok {
			return 0, out(new(big.Int).Mul(big.NewInt(v.I64[i]), big.NewInt(unit)))
		}
		n = x
	}
	if n < 0 || n >= 86400e9 {
		return 0, out(n)
	}
	return n / 1000 * 1000, nil
}

// buildTimeBucket is time_bucket: buckets of whole days or months begin in the session's zone.
func buildTimeBucket(c *Call) (Expr, error) {
	if err := c.Arity(2, 3); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	args := call.Args
	tk := args[1].Type().Kind
	if len(args) == 2 {
		if tk == types.TimestampNTZ {
			args = append(args, IntegralLit(0, types.TimestampNTZ))
		} else {
			args = append(args, TimestampLit(0, Conf{Zone: time.UTC}))
			args[2] = TimestampLit(epochIn(c.Conf.Zone), c.Conf)
		}
	}
	text := callText(c.Name, args)
	if k := args[0].Type().Kind; k != types.DayTime && k != types.YearMonth && k != types.Null {
		return nil, WrongType(text, 0, `("INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH")`, args[0])
	}
	const stamps = `"(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)"`
	if tk != types.Timestamp && tk != types.TimestampNTZ && tk != types.Null {
		return nil, WrongType(text, 1, stamps, args[1])
	}
	t := args[1].Type()
	if tk == types.Null {
		t = tTimestamp
		args[1] = CastTo(args[1], t, c.Conf)
	}
	if k := args[2].Type().Kind; k != t.Kind && k != types.Null {
		return nil, WrongType(text, 2, quoted(t.SQL()), args[2])
	}
	for i, name := range []string{"bucketSize", "", "origin"} {
		if name == "" {
			continue
		}
		if !Foldable(args[i]) {
			return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(text), "inputName", types.Quote(name),
				"inputType", quoted(args[i].Type().SQL()), "inputExpr", quoted(args[i].String()))
		}
	}
	if args[0].Type().Kind == types.Null {
		args[0] = CastTo(args[0], types.DataType{Kind: types.DayTime, From: types.Day, To: types.Second}, c.Conf)
	}
	args[2] = CastTo(args[2], t, c.Conf)
	size, err := Const(args[0], c.Conf)
	if err != nil {
		return nil, err
	}
	if size != nil && !size.Value.IsNull(0) && integralOrMonths(size.Value) <= 0 {
		return nil, errs.New("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "sqlExpr", quoted(text), "exprName", "`bucketSize`",
			"valueRange", "(0, inf)", "currentValue", args[0].String())
	}
	return Strict("time_bucket", t, args, text, i64Rows(func(r *row) (int64, error) {
		zone := r.ctx.Conf.Zone
		if zone == nil || t.Kind == types.TimestampNTZ {
			zone = time.UTC
		}
		return bucketStart(integralOrMonthsAt(r.args[0], r.i), r.args[0].Type.Kind == types.YearMonth, r.i64(1), r.i64(2), zone), nil
	})), nil
}

// epochIn is the instant at which the clocks of a zone showed 1970-01-01 00:00.
func epochIn(zone *time.Location) int64 {
	if zone == nil {
		return 0
	}
	return time.Date(1970, 1, 1, 0, 0, 0, 0, zone).UnixMicro()
}

func integralOrMonths(v *columnar.Vec) int64 { return integralOrMonthsAt(v, 0) }

func integralOrMonthsAt(v *columnar.Vec, i int) int64 {
	if v.Type.Kind == types.YearMonth {
		return int64(v.I32[v.Row(i)])
	}
	return v.I64[v.Row(i)]
}

func bucketStart(size int64, months bool, ts, origin int64, zone *time.Location) int64 {
	if !months && size%microsPerDay != 0 {
		return origin + floorDiv(ts-origin, size)*size
	}
	at := func(n int64) int64 {
		if months {
			x, _ := addLocal(origin, n*size, 0, 0, zone)
			return x
		}
		x, _ := addLocal(origin, 0, n*(size/microsPerDay), 0, zone)
		return x
	}
	per := size
	if months {
		per = size * 30 * microsPerDay
	}
	n := floorDiv(ts-origin, per)
	for at(n) > ts {
		n--
	}
	for at(n+1) <= ts {
		n++
	}
	return at(n)
}
