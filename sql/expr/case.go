package expr

import (
	"fmt"
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// Branch is WHEN Cond THEN Value.
type Branch struct{ Cond, Value Expr }

func conditionalFunctions() []Function {
	f := func(name, sig, doc string, build func(c *Call) (Expr, error)) Function {
		return Function{Name: name, Signature: sig, Doc: doc, Portable: true, Build: build}
	}
	return []Function{
		f("if", "if(condition, a, b)", "a if the condition is true, else b.", buildIf),
		f("coalesce", "coalesce(a, ...)", "The first argument that is not NULL.", buildCoalesce),
		f("nvl", "nvl(a, b)", "b if a is NULL, else a.", buildNvl),
		f("ifnull", "ifnull(a, b)", "b if a is NULL, else a.", buildNvl),
		f("nvl2", "nvl2(a, b, c)", "b if a is not NULL, else c.", buildNvl2),
		f("nullif", "nullif(a, b)", "NULL if a equals b, else a.", buildNullIf),
		f("nullifzero", "nullifzero(a)", "NULL if a is zero.", buildNullIfZero),
		f("zeroifnull", "zeroifnull(a)", "0 if a is NULL.", buildZeroIfNull),
		f("greatest", "greatest(a, b, ...)", "The greatest argument that is not NULL.", buildExtreme),
		f("least", "least(a, b, ...)", "The least argument that is not NULL.", buildExtreme),
		{Name: "case", Hidden: true, Portable: true, Signature: "CASE WHEN c THEN v ... [ELSE e] END",
			Doc: "The value of the first condition that is true.", Build: func(c *Call) (Expr, error) {
				var bs []Branch
				var els Expr
				for i := 0; i+1 < len(c.Args); i += 2 {
					bs = append(bs, Branch{c.Args[i], c.Args[i+1]})
				}
				if len(c.Args)%2 == 1 {
					els = c.Args[len(c.Args)-1]
				}
				return NewCase(bs, els, c.Conf)
			}},
		{Name: "when", Hidden: true, Portable: true, Signature: "when(c, v, ...)", Doc: "CASE as a function.", Build: func(c *Call) (Expr, error) {
			return BuildCall(&Call{Name: "case", Args: c.Args, Conf: c.Conf})
		}},
	}
}

// commonValues casts values to their common type.
func commonValues(values []Expr, function, text string, brackets bool, conf Conf) ([]Expr, types.DataType, error) {
	t, ok := CommonTypeAll(values, conf)
	if !ok {
		return nil, t, diffTypes(function, text, values, brackets)
	}
	return CastAll(values, t, conf), t, nil
}

// NewCase makes CASE WHEN; els is nil without ELSE.
func NewCase(branches []Branch, els Expr, c Conf) (Expr, error) {
	branches, els, err := collatedCase(branches, els, c)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("CASE")
	var values []Expr
	for _, br := range branches {
		fmt.Fprintf(&b, " WHEN %s THEN %s", br.Cond.String(), br.Value.String())
		values = append(values, br.Value)
	}
	if els != nil {
		b.WriteString(" ELSE " + els.String())
		values = append(values, els)
	}
	b.WriteString(" END")
	text := b.String()
	for i, br := range branches {
		if br.Cond.Type().Kind != types.Boolean {
			return nil, WrongType(text, i, `"BOOLEAN"`, br.Cond)
		}
	}
	values, t, err := commonValues(values, "casewhen", text, true, c)
	if err != nil {
		return nil, err
	}
	var args []Expr
	null := els == nil
	for i, br := range branches {
		args = append(args, br.Cond, values[i])
		null = null || values[i].Nullable()
	}
	if els != nil {
		e := values[len(values)-1]
		args = append(args, e)
		null = null || e.Nullable()
	}
	return &Lazy{Kind: LazyCase, Name: "case", Out: t, Null: null, Args: args, Text: text}, nil
}

func buildIf(c *Call) (Expr, error) {
	if err := c.Arity(3, 3); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("(IF(%s, %s, %s))", c.Args[0], c.Args[1], c.Args[2])
	cond := c.Args[0]
	switch k := cond.Type().Kind; {
	case k == types.Null:
		cond = CastTo(cond, types.Of(types.Boolean), c.Conf)
	case k != types.Boolean:
		return nil, WrongType(text, 0, `"BOOLEAN"`, cond)
	}
	return ifExpr(cond, c.Args[1], c.Args[2], text, c.Conf)
}

func ifExpr(cond, a, b Expr, text string, conf Conf) (Expr, error) {
	vs, t, err := commonValues([]Expr{a, b}, "if", text, true, conf)
	if err != nil {
		return nil, err
	}
	return &Lazy{Kind: LazyCase, Name: "if", Out: t, Null: vs[0].Nullable() || vs[1].Nullable(),
		Args: []Expr{cond, vs[0], vs[1]}, Text: text}, nil
}

func buildCoalesce(c *Call) (Expr, error) {
	if err := c.Arity(1, -1); err != nil {
		return nil, err
	}
	return coalesceExpr(c.Args, c.Text(), c.Conf)
}

func coalesceExpr(args []Expr, text string, conf Conf) (Expr, error) {
	vs, t, err := commonValues(args, "coalesce", text, false, conf)
	if err != nil {
		return nil, err
	}
	null := true
	for _, v := range vs {
		null = null && v.Nullable()
	}
	return &Lazy{Kind: LazyCoalesce, Name: "coalesce", Out: t, Null: null, Args: vs, Text: text}, nil
}

func buildNvl(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	return renamed(c)(coalesceExpr(c.Args, callText("coalesce", c.Args), c.Conf))
}

// renamed gives an expression that stands for a call the text of the call; errors show what it stands for.
func renamed(c *Call) func(Expr, error) (Expr, error) {
	return func(e Expr, err error) (Expr, error) {
		if l, ok := e.(*Lazy); ok {
			l.Text = c.Text()
		}
		return e, err
	}
}

func buildNvl2(c *Call) (Expr, error) {
	if err := c.Arity(3, 3); err != nil {
		return nil, err
	}
	cond, err := Build("isnotnull", c.Args[:1], c.Conf)
	if err != nil {
		return nil, err
	}
	return renamed(c)(ifExpr(cond, c.Args[1], c.Args[2], fmt.Sprintf("(IF(%s, %s, %s))", cond, c.Args[1], c.Args[2]), c.Conf))
}

func buildNullIf(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	cond, err := Build("=", c.Args, c.Conf)
	if bad := errs.As(err); bad != nil && bad.Params["sqlExpr"] != "" { // Spark computes the first argument once
		bad.Params["sqlExpr"] = quoted("(commonexpressionref() = " + c.Args[1].String() + ")")
	}
	if err != nil {
		return nil, err
	}
	return ifExpr(cond, NullLit(c.Args[0].Type()), c.Args[0], c.Text(), c.Conf)
}

func buildNullIfZero(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	cond, err := Build("=", []Expr{c.Args[0], IntLit(0)}, c.Conf)
	if err != nil {
		return nil, err
	}
	return ifExpr(cond, NullLit(c.Args[0].Type()), c.Args[0], c.Text(), c.Conf)
}

func buildZeroIfNull(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	args := []Expr{c.Args[0], IntLit(0)}
	return renamed(c)(coalesceExpr(args, callText("coalesce", args), c.Conf))
}

// buildExtreme builds greatest and least, which take arguments of one class: strings are not converted.
func buildExtreme(c *Call) (Expr, error) {
	if len(c.Args) < 2 {
		return nil, wrongArity(c.Name, "> 1", len(c.Args))
	}
	t := c.Args[0].Type()
	for _, a := range c.Args[1:] {
		var ok bool
		if t, ok = TightestCommonType(t, a.Type()); !ok {
			return nil, diffTypes(c.Name, c.Text(), c.Args, true)
		}
	}
	if !Orderable(t) {
		return nil, errs.New("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "sqlExpr", quoted(c.Text()),
			"functionName", "`"+c.Name+"`", "dataType", quoted(t.SQL()))
	}
	args := CastAll(c.Args, t, c.Conf)
	null := true
	for _, a := range args {
		null = null && a.Nullable()
	}
	want := 1
	if c.Name == "least" {
		want = -1
	}
	s := NewScalar(c.Name, t, null, args, c.Text(), nil)
	s.Fresh = func() Kernel {
		var choice []int16
		return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			if cap(choice) < dst.Len {
				choice = make([]int16, dst.Len)
			}
			choice = choice[:dst.Len]
			for k := range sel.N {
				i := sel.At(k)
				best := -1
				for j, a := range args {
					if !a.IsNull(i) && (best < 0 || Compare(a, args[best], i, i) == want) {
						best = j
					}
				}
				choice[i] = int16(best)
				if best < 0 {
					SetNull(dst, i)
				}
			}
			mergeValues(dst, args, choice, sel)
			return nil
		}
	}
	return s, nil
}

// NewGetField is base.name of a struct, an array of structs or a map.
func NewGetField(base Expr, name string, c Conf) (Expr, error) {
	t := base.Type()
	switch {
	case t.Kind == types.Struct:
		i, err := fieldIndex(t, name)
		if err != nil {
			return nil, err
		}
		return structField(base, i, base.String()+"."+name), nil
	case t.Kind == types.Array && t.Elem.Kind == types.Struct:
		i, err := fieldIndex(*t.Elem, name)
		if err != nil {
			return nil, err
		}
		return arrayStructField(base, i, treeText(base)+"."+name), nil
	case t.Kind == types.Map:
		return NewGetItem(base, StringLit(name), c)
	case t.Kind == types.Null:
		return NullLit(types.Of(types.Null)), nil
	}
	return nil, errs.New("INVALID_EXTRACT_BASE_FIELD_TYPE", "base", quoted(base.String()), "other", quoted(t.SQL()))
}

// treeText is an expression as Spark prints its tree, which is how it names the base of a field of an array's
// structs: there a struct shows the names of its fields as arguments of their own.
func treeText(e Expr) string {
	switch x := e.(type) {
	case *Alias:
		return treeText(x.Child) + " AS " + x.Name
	case *Scalar:
		if x.Name != "array" && x.Name != "struct" {
			break
		}
		var parts []string
		for i, a := range x.Args {
			if x.Name == "struct" {
				parts = append(parts, x.Out.Fields[i].Name)
			}
			parts = append(parts, treeText(a))
		}
		return x.Name + "(" + strings.Join(parts, ", ") + ")"
	}
	return e.String()
}

func fieldIndex(t types.DataType, name string) (int, error) {
	found, n := -1, 0
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = types.Quote(f.Name)
		if strings.EqualFold(f.Name, name) {
			found = i
			n++
		}
	}
	if n > 1 {
		return 0, errs.New("AMBIGUOUS_REFERENCE_TO_FIELDS", "field", types.Quote(name), "count", n)
	}
	if found < 0 {
		return 0, errs.New("FIELD_NOT_FOUND", "fieldName", types.Quote(name), "fields", strings.Join(names, ", "))
	}
	return found, nil
}

func structField(base Expr, i int, text string) Expr {
	f := base.Type().Fields[i]
	s := NewScalar("getfield", f.Type, base.Nullable() || f.Nullable, []Expr{base}, text, nil)
	s.Extra = fmt.Sprint(i)
	s.Fresh = func() Kernel {
		var valid []uint64
		return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			shareChild(dst, args[0], args[0].Kids[i], &valid)
			return nil
		}
	}
	s.Alias = true
	return s
}

// shareChild makes dst show the child of a struct, null where the struct is.
func shareChild(dst, parent, kid *columnar.Vec, buf *[]uint64) {
	*dst = *kid
	dst.Len, dst.Const = parent.Len, parent.Const
	if parent.Valid == nil || kid.Phys == columnar.PNull {
		return
	}
	w := columnar.Words(parent.Len)
	if cap(*buf) < w {
		*buf = make([]uint64, w)
	}
	valid := (*buf)[:w]
	copy(valid, parent.Valid[:w])
	if kid.Valid != nil {
		for i := range valid {
			valid[i] &= kid.Valid[i]
		}
	}
	dst.Valid = valid
}

func arrayStructField(base Expr, i int, text string) Expr {
	elem := *base.Type().Elem
	f := elem.Fields[i]
	t := types.ArrayOf(f.Type, base.Type().ContainsNull || f.Nullable)
	s := NewScalar("getarraystructfields", t, base.Nullable(), []Expr{base}, text, nil)
	s.Extra = fmt.Sprint(i)
	s.Alias = true
	s.Fresh = func() Kernel {
		var valid []uint64
		kid := new(columnar.Vec)
		return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			a := args[0]
			*dst = *a
			dst.Type = t
			shareChild(kid, a.Kids[0], a.Kids[0].Kids[i], &valid)
			dst.Kids = []*columnar.Vec{kid}
			return nil
		}
	}
	return s
}

// NewGetItem is base[index]: of an array (from 0), a map, or by name of a struct.
func NewGetItem(base, index Expr, c Conf) (Expr, error) {
	t := base.Type()
	text := base.String() + "[" + index.String() + "]"
	switch t.Kind {
	case types.Struct:
		l, err := Const(index, c)
		if err != nil {
			return nil, err
		}
		if l != nil && l.Type().Kind == types.String && !l.Value.IsNull(0) {
			return NewGetField(base, string(l.Value.Bytes(0)), c)
		}
	case types.Array:
		if l, ok := index.(*Literal); ok && l.Type().Kind == types.String && t.Elem.Kind == types.Struct {
			return NewGetField(base, string(l.Value.Bytes(0)), c)
		}
		if !index.Type().IsIntegral() && index.Type().Kind != types.Null {
			return nil, WrongType(text, 1, `"INTEGRAL"`, index)
		}
		if index.Type().Kind == types.Null {
			index = CastTo(index, types.Of(types.Int), c)
		}
		return arrayItem(base, index, text, c), nil
	case types.Map:
		key, ok := ImplicitCast(index, *t.Key, c)
		if !ok {
			return nil, WrongType(text, 1, quoted(t.Key.SQL()), index)
		}
		return mapItem(base, key, text), nil
	}
	return nil, errs.New("INVALID_EXTRACT_BASE_FIELD_TYPE", "base", quoted(base.String()), "other", quoted(t.SQL()))
}

func arrayItem(base, index Expr, text string, c Conf) Expr {
	s := arrayIndex("getarrayitem", base, index, text, func(j, n int64) (int64, error) {
		switch {
		case j >= 0 && j < n:
			return j, nil
		case c.ANSI:
			return 0, errs.New("INVALID_ARRAY_INDEX", "indexValue", j, "arraySize", n)
		}
		return -1, nil
	})
	if !c.ANSI {
		s.Extra = "legacy"
	}
	return s
}

func resetIndex(idx []int32, n int) []int32 {
	if cap(idx) < n {
		idx = make([]int32, n)
	}
	idx = idx[:n]
	for i := range idx {
		idx[i] = -1
	}
	return idx
}

// pickRows fills dst with rows idx of src; -1 is null.
func pickRows(dst, src *columnar.Vec, idx []int32) {
	t := dst.Type
	if src.Const && src.Len == 1 {
		one := make([]int32, len(idx))
		for i, x := range idx {
			if x < 0 {
				one[i] = -1
			}
		}
		idx = one
	}
	columnar.GatherIdx(dst, src, idx)
	dst.Type = t
}

func mapItem(base, key Expr, text string) Expr {
	t := base.Type()
	s := NewScalar("getmapvalue", *t.Elem, true, []Expr{base, key}, text, nil)
	s.NullIfAnyNull = true
	s.Fresh = func() Kernel {
		var idx []int32
		return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			m, k := args[0], args[1]
			idx = resetIndex(idx, dst.Len)
			for n := range sel.N {
				i := sel.At(n)
				r := m.Row(i)
				for j := m.Off[r]; j < m.Off[r+1]; j++ {
					if Compare(m.Kids[0], k, int(j), i) == 0 {
						idx[i] = j
						break
					}
				}
			}
			pickRows(dst, m.Kids[1], idx)
			return nil
		}
	}
	return s
}
