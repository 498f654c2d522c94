package expr

import (
	"math"
	"unsafe"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func aggregateFunctions() []Function {
	f := func(name, sig, doc string, build func(c *Call) (*AggregateCall, error)) Function {
		return Function{Name: name, Kind: AggregateFunction, Signature: sig, Doc: doc, Portable: true,
			BuildAggregate: func(c *Call) (*AggregateCall, error) { return finishAggregate(c, build) }}
	}
	fs := []Function{
		f("count", "count(*) or count(a, ...)", "Rows in which no argument is NULL.", buildCount),
		f("count_if", "count_if(condition)", "Rows for which the condition is true.", buildCountIf),
		f("sum", "sum(a)", "Sum of the values.", buildSum),
		f("try_sum", "try_sum(a)", "Sum of the values; NULL on overflow.", buildSum),
		f("avg", "avg(a)", "Mean of the values.", buildAvg),
		f("mean", "mean(a)", "Mean of the values.", buildAvg),
		f("try_avg", "try_avg(a)", "Mean of the values; NULL on overflow.", buildAvg),
		f("min", "min(a)", "Least value.", buildMinMax),
		f("max", "max(a)", "Greatest value.", buildMinMax),
		f("min_by", "min_by(a, b[, k])", "a of the row with the least b.", buildMinMaxBy),
		f("max_by", "max_by(a, b[, k])", "a of the row with the greatest b.", buildMinMaxBy),
		f("first", "first(a[, ignoreNulls])", "a of the first row.", buildFirstLast),
		f("first_value", "first_value(a[, ignoreNulls])", "a of the first row.", buildFirstLast),
		f("any_value", "any_value(a[, ignoreNulls])", "a of some row.", buildFirstLast),
		f("last", "last(a[, ignoreNulls])", "a of the last row.", buildFirstLast),
		f("last_value", "last_value(a[, ignoreNulls])", "a of the last row.", buildFirstLast),
		f("collect_list", "collect_list(a)", "Array of the values that are not NULL.", buildCollect),
		f("array_agg", "array_agg(a)", "Array of the values that are not NULL.", buildCollect),
		f("collect_set", "collect_set(a)", "Array of the different values that are not NULL.", buildCollect),
		f("listagg", "listagg(a[, separator])", "Values joined to one text.", buildListAgg),
		f("string_agg", "string_agg(a[, separator])", "Values joined to one text.", buildListAgg),
		f("approx_count_distinct", "approx_count_distinct(a[, rsd])", "Estimate of the number of different values.", buildApproxCount),
		f("median", "median(a)", "Value in the middle, interpolated.", buildPercentile),
		f("percentile", "percentile(a, p[, frequency])", "Exact percentile, interpolated.", buildPercentile),
		f("percentile_cont", "percentile_cont(p) WITHIN GROUP (ORDER BY a)", "Percentile, interpolated.", buildPercentileWithin),
		f("percentile_disc", "percentile_disc(p) WITHIN GROUP (ORDER BY a)", "Percentile that is a value.", buildPercentileWithin),
		f("percentile_approx", "percentile_approx(a, p[, accuracy])", "Percentile that is a value.", buildPercentileApprox),
		f("approx_percentile", "approx_percentile(a, p[, accuracy])", "Percentile that is a value.", buildPercentileApprox),
		f("mode", "mode(a[, deterministic])", "The most frequent value.", buildMode),
		f("bit_and", "bit_and(a)", "Bits set in all values.", buildBits),
		f("bit_or", "bit_or(a)", "Bits set in a value.", buildBits),
		f("bit_xor", "bit_xor(a)", "Bits set in an odd number of values.", buildBits),
		f("histogram_numeric", "histogram_numeric(a, n)", "Histogram of n bins.", buildHistogram),
		f("approx_top_k", "approx_top_k(a[, k[, maxItems]])", "The k most frequent values.", buildTopK),
	}
	for _, name := range []string{"bool_and", "every", "bool_or", "some", "any"} {
		fs = append(fs, f(name, name+"(condition)", "Whether the condition holds for all or some rows.", buildBool))
	}
	for _, m := range momentFunctions {
		fs = append(fs, f(m.name, m.name+"(a)", m.doc, buildMoments))
	}
	for _, m := range pairFunctions {
		fs = append(fs, f(m.name, m.name+"(a, b)", m.doc, buildPair))
	}
	return fs
}

// finishAggregate builds a call and applies what is the same for all: text, FILTER, DISTINCT.
func finishAggregate(c *Call, build func(c *Call) (*AggregateCall, error)) (*AggregateCall, error) {
	switch c.Name {
	case "first", "first_value", "any_value", "last", "last_value":
	case "collect_list", "collect_set", "array_agg": // which skip NULL anyway
	default:
		if c.IgnoreNulls {
			return nil, unsupportedSyntax(c, "IGNORE NULLS")
		}
	}
	if c.WithinGroup != nil {
		switch c.Name {
		case "listagg", "string_agg", "percentile_cont", "percentile_disc", "mode":
		default:
			return nil, unsupportedSyntax(c, "WITHIN GROUP (ORDER BY ...)")
		}
	}
	a, err := build(c)
	if err != nil {
		return nil, err
	}
	for _, x := range a.Args {
		if !Deterministic(x) {
			return nil, errs.New("AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION", "sqlExpr", quoted(a.Text))
		}
	}
	if c.Filter != nil {
		if c.Filter.Type().Kind != types.Boolean {
			return nil, errs.New("INVALID_AGGREGATE_FILTER.NOT_BOOLEAN", "filterExpr", quoted(c.Filter.String()))
		}
		a.Filter = c.Filter
		a.Text += " FILTER (WHERE " + c.Filter.String() + ")"
	}
	a.Distinct = c.Distinct
	a.Extra += a.Text
	if c.Distinct && !ignoresDuplicates(c.Name) {
		inner, ts := a.New, make([]types.DataType, len(a.Args))
		for i, x := range a.Args {
			ts[i] = x.Type()
		}
		a.New = func() Aggregate { return newDistinct(inner(), ts) }
	}
	return a, nil
}

// aggregates reports whether something below e is computed by an operator of its own, such as an aggregate.
func aggregates(e Expr) bool {
	found := false
	Walk(e, func(x Expr) bool {
		switch x.(type) {
		case *Column, *Literal, *Scalar, *Higher, *Lazy, *Cast, *Alias, *Lambda, *LambdaVar:
		default:
			found = true
		}
		return !found
	})
	return found
}

func ignoresDuplicates(name string) bool {
	switch name {
	case "min", "max", "bool_and", "bool_or", "every", "some", "any", "collect_set", "bit_and", "bit_or",
		"approx_count_distinct":
		return true
	}
	return false
}

func unsupportedSyntax(c *Call, syntax string) error {
	return errs.New("INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", "prettyName", types.Quote(c.Name), "syntax", syntax)
}

// aggText prints name(DISTINCT args).
func aggText(name string, args []Expr, distinct bool) string {
	t := callText(name, args)
	if distinct {
		return name + "(DISTINCT " + t[len(name)+1:]
	}
	return t
}

func (c *Call) aggregate(args []Expr, out types.DataType, null bool, make func() Aggregate) *AggregateCall {
	return &AggregateCall{Name: c.Name, Args: args, Out: out, Null: null, Text: aggText(c.Name, c.Args, c.Distinct), New: make}
}

func i64p(r *columnar.Records, g uint32, off int) *int64 { return (*int64)(r.Ptr(g, off)) }

// at points to byte off behind p, within the same record.
func at[T any](p unsafe.Pointer, off uintptr) *T { return (*T)(unsafe.Add(p, off)) }

// anyNull reports whether row i is null in one of the arguments.
func anyNull(args []*columnar.Vec, i int) bool {
	for _, a := range args {
		if a.IsNull(i) {
			return true
		}
	}
	return false
}

// withoutNulls reports whether no argument has a null: then loops need not look.
func withoutNulls(args []*columnar.Vec) bool {
	for _, a := range args {
		if a.Phys == columnar.PNull || a.Valid != nil {
			return false
		}
	}
	return true
}

// ---- count

type countAgg struct{ condition bool }

func buildCount(c *Call) (*AggregateCall, error) {
	if len(c.Args) == 0 {
		return nil, errs.New("WRONG_NUM_ARGS.WITH_SUGGESTION", "functionName", "`count`", "expectedNum", " >= 1",
			"actualNum", 0, "legacyNum", 0, "legacyConfKey", `"spark.sql.legacy.allowParameterlessCount"`,
			"legacyConfValue", `"true"`)
	}
	a := c.aggregate(c.Args, types.Of(types.BigInt), false, func() Aggregate { return countAgg{} })
	return a, nil
}

func buildCountIf(c *Call) (*AggregateCall, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	x := c.Args[0]
	if k := x.Type().Kind; k != types.Boolean && k != types.Null {
		return nil, WrongType(c.Text(), 0, `"BOOLEAN"`, x)
	}
	args := []Expr{CastTo(x, types.Of(types.Boolean), c.Conf)}
	return c.aggregate(args, types.Of(types.BigInt), false, func() Aggregate { return countAgg{condition: true} }), nil
}

func (countAgg) Width() int  { return 8 }
func (countAgg) Refs() []int { return nil }

func (a countAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	if !a.condition && withoutNulls(args) {
		for _, g := range groups[:sel.N] {
			*i64p(r, g, off)++
		}
		return nil
	}
	for k := range sel.N {
		i := sel.At(k)
		if anyNull(args, i) || a.condition && !args[0].Bool(i) {
			continue
		}
		*i64p(r, groups[k], off)++
	}
	return nil
}

func (countAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		*i64p(into, g, off) += *i64p(from, fromGroups[k], fromOff)
	}
	return nil
}

func (countAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(types.Of(types.BigInt), len(groups))
	for k, g := range groups {
		out.I64[k] = *i64p(r, g, off)
	}
	return nil
}

// ---- sum

const numericOrAnsiInterval = `"NUMERIC" or "ANSI INTERVAL"`

// summable casts the argument of sum and avg: strings, NULL and timestamps become DOUBLE.
func summable(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	x := c.Args[0]
	switch t := x.Type(); {
	case t.IsNumeric(), t.Kind == types.DayTime, t.Kind == types.YearMonth:
		return x, nil
	case t.Kind == types.String, t.Kind == types.Null, t.Kind == types.Timestamp:
		return CastTo(x, types.Of(types.Double), c.Conf), nil
	}
	return nil, WrongType(aggText(c.Name, c.Args, c.Distinct), 0, numericOrAnsiInterval, x)
}

func buildSum(c *Call) (*AggregateCall, error) {
	x, err := summable(c)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	try := c.Name == "try_sum"
	check := c.Conf.ANSI || try || t.IsInterval()
	switch {
	case t.IsIntegral():
		out := types.Of(types.BigInt)
		x = CastTo(x, out, c.Conf)
		return c.aggregate([]Expr{x}, out, true, func() Aggregate { return &sumAgg{out: out, try: try, check: check} }), nil
	case t.IsFractional():
		x = CastTo(x, types.Of(types.Double), c.Conf)
		return c.aggregate([]Expr{x}, x.Type(), true, func() Aggregate { return sumDouble{} }), nil
	case t.Kind == types.Decimal:
		out := types.DecimalOf(min(38, t.Precision+10), t.Scale)
		return c.aggregate([]Expr{x}, out, true, func() Aggregate { return &sumDecimal{out: out, try: try || !c.Conf.ANSI} }), nil
	}
	return c.aggregate([]Expr{x}, t, true, func() Aggregate { return &sumAgg{out: t, try: try, check: true} }), nil
}

// sumAgg adds up 64-bit numbers or intervals of both classes: sum, then flags (1 seen, 2 overflow).
type sumAgg struct {
	out        types.DataType
	try, check bool
}

func (*sumAgg) Width() int  { return 16 }
func (*sumAgg) Refs() []int { return nil }

func (a *sumAgg) overflow() error {
	if a.out.IsInterval() {
		return errs.New("INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION", "functionName", "`try_add`")
	}
	return overflowError("overflow", "try_add")
}

func (a *sumAgg) add(p unsafe.Pointer, x int64) error {
	s := at[int64](p, 0)
	r, ok := addI64(*s, x)
	if a.out.Kind == types.YearMonth && r != int64(int32(r)) {
		ok = false
	}
	*s = r
	*at[int64](p, 8) |= 1
	if !ok && a.check {
		if !a.try {
			return a.overflow()
		}
		*at[int64](p, 8) |= 2
	}
	return nil
}

func (a *sumAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	if v.Phys == columnar.PNull {
		return nil
	}
	if sel.All && v.Valid == nil && !v.Const && v.Phys == columnar.PI64 && !a.try {
		var bad int64
		for k, x := range v.I64[:sel.N] {
			p := r.Ptr(groups[k], off)
			s := at[int64](p, 0)
			sum := *s + x
			bad |= (*s ^ sum) & (x ^ sum)
			*s = sum
			*at[int64](p, 8) = 1
		}
		if bad < 0 && a.check {
			return a.overflow()
		}
		return nil
	}
	for k := range sel.N {
		i := sel.At(k)
		if v.IsNull(i) {
			continue
		}
		if err := a.add(r.Ptr(groups[k], off), i64At(v, v.Row(i))); err != nil {
			return err
		}
	}
	return nil
}

func (a *sumAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		q := from.Ptr(fromGroups[k], fromOff)
		flags := *at[int64](q, 8)
		if flags == 0 {
			continue
		}
		p := into.Ptr(g, off)
		*at[int64](p, 8) |= flags
		if err := a.add(p, *at[int64](q, 0)); err != nil {
			return err
		}
	}
	return nil
}

func (a *sumAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(a.out, len(groups))
	for k, g := range groups {
		p := r.Ptr(g, off)
		if *at[int64](p, 8) != 1 {
			SetNull(out, k)
		}
		putI64(out, k, *at[int64](p, 0))
	}
	return nil
}

// sumDouble: sum, seen.
type sumDouble struct{}

func (sumDouble) Width() int  { return 16 }
func (sumDouble) Refs() []int { return nil }

func (sumDouble) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	if v.Phys == columnar.PNull {
		return nil
	}
	if sel.All && v.Valid == nil && !v.Const {
		for k, x := range v.F64[:sel.N] {
			p := r.Ptr(groups[k], off)
			*at[float64](p, 0) += x
			*at[int64](p, 8) = 1
		}
		return nil
	}
	for k := range sel.N {
		i := sel.At(k)
		if v.IsNull(i) {
			continue
		}
		p := r.Ptr(groups[k], off)
		*at[float64](p, 0) += v.F64[v.Row(i)]
		*at[int64](p, 8) = 1
	}
	return nil
}

func (sumDouble) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		p, q := into.Ptr(g, off), from.Ptr(fromGroups[k], fromOff)
		*at[float64](p, 0) += *at[float64](q, 0)
		*at[int64](p, 8) |= *at[int64](q, 8)
	}
	return nil
}

func (sumDouble) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(types.Of(types.Double), len(groups))
	for k, g := range groups {
		p := r.Ptr(g, off)
		if *at[int64](p, 8) == 0 {
			SetNull(out, k)
		}
		out.F64[k] = *at[float64](p, 0)
	}
	return nil
}

// ---- min and max

func buildMinMax(c *Call) (*AggregateCall, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	t := c.Args[0].Type()
	if !Orderable(t) {
		return nil, errs.New("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "sqlExpr", quoted(aggText(c.Name, c.Args, c.Distinct)),
			"functionName", "`"+c.Name+"`", "dataType", quoted(t.SQL()))
	}
	return c.aggregate(c.Args, t, true, func() Aggregate { return newMinMax(t, c.Name == "max") }), nil
}

func newMinMax(t types.DataType, greatest bool) Aggregate {
	want := -1
	if greatest {
		want = 1
	}
	switch columnar.PhysicalOf(t) {
	case columnar.PNull:
		return nullAgg{}
	case columnar.PI8, columnar.PI16, columnar.PI32, columnar.PI64:
		return &minMaxInt{t: t, max: greatest}
	case columnar.PF64:
		return &minMaxDouble{max: greatest}
	}
	return &minMaxAny{t: t, want: want, cur: newScratch(t)}
}

// nullAgg is an aggregate over NULL.
type nullAgg struct{}

func (nullAgg) Width() int  { return 8 }
func (nullAgg) Refs() []int { return nil }
func (nullAgg) Update(*columnar.Records, int, []uint32, []*columnar.Vec, columnar.Sel) error {
	return nil
}
func (nullAgg) Merge(*columnar.Records, int, []uint32, *columnar.Records, int, []uint32) error {
	return nil
}
func (nullAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(types.Of(types.Null), len(groups))
	return nil
}

// minMaxInt: value, seen.
type minMaxInt struct {
	t   types.DataType
	max bool
}

func (*minMaxInt) Width() int  { return 16 }
func (*minMaxInt) Refs() []int { return nil }

func (a *minMaxInt) fold(p unsafe.Pointer, x int64) {
	s, seen := at[int64](p, 0), at[int64](p, 8)
	if *seen == 0 || (x > *s) == a.max && x != *s {
		*s = x
		*seen = 1
	}
}

func (a *minMaxInt) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	if v.Phys == columnar.PNull {
		return nil
	}
	if sel.All && v.Valid == nil && !v.Const && v.Phys == columnar.PI64 {
		for k, x := range v.I64[:sel.N] {
			a.fold(r.Ptr(groups[k], off), x)
		}
		return nil
	}
	for k := range sel.N {
		if i := sel.At(k); !v.IsNull(i) {
			a.fold(r.Ptr(groups[k], off), i64At(v, v.Row(i)))
		}
	}
	return nil
}

func (a *minMaxInt) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		if q := from.Ptr(fromGroups[k], fromOff); *at[int64](q, 8) != 0 {
			a.fold(into.Ptr(g, off), *at[int64](q, 0))
		}
	}
	return nil
}

func (a *minMaxInt) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(a.t, len(groups))
	for k, g := range groups {
		p := r.Ptr(g, off)
		if *at[int64](p, 8) == 0 {
			SetNull(out, k)
		}
		putI64(out, k, *at[int64](p, 0))
	}
	return nil
}

// minMaxDouble: value, seen. NaN is the greatest.
type minMaxDouble struct{ max bool }

func (*minMaxDouble) Width() int  { return 16 }
func (*minMaxDouble) Refs() []int { return nil }

func (a *minMaxDouble) fold(p unsafe.Pointer, x float64) {
	s, seen := at[float64](p, 0), at[int64](p, 8)
	if *seen == 0 {
		*s, *seen = x, 1
		return
	}
	if a.max {
		if x > *s || math.IsNaN(x) {
			*s = x
		}
	} else if x < *s || math.IsNaN(*s) {
		*s = x
	}
}

func (a *minMaxDouble) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	if v.Phys == columnar.PNull {
		return nil
	}
	for k := range sel.N {
		if i := sel.At(k); !v.IsNull(i) {
			a.fold(r.Ptr(groups[k], off), v.F64[v.Row(i)])
		}
	}
	return nil
}

func (a *minMaxDouble) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		if q := from.Ptr(fromGroups[k], fromOff); *at[int64](q, 8) != 0 {
			a.fold(into.Ptr(g, off), *at[float64](q, 0))
		}
	}
	return nil
}

func (a *minMaxDouble) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	return sumDouble{}.Result(r, off, groups, out)
}

// scratch holds one decoded value for comparisons.
type scratch struct {
	t types.DataType
	v *columnar.Vec
}

func newScratch(t types.DataType) *scratch { return &scratch{t: t, v: &columnar.Vec{Type: t}} }

func (s *scratch) decode(b []byte) (*columnar.Vec, error) {
	s.v.Type = s.t
	a := NewAppender(s.v)
	if _, err := a.Decode(b); err != nil {
		return nil, err
	}
	a.Finish()
	return s.v, nil
}

// minMaxAny keeps the encoded value in the arena.
type minMaxAny struct {
	t    types.DataType
	want int
	cur  *scratch
	buf  []byte
}

func (*minMaxAny) Width() int  { return columnar.RefWidth }
func (*minMaxAny) Refs() []int { return []int{0} }

func (a *minMaxAny) fold(r *columnar.Records, off int, g uint32, v *columnar.Vec, i int) error {
	rec := r.At(g)
	if old := r.Load(rec, off); old != nil {
		if v.Phys == columnar.PBytes { // compare without decoding
			n := skipLength(old[1:])
			c := compareBytes(v.Bytes(i), old[1+n:])
			if c != a.want {
				return nil
			}
		} else {
			cur, err := a.cur.decode(old)
			if err != nil {
				return err
			}
			if Compare(v, cur, i, 0) != a.want {
				return nil
			}
		}
	}
	a.buf = EncodeValue(a.buf[:0], v, i)
	r.Store(rec, off, a.buf)
	return nil
}

func (a *minMaxAny) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	for k := range sel.N {
		i := sel.At(k)
		if v.IsNull(i) {
			continue
		}
		if err := a.fold(r, off, groups[k], v, i); err != nil {
			return err
		}
	}
	return nil
}

func (a *minMaxAny) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	other := newScratch(a.t)
	for k, g := range groups {
		b := from.Load(from.At(fromGroups[k]), fromOff)
		if b == nil {
			continue
		}
		v, err := other.decode(b)
		if err != nil {
			return err
		}
		if err := a.fold(into, off, g, v, 0); err != nil {
			return err
		}
	}
	return nil
}

func (a *minMaxAny) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	return resultOfRefs(a.t, r, off, groups, out)
}

// resultOfRefs decodes the value each group's Ref points to; null if it is unset.
func resultOfRefs(t types.DataType, r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	*out = columnar.Vec{Type: t}
	a := NewAppender(out)
	for _, g := range groups {
		b := r.Load(r.At(g), off)
		if b == nil {
			a.AppendNull()
			continue
		}
		if _, err := a.Decode(b); err != nil {
			return err
		}
	}
	a.Finish()
	return nil
}

// printedAs is an expression that only errors print, as text.
func printedAs(text string, t types.DataType) Expr {
	l := NullLit(t)
	l.Text = text
	return l
}
