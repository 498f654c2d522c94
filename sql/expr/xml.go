package expr

import (
	"bytes"
	"encoding/xml"
	"io"
	"sort"
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// xmlNode is an element: its attributes, elements and text, and the text of the document between its tags.
type xmlNode struct {
	name  string
	attrs []xml.Attr
	kids  []*xmlNode
	text  string
	inner string
}

// maxXMLDepth bounds the nesting of elements.
const maxXMLDepth = 500

func xmlName(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

// parseXML reads the first element of a document; nil if it has none or is malformed. Names keep their prefixes.
func parseXML(s []byte) *xmlNode {
	d := xml.NewDecoder(bytes.NewReader(s))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	type open struct {
		n    *xmlNode
		from int64
		text strings.Builder
	}
	var stack []*open
	for {
		before := d.InputOffset()
		t, err := d.RawToken()
		if err != nil {
			return nil
		}
		switch t := t.(type) {
		case xml.StartElement:
			if len(stack) >= maxXMLDepth {
				return nil
			}
			n := &xmlNode{name: xmlName(t.Name), attrs: append([]xml.Attr(nil), t.Attr...)}
			if len(stack) > 0 {
				p := stack[len(stack)-1].n
				p.kids = append(p.kids, n)
			}
			stack = append(stack, &open{n: n, from: d.InputOffset()})
		case xml.EndElement:
			if len(stack) == 0 || stack[len(stack)-1].n.name != xmlName(t.Name) {
				return nil
			}
			o := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			o.n.text = strings.TrimSpace(o.text.String())
			if o.from <= before {
				o.n.inner = strings.TrimSpace(string(s[o.from:before]))
			}
			if len(stack) == 0 {
				return o.n
			}
		case xml.CharData:
			if len(stack) > 0 {
				stack[len(stack)-1].text.Write(t)
			} else if len(bytes.TrimSpace(t)) > 0 {
				return nil
			}
		}
	}
}

// xmlRules are the options of the XML functions.
type xmlRules struct {
	prefix, value, null, row string
	hasNull                  bool
}

func newXMLRules(opts map[string]string) xmlRules {
	r := xmlRules{prefix: "_", value: "_VALUE", row: "ROW"}
	for key, to := range map[string]*string{"attributeprefix": &r.prefix, "valuetag": &r.value, "rowtag": &r.row} {
		if s, ok := opts[key]; ok {
			*to = s
		}
	}
	r.null, r.hasNull = opts["nullvalue"]
	return r
}

func xmlFunctions() []Function {
	return []Function{
		fn("from_xml(xml, schema[, options])", "The struct that an XML text holds.", buildFromXML),
		fn("to_xml(expr[, options])", "A struct as XML.", buildToXML),
		fn("schema_of_xml(xml[, options])", "The type of an XML text.", buildSchemaOfXML),
	}
}

func buildFromXML(c *Call) (Expr, error) {
	text, t, opts, err := schemaAndOptions(c)
	if err != nil {
		return nil, err
	}
	if t.Kind != types.Struct {
		return nil, errs.New("DATATYPE_MISMATCH.INVALID_XML_SCHEMA", "sqlExpr", quoted(text), "schema", quoted(t.SQL()))
	}
	t = nullableType(t)
	s := NewScalar("from_xml", t, true, []Expr{CastTo(c.Args[0], tString, c.Conf)}, text, nil)
	s.Extra = optionsText(opts)
	s.NullIfAnyNull = true
	s.Fresh = func() Kernel {
		x := &xmlReader{p: newJSONReader(t, opts, c.Conf), rules: newXMLRules(opts)}
		return valueRows(func(r *row, a *Appender) error { return x.read(r.bytes(0), a) })
	}
	return s, nil
}

// xmlReader turns XML texts into structs; single values are read as those of CSV are.
type xmlReader struct {
	p     *jsonReader
	rules xmlRules
	bad   bool // a value of the record did not fit
}

func (x *xmlReader) read(s []byte, a *Appender) error {
	p := x.p
	if p.formatErr != nil {
		return p.formatErr
	}
	if p.mode != "" && p.mode != "PERMISSIVE" && p.mode != "FAILFAST" {
		return errs.New("PARSE_MODE_UNSUPPORTED", "funcName", "`from_xml`", "mode", p.mode)
	}
	n := parseXML(s)
	x.bad = n == nil
	for k, f := range p.t.Fields {
		switch {
		case k == p.corrupt: // filled when the others have been read
		case n == nil:
			a.Kid(k).AppendNull()
		default:
			x.field(n, f, a.Kid(k))
		}
	}
	if p.corrupt >= 0 {
		if x.bad {
			a.Kid(p.corrupt).AppendBytes(s)
		} else {
			a.Kid(p.corrupt).AppendNull()
		}
	}
	if p.formatErr != nil {
		return p.formatErr
	}
	if x.bad && p.mode == "FAILFAST" {
		return p.malformed()
	}
	a.End()
	return nil
}

// field appends what an element has for a field: an attribute, its text, or elements of that name.
func (x *xmlReader) field(n *xmlNode, f types.Field, a *Appender) {
	if f.Name == x.rules.value {
		x.scalar(f.Type, n.text, a)
		return
	}
	if name, ok := strings.CutPrefix(f.Name, x.rules.prefix); ok && x.rules.prefix != "" {
		for _, at := range n.attrs {
			if strings.EqualFold(xmlName(at.Name), name) {
				x.scalar(f.Type, at.Value, a)
				return
			}
		}
	}
	var found []*xmlNode
	for _, k := range n.kids {
		if strings.EqualFold(k.name, f.Name) {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 0:
		a.AppendNull()
	case f.Type.Kind == types.Array:
		for _, k := range found {
			x.value(*f.Type.Elem, k, a.Kid(0))
		}
		a.End()
	default:
		x.value(f.Type, found[len(found)-1], a)
	}
}

func (x *xmlReader) value(t types.DataType, n *xmlNode, a *Appender) {
	switch {
	case t.Kind == types.Struct:
		for k, f := range t.Fields {
			x.field(n, f, a.Kid(k))
		}
		a.End()
	case t.Kind == types.Map && t.Key.Kind == types.String:
		seen := map[string]int{}
		var names []string
		var last []*xmlNode
		for _, k := range n.kids {
			if i, ok := seen[k.name]; ok {
				last[i] = k
				continue
			}
			seen[k.name] = len(names)
			names, last = append(names, k.name), append(last, k)
		}
		for i, name := range names {
			a.Kid(0).AppendBytes([]byte(name))
			x.value(*t.Elem, last[i], a.Kid(1))
		}
		a.End()
	case t.Kind == types.String && len(n.kids) > 0:
		a.AppendBytes([]byte(n.inner))
	default:
		x.scalar(t, n.text, a)
	}
}

func (x *xmlReader) scalar(t types.DataType, s string, a *Appender) {
	switch {
	case x.rules.hasNull && s == x.rules.null:
		a.AppendNull()
	case t.Kind == types.String:
		a.AppendBytes([]byte(s))
	case s == "":
		a.AppendNull()
	case !t.IsAtomic() || !x.p.cell(t, []byte(s), a):
		x.bad = true
		a.AppendNull()
	}
}

func buildToXML(c *Call) (Expr, error) {
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
	switch c.Args[0].Type().Kind {
	case types.Struct:
	case types.Null:
		return &Literal{Value: NullLit(tString).Value, Text: text}, nil
	default:
		return nil, WrongType(text, 0, `"STRUCT"`, c.Args[0])
	}
	f, err := newTextFormats(opts, c.Conf)
	if err != nil {
		return nil, err
	}
	w := &xmlWriter{xmlRules: newXMLRules(opts), f: f}
	s := Strict("to_xml", tString, c.Args[:1], text, bytesRows(func(r *row, dst []byte) ([]byte, error) {
		return w.element(dst, w.row, r.args[0], r.i, 0), nil
	}))
	s.Extra = optionsText(opts)
	return s, nil
}

// xmlWriter writes values as elements, each level indented by four blanks.
type xmlWriter struct {
	xmlRules
	f textFormats
}

func indentXML(dst []byte, depth int) []byte {
	if depth > 0 {
		dst = append(dst, '\n')
	}
	for range depth {
		dst = append(dst, "    "...)
	}
	return dst
}

// element writes row i of v under a name; an array is an element for each of its own.
func (w *xmlWriter) element(dst []byte, name string, v *columnar.Vec, i, depth int) []byte {
	if v.IsNull(i) {
		if !w.hasNull || depth == 0 {
			return dst
		}
		dst = append(append(append(indentXML(dst, depth), '<'), name...), '>')
		return append(append(append(append(dst, w.null...), "</"...), name...), '>')
	}
	j := v.Row(i)
	if v.Type.Kind == types.Array {
		for k := v.Off[j]; k < v.Off[j+1]; k++ {
			dst = w.element(dst, name, v.Kids[0], int(k), depth)
		}
		return dst
	}
	dst = append(append(indentXML(dst, depth), '<'), name...)
	nested := false
	switch v.Type.Kind {
	case types.Struct:
		var body []byte
		for k, f := range v.Type.Fields {
			kid := v.Kids[k]
			attribute, isAttr := strings.CutPrefix(f.Name, w.prefix)
			switch {
			case f.Name == w.value:
				if !kid.IsNull(j) {
					body = appendXMLText(body, w.scalar(nil, kid, j), false)
				}
			case isAttr && w.prefix != "" && f.Type.IsAtomic():
				if !kid.IsNull(j) {
					dst = append(append(append(dst, ' '), attribute...), `="`...)
					dst = append(appendXMLText(dst, w.scalar(nil, kid, j), true), '"')
				}
			default:
				n := len(body)
				body = w.element(body, f.Name, kid, j, depth+1)
				nested = nested || len(body) > n
			}
		}
		dst = append(append(dst, '>'), body...)
	case types.Map:
		dst = append(dst, '>')
		for k := v.Off[j]; k < v.Off[j+1]; k++ {
			n := len(dst)
			dst = w.element(dst, string(w.scalar(nil, v.Kids[0], int(k))), v.Kids[1], int(k), depth+1)
			nested = nested || len(dst) > n
		}
	default:
		dst = appendXMLText(append(dst, '>'), w.scalar(nil, v, i), false)
	}
	if nested {
		dst = indentXML(dst, max(depth, 0))
		if depth == 0 {
			dst = append(dst, '\n')
		}
	}
	return append(append(append(dst, "</"...), name...), '>')
}

func (w *xmlWriter) scalar(dst []byte, v *columnar.Vec, i int) []byte {
	if out, ok := w.f.appendTime(dst, v, v.Row(i)); ok {
		return out
	}
	return AppendText(dst, v, v.Row(i), w.f.zone, CastStyle)
}

func appendXMLText(dst, s []byte, attribute bool) []byte {
	for _, c := range s {
		switch {
		case c == '&':
			dst = append(dst, "&amp;"...)
		case c == '<':
			dst = append(dst, "&lt;"...)
		case c == '"' && attribute:
			dst = append(dst, "&quot;"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func buildSchemaOfXML(c *Call) (Expr, error) {
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
	l, err := Const(c.Args[0], c.Conf)
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return nil, nonFoldable(text, "`xml`", `"STRING"`, c.Args[0])
	case l.Value.IsNull(0):
		return nil, errs.New("DATATYPE_MISMATCH.UNEXPECTED_NULL", "sqlExpr", quoted(text), "exprName", "xml")
	case l.Type().Kind != types.String:
		return nil, WrongType(text, 0, `"STRING"`, c.Args[0])
	}
	x := &xmlSchema{xmlRules: newXMLRules(opts), conf: c.Conf, plain: strings.EqualFold(opts["inferschema"], "false")}
	t := types.StructOf()
	if n := parseXML(l.Value.Bytes(0)); n != nil {
		t = x.object(n)
	}
	out := StringLit(t.SQL())
	out.Text = text
	return out, nil
}

// xmlSchema finds the types of elements.
type xmlSchema struct {
	xmlRules
	conf  Conf
	plain bool // every value is a text
}

func (x *xmlSchema) object(n *xmlNode) types.DataType {
	found := map[string]types.DataType{}
	counts := map[string]int{}
	add := func(name string, t types.DataType) {
		if counts[name]++; counts[name] > 1 {
			t = mergeXML(found[name], t)
		}
		found[name] = t
	}
	for _, a := range n.attrs {
		add(x.prefix+xmlName(a.Name), x.text(a.Value))
	}
	for _, k := range n.kids {
		add(k.name, x.element(k))
	}
	if n.text != "" {
		add(x.value, x.text(n.text))
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	var fs []types.Field
	for _, name := range names {
		t := found[name]
		if t.Kind == types.Null {
			t = tString
		}
		if counts[name] > 1 {
			t = types.ArrayOf(t, true)
		}
		fs = append(fs, types.Field{Name: name, Type: t, Nullable: true})
	}
	return types.StructOf(fs...)
}

func (x *xmlSchema) element(n *xmlNode) types.DataType {
	if len(n.kids) > 0 || len(n.attrs) > 0 {
		return x.object(n)
	}
	return x.text(n.text)
}

func (x *xmlSchema) text(s string) types.DataType {
	if x.plain {
		return tString
	}
	if s == "" || x.hasNull && s == x.null {
		return types.Of(types.Null)
	}
	for _, t := range []types.DataType{tBigInt, tDouble, tBoolean, tDate, tTimestamp} {
		if t.Kind == types.Date && len(s) != len("2020-01-02") {
			continue
		}
		if appendParsed(t, []byte(s), x.conf, nil) {
			return t
		}
	}
	return tString
}

// mergeXML is the type of values of two types.
func mergeXML(a, b types.DataType) types.DataType {
	switch {
	case a.Equal(b) || b.Kind == types.Null:
		return a
	case a.Kind == types.Null:
		return b
	case a.IsNumeric() && b.IsNumeric():
		return tDouble
	case a.Kind == types.Struct && b.Kind == types.Struct:
		fields := map[string]types.DataType{}
		for _, fs := range [][]types.Field{a.Fields, b.Fields} {
			for _, f := range fs {
				if t, ok := fields[f.Name]; ok {
					fields[f.Name] = mergeXML(t, f.Type)
				} else {
					fields[f.Name] = f.Type
				}
			}
		}
		var out []types.Field
		for name, t := range fields {
			out = append(out, types.Field{Name: name, Type: t, Nullable: true})
		}
		sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
		return types.StructOf(out...)
	case a.Kind == types.Array && b.Kind == types.Array:
		return types.ArrayOf(mergeXML(*a.Elem, *b.Elem), true)
	}
	return tString
}
