package expr

import (
	"encoding/binary"
	"math"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// countMin is a count-min sketch in Spark's serialized form: version, total, depth, width, a hash multiplier
// a row and the counts.
type countMin struct {
	total        int64
	depth, width int
	hashes       []int64
	table        []int64
}

// lcgRandom gives the numbers of java.util.Random, from which Spark takes the multipliers.
type lcgRandom uint64

func (j *lcgRandom) next(bits int) int32 {
	*j = (*j*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return int32(*j >> (48 - bits))
}

func newCountMin(eps, confidence float64, seed int32) *countMin {
	m := &countMin{width: int(math.Ceil(2 / eps)), depth: int(math.Ceil(-math.Log1p(-confidence) / math.Log(2)))}
	r := lcgRandom((uint64(int64(seed)) ^ 0x5DEECE66D) & (1<<48 - 1))
	for range m.depth {
		const bound = math.MaxInt32
		n := r.next(31)
		u := n
		for n = u % bound; u-n+(bound-1) < 0; n = u % bound {
			u = r.next(31)
		}
		m.hashes = append(m.hashes, int64(n))
	}
	m.table = make([]int64, m.depth*m.width)
	return m
}

func (m *countMin) update(v *columnar.Vec, i int) error {
	i = v.Row(i)
	m.total++
	if v.Phys == columnar.PBytes {
		b := v.Bytes(i)
		h1 := murmurPlain(b, 0)
		h2 := murmurPlain(b, h1)
		for d := range m.depth {
			at := (int32(h1) + int32(d)*int32(h2)) % int32(m.width)
			if at < 0 {
				at = -at
			}
			m.table[d*m.width+int(at)]++
		}
		return nil
	}
	item := integralAt(v, i)
	for d, a := range m.hashes {
		h := a * item
		h += h >> 32
		h &= math.MaxInt32
		m.table[d*m.width+int(int32(h)%int32(m.width))]++
	}
	return nil
}

// murmurPlain is MurmurHash3 x86 32 whose last bytes count one by one as Spark's hash does.
func murmurPlain(b []byte, seed uint32) uint32 {
	h, n := seed, len(b)
	for ; len(b) >= 4; b = b[4:] {
		h = murmurMix(h, binary.LittleEndian.Uint32(b))
	}
	for _, c := range b {
		h = murmurMix(h, uint32(int32(int8(c))))
	}
	return murmurEnd(h, uint32(n))
}

func (m *countMin) merge(s sketch) error {
	o := s.(*countMin)
	m.total += o.total
	for i, n := range o.table {
		m.table[i] += n
	}
	return nil
}

func (m *countMin) encode(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 1)
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.total))
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.depth))
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.width))
	for _, l := range [][]int64{m.hashes, m.table} {
		for _, n := range l {
			dst = binary.BigEndian.AppendUint64(dst, uint64(n))
		}
	}
	return dst
}

func decodeCountMin(b []byte) (sketch, error) {
	m := &countMin{total: int64(binary.BigEndian.Uint64(b[4:])), depth: int(binary.BigEndian.Uint32(b[12:])), width: int(binary.BigEndian.Uint32(b[16:]))}
	for i := 20; i+8 <= len(b); i += 8 {
		if n := int64(binary.BigEndian.Uint64(b[i:])); len(m.hashes) < m.depth {
			m.hashes = append(m.hashes, n)
		} else {
			m.table = append(m.table, n)
		}
	}
	return m, nil
}

func countMinFunctions() []Function {
	f := sketchFunction("count_min_sketch(column, epsilon, confidence, seed)", "Count-min sketch of the values, in Spark's layout.", buildCountMin)
	f.Params = []string{"column", "epsilon", "confidence", "seed"}
	return []Function{f}
}

func buildCountMin(c *Call) (*AggregateCall, error) {
	if err := c.Arity(4, 4); err != nil {
		return nil, err
	}
	text := aggText(c.Name, c.Args, c.Distinct)
	x := c.Args[0]
	if t := x.Type(); !t.IsIntegral() && t.Kind != types.String && t.Kind != types.Binary {
		return nil, WrongType(text, 0, `("INTEGRAL" or "STRING" or "BINARY")`, x)
	}
	names := []string{"", "eps", "confidence", "seed"}
	values := make([]*Literal, 4)
	for i := 1; i < 4; i++ {
		want := tDouble
		if i == 3 {
			want = tInt
		}
		e, ok := ImplicitCast(c.Args[i], want, c.Conf)
		if !ok {
			return nil, WrongType(text, i, quoted(want.SQL()), c.Args[i])
		}
		if !Foldable(c.Args[i]) {
			return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(text), "inputName", "`"+names[i]+"`",
				"inputType", quoted(want.SQL()), "inputExpr", quoted(c.Args[i].String()))
		}
		l, err := Const(e, c.Conf)
		if err != nil {
			return nil, err
		}
		if l == nil || l.Value.IsNull(0) {
			return nil, errs.New("DATATYPE_MISMATCH.UNEXPECTED_NULL", "sqlExpr", quoted(text), "exprName", names[i])
		}
		values[i] = l
	}
	eps, confidence, seed := values[1].Value.F64[0], values[2].Value.F64[0], values[3].Value.I32[0]
	if !(eps > 0) {
		return nil, errs.New("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "sqlExpr", quoted(text), "exprName", "eps",
			"valueRange", "(0.0, 1.7976931348623157E308]", "currentValue", DoubleLit(eps).String()+"D")
	}
	if !(confidence > 0 && confidence < 1) {
		return nil, errs.New("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "sqlExpr", quoted(text), "exprName", "confidence",
			"valueRange", "(0.0, 1.0]", "currentValue", DoubleLit(confidence).String()+"D")
	}
	return c.aggregate(c.Args[:1], tBinary, false, func() Aggregate {
		return &sketchAgg{out: tBinary, empty: func() sketch { return newCountMin(eps, confidence, seed) }, decode: decodeCountMin, result: encoded}
	}), nil
}
