package expr

import (
	"encoding/base64"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// textFormats is how dates and times are written to JSON and CSV.
type textFormats struct {
	date, ts, ntz *dateFormat
	zone          *time.Location
}

func newTextFormats(opts map[string]string, c Conf) (f textFormats, err error) {
	f.zone = c.Zone
	for _, x := range []struct {
		key, def string
		to       **dateFormat
	}{{"dateformat", "yyyy-MM-dd", &f.date}, {"timestampformat", "yyyy-MM-dd'T'HH:mm:ss.SSS[XXX]", &f.ts}, {"timestampntzformat", "yyyy-MM-dd'T'HH:mm:ss.SSS", &f.ntz}} {
		text, ok := opts[x.key]
		policy := c.TimeParser
		if x.to == &f.ntz || !ok { // what is written without being asked is the same for all
			policy = CorrectedParser
		}
		if !ok {
			text = x.def
		}
		if *x.to, err = formatFor(text, false, policy); err != nil {
			return f, err
		}
	}
	if z, ok := opts["timezone"]; ok {
		if zone, ok := ParseZone(z); ok {
			f.zone = zone
		}
	}
	return f, nil
}

// appendTime writes dates and timestamps; false for other types.
func (f *textFormats) appendTime(dst []byte, v *columnar.Vec, i int) ([]byte, bool) {
	switch v.Type.Kind {
	case types.Date:
		return f.date.appendTo(dst, int64(v.I32[i])*microsPerDay, nil), true
	case types.Timestamp:
		return f.ts.appendTo(dst, v.I64[i], f.zone), true
	case types.TimestampNTZ:
		return f.ntz.appendTo(dst, v.I64[i], nil), true
	}
	return dst, false
}

// jsonWriter writes values as JSON.
type jsonWriter struct {
	f         textFormats
	keepNulls bool
	pretty    bool
	scratch   []byte
	written   []writtenNames
}

func buildToJSON(c *Call) (Expr, error) {
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	text := callText(c.Name, c.Args[:1])
	var opts map[string]string
	var err error
	if len(c.Args) == 2 {
		if opts, err = constOptions(c.Args[1], c.Conf); err != nil {
			return nil, err
		}
	}
	t := c.Args[0].Type()
	switch t.Kind {
	case types.Struct, types.Array, types.Map, types.Variant:
	case types.Null:
		return &Literal{Value: NullLit(tString).Value, Text: text}, nil
	default:
		return nil, errs.New("DATATYPE_MISMATCH.INVALID_JSON_SCHEMA", "sqlExpr", quoted(text), "schema", quoted(t.SQL()))
	}
	f, err := newTextFormats(opts, c.Conf)
	if err != nil {
		return nil, err
	}
	keep := c.Conf.KeepNullFields
	if s, ok := opts["ignorenullfields"]; ok {
		keep = strings.EqualFold(s, "false")
	}
	s := Strict("to_json", tString, c.Args[:1], text, nil)
	s.Extra = optionsText(opts)
	s.Fresh = func() Kernel {
		w := &jsonWriter{f: f, keepNulls: keep, pretty: strings.EqualFold(opts["pretty"], "true")}
		return bytesRows(func(r *row, dst []byte) ([]byte, error) { return w.value(dst, r.args[0], r.i, 0), nil })
	}
	return s, nil
}

func (w *jsonWriter) line(dst []byte, depth int) []byte {
	if !w.pretty {
		return dst
	}
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, "  "...)
	}
	return dst
}

func (w *jsonWriter) name(dst, name []byte) []byte {
	dst = appendQuoted(dst, name)
	if w.pretty {
		return append(dst, " : "...)
	}
	return append(dst, ':')
}

// writtenNames are the names of a struct's fields as they are written.
type writtenNames struct {
	of    *types.Field // the first one: structs of one type share their list
	names [][]byte
}

// fieldNames gives what is written before the values of fields.
func (w *jsonWriter) fieldNames(fields []types.Field) [][]byte {
	if len(fields) == 0 {
		return nil
	}
	for _, x := range w.written {
		if x.of == &fields[0] && len(x.names) == len(fields) {
			return x.names
		}
	}
	if len(w.written) >= 32 { // types that are made anew again and again
		w.written = w.written[:0]
	}
	x := writtenNames{of: &fields[0]}
	for _, f := range fields {
		x.names = append(x.names, w.name(nil, []byte(f.Name)))
	}
	w.written = append(w.written, x)
	return x.names
}

func (w *jsonWriter) value(dst []byte, v *columnar.Vec, i, depth int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	i = v.Row(i)
	switch v.Type.Kind {
	case types.Struct:
		dst = append(dst, '{')
		first := true
		names := w.fieldNames(v.Type.Fields)
		for k, kid := range v.Kids {
			if kid.IsNull(i) && !w.keepNulls {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(w.line(dst, depth+1), names[k]...)
			dst = w.value(dst, kid, i, depth+1)
		}
		if !first {
			dst = w.line(dst, depth)
		} else if w.pretty {
			dst = append(dst, ' ')
		}
		return append(dst, '}')
	case types.Array:
		dst = append(dst, '[')
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			if j > v.Off[i] {
				dst = append(dst, ',')
			} else if w.pretty {
				dst = append(dst, ' ')
			}
			if w.pretty && j > v.Off[i] {
				dst = append(dst, ' ')
			}
			dst = w.value(dst, v.Kids[0], int(j), depth+1)
		}
		if w.pretty {
			dst = append(dst, ' ')
		}
		return append(dst, ']')
	case types.Map:
		dst = append(dst, '{')
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			if j > v.Off[i] {
				dst = append(dst, ',')
			}
			w.scratch = w.key(w.scratch[:0], v.Kids[0], int(j))
			dst = w.name(w.line(dst, depth+1), w.scratch)
			dst = w.value(dst, v.Kids[1], int(j), depth+1)
		}
		if v.Off[i] < v.Off[i+1] {
			dst = w.line(dst, depth)
		}
		return append(dst, '}')
	case types.String:
		return appendQuoted(dst, v.Bytes(i))
	case types.Variant:
		return append(dst, v.Bytes(i)...)
	case types.Binary:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes(i))
		return append(dst, '"')
	case types.Float, types.Double:
		f := 0.0
		if v.Phys == columnar.PF32 {
			f = float64(v.F32[i])
		} else {
			f = v.F64[i]
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			dst = append(dst, '"')
			dst = AppendText(dst, v, i, w.f.zone, CastStyle)
			return append(dst, '"')
		}
		return AppendText(dst, v, i, w.f.zone, CastStyle)
	case types.Boolean, types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Decimal:
		return AppendText(dst, v, i, w.f.zone, CastStyle)
	}
	dst = append(dst, '"')
	dst, ok := w.f.appendTime(dst, v, i)
	if !ok {
		dst = AppendText(dst, v, i, w.f.zone, CastStyle)
	}
	return append(dst, '"')
}

// key is a map key as text: structs print as rows of values, dates and timestamps as the numbers that they are kept as.
func (w *jsonWriter) key(dst []byte, v *columnar.Vec, i int) []byte {
	if v.Type.Kind == types.Struct && !v.IsNull(i) {
		dst = append(dst, '[')
		for k, kid := range v.Kids {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = w.key(dst, kid, v.Row(i))
		}
		return append(dst, ']')
	}
	switch {
	case v.IsNull(i):
	case v.Type.Kind == types.Date:
		return strconv.AppendInt(dst, int64(v.I32[v.Row(i)]), 10)
	case v.Type.Kind == types.Timestamp, v.Type.Kind == types.TimestampNTZ:
		return strconv.AppendInt(dst, v.I64[v.Row(i)], 10)
	}
	return AppendText(dst, v, i, w.f.zone, CastStyle)
}

func buildSchemaOfJSON(c *Call) (Expr, error) {
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	text := callText(c.Name, c.Args[:1])
	var opts map[string]string
	var err error
	if len(c.Args) == 2 {
		if opts, err = constOptions(c.Args[1], c.Conf); err != nil {
			return nil, err
		}
	}
	if !Foldable(c.Args[0]) {
		return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(text), "inputName", "`json`", "inputType", `"STRING"`, "inputExpr", quoted(c.Args[0].String()))
	}
	s, ok := constText(c.Args[0], c.Conf)
	if !ok {
		return nil, errs.New("DATATYPE_MISMATCH.UNEXPECTED_NULL", "sqlExpr", quoted(text), "exprName", "json")
	}
	t, ok := inferJSON([]byte(s), opts, c.Conf)
	if !ok {
		return nil, errs.New("MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION", "badRecord", s, "failFastMode", "FAILFAST")
	}
	l := StringLit(settle(t).SQL())
	l.Text = text
	return l, nil
}

// inferJSON gives the type of a JSON text: VOID for null and for nothing, fields sorted by name; false if it is no
// JSON. opts are the reader's options, names in lower case.
func inferJSON(s []byte, opts map[string]string, c Conf) (types.DataType, bool) {
	p := newJSONReader(tNull, opts, c)
	p.times = strings.EqualFold(opts["infertimestamp"], "true")
	p.sc.s = s
	i := p.sc.space(0)
	if i == len(s) {
		return tNull, true
	}
	end := p.sc.skip(i)
	if end < 0 {
		return tNull, false
	}
	return p.infer(i, end, strings.EqualFold(opts["prefersdecimal"], "true")), true
}

func (p *jsonReader) infer(i, end int, decimals bool) types.DataType {
	switch c := p.sc.s[i]; c {
	case '{':
		var fs []types.Field
		p.sc.members(i, func(name, nameEnd, v, e int) bool {
			n := string(appendUnquoted(nil, p.sc.s[name:nameEnd]))
			t := p.infer(v, e, decimals)
			for k := range fs {
				if fs[k].Name == n {
					fs[k].Type = MergeInferred(fs[k].Type, t)
					return true
				}
			}
			fs = append(fs, types.Field{Name: n, Type: t, Nullable: true})
			return true
		})
		sort.SliceStable(fs, func(a, b int) bool { return fs[a].Name < fs[b].Name })
		return types.StructOf(fs...)
	case '[':
		elem := tNull
		p.sc.items(i, func(v, e int) bool {
			elem = MergeInferred(elem, p.infer(v, e, decimals))
			return true
		})
		return types.ArrayOf(elem, true)
	case '"', '\'':
		text := appendUnquoted(nil, p.sc.s[i:end])
		var d parsedDecimal
		switch {
		case decimals && d.parse(text):
			return p.decimalOf(text)
		case p.times && p.conf.NTZ && p.scalar(tNTZ, text, true, '"', nil):
			return tNTZ
		case p.times && p.scalar(tTimestamp, text, true, '"', nil):
			return tTimestamp
		}
		return tString
	case 't', 'f':
		if p.strings {
			return tString
		}
		return tBoolean
	case 'n':
		return tNull
	}
	if p.strings {
		return tString
	}
	raw := p.sc.s[i:end]
	if _, ok := parseIntBytes(raw); ok {
		return tBigInt
	}
	if n := strings.TrimLeft(string(raw), "-"); allDigits([]byte(n)) && len(n) <= 38 {
		return types.DecimalOf(int32(len(n)), 0)
	}
	if decimals {
		return p.decimalOf(raw)
	}
	return tDouble
}

// decimalOf is the narrowest DECIMAL that holds a number; DOUBLE if none does.
func (p *jsonReader) decimalOf(raw []byte) types.DataType {
	var d parsedDecimal
	if point := strings.IndexByte(string(raw), '.'); d.parse(raw) && point > 0 && !strings.ContainsAny(string(raw), "eE") {
		scale := len(raw) - point - 1
		if digits := len(strings.TrimLeft(string(raw), "-")) - 1; digits <= 38 {
			return types.DecimalOf(int32(digits), int32(scale))
		}
	}
	return tDouble
}

// MergeInferred is the type that holds values of both inferred types.
func MergeInferred(a, b types.DataType) types.DataType {
	switch {
	case a.Kind == types.Null:
		return b
	case b.Kind == types.Null, a.Equal(b):
		return a
	case a.Kind == types.Array && b.Kind == types.Array:
		return types.ArrayOf(MergeInferred(*a.Elem, *b.Elem), true)
	case a.Kind == types.Struct && b.Kind == types.Struct:
		fs := append([]types.Field{}, a.Fields...)
	next:
		for _, f := range b.Fields {
			for k := range fs {
				if fs[k].Name == f.Name {
					fs[k].Type = MergeInferred(fs[k].Type, f.Type)
					continue next
				}
			}
			fs = append(fs, f)
		}
		sort.SliceStable(fs, func(i, j int) bool { return fs[i].Name < fs[j].Name })
		return types.StructOf(fs...)
	case a.IsNumeric() && b.IsNumeric():
		if t, ok := tightestCommon(a, b); ok {
			return t
		}
	}
	return tString
}

// settle makes STRING of what is not known.
func settle(t types.DataType) types.DataType {
	switch t.Kind {
	case types.Null:
		return tString
	case types.Array:
		return types.ArrayOf(settle(*t.Elem), true)
	case types.Struct:
		fs := append([]types.Field{}, t.Fields...)
		for i := range fs {
			fs[i].Type = settle(fs[i].Type)
		}
		return types.StructOf(fs...)
	}
	return t
}
