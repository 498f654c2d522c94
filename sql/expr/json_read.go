package expr

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

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

// differs notes under the policy Exception that Spark 2.4 could have read what is not read now.
func (p *jsonReader) differs(f *dateFormat, raw []byte, problem string) {
	if problem != "" && p.formatErr == nil {
		p.formatErr = f.conflict(raw)
	}
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
