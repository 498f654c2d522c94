package expr

import (
	"math"
	"unsafe"

	"streamlab/columnar"
	"streamlab/sql/types"
)

type momentFunction struct {
	name, doc string
	// result of n, mean and the second to fourth central moments; false is null
	result func(n, m2, m3, m4 float64) (float64, bool)
}

var momentFunctions = []momentFunction{
	{"stddev", "Standard deviation of a sample.", stddevSamp},
	{"std", "Standard deviation of a sample.", stddevSamp},
	{"stddev_samp", "Standard deviation of a sample.", stddevSamp},
	{"stddev_pop", "Standard deviation of a population.", func(n, m2, _, _ float64) (float64, bool) { return math.Sqrt(m2 / n), n > 0 }},
	{"variance", "Variance of a sample.", varSamp},
	{"var_samp", "Variance of a sample.", varSamp},
	{"var_pop", "Variance of a population.", func(n, m2, _, _ float64) (float64, bool) { return m2 / n, n > 0 }},
	{"skewness", "Skewness.", func(n, m2, m3, _ float64) (float64, bool) {
		return math.Sqrt(n) * m3 / math.Sqrt(m2*m2*m2), n > 0 && m2 != 0
	}},
	{"kurtosis", "Kurtosis minus 3.", func(n, m2, _, m4 float64) (float64, bool) { return n*m4/(m2*m2) - 3, n > 0 && m2 != 0 }},
}

func varSamp(n, m2, _, _ float64) (float64, bool) { return m2 / (n - 1), n > 1 }

func stddevSamp(n, m2, _, _ float64) (float64, bool) { return math.Sqrt(m2 / (n - 1)), n > 1 }

func buildMoments(c *Call) (*AggregateCall, error) {
	args, err := doubles(c, 1)
	if err != nil {
		return nil, err
	}
	for _, m := range momentFunctions {
		if m.name == c.Name {
			result := m.result
			if c.Conf.NaNStatistics {
				result = func(n, m2, m3, m4 float64) (float64, bool) {
					x, ok := m.result(n, m2, m3, m4)
					if !ok && n > 0 {
						return math.NaN(), true
					}
					return x, ok
				}
			}
			return c.aggregate(args, types.Of(types.Double), true, func() Aggregate { return momentsAgg{result} }), nil
		}
	}
	return nil, wrongArity(c.Name, "1", len(c.Args))
}

// doubles casts n arguments to DOUBLE.
func doubles(c *Call, n int) ([]Expr, error) {
	if err := c.Arity(n, n); err != nil {
		return nil, err
	}
	out := make([]Expr, n)
	for i, x := range c.Args {
		if t := x.Type(); !t.IsNumeric() && t.Kind != types.String && t.Kind != types.Null && t.Kind != types.Timestamp {
			return nil, WrongType(aggText(c.Name, c.Args, c.Distinct), i, `"DOUBLE"`, x)
		}
		out[i] = CastTo(x, types.Of(types.Double), c.Conf)
	}
	return out, nil
}

// momentsAgg: n, mean, m2, m3, m4.
type momentsAgg struct {
	result func(n, m2, m3, m4 float64) (float64, bool)
}

func (momentsAgg) Width() int  { return 40 }
func (momentsAgg) Refs() []int { return nil }

type moments struct{ n, mean, m2, m3, m4 float64 }

func (momentsAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	for k := range sel.N {
		i := sel.At(k)
		if v.IsNull(i) {
			continue
		}
		m := (*moments)(r.Ptr(groups[k], off))
		x := v.F64[v.Row(i)]
		n := m.n + 1
		delta := x - m.mean
		dn := delta / n
		m.mean += dn
		dn2 := dn * dn
		m.m2 += delta * (delta - dn)
		m.m3 += -3*dn*m.m2 + delta*(delta*delta-dn2)
		m.m4 += -4*dn*m.m3 - 6*dn2*m.m2 + delta*(delta*delta*delta-dn*dn2)
		m.n = n
	}
	return nil
}

func (momentsAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		a, b := (*moments)(into.Ptr(g, off)), *(*moments)(from.Ptr(fromGroups[k], fromOff))
		if b.n == 0 {
			continue
		}
		n1, n2 := a.n, b.n
		n := n1 + n2
		delta := b.mean - a.mean
		dn := 0.0
		if n != 0 {
			dn = delta / n
		}
		mean := a.mean + dn*n2
		m2 := a.m2 + b.m2 + delta*dn*n1*n2
		m3 := a.m3 + b.m3 + dn*dn*delta*n1*n2*(n1-n2) + 3*dn*(n1*b.m2-n2*a.m2)
		m4 := a.m4 + b.m4 + dn*dn*dn*delta*n1*n2*(n1*n1-n1*n2+n2*n2) + 6*dn*dn*(n1*n1*b.m2+n2*n2*a.m2) +
			4*dn*(n1*b.m3-n2*a.m3)
		*a = moments{n, mean, m2, m3, m4}
	}
	return nil
}

func (a momentsAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(types.Of(types.Double), len(groups))
	for k, g := range groups {
		m := (*moments)(r.Ptr(g, off))
		x, ok := a.result(m.n, m.m2, m.m3, m.m4)
		if !ok {
			SetNull(out, k)
			x = 0
		}
		out.F64[k] = x
	}
	return nil
}

// pairs holds what two-sided statistics need: for regr_*(y, x) the first argument is y.
type pairs struct{ n, xm, ym, ck, xmk, ymk float64 }

type pairFunction struct {
	name, doc string
	result    func(p *pairs, c Conf) (x float64, ok bool, err error)
}

var pairFunctions = []pairFunction{
	{"corr", "Correlation.", func(p *pairs, c Conf) (float64, bool, error) {
		if p.n == 0 {
			return 0, false, nil
		}
		if p.n == 1 {
			return math.NaN(), c.NaNStatistics, nil
		}
		d := math.Sqrt(p.xmk * p.ymk)
		if d == 0 {
			if c.ANSI {
				return 0, false, divideByZero("/")
			}
			return 0, false, nil
		}
		return p.ck / d, true, nil
	}},
	{"covar_pop", "Covariance of a population.", func(p *pairs, c Conf) (float64, bool, error) { return p.ck / p.n, p.n > 0, nil }},
	{"covar_samp", "Covariance of a sample.", func(p *pairs, c Conf) (float64, bool, error) {
		if p.n == 1 {
			return math.NaN(), c.NaNStatistics, nil
		}
		return p.ck / (p.n - 1), p.n > 1, nil
	}},
	{"regr_count", "Pairs without NULL.", nil},
	{"regr_avgx", "Mean of x of pairs without NULL.", func(p *pairs, c Conf) (float64, bool, error) { return p.ym, p.n > 0, nil }},
	{"regr_avgy", "Mean of y of pairs without NULL.", func(p *pairs, c Conf) (float64, bool, error) { return p.xm, p.n > 0, nil }},
	{"regr_sxx", "Sum of squares of x around its mean.", func(p *pairs, c Conf) (float64, bool, error) { return p.ymk, p.n > 0, nil }},
	{"regr_syy", "Sum of squares of y around its mean.", func(p *pairs, c Conf) (float64, bool, error) { return p.xmk, p.n > 0, nil }},
	{"regr_sxy", "Sum of products around the means.", func(p *pairs, c Conf) (float64, bool, error) { return p.ck, p.n > 0, nil }},
	{"regr_slope", "Slope of the line of best fit.", func(p *pairs, c Conf) (float64, bool, error) {
		return p.ck / p.ymk, p.n > 0 && p.ymk != 0, nil
	}},
	{"regr_intercept", "Intercept of the line of best fit.", func(p *pairs, c Conf) (float64, bool, error) {
		return p.xm - p.ck/p.ymk*p.ym, p.n > 0 && p.ymk != 0, nil
	}},
	{"regr_r2", "Share of the variance that the line explains.", func(p *pairs, c Conf) (float64, bool, error) {
		if p.n == 0 || p.ymk == 0 {
			return 0, false, nil
		}
		if p.xmk == 0 {
			return 1, true, nil
		}
		return p.ck * p.ck / (p.xmk * p.ymk), true, nil
	}},
}

func buildPair(c *Call) (*AggregateCall, error) {
	args, err := doubles(c, 2)
	if err != nil {
		return nil, err
	}
	if c.Name == "regr_count" {
		return c.aggregate(args, types.Of(types.BigInt), false, func() Aggregate { return countAgg{} }), nil
	}
	for _, f := range pairFunctions {
		if f.name == c.Name {
			conf := c.Conf
			return c.aggregate(args, types.Of(types.Double), true, func() Aggregate {
				return pairAgg{func(p *pairs) (float64, bool, error) { return f.result(p, conf) }}
			}), nil
		}
	}
	return nil, wrongArity(c.Name, "2", len(c.Args))
}

type pairAgg struct {
	result func(p *pairs) (float64, bool, error)
}

func (pairAgg) Width() int  { return int(unsafe.Sizeof(pairs{})) }
func (pairAgg) Refs() []int { return nil }

func (pairAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	a, b := args[0], args[1]
	for k := range sel.N {
		i := sel.At(k)
		if a.IsNull(i) || b.IsNull(i) {
			continue
		}
		p := (*pairs)(r.Ptr(groups[k], off))
		x, y := a.F64[a.Row(i)], b.F64[b.Row(i)]
		p.n++
		dx, dy := x-p.xm, y-p.ym
		p.xm += dx / p.n
		p.ym += dy / p.n
		p.ck += dx * (y - p.ym)
		p.xmk += dx * (x - p.xm)
		p.ymk += dy * (y - p.ym)
	}
	return nil
}

func (pairAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		a, b := (*pairs)(into.Ptr(g, off)), *(*pairs)(from.Ptr(fromGroups[k], fromOff))
		if b.n == 0 {
			continue
		}
		n := a.n + b.n
		dx, dy := b.xm-a.xm, b.ym-a.ym
		a.ck += b.ck + dx*dy*a.n*b.n/n
		a.xmk += b.xmk + dx*dx*a.n*b.n/n
		a.ymk += b.ymk + dy*dy*a.n*b.n/n
		a.xm += dx * b.n / n
		a.ym += dy * b.n / n
		a.n = n
	}
	return nil
}

func (a pairAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(types.Of(types.Double), len(groups))
	for k, g := range groups {
		x, ok, err := a.result((*pairs)(r.Ptr(g, off)))
		if err != nil {
			return err
		}
		if !ok {
			SetNull(out, k)
			x = 0
		}
		out.F64[k] = x
	}
	return nil
}
