package expr

import (
	"fmt"
	"math"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// maxArray is the most elements an array may have.
const maxArray = math.MaxInt32 - 15

func buildSequence(c *Call) (Expr, error) {
	if err := c.Arity(2, 3); err != nil {
		return nil, err
	}
	text := c.Text()
	call := *c
	call.copyArgs()
	t, ok := CommonTypeAll(c.Args[:2], c.Conf)
	temporal := ok && t.IsDatetime()
	if len(c.Args) == 3 && ok && !temporal {
		t, ok = CommonTypeAll(c.Args, c.Conf)
	}
	if t.Kind == types.Null {
		t = tInt
	}
	wrong := func() error {
		return errs.New("DATATYPE_MISMATCH.SEQUENCE_WRONG_INPUT_TYPES", "sqlExpr", quoted(text), "functionName", "`sequence`",
			"startType", `("TIMESTAMP" or "TIMESTAMP_NTZ" or "DATE")`, "stepType", `("INTERVAL" or "INTERVAL YEAR TO MONTH" or "INTERVAL DAY TO SECOND")`,
			"otherStartType", `"INTEGRAL"`)
	}
	if !ok || !temporal && !t.IsIntegral() {
		return nil, wrong()
	}
	call.Args[0], call.Args[1] = CastTo(c.Args[0], t, c.Conf), CastTo(c.Args[1], t, c.Conf)
	if !temporal {
		if len(c.Args) == 3 {
			call.Args[2] = CastTo(c.Args[2], t, c.Conf)
		}
		return Strict("sequence", types.ArrayOf(t, false), call.Args, text, valueRows(integralSequence)), nil
	}
	if len(c.Args) == 3 && !c.Args[2].Type().IsInterval() {
		return nil, wrong()
	}
	return Strict("sequence", types.ArrayOf(t, false), call.Args, text, valueRows(temporalSequence)), nil
}

func badSequence(from, to, step any) error {
	return errs.New("INTERNAL_ERROR", "message", fmt.Sprintf("requirement failed: Illegal sequence boundaries: %v to %v by %v", from, to, step))
}

// appendIntegral adds a value of any integral or time type.
func (a *Appender) appendIntegral(x int64) {
	switch a.v.Phys {
	case columnar.PI8:
		a.v.I8 = append(a.v.I8, int8(x))
	case columnar.PI16:
		a.v.I16 = append(a.v.I16, int16(x))
	case columnar.PI32:
		a.v.I32 = append(a.v.I32, int32(x))
	default:
		a.v.I64 = append(a.v.I64, x)
	}
	a.mark(true)
}

func integralSequence(r *row, a *Appender) error {
	from, to, step := r.integral(0), r.integral(1), int64(1)
	if from > to {
		step = -1
	}
	if len(r.args) == 3 {
		step = r.integral(2)
	}
	if step == 0 && from != to || step > 0 && from > to || step < 0 && from < to {
		return badSequence(from, to, step)
	}
	n := uint64(1)
	if step > 0 {
		n += (uint64(to) - uint64(from)) / uint64(step)
	} else if step < 0 {
		n += (uint64(from) - uint64(to)) / -uint64(step)
	}
	if err := fitsArray("sequence", n); err != nil {
		return err
	}
	if err := fitsText(a.size() + int64(n)*a.Kid(0).width()); err != nil { // before a second is lost with it
		return err
	}
	for k := range int64(n) {
		if k%checkEvery == 0 {
			if err := a.fits(); err != nil {
				return err
			}
		}
		a.Kid(0).appendIntegral(from + k*step)
	}
	a.End()
	return nil
}

func temporalSequence(r *row, a *Appender) error {
	from, to := r.integral(0), r.integral(1)
	date := r.args[0].Type.Kind == types.Date
	var months, days, micros int64
	if len(r.args) == 2 {
		days = 1
		if from > to {
			days = -1
		}
	} else {
		s := r.args[2]
		i := s.Row(r.i)
		switch s.Type.Kind {
		case types.YearMonth:
			months = int64(s.I32[i])
		case types.DayTime:
			days, micros = s.I64[i]/microsPerDay, s.I64[i]%microsPerDay // whole days are days of the zone
		default:
			months, days, micros = int64(s.Kids[0].I32[i]), int64(s.Kids[1].I32[i]), s.Kids[2].I64[i]
		}
		if date {
			if micros%microsPerDay != 0 {
				name := s.Type.Simple()
				if s.Type.Kind == types.DayTime {
					name = "interval day to second"
				}
				return errs.New("_LEGACY_ERROR_TEMP_3242", "intervalType", name)
			}
			days, micros = days+micros/microsPerDay, 0
		}
	}
	zone := r.ctx.Conf.Zone
	start, stop := from, to
	if date {
		zone = time.UTC
		start, stop = from*microsPerDay, to*microsPerDay
	} else if r.args[0].Type.Kind == types.TimestampNTZ {
		zone = time.UTC
	}
	size := months*28*microsPerDay + days*microsPerDay + micros
	if size == 0 && start != stop || size > 0 && start > stop || size < 0 && start < stop {
		return badSequence(start, stop, size)
	}
	for k := int64(0); ; k++ {
		x, ok := addLocal(start, k*months, k*days, k*micros, zone)
		if !ok || size >= 0 && x > stop || size < 0 && x < stop {
			break
		}
		if k%checkEvery == 0 {
			if err := a.fits(); err != nil {
				return err
			}
		}
		if date {
			a.Kid(0).appendIntegral(floorDiv(x, microsPerDay))
		} else {
			a.Kid(0).appendIntegral(x)
		}
		if size == 0 {
			break
		}
	}
	a.End()
	return nil
}
