package expr

import (
	"sort"
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

func variantFunctions() []Function {
	parse := func(try bool) func(c *Call) (Expr, error) {
		return sig{in: "s", out: tVariant, null: try, fresh: func() Kernel {
			var sc jsonScanner
			return bytesRows(func(r *row, dst []byte) ([]byte, error) {
				sc.s = r.bytes(0)
				i := sc.space(0)
				end := sc.skip(i)
				if end >= 0 && (end == len(sc.s) || sc.space(end) > end || sc.s[i] != '-' && sc.s[i]-'0' > 9) { // what follows is not looked at
					if out, ok := normalVariant(dst, &sc, i, end); ok {
						return out, nil
					}
				}
				if try {
					return dst, errNull
				}
				return dst, errs.New("MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION", "badRecord", string(sc.s), "failFastMode", "FAILFAST")
			})
		}}.build
	}
	return []Function{
		fn("parse_json(json)", "A VARIANT of a JSON text.", parse(false)),
		fn("try_parse_json(json)", "As parse_json, null for bad text.", parse(true)),
		fn("is_variant_null(v)", "Whether a VARIANT is the JSON null.", func(c *Call) (Expr, error) {
			if err := c.Arity(1, 1); err != nil {
				return nil, err
			}
			if err := wantVariant(c, 0); err != nil {
				return nil, err
			}
			return NewScalar("is_variant_null", tBoolean, false, c.Args, "", boolRows(func(r *row) (bool, error) {
				return !r.null(0) && string(r.bytes(0)) == "null", nil
			})), nil
		}),
		fn("variant_get(v, path[, type])", "The part of a VARIANT at a path, as a type.", variantGet(false)),
		fn("try_variant_get(v, path[, type])", "As variant_get, null where the value is not of the type.", variantGet(true)),
		{Name: "semi_structured_extract", Signature: "v:path", Doc: "The part of a VARIANT at a path.", Portable: true, Hidden: true, Build: func(c *Call) (Expr, error) {
			path, _ := constText(c.Args[1], c.Conf)
			if !strings.HasPrefix(path, "[") {
				path = "." + path
			}
			call := *c
			call.Args = []Expr{c.Args[0], StringLit("$" + path)}
			call.Name = "variant_get"
			e, err := variantGet(false)(&call)
			if err != nil || strings.HasSuffix(path, "]") && !strings.HasSuffix(path, "']") { // an element has no name
				return e, err
			}
			return &Alias{Child: e, Name: strings.Trim(path[max(strings.LastIndexAny(path, ".["), 0)+1:], "]'\"")}, nil
		}},
		fn("schema_of_variant(v)", "The type of a VARIANT's value.", func(c *Call) (Expr, error) {
			if err := c.Arity(1, 1); err != nil {
				return nil, err
			}
			if err := wantVariant(c, 0); err != nil {
				return nil, err
			}
			return Strict("schema_of_variant", tString, c.Args, "", bytesRows(func(r *row, dst []byte) ([]byte, error) {
				sc := jsonScanner{s: r.bytes(0)}
				return append(dst, variantSQL(variantType(&sc, 0, len(sc.s)))...), nil
			})), nil
		}),
		fn("to_variant_object(expr)", "A VARIANT of a struct, map or array.", func(c *Call) (Expr, error) {
			if err := c.Arity(1, 1); err != nil {
				return nil, err
			}
			switch t := c.Args[0].Type(); {
			case (t.Kind == types.Struct || t.Kind == types.Map || t.Kind == types.Array) && otherKeys(t) == nil, t.Kind == types.Null:
			default:
				return nil, errs.New("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", "sqlExpr", quoted(c.Text()),
					"srcType", quoted(t.SQL()), "targetType", `"VARIANT"`)
			}
			s := Strict("to_variant_object", tVariant, c.Args, "", nil)
			s.Fresh = func() Kernel {
				w := &jsonWriter{keepNulls: true}
				w.f, _ = newTextFormats(nil, c.Conf)
				var sc jsonScanner
				return bytesRows(func(r *row, dst []byte) ([]byte, error) {
					w.scratch = w.scratch[:0]
					sc.s = w.value(nil, r.args[0], r.i, 0)
					out, _ := normalVariant(dst, &sc, 0, len(sc.s))
					return out, nil
				})
			}
			return s, nil
		}),
	}
}

func wantVariant(c *Call, i int) error {
	if k := c.Args[i].Type().Kind; k != types.Variant && k != types.Null {
		return WrongType(c.Text(), i, `"VARIANT"`, c.Args[i])
	}
	return nil
}

// normalVariant writes a JSON value as VARIANT keeps it: keys sorted, numbers without trailing zeros.
func normalVariant(dst []byte, sc *jsonScanner, i, end int) ([]byte, bool) {
	switch sc.s[i] {
	case '{':
		type member struct {
			name   string
			v, end int
		}
		var ms []member
		sc.members(i, func(name, nameEnd, v, e int) bool {
			ms = append(ms, member{string(appendUnquoted(nil, sc.s[name:nameEnd])), v, e})
			return true
		})
		sort.SliceStable(ms, func(a, b int) bool { return ms[a].name < ms[b].name })
		dst = append(dst, '{')
		for k, m := range ms {
			if k > 0 {
				if m.name == ms[k-1].name { // a name twice is an error
					return dst, false
				}
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, []byte(m.name)), ':')
			var ok bool
			if dst, ok = normalVariant(dst, sc, m.v, m.end); !ok {
				return dst, false
			}
		}
		return append(dst, '}'), true
	case '[':
		dst = append(dst, '[')
		first, ok := true, true
		sc.items(i, func(v, e int) bool {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst, ok = normalVariant(dst, sc, v, e)
			return ok
		})
		return append(dst, ']'), ok
	case '"', '\'', 't', 'f', 'n':
		return sc.appendCompact(dst, i, end), true
	}
	raw := sc.s[i:end]
	text := string(raw)
	if strings.ContainsAny(text, "eENI") || len(strings.Trim(text, "-.")) > 38 {
		if f, ok := parseJSONFloat(raw, false, true, false); ok {
			return AppendDouble(dst, f, 64), true
		}
		return dst, false
	}
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		text = "0"
	}
	return append(dst, text...), true
}

// variantType is the type of a VARIANT's value; structs are objects.
func variantType(sc *jsonScanner, i, end int) types.DataType {
	switch sc.s[i] {
	case '{':
		var fs []types.Field
		sc.members(i, func(name, nameEnd, v, e int) bool {
			fs = append(fs, types.Field{Name: string(appendUnquoted(nil, sc.s[name:nameEnd])), Type: variantType(sc, v, e), Nullable: true})
			return true
		})
		return types.StructOf(fs...)
	case '[':
		elem := tNull
		sc.items(i, func(v, e int) bool {
			t := variantType(sc, v, e)
			elem = mergedVariantType(elem, t)
			return true
		})
		return types.ArrayOf(elem, true)
	case '"', '\'':
		return tString
	case 't', 'f':
		return tBoolean
	case 'n':
		return tNull
	}
	raw := string(sc.s[i:end])
	if strings.ContainsAny(raw, "eENI") {
		return tDouble
	}
	digits := strings.TrimLeft(raw, "-")
	if point := strings.IndexByte(digits, '.'); point >= 0 {
		scale := len(digits) - point - 1
		whole := strings.TrimLeft(digits[:point], "0")
		return types.DecimalOf(int32(max(len(whole)+scale, scale, 1)), int32(scale))
	}
	if _, ok := parseIntBytes([]byte(raw)); ok {
		return tBigInt
	}
	return types.DecimalOf(int32(len(digits)), 0)
}

// variantSQL prints a variant's type: its structs are OBJECTs.
func variantSQL(t types.DataType) string {
	switch t.Kind {
	case types.Struct:
		var b strings.Builder
		b.WriteString("OBJECT<")
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(types.QuoteIfNeeded(f.Name) + ": " + variantSQL(f.Type))
		}
		return b.String() + ">"
	case types.Array:
		return "ARRAY<" + variantSQL(*t.Elem) + ">"
	}
	return t.SQL()
}

// variantGet finds the part at a constant path and casts it.
func variantGet(try bool) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(2, 3); err != nil {
			return nil, err
		}
		if err := wantVariant(c, 0); err != nil {
			return nil, err
		}
		text := callText(c.Name, c.Args[:2])
		call := *c
		call.copyArgs()
		if err := call.need(text, 1, tString); err != nil {
			return nil, err
		}
		name := c.Name
		part := Strict("variant_part", tVariant, []Expr{CastTo(c.Args[0], tVariant, c.Conf), call.Args[1]}, text, nil)
		part.Null = true
		part.Fresh = func() Kernel {
			p := jsonPath{both: true}
			var sc jsonScanner
			return bytesRows(func(r *row, dst []byte) ([]byte, error) {
				if !p.parse(r.bytes(1)) || p.wild {
					return dst, errs.New("INVALID_VARIANT_GET_PATH", "path", string(r.bytes(1)), "functionName", types.Quote(name))
				}
				sc.s = r.bytes(0)
				i, end := 0, len(sc.s)
				for _, st := range p.steps {
					if i, end = st.find(&sc, i); i < 0 {
						return dst, errNull
					}
				}
				return append(dst, sc.s[i:end]...), nil
			})
		}
		if len(c.Args) == 2 {
			return part, nil
		}
		t, err := constSchema(c.Args[2], c.Conf)
		if err != nil {
			return nil, err
		}
		if t.Kind == types.Variant {
			return part, nil
		}
		return variantTo(part, nullableType(t), try, text, c.Conf), nil
	}
}

// variantTo casts a VARIANT to a type.
func variantTo(v Expr, t types.DataType, try bool, text string, c Conf) Expr {
	s := Strict("variant_to", t, []Expr{v}, text, nil)
	s.Null = true
	if try {
		s.Extra = "try"
	}
	s.Fresh = func() Kernel {
		p := newJSONReader(t, nil, c)
		return valueRows(func(r *row, a *Appender) error {
			b := r.bytes(0)
			p.sc.s = b
			switch {
			case b[0] == 'n':
				return errNull
			case t.Kind == types.String && b[0] == '"':
				p.name = appendUnquoted(p.name[:0], b)
				a.AppendBytes(p.name)
				return nil
			}
			if p.variantValue(t, 0, len(b), nil) {
				p.variantValue(t, 0, len(b), a)
				return nil
			}
			if try {
				return errNull
			}
			return errs.New("INVALID_VARIANT_CAST", "value", string(b), "dataType", quoted(t.SQL()))
		})
	}
	return s
}

// variantValue reads a value as the cast of a VARIANT does: more kindly than from_json, as texts and numbers
// become each other.
func (p *jsonReader) variantValue(t types.DataType, i, end int, a *Appender) bool {
	if p.sc.isNull(i) {
		if a != nil {
			a.AppendNull()
		}
		return true
	}
	if c := p.sc.s[i]; (c == 't' || c == 'f') && t.IsNumeric() { // booleans are 1 and 0
		if a != nil {
			s, n := p.sc.s, "0"
			if c == 't' {
				n = "1"
			}
			p.sc.s = []byte(n)
			ok := p.variantValue(t, 0, 1, a)
			p.sc.s = s
			return ok
		}
		return true
	}
	switch t.Kind {
	case types.Struct:
		if p.sc.s[i] != '{' {
			return false
		}
		base, _ := p.findFields(t, i)
		ok := true
		for k, f := range t.Fields {
			var kid *Appender
			if a != nil {
				kid = a.Kid(k)
			}
			if v := p.spans[base+2*k]; v < 0 {
				if kid != nil {
					kid.AppendNull()
				}
			} else if !p.variantValue(f.Type, v, p.spans[base+2*k+1], kid) {
				ok = false
				break
			}
		}
		p.spans = p.spans[:base]
		if ok && a != nil {
			a.End()
		}
		return ok
	case types.Array:
		if p.sc.s[i] != '[' {
			return false
		}
		ok := true
		p.sc.items(i, func(v, e int) bool {
			var kid *Appender
			if a != nil {
				kid = a.Kid(0)
			}
			ok = p.variantValue(*t.Elem, v, e, kid)
			return ok
		})
		if ok && a != nil {
			a.End()
		}
		return ok
	case types.Map:
		if p.sc.s[i] != '{' || t.Key.Kind != types.String {
			return false
		}
		ok := true
		p.sc.members(i, func(name, nameEnd, v, e int) bool {
			var kid *Appender
			if a != nil {
				a.Kid(0).AppendBytes(appendUnquoted(nil, p.sc.s[name:nameEnd]))
				kid = a.Kid(1)
			}
			ok = p.variantValue(*t.Elem, v, e, kid)
			return ok
		})
		if ok && a != nil {
			a.End()
		}
		return ok
	case types.String, types.Variant:
		return p.value(t, i, end, a)
	}
	raw := p.sc.s[i:end]
	if raw[0] == '"' {
		p.name = appendUnquoted(p.name[:0], raw)
		return appendParsed(t, p.name, p.conf, a)
	}
	if raw[0] == '{' || raw[0] == '[' {
		return false
	}
	if t.Kind == types.Boolean && raw[0] != 't' && raw[0] != 'f' {
		f, ok := parseJSONFloat(raw, false, true, false)
		if ok && a != nil {
			a.appendBool(f != 0)
		}
		return ok
	}
	if t.IsIntegral() && raw[0] != 't' && raw[0] != 'f' { // decimals are cut
		if f, ok := parseJSONFloat(raw, false, true, false); ok && f != float64(int64(f)) {
			raw = []byte(BigIntLit(int64(f)).String())
		}
	}
	return p.scalar(t, raw, false, raw[0], a)
}

// generatorFunctions make rows; the planner runs them.
func generatorFunctions() []Function {
	var out []Function
	for _, g := range [][3]string{
		{"explode", "collection", "A row for each element of an array or entry of a map."},
		{"posexplode", "collection", "As explode, with the position from 0 in front."},
		{"inline", "array", "A row for each struct of an array."},
	} {
		out = append(out, Function{Name: g[0], Kind: GeneratorFunction, Signature: g[0] + "(" + g[1] + ")", Doc: g[2], Portable: true},
			Function{Name: g[0] + "_outer", Kind: GeneratorFunction, Signature: g[0] + "_outer(" + g[1] + ")", Doc: g[2] + " A row of nulls if there is none.", Portable: true})
	}
	return append(out,
		Function{Name: "stack", Kind: GeneratorFunction, Signature: "stack(n, expr1, ...)", Doc: "The arguments in n rows.", Portable: true},
		Function{Name: "json_tuple", Kind: GeneratorFunction, Signature: "json_tuple(json, key1, ...)", Doc: "The values of keys of a JSON text.", Portable: true})
}
