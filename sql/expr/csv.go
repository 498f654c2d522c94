package expr

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"streamlab/errs"
	"streamlab/sql/types"
)

func csvFunctions() []Function {
	return []Function{
		fn("from_csv(csv, schema[, options])", "The values of a line of CSV, of a schema given as DDL.", buildFromCSV),
		fn("to_csv(struct[, options])", "A struct as a line of CSV.", buildToCSV),
		fn("schema_of_csv(csv[, options])", "The schema of a line of CSV as DDL.", buildSchemaOfCSV),
	}
}

// csvRules is how lines are split and written.
type csvRules struct {
	sep           []byte
	quote, escape byte
	null          string
	comment       byte // 0: there is none
	trimLeft      bool
	trimRight     bool
	numbers       map[string]float64 // what is written for NaN and the infinities
}

func newCSVRules(opts map[string]string, trim bool) csvRules {
	r := csvRules{sep: []byte{','}, quote: '"', escape: '\\', trimLeft: trim, trimRight: trim}
	for _, k := range []string{"delimiter", "sep"} {
		if s, ok := opts[k]; ok && s != "" {
			r.sep = []byte(strings.NewReplacer(`\t`, "\t", `\\`, `\`).Replace(s))
		}
	}
	if s, ok := opts["quote"]; ok {
		if r.quote = 0; s != "" {
			r.quote = s[0]
		}
	}
	if s, ok := opts["escape"]; ok && s != "" {
		r.escape = s[0]
	}
	r.null = opts["nullvalue"]
	if s := opts["comment"]; s != "" {
		r.comment = s[0]
	}
	r.numbers = map[string]float64{}
	for k, x := range map[string]struct {
		def string
		f   float64
	}{"nanvalue": {"NaN", math.NaN()}, "positiveinf": {"Inf", math.Inf(1)}, "negativeinf": {"-Inf", math.Inf(-1)}} {
		if s, ok := opts[k]; ok {
			x.def = s
		}
		r.numbers[x.def] = x.f
	}
	if s, ok := opts["ignoreleadingwhitespace"]; ok {
		r.trimLeft = strings.EqualFold(s, "true")
	}
	if s, ok := opts["ignoretrailingwhitespace"]; ok {
		r.trimRight = strings.EqualFold(s, "true")
	}
	return r
}

// next splits off the first field of s. buf is scratch for fields with escapes.
func (r *csvRules) next(s, buf []byte) (field, rest, newBuf []byte, more bool) {
	if len(s) > 0 && r.quote != 0 && s[0] == r.quote {
		out := buf[:0]
		for i := 1; i < len(s); i++ {
			switch c := s[i]; {
			case c == r.escape && i+1 < len(s) && (s[i+1] == r.quote || s[i+1] == r.escape) && r.escape != r.quote:
				i++
				out = append(out, s[i])
			case c == r.quote && r.escape == r.quote && i+1 < len(s) && s[i+1] == r.quote:
				i++
				out = append(out, c)
			case c == r.quote:
				after := s[i+1:]
				if len(after) == 0 {
					return out, nil, out, false
				}
				if bytes.HasPrefix(after, r.sep) {
					return out, after[len(r.sep):], out, true
				}
				i = len(s) // a quote in the middle: the field is taken as it stands
			default:
				out = append(out, c)
			}
		}
		buf = out
	}
	field, rest, more = bytes.Cut(s, r.sep)
	if r.trimLeft {
		field = bytes.TrimLeft(field, " \t")
	}
	if r.trimRight {
		field = bytes.TrimRight(field, " \t")
	}
	return field, rest, buf, more
}

func buildFromCSV(c *Call) (Expr, error) {
	text, t, opts, err := schemaAndOptions(c)
	if err != nil {
		return nil, err
	}
	if t.Kind != types.Struct {
		return nil, errs.New("INVALID_SCHEMA.NON_STRUCT_TYPE", "inputSchema", quoted(c.Args[1].String()), "dataType", quoted(t.SQL()))
	}
	for _, f := range t.Fields {
		if !f.Type.IsAtomic() {
			return nil, errs.New("UNSUPPORTED_DATATYPE", "typeName", quoted(f.Type.SQL()))
		}
	}
	t = nullableType(t)
	s := NewScalar("from_csv", t, true, []Expr{CastTo(c.Args[0], tString, c.Conf)}, text, nil)
	s.Extra = optionsText(opts)
	s.NullIfAnyNull = true
	s.Fresh = func() Kernel {
		p := newJSONReader(t, opts, c.Conf)
		rules := newCSVRules(opts, false)
		var buf []byte
		return valueRows(func(r *row, a *Appender) error {
			if p.formatErr != nil {
				return p.formatErr
			}
			if p.mode != "" && p.mode != "PERMISSIVE" && p.mode != "FAILFAST" {
				return errs.New("PARSE_MODE_UNSUPPORTED", "funcName", "`from_csv`", "mode", p.mode)
			}
			var rest []byte
			more, partial := true, false
			for pass := 0; pass < 2; pass++ { // the first only looks
				if pass == 0 && p.mode != "FAILFAST" {
					continue
				}
				rest, more, partial = r.bytes(0), true, false
				if rules.comment != 0 && len(rest) > 0 && rest[0] == rules.comment {
					more = false // there are no fields
				}
				for k, f := range t.Fields {
					if k == p.corrupt {
						continue
					}
					var kid *Appender
					if pass == 1 {
						kid = a.Kid(k)
					}
					if !more {
						partial = true
						if kid != nil {
							kid.AppendNull()
						}
						continue
					}
					var field []byte
					field, rest, buf, more = rules.next(rest, buf)
					number, ok := 0.0, false
					if f.Type.Kind == types.Double || f.Type.Kind == types.Float {
						number, ok = rules.numbers[string(field)]
					}
					switch {
					case ok:
						if kid != nil {
							kid.appendFloat(number)
						}
					case len(field) == 0 || string(field) == rules.null:
						if kid != nil {
							kid.AppendNull()
						}
					case !p.cell(f.Type, field, kid):
						if p.formatErr != nil {
							return p.formatErr
						}
						partial = true
						if kid != nil {
							kid.AppendNull()
						}
					}
				}
				partial = partial || more
				if pass == 0 && partial {
					return p.malformed()
				}
			}
			if p.corrupt >= 0 {
				if partial {
					a.Kid(p.corrupt).AppendBytes(r.bytes(0))
				} else {
					a.Kid(p.corrupt).AppendNull()
				}
			}
			a.End()
			return nil
		})
	}
	return s, nil
}

// cell reads a field of CSV.
func (p *jsonReader) cell(t types.DataType, s []byte, a *Appender) bool {
	switch {
	case t.Kind == types.Date && p.date != nil, t.Kind == types.Timestamp && p.ts != nil, t.Kind == types.TimestampNTZ && p.ntz != nil:
		return p.scalar(t, s, true, '"', a)
	case t.Kind == types.Float || t.Kind == types.Double:
		if s[len(s)-1] > '9' {
			return p.scalar(t, s, true, '"', a)
		}
	case t.Kind == types.Decimal:
		s = bytes.ReplaceAll(s, []byte{','}, nil)
	}
	return appendParsed(t, s, p.conf, a)
}

func buildToCSV(c *Call) (Expr, error) {
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
	case types.Struct:
	case types.Null:
		return &Literal{Value: NullLit(tString).Value, Text: text}, nil
	default:
		return nil, errs.New("DATATYPE_MISMATCH.UNSUPPORTED_INPUT_TYPE", "sqlExpr", quoted(text), "functionName", "`to_csv`", "dataType", quoted(t.SQL()))
	}
	f, err := newTextFormats(opts, c.Conf)
	if err != nil {
		return nil, err
	}
	rules := newCSVRules(opts, true)
	all := strings.EqualFold(opts["quoteall"], "true")
	s := Strict("to_csv", tString, c.Args[:1], text, nil)
	s.Null = true // of a line of which nothing is left
	s.Extra = optionsText(opts)
	s.Fresh = func() Kernel {
		var buf []byte
		return bytesRows(func(r *row, dst []byte) ([]byte, error) {
			v := r.args[0]
			i, begin := v.Row(r.i), len(dst)
			for k, kid := range v.Kids {
				if k > 0 {
					dst = append(dst, rules.sep...)
				}
				if kid.IsNull(i) {
					dst = append(dst, rules.null...)
					continue
				}
				var ok bool
				if buf, ok = f.appendTime(buf[:0], kid, kid.Row(i)); !ok {
					buf = AppendText(buf, kid, i, f.zone, CastStyle)
				}
				dst = rules.appendField(dst, buf, all)
			}
			if len(dst) == begin {
				return dst, errNull
			}
			return dst, nil
		})
	}
	return s, nil
}

func (r *csvRules) appendField(dst, s []byte, all bool) []byte {
	if r.trimLeft {
		s = bytes.TrimLeft(s, " \t")
	}
	if r.trimRight {
		s = bytes.TrimRight(s, " \t")
	}
	if len(s) == 0 {
		return append(dst, r.quote, r.quote)
	}
	if !all && !bytes.Contains(s, r.sep) && bytes.IndexByte(s, r.quote) < 0 && !bytes.ContainsAny(s, "\r\n") {
		return append(dst, s...)
	}
	dst = append(dst, r.quote)
	for _, c := range s {
		if c == r.quote {
			dst = append(dst, r.escape)
		}
		dst = append(dst, c)
	}
	return append(dst, r.quote)
}

func buildSchemaOfCSV(c *Call) (Expr, error) {
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
	if k := c.Args[0].Type().Kind; k != types.String && k != types.Null {
		return nil, WrongType(text, 0, `"STRING"`, c.Args[0])
	}
	s, ok := constText(c.Args[0], c.Conf)
	if !ok {
		return nil, errs.New("DATATYPE_MISMATCH.UNEXPECTED_NULL", "sqlExpr", quoted(text), "exprName", "csv")
	}
	rules := newCSVRules(opts, false)
	var fields []types.Field
	rest, more := []byte(s), true
	for more {
		var f []byte
		f, rest, _, more = rules.next(rest, nil)
		t := tString
		if len(f) > 0 && string(f) != rules.null {
			t = InferCell(f, c.Conf)
		}
		fields = append(fields, types.Field{Name: fmt.Sprintf("_c%d", len(fields)), Type: t, Nullable: true})
	}
	l := StringLit(types.StructOf(fields...).SQL())
	l.Text = text
	return l, nil
}

// InferCell is the type of a field of CSV, as the reader infers it.
func InferCell(s []byte, c Conf) types.DataType {
	for _, t := range []types.DataType{tInt, tBigInt} {
		if appendParsed(t, s, c, nil) {
			return t
		}
	}
	if !utf8.Valid(s) {
		return tString
	}
	if n := bytes.TrimLeft(s, "-"); allDigits(n) && len(n) <= 38 {
		return types.DecimalOf(int32(len(n)), 0)
	}
	if c0 := s[0]; c0 >= '0' && c0 <= '9' || c0 == '-' || c0 == '+' || c0 == '.' {
		if _, ok := parseJSONFloat(s, false, true, false); ok {
			return tDouble
		}
	}
	for _, t := range []types.DataType{tDate, tTimestamp, tBoolean} {
		if t.Kind == types.Timestamp {
			if p, ok := parseTimestampParts(s); !ok || !p.hasDate {
				continue
			}
		}
		if t.Kind == types.Date && len(s) != 10 {
			continue
		}
		if appendParsed(t, s, c, nil) {
			return t
		}
	}
	return tString
}
