package exec

import (
	"math"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// A bound gives the time at or before which rows of a join side cannot match any more, from the watermark
// that reaches the join: both in microseconds.
type bound struct {
	moves  bool // with the watermark
	offset int64
	column int  // that is bounded
	exact  bool // the condition adds and compares, so that the bound holds for any two rows
}

func (b bound) at(w int64) int64 {
	if b.moves {
		return w + b.offset
	}
	return b.offset
}

// sideBounds derives from the conjuncts of a join condition what bounds a side from below, when the event
// time of the other side, column y, is past the watermark; columns are of both sides' schema and in says
// which are of the bounded side. As in Spark the bounded column need not be the side's event time, and the
// lowest bound counts. Conjuncts are taken as linear, which is tried by evaluating them at a few times; those
// that are something else, subtract times, or contain months, do not count.
func sideBounds(conjuncts []expr.Expr, both types.Schema, in func(column int) bool, y int, c expr.Conf) []bound {
	c.Zone = nil
	var out []bound
	for _, e := range conjuncts {
		s, isScalar := e.(*expr.Scalar)
		if !isScalar || len(s.Args) != 2 {
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
		x, ok := boundedColumn(e, in, y)
		if !ok || !usable(e) {
			continue
		}
		f, err := difference(lo, hi, both, x, y, c)
		if err != nil {
			continue
		}
		const at, second = 1_600_000_000_000_000, 1_000_000
		f0, ok0 := f(at, at)
		fx, okx := f(at+second, at)
		fy, oky := f(at, at+second)
		if !ok0 || !okx || !oky || fx >= f0 { // lo < hi must say that x is greater than something
			continue
		}
		slope := (fx - f0) / second
		n := bound{offset: int64(math.Round(at - f0/slope)), column: x, exact: addsOnly(s.Args)}
		switch ratio := -(fy - f0) / (fx - f0); {
		case ratio == 0:
		case math.Abs(ratio-1) < 1e-9:
			n.moves, n.offset = true, n.offset-at
		default:
			continue
		}
		if !strict {
			n.offset -= 1000
		}
		out = append(out, n)
	}
	return out
}

// addsOnly says that expressions are times to which durations are added.
func addsOnly(es []expr.Expr) bool {
	ok := true
	for _, e := range es {
		expr.Walk(e, func(e expr.Expr) bool {
			switch x := e.(type) {
			case *expr.Column, *expr.Literal:
			case *expr.Scalar:
				ok = ok && x.Name == "timestamp_add_dt" // days are 24 hours there, whatever the zone
			default:
				ok = false
			}
			return ok
		})
	}
	return ok
}

// boundedColumn is the one column of the bounded side in e; ok is false if there are more, or others than
// column y of the other side.
func boundedColumn(e expr.Expr, in func(int) bool, y int) (x int, ok bool) {
	x, ok = -1, expr.Deterministic(e)
	expr.Walk(e, func(e expr.Expr) bool {
		if c, is := e.(*expr.Column); is && c.Index != y {
			ok = ok && in(c.Index) && (x < 0 || x == c.Index)
			x = c.Index
		}
		return ok
	})
	return x, ok && x >= 0
}

// usable rules out months and intervals that are computed from columns.
func usable(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(e expr.Expr) bool {
		if !e.Type().IsInterval() {
			return ok
		}
		if e.Type().Kind == types.YearMonth {
			ok = false
		}
		expr.Walk(e, func(e expr.Expr) bool {
			if _, is := e.(*expr.Column); is {
				ok = false
			}
			if l, is := e.(*expr.Literal); is && l.Type().Kind == types.Calendar &&
				(l.Value.IsNull(0) || l.Value.Kids[0].I32[0] != 0) {
				ok = false
			}
			return ok
		})
		return ok
	})
	return ok
}

// difference evaluates lo - hi for given times in columns x and y.
func difference(lo, hi expr.Expr, both types.Schema, x, y int, c expr.Conf) (func(tx, ty int64) (float64, bool), error) {
	p, err := expr.Compile([]expr.Expr{lo, hi}, both, c)
	if err != nil {
		return nil, err
	}
	return func(tx, ty int64) (float64, bool) {
		cols := make([]columnar.Vec, len(both))
		for i, f := range both {
			cols[i] = *nullVec(f.Type, 1)
			t := tx
			if i == y {
				t = ty
			} else if i != x {
				continue
			}
			if cols[i].Phys != columnar.PI64 {
				return 0, false
			}
			cols[i].Valid, cols[i].I64[0] = nil, t
		}
		vs, err := p.Eval(cols, columnar.AllRows(1))
		if err != nil || vs[0].IsNull(0) || vs[1].IsNull(0) {
			return 0, false
		}
		a, okA := number(vs[0])
		b, okB := number(vs[1])
		return a - b, okA && okB
	}, nil
}

func number(v *columnar.Vec) (float64, bool) {
	switch v.Phys {
	case columnar.PI64:
		return float64(v.I64[0]), true
	case columnar.PF64:
		return v.F64[0], true
	case columnar.PI32:
		return float64(v.I32[0]), true
	case columnar.PDec:
		return v.Dec[0].ToFloat64(v.Type.Scale), true
	}
	return 0, false
}
