package expr

import (
	"encoding/binary"
	"math"
	"sort"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// histogram_numeric sums its values up in a bounded number of bins, after Ben-Haim and Tom-Tov: a value joins
// the bin that stands at it, or becomes a bin of its own; where there are too many, the two nearest ones become
// one at their weighted mean. What is kept of a group is its bins, as in Spark: the bins of two parts are laid
// side by side, so equal points of two parts stay two bins as long as there is room for both.

func buildHistogram(c *Call) (*AggregateCall, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	text := aggText(c.Name, c.Args, c.Distinct)
	x := c.Args[0]
	if k := x.Type().Kind; k == types.String || k == types.Null {
		x = CastTo(x, types.Of(types.Double), c.Conf)
	}
	t := x.Type()
	if !t.IsNumeric() && !t.IsDatetime() && t.Kind != types.DayTime && t.Kind != types.YearMonth {
		return nil, WrongType(text, 0, `("NUMERIC" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ" or "INTERVAL YEAR TO MONTH" or "INTERVAL DAY TO SECOND")`, x)
	}
	n, err := constantInt(c.Args[1], text, "nb", "nb", 2, math.MaxInt32, "[2, 2147483647]", c.Conf)
	if err != nil {
		return nil, err
	}
	out := types.ArrayOf(types.StructOf(types.Field{Name: "x", Type: t, Nullable: true},
		types.Field{Name: "y", Type: types.Of(types.Double), Nullable: true}), true)
	return c.aggregate([]Expr{x}, out, true, func() Aggregate {
		return &histogram{in: t, out: out, most: int(n)}
	}), nil
}

// histogram's part of a record is a Ref to the bins, in ascending order, then the state of the generator that
// decides between equally near bins; 0 before its first use.
type histogram struct {
	in, out types.DataType
	most    int
}

func (*histogram) Width() int  { return columnar.RefWidth + 8 }
func (*histogram) Refs() []int { return []int{0} }

// bins are pairs of little-endian doubles: where a bin stands and how much it holds.
type bins []byte

const binWidth = 16

// Len, Less and Swap order bins by where they stand, as Double.compare of Java does: -0.0 before 0.0, NaN last.
func (b bins) Len() int { return len(b) / binWidth }

func (b bins) Less(i, j int) bool {
	x, y := b.x(i), b.x(j)
	if x == y {
		return math.Signbit(x) && !math.Signbit(y)
	}
	return x < y || math.IsNaN(y) && !math.IsNaN(x)
}

func (b bins) Swap(i, j int) {
	x, y := b.x(i), b.y(i)
	b.set(i, b.x(j), b.y(j))
	b.set(j, x, y)
}

func (b bins) x(i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b[i*binWidth:]))
}

func (b bins) y(i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b[i*binWidth+8:]))
}

func (b bins) set(i int, x, y float64) {
	binary.LittleEndian.PutUint64(b[i*binWidth:], math.Float64bits(x))
	binary.LittleEndian.PutUint64(b[i*binWidth+8:], math.Float64bits(y))
}

func (a *histogram) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	for k := range sel.N {
		if i := sel.At(k); !args[0].IsNull(i) {
			a.add(r, off, groups[k], numberAt(args[0], i))
		}
	}
	return nil
}

func (a *histogram) add(r *columnar.Records, off int, g uint32, x float64) {
	b := bins(r.Load(r.At(g), off))
	// Of several bins at x, which two parts may have left, the one that halving meets first takes it.
	at := 0
	for lo, hi := 0, b.Len(); lo < hi; {
		at = (lo + hi) / 2
		switch y := b.x(at); {
		case y > x:
			hi = at
		case y < x:
			at++
			lo = at
		default:
			lo = hi
		}
	}
	if at < b.Len() && b.x(at) == x {
		b.set(at, x, b.y(at)+1)
		return
	}
	var one [binWidth]byte
	r.Extend(r.At(g), off, one[:])
	b = r.Load(r.At(g), off)
	copy(b[(at+1)*binWidth:], b[at*binWidth:])
	b.set(at, x, 1)
	if b.Len() > a.most {
		random := (*javaRandom)(i64p(r, g, off+columnar.RefWidth))
		if *random == 0 {
			*random = newJavaRandom(histogramSeed)
		}
		r.Store(r.At(g), off, b.trim(a.most, random))
	}
}

// trim joins the nearest bins until no more than most are left; random decides between pairs that are equally
// near.
func (b bins) trim(most int, random *javaRandom) bins {
	for b.Len() > most {
		near, ties, least := 0, 1, b.x(1)-b.x(0)
		for k := 1; k+1 < b.Len(); k++ {
			gap := b.x(k+1) - b.x(k)
			if gap < least {
				near, ties, least = k, 1, gap
			} else if gap == least {
				if ties++; random.double() <= 1/float64(ties) {
					near = k
				}
			}
		}
		// The products are made in Spark's order, for the last digits of the mean.
		sum := b.y(near) + b.y(near+1)
		left := b.x(near) * (b.y(near) / sum)
		right := b.x(near+1) / sum * b.y(near+1)
		b.set(near, left+right, sum)
		copy(b[(near+1)*binWidth:], b[(near+2)*binWidth:])
		b = b[:len(b)-binWidth]
	}
	return b
}

func (a *histogram) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		more := bins(from.Load(from.At(fromGroups[k]), fromOff))
		if len(more) == 0 {
			continue
		}
		had := into.Load(into.At(g), off)
		all := append(append(make(bins, 0, len(had)+len(more)), had...), more...)
		sort.Stable(all)
		random := newJavaRandom(histogramSeed)
		into.Store(into.At(g), off, all.trim(a.most, &random))
	}
	return nil
}

func (a *histogram) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	*out = columnar.Vec{Type: a.out}
	ap := NewAppender(out)
	x := columnar.NewVec(a.in, 1)
	for _, g := range groups {
		b := bins(r.Load(r.At(g), off))
		if b.Len() == 0 {
			ap.AppendNull()
			continue
		}
		for i := range b.Len() {
			setNumber(x, b.x(i))
			ap.Kid(0).Kid(0).Append(x, 0)
			ap.Kid(0).Kid(1).AppendF64(b.y(i))
			ap.Kid(0).End()
		}
		ap.End()
	}
	ap.Finish()
	return nil
}

// histogramSeed is what Spark's histograms start their generator with.
const histogramSeed = 31183

// javaRandom is the state of a java.util.Random.
type javaRandom int64

func newJavaRandom(seed int64) javaRandom { return javaRandom((seed ^ 0x5DEECE66D) & (1<<48 - 1)) }

func (s *javaRandom) bits(n int) int64 {
	*s = javaRandom((uint64(*s)*0x5DEECE66D + 0xB) & (1<<48 - 1))
	return int64(*s) >> (48 - n)
}

// double gives the next number from 0 up to 1.
func (s *javaRandom) double() float64 {
	high := s.bits(26) << 27
	return float64(high+s.bits(27)) / (1 << 53)
}

// numberAt is the value of any numeric, date or interval row as a double.
func numberAt(v *columnar.Vec, i int) float64 {
	switch v.Phys {
	case columnar.PF32, columnar.PF64:
		return f64At(v, i)
	case columnar.PDec:
		return decToF64(v.Dec[i], v.Type.Scale)
	}
	return float64(i64At(v, i))
}

func setNumber(v *columnar.Vec, x float64) {
	switch v.Phys {
	case columnar.PF32:
		v.F32[0] = float32(x)
	case columnar.PF64:
		v.F64[0] = x
	case columnar.PDec:
		v.Dec[0], _ = decFromF64(x, 64, v.Type.Precision, v.Type.Scale)
	default:
		putI64(v, 0, int64(x))
	}
}
