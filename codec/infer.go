package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sort"
	"strconv"
	"strings"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// Inferrer looks at records and says which columns they have: JSON objects, or CSV lines with or without a
// header. It belongs to one goroutine.
type Inferrer struct {
	s        Settings
	r        *Reader
	csv      *csvDecoder
	header   []string
	kinds    []types.DataType // CSV, by position; Null: nothing seen
	root     types.DataType   // JSON
	corrupt  bool
	infer    bool // CSV: look at values
	asString bool // JSON: primitivesAsString
	decimals bool // JSON: prefersDecimal, of texts too
	times    bool // JSON: inferTimestamp
	clock    *Clock
	dates    bool // CSV: preferDate
	any      bool
}

// NewInferrer makes an Inferrer for "json", "csv" or "text".
func NewInferrer(s Settings) (*Inferrer, error) {
	r, err := NewReader(s, types.Schema{}, nil)
	if err != nil {
		return nil, err
	}
	n := &Inferrer{s: s, r: r, root: types.StructOf()}
	n.infer = s.flag("inferSchema", false, &err)
	if v := s.text("samplingRatio", "1"); err == nil {
		if share, bad := strconv.ParseFloat(v, 64); bad != nil || share <= 0 {
			err = invalid("samplingRatio", v, "must be greater than 0")
		}
	}
	n.dates = s.flag("preferDate", true, &err)
	n.asString = s.flag("primitivesAsString", false, &err)
	n.decimals = s.flag("prefersDecimal", false, &err)
	n.times = s.Format == "json" && s.flag("inferTimestamp", false, &err)
	n.clock = NewClock(s.Zone, s.Now)
	if s.Format == "csv" {
		n.csv = newCSVDecoder(rowsOf{r: r, clock: NewClock(s.Zone, s.Now)})
	}
	return n, err
}

// Reader gives the reader whose Read feeds this Inferrer.
func (n *Inferrer) Reader() *Reader { return n.r }

// Begin is called before the first record of a file.
func (n *Inferrer) Begin(_ string, first bool) {
	if n.csv != nil {
		n.csv.Begin("", first)
	}
}

// Rows is 0: an Inferrer keeps no rows.
func (n *Inferrer) Rows() int { return 0 }

// Record looks at one record.
func (n *Inferrer) Record(rec []byte) error {
	switch n.s.Format {
	case "csv":
		if n.csv.blank(rec) {
			return nil
		}
		n.csv.split(rec, 0, false)
		n.csvRecord()
	case "json":
		n.jsonRecord(rec)
	}
	return nil
}

// TooLong looks at the beginning of a record that is too long: of JSON it is malformed.
func (n *Inferrer) TooLong(start []byte, _ error) error {
	if n.s.Format == "json" {
		n.jsonRecord(start)
	}
	return nil
}

// Document looks at a file that is one text.
func (n *Inferrer) Document(text []byte) error {
	if n.s.Format != "csv" {
		return n.Record(text)
	}
	text = oneLineEnd(text)
	for i := 0; i < len(text); {
		line, _, _ := bytes.Cut(text[i:], []byte{'\n'})
		if n.csv.blank(line) {
			i += len(line) + 1
			continue
		}
		i = n.csv.split(text, i, true)
		n.csvRecord()
	}
	return nil
}

func (n *Inferrer) csvRecord() {
	toks := n.csv.tokens
	if n.csv.header {
		n.csv.header = false
		if n.header == nil {
			for _, t := range toks {
				n.header = append(n.header, string(t.text))
			}
			n.kinds = make([]types.DataType, len(toks))
		}
		n.any = true
		return
	}
	n.any = true
	if n.kinds == nil {
		n.kinds = make([]types.DataType, len(toks))
	}
	if !n.infer {
		return
	}
	for i, t := range toks {
		if i < len(n.kinds) {
			n.kinds[i] = n.csvKind(n.kinds[i], t)
		}
	}
}

// csvKind widens what was seen of a column by one more field.
func (n *Inferrer) csvKind(have types.DataType, t token) types.DataType {
	s := t.text
	if len(s) == 0 || string(s) == n.r.csv.null || have.Kind == types.String {
		return have
	}
	got := types.Of(types.String)
	if v, ok := parseInt(s); ok {
		got = types.Of(types.Int)
		if v != int64(int32(v)) {
			got = types.Of(types.BigInt)
		}
	} else if digits := bytes.Trim(s, "+-"); len(digits) > 0 && len(digits) <= 38 && allDigits(digits) {
		got = types.DecimalOf(int32(len(digits)), 0)
	} else if _, ok := n.csv.float(s, 64); ok {
		got = types.Of(types.Double)
	} else if n.dates && n.isDate(s) {
		got = types.Of(types.Date)
	} else if n.isTimestamp(s) {
		got = types.Of(types.Timestamp)
	} else if strings.EqualFold(string(s), "true") || strings.EqualFold(string(s), "false") {
		got = types.Of(types.Boolean)
	}
	return widen(have, got)
}

func allDigits(s []byte) bool {
	for _, c := range s {
		if c-'0' > 9 {
			return false
		}
	}
	return true
}

func (n *Inferrer) isDate(s []byte) bool {
	if n.r.dateFormat != nil {
		_, ok := n.r.dateFormat.Date(s)
		return ok
	}
	if len(s) != 10 || s[4] != '-' {
		return false
	}
	_, ok := ParseDate(s)
	return ok
}

func (n *Inferrer) isTimestamp(s []byte) bool {
	if n.r.tsFormat != nil {
		_, ok := n.r.tsFormat.Timestamp(s, n.clock)
		return ok
	}
	_, ok := n.clock.ParseTimestamp(s)
	return ok
}

// widen gives the narrowest type that holds both.
func widen(a, b types.DataType) types.DataType {
	if a.Kind == types.Null {
		return b
	}
	if b.Kind == types.Null || a.Equal(b) {
		return a
	}
	text := types.Of(types.String)
	switch {
	case a.Kind == types.Struct && b.Kind == types.Struct:
		return mergeStructs(a, b)
	case a.Kind == types.Array && b.Kind == types.Array:
		return types.ArrayOf(widen(*a.Elem, *b.Elem), true)
	case a.IsNumeric() && b.IsNumeric():
		if a.IsFractional() || b.IsFractional() {
			return types.Of(types.Double)
		}
		if a.Kind == types.Decimal || b.Kind == types.Decimal {
			x, y := asDecimal(a), asDecimal(b)
			scale := max(x.Scale, y.Scale)
			p := max(x.Precision-x.Scale, y.Precision-y.Scale) + scale
			if p > 38 {
				return types.Of(types.Double)
			}
			return types.DecimalOf(p, scale)
		}
		return types.Of(types.BigInt)
	case a.IsDatetime() && b.IsDatetime():
		return types.Of(types.Timestamp)
	}
	return text
}

func asDecimal(t types.DataType) types.DataType {
	switch t.Kind {
	case types.Int:
		return types.DecimalOf(10, 0)
	case types.BigInt:
		return types.DecimalOf(20, 0)
	}
	return t
}

func mergeStructs(a, b types.DataType) types.DataType {
	fs := append([]types.Field(nil), a.Fields...)
	for _, f := range b.Fields {
		i := types.Schema(fs).Names()
		found := false
		for k, name := range i {
			if name == f.Name {
				fs[k].Type = widen(fs[k].Type, f.Type)
				found = true
			}
		}
		if !found {
			fs = append(fs, f)
		}
	}
	sort.SliceStable(fs, func(i, j int) bool { return fs[i].Name < fs[j].Name })
	return types.StructOf(fs...)
}

func (n *Inferrer) jsonRecord(rec []byte) {
	if len(bytes.TrimSpace(rec)) == 0 {
		return
	}
	n.any = true
	dec := json.NewDecoder(bytes.NewReader(rec))
	dec.UseNumber()
	t, err := n.jsonType(dec, 0)
	if t.Kind == types.Array && t.Elem.Kind == types.Struct {
		t = *t.Elem
	}
	if err != nil || t.Kind != types.Struct {
		n.corrupt = true
		return
	}
	n.root = mergeStructs(n.root, t)
}

// jsonType reads one value and says its type.
func (n *Inferrer) jsonType(dec *json.Decoder, deep int) (types.DataType, error) {
	if deep > maxDepth {
		return types.DataType{}, errors.New("nested too deeply")
	}
	tok, err := dec.Token()
	if err != nil {
		return types.DataType{}, err
	}
	prim := func(t types.DataType) (types.DataType, error) {
		if n.asString {
			return types.Of(types.String), nil
		}
		return t, nil
	}
	switch v := tok.(type) {
	case json.Delim:
		if v == '[' {
			elem := types.Of(types.Null)
			for dec.More() {
				t, err := n.jsonType(dec, deep+1)
				if err != nil {
					return t, err
				}
				elem = widen(elem, t)
			}
			_, err := dec.Token()
			return types.ArrayOf(elem, true), err
		}
		if v != '{' {
			return types.DataType{}, errors.New("unexpected " + v.String())
		}
		st := types.StructOf()
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return st, err
			}
			name, ok := key.(string)
			if !ok {
				return st, io.ErrUnexpectedEOF
			}
			t, err := n.jsonType(dec, deep+1)
			if err != nil {
				return st, err
			}
			st = mergeStructs(st, types.StructOf(types.Field{Name: name, Type: t, Nullable: true}))
		}
		_, err := dec.Token()
		return st, err
	case bool:
		return prim(types.Of(types.Boolean))
	case json.Number:
		text := v.String()
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return prim(types.Of(types.BigInt))
		}
		if digits := strings.TrimPrefix(text, "-"); allDigits([]byte(digits)) && len(digits) <= 38 {
			return prim(types.DecimalOf(int32(len(digits)), 0))
		}
		if whole, fraction, ok := strings.Cut(strings.TrimPrefix(text, "-"), "."); ok && n.decimals && allDigits([]byte(whole+fraction)) {
			if p := len(strings.TrimLeft(whole, "0")) + len(fraction); p <= 38 {
				return prim(types.DecimalOf(int32(max(p, len(fraction))), int32(len(fraction))))
			}
		}
		return prim(types.Of(types.Double))
	case nil:
		return types.Of(types.Null), nil
	case string:
		if t, ok := decimalText(v); ok && n.decimals {
			return t, nil
		}
		if n.times && n.isTimestamp([]byte(v)) {
			return types.Of(types.Timestamp), nil
		}
	}
	return types.Of(types.String), nil
}

// decimalText is the type of a text that is a number of digits, groups of which may be parted by commas.
func decimalText(s string) (types.DataType, bool) {
	s = strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+"), ",", "")
	whole, fraction, _ := strings.Cut(s, ".")
	if whole+fraction == "" || !allDigits([]byte(whole+fraction)) {
		return types.DataType{}, false
	}
	p := max(len(strings.TrimLeft(whole, "0"))+len(fraction), len(fraction), 1)
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		p = max(len(strings.TrimLeft(fraction, "0")), len(fraction), 1)
	}
	return types.DecimalOf(int32(p), int32(len(fraction))), p <= 38
}

// Schema is what was found; nil if there was nothing to look at.
func (n *Inferrer) Schema() types.Schema {
	var s types.Schema
	switch n.s.Format {
	case "text":
		return types.Schema{{Name: "value", Type: types.Of(types.String), Nullable: true}}
	case "csv":
		if !n.any {
			return nil
		}
		seen := map[string]int{}
		for _, h := range n.header {
			seen[strings.ToLower(h)]++
		}
		for i, t := range n.kinds {
			name := "_c" + strconv.Itoa(i)
			if i < len(n.header) && n.header[i] != "" {
				name = n.header[i]
				if seen[strings.ToLower(name)] > 1 {
					name += strconv.Itoa(i)
				}
			}
			if t.Kind == types.Null || !n.infer {
				t = types.Of(types.String)
			}
			s = append(s, types.Field{Name: name, Type: t, Nullable: true})
		}
		return s
	}
	if !n.any {
		return nil
	}
	if n.corrupt && n.r.mode == Permissive {
		name := n.s.text("columnNameOfCorruptRecord", n.s.conf("spark.sql.columnNameOfCorruptRecord"))
		if name == "" {
			name = "_corrupt_record"
		}
		n.root = mergeStructs(n.root, types.StructOf(types.Field{Name: name, Type: types.Of(types.String), Nullable: true}))
	}
	return settle(types.Schema(n.root.Fields))
}

// settle makes what had only nulls a STRING and leaves out what had no fields.
func settle(s types.Schema) types.Schema {
	out := s[:0]
	for _, f := range s {
		if t, ok := settleType(f.Type); ok {
			f.Type = t
			out = append(out, f)
		}
	}
	return out
}

func settleType(t types.DataType) (types.DataType, bool) {
	switch t.Kind {
	case types.Null:
		return types.Of(types.String), true
	case types.Array:
		e, ok := settleType(*t.Elem)
		return types.ArrayOf(e, true), ok
	case types.Struct:
		fs := settle(types.Schema(t.Fields))
		return types.StructOf(fs...), len(fs) > 0
	}
	return t, true
}

// Take gives nothing.
func (n *Inferrer) Take() []*columnar.Vec { return nil }

// Lend gives nothing.
func (n *Inferrer) Lend() []*columnar.Vec { return nil }

// Reuse does nothing.
func (n *Inferrer) Reuse() {}

// Malformed counts nothing.
func (n *Inferrer) Malformed() (all, dropped int64) { return 0, 0 }
