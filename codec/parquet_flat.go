package codec

import (
	"encoding/binary"
	"io"
	"slices"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/klauspost/compress/snappy"

	"streamlab/columnar"
	"streamlab/errs"
)

// A flatColumn reads the pages of a column chunk outside of lists. It can begin at any row: pages before it are
// passed over by their heads. Columns whose encodings it does not know, or that are encrypted, are read by the
// library.
type flatColumn struct {
	walk  pageWalk
	codec compress.Compression
	phys  parquet.Type
	width int // bytes of a value; 0: it differs, or is a bit
	most  int16

	left int // rows left of the page

	defs     hybrid
	hasDefs  bool
	how      pageValues
	codes    hybrid
	body     []byte // plain values, with pagePad bytes behind
	size     int    // of body
	at       int    // byte, or bit, of the next plain value
	wordSize []byte // the bytes of the dictionary's values, one after the other
	wordEnds []int32
	wordN    int  // values of the dictionary
	words    bool // there is a dictionary
	wordsID  uint64
	coding   bool // all texts of the batch are of the dictionary

	*flatBuffers
}

// pageValues says how the values of a page are kept.
type pageValues uint8

const (
	valuesPlain pageValues = iota
	valuesCoded            // numbers of the dictionary's values
	valuesRuns             // truth values in runs
)

// flatBuffers is memory that columns use one after the other.
type flatBuffers struct {
	packed, page, dict []byte
	levels, numbers    []uint32
	values             []byte // numbers of a batch
	text               []byte
	offs               []int32
	lens               []int32
}

var flatPool = sync.Pool{New: func() any { return &flatBuffers{} }}

// mostKept is how large a buffer may be that is kept for another column.
const mostKept = 4 << 20

// release gives the buffers back. Nothing that was made of them is looked at any more.
func (c *flatColumn) release() {
	b := c.flatBuffers
	c.flatBuffers = nil
	if b == nil || cap(b.packed) > mostKept || cap(b.page) > mostKept || cap(b.dict) > mostKept || cap(b.text) > mostKept {
		return
	}
	flatPool.Put(b)
}

// flatReadable says whether all pages of a chunk can be read by a flatColumn, as far as its footer tells.
func flatReadable(m *metadata.ColumnChunkMetaData, l *parquetLeaf) bool {
	if l.maxRep > 0 || m.CryptoMetadata() != nil || m.FilePath() != "" || m.Type() != l.node.PhysicalType() {
		return false
	}
	for _, e := range m.Encodings() {
		switch int32(e) {
		case encPlain, encPlainDict, encRLE, encBitPacked, encDictionary:
		default:
			return false
		}
	}
	return true
}

// chunkBounds are where the pages of a chunk lie.
func chunkBounds(m *metadata.ColumnChunkMetaData) (from, to int64) {
	from = m.DataPageOffset()
	if m.HasDictionaryPage() && m.DictionaryPageOffset() > 0 {
		from = min(from, m.DictionaryPageOffset())
	}
	// Old writers did not count the dictionary's head.
	return from, from + m.TotalCompressedSize() + 100
}

func newFlatColumn(f io.ReaderAt, m *metadata.ColumnChunkMetaData, l *parquetLeaf) *flatColumn {
	c := &flatColumn{codec: m.Compression(), phys: m.Type(), most: l.maxDef, flatBuffers: flatPool.Get().(*flatBuffers)}
	from, to := chunkBounds(m)
	c.walk = pageWalk{f: f, at: from, end: to}
	switch c.phys {
	case parquet.Types.Int32, parquet.Types.Float:
		c.width = 4
	case parquet.Types.Int64, parquet.Types.Double:
		c.width = 8
	case parquet.Types.Int96:
		c.width = 12
	case parquet.Types.FixedLenByteArray:
		c.width = l.node.TypeLength()
	}
	return c
}

// grown gives b room for n bytes and pagePad behind them; what is in it is lost.
func grown(b []byte, n int) []byte {
	if cap(b) < n+pagePad {
		return make([]byte, n+pagePad)
	}
	return b[:n+pagePad]
}

func numbersOf[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n, n+n/4)
	}
	return b[:n]
}

// unpackPage reads size bytes of the file and makes full bytes of them.
func (c *flatColumn) unpackPage(dst []byte, at int64, size, full int, plain bool) ([]byte, error) {
	dst = grown(dst, full)
	if plain || c.codec == compress.Codecs.Uncompressed {
		if size != full {
			return dst, errs.New("PARQUET_CORRUPT", "reason", "a page has another length than it says")
		}
		_, err := io.ReadFull(io.NewSectionReader(c.walk.f, at, int64(full)), dst[:full])
		return dst, err
	}
	c.packed = grown(c.packed, size)
	if _, err := io.ReadFull(io.NewSectionReader(c.walk.f, at, int64(size)), c.packed[:size]); err != nil {
		return dst, err
	}
	if size == 0 && full == 0 {
		return dst, nil
	}
	var got []byte
	var err error
	if c.codec == compress.Codecs.Snappy {
		var n int
		if n, err = snappy.DecodedLen(c.packed[:size]); err == nil && n == full {
			got, err = snappy.Decode(dst[:full], c.packed[:size])
		}
	} else {
		codec, e := compress.GetCodec(c.codec)
		if e != nil {
			return dst, e
		}
		got, err = compress.Decode(codec, dst[:full], c.packed[:size])
	}
	if err != nil {
		return dst, errs.Wrap(err, "PARQUET_CORRUPT", "reason", "a page cannot be decompressed")
	}
	if len(got) != full {
		return dst, errs.New("PARQUET_CORRUPT", "reason", "a page has another length than it says")
	}
	if full > 0 && &got[0] != &dst[0] {
		copy(dst, got)
	}
	return dst, nil
}

// seek begins at a row of the chunk.
func (c *flatColumn) seek(row int64) error {
	for {
		h, body, err := c.dataPage()
		if err != nil {
			return err
		}
		if row < int64(h.values) {
			if err = c.open(h, body); err == nil {
				err = c.pass(int(row))
			}
			return err
		}
		if row -= int64(h.values); row == 0 && h.values > 0 {
			return nil // the next page is the first
		}
	}
}

// dataPage is the next page of values; a dictionary before it is read.
func (c *flatColumn) dataPage() (h pageHead, body int64, err error) {
	for {
		if h, body, err = c.walk.next(); err != nil {
			return h, 0, ended(err)
		}
		switch h.kind {
		case pageDictionary:
			if err = c.dictionary(h, body); err != nil {
				return h, 0, err
			}
		case pageData, pageData2:
			return h, body, nil
		}
	}
}

// ended says that a chunk ends before its rows do.
func ended(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errShort
	}
	return err
}

// more opens the next page with rows.
func (c *flatColumn) more() error {
	for {
		h, body, err := c.dataPage()
		if err != nil {
			return err
		}
		if h.values > 0 {
			return c.open(h, body)
		}
	}
}

var errValues = errs.New("PARQUET_CORRUPT", "reason", "values end before their page")

func (c *flatColumn) dictionary(h pageHead, body int64) error {
	if c.words {
		return errs.New("PARQUET_CORRUPT", "reason", "a column chunk has two dictionaries")
	}
	if h.encoding != encPlain && h.encoding != encPlainDict {
		return errEncoding
	}
	var err error
	if c.dict, err = c.unpackPage(c.dict, body, int(h.packed), int(h.full), false); err != nil {
		return ended(err)
	}
	c.words, c.wordN, c.wordsID = true, int(h.values), columnar.NextDictionary()
	if c.width > 0 || c.phys == parquet.Types.FixedLenByteArray {
		if int64(h.values)*int64(c.width) > int64(h.full) {
			return errValues
		}
		c.wordSize = c.dict
		return nil
	}
	if c.phys != parquet.Types.ByteArray {
		return errEncoding
	}
	if int64(h.values)*4 > int64(h.full) {
		return errValues
	}
	// The lengths between the texts go, in place.
	c.wordEnds = append(numbersOf(c.wordEnds, 0), 0)
	at, to := 0, 0
	for range c.wordN {
		if at+4 > int(h.full) {
			return errValues
		}
		n := int(binary.LittleEndian.Uint32(c.dict[at:]))
		at += 4
		if n > int(h.full)-at {
			return errValues
		}
		copy(c.dict[to:to+n], c.dict[at:at+n])
		at += n
		to += n
		c.wordEnds = append(c.wordEnds, int32(to))
	}
	c.wordSize = c.dict
	return nil
}

var errEncoding = errs.New("PARQUET_CORRUPT", "reason", "a page has an encoding that its column does not name, or that its type does not have")

// open takes a page apart into levels and values.
func (c *flatColumn) open(h pageHead, body int64) error {
	levels := 0
	c.hasDefs = c.most > 0
	if h.kind == pageData2 {
		levels = int(h.repBytes) + int(h.defBytes)
		if levels > int(h.packed) || levels > int(h.full) {
			return errLevels
		}
		c.page = grown(c.page, int(h.full))
		if _, err := io.ReadFull(io.NewSectionReader(c.walk.f, body, int64(levels)), c.page[:levels]); err != nil {
			return ended(err)
		}
		if _, err := c.unpackPage(c.page[levels:], body+int64(levels), int(h.packed)-levels, int(h.full)-levels, h.plain); err != nil {
			return ended(err)
		}
		if c.hasDefs {
			c.defs.begin(c.page[h.repBytes:], int(h.defBytes), bitsFor(c.most))
		}
	} else {
		var err error
		if c.page, err = c.unpackPage(c.page, body, int(h.packed), int(h.full), false); err != nil {
			return ended(err)
		}
		if c.hasDefs {
			switch h.levels {
			case encRLE:
				if h.full < 4 || int64(binary.LittleEndian.Uint32(c.page)) > int64(h.full)-4 {
					return errLevels
				}
				n := int(binary.LittleEndian.Uint32(c.page))
				c.defs.begin(c.page[4:], n, bitsFor(c.most))
				levels = 4 + n
			case encBitPacked:
				in, n, err := packHigh(c.page[:h.full], int(h.values), bitsFor(c.most))
				if err != nil {
					return err
				}
				c.defs.begin(in, len(in)-pagePad, bitsFor(c.most))
				levels = n
			default:
				return errEncoding
			}
		}
	}
	c.body, c.size, c.at = c.page[levels:], int(h.full)-levels, 0
	switch {
	case h.encoding == encPlain:
		c.how = valuesPlain
	case h.encoding == encDictionary || h.encoding == encPlainDict:
		if !c.words {
			return errs.New("PARQUET_CORRUPT", "reason", "a column chunk has no dictionary")
		}
		c.how = valuesCoded
		if c.size == 0 { // no value at all
			c.codes.begin(c.body, 0, 0)
			break
		}
		if c.body[0] > 32 {
			return errLevels
		}
		c.codes.begin(c.body[1:], c.size-1, int(c.body[0]))
	case h.encoding == encRLE && c.phys == parquet.Types.Boolean:
		if c.how = valuesRuns; c.size < 4 {
			return errValues
		}
		n := min(int64(binary.LittleEndian.Uint32(c.body)), int64(c.size-4))
		c.codes.begin(c.body[4:], int(n), 1)
	default:
		return errEncoding
	}
	c.left = int(h.values)
	return nil
}

// pass goes over rows of the page.
func (c *flatColumn) pass(n int) error {
	c.left -= n
	if c.hasDefs && n > 0 && !c.defs.same(uint32(c.most), n) {
		c.levels = numbersOf(c.levels, n)
		if err := c.defs.read(c.levels); err != nil {
			return err
		}
		n = c.there(c.levels)
	}
	if n == 0 {
		return nil
	}
	if c.how != valuesPlain {
		return c.codes.skip(n)
	}
	switch c.phys {
	case parquet.Types.Boolean:
		c.at += n
	case parquet.Types.ByteArray:
		for range n {
			if c.at+4 > c.size {
				return errValues
			}
			c.at += 4 + int(binary.LittleEndian.Uint32(c.body[c.at:]))
		}
	default:
		c.at += n * c.width
	}
	return nil
}

func (c *flatColumn) there(levels []uint32) int {
	n := 0
	for _, d := range levels {
		if d == uint32(c.most) {
			n++
		}
	}
	return n
}

// load makes the next n rows those of the leaf.
func (c *flatColumn) load(l *parquetLeaf, n int) error {
	l.used, l.usedVal, l.full = n, 0, true
	c.offs, c.coding = append(c.offs[:0], 0), true
	if !l.lends {
		c.text = nil // vectors own the old bytes
	}
	c.text = c.text[:0]
	for done := 0; done < n; {
		if c.left == 0 {
			if err := c.more(); err != nil {
				return err
			}
		}
		k := min(n-done, c.left)
		there := k
		if c.hasDefs && !c.defs.same(uint32(c.most), k) {
			c.levels = numbersOf(c.levels, k)
			if err := c.defs.read(c.levels); err != nil {
				return err
			}
			there = c.there(c.levels)
			if there < k {
				l.partly(done, n)
			}
			if !l.full {
				for i, d := range c.levels {
					l.def[done+i] = int16(d)
				}
			}
		} else if !l.full {
			for i := range k {
				l.def[done+i] = c.most
			}
		}
		c.left -= k
		if err := c.take(l, there, done == 0 && k == n, n); err != nil {
			return err
		}
		l.usedVal += there
		done += k
	}
	l.data, l.ends, l.offs, l.coded = c.text, c.offs[1:], c.offs, nil
	if c.phys == parquet.Types.ByteArray && c.coding && l.full && l.lends {
		l.coded = &columnar.Coded{Off: c.offs, Codes: c.numbers[:n], Values: c.wordN, Dictionary: c.wordsID}
	}
	return nil
}

// partly says that some rows have no value. The rows before have one.
func (l *parquetLeaf) partly(before, n int) {
	if !l.full {
		return
	}
	l.full = false
	if len(l.def) < n {
		l.def = make([]int16, n)
	}
	for i := range before {
		l.def[i] = l.maxDef
	}
}

// take reads n values. whole says that they are all of the batch, which has room for most.
func (c *flatColumn) take(l *parquetLeaf, n int, whole bool, most int) error {
	switch c.phys {
	case parquet.Types.Boolean:
		l.bools = extend(l.bools, most)
		return c.truths(l.bools[l.usedVal : l.usedVal+n])
	case parquet.Types.ByteArray:
		return c.texts(n)
	case parquet.Types.FixedLenByteArray:
		return c.fixed(n)
	}
	b, err := c.numbersAt(n, whole, l.usedVal, most)
	if err != nil || l.usedVal+n == 0 {
		return err
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	all := l.usedVal + n
	switch c.phys {
	case parquet.Types.Int32:
		l.i32 = unsafe.Slice((*int32)(p), all)
	case parquet.Types.Int64:
		l.i64 = unsafe.Slice((*int64)(p), all)
	case parquet.Types.Int96:
		l.i96 = unsafe.Slice((*parquet.Int96)(p), all)
	case parquet.Types.Float:
		l.f32 = unsafe.Slice((*float32)(p), all)
	case parquet.Types.Double:
		l.f64 = unsafe.Slice((*float64)(p), all)
	}
	return nil
}

// numbersAt reads n values of one width behind those that the batch has. The result is all of the batch: a
// part of the page where that is possible.
func (c *flatColumn) numbersAt(n int, whole bool, have, most int) ([]byte, error) {
	size := n * c.width
	if c.how == valuesPlain {
		if c.at+size > c.size {
			return nil, errValues
		}
		from := c.body[c.at : c.at+size]
		c.at += size
		if whole {
			return from, nil
		}
		c.values = kept(c.values, have*c.width, most*c.width)
		copy(c.values[have*c.width:], from)
		return c.values, nil
	}
	c.values = kept(c.values, have*c.width, most*c.width)
	codes, err := c.coded(0, n)
	if err != nil || n == 0 {
		return c.values, err
	}
	dst := unsafe.Pointer(&c.values[have*c.width])
	words := unsafe.Pointer(unsafe.SliceData(c.wordSize))
	ok := true
	switch c.width {
	case 4:
		ok = look(unsafe.Slice((*uint32)(dst), n), unsafe.Slice((*uint32)(words), c.wordN), codes)
	case 8:
		ok = look(unsafe.Slice((*uint64)(dst), n), unsafe.Slice((*uint64)(words), c.wordN), codes)
	default:
		ok = look(unsafe.Slice((*parquet.Int96)(dst), n), unsafe.Slice((*parquet.Int96)(words), c.wordN), codes)
	}
	if !ok {
		return nil, errCode
	}
	return c.values, nil
}

var errCode = errs.New("PARQUET_CORRUPT", "reason", "a value has no place in the dictionary of its column chunk")

// kept gives b room for n bytes and keeps the first have.
func kept(b []byte, have, n int) []byte {
	if len(b) >= n {
		return b
	}
	out := make([]byte, n)
	copy(out, b[:have])
	return out
}

// coded reads the numbers of n values behind the first have, which are kept.
func (c *flatColumn) coded(have, n int) ([]uint32, error) {
	if cap(c.numbers) < have+n {
		c.numbers = append(make([]uint32, 0, have+n+n/4), c.numbers[:have]...)
	}
	c.numbers = c.numbers[:have+n]
	return c.numbers[have:], c.codes.read(c.numbers[have:])
}

func look[T any](dst, words []T, codes []uint32) bool {
	dst = dst[:len(codes)]
	for i, k := range codes {
		if uint(k) >= uint(len(words)) {
			return false
		}
		dst[i] = words[k]
	}
	return true
}

func (c *flatColumn) truths(dst []bool) error {
	if c.how == valuesRuns {
		codes, err := c.coded(0, len(dst))
		for i, k := range codes {
			dst[i] = k&1 == 1
		}
		return err
	}
	if c.how != valuesPlain || c.at+len(dst) > 8*c.size {
		return errValues
	}
	for i := range dst {
		dst[i] = c.body[(c.at+i)>>3]>>((c.at+i)&7)&1 == 1
	}
	c.at += len(dst)
	return nil
}

// roomFor makes room for n more bytes of texts, and pagePad behind them.
func (c *flatColumn) roomFor(n int) (from int, err error) {
	from = len(c.text)
	if from+n > 1<<31-1 {
		return 0, errs.New("RECORD_TOO_LARGE", "limit", 1<<31-1, "path", "")
	}
	if cap(c.text) < from+n+pagePad {
		c.text = slices.Grow(c.text, n+pagePad)
	}
	c.text = c.text[:from+n]
	return from, nil
}

// texts reads n texts behind those that the batch has.
func (c *flatColumn) texts(n int) error {
	if n == 0 {
		return nil
	}
	have := len(c.offs)
	c.offs = slices.Grow(c.offs, n)[:have+n]
	offs := c.offs[have : have+n]
	end := c.offs[have-1]
	if c.how == valuesCoded {
		from := 0
		if c.coding {
			from = have - 1
		}
		codes, err := c.coded(from, n)
		if err != nil {
			return err
		}
		ends := c.wordEnds
		total := 0
		for _, k := range codes {
			if int(k) >= c.wordN {
				return errCode
			}
			total += int(ends[k+1] - ends[k])
		}
		to, err := c.roomFor(total)
		if err != nil {
			return err
		}
		dst := unsafe.Pointer(unsafe.SliceData(c.text))
		words := unsafe.Pointer(unsafe.SliceData(c.wordSize))
		for i, k := range codes {
			from, len := ends[k], int(ends[k+1]-ends[k])
			move(unsafe.Add(dst, to), unsafe.Add(words, from), len)
			to += len
			end += int32(len)
			offs[i] = end
		}
		return nil
	}
	c.coding = false
	// First the lengths, of which each says where the next one is, then the bytes, which need not wait.
	at := c.at
	for i := range offs {
		if at+4 > c.size {
			return errValues
		}
		len := int(binary.LittleEndian.Uint32(c.body[at:]))
		at += 4
		if len > c.size-at {
			return errValues
		}
		at += len
		end += int32(len)
		offs[i] = end
	}
	to, err := c.roomFor(at - c.at - 4*n)
	if err != nil {
		return err
	}
	dst := unsafe.Pointer(unsafe.SliceData(c.text))
	src := unsafe.Pointer(unsafe.SliceData(c.body))
	from := c.at + 4
	for _, e := range offs {
		len := int(e) - to
		move(unsafe.Add(dst, to), unsafe.Add(src, from), len)
		to += len
		from += len + 4
	}
	c.at = at
	return nil
}

// move copies a text where pagePad more bytes can be read and written behind it.
func move(dst, src unsafe.Pointer, n int) {
	if n > 64 {
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
		return
	}
	for i := 0; i < n; i += 16 {
		*(*[16]byte)(unsafe.Add(dst, i)) = *(*[16]byte)(unsafe.Add(src, i))
	}
}

// fixed is texts for values of one length.
func (c *flatColumn) fixed(n int) error {
	if n == 0 {
		return nil
	}
	to, err := c.roomFor(n * c.width)
	if err != nil {
		return err
	}
	dst := c.text[to:]
	if c.how == valuesCoded {
		codes, err := c.coded(0, n)
		if err != nil {
			return err
		}
		for i, k := range codes {
			if int(k) >= c.wordN {
				return errCode
			}
			copy(dst[i*c.width:(i+1)*c.width], c.wordSize[int(k)*c.width:])
		}
	} else {
		if c.at+len(dst) > c.size {
			return errValues
		}
		copy(dst, c.body[c.at:c.at+len(dst)])
		c.at += len(dst)
	}
	end := c.offs[len(c.offs)-1]
	for range n {
		end += int32(c.width)
		c.offs = append(c.offs, end)
	}
	return nil
}
