package codec

import (
	"streamlab/columnar"
	"streamlab/sql/types"
)

// A JSONTexts reads the texts of a column as a PlainJSON does, which it holds for single ones, and many of them that are
// written alike as a group, field by field. It accepts what a PlainJSON accepts, gives the same values, and says as
// little of everything else.
//
// It belongs to one goroutine.
type JSONTexts struct {
	Plain   *PlainJSON
	d       *jsonDecoder
	buf     []byte // texts, each with a line end behind it, and pad zeros
	ends    [mostGroup]int
	shown   columnar.Vec
	lesson  bool // the next text shows how texts are written
	lessons int  // since a group was read
}

// mostLessons bounds how often it is looked at how texts are written, where that never helps.
const mostLessons = 64

// NewJSONTexts is NewPlainJSON, and nil where that is.
func NewJSONTexts(fields []types.Field) *JSONTexts {
	plain := NewPlainJSON(fields)
	if plain == nil {
		return nil
	}
	r, err := NewReader(Settings{Format: "json"}, types.Schema(fields), nil)
	if err != nil {
		return nil
	}
	d, ok := r.NewDecoder().(*jsonDecoder)
	if !ok || len(d.cols) != len(fields) {
		return nil
	}
	d.plainly = plain
	return &JSONTexts{Plain: plain, d: d}
}

// Read reads texts of the selected rows, from the one at position from on, and says how many: Column has their values
// until Done. If it is none, the text is to be read by One.
func (t *JSONTexts) Read(texts *columnar.Vec, sel columnar.Sel, from int) (n int) {
	d, g := t.d, &t.d.together
	want := min(max(g.size, leastGroup), sel.N-from)
	switch {
	case g.alone > 0:
		g.alone--
		return 0
	case d.plan.usual == 0:
		t.lesson = true
		return 0
	case want < leastGroup:
		return 0
	}
	t.buf = t.buf[:0]
	for n < want {
		s := texts.Bytes(sel.At(from + n))
		if len(t.buf)+len(s) >= groupBytes {
			break
		}
		t.buf = append(append(t.buf, s...), '\n')
		t.ends[n] = len(t.buf)
		n++
	}
	t.padded()
	end := d.group(0, len(d.s), n)
	if n = d.row; n == 0 {
		t.lesson = g.alone != leastGroup // else they only were too few
		return 0
	}
	if end != t.ends[n-1] { // a text holds a line end
		t.Done()
		g.alone = aloneFor
		return 0
	}
	t.lessons = 0
	return n
}

// padded makes buf what the decoder reads.
func (t *JSONTexts) padded() {
	n := len(t.buf)
	t.buf = append(t.buf, make([]byte, pad)...)
	t.d.s = t.buf[:n]
}

// Column is a field of the texts that Read has read, one row each. Of nulls only that they are null is to be used. It is
// valid until the next call.
func (t *JSONTexts) Column(f int) *columnar.Vec {
	t.d.cols[f].show(&t.shown, t.d.row)
	return &t.shown
}

// Done ends what Column shows.
func (t *JSONTexts) Done() {
	for _, c := range t.d.cols {
		c.reuse(t.d.row)
	}
	t.d.row = 0
}

// One reads a text into Plain.Values, as PlainJSON.Read does.
func (t *JSONTexts) One(s []byte) (ok bool) {
	ok = t.Plain.Read(s)
	if !t.lesson || !ok {
		return ok
	}
	if t.lesson = false; t.lessons < mostLessons {
		t.lessons++
		t.learn(s)
	}
	return ok
}

// learn reads a text for the sake of the plan alone.
func (t *JSONTexts) learn(s []byte) {
	d := t.d
	d.room()
	t.buf = append(append(t.buf[:0], s...), '\n')
	t.padded()
	plainly := d.plainly
	d.plainly, d.padded = nil, true
	d.i, d.fail, d.deep, d.crossed = 1, nil, 0, false
	d.object(d.plan, d.cols, 0)
	for _, c := range d.cols {
		c.forget(0)
	}
	d.plainly, d.padded, d.row = plainly, false, 0
}

// plainOther is other for a decoder that reads only what a PlainJSON reads.
func (d *jsonDecoder) plainOther(c *column, row, i int) int {
	if c == nil {
		return plainSkip(d.s, i, 0)
	}
	f := 0
	for d.cols[f] != c {
		f++
	}
	if i = d.plainly.value(d.s, i, f); i < 0 {
		return -1
	}
	v := &d.plainly.Values[f]
	if v.Null {
		c.setNull(row)
		return i
	}
	switch c.phys {
	case columnar.PBytes:
		c.setBytes(row, v.Text)
		return i
	case columnar.PBool:
		c.setBool(row, v.I64 != 0)
		return i
	case columnar.PI8:
		c.i8[row] = int8(v.I64)
	case columnar.PI16:
		c.i16[row] = int16(v.I64)
	case columnar.PI32:
		c.i32[row] = int32(v.I64)
	case columnar.PI64:
		c.i64[row] = v.I64
	case columnar.PF64:
		c.f64[row] = v.F64
	}
	c.set(row)
	return i
}
