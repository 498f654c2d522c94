package codec

import (
	"encoding/binary"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"streamlab/columnar"
	"streamlab/errs"
)

// maxDictionary is how many bytes the values of a dictionary may have, with four for the length of each.
const maxDictionary = 1 << 20

// textDictionary gathers a leaf of texts outside of lists whose values repeat, up to the end of its row group:
// every value once and for every row the number of its value. The library's own dictionary puts every single
// value into an interface, which costs more than everything else that happens to a short text.
type textDictionary struct {
	numbers map[string]int32
	data    []byte // the values one after the other
	offs    []int32
	index   []int32 // of every row, 0 where there is none
	valid   []uint64
	nulls   int
	def     []int16
	off     bool // the values were too many: the rest of the row group is written as it comes
	recent  [recentTexts]recentText
}

// recentText is a text of up to sixteen bytes with its number: most texts that repeat are found without hashing.
type recentText struct {
	head, tail uint64
	size       int32 // 0: none
	number     int32
}

const recentTexts = 64 // a power of two

// ends16 gives the bytes of a text of one to sixteen bytes as two numbers, which with its length say all of it.
func ends16(b []byte) (head, tail uint64) {
	le := binary.LittleEndian
	switch n := len(b); {
	case n >= 8:
		return le.Uint64(b), le.Uint64(b[n-8:])
	case n >= 4:
		return uint64(le.Uint32(b)), uint64(le.Uint32(b[n-4:]))
	default:
		return uint64(b[0]), uint64(b[n/2]) | uint64(b[n-1])<<8
	}
}

// number gives the number of a text, a new one if it was not there.
func (d *textDictionary) number(text []byte) int32 {
	var at *recentText
	var head, tail uint64
	if n := len(text); n > 0 && n <= 16 {
		head, tail = ends16(text)
		at = &d.recent[(head+tail*31+uint64(n))*0x9e3779b97f4a7c15>>58]
		if at.size == int32(n) && at.head == head && at.tail == tail {
			return at.number
		}
	}
	n, ok := d.numbers[string(text)]
	if !ok {
		n = int32(len(d.numbers))
		d.numbers[string(text)] = n
		d.data = append(d.data, text...)
		d.offs = append(d.offs, int32(len(d.data)))
	}
	if at != nil {
		*at = recentText{head, tail, int32(len(text)), n}
	}
	return n
}

// takes says whether a leaf's rows are gathered here.
func (d *textDictionary) takes(c file.ColumnChunkWriter, l *leafWriter) bool {
	if d.off || l.varied || l.maxRep > 0 {
		return false
	}
	w, ok := c.(*file.ByteArrayColumnChunkWriter)
	if !ok {
		return false
	}
	if _, ok = w.CurrentEncoder().(dictionaryEncoder); !ok {
		return false
	}
	if d.numbers == nil {
		d.numbers = map[string]int32{}
		d.offs = append(d.offs[:0], 0)
	}
	return true
}

// dictionaryEncoder is an encoder that is given its values beforehand.
type dictionaryEncoder interface{ PutDictionary(arrow.Array) error }

// bytes is about how much memory the rows take until they are written.
func (d *textDictionary) bytes() int64 { return int64(len(d.index) + len(d.data)) }

// add takes rows; c is written to if the values have become too many.
func (d *textDictionary) add(c *file.ByteArrayColumnChunkWriter, v *columnar.Vec, s levelScratch, nullable bool) error {
	rows := len(d.index) + len(s.at)
	d.index = slices.Grow(d.index, len(s.at))
	for len(d.valid) < (rows+63)/64 {
		d.valid = append(d.valid, 0)
	}
	for _, k := range s.at {
		n := int32(0)
		if k >= 0 {
			columnar.SetBit(d.valid, len(d.index))
			n = d.number(v.Data[v.Off[k]:v.Off[k+1]])
		} else {
			d.nulls++
		}
		d.index = append(d.index, n)
	}
	if nullable {
		d.def = append(d.def, s.def...)
	}
	if len(d.data)+4*len(d.numbers) > maxDictionary {
		if err := d.flush(c); err != nil {
			return err
		}
		c.FallbackToPlain()
		d.off = true
	}
	return nil
}

// texts are the values by number.
func (d *textDictionary) texts() []parquet.ByteArray {
	out := make([]parquet.ByteArray, len(d.offs)-1)
	for i := range out {
		out[i] = d.data[d.offs[i]:d.offs[i+1]:d.offs[i+1]]
	}
	return out
}

// flush writes the rows at the end of a row group; the next one has a dictionary again.
func (d *textDictionary) flush(c file.ColumnChunkWriter) error {
	d.off = false
	w, ok := c.(*file.ByteArrayColumnChunkWriter)
	if !ok || len(d.index) == 0 {
		return nil
	}
	enc, ok := w.CurrentEncoder().(dictionaryEncoder)
	if !ok {
		return errs.New("INTERNAL_ERROR", "message", "a column of texts has lost its dictionary")
	}
	offs := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(d.offs))
	words := array.NewData(arrow.BinaryTypes.Binary, len(d.numbers), []*memory.Buffer{nil, offs, memory.NewBufferBytes(d.data)}, nil, 0, 0)
	defer words.Release()
	texts := array.NewBinaryData(words)
	defer texts.Release()
	if err := enc.PutDictionary(texts); err != nil {
		return err
	}
	if st, ok := w.PageStatistics().(*metadata.ByteArrayStatistics); ok {
		st.Update(d.texts(), int64(d.nulls)) // the bounds of the first page are those of all
	}
	var valid *memory.Buffer
	if d.nulls > 0 {
		valid = memory.NewBufferBytes(arrow.Uint64Traits.CastToBytes(d.valid))
	}
	index := array.NewData(arrow.PrimitiveTypes.Int32, len(d.index), []*memory.Buffer{valid, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(d.index))},
		nil, d.nulls, 0)
	defer index.Release()
	numbers := array.NewInt32Data(index)
	defer numbers.Release()
	err := w.WriteDictIndices(numbers, d.def, nil)
	d.reset()
	return err
}

func (d *textDictionary) reset() {
	clear(d.numbers)
	d.recent = [recentTexts]recentText{}
	d.data, d.offs, d.index, d.valid, d.def, d.nulls = d.data[:0], append(d.offs[:0], 0), d.index[:0], d.valid[:0], d.def[:0], 0
}
