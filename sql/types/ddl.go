package types

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"streamlab/errs"
)

// ParseType reads one type as SQL writes it: "INT", "DECIMAL(10,2)", "STRUCT<a: INT NOT NULL, b: STRING>".
// Errors are Spark's parse errors, placed within the text.
func ParseType(text string) (DataType, error) {
	p := &ddlParser{text: text}
	p.next()
	t, err := p.dataType()
	if err == nil && p.tok != "" {
		err = p.unexpected()
	}
	return t, err
}

// ParseDDL reads a list of columns: "a INT NOT NULL COMMENT 'key', b: STRUCT<x: STRING>", or a single
// "STRUCT<...>". An empty text is an empty schema.
func ParseDDL(text string) (Schema, error) {
	p := &ddlParser{text: text}
	p.next()
	if p.tok == "" && p.err == nil {
		return Schema{}, nil
	}
	if strings.EqualFold(p.tok, "struct") {
		q := *p
		if t, err := q.dataType(); err == nil && q.tok == "" && t.Kind == Struct {
			return Schema(t.Fields), nil
		}
	}
	fs, err := p.fields()
	if err == nil && p.tok != "" {
		err = p.unexpected()
	}
	return Schema(fs), err
}

// ddlParser holds the current token: a word, a number, a symbol, or a quoted text.
type ddlParser struct {
	text   string
	pos    int // behind the current token
	start  int // of the current token
	tok    string
	quoted byte // '`' or '\'' or '"' if the token was quoted; tok is then its content
	depth  int  // of the type that is read
	err    error
}

func (p *ddlParser) next() {
	for p.pos < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.pos:])
		if !unicode.IsSpace(r) {
			break
		}
		p.pos += n
	}
	p.start, p.quoted = p.pos, 0
	if p.pos >= len(p.text) {
		p.tok = ""
		return
	}
	switch c := p.text[p.pos]; {
	case c == '`' || c == '\'' || c == '"':
		p.quotedToken(c)
	case wordByte(c):
		end := p.pos
		for end < len(p.text) && wordByte(p.text[end]) {
			end++
		}
		p.tok, p.pos = p.text[p.pos:end], end
	case strings.HasPrefix(p.text[p.pos:], "<>"):
		p.tok, p.pos = "<>", p.pos+2
	default:
		_, n := utf8.DecodeRuneInString(p.text[p.pos:])
		p.tok, p.pos = p.text[p.pos:p.pos+n], p.pos+n
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (p *ddlParser) quotedToken(q byte) {
	var b strings.Builder
	i := p.pos + 1
	for i < len(p.text) {
		c := p.text[i]
		switch {
		case c == q && q == '`' && i+1 < len(p.text) && p.text[i+1] == q:
			b.WriteByte(q)
			i += 2
			continue
		case c == q:
			p.tok, p.pos, p.quoted = b.String(), i+1, q
			return
		case c == '\\' && q != '`' && i+1 < len(p.text):
			i++
			c = p.text[i]
			switch c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			}
		}
		b.WriteByte(c)
		i++
	}
	p.tok, p.pos, p.quoted = p.text[p.pos:], len(p.text), q
	p.err = p.failAt(p.start, "PARSE_SYNTAX_ERROR", "error", "'"+string(q)+"'", "hint", "")
}

func (p *ddlParser) failAt(at int, condition string, params ...any) error {
	line := 1 + strings.Count(p.text[:at], "\n")
	col := utf8.RuneCountInString(p.text[strings.LastIndexByte(p.text[:at], '\n')+1:at]) + 1
	return errs.New(condition, params...).At(errs.Pos{Line: line, Col: col, Length: max(1, p.pos-at)})
}

func (p *ddlParser) unexpected() error {
	if p.err != nil {
		return p.err
	}
	if p.tok == "" && p.quoted == 0 {
		return p.failAt(p.start, "PARSE_SYNTAX_ERROR", "error", "end of input", "hint", "")
	}
	return p.failAt(p.start, "PARSE_SYNTAX_ERROR", "error", "'"+p.text[p.start:p.pos]+"'", "hint", "")
}

func (p *ddlParser) is(word string) bool { return p.quoted == 0 && strings.EqualFold(p.tok, word) }

func (p *ddlParser) accept(word string) bool {
	if p.is(word) {
		p.next()
		return true
	}
	return false
}

func (p *ddlParser) expect(symbol string) error {
	if !p.accept(symbol) {
		return p.unexpected()
	}
	return nil
}

// fields reads columns up to the end or, within STRUCT, up to the closing bracket.
func (p *ddlParser) fields() ([]Field, error) {
	fs := []Field{}
	for {
		if p.err != nil || p.quoted != '`' && (p.quoted != 0 || p.tok == "" || !wordByte(p.tok[0])) {
			return nil, p.unexpected()
		}
		f := Field{Name: p.tok, Nullable: true}
		p.next()
		p.accept(":")
		t, err := p.dataType()
		if err != nil {
			return nil, err
		}
		f.Type = t
		for {
			switch {
			case p.accept("NOT"):
				if err := p.expect("NULL"); err != nil {
					return nil, err
				}
				f.Nullable = false
				continue
			case p.accept("COMMENT"):
				if p.quoted != '\'' && p.quoted != '"' {
					return nil, p.unexpected()
				}
				f.Metadata = map[string]string{"comment": p.tok}
				p.next()
				continue
			}
			break
		}
		fs = append(fs, f)
		if !p.accept(",") {
			return fs, nil
		}
	}
}

var plainTypes = map[string]Kind{"boolean": Boolean, "tinyint": TinyInt, "byte": TinyInt, "smallint": SmallInt,
	"short": SmallInt, "int": Int, "integer": Int, "bigint": BigInt, "long": BigInt, "float": Float, "real": Float,
	"double": Double, "string": String, "binary": Binary, "date": Date, "timestamp": Timestamp,
	"timestamp_ltz": Timestamp, "timestamp_ntz": TimestampNTZ, "void": Null, "null": Null, "variant": Variant}

// maxDepth bounds the nesting of types: all that is done with a type costs with its depth.
const maxDepth = 500

func (p *ddlParser) dataType() (DataType, error) {
	if p.depth++; p.depth > maxDepth {
		return DataType{}, p.failAt(p.start, "FAILED_TO_PARSE_TOO_COMPLEX")
	}
	defer func() { p.depth-- }()
	if p.err != nil || p.quoted != 0 || p.tok == "" || !wordByte(p.tok[0]) {
		return DataType{}, p.unexpected()
	}
	at, word := p.start, p.tok
	name := strings.ToLower(word)
	p.next()
	switch name {
	case "array":
		return p.arrayType(at)
	case "map":
		return p.mapType(at)
	case "struct":
		if p.accept("<>") {
			return StructOf(), nil
		}
		if !p.accept("<") {
			return DataType{}, p.failAt(at, "INCOMPLETE_TYPE_DEFINITION.STRUCT")
		}
		if p.accept(">") {
			return StructOf(), nil
		}
		fs, err := p.fields()
		if err != nil {
			return DataType{}, err
		}
		return StructOf(fs...), p.expect(">")
	case "interval":
		return p.intervalType(at)
	}
	sizes, err := p.sizes()
	if err != nil {
		return DataType{}, err
	}
	bad := func() error {
		text := strings.ToUpper(word)
		if len(sizes) > 0 {
			l := make([]string, len(sizes))
			for i, s := range sizes {
				l[i] = fmt.Sprint(s)
			}
			text += "(" + strings.Join(l, ",") + ")"
		}
		return p.failAt(at, "UNSUPPORTED_DATATYPE", "typeName", `"`+text+`"`)
	}
	switch name {
	case "decimal", "dec", "numeric":
		t := DecimalOf(10, 0)
		switch {
		case len(sizes) > 2:
			return t, bad()
		case len(sizes) == 2:
			t.Scale = sizes[1]
			fallthrough
		case len(sizes) == 1:
			t.Precision = sizes[0]
		}
		if t.Precision > 38 {
			return t, p.failAt(at, "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "precision", t.Precision, "maxPrecision", 38)
		}
		if t.Scale > t.Precision {
			return t, p.failAt(at, "_LEGACY_ERROR_TEMP_1228", "scale", t.Scale, "precision", t.Precision)
		}
		return t, nil
	case "char", "character", "varchar":
		if len(sizes) == 0 {
			return DataType{}, p.failAt(at, "DATATYPE_MISSING_SIZE", "type", `"`+strings.ToUpper(word)+`"`)
		}
		if len(sizes) > 1 {
			return DataType{}, bad()
		}
		return DataType{Kind: String, Length: sizes[0], Fixed: name != "varchar"}, nil
	case "time":
		t := Of(Time)
		if len(sizes) > 1 {
			return t, bad()
		}
		if len(sizes) == 1 {
			t.Precision = sizes[0]
			if t.Precision > 6 {
				return t, p.failAt(at, "UNSUPPORTED_TIME_PRECISION", "precision", t.Precision)
			}
		}
		if p.accept("WITHOUT") {
			if err := p.expect("TIME"); err != nil {
				return t, err
			}
			return t, p.expect("ZONE")
		}
		return t, nil
	}
	k, ok := plainTypes[name]
	if !ok || len(sizes) > 0 {
		return DataType{}, bad()
	}
	t := Of(k)
	if k == String && p.accept("COLLATE") {
		if p.tok == "" {
			return t, p.unexpected()
		}
		c, err := CollationOf(p.tok)
		if err != nil {
			return t, err
		}
		if t.Collation = c.Name; t.Collation == "UTF8_BINARY" {
			t.Collation = ""
		}
		p.next()
	}
	return t, nil
}

// sizes reads "(10, 2)"; nil if there is no bracket.
func (p *ddlParser) sizes() ([]int32, error) {
	if !p.accept("(") {
		return nil, nil
	}
	var out []int32
	for {
		n, err := strconv.ParseInt(p.tok, 10, 32)
		if err != nil {
			return nil, p.unexpected()
		}
		p.next()
		out = append(out, int32(n))
		if p.accept(",") {
			continue
		}
		return out, p.expect(")")
	}
}

func (p *ddlParser) arrayType(at int) (DataType, error) {
	if !p.accept("<") {
		return DataType{}, p.failAt(at, "INCOMPLETE_TYPE_DEFINITION.ARRAY", "elementType", "<INT>")
	}
	e, err := p.dataType()
	if err != nil {
		return DataType{}, err
	}
	return ArrayOf(e, true), p.expect(">")
}

func (p *ddlParser) mapType(at int) (DataType, error) {
	if !p.accept("<") {
		return DataType{}, p.failAt(at, "INCOMPLETE_TYPE_DEFINITION.MAP")
	}
	k, err := p.dataType()
	if err != nil {
		return DataType{}, err
	}
	if err := p.expect(","); err != nil {
		return DataType{}, err
	}
	v, err := p.dataType()
	if err != nil {
		return DataType{}, err
	}
	return MapOf(k, v, true), p.expect(">")
}

// intervalType reads what follows INTERVAL: nothing, a unit, or a range of units.
func (p *ddlParser) intervalType(at int) (DataType, error) {
	kind, from, ok := intervalUnit(p.tok)
	if !ok || p.quoted != 0 {
		return Of(Calendar), nil
	}
	p.next()
	t := DataType{Kind: kind, From: from, To: from}
	before, word := p.start, p.tok
	if !p.accept("TO") {
		return t, nil
	}
	kind2, to, ok := intervalUnit(p.tok)
	if !ok {
		return t, p.unexpected()
	}
	if kind2 != kind || kind == DayTime && to == Day {
		return t, p.failAt(before, "PARSE_SYNTAX_ERROR", "error", "'"+word+"'", "hint", ": missing ')'")
	}
	if to <= from {
		return t, p.failAt(at, "INVALID_INTERVAL_FORMAT.UNSUPPORTED_FROM_TO_EXPRESSION", "input", "", "from", yearOrDayUnit(kind, from),
			"to", yearOrDayUnit(kind2, to))
	}
	p.next()
	t.To = to
	return t, nil
}

func yearOrDayUnit(k Kind, u uint8) string {
	if k == YearMonth {
		return strings.ToLower(yearMonthUnits[u])
	}
	return strings.ToLower(dayTimeUnits[u])
}

func intervalUnit(word string) (Kind, uint8, bool) {
	for i, u := range yearMonthUnits {
		if strings.EqualFold(word, u) {
			return YearMonth, uint8(i), true
		}
	}
	for i, u := range dayTimeUnits {
		if strings.EqualFold(word, u) {
			return DayTime, uint8(i), true
		}
	}
	return 0, 0, false
}
