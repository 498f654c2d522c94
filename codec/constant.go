package codec

import (
	"time"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// Constant makes a one-row vector of an atomic type from a text as CSV reads it; null is the null of the
// type. ok is false if the text does not fit.
func Constant(t types.DataType, text string, null bool, zone *time.Location) (v *columnar.Vec, ok bool) {
	c := newColumn("", t)
	c.grow(1)
	if null {
		return c.take(1), true
	}
	if text == "" && (t.Kind == types.String || t.Kind == types.Binary) {
		c.setBytes(0, nil)
		return c.take(1), true
	}
	d := &csvDecoder{rowsOf: rowsOf{r: &Reader{zone: zone}, clock: NewClock(zone, nil)}}
	ok = d.field(c, token{text: []byte(text), quoted: true})
	return c.take(1), ok
}
