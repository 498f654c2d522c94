package codec

import (
	"bytes"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

type jsonOptions struct {
	singleQuotes, nonNumeric, unquotedNames, leadingZeros, anyEscape, controlChars, comments bool
}

func (r *Reader) jsonSetup(err *error) {
	o := &r.json
	o.singleQuotes = r.flag("allowSingleQuotes", true, err)
	o.nonNumeric = r.flag("allowNonNumericNumbers", true, err)
	o.unquotedNames = r.flag("allowUnquotedFieldNames", false, err)
	o.leadingZeros = r.flag("allowNumericLeadingZeros", false, err) || r.flag("allowNumericLeadingZero", false, err)
	o.anyEscape = r.flag("allowBackslashEscapingAnyCharacter", false, err)
	o.controlChars = r.flag("allowUnquotedControlChars", false, err)
	o.comments = r.flag("allowComments", false, err)
}

// A verdict says how a value fitted.
type verdict uint8

const (
	fits    verdict = iota
	partial         // a part that can be null on its own did not fit
	misfit          // the value did not fit and is null
	broken          // not JSON
)

type jsonDecoder struct {
	rowsOf
	plan *objectPlan
	s    []byte
	i    int
	buf  []byte // unescaped texts
	fail error  // FAILFAST: what was wrong with the first bad field
	deep int

	crossed bool       // space has passed over a line end
	misses  int        // records in a row that Run could not read
	padded  bool       // s has pad zeros behind its end
	plainly *PlainJSON // set: groups take only what it takes, and it reads what is not in the common form

	together jsonGroup
}

const maxDepth = 512

func (d *jsonDecoder) forgetPart() {
	d.rowsOf.forgetPart()
	d.s, d.fail, d.misses = nil, nil, 0
}

func newJSONDecoder(rows rowsOf) *jsonDecoder {
	return &jsonDecoder{rowsOf: rows, plan: newObjectPlan(rows.cols, rows.r.corrupt)}
}

func (d *jsonDecoder) Record(rec []byte) error {
	d.s, d.i = rec, 0
	d.space()
	if d.i == len(rec) {
		return nil
	}
	return d.top(rec)
}

// Document reads the first value of a text.
func (d *jsonDecoder) Document(text []byte) error { return d.Record(text) }

func (d *jsonDecoder) top(rec []byte) error {
	d.room()
	d.fail, d.deep = nil, 0
	switch d.s[d.i] {
	case '{':
		d.i++
		v := d.object(d.plan, d.cols, d.row)
		if v == fits {
			d.row++
			return nil
		}
		return d.bad(rec, v == broken, d.cause(rec))
	case '[':
		d.i++
		first := d.row
		more := d.elements(first)
		if more == nil {
			return nil
		}
		// Not an array of objects: the record is one bad row, whatever was read of it.
		for d.row > first {
			for _, c := range d.cols {
				if d.row < d.cap {
					c.forget(d.row)
				}
			}
			d.row--
		}
		for _, c := range d.cols {
			c.forget(d.row)
		}
		return d.bad(rec, true, more)
	}
	return d.bad(rec, true, d.cause(rec))
}

// elements reads the objects of an array, one row each; nil if all was well. A partial row stays, as a bad
// record of its own.
func (d *jsonDecoder) elements(first int) error {
	d.space()
	if d.i < len(d.s) && d.s[d.i] == ']' {
		return nil
	}
	for {
		d.space()
		if d.i >= len(d.s) || d.s[d.i] != '{' {
			return d.cause(d.s)
		}
		d.i++
		d.room()
		switch v := d.object(d.plan, d.cols, d.row); v {
		case fits:
			d.row++
		case broken:
			return d.cause(d.s)
		default:
			if err := d.bad(d.s, false, d.cause(d.s)); err != nil {
				return err
			}
		}
		d.space()
		if d.i >= len(d.s) {
			return d.cause(d.s)
		}
		switch d.s[d.i] {
		case ',':
			d.i++
		case ']':
			return nil
		default:
			return d.cause(d.s)
		}
	}
}

func (d *jsonDecoder) cause(rec []byte) error {
	if d.fail != nil {
		return d.fail
	}
	return errs.New("CANNOT_PARSE_JSON_FIELD", "fieldName", "", "fieldValue", string(rec[:min(len(rec), 200)]), "jsonType", "record",
		"dataType", `"STRUCT"`)
}

func (d *jsonDecoder) space() {
	s, i := d.s, d.i
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\r' || s[i] == '\n') {
		if s[i] < ' ' && s[i] != '\t' {
			d.crossed = true
		}
		i++
	}
	d.i = i
	if d.r.json.comments && i < len(s) && s[i] == '/' {
		d.comment()
	}
}

func (d *jsonDecoder) comment() {
	rest := d.s[d.i:]
	switch {
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			d.i += n + 4
			d.space()
		}
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			d.i += n + 1
		} else {
			d.i = len(d.s)
		}
		d.space()
	}
}

// object reads the fields behind '{' into row r of kids.
func (d *jsonDecoder) object(plan *objectPlan, kids []*column, r int) verdict {
	if d.deep++; d.deep > maxDepth {
		return broken
	}
	v := d.fields(plan, kids, r)
	d.deep--
	return v
}

func (d *jsonDecoder) fields(plan *objectPlan, kids []*column, r int) verdict {
	from, k := d.i, 0
	if d.padded {
		var v verdict
		if k, v = d.steps(plan, r); v != fits {
			if v == broken {
				return broken
			}
			return max(partial, d.members(plan, kids, r, k, from))
		}
	}
	s := d.s
	if k == 0 {
		if d.i < len(s) && s[d.i] != '"' {
			d.space()
		}
		if d.i < len(s) && s[d.i] == '}' {
			d.i++
			return fits
		}
	} else if d.i < len(s) && s[d.i] == '}' {
		d.i++
		plan.whole(k)
		return fits
	}
	return d.members(plan, kids, r, k, from)
}

// members reads fields k and on of an object, from the name of field 0 or from what follows the value of field
// k-1. from is where the text before the name begins.
func (d *jsonDecoder) members(plan *objectPlan, kids []*column, r, k, from int) verdict {
	s := d.s
	all := fits
	for ; ; k++ {
		if k > 0 {
			from = d.i
			if d.i >= len(s) || s[d.i] != ',' {
				d.space()
				if d.i >= len(s) {
					return broken
				}
				if s[d.i] == '}' {
					d.i++
					return all
				}
				if s[d.i] != ',' {
					return broken
				}
			}
			d.i++
			if d.i < len(s) && (s[d.i] <= ' ' || d.r.json.comments) {
				d.space()
			}
		}
		child, known := -1, false
		for n := k; n < len(plan.guess) && n <= k+mostLeftOut; n++ {
			if g := &plan.guess[n]; g.at(s, d.i) {
				d.i += len(g.key)
				k, child, known = n, g.child, true
				break
			}
		}
		start := d.i
		if !known {
			name, ok := d.key()
			if !ok {
				return broken
			}
			if c, is := plan.byName[string(name)]; is {
				child = c
			}
			text := s[start:d.i]
			if len(text) != len(name)+3 || text[0] != '"' {
				known = true // not written plainly
			}
		}
		if d.i < len(s) && s[d.i] <= ' ' || d.r.json.comments {
			d.space()
		}
		if !known {
			plan.learn(kids, k, child, s[from:d.i], start-from)
		}
		var v verdict
		if child < 0 {
			v = d.skip()
		} else {
			v = d.value(kids[child], r)
		}
		if v != fits {
			if v == broken {
				return broken
			}
			all = partial
		}
	}
}

// key reads a name and its colon. The result aliases the record or d.buf.
func (d *jsonDecoder) key() ([]byte, bool) {
	d.space()
	if d.i >= len(d.s) {
		return nil, false
	}
	var name []byte
	switch c := d.s[d.i]; {
	case c == '"' || c == '\'' && d.r.json.singleQuotes:
		var ok bool
		if name, ok = d.str(); !ok {
			return nil, false
		}
	case d.r.json.unquotedNames && (c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80):
		start := d.i
		for d.i < len(d.s) {
			c := d.s[d.i]
			if !(c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80) {
				break
			}
			d.i++
		}
		name = d.s[start:d.i]
	default:
		return nil, false
	}
	if d.i < len(d.s) && d.s[d.i] != ':' {
		d.space()
	}
	if d.i >= len(d.s) || d.s[d.i] != ':' {
		return nil, false
	}
	d.i++
	return name, true
}

// list reads the elements behind '[' into a list column.
func (d *jsonDecoder) list(c *column, r int) verdict {
	if d.deep++; d.deep > maxDepth {
		return broken
	}
	defer func() { d.deep-- }()
	c.begin(r)
	kid := c.kids[0]
	start := kid.n
	all := fits
	d.space()
	if d.i < len(d.s) && d.s[d.i] == ']' {
		d.i++
		c.finish(r)
		return fits
	}
	for {
		d.space()
		var v verdict
		if all == misfit {
			v = d.skip()
		} else {
			v = d.value(kid, kid.next())
		}
		switch v {
		case broken:
			return broken
		case misfit:
			all = misfit
		case partial:
			all = max(all, partial)
		}
		d.space()
		if d.i >= len(d.s) {
			return broken
		}
		switch d.s[d.i] {
		case ',':
			d.i++
		case ']':
			d.i++
			if all == misfit { // one element that does not fit makes the whole array null
				c.truncate(start)
				c.setNull(r)
				return misfit
			}
			c.finish(r)
			return all
		default:
			return broken
		}
	}
}

// mapping reads the entries behind '{' into a map column; of equal keys the last one counts.
func (d *jsonDecoder) mapping(c *column, r int) verdict {
	if d.deep++; d.deep > maxDepth {
		return broken
	}
	defer func() { d.deep-- }()
	c.begin(r)
	keys, vals := c.kids[0], c.kids[1]
	start := keys.n
	all := fits
	var seen map[string]int // keys of a big map
	d.space()
	if d.i < len(d.s) && d.s[d.i] == '}' {
		d.i++
		c.finish(r)
		return fits
	}
	for {
		name, ok := d.key()
		if !ok {
			return broken
		}
		d.space()
		v := misfit
		if all == misfit {
			if d.skip() == broken {
				return broken
			}
		} else {
			if k := findKey(keys, start, name, &seen); k >= 0 {
				c.drop(k)
				seen = nil
			}
			k := keys.next()
			keys.setBytes(k, name)
			v = d.value(vals, vals.next())
		}
		switch v {
		case broken:
			return broken
		case misfit:
			all = misfit
		case partial:
			all = max(all, partial)
		}
		d.space()
		if d.i >= len(d.s) {
			return broken
		}
		switch d.s[d.i] {
		case ',':
			d.i++
		case '}':
			d.i++
			if all == misfit {
				c.truncate(start)
				c.setNull(r)
				return misfit
			}
			c.finish(r)
			return all
		default:
			return broken
		}
	}
}

// findKey finds an equal key among those from start on, -1 if there is none. Big maps get an index, so that
// their cost stays in proportion.
func findKey(keys *column, start int, name []byte, seen *map[string]int) int {
	at := func(k int) []byte { return keys.data[keys.off[k]:keys.off[k+1]] }
	if keys.n-start < 64 {
		for k := start; k < keys.n; k++ {
			if string(at(k)) == string(name) {
				return k
			}
		}
		return -1
	}
	if *seen == nil {
		*seen = map[string]int{}
		for k := start; k < keys.n; k++ {
			(*seen)[string(at(k))] = k
		}
	}
	if k, ok := (*seen)[string(name)]; ok {
		return k
	}
	(*seen)[string(name)] = keys.n // where it will stand
	return -1
}

// drop removes entry k of a map by gathering the children without it. Equal keys are rare.
func (c *column) drop(k int) {
	for _, kid := range c.kids {
		n := kid.n
		v := kid.take(n)
		idx := make([]int32, 0, n)
		for i := range n {
			if i != k {
				idx = append(idx, int32(i))
			}
		}
		var g columnar.Vec
		columnar.GatherIdx(&g, v, idx)
		kid.adopt(&g)
	}
}

// adopt continues a column from the rows of v, which it takes over.
func (c *column) adopt(v *columnar.Vec) {
	n := v.Len
	c.grow(max(64, 2*n))
	for r := range n {
		if !v.IsNull(r) {
			c.set(r)
		}
	}
	copy(c.bits, v.Bits)
	copy(c.i8, v.I8)
	copy(c.i16, v.I16)
	copy(c.i32, v.I32)
	copy(c.i64, v.I64)
	copy(c.f32, v.F32)
	copy(c.f64, v.F64)
	copy(c.dec, v.Dec)
	if v.Phys == columnar.PBytes || v.Phys == columnar.PList || v.Phys == columnar.PMap {
		copy(c.off, v.Off)
		c.filled = n
		c.data = append(c.data[:0], v.Data...)
	}
	for i, k := range v.Kids {
		c.kids[i].adopt(k)
	}
	c.n = n
}

// nested keeps an object or array as its text, for a column of texts.
func (d *jsonDecoder) nested(c *column, r int) verdict {
	start := d.i
	if v := d.skip(); v != fits {
		return v
	}
	c.setBytes(r, d.s[start:d.i])
	return fits
}

// misfits notes why a field did not fit, for FAILFAST only, and makes it null.
func (d *jsonDecoder) misfits(c *column, r, start int) verdict {
	c.setNull(r)
	if d.r.mode == FailFast && d.fail == nil {
		kind := "VALUE_STRING"
		switch b := d.s[start]; {
		case b == '{':
			kind = "START_OBJECT"
		case b == '[':
			kind = "START_ARRAY"
		case b == 't':
			kind = "VALUE_TRUE"
		case b == 'f':
			kind = "VALUE_FALSE"
		case b != '"' && b != '\'':
			kind = "VALUE_NUMBER_INT"
			if bytes.ContainsAny(d.s[start:d.i], ".eENI") {
				kind = "VALUE_NUMBER_FLOAT"
			}
		}
		text := d.s[start:d.i]
		if kind == "VALUE_STRING" && len(text) > 1 {
			text = text[1 : len(text)-1]
		}
		d.fail = errs.New("CANNOT_PARSE_JSON_FIELD", "fieldName", types.Quote(c.name), "fieldValue", string(text), "jsonType", kind,
			"dataType", `"`+c.t.SQL()+`"`)
	}
	return misfit
}
