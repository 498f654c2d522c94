package expr

import (
	"sort"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func higherOrderFunctions() []Function {
	var out []Function
	add := func(signature, doc string, params func(args []Expr, i, arity int) ([]types.Field, error), build func(c *Call) (Expr, error), names ...string) {
		f := fn(signature, doc, build)
		f.LambdaParams = params
		out = append(out, synonyms(f, names...)...)
	}
	add("transform(array, func)", "The results of a function of each element (and its index).", elementParams("transform", true), buildTransform)
	add("filter(array, func)", "The elements for which a function (of element and index) is true.", elementParams("filter", true), buildFilter)
	add("exists(array, func)", "Whether a function is true for an element.", elementParams("exists", false), predicateBuilder(true))
	add("forall(array, func)", "Whether a function is true for all elements.", elementParams("forall", false), predicateBuilder(false))
	add("aggregate(array, start, merge[, finish])", "Folds the elements from the left.", foldParams, buildFold, "reduce")
	add("zip_with(array1, array2, func)", "The results of a function of the n-th elements.", zipParams, buildZipWith)
	add("array_sort(array[, func])", "Sorted, nulls last, or by a function that compares.", sortParams, buildArraySort)
	add("map_filter(map, func)", "The entries for which a function of key and value is true.", entryParams("map_filter"), buildMapFilter)
	add("transform_keys(map, func)", "The map with keys made by a function of key and value.", entryParams("transform_keys"), mapTransform(0))
	add("transform_values(map, func)", "The map with values made by a function of key and value.", entryParams("transform_values"), mapTransform(1))
	add("map_zip_with(map1, map2, func)", "A map of the keys of both with values made by a function of key and both values.", mapZipParams, buildMapZipWith)
	return out
}

// lambdaText prints a call whose lambdas are not bound yet.
func lambdaText(name string, args []Expr) string {
	shown := make([]Expr, len(args))
	for i, a := range args {
		if shown[i] = a; a == nil {
			shown[i] = &Literal{Value: NullLit(tNull).Value, Text: "lambdafunction()"}
		}
	}
	return callText(name, shown)
}

func wantCollection(name string, args []Expr, i int, k types.Kind) error {
	if args[i].Type().Kind == k {
		return nil
	}
	required := `"ARRAY"`
	if k == types.Map {
		required = `"MAP"`
	}
	return WrongType(lambdaText(name, args), i, required, args[i])
}

func elementField(t types.DataType) types.Field {
	return types.Field{Name: "x", Type: *t.Elem, Nullable: t.ContainsNull}
}

func elementParams(name string, indexed bool) func(args []Expr, i, arity int) ([]types.Field, error) {
	return func(args []Expr, i, arity int) ([]types.Field, error) {
		if err := wantCollection(name, args, 0, types.Array); err != nil {
			return nil, err
		}
		fs := []types.Field{elementField(args[0].Type())}
		if indexed && arity == 2 {
			fs = append(fs, types.Field{Name: "i", Type: tInt})
		}
		return fs, nil
	}
}

func foldParams(args []Expr, i, arity int) ([]types.Field, error) {
	shown := args
	if len(args) == 3 {
		id := &LambdaVar{Name: "id", Unbound: true}
		shown = append(append([]Expr{}, args...), &Lambda{Params: []*LambdaVar{id}, Body: id})
	}
	if err := wantCollection("aggregate", shown, 0, types.Array); err != nil {
		return nil, err
	}
	acc := types.Field{Name: "acc", Nullable: true}
	if len(args) > 1 && args[1] != nil {
		acc.Type = args[1].Type()
	}
	if i == 3 {
		return []types.Field{acc}, nil
	}
	return []types.Field{acc, elementField(args[0].Type())}, nil
}

func zipParams(args []Expr, i, arity int) ([]types.Field, error) {
	fs := make([]types.Field, 2)
	for k := range fs {
		if err := wantCollection("zip_with", args, k, types.Array); err != nil {
			return nil, err
		}
		fs[k] = elementField(args[k].Type())
		fs[k].Nullable = true
	}
	return fs, nil
}

func sortParams(args []Expr, i, arity int) ([]types.Field, error) {
	if err := wantCollection("array_sort", args, 0, types.Array); err != nil {
		return nil, err
	}
	f := elementField(args[0].Type())
	return []types.Field{f, f}, nil
}

func entryParams(name string) func(args []Expr, i, arity int) ([]types.Field, error) {
	return func(args []Expr, i, arity int) ([]types.Field, error) {
		if err := wantCollection(name, args, 0, types.Map); err != nil {
			return nil, err
		}
		t := args[0].Type()
		return []types.Field{{Name: "k", Type: *t.Key}, {Name: "v", Type: *t.Elem, Nullable: t.ContainsNull}}, nil
	}
}

func mapZipParams(args []Expr, i, arity int) ([]types.Field, error) {
	for k := range 2 {
		if err := wantCollection("map_zip_with", args, k, types.Map); err != nil {
			return nil, err
		}
	}
	a, b := args[0].Type(), args[1].Type()
	key, ok := TightestCommonType(*a.Key, *b.Key)
	if !ok {
		return nil, errs.New("DATATYPE_MISMATCH.MAP_ZIP_WITH_DIFF_TYPES", "sqlExpr", quoted(lambdaText("map_zip_with", args)),
			"functionName", "`map_zip_with`", "leftType", quoted(a.Key.SQL()), "rightType", quoted(b.Key.SQL()))
	}
	return []types.Field{{Name: "k", Type: key}, {Name: "v1", Type: *a.Elem, Nullable: true}, {Name: "v2", Type: *b.Elem, Nullable: true}}, nil
}

// bindLambda gives argument i as a lambda; an expression is a function that ignores its parameters.
func (c *Call) bindLambda(i int, params func(args []Expr, i, arity int) ([]types.Field, error)) (*Lambda, error) {
	if l, ok := c.Args[i].(*Lambda); ok {
		return l, nil
	}
	fs, err := params(c.Args, i, 1)
	if err != nil {
		return nil, err
	}
	l := &Lambda{Body: c.Args[i]}
	for _, f := range fs {
		l.Params = append(l.Params, &LambdaVar{Name: f.Name, Field: f})
	}
	c.Args[i] = l
	return l, nil
}

// elementBatch is the elements of the selected rows of a list, one after the other.
type elementBatch struct {
	idx  []int32 // places in the children
	rows []int32 // the row of each
	pos  []int32 // the index within the row of each
	ends []int32 // per selected row, where its elements end
}

func elementsOf(a *columnar.Vec, sel columnar.Sel) elementBatch {
	var b elementBatch
	for k := range sel.N {
		i := sel.At(k)
		if !a.IsNull(i) {
			r := a.Row(i)
			for j := a.Off[r]; j < a.Off[r+1]; j++ {
				b.idx = append(b.idx, j)
				b.rows = append(b.rows, int32(i))
				b.pos = append(b.pos, j-a.Off[r])
			}
		}
		b.ends = append(b.ends, int32(len(b.idx)))
	}
	return b
}

func gathered(v *columnar.Vec, idx []int32) *columnar.Vec {
	out := new(columnar.Vec)
	columnar.GatherIdx(out, v, idx)
	return out
}

func intVec(xs []int32) *columnar.Vec {
	v := columnar.NewVec(tInt, len(xs))
	copy(v.I32, xs)
	return v
}

// rowsOfResult copies n values of a lambda's result, which may be constant, into dst.
func rowsOfResult(dst, v *columnar.Vec, n int) {
	idx := make([]int32, n)
	if !v.Const {
		for i := range idx {
			idx[i] = int32(i)
		}
	}
	t := dst.Type
	columnar.GatherIdx(dst, v, idx)
	if dst.Phys == columnar.PNull {
		dst.Phys = columnar.PhysicalOf(t)
		if dst.Phys != columnar.PNull {
			dst.Reset(t, n)
			dst.MakeValid(n)
			clear(dst.Valid)
		}
	}
	dst.Type = t
}

// setEnds writes the offsets of the selected rows.
func setEnds(dst *columnar.Vec, ends []int32, sel columnar.Sel) {
	for k := range sel.N {
		dst.Off[sel.At(k)+1] = ends[k]
	}
	closeGaps(dst)
}

func buildTransform(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	l, err := call.bindLambda(1, elementParams("transform", true))
	if err != nil {
		return nil, err
	}
	h := NewHigher("transform", types.ArrayOf(l.Type(), l.Nullable()), call.Args[0].Nullable(), call.Args, call.Text(),
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, ls []*LambdaProgram, sel columnar.Sel) error {
			b := elementsOf(args[0], sel)
			params := []*columnar.Vec{gathered(args[0].Kids[0], b.idx)}
			if len(l.Params) == 2 {
				params = append(params, intVec(b.pos))
			}
			if len(b.idx) > 0 {
				res, err := ls[0].Eval(params, b.rows, len(b.idx))
				if err != nil {
					return err
				}
				rowsOfResult(dst.Kids[0], res, len(b.idx))
			}
			setEnds(dst, b.ends, sel)
			return nil
		})
	h.NullIfAnyNull = true
	return h, nil
}

// wantBoolean makes a lambda's body BOOLEAN.
func (c *Call) wantBoolean(i int, l *Lambda) (*Lambda, error) {
	if l.Body.Type().Kind == types.Boolean {
		return l, nil
	}
	body, ok := ImplicitCast(l.Body, tBoolean, c.Conf)
	if !ok || l.Body.Type().Kind != types.Null {
		return nil, WrongType(c.Text(), i, `"BOOLEAN"`, l)
	}
	n := &Lambda{Params: l.Params, Body: body}
	c.Args[i] = n
	return n, nil
}

// predicate binds argument 1 as a condition.
func predicate(c *Call, params func(args []Expr, i, arity int) ([]types.Field, error)) (*Call, *Lambda, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, nil, err
	}
	call := *c
	call.copyArgs()
	l, err := call.bindLambda(1, params)
	if err == nil {
		l, err = call.wantBoolean(1, l)
	}
	return &call, l, err
}

func buildFilter(c *Call) (Expr, error) {
	call, l, err := predicate(c, elementParams("filter", true))
	if err != nil {
		return nil, err
	}
	h := NewHigher("filter", call.Args[0].Type(), call.Args[0].Nullable(), call.Args, call.Text(),
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, ls []*LambdaProgram, sel columnar.Sel) error {
			b := elementsOf(args[0], sel)
			params := []*columnar.Vec{gathered(args[0].Kids[0], b.idx)}
			if len(l.Params) == 2 {
				params = append(params, intVec(b.pos))
			}
			kept, ends, err := keepElements(b, ls[0], params)
			if err != nil {
				return err
			}
			pickRows(dst.Kids[0], args[0].Kids[0], kept)
			setEnds(dst, ends, sel)
			return nil
		})
	h.NullIfAnyNull = true
	return h, nil
}

// keepElements gives the places of the elements for which a condition holds, and new ends.
func keepElements(b elementBatch, l *LambdaProgram, params []*columnar.Vec) (kept, ends []int32, err error) {
	if len(b.idx) == 0 {
		return nil, b.ends, nil
	}
	res, err := l.Eval(params, b.rows, len(b.idx))
	if err != nil {
		return nil, nil, err
	}
	start := int32(0)
	for _, end := range b.ends {
		for j := start; j < end; j++ {
			if !res.IsNull(int(j)) && res.Bool(int(j)) {
				kept = append(kept, b.idx[j])
			}
		}
		ends = append(ends, int32(len(kept)))
		start = end
	}
	return kept, ends, nil
}

func predicateBuilder(exists bool) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		call, l, err := predicate(c, elementParams(c.Name, false))
		if err != nil {
			return nil, err
		}
		h := NewHigher(c.Name, tBoolean, call.Args[0].Nullable() || l.Nullable(), call.Args, call.Text(),
			func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, ls []*LambdaProgram, sel columnar.Sel) error {
				b := elementsOf(args[0], sel)
				var res *columnar.Vec
				if len(b.idx) > 0 {
					var err error
					if res, err = ls[0].Eval([]*columnar.Vec{gathered(args[0].Kids[0], b.idx)}, b.rows, len(b.idx)); err != nil {
						return err
					}
				}
				start := int32(0)
				for k, end := range b.ends {
					i := sel.At(k)
					null, decided := false, false
					for j := start; j < end && !decided; j++ {
						if res.IsNull(int(j)) {
							null = true
						} else {
							decided = res.Bool(int(j)) == exists
						}
					}
					start = end
					switch {
					case decided == exists && !(null && !decided):
						columnar.SetBit(dst.Bits, i)
					case null && !decided:
						SetNull(dst, i)
					}
				}
				return nil
			})
		h.NullIfAnyNull = true
		return h, nil
	}
}

func identityLambda(f types.Field) *Lambda {
	v := &LambdaVar{Name: "id", Field: f}
	return &Lambda{Params: []*LambdaVar{v}, Body: v}
}

func buildFold(c *Call) (Expr, error) {
	if err := c.Arity(3, 4); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	if err := wantCollection(c.Name, call.Args, 0, types.Array); err != nil {
		return nil, err
	}
	if len(call.Args) == 3 {
		call.Args = append(call.Args, identityLambda(types.Field{Name: "id", Type: call.Args[1].Type(), Nullable: true}))
	}
	merge, err := call.bindLambda(2, foldParams)
	if err != nil {
		return nil, err
	}
	finish, err := call.bindLambda(3, foldParams)
	if err != nil {
		return nil, err
	}
	start := call.Args[1].Type()
	if !merge.Type().Equal(start) {
		if merge.Type().Kind != types.Null {
			return nil, WrongType(call.Text(), 2, quoted(start.SQL()), merge)
		}
		call.Args[2] = &Lambda{Params: merge.Params, Body: CastTo(merge.Body, start, c.Conf)}
	}
	h := NewHigher(c.Name, finish.Type(), true, call.Args, call.Text(), foldKernel)
	return h, nil
}

// foldKernel folds all rows in step: round k merges the k-th elements of the rows that have one.
func foldKernel(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, ls []*LambdaProgram, sel columnar.Sel) error {
	arr, zero := args[0], args[1]
	type place struct {
		v *columnar.Vec
		i int32
	}
	var active, at []int32
	ends := make([]place, sel.N)
	order := make([]int32, 0, sel.N)
	for k := range sel.N {
		if i := sel.At(k); !arr.IsNull(i) {
			order = append(order, int32(k))
			active = append(active, int32(k))
			at = append(at, int32(zero.Row(i)))
		}
	}
	acc := gathered(zero, at)
	for round := int32(0); len(active) > 0; round++ {
		var going, from, done, elems, rows []int32
		for n, k := range active {
			r := arr.Row(sel.At(int(k)))
			if round < arr.Off[r+1]-arr.Off[r] {
				going = append(going, k)
				from = append(from, int32(n))
				elems = append(elems, arr.Off[r]+round)
				rows = append(rows, int32(sel.At(int(k))))
			} else {
				done = append(done, int32(n))
			}
		}
		if len(done) > 0 {
			v := gathered(acc, done)
			for j, n := range done {
				ends[active[n]] = place{v, int32(j)}
			}
		}
		if len(going) == 0 {
			break
		}
		res, err := ls[0].Eval([]*columnar.Vec{gathered(acc, from), gathered(arr.Kids[0], elems)}, rows, len(going))
		if err != nil {
			return err
		}
		next := columnar.NewVec(zero.Type, 0)
		rowsOfResult(next, res, len(going))
		acc, active = next, going
	}
	total := columnar.NewVec(zero.Type, 0)
	a := NewAppender(total)
	rows := make([]int32, len(order))
	for j, k := range order {
		a.Append(ends[k].v, int(ends[k].i))
		rows[j] = int32(sel.At(int(k)))
	}
	a.Finish()
	n := dst.Len
	t := dst.Type
	idx := resetIndex(nil, n)
	for j, r := range rows {
		idx[r] = int32(j)
	}
	res := total
	if len(rows) > 0 {
		var err error
		if res, err = ls[1].Eval([]*columnar.Vec{total}, rows, len(rows)); err != nil {
			return err
		}
	} else {
		res = columnar.NewVec(t, 0)
	}
	pickRows(dst, res, idx)
	dst.Type = t
	return nil
}

func buildZipWith(c *Call) (Expr, error) {
	if err := c.Arity(3, 3); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	l, err := call.bindLambda(2, zipParams)
	if err != nil {
		return nil, err
	}
	h := NewHigher("zip_with", types.ArrayOf(l.Type(), l.Nullable()), anyNullable(call.Args[:2]), call.Args, call.Text(),
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, ls []*LambdaProgram, sel columnar.Sel) error {
			var x, y, rows, ends []int32
			for k := range sel.N {
				i := sel.At(k)
				a, b := args[0].Row(i), args[1].Row(i)
				n, m := args[0].Off[a+1]-args[0].Off[a], args[1].Off[b+1]-args[1].Off[b]
				for j := range max(n, m) {
					p, q := int32(-1), int32(-1)
					if j < n {
						p = args[0].Off[a] + j
					}
					if j < m {
						q = args[1].Off[b] + j
					}
					x, y, rows = append(x, p), append(y, q), append(rows, int32(i))
				}
				ends = append(ends, int32(len(rows)))
			}
			if len(rows) > 0 {
				res, err := ls[0].Eval([]*columnar.Vec{gathered(args[0].Kids[0], x), gathered(args[1].Kids[0], y)}, rows, len(rows))
				if err != nil {
					return err
				}
				rowsOfResult(dst.Kids[0], res, len(rows))
			}
			setEnds(dst, ends, sel)
			return nil
		})
	h.NullIfAnyNull = true
	return h, nil
}

// defaultComparator is how the order without a function prints.
const defaultComparator = "lambdafunction((IF(((namedlambdavariable() IS NULL) AND (namedlambdavariable() IS NULL)), 0, " +
	"(IF((namedlambdavariable() IS NULL), 1, (IF((namedlambdavariable() IS NULL), -1, (IF((namedlambdavariable() < namedlambdavariable()), -1, " +
	"(IF((namedlambdavariable() > namedlambdavariable()), 1, 0)))))))))), namedlambdavariable(), namedlambdavariable())"

func buildArraySort(c *Call) (Expr, error) {
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	sorted := func(r *row, a *Appender, by *byPlace) {
		v, from, to := r.elements(0)
		by.idx = by.idx[:0]
		for j := from; j < to; j++ {
			by.idx = append(by.idx, int32(j))
		}
		sort.Stable(by)
		for _, j := range by.idx {
			a.Kid(0).Append(v, int(j))
		}
		a.End()
	}
	if len(c.Args) == 1 {
		if err := call.needArray(c.Text(), 0, true); err != nil {
			return nil, err
		}
		t := call.Args[0].Type()
		text := "array_sort(" + c.Args[0].String() + ", " + defaultComparator + ")"
		if !Orderable(t) {
			return nil, invalidOrdering(c, text, t)
		}
		return Strict("array_sort", t, call.Args, text, valueRows(func(r *row, a *Appender) error {
			v := r.args[0].Kids[0]
			sorted(r, a, &byPlace{less: func(x, y int32) bool {
				if v.IsNull(int(x)) || v.IsNull(int(y)) {
					return !v.IsNull(int(x))
				}
				return Compare(v, v, int(x), int(y)) < 0
			}})
			return nil
		})), nil
	}
	l, err := call.bindLambda(1, sortParams)
	if err != nil {
		return nil, err
	}
	if l.Type().Kind != types.Int {
		return nil, errs.New("DATATYPE_MISMATCH.UNEXPECTED_RETURN_TYPE", "sqlExpr", quoted(call.Text()), "functionName", "`lambdafunction`",
			"expectedType", `"INT"`, "actualType", quoted(l.Type().SQL()))
	}
	h := NewHigher("array_sort", call.Args[0].Type(), call.Args[0].Nullable(), call.Args, call.Text(),
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, ls []*LambdaProgram, sel columnar.Sel) error {
			var failed error
			x, y := new(columnar.Vec), new(columnar.Vec)
			params, place, at := []*columnar.Vec{x, y}, make([]int32, 1), make([]int32, 1)
			v := args[0].Kids[0]
			return valueRows(func(r *row, a *Appender) error {
				at[0] = int32(r.i)
				sorted(r, a, &byPlace{less: func(p, q int32) bool {
					if failed != nil {
						return false
					}
					place[0] = p
					columnar.GatherIdx(x, v, place)
					place[0] = q
					columnar.GatherIdx(y, v, place)
					res, err := ls[0].Eval(params, at, 1)
					switch {
					case err != nil:
						failed = err
						return false
					case res.IsNull(0):
						failed = errs.New("COMPARATOR_RETURNS_NULL", "firstValue", string(AppendText(nil, x, 0, ctx.Conf.Zone, CastStyle)),
							"secondValue", string(AppendText(nil, y, 0, ctx.Conf.Zone, CastStyle)))
						return false
					}
					return res.I32[0] < 0
				}})
				return failed
			})(ctx, dst, args, sel)
		})
	h.NullIfAnyNull = true
	return h, nil
}

func buildMapFilter(c *Call) (Expr, error) {
	call, _, err := predicate(c, entryParams("map_filter"))
	if err != nil {
		return nil, err
	}
	h := NewHigher("map_filter", call.Args[0].Type(), call.Args[0].Nullable(), call.Args, call.Text(),
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, ls []*LambdaProgram, sel columnar.Sel) error {
			b := elementsOf(args[0], sel)
			kept, ends, err := keepElements(b, ls[0], []*columnar.Vec{gathered(args[0].Kids[0], b.idx), gathered(args[0].Kids[1], b.idx)})
			if err != nil {
				return err
			}
			pickRows(dst.Kids[0], args[0].Kids[0], kept)
			pickRows(dst.Kids[1], args[0].Kids[1], kept)
			setEnds(dst, ends, sel)
			return nil
		})
	h.NullIfAnyNull = true
	return h, nil
}

// mapTransform is transform_keys (part 0) and transform_values (part 1).
func mapTransform(part int) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		call := *c
		call.copyArgs()
		l, err := call.bindLambda(1, entryParams(c.Name))
		if err != nil {
			return nil, err
		}
		in := call.Args[0].Type()
		out := types.MapOf(*in.Key, l.Type(), l.Nullable())
		if part == 0 {
			out = types.MapOf(l.Type(), *in.Elem, in.ContainsNull)
		}
		h := NewHigher(c.Name, out, call.Args[0].Nullable(), call.Args, call.Text(),
			func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, ls []*LambdaProgram, sel columnar.Sel) error {
				b := elementsOf(args[0], sel)
				kids := [2]*columnar.Vec{gathered(args[0].Kids[0], b.idx), gathered(args[0].Kids[1], b.idx)}
				if len(b.idx) == 0 {
					setEnds(dst, b.ends, sel)
					return nil
				}
				res, err := ls[0].Eval(kids[:], b.rows, len(b.idx))
				if err != nil {
					return err
				}
				made := columnar.NewVec(l.Type(), 0)
				rowsOfResult(made, res, len(b.idx))
				if part == 1 {
					rowsOfResult(dst.Kids[0], kids[0], len(b.idx))
					rowsOfResult(dst.Kids[1], made, len(b.idx))
					setEnds(dst, b.ends, sel)
					return nil
				}
				var m mapMaker
				k, start := 0, 0
				return valueRows(func(r *row, a *Appender) error {
					m.begin(ctx)
					for ; start < int(b.ends[k]); start++ {
						if err := m.put(made, start, kids[1], start); err != nil {
							return err
						}
					}
					k++
					m.end(a)
					return nil
				})(ctx, dst, args, sel)
			})
		h.NullIfAnyNull = true
		return h, nil
	}
}

func buildMapZipWith(c *Call) (Expr, error) {
	if err := c.Arity(3, 3); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	l, err := call.bindLambda(2, mapZipParams)
	if err != nil {
		return nil, err
	}
	fs, err := mapZipParams(call.Args, 2, 3)
	if err != nil {
		return nil, err
	}
	key := fs[0].Type
	text := call.Text()
	for i := range 2 {
		t := call.Args[i].Type()
		call.Args[i] = CastTo(call.Args[i], types.MapOf(key, *t.Elem, t.ContainsNull), c.Conf)
	}
	h := NewHigher("map_zip_with", types.MapOf(key, l.Type(), l.Nullable()), anyNullable(call.Args[:2]), call.Args, text,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, ls []*LambdaProgram, sel columnar.Sel) error {
			var set valueSet
			keys := columnar.NewVec(key, 0)
			ka := NewAppender(keys)
			var x, y, rows, ends []int32
			for k := range sel.N {
				i := sel.At(k)
				set.reset()
				base := len(x)
				for s, m := range args[:2] {
					r := m.Row(i)
					for j := m.Off[r]; j < m.Off[r+1]; j++ {
						slot, hash, found := set.find(m.Kids[0], int(j))
						if !found {
							set.vals = append(set.vals, setValue{m.Kids[0], int(j), hash})
							set.slots[slot] = int32(len(set.vals))
							ka.Append(m.Kids[0], int(j))
							x, y, rows = append(x, -1), append(y, -1), append(rows, int32(i))
						}
						at := base + int(set.slots[slot]) - 1
						if s == 0 {
							x[at] = j
						} else {
							y[at] = j
						}
					}
				}
				ends = append(ends, int32(len(rows)))
			}
			ka.Finish()
			if len(rows) > 0 {
				res, err := ls[0].Eval([]*columnar.Vec{keys, gathered(args[0].Kids[1], x), gathered(args[1].Kids[1], y)}, rows, len(rows))
				if err != nil {
					return err
				}
				rowsOfResult(dst.Kids[0], keys, len(rows))
				rowsOfResult(dst.Kids[1], res, len(rows))
			}
			setEnds(dst, ends, sel)
			return nil
		})
	h.NullIfAnyNull = true
	return h, nil
}
