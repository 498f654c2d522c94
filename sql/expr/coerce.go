package expr

import (
	"strings"

	"streamlab/sql/types"
)

// integralDigits is the decimal an integral type widens to.
func integralDigits(k types.Kind) int32 {
	switch k {
	case types.TinyInt:
		return 3
	case types.SmallInt:
		return 5
	case types.Int:
		return 10
	}
	return 20
}

// decimalFor is the decimal type that holds every value of an integral or decimal type.
func decimalFor(t types.DataType) types.DataType {
	if t.Kind == types.Decimal {
		return t
	}
	return types.DecimalOf(integralDigits(t.Kind), 0)
}

// boundedDecimal cuts precision and scale at 38.
func boundedDecimal(p, s int32) types.DataType { return types.DecimalOf(min(p, 38), min(s, 38)) }

// adjustedDecimal keeps integral digits where 38 are not enough, but at least 6 digits of scale.
func adjustedDecimal(p, s int32) types.DataType {
	if p <= 38 {
		return types.DecimalOf(p, s)
	}
	intDigits := p - s
	return types.DecimalOf(38, max(38-intDigits, min(s, 6)))
}

func widerDecimal(a, b types.DataType) types.DataType {
	intDigits := max(a.Precision-a.Scale, b.Precision-b.Scale)
	scale := max(a.Scale, b.Scale)
	if intDigits+scale > 38 {
		return types.DecimalOf(38, max(0, 38-intDigits))
	}
	return types.DecimalOf(intDigits+scale, scale)
}

// CommonType is the least common type of two types without converting strings to or from other types
// (what operators on equal classes, greatest and set functions use).
func tightestCommon(a, b types.DataType) (types.DataType, bool) {
	switch {
	case a.Equal(b):
		return mergeNullability(a, b), true
	case a.Kind == types.Null:
		return b, true
	case b.Kind == types.Null:
		return a, true
	case a.IsIntegral() && b.IsIntegral():
		if a.Kind > b.Kind {
			return a, true
		}
		return b, true
	case a.IsNumeric() && b.IsNumeric():
		switch {
		case a.IsFractional() && b.IsFractional():
			return types.Of(types.Double), true
		case a.IsFractional() || b.IsFractional():
			return types.Of(types.Double), true
		}
		return widerDecimal(decimalFor(a), decimalFor(b)), true
	case a.Kind == types.String && b.Kind == types.String:
		t := types.Of(types.String)
		t.Collation = a.Collation
		return t, a.Collation == b.Collation
	case a.IsDatetime() && b.IsDatetime():
		order := func(k types.Kind) int {
			switch k {
			case types.Date:
				return 0
			case types.TimestampNTZ:
				return 1
			}
			return 2
		}
		if order(a.Kind) > order(b.Kind) {
			return a, true
		}
		return b, true
	case a.Kind == b.Kind && (a.Kind == types.YearMonth || a.Kind == types.DayTime):
		a.From, a.To = min(a.From, b.From), max(a.To, b.To)
		return a, true
	}
	return types.DataType{}, false
}

func mergeNullability(a, b types.DataType) types.DataType {
	switch a.Kind {
	case types.Array:
		return types.ArrayOf(mergeNullability(*a.Elem, *b.Elem), a.ContainsNull || b.ContainsNull)
	case types.Map:
		return types.MapOf(mergeNullability(*a.Key, *b.Key), mergeNullability(*a.Elem, *b.Elem), a.ContainsNull || b.ContainsNull)
	case types.Struct:
		fs := make([]types.Field, len(a.Fields))
		for i := range fs {
			fs[i] = a.Fields[i]
			fs[i].Type = mergeNullability(a.Fields[i].Type, b.Fields[i].Type)
			fs[i].Nullable = a.Fields[i].Nullable || b.Fields[i].Nullable
		}
		return types.StructOf(fs...)
	}
	return a
}

// nested applies a rule for two types below arrays, maps and structs of the same shape.
func nested(a, b types.DataType, rule func(a, b types.DataType) (types.DataType, bool)) (types.DataType, bool) {
	if t, ok := rule(a, b); ok {
		return t, true
	}
	if a.Kind != b.Kind {
		return types.DataType{}, false
	}
	switch a.Kind {
	case types.Array:
		e, ok := nested(*a.Elem, *b.Elem, rule)
		return types.ArrayOf(e, a.ContainsNull || b.ContainsNull || a.Elem.Kind == types.Null || b.Elem.Kind == types.Null), ok
	case types.Map:
		k, ok1 := nested(*a.Key, *b.Key, rule)
		e, ok2 := nested(*a.Elem, *b.Elem, rule)
		return types.MapOf(k, e, a.ContainsNull || b.ContainsNull), ok1 && ok2
	case types.Struct:
		if len(a.Fields) != len(b.Fields) {
			return types.DataType{}, false
		}
		fs := make([]types.Field, len(a.Fields))
		for i := range fs {
			if !strings.EqualFold(a.Fields[i].Name, b.Fields[i].Name) {
				return types.DataType{}, false
			}
			t, ok := nested(a.Fields[i].Type, b.Fields[i].Type, rule)
			if !ok {
				return types.DataType{}, false
			}
			fs[i] = types.Field{Name: a.Fields[i].Name, Type: t, Nullable: a.Fields[i].Nullable || b.Fields[i].Nullable}
		}
		return types.StructOf(fs...), true
	}
	return types.DataType{}, false
}

// TightestCommonType is CommonType without conversions of strings.
func TightestCommonType(a, b types.DataType) (types.DataType, bool) {
	return nested(a, b, tightestCommon)
}

// CommonType is the least common type of two types under ANSI rules, which CASE, IF, coalesce, array, IN,
// VALUES and set operations cast to.
func CommonType(a, b types.DataType) (types.DataType, bool) {
	return nested(a, b, ansiCommon)
}

func ansiCommon(a, b types.DataType) (types.DataType, bool) {
	if t, ok := tightestCommon(a, b); ok {
		return t, true
	}
	if b.Kind == types.String {
		a, b = b, a
	}
	if a.Kind != types.String {
		return types.DataType{}, false
	}
	switch {
	case b.IsIntegral():
		return types.Of(types.BigInt), true
	case b.IsNumeric():
		return types.Of(types.Double), true
	case b.Kind == types.Variant:
		return b, true
	case b.IsInterval() || !b.IsAtomic():
		return types.DataType{}, false
	}
	return b, true
}

// CommonTypeOf is CommonType under the session's rules: with ANSI off strings win over other types.
func CommonTypeOf(a, b types.DataType, c Conf) (types.DataType, bool) {
	if c.ANSI {
		return CommonType(a, b)
	}
	return nested(a, b, legacyCommon)
}

func legacyCommon(a, b types.DataType) (types.DataType, bool) {
	if a.IsIntegral() && b.Kind == types.Float || a.Kind == types.Float && b.IsIntegral() {
		return types.Of(types.Float), true
	}
	if t, ok := tightestCommon(a, b); ok {
		return t, true
	}
	if b.Kind == types.String {
		a, b = b, a
	}
	if a.Kind == types.String && (b.IsAtomic() && b.Kind != types.Boolean && b.Kind != types.Binary && b.Kind != types.Calendar || b.Kind == types.Variant) {
		return types.Of(types.String), true
	}
	return types.DataType{}, false
}

// CommonTypeAll folds CommonTypeOf over the types of expressions from left to right.
func CommonTypeAll(es []Expr, c Conf) (types.DataType, bool) {
	t := types.DataType{}
	for i, e := range es {
		if i == 0 {
			t = e.Type()
			continue
		}
		var ok bool
		if t, ok = CommonTypeOf(t, e.Type(), c); !ok {
			return t, false
		}
	}
	return t, true
}

// CastTo inserts an implicit cast to a type that is known to be allowed; e itself if it is of that type.
func CastTo(e Expr, t types.DataType, c Conf) Expr {
	if e.Type().Equal(t) {
		return e
	}
	if l, ok := e.(*Literal); ok && (l.Value.IsNull(0)) {
		n := NullLit(t)
		n.Text = l.Text
		return n
	}
	return &Cast{Child: e, To: t, Mode: Implicit, Conf: c}
}

// CastAll is CastTo for every expression.
func CastAll(es []Expr, t types.DataType, c Conf) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = CastTo(e, t, c)
	}
	return out
}

// ImplicitCast converts an argument to the one type a parameter takes, by the rules for function
// arguments: VOID, other numbers, strings to anything atomic, anything atomic to STRING, dates and
// timestamps to each other. False if there is no such conversion.
func ImplicitCast(e Expr, to types.DataType, c Conf) (Expr, bool) {
	from := e.Type()
	if from.Equal(to) {
		return e, true
	}
	if !implicitAllowed(from, to, c) {
		return e, false
	}
	return CastTo(e, to, c), true
}

func implicitAllowed(from, to types.DataType, c Conf) bool {
	switch {
	case from.Kind == types.Null:
		return true
	case from.Kind == to.Kind:
		switch from.Kind {
		case types.Array:
			return from.Elem.Equal(*to.Elem) || implicitAllowed(*from.Elem, *to.Elem, c)
		case types.Map:
			return (from.Key.Equal(*to.Key) || implicitAllowed(*from.Key, *to.Key, c)) &&
				(from.Elem.Equal(*to.Elem) || implicitAllowed(*from.Elem, *to.Elem, c))
		case types.Struct:
			return false
		}
		return true
	case from.IsNumeric() && to.IsNumeric():
		return true
	case from.IsDatetime() && to.IsDatetime():
		return true
	case from.Kind == types.String:
		return to.IsNumeric() || to.IsDatetime() || to.Kind == types.Binary || to.Kind == types.Boolean ||
			to.Kind == types.Time
	case to.Kind == types.String:
		return from.IsAtomic()
	}
	return false
}
