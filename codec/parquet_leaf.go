package codec

import (
	"encoding/binary"
	"io"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// parquetLeaf reads one column of numbers or texts: levels, and the values that are there, without gaps.
type parquetLeaf struct {
	index          int // among the leaves of the file
	node           *schema.PrimitiveNode
	maxDef, maxRep int16
	flat           *flatColumn // reads the chunk; nil: chunk does
	chunk          file.ColumnChunkReader
	lends          bool            // vectors need not outlive the next batch
	full           bool            // flat: every row of the batch has a value, and def is not set
	offs           []int32         // flat: ends, with a 0 before them
	coded          *columnar.Coded // flat: of the texts of the batch; nil: they are of no dictionary
	left           int64           // levels that the chunk still has, by its own account
	empty          int             // pages without rows that came last
	ended          bool

	// levels [0, used) are the rows of this batch; what is behind them belongs to the next one.
	def, rep        []int16
	levels, used    int
	values, usedVal int // the same for values

	bools []bool
	i32   []int32
	i64   []int64
	i96   []parquet.Int96
	f32   []float32
	f64   []float64
	bytes []parquet.ByteArray
	fixed []parquet.FixedLenByteArray
	data  []byte  // texts of values, one after the other
	ends  []int32 // where each ends
}

// begin starts with a row of a row group; chunks that only the library reads begin with their first.
func (l *parquetLeaf) begin(f io.ReaderAt, g *file.RowGroupReader, row int64) error {
	if m, err := g.MetaData().ColumnChunk(l.index); err == nil && flatReadable(m, l) {
		l.flat = newFlatColumn(f, m, l)
		return l.flat.seek(row)
	}
	c, err := g.Column(l.index)
	if err != nil {
		return err
	}
	if c.Type() != l.node.PhysicalType() {
		return errs.New("INTERNAL_ERROR", "message", "the column chunk has another type than its column")
	}
	m, err := g.MetaData().ColumnChunk(l.index)
	if err != nil {
		return err
	}
	l.chunk, l.ended, l.left = c, false, m.NumValues()
	l.levels, l.used, l.values, l.usedVal, l.full = 0, 0, 0, 0, false
	l.data, l.ends = make([]byte, 0, len(l.data)), l.ends[:0] // vectors own the old bytes
	return nil
}

// end gives back what reading a row group has used.
func (l *parquetLeaf) end() {
	if l.flat != nil {
		if !l.lends {
			l.flat.text = nil // a vector owns it
		}
		l.flat.release()
		l.flat = nil
		l.i32, l.i64, l.i96, l.f32, l.f64, l.data, l.ends, l.offs, l.coded = nil, nil, nil, nil, nil, nil, nil, nil, nil
	}
}

const levelsAtOnce = 8192

// load makes the next n rows the batch.
func (l *parquetLeaf) load(n int) error {
	if l.flat != nil {
		return l.flat.load(l, n)
	}
	l.drop()
	rows, at := 0, 0
	for {
		if l.maxRep == 0 {
			rows = l.levels
			if rows >= n {
				l.used = n
				break
			}
		} else {
			for at < l.levels {
				if l.rep[at] == 0 {
					if rows == n {
						break
					}
					rows++
				}
				at++
			}
			if at < l.levels {
				l.used = at
				break
			}
		}
		if l.ended {
			if rows < n {
				return errShort
			}
			l.used = l.levels
			break
		}
		want := levelsAtOnce
		if l.maxRep == 0 {
			want = n - l.levels
		}
		if err := l.more(want); err != nil {
			return err
		}
	}
	l.usedVal = l.used
	if l.maxDef > 0 {
		l.usedVal = 0
		for _, d := range l.def[:l.used] {
			if d == l.maxDef {
				l.usedVal++
			}
		}
	}
	return nil
}

var errShort = errs.New("PARQUET_CUT_SHORT")

// drop forgets the last batch and moves what is behind it to the front.
func (l *parquetLeaf) drop() {
	if l.used == 0 {
		return
	}
	if l.maxDef > 0 {
		copy(l.def, l.def[l.used:l.levels])
	}
	if l.maxRep > 0 {
		copy(l.rep, l.rep[l.used:l.levels])
	}
	from, to := l.usedVal, l.values
	switch l.node.PhysicalType() {
	case parquet.Types.Boolean:
		copy(l.bools, l.bools[from:to])
	case parquet.Types.Int32:
		copy(l.i32, l.i32[from:to])
	case parquet.Types.Int64:
		copy(l.i64, l.i64[from:to])
	case parquet.Types.Int96:
		copy(l.i96, l.i96[from:to])
	case parquet.Types.Float:
		copy(l.f32, l.f32[from:to])
	case parquet.Types.Double:
		copy(l.f64, l.f64[from:to])
	default:
		start := int32(0)
		if from > 0 {
			start = l.ends[from-1]
		}
		// The vector of the last batch owns the old bytes.
		l.data = append(make([]byte, 0, len(l.data)), l.data[start:]...)
		for i := from; i < to; i++ {
			l.ends[i-from] = l.ends[i] - start
		}
		l.ends = l.ends[:to-from]
	}
	l.levels -= l.used
	l.values -= l.usedVal
	l.used, l.usedVal = 0, 0
}

func extend[T any](s []T, n int) []T {
	if len(s) >= n {
		return s
	}
	out := make([]T, max(n, 2*len(s)))
	copy(out, s)
	return out
}

// more reads up to n levels and their values from the chunk's next page.
func (l *parquetLeaf) more(n int) error {
	var def, rep []int16
	if l.maxDef > 0 {
		l.def = extend(l.def, l.levels+n)
		def = l.def[l.levels : l.levels+n]
	}
	if l.maxRep > 0 {
		l.rep = extend(l.rep, l.levels+n)
		rep = l.rep[l.levels : l.levels+n]
	}
	var total int64
	var got int
	var err error
	batch := int64(n)
	switch c := l.chunk.(type) {
	case *file.BooleanColumnChunkReader:
		l.bools = extend(l.bools, l.values+n)
		total, got, err = c.ReadBatchInPage(batch, l.bools[l.values:l.values+n], def, rep)
	case *file.Int32ColumnChunkReader:
		l.i32 = extend(l.i32, l.values+n)
		total, got, err = c.ReadBatchInPage(batch, l.i32[l.values:l.values+n], def, rep)
	case *file.Int64ColumnChunkReader:
		l.i64 = extend(l.i64, l.values+n)
		total, got, err = c.ReadBatchInPage(batch, l.i64[l.values:l.values+n], def, rep)
	case *file.Int96ColumnChunkReader:
		l.i96 = extend(l.i96, l.values+n)
		total, got, err = c.ReadBatchInPage(batch, l.i96[l.values:l.values+n], def, rep)
	case *file.Float32ColumnChunkReader:
		l.f32 = extend(l.f32, l.values+n)
		total, got, err = c.ReadBatchInPage(batch, l.f32[l.values:l.values+n], def, rep)
	case *file.Float64ColumnChunkReader:
		l.f64 = extend(l.f64, l.values+n)
		total, got, err = c.ReadBatchInPage(batch, l.f64[l.values:l.values+n], def, rep)
	case *file.ByteArrayColumnChunkReader:
		l.bytes = extend(l.bytes, n)
		if total, got, err = c.ReadBatchInPage(batch, l.bytes[:n], def, rep); err == nil {
			for _, b := range l.bytes[:got] {
				l.data = append(l.data, b...)
				l.ends = append(l.ends, int32(len(l.data)))
			}
		}
	case *file.FixedLenByteArrayColumnChunkReader:
		l.fixed = extend(l.fixed, n)
		if total, got, err = c.ReadBatchInPage(batch, l.fixed[:n], def, rep); err == nil {
			for _, b := range l.fixed[:got] {
				l.data = append(l.data, b...)
				l.ends = append(l.ends, int32(len(l.data)))
			}
		}
	}
	if err != nil {
		return err
	}
	if len(l.data) > 1<<31-1 {
		return errs.New("RECORD_TOO_LARGE", "limit", 1<<31-1, "path", "")
	}
	l.levels += int(total)
	l.values += got
	if l.left -= total; total == 0 {
		// A page may be empty, which the library takes for the end.
		if err := l.chunk.Err(); err != nil || l.left <= 0 || l.empty >= maxEmptyPages {
			l.ended = true
			return err
		}
		l.empty++
		return nil
	}
	l.empty = 0
	return nil
}

// maxEmptyPages is how many empty pages may follow each other.
const maxEmptyPages = 1000

// spread puts values where levels say that there are some. Only slots count: levels of at least base.
func spread[T any](dst, src []T, valid []uint64, def []int16, base, top int16) {
	k, j := 0, 0
	for _, d := range def {
		if d < base {
			continue
		}
		if d == top {
			dst[k] = src[j]
			valid[k>>6] |= 1 << (uint(k) & 63)
			j++
		}
		k++
	}
}

// slots counts the levels of at least base.
func slots(def []int16, base int16) int {
	if base == 0 {
		return len(def)
	}
	n := 0
	for _, d := range def {
		if d >= base {
			n++
		}
	}
	return n
}

// place makes the values of a vector from src: as they are if every slot has one.
func place[T any](l *parquetLeaf, base int16, v *columnar.Vec, src []T, own bool) []T {
	if v.Len == len(src) {
		v.Valid = nil
		if own || l.lends && l.flat != nil {
			return src
		}
		return append(make([]T, 0, len(src)), src...)
	}
	dst := make([]T, v.Len)
	v.Valid = make([]uint64, columnar.Words(v.Len))
	spread(dst, src, v.Valid, l.def[:l.used], base, l.maxDef)
	return dst
}

func mapValues[A, B any](src []A, f func(A) B) []B {
	out := make([]B, len(src))
	for i, x := range src {
		out[i] = f(x)
	}
	return out
}

// int96Micros reads the timestamps of old writers: nanoseconds of the day, then the Julian day.
func int96Micros(x parquet.Int96) int64 {
	const epoch = 2_440_588
	return (int64(binary.LittleEndian.Uint32(x[8:]))-epoch)*86_400_000_000 + int64(binary.LittleEndian.Uint64(x[:8]))/1000
}

// vector makes the column of the batch in the type that is wanted.
func (l *parquetLeaf) vector(p *parquetNode) (*columnar.Vec, error) {
	v := &columnar.Vec{Type: p.t, Phys: columnar.PhysicalOf(p.t)}
	n := l.usedVal
	if l.maxDef == 0 || l.full {
		v.Len = l.used
	} else {
		v.Len = slots(l.def[:l.used], p.base)
	}
	switch v.Phys {
	case columnar.PNull:
	case columnar.PBool:
		bools := place(l, p.base, v, l.bools[:n], false)
		v.Bits = make([]uint64, columnar.Words(v.Len))
		for i, b := range bools {
			if b {
				columnar.SetBit(v.Bits, i)
			}
		}
	case columnar.PI8:
		v.I8 = place(l, p.base, v, mapValues(l.i32[:n], func(x int32) int8 { return int8(x) }), true)
	case columnar.PI16:
		v.I16 = place(l, p.base, v, mapValues(l.i32[:n], func(x int32) int16 { return int16(x) }), true)
	case columnar.PI32:
		v.I32 = place(l, p.base, v, l.i32[:n], false)
	case columnar.PF32:
		v.F32 = place(l, p.base, v, l.f32[:n], false)
	case columnar.PI64:
		src, own := l.i64[:min(n, len(l.i64))], false
		switch p.how {
		case fromInt32:
			src, own = mapValues(l.i32[:n], func(x int32) int64 { return int64(x) * p.factor }), true
		case fromUint32:
			src, own = mapValues(l.i32[:n], func(x int32) int64 { return int64(uint32(x)) }), true
		case fromNanos:
			src, own = mapValues(src, func(x int64) int64 { return floorDiv(x, 1000) }), true
		case fromInt96:
			src, own = mapValues(l.i96[:n], int96Micros), true
		default:
			if p.factor != 1 {
				src, own = mapValues(src, func(x int64) int64 { return x * p.factor }), true
			}
		}
		v.I64 = place(l, p.base, v, src, own)
	case columnar.PF64:
		src, own := l.f64[:min(n, len(l.f64))], false
		switch p.how {
		case fromInt32:
			src, own = mapValues(l.i32[:n], func(x int32) float64 { return float64(x) }), true
		case fromFloat:
			src, own = mapValues(l.f32[:n], func(x float32) float64 { return float64(x) }), true
		}
		v.F64 = place(l, p.base, v, src, own)
	case columnar.PDec:
		dec, err := l.decimals(p, n)
		if err != nil {
			return nil, err
		}
		v.Dec = place(l, p.base, v, dec, true)
	default:
		l.texts(v, p.base, n)
	}
	return v, nil
}

// texts gives the vector the bytes that were read; they are not written to again.
func (l *parquetLeaf) texts(v *columnar.Vec, base int16, n int) {
	end := int32(0)
	if n > 0 {
		end = l.ends[n-1]
	}
	v.Data = l.data[:end:end]
	if l.lends && l.flat != nil && v.Len == n {
		v.Off, v.Coded = l.offs, l.coded
		return
	}
	v.Off = make([]int32, v.Len+1)
	if v.Len == n {
		copy(v.Off[1:], l.ends[:n])
		return
	}
	v.Valid = make([]uint64, columnar.Words(v.Len))
	k, j := 0, 0
	at := int32(0)
	for _, d := range l.def[:l.used] {
		if d < base {
			continue
		}
		if d == l.maxDef {
			at = l.ends[j]
			columnar.SetBit(v.Valid, k)
			j++
		}
		k++
		v.Off[k] = at
	}
}

func (l *parquetLeaf) decimals(p *parquetNode, n int) ([]decimal128.Num, error) {
	out := make([]decimal128.Num, n)
	switch l.node.PhysicalType() {
	case parquet.Types.Int32:
		for i, x := range l.i32[:n] {
			if p.how == fromUint32 {
				out[i] = decimal128.FromI64(int64(uint32(x)))
			} else {
				out[i] = decimal128.FromI64(int64(x))
			}
		}
	case parquet.Types.Int64:
		for i, x := range l.i64[:n] {
			if p.how == fromUint64 {
				out[i] = decimal128.FromU64(uint64(x))
			} else {
				out[i] = decimal128.FromI64(x)
			}
		}
	default:
		from := int32(0)
		for i, to := range l.ends[:n] {
			b := l.data[from:to]
			from = to
			if len(b) > 16 {
				for len(b) > 16 && (b[0] == 0 || b[0] == 0xff) { // sign bytes
					b = b[1:]
				}
				if len(b) > 16 {
					return nil, errs.New("PARQUET_DECIMAL_TOO_LONG", "bytes", len(b))
				}
			}
			out[i] = bigEndian128(b)
		}
	}
	if p.scale > 0 {
		f := decimal128.GetScaleMultiplier(int(p.scale))
		for i := range out {
			out[i] = out[i].Mul(f)
		}
	}
	return out, nil
}

func bigEndian128(b []byte) decimal128.Num {
	var hi, lo uint64
	if len(b) > 0 && b[0] >= 0x80 {
		hi, lo = ^uint64(0), ^uint64(0)
	}
	for _, c := range b {
		hi = hi<<8 | lo>>56
		lo = lo<<8 | uint64(c)
	}
	return decimal128.New(int64(hi), lo)
}

// How the values of a leaf become those of a column.
type parquetFrom uint8

const (
	asIs parquetFrom = iota
	fromInt32
	fromUint32
	fromUint64
	fromInt96
	fromFloat
	fromNanos
)

// accept decides whether a leaf can be read as a type, and how: what Spark's reader takes.
func (p *parquetNode) accept(n *schema.PrimitiveNode, loose bool) bool {
	p.factor = 1
	phys, t := n.PhysicalType(), p.t
	decimal, isDecimal := n.LogicalType().(schema.DecimalLogicalType)
	number, isInt := n.LogicalType().(schema.IntLogicalType)
	unsigned := isInt && !number.IsSigned()
	_, isDate := n.LogicalType().(schema.DateLogicalType)
	stamp, isStamp := n.LogicalType().(schema.TimestampLogicalType)
	_, isTime := n.LogicalType().(schema.TimeLogicalType)
	if t.Kind == types.Decimal {
		have, scale := int32(0), int32(0)
		switch {
		case isDecimal:
			have, scale = decimal.Precision(), decimal.Scale()
		case phys == parquet.Types.Int32 && !isDate && !isTime:
			have = 10
		case phys == parquet.Types.Int64 && unsigned:
			have = 20
		case phys == parquet.Types.Int64 && !isStamp && !isTime:
			have = 20
		default:
			return false
		}
		if unsigned {
			p.how = fromUint32
			if phys == parquet.Types.Int64 {
				p.how = fromUint64
			}
		}
		p.scale = t.Scale - scale
		return p.scale >= 0 && t.Precision-t.Scale >= have-scale
	}
	switch phys {
	case parquet.Types.Boolean:
		return t.Kind == types.Boolean
	case parquet.Types.Int32:
		_, isNull := n.LogicalType().(schema.NullLogicalType)
		switch {
		case t.Kind == types.Null:
			return isNull
		case isDate:
			if t.Kind == types.TimestampNTZ {
				p.how, p.factor = fromInt32, 86_400_000_000
				return true
			}
			return t.Kind == types.Date
		case isDecimal && decimal.Scale() != 0, isTime:
			return false
		}
		switch t.Kind {
		case types.TinyInt, types.SmallInt, types.Int, types.YearMonth:
			return true
		case types.BigInt, types.Double:
			p.how = fromInt32
			if unsigned && number.BitWidth() == 32 && t.Kind == types.BigInt {
				p.how = fromUint32
			}
			return true
		}
		return false
	case parquet.Types.Int64:
		switch t.Kind {
		case types.BigInt, types.DayTime:
			return !isStamp && !isTime && (!isDecimal || decimal.Scale() == 0)
		case types.Timestamp, types.TimestampNTZ:
			if !isStamp || !loose && (stamp.TimeUnit() == schema.TimeUnitNanos || stamp.IsAdjustedToUTC() != (t.Kind == types.Timestamp)) {
				return false
			}
			if stamp.TimeUnit() == schema.TimeUnitNanos {
				p.how = fromNanos
			}
			if stamp.TimeUnit() == schema.TimeUnitMillis {
				p.factor = 1000
			}
			return true
		case types.Time:
			p.factor = 1000
			return isTime
		}
		return false
	case parquet.Types.Int96:
		p.how = fromInt96
		return t.Kind == types.Timestamp || loose && t.Kind == types.TimestampNTZ
	case parquet.Types.Float:
		if t.Kind == types.Double {
			p.how = fromFloat
			return true
		}
		return t.Kind == types.Float
	case parquet.Types.Double:
		return t.Kind == types.Double
	}
	return !isDecimal && (t.Kind == types.String && (loose || phys == parquet.Types.ByteArray) || t.Kind == types.Binary)
}
