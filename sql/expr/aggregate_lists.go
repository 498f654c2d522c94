package expr

import (
	"encoding/binary"
	"math"
	"sort"
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// orderingText prints "x ASC NULLS FIRST", short leaves defaults of ascending order out.
func orderingText(os []Ordering, short bool) string {
	l := make([]string, len(os))
	for i, o := range os {
		switch {
		case short && o.Desc:
			l[i] = o.Child.String() + " DESC"
		case short:
			l[i] = o.Child.String()
		default:
			l[i] = o.String()
		}
	}
	return strings.Join(l, ", ")
}

// String prints the item as generated names show it: x ASC NULLS FIRST.
func (o Ordering) String() string {
	s := o.Child.String() + " ASC"
	if o.Desc {
		s = o.Child.String() + " DESC"
	}
	if o.NullsFirst {
		return s + " NULLS FIRST"
	}
	return s + " NULLS LAST"
}

// CompareRows orders rows i and j of vectors by orderings: vs[k] holds the values of os[k].
func CompareRows(os []Ordering, vs []*columnar.Vec, i, j int) int {
	for k, o := range os {
		v := vs[k]
		in, jn := v.IsNull(i), v.IsNull(j)
		if in || jn {
			if in && jn {
				continue
			}
			if in == o.NullsFirst {
				return -1
			}
			return 1
		}
		if c := Compare(v, v, i, j); c != 0 {
			if o.Desc {
				return -c
			}
			return c
		}
	}
	return 0
}

// ---- listagg

func buildListAgg(c *Call) (*AggregateCall, error) {
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	shown := append([]Expr{}, c.Args...)
	if len(shown) == 1 {
		shown = append(shown, NullLit(types.Of(types.Null)))
	}
	name := c.Name
	if c.WithinGroup != nil {
		name = "listagg"
	}
	text := aggText(name, shown, c.Distinct)
	if c.WithinGroup != nil {
		text += " WITHIN GROUP (ORDER BY " + orderingText(c.WithinGroup, false) + ")"
	}
	x := c.Args[0]
	out := types.Of(types.String)
	switch t := x.Type(); {
	case t.Kind == types.Binary:
		out = t
	case t.Kind == types.String:
	case t.IsAtomic() && !t.IsInterval():
		x = CastTo(x, out, c.Conf)
	default:
		return nil, WrongType(text, 0, `("STRING" or "BINARY")`, x)
	}
	var sep []byte
	if len(c.Args) == 2 {
		parts := shown
		for _, o := range c.WithinGroup {
			parts = append(parts, printedAs(orderingText([]Ordering{o}, false), o.Child.Type()))
		}
		if k := c.Args[1].Type().Kind; out.Kind == types.Binary && k == types.String || out.Kind == types.String && k == types.Binary {
			return nil, diffTypes("listagg", aggText("listagg", parts, c.Distinct), []Expr{x, c.Args[1]}, false)
		}
		if !Foldable(c.Args[1]) {
			return nil, nonFoldable(aggText("listagg", parts, c.Distinct), "`delimiter`", quoted(out.SQL()), c.Args[1])
		}
		l, err := Const(CastTo(c.Args[1], out, c.Conf), c.Conf)
		if err != nil {
			return nil, err
		}
		if !l.Value.IsNull(0) {
			sep = l.Value.Bytes(0)
		}
	}
	args := []Expr{x}
	ts := []types.DataType{out}
	order := append([]Ordering{}, c.WithinGroup...)
	if c.Distinct {
		var by []string
		differs := false
		for _, o := range order {
			by = append(by, quoted(o.Child.String()))
			differs = differs || o.Child.String() != c.Args[0].String()
		}
		if differs {
			return nil, errs.New("INVALID_WITHIN_GROUP_EXPRESSION.MISMATCH_WITH_DISTINCT_INPUT", "funcName", "`listagg`",
				"funcArg", quoted(c.Args[0].String()), "orderingExpr", strings.Join(by, ", "))
		}
	}
	// Orderings by the value itself need no column of their own, which DISTINCT relies on.
	cols := make([]int, len(order))
	for i, o := range order {
		if o.Child.String() == c.Args[0].String() && o.Child.Type().Equal(out) {
			continue
		}
		if c.Distinct {
			continue
		}
		cols[i] = len(args)
		args = append(args, o.Child)
		ts = append(ts, o.Child.Type())
	}
	a := c.aggregate(args, out, true, func() Aggregate {
		return &listAgg{list: rowList{ts: ts}, out: out, sep: sep, order: order, cols: cols}
	})
	a.Text = text
	return a, nil
}

type listAgg struct {
	list  rowList
	out   types.DataType
	sep   []byte
	order []Ordering
	cols  []int
}

func (a *listAgg) Width() int  { return a.list.Width() }
func (a *listAgg) Refs() []int { return a.list.Refs() }

func (a *listAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	for k := range sel.N {
		if i := sel.At(k); !args[0].IsNull(i) {
			a.list.add(r, off, groups[k], args, i)
		}
	}
	return nil
}

func (a *listAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	return a.list.Merge(into, off, groups, from, fromOff, fromGroups)
}

func (a *listAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(a.out, len(groups))
	keys := make([]*columnar.Vec, len(a.order))
	for k, g := range groups {
		vs, n, err := a.list.rows(r, off, g)
		if err != nil {
			return err
		}
		if n == 0 {
			SetNull(out, k)
			out.Off[k+1] = int32(len(out.Data))
			continue
		}
		for i, c := range a.cols {
			keys[i] = vs[c]
		}
		for j, i := range sortedRows(n, func(x, y int) int { return CompareRows(a.order, keys, x, y) }) {
			if j > 0 {
				out.Data = append(out.Data, a.sep...)
			}
			out.Data = append(out.Data, vs[0].Bytes(i)...)
		}
		out.Off[k+1] = int32(len(out.Data))
	}
	return nil
}

// ---- percentiles

// percentages reads a constant percentage or array of percentages.
func percentages(e Expr, text string, conf Conf) (ps []float64, array bool, err error) {
	t := types.Of(types.Double)
	if e.Type().Kind == types.Array {
		array = true
		t = types.ArrayOf(t, true)
	}
	if k := e.Type(); k.Kind != types.Array && !k.IsNumeric() && k.Kind != types.String && k.Kind != types.Null {
		return nil, false, WrongType(text, 1, `"DOUBLE"`, e)
	}
	if !Foldable(e) {
		return nil, false, nonFoldable(text, "`percentage`", `"DOUBLE"`, e)
	}
	l, err := Const(CastTo(e, t, conf), conf)
	if err != nil {
		return nil, false, err
	}
	v := l.Value
	if v.IsNull(0) {
		return nil, false, unexpectedNull(text, "percentage")
	}
	if array {
		k := v.Kids[0]
		for j := v.Off[0]; j < v.Off[1]; j++ {
			if k.IsNull(int(j)) {
				return nil, false, unexpectedNull(text, "percentage")
			}
			ps = append(ps, k.F64[j])
		}
	} else {
		ps = []float64{v.F64[0]}
	}
	for _, p := range ps {
		if !(p >= 0 && p <= 1) {
			var all []string
			for _, p := range ps {
				all = append(all, string(AppendDouble(nil, p, 64))+"D")
			}
			return nil, false, valueOutOfRange(text, "percentage", "[0.0, 1.0]", strings.Join(all, ","))
		}
	}
	return ps, array, nil
}

func buildPercentile(c *Call) (*AggregateCall, error) {
	text := aggText(c.Name, c.Args, c.Distinct)
	ps, array := []float64{0.5}, false
	freq := Expr(IntLit(1))
	if c.Name == "median" {
		if err := c.Arity(1, 1); err != nil {
			return nil, err
		}
	} else {
		if err := c.Arity(2, 3); err != nil {
			return nil, err
		}
		if len(c.Args) == 3 {
			freq = c.Args[2]
		}
		text = aggText(c.Name, append(append([]Expr{}, c.Args[:2]...), freq), c.Distinct)
		var err error
		if ps, array, err = percentages(c.Args[1], text, c.Conf); err != nil {
			return nil, err
		}
	}
	x := c.Args[0]
	if t := x.Type(); !t.IsNumeric() && t.Kind != types.String && t.Kind != types.Null && !t.IsInterval() || t.Kind == types.Calendar {
		return nil, WrongType(text, 0, `("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH")`, x)
	}
	if !freq.Type().IsIntegral() {
		return nil, WrongType(text, 2, `"INTEGRAL"`, freq)
	}
	return c.percentile(x, freq, ps, array, false, false, text)
}

func (c *Call) percentile(x, freq Expr, ps []float64, array, desc, disc bool, text string) (*AggregateCall, error) {
	it := types.Of(types.Double)
	if x.Type().Kind == types.DayTime || x.Type().Kind == types.YearMonth {
		it = types.Of(x.Type().Kind) // of all its units
	}
	args := []Expr{CastTo(x, types.Of(types.Double), c.Conf)}
	if it.IsInterval() {
		args[0] = x
	}
	args = append(args, CastTo(freq, types.Of(types.BigInt), c.Conf))
	out := it
	if array {
		out = types.ArrayOf(it, false)
	}
	a := c.aggregate(args, out, true, func() Aggregate {
		return &percentileAgg{list: rowList{ts: []types.DataType{args[0].Type(), types.Of(types.BigInt)}},
			ps: ps, out: out, array: array, desc: desc, disc: disc, freq: freq.String()}
	})
	a.Text = text
	return a, nil
}

func buildPercentileWithin(c *Call) (*AggregateCall, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	name := "`" + c.Name + "`"
	switch {
	case c.WithinGroup == nil:
		return nil, errs.New("INVALID_WITHIN_GROUP_EXPRESSION.WITHIN_GROUP_MISSING", "funcName", name)
	case c.Distinct:
		return nil, errs.New("INVALID_WITHIN_GROUP_EXPRESSION.DISTINCT_UNSUPPORTED", "funcName", name)
	case len(c.WithinGroup) != 1:
		return nil, errs.New("INVALID_WITHIN_GROUP_EXPRESSION.WRONG_NUM_ORDERINGS", "funcName", name,
			"expectedNum", 1, "actualNum", len(c.WithinGroup))
	}
	o := c.WithinGroup[0]
	ps, array, err := percentages(c.Args[0], callText(c.Name, []Expr{o.Child, c.Args[0]}), c.Conf)
	if err != nil {
		return nil, err
	}
	text := c.Text() + " WITHIN GROUP (ORDER BY " + orderingText(c.WithinGroup, true) + ")"
	return c.percentile(o.Child, IntLit(1), ps, array, o.Desc, c.Name == "percentile_disc", text)
}

type percentileAgg struct {
	list        rowList
	ps          []float64
	out         types.DataType
	array       bool
	desc, disc  bool
	freq        string
	approximate bool
}

func (a *percentileAgg) Width() int  { return a.list.Width() }
func (a *percentileAgg) Refs() []int { return a.list.Refs() }

func (a *percentileAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	for k := range sel.N {
		i := sel.At(k)
		if anyNull(args, i) {
			continue
		}
		f := args[1].I64[args[1].Row(i)]
		if f < 0 {
			return errs.New("NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION", "frequencyExpression", quoted(a.freq),
				"negativeValue", string(AppendText(nil, args[1], i, nil, CastStyle))+"L")
		}
		if f > 0 {
			a.list.add(r, off, groups[k], args, i)
		}
	}
	return nil
}

func (a *percentileAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	return a.list.Merge(into, off, groups, from, fromOff, fromGroups)
}

func (a *percentileAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	*out = columnar.Vec{Type: a.out}
	ap := NewAppender(out)
	for _, g := range groups {
		vs, n, err := a.list.rows(r, off, g)
		if err != nil {
			return err
		}
		if n == 0 {
			ap.AppendNull()
			continue
		}
		v := vs[0]
		idx := sortedRows(n, func(x, y int) int {
			c := Compare(v, v, x, y)
			if a.desc {
				return -c
			}
			return c
		})
		counts := make([]int64, n) // cumulated frequencies
		total := int64(0)
		for k, i := range idx {
			total += vs[1].I64[i]
			counts[k] = total
		}
		at := func(pos int64) int { // row at a position of the expanded list
			return idx[sort.Search(n, func(k int) bool { return counts[k] > pos })]
		}
		to := ap
		if a.array {
			to = ap.Kid(0)
		}
		for _, p := range a.ps {
			switch {
			case a.approximate:
				pos := int64(math.Ceil(p*float64(total))) - 1
				to.Append(v, at(max(0, pos)))
			case a.disc:
				pos := int64(math.Ceil(p*float64(total))) - 1
				to.Append(v, at(max(0, pos)))
			default:
				exact := p * float64(total-1)
				lo, hi := math.Floor(exact), math.Ceil(exact)
				i, j := at(int64(lo)), at(int64(hi))
				if v.Phys == columnar.PF64 {
					x, y := v.F64[i], v.F64[j]
					if lo != hi && x != y {
						x = (hi-exact)*x + (exact-lo)*y
					}
					to.AppendF64(x)
					continue
				}
				x := float64(i64At(v, i))
				if lo != hi {
					x = (hi-exact)*x + (exact-lo)*float64(i64At(v, j))
				}
				if v.Phys == columnar.PI32 {
					to.AppendI32(int32(math.Trunc(x)))
				} else {
					to.AppendI64(int64(math.Trunc(x)))
				}
			}
		}
		if a.array {
			ap.End()
		}
	}
	ap.Finish()
	return nil
}

func buildPercentileApprox(c *Call) (*AggregateCall, error) {
	if err := c.Arity(2, 3); err != nil {
		return nil, err
	}
	shown := append([]Expr{}, c.Args...)
	if len(shown) == 2 {
		shown = append(shown, IntLit(10000))
	}
	text := aggText(c.Name, shown, c.Distinct)
	x := c.Args[0]
	if k := x.Type().Kind; k == types.String || k == types.Null {
		x = CastTo(x, types.Of(types.Double), c.Conf)
	}
	if t := x.Type(); !t.IsNumeric() && !t.IsDatetime() && t.Kind != types.DayTime && t.Kind != types.YearMonth {
		return nil, WrongType(text, 0, `("NUMERIC" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ" or "INTERVAL YEAR TO MONTH" or "INTERVAL DAY TO SECOND")`, x)
	}
	if !Foldable(shown[2]) {
		return nil, nonFoldable(text, "`accuracy`", `"INT"`, shown[2])
	}
	ps, array, err := percentages(c.Args[1], text, c.Conf)
	if err != nil {
		return nil, err
	}
	l, err := Const(CastTo(shown[2], types.Of(types.BigInt), c.Conf), c.Conf)
	if err != nil {
		return nil, err
	}
	if l.Value.IsNull(0) {
		return nil, unexpectedNull(text, "accuracy")
	}
	if n := l.Value.I64[0]; n <= 0 || n > math.MaxInt32 {
		return nil, valueOutOfRange(text, "accuracy", "(0, 2147483647]", sqlValue(l.Value, 0, c.Conf))
	}
	t := x.Type()
	out := t
	if array {
		out = types.ArrayOf(t, false)
	}
	a := c.aggregate([]Expr{x, BigIntLit(1)}, out, true, func() Aggregate {
		return &percentileAgg{list: rowList{ts: []types.DataType{t, types.Of(types.BigInt)}}, ps: ps, out: out,
			array: array, approximate: true}
	})
	a.Text = text
	return a, nil
}

// ---- counts of values: mode, approx_top_k

// valueCounts is a set of values that counts each.
type valueCounts struct {
	t   types.DataType
	set rowSet
}

func (*valueCounts) Width() int  { return rowSetWidth }
func (*valueCounts) Refs() []int { return []int{0, columnar.RefWidth} }

func (a *valueCounts) add(r *columnar.Records, off int, g uint32, key []byte, n uint64) {
	pos, _ := a.set.locate(r, off, g, key)
	b := a.set.payload(r, off, g, pos)
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+n)
}

func (a *valueCounts) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	for k := range sel.N {
		i := sel.At(k)
		if args[0].IsNull(i) {
			continue
		}
		a.set.buf = EncodeKey(a.set.buf[:0], args[0], i)
		a.add(r, off, groups[k], a.set.buf, 1)
	}
	return nil
}

func (a *valueCounts) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		b := from.Load(from.At(fromGroups[k]), fromOff)
		for len(b) > 0 {
			l := int(binary.LittleEndian.Uint32(b))
			key := append([]byte(nil), b[entryHeader:entryHeader+l]...)
			a.add(into, off, g, key, binary.LittleEndian.Uint64(b[4:]))
			b = b[entryHeader+l:]
		}
	}
	return nil
}

// values decodes the values of a group with their counts.
func (a *valueCounts) values(r *columnar.Records, off int, g uint32) (*columnar.Vec, []uint64, error) {
	v := &columnar.Vec{Type: a.t}
	ap := NewAppender(v)
	var counts []uint64
	b := r.Load(r.At(g), off)
	for len(b) > 0 {
		l := int(binary.LittleEndian.Uint32(b))
		counts = append(counts, binary.LittleEndian.Uint64(b[4:]))
		if _, err := ap.Decode(b[entryHeader : entryHeader+l]); err != nil {
			return nil, nil, err
		}
		b = b[entryHeader+l:]
	}
	ap.Finish()
	return v, counts, nil
}

func buildMode(c *Call) (*AggregateCall, error) {
	var x Expr
	ties := 0 // 0 first seen, -1 the least, 1 the greatest
	text := ""
	switch {
	case c.WithinGroup != nil:
		if len(c.Args) > 0 { // an argument counts as the ordering
			return nil, errs.New("INVALID_WITHIN_GROUP_EXPRESSION.WRONG_NUM_ORDERINGS", "funcName", "`mode`",
				"expectedNum", 0, "actualNum", len(c.WithinGroup))
		}
		if c.Distinct {
			return nil, errs.New("INVALID_WITHIN_GROUP_EXPRESSION.DISTINCT_UNSUPPORTED", "funcName", "`mode`")
		}
		if len(c.WithinGroup) != 1 {
			return nil, errs.New("INVALID_WITHIN_GROUP_EXPRESSION.WRONG_NUM_ORDERINGS", "funcName", "`Mode`",
				"expectedNum", 1, "actualNum", len(c.WithinGroup))
		}
		o := c.WithinGroup[0]
		x, ties = o.Child, -1
		text = "mode() WITHIN GROUP (ORDER BY " + x.String() + " DESC)" // Spark prints the reverse
		if o.Desc {
			ties = 1
			text = "mode() WITHIN GROUP (ORDER BY " + x.String() + ")"
		}
	default:
		if len(c.Args) == 0 {
			return nil, errs.New("INVALID_WITHIN_GROUP_EXPRESSION.WITHIN_GROUP_MISSING", "funcName", "`mode`")
		}
		if err := c.Arity(1, 2); err != nil {
			return nil, err
		}
		x = c.Args[0]
		text = aggText("mode", c.Args[:1], c.Distinct)
		if len(c.Args) == 2 {
			l, err := Const(c.Args[1], c.Conf)
			if err != nil {
				return nil, err
			}
			if l == nil {
				return nil, nonFoldable(text, "`deterministic`", `"BOOLEAN"`, c.Args[1])
			}
			if l.Value.IsNull(0) {
				return nil, unexpectedNull(c.Args[1].String(), "`deterministic`")
			}
			if l.Type().Kind != types.Boolean {
				return nil, errs.New("UNEXPECTED_INPUT_TYPE", "functionName", "`mode`", "paramIndex", "second",
					"requiredType", quoted("BOOLEAN"), "inputSql", quoted(c.Args[1].String()), "inputType", quoted(c.Args[1].Type().SQL()))
			}
			if l.Value.Bool(0) {
				ties = -1
				text = "mode() WITHIN GROUP (ORDER BY " + x.String() + " DESC)"
			}
		}
	}
	t := x.Type()
	a := c.aggregate([]Expr{x}, t, true, func() Aggregate { return &modeAgg{valueCounts{t: t}, ties} })
	a.Text = text
	return a, nil
}

type modeAgg struct {
	valueCounts
	ties int
}

func (a *modeAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	*out = columnar.Vec{Type: a.t}
	ap := NewAppender(out)
	for _, g := range groups {
		v, counts, err := a.values(r, off, g)
		if err != nil {
			return err
		}
		best := -1
		for i, n := range counts {
			if best < 0 || n > counts[best] || n == counts[best] && a.ties != 0 && Compare(v, v, i, best) == a.ties {
				best = i
			}
		}
		if best < 0 {
			ap.AppendNull()
		} else {
			ap.Append(v, best)
		}
	}
	ap.Finish()
	return nil
}

func buildTopK(c *Call) (*AggregateCall, error) {
	if err := c.Arity(1, 3); err != nil {
		return nil, err
	}
	shown := append([]Expr{}, c.Args...)
	if len(shown) == 1 {
		shown = append(shown, IntLit(5))
	}
	if len(shown) == 2 {
		shown = append(shown, IntLit(10000))
	}
	text := aggText(c.Name, shown, c.Distinct)
	t := c.Args[0].Type()
	switch t.Kind {
	case types.Array, types.Map, types.Struct, types.Variant:
		return nil, errs.New("DATATYPE_MISMATCH.TYPE_CHECK_FAILURE_WITH_HINT", "sqlExpr", quoted(text),
			"msg", strings.ToLower(strings.SplitN(t.SQL(), "<", 2)[0])+" columns are not supported", "hint", "")
	}
	k, most, err := topKArgs(shown[1], shown[2], text, c.Conf)
	if err != nil {
		return nil, err
	}
	switch {
	case most > maxTracked:
		return nil, errs.New("APPROX_TOP_K_MAX_ITEMS_TRACKED_EXCEEDS_LIMIT", "maxItemsTracked", most, "limit", maxTracked)
	case most < k:
		return nil, errs.New("APPROX_TOP_K_MAX_ITEMS_TRACKED_LESS_THAN_K", "maxItemsTracked", most, "k", k)
	}
	out := types.ArrayOf(types.StructOf(types.Field{Name: "item", Type: t, Nullable: true},
		types.Field{Name: "count", Type: types.Of(types.BigInt)}), false)
	a := c.aggregate(c.Args[:1], out, false, func() Aggregate { return &topK{valueCounts{t: t}, out, int(k)} })
	a.Text = text
	return a, nil
}

// maxTracked is how many values approx_top_k may keep in sight.
const maxTracked = 1_000_000

// topKArgs are the constants k and maxItemsTracked.
func topKArgs(k, most Expr, text string, c Conf) (n, tracked int64, err error) {
	var out [2]int64
	for i, a := range []struct {
		e    Expr
		name string
	}{{k, "`k`"}, {most, "`maxItemsTracked`"}} {
		l, err := Const(a.e, c)
		switch {
		case err != nil:
			return 0, 0, err
		case l == nil:
			return 0, 0, nonFoldable(text, a.name, `"INT"`, a.e)
		case l.Value.IsNull(0):
			return 0, 0, errs.New("APPROX_TOP_K_NULL_ARG", "argName", a.name)
		case !l.Type().IsIntegral():
			return 0, 0, WrongType(text, i+1, `"INT"`, a.e)
		}
		if out[i] = i64At(l.Value, 0); out[i] < 1 {
			return 0, 0, errs.New("APPROX_TOP_K_NON_POSITIVE_ARG", "argName", a.name, "argValue", out[i])
		}
	}
	return out[0], out[1], nil
}

type topK struct {
	valueCounts
	out types.DataType
	k   int
}

// Update counts NULL as a value like others.
func (a *topK) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	for k := range sel.N {
		a.set.buf = EncodeKey(a.set.buf[:0], args[0], sel.At(k))
		a.add(r, off, groups[k], a.set.buf, 1)
	}
	return nil
}

func (a *topK) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	*out = columnar.Vec{Type: a.out}
	ap := NewAppender(out)
	for _, g := range groups {
		v, counts, err := a.values(r, off, g)
		if err != nil {
			return err
		}
		idx := sortedRows(len(counts), func(x, y int) int { return order(int64(counts[y]), int64(counts[x])) })
		for _, i := range idx[:min(a.k, len(idx))] {
			ap.Kid(0).Kid(0).Append(v, i)
			ap.Kid(0).Kid(1).AppendI64(int64(counts[i]))
			ap.Kid(0).End()
		}
		ap.End()
	}
	ap.Finish()
	return nil
}
