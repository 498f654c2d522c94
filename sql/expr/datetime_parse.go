package expr

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

func parseTimeFunctions() []Function {
	var out []Function
	both := func(name, doc string, t types.DataType) {
		out = append(out, fn(name+"(expr[, fmt])", doc, parseBuilder(t, false)))
		if name != "to_timestamp_ntz" && name != "to_timestamp_ltz" {
			out = append(out, fn("try_"+name+"(expr[, fmt])", doc+" Null for bad text.", parseBuilder(t, true)))
		}
	}
	both("to_date", "A DATE from a text.", tDate)
	both("to_timestamp", "A TIMESTAMP from a text.", tTimestamp)
	both("to_timestamp_ntz", "A TIMESTAMP_NTZ from a text.", tNTZ)
	both("to_timestamp_ltz", "A TIMESTAMP from a text.", tTimestamp)
	both("to_time", "A TIME from a text.", tTime)
	out = append(out, fn("unix_timestamp([expr[, fmt]])", "Seconds since the epoch of a text, date or timestamp.", buildUnixTimestamp),
		fn("to_unix_timestamp(expr[, fmt])", "Seconds since the epoch of a text, date or timestamp.", buildUnixTimestamp))
	return out
}

// CastAs begins the names of functions that are casts.
const CastAs = "cast_as_"

// castAs is CAST under the name of a function.
func castAs(e Expr, t types.DataType, m CastMode, c *Call) (Expr, error) {
	x, err := NewCast(e, t, m, c.Conf)
	if err != nil {
		return nil, err
	}
	s := x.(*Cast).scalar()
	s.Name, s.Text = CastAs+c.Name, c.Text()
	return s, nil
}

// parseBuilder is to_date and its kin: without a format a cast, else reading by pattern.
func parseBuilder(t types.DataType, try bool) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(1, 2); err != nil {
			return nil, err
		}
		t := t
		if c.Conf.NTZ && strings.HasSuffix(c.Name, "to_timestamp") {
			t = tNTZ
		}
		if t.Kind == types.Time {
			if !c.Conf.TimeType {
				return nil, errs.New("UNSUPPORTED_TIME_TYPE")
			}
			return buildToTime(c, try)
		}
		if len(c.Args) == 1 {
			m := Explicit
			if try {
				m = Try
			}
			a := c.Args[0]
			switch k := a.Type(); {
			case k.Kind == types.Null || k.Kind == types.String || k.IsDatetime():
			case t.Kind == types.Timestamp && k.IsNumeric():
			default: // anything else is a text first
				text, ok := ImplicitCast(a, tString, c.Conf)
				if !ok {
					break
				}
				a = text
			}
			if k := a.Type().Kind; try && k != types.String {
				m = Explicit
			}
			return castAs(a, t, m, c)
		}
		e, err := parseByPattern(c, c.Args[0], c.Args[1], t, try || !c.Conf.ANSI)
		return e, err
	}
}

func cannotParse(t types.DataType, problem string) error {
	f := "`try_to_timestamp`"
	if t.Kind == types.Date {
		f = "`try_to_date`"
	}
	return errs.New("CANNOT_PARSE_TIMESTAMP", "func", f, "message", problem)
}

// parseByPattern reads a text by pattern; dates and timestamps are taken as they are.
func parseByPattern(c *Call, in, format Expr, t types.DataType, lenient bool) (Expr, error) {
	call := *c
	call.Args = []Expr{in, format}
	text := c.Text()
	switch in.Type().Kind {
	case types.Date, types.Timestamp, types.TimestampNTZ:
		return castAs(in, t, Explicit, c)
	}
	if err := call.need(text, 0, tString); err != nil {
		return nil, WrongType(text, 0, `("STRING" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ")`, in)
	}
	if err := call.need(text, 1, tString); err != nil {
		return nil, err
	}
	s := Strict(c.Name, t, call.Args, text, nil)
	s.Null = s.Null || lenient
	s.Extra = "pattern"
	s.Fresh = func() Kernel {
		fs := dateFormats{parsing: true, policy: c.Conf.TimeParser}
		if t.Kind == types.TimestampNTZ { // a type that Spark 2.4 did not have
			fs.policy = CorrectedParser
		}
		read := func(r *row) (dateParts, error) {
			f, err := fs.get(r.bytes(1))
			if err != nil {
				return dateParts{}, err
			}
			p, problem := f.parse(r.bytes(0))
			if problem != "" {
				if err := f.conflict(r.bytes(0)); err != nil {
					return p, err
				}
				if lenient {
					return p, errNull
				}
				return p, cannotParse(t, problem)
			}
			return p, nil
		}
		if t.Kind == types.Date {
			return i32Rows(func(r *row) (int32, error) {
				p, err := read(r)
				if err != nil {
					return 0, err
				}
				if p.zone != nil {
					return int32(floorDiv(LocalMicros(p.instant(nil), r.ctx.Conf.Zone), microsPerDay)), nil
				}
				return int32(p.days()), nil
			})
		}
		return i64Rows(func(r *row) (int64, error) {
			p, err := read(r)
			if err != nil {
				return 0, err
			}
			switch t.Kind {
			case types.TimestampNTZ:
				return p.local(), nil
			case types.BigInt:
				return floorDiv(p.instant(r.ctx.Conf.Zone), microsPerSecond), nil
			}
			return p.instant(r.ctx.Conf.Zone), nil
		})
	}
	return s, nil
}

func buildUnixTimestamp(c *Call) (Expr, error) {
	min := 1
	if c.Name == "unix_timestamp" {
		min = 0
	}
	if err := c.Arity(min, 2); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	if len(call.Args) == 0 {
		now, err := BuildCall(&Call{Name: "current_timestamp", Conf: c.Conf})
		if err != nil {
			return nil, err
		}
		call.Args = []Expr{now}
	}
	call.fill(2, []Expr{StringLit(unixPattern)})
	in := call.Args[0]
	switch in.Type().Kind {
	case types.Date, types.Timestamp, types.TimestampNTZ:
		ts := CastTo(in, tTimestamp, c.Conf)
		return Strict(c.Name, tBigInt, []Expr{ts}, call.Text(), i64i64(func(x int64) int64 { return x / microsPerSecond })), nil // cut, not rounded down
	}
	return parseByPattern(&call, in, call.Args[1], tBigInt, !c.Conf.ANSI)
}

func buildToTime(c *Call, try bool) (Expr, error) {
	text := c.Text()
	if try {
		text = c.Name + "(" + callText("to_time", c.Args) + ")"
	}
	for i, a := range c.Args {
		if k := a.Type().Kind; k != types.String && k != types.Null {
			return nil, WrongType(callText("to_time", c.Args), i, `"STRING"`, a)
		}
	}
	s, err := sig{in: "ss", min: 1, out: tTime, null: try, fresh: func() Kernel {
		fs := dateFormats{parsing: true}
		return i64Rows(func(r *row) (int64, error) {
			format := "HH:mm:ss.SSSSSS"
			if len(r.args) > 1 {
				format = string(r.bytes(1))
				f, err := fs.get(r.bytes(1))
				if err != nil {
					return 0, err
				}
				if p, problem := f.parse(r.bytes(0)); problem == "" {
					return floorMod(p.local(), microsPerDay) * 1000, nil
				}
			} else if ns, ok := ParseTimeOfDay(r.bytes(0)); ok {
				return ns, nil
			}
			if try {
				return 0, errNull
			}
			return 0, errs.New("CANNOT_PARSE_TIME", "input", quoteSQL(string(r.bytes(0))), "format", quoteSQL(format))
		})
	}}.build(c)
	if x, ok := s.(*Scalar); ok {
		x.Text = text
	}
	return s, err
}
