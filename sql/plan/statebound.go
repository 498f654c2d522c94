package plan

import (
	"math"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// A StateBound gives the time at or before which rows of one side of a stream-stream join leave its state, from
// the watermark that reaches the join. Times are in microseconds.
type StateBound struct {
	Moves  bool // with the watermark
	Offset int64
	Column int  // that is bounded
	Exact  bool // less than a day is added to times, so that the bound holds for any two rows
}

// At is the bound when the watermark is w: whole milliseconds.
func (b StateBound) At(w int64) int64 {
	if b.Moves {
		return (w + b.Offset) / 1000 * 1000
	}
	return b.Offset / 1000 * 1000
}

// StateBounds derives what bounds a side of a join from below when the event time of the other side, column y, is
// past the watermark. Columns are those of both sides together, and own says which are of the bounded side. Of
// several bounds the lowest counts. With folded, constants are computed first, as they are when a query runs but
// not when it is checked.
//
// A comparison counts if it says that one column of the side, whichever, is greater than a sum of the event time,
// numbers, which are seconds, and intervals without months (Spark's StreamingJoinHelper).
func StateBounds(conjuncts []expr.Expr, own func(column int) bool, y int, folded bool, c expr.Conf) []StateBound {
	var out []StateBound
	for _, e := range conjuncts {
		s, ok := strip(e).(*expr.Scalar)
		if !ok || len(s.Args) != 2 {
			continue
		}
		lo, hi, strict := s.Args[0], s.Args[1], true
		switch s.Name {
		case "<":
		case "<=":
			strict = false
		case ">":
			lo, hi = hi, lo
		case ">=":
			lo, hi, strict = hi, lo, false
		default:
			continue
		}
		t := terms{own: own, y: y, folded: folded, conf: c}
		t.add(lo, 1)
		t.add(hi, -1)
		// lo - hi < 0 has to say that the column is greater than the rest.
		if t.unusable || t.columns != 1 || t.sign != -1 || t.times < 0 || t.times > 1 {
			continue
		}
		b := StateBound{Moves: t.times == 1, Offset: int64(t.constant), Column: t.column, Exact: !t.inexact}
		if !strict {
			b.Offset -= 1000
		}
		out = append(out, b)
	}
	return out
}

// terms is a sum that is taken apart: columns of the bounded side, event times of the other side, and the rest.
type terms struct {
	own    func(column int) bool
	y      int
	folded bool
	conf   expr.Conf

	columns  int // how often one of the bounded side occurs
	column   int // the last of them
	sign     int // of it
	times    int // event times, less those that are subtracted
	constant float64
	unusable bool
	inexact  bool
}

// add takes e apart, times sign.
func (t *terms) add(e expr.Expr, sign int) {
	switch x := e.(type) {
	case *expr.Column:
		switch {
		case x.Index == t.y:
			t.times += sign
		case t.own(x.Index):
			t.columns++
			t.column, t.sign = x.Index, sign
		default:
			t.unusable = true
		}
		return
	case *expr.Cast:
		t.inexact = true
		if k := x.To.Kind; k == types.Timestamp || x.To.IsNumeric() {
			t.add(x.Child, sign)
			return
		}
	case *expr.Literal:
		v, ok := span(x)
		t.constant += float64(sign) * v
		t.inexact = t.inexact || math.Abs(v) >= 24*3600*1e6 // days follow the clock of the session's zone
		t.unusable = t.unusable || !ok
		return
	case *expr.Scalar:
		if n, k := len(x.Args), x.Type().Kind; n > 0 && (k == types.Timestamp || k == types.TimestampNTZ || x.Type().IsNumeric()) {
			t.inexact = t.inexact || x.Name != "timestamp_add_dt" && x.Name != "timestamp_sub_dt"
			switch x.Name {
			case "+", "timestamp_add_dt", "timestamp_add_interval":
				t.add(x.Args[0], sign)
				t.add(x.Args[n-1], sign)
				return
			case "-", "timestamp_sub_dt", "timestamp_sub_interval":
				t.add(x.Args[0], sign)
				t.add(x.Args[n-1], -sign)
				return
			case "negative":
				t.add(x.Args[0], -sign)
				return
			}
		}
	}
	if t.folded && Timeless(e) {
		if l, err := expr.Const(e, t.conf); err == nil && l != nil {
			t.add(l, sign)
			return
		}
	}
	t.unusable = true
}

// span is a constant as a span of time; false if it is null or none.
func span(l *expr.Literal) (float64, bool) {
	v := l.Value
	if v.IsNull(0) {
		return 0, false
	}
	const second = 1e6
	switch l.Type().Kind {
	case types.DayTime:
		return float64(v.I64[0]), true
	case types.Calendar:
		return float64(v.Kids[1].I32[0])*24*3600*second + float64(v.Kids[2].I64[0]), v.Kids[0].I32[0] == 0
	}
	if !l.Type().IsNumeric() {
		return 0, false
	}
	switch v.Phys {
	case columnar.PI64:
		return float64(v.I64[0]) * second, true
	case columnar.PI32:
		return float64(v.I32[0]) * second, true
	case columnar.PI16:
		return float64(v.I16[0]) * second, true
	case columnar.PI8:
		return float64(v.I8[0]) * second, true
	case columnar.PF32:
		return float64(v.F32[0]) * second, true
	case columnar.PF64:
		return v.F64[0] * second, !math.IsNaN(v.F64[0]) && !math.IsInf(v.F64[0], 0)
	case columnar.PDec:
		return v.Dec[0].ToFloat64(v.Type.Scale) * second, true
	}
	return 0, false
}
