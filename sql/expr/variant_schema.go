package expr

import (
	"sort"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// variantSchema is the merged type of VARIANT values, the state of schema_of_variant_agg.
type variantSchema struct{ t types.DataType }

func (s *variantSchema) update(v *columnar.Vec, i int) error {
	sc := jsonScanner{s: v.Bytes(v.Row(i))}
	s.t = mergedVariantType(s.t, variantType(&sc, 0, len(sc.s)))
	return nil
}

func (s *variantSchema) merge(o sketch) error {
	s.t = mergedVariantType(s.t, o.(*variantSchema).t)
	return nil
}

func (s *variantSchema) encode(dst []byte) []byte { return append(dst, s.t.SQL()...) }

// mergedVariantType is the type that holds both: objects have the fields of both, numbers widen, other
// differences make a VARIANT.
func mergedVariantType(a, b types.DataType) types.DataType {
	switch {
	case a.Kind == types.Null:
		return b
	case b.Kind == types.Null:
		return a
	case a.Kind == types.Struct && b.Kind == types.Struct:
		byName := map[string]types.DataType{}
		for _, f := range append(append([]types.Field{}, a.Fields...), b.Fields...) {
			if t, ok := byName[f.Name]; ok {
				f.Type = mergedVariantType(t, f.Type)
			}
			byName[f.Name] = f.Type
		}
		names := make([]string, 0, len(byName))
		for n := range byName {
			names = append(names, n)
		}
		sort.Strings(names)
		var fs []types.Field
		for _, n := range names {
			fs = append(fs, types.Field{Name: n, Type: byName[n], Nullable: true})
		}
		return types.StructOf(fs...)
	case a.Kind == types.Array && b.Kind == types.Array:
		return types.ArrayOf(mergedVariantType(*a.Elem, *b.Elem), true)
	}
	if t, ok := TightestCommonType(a, b); ok {
		return t
	}
	return tVariant
}

func variantSchemaFunctions() []Function {
	return []Function{sketchFunction("schema_of_variant_agg(v)", "The merged type of VARIANT values.", func(c *Call) (*AggregateCall, error) {
		if err := c.Arity(1, 1); err != nil {
			return nil, err
		}
		if err := wantVariant(c, 0); err != nil {
			return nil, err
		}
		return c.aggregate(c.Args, tString, false, func() Aggregate {
			return &sketchAgg{out: tString, empty: func() sketch { return &variantSchema{tNull} }, decode: func(b []byte) (sketch, error) {
				t, err := types.ParseType(string(b))
				return &variantSchema{t}, err
			}, result: func(s sketch, a *Appender) error {
				a.AppendBytes([]byte(variantSQL(s.(*variantSchema).t)))
				return nil
			}}
		}), nil
	})}
}
