package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/sql/types"
)

// A StateValue is one value of a state row.
type StateValue struct {
	Text string // as show prints it
	JSON string // as it stands in JSON; times are RFC 3339 in UTC
	Null bool
}

// A StateRow is one row of a store as text.
type StateRow struct {
	Key     []byte // encoded, in an order of its own: see KeyPattern
	KeyText string // the key's columns, of a window its start: "2026-01-05 12:40:00, /home"
	KeyJSON string // a JSON array of them: what ParseKey takes
	Values  []StateValue
	Batch   int64 // that last wrote the row; -1 if it is not known
	AtMost  bool  // Batch is an upper bound
	Bytes   int   // of key and values as plain values
}

// rowAt puts the row at a place of an image into words.
func rowAt(m *exec.StateImage, place int, zone *time.Location) StateRow {
	r := StateRow{Key: m.Key(place), Bytes: m.Bytes(place)}
	r.Batch, r.AtMost = m.Batch(place)
	cols, at := m.Columns(), m.Row(place)
	var text, js []byte
	js = append(js, '[')
	for k := range m.Keys {
		if k > 0 {
			text, js = append(text, ", "...), append(js, ',')
		}
		text = appendKeyText(text, &cols[k], at, zone)
		js = appendJSONValue(js, &cols[k], at)
	}
	r.KeyText, r.KeyJSON = string(text), string(append(js, ']'))
	r.Values = make([]StateValue, len(m.Values))
	for k := range m.Values {
		r.Values[k] = valueAt(&cols[len(m.Keys)+k], at, zone)
	}
	return r
}

func valueAt(v *columnar.Vec, i int, zone *time.Location) StateValue {
	return StateValue{Text: string(codec.AppendDisplay(nil, v, i, zone)), JSON: string(appendJSONValue(nil, v, i)), Null: v.IsNull(i)}
}

// appendKeyText prints a column of a key; of a window the start says which it is.
func appendKeyText(dst []byte, v *columnar.Vec, i int, zone *time.Location) []byte {
	if isWindow(v.Type) && !v.IsNull(i) {
		return codec.AppendDisplay(dst, v.Kids[0], v.Row(i), zone)
	}
	return codec.AppendDisplay(dst, v, i, zone)
}

func isWindow(t types.DataType) bool {
	return t.Kind == types.Struct && len(t.Fields) == 2 && t.Fields[0].Name == "start" && t.Fields[1].Name == "end"
}

// keyNames names the columns of a key as rowAt prints them.
func keyNames(keys types.Schema) []string {
	var out []string
	for _, f := range keys {
		n := f.Name
		if isWindow(f.Type) {
			n += "_start"
		}
		out = append(out, n)
	}
	return out
}

func appendJSONValue(dst []byte, v *columnar.Vec, i int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	at := v.Row(i)
	switch t := v.Type; t.Kind {
	case types.Boolean, types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Decimal:
		return codec.AppendDisplay(dst, v, i, time.UTC)
	case types.Float, types.Double:
		text := codec.AppendDisplay(nil, v, i, time.UTC)
		if json.Valid(text) {
			return append(dst, text...)
		}
		return codec.AppendJSONText(dst, text) // NaN, Infinity
	case types.Timestamp:
		return time.UnixMicro(v.I64[at]).UTC().AppendFormat(append(dst, '"'), `2006-01-02T15:04:05.999999Z"`)
	case types.Struct:
		dst = append(dst, '{')
		for k, f := range t.Fields {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(codec.AppendJSONText(dst, []byte(f.Name)), ':')
			dst = appendJSONValue(dst, v.Kids[k], at)
		}
		return append(dst, '}')
	case types.Array:
		dst = append(dst, '[')
		for j := v.Off[at]; j < v.Off[at+1]; j++ {
			if j > v.Off[at] {
				dst = append(dst, ',')
			}
			dst = appendJSONValue(dst, v.Kids[0], int(j))
		}
		return append(dst, ']')
	}
	return codec.AppendJSONText(dst, codec.AppendDisplay(nil, v, i, time.UTC))
}

// A KeyPattern picks rows by the first columns of their keys.
type KeyPattern struct {
	cols  [][]byte // what the encoding of each column must be
	begin []bool   // or only begin with
}

// Matches reports whether the key of a row fits.
func (p KeyPattern) matches(m *exec.StateImage, place int, buf *[]byte) bool {
	cols, at := m.Columns(), m.Row(place)
	for k, want := range p.cols {
		b := exec.AppendKey((*buf)[:0], &cols[k], at)
		*buf = b
		if !bytes.HasPrefix(b, want) || !p.begin[k] && len(b) != len(want) {
			return false
		}
	}
	return true
}

// prefix is what the encodings of all keys that match begin with: the columns up to the first that is not
// given whole.
func (p KeyPattern) prefix() []byte {
	var b []byte
	for k, c := range p.cols {
		b = append(b, c...)
		if p.begin[k] {
			break
		}
	}
	return b
}

// ParseKey reads a key, or the beginning of one: a JSON array of its first columns, such as
// ["2026-01-05T12:40:00Z","/home"]. Texts are cast as SQL casts them. A window is its start, a list of start
// and end, or an object. A whole key may also be written as it is displayed, its columns divided by commas. With open the array need not be finished, and a last text that is not finished
// stands for all that begin with it. Errors: STATE_KEY_MALFORMED.
func (s *Session) ParseKey(keys types.Schema, text string, open bool) (KeyPattern, error) {
	var p KeyPattern
	malformed := func(problem string) error {
		return errs.New("STATE_KEY_MALFORMED", "key", text, "problem", problem, "columns", strings.Join(keyNames(keys), ", "))
	}
	values, unfinished, err := jsonArray(text, open)
	if err != nil && !open && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		values, err = displayedKey(text, len(keys)), nil
	}
	if err != nil {
		return p, malformed(err.Error())
	}
	if len(values) > len(keys) {
		return p, malformed("it has more values than the key has columns")
	}
	for k, x := range values {
		last := unfinished && k == len(values)-1
		enc, whole, err := s.encodeKeyValue(keys[k].Type, x)
		if err != nil {
			return p, malformed(keys[k].Name + ": " + err.Error())
		}
		if last {
			if keys[k].Type.Kind != types.String {
				return p, malformed("only a text can be begun")
			}
			enc, whole = enc[:len(enc)-2], false
		}
		p.cols, p.begin = append(p.cols, enc), append(p.begin, !whole)
	}
	return p, nil
}

// displayedKey takes a displayed key of at most n columns apart. The last column takes commas that are left over:
// where texts hold commas, only JSON tells columns apart.
func displayedKey(text string, n int) []any {
	var out []any
	for _, t := range strings.SplitN(text, ",", max(n, 1)) {
		if len(out) > 0 {
			t = strings.TrimPrefix(t, " ")
		}
		out = append(out, t)
	}
	return out
}

// encodeKeyValue encodes a value of JSON as one of a type; whole is false if it is the first fields of a
// struct only.
func (s *Session) encodeKeyValue(t types.DataType, x any) (enc []byte, whole bool, err error) {
	if t.Kind != types.Struct || x == nil {
		enc, err = s.encodeAs(t, x)
		return enc, true, err
	}
	var fields []any
	switch x := x.(type) {
	case []any:
		fields = x
	case map[string]any:
		for _, f := range t.Fields {
			v, ok := x[f.Name]
			if !ok {
				break
			}
			fields = append(fields, v)
		}
	default:
		fields = []any{x}
	}
	if len(fields) > len(t.Fields) {
		return nil, false, errors.New("it has too many fields")
	}
	enc = []byte{1}
	for k, v := range fields {
		e, whole, err := s.encodeKeyValue(t.Fields[k].Type, v)
		if err != nil {
			return nil, false, err
		}
		if enc = append(enc, e...); !whole {
			return enc, false, nil
		}
	}
	return enc, len(fields) == len(t.Fields), nil
}

func (s *Session) encodeAs(t types.DataType, x any) ([]byte, error) {
	schema := types.Schema{{Name: "v", Type: t, Nullable: true}}
	rb, err := s.InlineRows(schema, [][]any{{x}})
	if err != nil {
		return nil, err
	}
	v := columnar.Vectors(rb, schema)
	if x != nil && v[0].IsNull(0) {
		return nil, errors.New("it is no " + t.Simple())
	}
	return exec.AppendKey(nil, &v[0], 0), nil
}

// jsonArray reads an array. With open it may end anywhere; unfinished says that it ends within a text, of
// which the last value is what is there.
func jsonArray(text string, open bool) (values []any, unfinished bool, err error) {
	decode := func(text string) (out []any, err error) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err = d.Decode(&out); err != nil {
			return nil, err
		}
		if _, err := d.Token(); err != io.EOF {
			return nil, errors.New("something follows the array")
		}
		return out, nil
	}
	values, err = decode(text)
	if err == nil || !open {
		if err != nil {
			err = errors.New("it is no JSON array")
		}
		return values, false, err
	}
	trimmed := strings.TrimRight(text, " ,")
	if values, err := decode(trimmed + "]"); err == nil {
		return values, false, nil
	}
	if values, err := decode(text + `"]`); err == nil {
		return values, true, nil
	}
	return nil, false, errors.New("it is no beginning of a JSON array")
}
