package expr

import (
	"fmt"
	"unicode/utf8"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// CastMode says who asked for a cast.
type CastMode uint8

// The modes of casts.
const (
	Explicit CastMode = iota // CAST(x AS t), x::t
	Try                      // TRY_CAST: null instead of an error
	Implicit                 // inserted by the analyser: not printed
)

// Cast converts a value to another type.
type Cast struct {
	Child Expr
	To    types.DataType
	Mode  CastMode
	Conf  Conf
	Pos   errs.Pos
	// Function: written int(x), which prints as x.
	Function bool
}

// Type is the target.
func (c *Cast) Type() types.DataType { return c.To }

// Children is the one child.
func (c *Cast) Children() []Expr { return []Expr{c.Child} }

func (c *Cast) String() string {
	switch {
	case c.Mode == Implicit, c.Function, c.To.Kind >= types.Array && c.To.Kind <= types.Struct:
		return c.Child.String()
	case c.Mode == Try:
		return "TRY_CAST(" + c.Child.String() + " AS " + c.To.SQL() + ")"
	}
	return "CAST(" + c.Child.String() + " AS " + c.To.SQL() + ")"
}

// Nullable as the child, or where the cast may give null.
func (c *Cast) Nullable() bool {
	return c.Child.Nullable() || c.Mode == Try || castGivesNull(c.Child.Type(), c.To, c.Conf)
}

// castGivesNull reports casts that turn some values into null instead of failing.
func castGivesNull(from, to types.DataType, c Conf) bool {
	if to.Kind == types.Calendar || from.IsFractional() && to.Kind == types.Decimal {
		return true
	}
	if c.ANSI || from.Equal(to) {
		return false
	}
	switch {
	case from.Kind == types.String:
		return to.Kind != types.Binary && to.Kind != types.String && to.Kind != types.Variant
	case to.Kind == types.Decimal:
		return !from.IsIntegral() || decimalFor(from).Precision > to.Precision-to.Scale
	case to.Kind == types.Timestamp && from.IsFractional():
		return true
	case from.Kind == types.Timestamp && to.IsIntegral():
		return to.Kind != types.BigInt
	}
	return false
}

// NewCast checks that a cast is allowed and makes it. CHAR and VARCHAR targets become STRING.
func NewCast(child Expr, to types.DataType, m CastMode, c Conf) (Expr, error) {
	to = plainStrings(to)
	from := child.Type()
	if HasTime(to) && !c.TimeType && (from.Kind != types.Null || m != Implicit) {
		return nil, errs.New("UNSUPPORTED_TIME_TYPE")
	}
	e := &Cast{Child: child, To: to, Mode: m, Conf: c}
	if m == Try {
		e.Conf.ANSI = true // which casts are allowed does not change
	}
	if castAllowed(from, to, e.Conf) && !((m == Try || !c.ANSI) && nullableKeys(from, to)) {
		return e, nil
	}
	text := e.String()
	params := []any{"sqlExpr", quoted(text), "srcType", quoted(from.SQL()), "targetType", quoted(to.SQL())}
	if c.ANSI || m == Try {
		if f := castFunctionFor(from, to); f != "" {
			return nil, errs.New("DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION", append(params, "functionNames", f)...)
		}
		if castAllowed(from, to, Conf{Zone: c.Zone}) && !nullableKeys(from, to) {
			return nil, errs.New("DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION",
				append(params, "config", `"spark.sql.ansi.enabled"`, "configVal", "'false'")...)
		}
	}
	return nil, errs.New("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", params...)
}

func castFunctionFor(from, to types.DataType) string {
	switch {
	case from.IsNumeric() && to.Kind == types.Date:
		return "`DATE_FROM_UNIX_DATE`"
	case from.Kind == types.Date && to.IsNumeric():
		return "`UNIX_DATE`"
	}
	return ""
}

// plainStrings drops the lengths of CHAR and VARCHAR.
func plainStrings(t types.DataType) types.DataType {
	switch t.Kind {
	case types.String:
		t.Length, t.Fixed = 0, false
	case types.Array:
		return types.ArrayOf(plainStrings(*t.Elem), t.ContainsNull)
	case types.Map:
		return types.MapOf(plainStrings(*t.Key), plainStrings(*t.Elem), t.ContainsNull)
	case types.Struct:
		fs := append([]types.Field{}, t.Fields...)
		for i := range fs {
			fs[i].Type = plainStrings(fs[i].Type)
		}
		return types.StructOf(fs...)
	}
	return t
}

// HasTime reports whether a type is TIME or holds it.
func HasTime(t types.DataType) bool {
	switch t.Kind {
	case types.Time:
		return true
	case types.Array:
		return HasTime(*t.Elem)
	case types.Map:
		return HasTime(*t.Key) || HasTime(*t.Elem)
	case types.Struct:
		for _, f := range t.Fields {
			if HasTime(f.Type) {
				return true
			}
		}
	}
	return false
}

// CanCast reports whether CAST(from AS to) is allowed.
func CanCast(from, to types.DataType, c Conf) bool { return castAllowed(from, plainStrings(to), c) }

// nullableKeys reports whether a cast that gives NULL for what it cannot read would make keys of a map NULL.
func nullableKeys(from, to types.DataType) bool {
	switch {
	case from.Kind != to.Kind:
		return false
	case from.Kind == types.Map:
		f, t := from.Key.Kind, to.Key.Kind
		return f == types.String && t != types.String && t != types.Binary || nullableKeys(*from.Key, *to.Key) || nullableKeys(*from.Elem, *to.Elem)
	case from.Kind == types.Array:
		return nullableKeys(*from.Elem, *to.Elem)
	}
	return false
}

func castAllowed(from, to types.DataType, c Conf) bool {
	if from.Equal(to) || from.Kind == types.Null {
		return true
	}
	switch to.Kind {
	case types.Boolean:
		return from.IsNumeric() || from.Kind == types.String || from.Kind == types.Variant ||
			!c.ANSI && (from.Kind == types.Date || from.Kind == types.Timestamp)
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		if from.Kind == types.YearMonth || from.Kind == types.DayTime {
			return true
		}
		fallthrough
	case types.Float, types.Double, types.Decimal:
		if to.Kind == types.Decimal && (from.Kind == types.YearMonth || from.Kind == types.DayTime) {
			return true
		}
		return from.IsNumeric() || from.Kind == types.Boolean || from.Kind == types.String ||
			from.Kind == types.Timestamp || from.Kind == types.Variant || from.Kind == types.Time && to.Kind != types.Float &&
			to.Kind != types.Double || !c.ANSI && from.Kind == types.Date
	case types.String:
		return true
	case types.Binary:
		return from.Kind == types.String || !c.ANSI && from.IsIntegral() || from.Kind == types.Variant
	case types.Date:
		return from.Kind == types.String || from.IsDatetime() || from.Kind == types.Variant
	case types.Timestamp:
		return from.Kind == types.String || from.IsDatetime() || from.IsNumeric() || from.Kind == types.Variant ||
			!c.ANSI && from.Kind == types.Boolean
	case types.TimestampNTZ:
		return from.Kind == types.String || from.IsDatetime() || from.Kind == types.Variant
	case types.Time:
		return from.Kind == types.String || from.Kind == types.Time
	case types.YearMonth:
		return from.Kind == types.YearMonth || from.Kind == types.String || from.IsIntegral() || from.Kind == types.Decimal
	case types.DayTime:
		return from.Kind == types.DayTime || from.Kind == types.String || from.IsIntegral() || from.Kind == types.Decimal
	case types.Calendar:
		return from.Kind == types.String
	case types.Variant:
		return from.Kind <= types.TimestampNTZ || from.Kind == types.Array && castAllowed(*from.Elem, to, c)
	case types.Array:
		return from.Kind == types.Array && castAllowed(*from.Elem, *to.Elem, c) &&
			(to.ContainsNull || !from.ContainsNull) || from.Kind == types.Variant
	case types.Map:
		return from.Kind == types.Map && castAllowed(*from.Key, *to.Key, c) && castAllowed(*from.Elem, *to.Elem, c) ||
			from.Kind == types.Variant
	case types.Struct:
		if from.Kind == types.Variant {
			return true
		}
		if from.Kind != types.Struct || len(from.Fields) != len(to.Fields) {
			return false
		}
		for i := range from.Fields {
			if !castAllowed(from.Fields[i].Type, to.Fields[i].Type, c) {
				return false
			}
		}
		return true
	}
	return false
}

// scalar is the cast as a step of a program.
func (c *Cast) scalar() *Scalar {
	from := c.Child.Type()
	s := &Scalar{Name: "cast", Out: c.To, Null: c.Nullable(), Args: []Expr{c.Child}, Text: "", Pos: c.Pos,
		Extra: fmt.Sprintf("%s|%d|%v|%p", from.SQL(), c.Mode, c.Conf.ANSI, c.Conf.Zone), NullIfAnyNull: true}
	caster := newCaster(from, c.To, castPolicy{try: c.Mode == Try, ansi: c.Conf.ANSI, conf: c.Conf})
	s.Total = caster.total
	s.Kernel = func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		return caster.run(ctx, dst, args[0], sel)
	}
	if from.Kind == types.Binary && c.To.Kind == types.String {
		s.Alias = true
		s.Fresh = func() Kernel {
			own := new(columnar.Vec)
			return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
				n, valid := dst.Len, dst.Valid
				if validUTF8(args[0]) {
					*dst = *args[0]
				} else {
					own.Reset(c.To, n)
					if err := caster.run(ctx, own, args[0], sel); err != nil {
						return err
					}
					if int64(len(own.Data)) > maxVector {
						return tooLarge()
					}
					closeGaps(own)
					*dst = *own
				}
				dst.Type, dst.Len, dst.Valid = c.To, n, valid
				return nil
			}
		}
	}
	return s
}

// validUTF8 says whether every value of a column of bytes is UTF-8, so that it may be shown as a text as it is.
func validUTF8(v *columnar.Vec) bool {
	n := v.Len
	if v.Const {
		n = 1
	}
	if n == 0 || v.Phys != columnar.PBytes {
		return false
	}
	off := v.Off[:n+1]
	data := v.Data[:off[n]]
	if !utf8.Valid(data[off[0]:]) {
		return false
	}
	for _, o := range off {
		if int(o) < len(data) && !utf8.RuneStart(data[o]) {
			return false
		}
	}
	return true
}

// castPolicy says what happens to values that do not fit.
type castPolicy struct {
	try, ansi bool
	conf      Conf
}

// failed handles a value that cannot be cast: null or the error.
func (p castPolicy) failed(dst *columnar.Vec, i int, err func() error) error {
	if p.ansi && !p.try {
		return err()
	}
	SetNull(dst, i)
	return nil
}

// A caster casts the selected rows, which are valid, of src into dst, which is reset.
type caster struct {
	total bool
	run   func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error
}

func newCaster(from, to types.DataType, p castPolicy) caster {
	switch {
	case from.Kind == types.Null:
		return caster{run: func(*EvalContext, *columnar.Vec, *columnar.Vec, columnar.Sel) error { return nil }}
	case from.Equal(to) && from.IsAtomic():
		return caster{total: columnar.PhysicalOf(to) != columnar.PBytes, run: copyRows}
	}
	switch to.Kind {
	case types.String:
		return castToString(from, p)
	case types.Boolean:
		return castToBoolean(from, to, p)
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		return castToIntegral(from, to, p)
	case types.Float, types.Double:
		return castToFloating(from, to, p)
	case types.Decimal:
		return castToDecimal(from, to, p)
	case types.Binary:
		return castToBinary(from, to, p)
	case types.Date, types.Timestamp, types.TimestampNTZ, types.Time:
		return castToDatetime(from, to, p)
	case types.YearMonth, types.DayTime, types.Calendar:
		return castToInterval(from, to, p)
	case types.Variant:
		return castToVariant(from, to, p)
	}
	if from.Kind == types.Variant {
		return castFromVariant(to, p)
	}
	return castNested(from, to, p)
}

// copyRows copies values of the same physical type.
func copyRows(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
	switch dst.Phys {
	case columnar.PBool:
		copy(dst.Bits, src.Bits[:len(dst.Bits)])
	case columnar.PI8:
		copy(dst.I8, src.I8)
	case columnar.PI16:
		copy(dst.I16, src.I16)
	case columnar.PI32:
		copy(dst.I32, src.I32)
	case columnar.PI64:
		copy(dst.I64, src.I64)
	case columnar.PF32:
		copy(dst.F32, src.F32)
	case columnar.PF64:
		copy(dst.F64, src.F64)
	case columnar.PDec:
		copy(dst.Dec, src.Dec)
	case columnar.PBytes:
		for k := range sel.N {
			i := sel.At(k)
			dst.Data = append(dst.Data, src.Bytes(i)...)
			dst.Off[i+1] = int32(len(dst.Data))
		}
	case columnar.PStruct:
		for c, k := range dst.Kids {
			if err := copyRows(ctx, k, src.Kids[c], sel); err != nil {
				return err
			}
		}
	}
	return nil
}

// castNested casts arrays, maps and structs part by part.
func castNested(from, to types.DataType, p castPolicy) caster {
	var parts []caster
	switch to.Kind {
	case types.Array:
		parts = []caster{newCaster(*from.Elem, *to.Elem, p)}
	case types.Map:
		parts = []caster{newCaster(*from.Key, *to.Key, p), newCaster(*from.Elem, *to.Elem, p)}
	case types.Struct:
		for i := range to.Fields {
			parts = append(parts, newCaster(from.Fields[i].Type, to.Fields[i].Type, p))
		}
	}
	if to.Kind == types.Struct {
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for c, part := range parts {
				if err := part.over(ctx, dst.Kids[c], src.Kids[c], sel); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	var inner []int32
	return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
		copy(dst.Off, src.Off[:dst.Len+1])
		inner = inner[:0]
		for k := range sel.N {
			i := sel.At(k)
			for j := src.Off[i]; j < src.Off[i+1]; j++ {
				inner = append(inner, j)
			}
		}
		for c, part := range parts {
			dst.Kids[c].Reset(dst.Kids[c].Type, src.Kids[c].Len)
			if err := part.over(ctx, dst.Kids[c], src.Kids[c], columnar.Sel{Idx: inner, N: len(inner)}); err != nil {
				return err
			}
		}
		return nil
	}}
}

// over casts the selected rows of a child vector, of which some may be null, into dst of the same length.
func (c caster) over(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
	if src.Phys == columnar.PNull {
		dst.Valid = make([]uint64, columnar.Words(dst.Len))
		return nil
	}
	if src.Valid != nil {
		w := columnar.Words(dst.Len)
		dst.Valid = append([]uint64(nil), src.Valid[:w]...)
		var buf []int32
		sel = narrow(sel, dst.Valid, &buf)
	}
	err := c.run(ctx, dst, src, sel)
	closeGaps(dst)
	return err
}

// castInvalid is CAST_INVALID_INPUT for a text.
func castInvalid(text string, from, to types.DataType) error {
	return errs.New("CAST_INVALID_INPUT", "expression", text, "sourceType", quoted(from.SQL()),
		"targetType", quoted(to.SQL()), "ansiConfig", `"spark.sql.ansi.enabled"`)
}

func castInvalidText(s []byte, to types.DataType) error {
	return castInvalid(quoteSQL(string(s)), types.Of(types.String), to)
}

// quoteSQL writes a string literal.
func quoteSQL(s string) string {
	b := []byte{'\''}
	for i := range len(s) {
		if s[i] == '\'' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return string(append(b, '\''))
}

func castOverflow(value string, from, to types.DataType) error {
	return errs.New("CAST_OVERFLOW", "value", value, "sourceType", quoted(from.SQL()), "targetType", quoted(to.SQL()),
		"ansiConfig", `"spark.sql.ansi.enabled"`)
}

func decimalOverflow(value string, to types.DataType) error {
	return errs.New("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", "value", value, "precision", to.Precision,
		"scale", to.Scale, "config", `"spark.sql.ansi.enabled"`)
}

// sqlValue writes a value as a literal with its suffix, as errors show it.
func sqlValue(v *columnar.Vec, i int, c Conf) string {
	text := string(AppendText(nil, v, i, c.Zone, CastStyle))
	switch v.Type.Kind {
	case types.TinyInt:
		return text + "Y"
	case types.SmallInt:
		return text + "S"
	case types.BigInt:
		return text + "L"
	case types.Decimal:
		return text + "BD"
	case types.Double:
		if last := text[len(text)-1]; last == 'N' || last == 'y' {
			return text
		}
		return text + "D"
	case types.Float:
		if last := text[len(text)-1]; last == 'N' || last == 'y' {
			return text
		}
		return "CAST(" + text + " AS FLOAT)"
	case types.String:
		return quoteSQL(text)
	case types.Date:
		return "DATE '" + text + "'"
	case types.Timestamp:
		return "TIMESTAMP '" + text + "'"
	case types.TimestampNTZ:
		return "TIMESTAMP_NTZ '" + text + "'"
	case types.Time:
		return "TIME '" + text + "'"
	}
	return text
}
