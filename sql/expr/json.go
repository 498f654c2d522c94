package expr

import (
	"fmt"
	"regexp"
	"sort"
	"strings"

	"streamlab/codec"
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

// jsonPath is a parsed path of get_json_object.
type jsonPath struct {
	text  string
	ok    bool
	steps []jsonStep
	wild  bool
	both  bool // names in brackets may stand in double quotes, too
}

type jsonStep struct {
	name  string
	index int // -1: by name; -2: every element; -3: every value of an object
}

func (p *jsonPath) parse(text []byte) bool {
	if p.text == string(text) && p.text != "" {
		return p.ok
	}
	*p = jsonPath{text: string(text), both: p.both}
	s := p.text
	if s == "" || s[0] != '$' {
		return false
	}
	s = s[1:]
	for s != "" {
		switch {
		case strings.HasPrefix(s, ".*"):
			p.steps, p.wild, s = append(p.steps, jsonStep{index: -3}), true, s[2:]
		case s[0] == '.':
			n := 1
			for n < len(s) && s[n] != '.' && s[n] != '[' {
				n++
			}
			if n == 1 {
				return false
			}
			p.steps, s = append(p.steps, jsonStep{s[1:n], -1}), s[n:]
		case strings.HasPrefix(s, "[*]"):
			p.steps, p.wild, s = append(p.steps, jsonStep{index: -2}), true, s[3:]
		case strings.HasPrefix(s, "['"), p.both && strings.HasPrefix(s, `["`):
			n := strings.Index(s, s[1:2]+"]")
			if n < 3 {
				return false
			}
			p.steps, s = append(p.steps, jsonStep{s[2:n], -1}), s[n+2:]
		case s[0] == '[':
			n := strings.IndexByte(s, ']')
			if n < 0 {
				return false
			}
			i, ok := parseIntBytes([]byte(s[1:n]))
			if !ok || i < 0 {
				return false
			}
			p.steps, s = append(p.steps, jsonStep{"", int(i)}), s[n+1:]
		default:
			return false
		}
	}
	p.ok = true
	return true
}

// extract appends what the path finds.
func (p *jsonPath) extract(sc *jsonScanner, dst []byte) ([]byte, bool) {
	i := sc.space(0)
	end := sc.skip(i)
	if end < 0 {
		return dst, false
	}
	if !p.wild {
		for _, st := range p.steps {
			at, atEnd := st.find(sc, i)
			if at < 0 {
				return dst, false
			}
			i, end = at, atEnd
		}
		switch sc.s[i] {
		case 'n':
			return dst, false
		case '"', '\'':
			return appendUnquoted(dst, sc.s[i:end]), true
		}
		return sc.appendCompact(dst, i, end), true
	}
	start, hits := len(dst), 0
	dst = append(dst, '[')
	var walk func(i, end int, steps []jsonStep)
	walk = func(i, end int, steps []jsonStep) {
		if len(steps) == 0 {
			if hits > 0 {
				dst = append(dst, ',')
			}
			hits++
			dst = sc.appendCompact(dst, i, end)
			return
		}
		switch st := steps[0]; st.index {
		case -2:
			if sc.s[i] == '[' {
				sc.items(i, func(v, e int) bool { walk(v, e, steps[1:]); return true })
			}
		case -3:
		default:
			if at, e := st.find(sc, i); at >= 0 {
				walk(at, e, steps[1:])
			}
		}
	}
	walk(i, end, p.steps)
	switch hits {
	case 0:
		return dst[:start], false
	case 1: // one hit is not wrapped
		return append(dst[:start], dst[start+1:]...), true
	}
	return append(dst, ']'), true
}

func (st jsonStep) find(sc *jsonScanner, i int) (at, end int) {
	at = -1
	switch {
	case st.index >= 0 && sc.s[i] == '[':
		n := 0
		sc.items(i, func(v, e int) bool {
			if n == st.index {
				at, end = v, e
				return false
			}
			n++
			return true
		})
	case st.index == -1 && sc.s[i] == '{':
		var buf [64]byte
		sc.members(i, func(name, nameEnd, v, e int) bool {
			if string(appendUnquoted(buf[:0], sc.s[name:nameEnd])) == st.name {
				at, end = v, e
				return false
			}
			return true
		})
	}
	return at, end
}

// constOptions reads the last argument, a constant map of texts.
func constOptions(e Expr, c Conf) (map[string]string, error) {
	if e.Type().Kind != types.Map {
		return nil, errs.New("INVALID_OPTIONS.NON_MAP_FUNCTION")
	}
	t := e.Type()
	if len(t.Fields) == 0 && (t.Key.Kind != types.String || t.Elem.Kind != types.String) {
		return nil, errs.New("INVALID_OPTIONS.NON_STRING_TYPE", "mapType", quoted(t.SQL()))
	}
	l, err := Const(e, c)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, errs.New("INVALID_OPTIONS.NON_MAP_FUNCTION")
	}
	out := map[string]string{}
	v := l.Value
	if !v.IsNull(0) {
		for j := v.Off[0]; j < v.Off[1]; j++ {
			out[strings.ToLower(string(v.Kids[0].Bytes(int(j))))] = string(v.Kids[1].Bytes(int(j)))
		}
	}
	return out, nil
}

// constSchema reads a schema argument: DDL text, or schema_of_json and schema_of_csv of a constant.
var timestampWord = regexp.MustCompile(`(?i)\btimestamp\b`)

func constSchema(e Expr, c Conf) (types.DataType, error) {
	bad := func() error {
		return errs.New("INVALID_SCHEMA.NON_STRING_LITERAL", "inputSchema", quoted(e.String()))
	}
	if e.Type().Kind != types.String || !Foldable(e) {
		return types.DataType{}, bad()
	}
	s, ok := constText(e, c)
	if !ok {
		return types.DataType{}, bad()
	}
	if c.NTZ {
		s = timestampWord.ReplaceAllString(s, "TIMESTAMP_NTZ")
	}
	t, err := types.ParseType(s)
	if err == nil {
		return t, nil
	}
	if sch, err2 := types.ParseDDL(s); err2 == nil && len(sch) > 0 {
		return types.StructOf(sch...), nil
	}
	if x := errs.As(err); x != nil && x.Condition != "FAILED_TO_PARSE_TOO_COMPLEX" {
		n := errs.New(x.Condition)
		n.Params = map[string]string{}
		for k, v := range x.Params {
			n.Params[k] = v
		}
		if tok := strings.Trim(n.Params["error"], "'"); n.Condition == "PARSE_SYNTAX_ERROR" && n.Params["error"] != "end of input" {
			words := strings.Fields(s)
			// The last word is what is left over behind a type.
			if len(words) == 2 && tok != "" {
				n.Params["error"], n.Params["hint"] = "'"+words[1]+"'", ": extra input '"+words[1]+"'"
			}
		}
		if words := strings.Fields(s); n.Condition == "UNSUPPORTED_DATATYPE" && len(words) == 2 {
			n = errs.New("PARSE_SYNTAX_ERROR", "error", "'"+words[1]+"'", "hint", ": extra input '"+words[1]+"'")
		}
		return t, n
	}
	return t, err
}

// nullableType makes everything nullable, as readers of text do.
func nullableType(t types.DataType) types.DataType {
	switch t.Kind {
	case types.Array:
		return types.ArrayOf(nullableType(*t.Elem), true)
	case types.Map:
		return types.MapOf(nullableType(*t.Key), nullableType(*t.Elem), true)
	case types.Struct:
		fs := append([]types.Field{}, t.Fields...)
		for i := range fs {
			fs[i].Type, fs[i].Nullable = nullableType(fs[i].Type), true
		}
		return types.StructOf(fs...)
	}
	return t
}

// schemaAndOptions reads the arguments behind the first of from_json and from_csv.
func schemaAndOptions(c *Call) (text string, t types.DataType, opts map[string]string, err error) {
	if err = c.Arity(2, 3); err != nil {
		return
	}
	text = callText(c.Name, c.Args[:1])
	if t, err = constSchema(c.Args[1], c.Conf); err != nil {
		return
	}
	if len(c.Args) == 3 {
		if opts, err = constOptions(c.Args[2], c.Conf); err != nil {
			return
		}
	}
	if k := c.Args[0].Type().Kind; k != types.String && k != types.Null {
		err = WrongType(text, 0, `"STRING"`, c.Args[0])
	}
	return
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

// otherKeys finds a map whose keys are no texts, which JSON has not; nil if there is none.
func otherKeys(t types.DataType) *types.DataType {
	switch t.Kind {
	case types.Struct:
		for _, f := range t.Fields {
			if m := otherKeys(f.Type); m != nil {
				return m
			}
		}
	case types.Array:
		return otherKeys(*t.Elem)
	case types.Map:
		if t.Key.Kind != types.String {
			return &t
		}
		return otherKeys(*t.Elem)
	}
	return nil
}

// kernel reads the texts of a column: first as plain JSON, which nearly all of it is, else with all its rules.
func (p *jsonReader) kernel(opts map[string]string) Kernel {
	var texts *codec.JSONTexts
	if _, mode := opts["mode"]; p.t.Kind == types.Struct && p.corrupt < 0 && (len(opts) == 0 || len(opts) == 1 && mode) &&
		(p.mode == "" || p.mode == "PERMISSIVE" || p.mode == "FAILFAST") {
		texts = codec.NewJSONTexts(p.t.Fields)
	}
	if texts == nil {
		return valueRows(func(r *row, a *Appender) error {
			err := p.read(r.bytes(0), a)
			if p.formatErr != nil {
				return p.formatErr
			}
			return err
		})
	}
	one := columnar.NewVec(p.t, 0) // a row that is not plain
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		read := 0 // bytes since the size was looked at
		for k := 0; k < sel.N; {
			i := sel.At(k)
			s := args[0].Bytes(i)
			if n := texts.Read(args[0], sel, k); n > 0 {
				for f, kid := range dst.Kids {
					setAtoms(kid, sel, k, texts.Column(f))
				}
				texts.Done()
				k += n
				read += n * len(s)
			} else if k++; texts.One(s) {
				for f := range texts.Plain.Values {
					setPlain(dst.Kids[f], i, &texts.Plain.Values[f])
				}
			} else {
				a := NewAppender(one)
				err := p.read(s, a)
				if p.formatErr != nil {
					return p.formatErr
				}
				if err != nil && err != errNull {
					return err
				}
				a.Finish()
				if err == errNull {
					SetNull(dst, i)
				}
				for f, kid := range dst.Kids {
					setAtom(kid, i, one.Kids[f], err == nil)
				}
			}
			if read += len(s); read > 1<<20 {
				read = 0
				for _, kid := range dst.Kids {
					if int64(len(kid.Data)) > maxVector {
						return tooLarge()
					}
				}
			}
		}
		return nil
	}
}

// setAtoms sets the selected rows of a column from position k on to the rows of from.
func setAtoms(to *columnar.Vec, sel columnar.Sel, k int, from *columnar.Vec) {
	if from.Valid != nil {
		for r := range from.Len {
			if from.IsNull(r) {
				SetNull(to, sel.At(k+r))
			}
		}
	}
	switch to.Phys {
	case columnar.PBytes:
		base := int32(len(to.Data)) - from.Off[0]
		to.Data = append(to.Data, from.Data[from.Off[0]:from.Off[from.Len]]...)
		for r, end := range from.Off[1 : from.Len+1] {
			to.Off[sel.At(k+r)+1] = base + end
		}
	case columnar.PBool:
		for r := range from.Len {
			if from.Bool(r) {
				columnar.SetBit(to.Bits, sel.At(k+r))
			}
		}
	case columnar.PI8:
		setFixed(to.I8, sel, k, from.I8[:from.Len])
	case columnar.PI16:
		setFixed(to.I16, sel, k, from.I16[:from.Len])
	case columnar.PI32:
		setFixed(to.I32, sel, k, from.I32[:from.Len])
	case columnar.PI64:
		setFixed(to.I64, sel, k, from.I64[:from.Len])
	case columnar.PF64:
		setFixed(to.F64, sel, k, from.F64[:from.Len])
	}
}

func setFixed[T any](to []T, sel columnar.Sel, k int, from []T) {
	if sel.All {
		copy(to[k:], from)
		return
	}
	for r, i := range sel.Idx[k : k+len(from)] {
		to[i] = from[r]
	}
}

// setPlain sets row i of a column.
func setPlain(to *columnar.Vec, i int, v *codec.PlainValue) {
	if v.Null {
		SetNull(to, i)
		return
	}
	switch to.Phys {
	case columnar.PBytes:
		to.Data = append(to.Data, v.Text...)
		to.Off[i+1] = int32(len(to.Data))
	case columnar.PI64:
		to.I64[i] = v.I64
	case columnar.PF64:
		to.F64[i] = v.F64
	case columnar.PI32:
		to.I32[i] = int32(v.I64)
	case columnar.PBool:
		if v.I64 == 1 {
			columnar.SetBit(to.Bits, i)
		}
	case columnar.PI16:
		to.I16[i] = int16(v.I64)
	case columnar.PI8:
		to.I8[i] = int8(v.I64)
	}
}

// setAtom sets row i of a column to the first value of another, or to null.
func setAtom(to *columnar.Vec, i int, from *columnar.Vec, there bool) {
	if !there || from.IsNull(0) {
		SetNull(to, i)
		return
	}
	var v codec.PlainValue
	switch to.Phys {
	case columnar.PBytes:
		v.Text = from.Bytes(0)
	case columnar.PI64:
		v.I64 = from.I64[0]
	case columnar.PF64:
		v.F64 = from.F64[0]
	case columnar.PI32:
		v.I64 = int64(from.I32[0])
	case columnar.PBool:
		if from.Bool(0) {
			v.I64 = 1
		}
	case columnar.PI16:
		v.I64 = int64(from.I16[0])
	case columnar.PI8:
		v.I64 = int64(from.I8[0])
	}
	setPlain(to, i, &v)
}

// differs notes under the policy Exception that Spark 2.4 could have read what is not read now.
func (p *jsonReader) differs(f *dateFormat, raw []byte, problem string) {
	if problem != "" && p.formatErr == nil {
		p.formatErr = f.conflict(raw)
	}
}

func optionsText(opts map[string]string) string {
	ks := make([]string, 0, len(opts))
	for k := range opts {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	var b strings.Builder
	for _, k := range ks {
		fmt.Fprintf(&b, "%s=%s;", k, opts[k])
	}
	return b.String()
}

// jsonReader turns JSON texts into values of a type. A field that does not fit is null.
type jsonReader struct {
	t         types.DataType
	conf      Conf
	mode      string
	corrupt   int // field of the record's text when it is bad; -1 if there is none
	sc        jsonScanner
	strings   bool // primitivesAsString
	times     bool // inferTimestamp
	date, ts  *dateFormat
	ntz       *dateFormat
	formatErr error
	partial   bool
	name      []byte
	spans     []int // stack: places of the fields of structs being read
}

func newJSONReader(t types.DataType, opts map[string]string, c Conf) *jsonReader {
	p := &jsonReader{t: t, conf: c, mode: parseMode(opts["mode"]), corrupt: -1}
	is := func(k string) bool { return strings.EqualFold(opts[k], "true") }
	p.sc.rules = jsonRules{noSingleQuotes: strings.EqualFold(opts["allowsinglequotes"], "false"), unquotedNames: is("allowunquotedfieldnames"),
		leadingZeros: is("allownumericleadingzeros"), comments: is("allowcomments"), noNaN: strings.EqualFold(opts["allownonnumericnumbers"], "false"),
		backslashAny: is("allowbackslashescapinganycharacter"), controlChars: is("allowunquotedcontrolchars")}
	p.strings = is("primitivesasstring")
	for k, f := range map[string]**dateFormat{"dateformat": &p.date, "timestampformat": &p.ts, "timestampntzformat": &p.ntz} {
		if text, ok := opts[k]; ok {
			var err error
			policy := c.TimeParser
			if f == &p.ntz {
				policy = CorrectedParser
			}
			if *f, err = formatFor(text, true, policy); err != nil {
				p.formatErr = err
			}
		}
	}
	if t.Kind == types.Struct {
		name := opts["columnnameofcorruptrecord"]
		if name == "" {
			name = "_corrupt_record"
		}
		for i, f := range t.Fields {
			if f.Name == name && f.Type.Kind == types.String {
				p.corrupt = i
			}
		}
	}
	return p
}

// parseMode is a mode in upper case; what is none counts as PERMISSIVE (ParseMode.fromString).
func parseMode(s string) string {
	switch s = strings.ToUpper(s); s {
	case "DROPMALFORMED", "FAILFAST":
		return s
	}
	return "PERMISSIVE"
}

// read appends the value of a text; errNull for a text that gives null.
func (p *jsonReader) read(s []byte, a *Appender) error {
	if p.formatErr != nil {
		return p.formatErr
	}
	if p.mode != "" && p.mode != "PERMISSIVE" && p.mode != "FAILFAST" {
		return errs.New("PARSE_MODE_UNSUPPORTED", "funcName", "`from_json`", "mode", p.mode)
	}
	p.sc.s, p.partial = s, false
	i := p.sc.space(0)
	if i >= len(s) {
		return errNull
	}
	t := p.t
	if t.Kind == types.Struct && s[i] == '{' { // one walk finds the fields and checks the whole record
		base, end := p.findFields(t, i)
		if end < 0 {
			p.spans = p.spans[:base]
			return p.bad(s, a, true)
		}
		if p.mode == "FAILFAST" { // look before anything is appended
			if p.object(t, i, nil); p.partial {
				p.spans = p.spans[:base]
				return p.malformed()
			}
		}
		p.objectWith(t, base, a, s)
		return nil
	}
	end := p.sc.skip(i)
	if end < 0 {
		return p.bad(s, a, true)
	}
	switch {
	case t.Kind == types.Map && s[i] == '{', t.Kind == types.Array && s[i] == '[', t.Kind == types.Variant:
	case t.Kind == types.Array && t.Elem.Kind == types.Struct && s[i] == '{': // one element
		if !p.value(*t.Elem, i, end, nil) {
			return p.bad(s, a, true)
		}
		p.value(*t.Elem, i, end, a.Kid(0))
		a.End()
		return p.checkPartial()
	case s[i] == 'n' && t.Kind != types.Struct:
		return errNull
	default:
		return p.bad(s, a, true)
	}
	if !p.value(t, i, end, nil) {
		return p.bad(s, a, true)
	}
	p.value(t, i, end, a)
	return p.checkPartial()
}

func (p *jsonReader) checkPartial() error {
	if p.partial && p.mode == "FAILFAST" {
		return p.malformed()
	}
	return nil
}

func (p *jsonReader) malformed() error {
	row := "[null]"
	if p.t.Kind == types.Struct {
		row = "[" + strings.TrimSuffix(strings.Repeat("null,", len(p.t.Fields)), ",") + "]"
	}
	return errs.New("MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION", "badRecord", row, "failFastMode", "FAILFAST")
}

// bad appends the value of a text that is no JSON or of another shape.
func (p *jsonReader) bad(s []byte, a *Appender, whole bool) error {
	if p.mode == "FAILFAST" {
		return p.malformed()
	}
	if p.t.Kind != types.Struct {
		return errNull
	}
	for k := range p.t.Fields {
		if k == p.corrupt {
			a.Kid(k).AppendBytes(s)
		} else {
			a.Kid(k).AppendNull()
		}
	}
	a.End()
	return nil
}

// objectWith reads the outermost struct and gives the record's text where some field did not fit.
func (p *jsonReader) objectWith(t types.DataType, base int, a *Appender, s []byte) {
	for k, f := range t.Fields {
		if k == p.corrupt {
			continue
		}
		p.field(f.Type, base, k, a.Kid(k))
	}
	if p.corrupt >= 0 {
		if p.partial {
			a.Kid(p.corrupt).AppendBytes(s)
		} else {
			a.Kid(p.corrupt).AppendNull()
		}
	}
	p.spans = p.spans[:base]
	a.End()
}

// findFields notes where the value of each field is, from base on in spans; the last of equal names counts.
// end is behind the object, or -1 if it is no JSON.
func (p *jsonReader) findFields(t types.DataType, i int) (base, end int) {
	base = len(p.spans)
	for range t.Fields {
		p.spans = append(p.spans, -1, -1)
	}
	next := 0
	end = p.sc.members(i, func(name, nameEnd, value, valueEnd int) bool {
		key := p.sc.s[name:nameEnd]
		if len(key) > 0 && (key[0] == '"' || key[0] == '\'') {
			plain := key[1 : len(key)-1]
			if indexByte(plain, '\\') >= 0 {
				p.name = appendUnquoted(p.name[:0], key)
				plain = p.name
			}
			key = plain
		}
		// Records mostly have their fields in the order of the schema.
		for n := range t.Fields {
			k := next + n
			if k >= len(t.Fields) {
				k -= len(t.Fields)
			}
			if t.Fields[k].Name == string(key) {
				p.spans[base+2*k], p.spans[base+2*k+1] = value, valueEnd
				next = k + 1
				break
			}
		}
		return true
	})
	return base, end
}

func (p *jsonReader) field(t types.DataType, base, k int, a *Appender) {
	v, end := p.spans[base+2*k], p.spans[base+2*k+1]
	switch {
	case v < 0 || p.sc.isNull(v):
		if a != nil {
			a.AppendNull()
		}
	case !t.IsAtomic() && t.Kind != types.Struct:
		if !p.value(t, v, end, nil) {
			p.partial = true
			if a != nil {
				a.AppendNull()
			}
		} else if a != nil {
			p.value(t, v, end, a)
		}
	default:
		if !p.value(t, v, end, a) {
			p.partial = true
			if a != nil {
				a.AppendNull()
			}
		}
	}
}

func (p *jsonReader) object(t types.DataType, i int, a *Appender) {
	base, _ := p.findFields(t, i)
	for k, f := range t.Fields {
		var kid *Appender
		if a != nil {
			kid = a.Kid(k)
		}
		p.field(f.Type, base, k, kid)
	}
	p.spans = p.spans[:base]
	if a != nil {
		a.End()
	}
}

// value appends the value at i, which is no null, if it fits the type; a nil appender only checks. Where it
// does not fit nothing is appended.
func (p *jsonReader) value(t types.DataType, i, end int, a *Appender) bool {
	c := p.sc.s[i]
	raw := p.sc.s[i:end]
	text := c == '"' || c == '\''
	switch t.Kind {
	case types.Struct:
		if c != '{' {
			return false
		}
		p.object(t, i, a)
		return true
	case types.Array:
		if c != '[' {
			return false
		}
		ok := true
		p.sc.items(i, func(v, e int) bool {
			ok = p.child(*t.Elem, v, e, a, 0)
			return ok
		})
		if ok && a != nil {
			a.End()
		}
		return ok
	case types.Map:
		if c != '{' {
			return false
		}
		ok := true
		p.sc.members(i, func(name, nameEnd, v, e int) bool {
			if a != nil {
				p.name = appendUnquoted(p.name[:0], p.sc.s[name:nameEnd])
				a.Kid(0).AppendBytes(p.name)
			}
			ok = p.child(*t.Elem, v, e, a, 1)
			return ok
		})
		if ok && a != nil {
			a.End()
		}
		return ok
	case types.String:
		if a == nil {
			return true
		}
		switch {
		case text:
			p.name = appendUnquoted(p.name[:0], raw)
		default:
			p.name = p.sc.appendCompact(p.name[:0], i, end)
		}
		a.AppendBytes(p.name)
		return true
	case types.Variant:
		out, ok := normalVariant(p.name[:0], &p.sc, i, end)
		p.name = out
		if ok && a != nil {
			a.AppendBytes(out)
		}
		return ok
	case types.Null:
		if a != nil {
			a.AppendNull()
		}
		return true
	}
	if text {
		p.name = appendUnquoted(p.name[:0], raw)
		raw = p.name
	}
	return p.scalar(t, raw, text, c, a)
}

// child reads an element or value, of which null fits every type.
func (p *jsonReader) child(t types.DataType, i, end int, a *Appender, k int) bool {
	var kid *Appender
	if a != nil {
		kid = a.Kid(k)
	}
	if p.sc.isNull(i) {
		if kid != nil {
			kid.AppendNull()
		}
		return true
	}
	return p.value(t, i, end, kid)
}

// scalar reads a value without children. raw is the token, or the content of a string.
func (p *jsonReader) scalar(t types.DataType, raw []byte, text bool, c byte, a *Appender) bool {
	number := !text && (c == '-' || c == '+' || c >= '0' && c <= '9' || c == 'N' || c == 'I')
	switch t.Kind {
	case types.Boolean:
		if text || c != 't' && c != 'f' {
			return false
		}
		if a != nil {
			a.appendBool(c == 't')
		}
		return true
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		n, ok := parseIntBytes(raw)
		if !number || !ok || !t.Kind.Holds(n) {
			return false
		}
		if a != nil {
			a.appendIntegral(n)
		}
		return true
	case types.Float, types.Double:
		f, ok := parseJSONFloat(raw, text, number, t.Kind == types.Float)
		if ok && a != nil {
			a.appendFloat(f)
		}
		return ok
	case types.Decimal:
		if !text && !number {
			return false
		}
		return appendParsed(t, raw, p.conf, a)
	case types.Date:
		if !text {
			return false
		}
		if p.date != nil {
			d, problem := p.date.parse(raw)
			p.differs(p.date, raw, problem)
			if problem == "" && a != nil {
				a.AppendI32(int32(d.days()))
			}
			return problem == ""
		}
		return appendParsed(t, raw, p.conf, a)
	case types.Timestamp:
		if !text {
			n, ok := parseIntBytes(raw)
			if !number || !ok {
				return false
			}
			if n, ok = mulI64(n, microsPerSecond); ok && a != nil {
				a.AppendI64(n)
			}
			return ok
		}
		if p.ts != nil {
			d, problem := p.ts.parse(raw)
			p.differs(p.ts, raw, problem)
			if problem == "" && a != nil {
				a.AppendI64(d.instant(p.conf.Zone))
			}
			return problem == ""
		}
		return appendParsed(t, raw, p.conf, a)
	case types.TimestampNTZ:
		if text && p.ntz != nil {
			d, problem := p.ntz.parse(raw)
			if problem == "" && a != nil {
				a.AppendI64(d.local())
			}
			return problem == ""
		}
		return text && appendParsed(t, raw, p.conf, a)
	case types.Binary:
		if !text || !strictBase64(raw) {
			return false
		}
		out, ok := appendUnbase64(nil, raw)
		if ok && a != nil {
			a.AppendBytes(out)
		}
		return ok
	}
	return text && appendParsed(t, raw, p.conf, a)
}
