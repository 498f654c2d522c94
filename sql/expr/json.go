package expr

import (
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func jsonFunctions() []Function {
	return []Function{
		fn("get_json_object(json, path)", "The part of a JSON text at a path like $.a[0].", sig{in: "ss", out: tString, null: true, fresh: func() Kernel {
			var p jsonPath
			sc := jsonScanner{doubles: true} // as Jackson copies them
			return bytesRows(func(r *row, dst []byte) ([]byte, error) {
				if !p.parse(r.bytes(1)) {
					return dst, errNull
				}
				sc.s = r.bytes(0)
				out, ok := p.extract(&sc, dst)
				if !ok {
					return dst, errNull
				}
				return out, nil
			})
		}}.build),
		fn("json_array_length(json)", "Number of elements of a JSON array; null for other JSON.", sig{in: "s", out: tInt, null: true, k: i32Rows(func(r *row) (int32, error) {
			sc := jsonScanner{s: r.bytes(0)}
			i := sc.space(0)
			if sc.skip(i) < 0 || sc.s[i] != '[' {
				return 0, errNull
			}
			n := int32(0)
			sc.items(i, func(int, int) bool { n++; return true })
			return n, nil
		})}.build),
		fn("json_object_keys(json)", "Names of a JSON object; null for other JSON.", sig{in: "s", out: tStrings, null: true, k: valueRows(func(r *row, a *Appender) error {
			sc := jsonScanner{s: r.bytes(0)}
			i := sc.space(0)
			if sc.skip(i) < 0 || sc.s[i] != '{' {
				return errNull
			}
			var buf [64]byte
			sc.members(i, func(name, nameEnd, _, _ int) bool {
				a.Kid(0).AppendBytes(appendUnquoted(buf[:0], sc.s[name:nameEnd]))
				return true
			})
			a.End()
			return nil
		})}.build),
		fn("from_json(json, schema[, options])", "The value of a JSON text, of a type given as DDL.", buildFromJSON),
		fn("to_json(expr[, options])", "A struct, array or map as JSON.", buildToJSON),
		fn("schema_of_json(json[, options])", "The type of a JSON text as DDL.", buildSchemaOfJSON),
	}
}

func buildFromJSON(c *Call) (Expr, error) {
	text, t, opts, err := schemaAndOptions(c)
	if err != nil {
		return nil, err
	}
	switch t.Kind {
	case types.Struct, types.Array, types.Map, types.Variant:
	default:
		return nil, errs.New("DATATYPE_MISMATCH.INVALID_JSON_SCHEMA", "sqlExpr", quoted(text), "schema", quoted(t.SQL()))
	}
	t = nullableType(t)
	if t.Kind == types.Map {
		text = "entries"
	}
	if m := otherKeys(t); m != nil {
		return nil, errs.New("DATATYPE_MISMATCH.INVALID_JSON_MAP_KEY_TYPE", "sqlExpr", quoted(text), "schema", quoted(m.SQL()))
	}
	s := NewScalar("from_json", t, true, []Expr{CastTo(c.Args[0], tString, c.Conf)}, text, nil)
	s.Extra = optionsText(opts)
	s.NullIfAnyNull = true
	s.Fresh = func() Kernel { return newJSONReader(t, opts, c.Conf).kernel(opts) }
	if t.Kind == types.Struct && len(opts) == 0 && newJSONReader(t, nil, c.Conf).corrupt < 0 {
		s.Pick = func(want []bool) Kernel {
			part := types.DataType{Kind: types.Struct}
			for i, f := range t.Fields {
				if want[i] {
					part.Fields = append(part.Fields, f)
				}
			}
			read := newJSONReader(part, nil, c.Conf).kernel(nil)
			narrow := new(columnar.Vec)
			return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
				narrow.Reset(part, dst.Len)
				narrow.Valid = dst.Valid
				if err := read(ctx, narrow, args, sel); err != nil {
					return err
				}
				spread(dst, narrow, want)
				return nil
			}
		}
	}
	return s, nil
}
