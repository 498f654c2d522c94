package expr

import (
	"encoding/binary"
	"math"
	"math/bits"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// buildApproxCount builds approx_count_distinct: HyperLogLog++ over xxhash64, as Spark has it.
func buildApproxCount(c *Call) (*AggregateCall, error) {
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	rsd := 0.05
	if len(c.Args) == 2 {
		l, err := Const(c.Args[1], c.Conf)
		if err != nil {
			return nil, err
		}
		if l == nil || l.Value.IsNull(0) || !l.Type().IsNumeric() {
			return nil, errs.New("_LEGACY_ERROR_TEMP_1104")
		}
		rsd = numberAt(l.Value, 0)
	}
	p := int(math.Ceil(2 * math.Log(1.106/rsd) / math.Log(2)))
	if p < 4 {
		return nil, errs.New("FAILED_FUNCTION_CALL", "funcName", "`approx_count_distinct`")
	}
	a := c.aggregate(c.Args[:1], types.Of(types.BigInt), false, func() Aggregate { return &hll{p: min(p, 18)} })
	a.Text = aggText(c.Name, c.Args[:1], c.Distinct)
	return a, nil
}

// hll keeps one byte a register in the arena.
type hll struct {
	p     int
	zeros []byte
}

func (*hll) Width() int  { return columnar.RefWidth }
func (*hll) Refs() []int { return []int{0} }

func (a *hll) registers(r *columnar.Records, off int, g uint32) []byte {
	rec := r.At(g)
	if b := r.Load(rec, off); b != nil {
		return b
	}
	if a.zeros == nil {
		a.zeros = make([]byte, 1<<a.p)
	}
	r.Store(rec, off, a.zeros)
	return r.Load(rec, off)
}

func (a *hll) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	for k := range sel.N {
		i := sel.At(k)
		if v.IsNull(i) {
			continue
		}
		h := sparkXXHash(v, v.Row(i), 42)
		regs := a.registers(r, off, groups[k])
		idx := h >> (64 - a.p)
		// The rank counts the leading zeros of the rest, with a sentinel behind it.
		rank := byte(bits.LeadingZeros64(h<<a.p|1<<(a.p-1)) + 1)
		if rank > regs[idx] {
			regs[idx] = rank
		}
	}
	return nil
}

func (a *hll) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		b := from.Load(from.At(fromGroups[k]), fromOff)
		if b == nil {
			continue
		}
		regs := a.registers(into, off, g)
		for i, x := range b {
			regs[i] = max(regs[i], x)
		}
	}
	return nil
}

func (a *hll) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(types.Of(types.BigInt), len(groups))
	m := float64(int(1) << a.p)
	for k, g := range groups {
		regs := r.Load(r.At(g), off)
		if regs == nil {
			out.I64[k] = 0
			continue
		}
		sum, zeros := 0.0, 0.0
		for _, x := range regs {
			sum += 1 / float64(uint64(1)<<x)
			if x == 0 {
				zeros++
			}
		}
		alpha := 0.7213 / (1 + 1.079/m)
		switch a.p {
		case 4:
			alpha = 0.673
		case 5:
			alpha = 0.697
		case 6:
			alpha = 0.709
		}
		e := alpha * m * m / sum
		switch {
		case zeros > 0 && e <= 2.5*m: // count the empty registers, as recorded answers do
			e = m * math.Log(m/zeros)
		case e < 5*m:
			e -= hllBias(a.p, e)
		}
		out.I64[k] = int64(math.Round(e))
	}
	return nil
}

// hllBias is the mean error of the raw estimate e. The raw estimate counts n + bias(n); with the load n/m as
// parameter the bias relative to m hardly depends on m, and an exponential describes it well.
func hllBias(p int, e float64) float64 {
	m := float64(int(1) << p)
	// At load x the raw estimate exceeds the truth by about m·f(x), f falling from 0.7213 to nothing at 5.
	lo, hi := 0.0, 5.0
	for range 50 {
		mid := (lo + hi) / 2
		if mid+rawExcess(mid) < e/m {
			lo = mid
		} else {
			hi = mid
		}
	}
	return m * rawExcess((lo+hi)/2)
}

// rawExcess is the expected raw estimate at load x minus x, for many registers.
func rawExcess(x float64) float64 {
	// E[2^-M] for a register that got a Poisson number of values of mean x.
	sum := math.Exp(-x)
	for k := 1; k < 64; k++ {
		q := math.Ldexp(x, -k)
		sum += math.Ldexp(math.Exp(-q)-math.Exp(-2*q), -k)
	}
	return max(0, 0.7213/sum-x)
}

// The primes of xxHash64.
const (
	xxPrime1 uint64 = 0x9E3779B185EBCA87
	xxPrime2 uint64 = 0xC2B2AE3D27D4EB4F
	xxPrime3 uint64 = 0x165667B19E3779F9
	xxPrime4 uint64 = 0x85EBCA77C2B2AE63
	xxPrime5 uint64 = 0x27D4EB2F165667C5
)

func xxAvalanche(h uint64) uint64 {
	h ^= h >> 33
	h *= xxPrime2
	h ^= h >> 29
	h *= xxPrime3
	return h ^ h>>32
}

func xxInt(x uint32, seed uint64) uint64 {
	h := seed + xxPrime5 + 4
	h ^= uint64(x) * xxPrime1
	h = bits.RotateLeft64(h, 23)*xxPrime2 + xxPrime3
	return xxAvalanche(h)
}

func xxLong(x uint64, seed uint64) uint64 {
	h := seed + xxPrime5 + 8
	h ^= bits.RotateLeft64(x*xxPrime2, 31) * xxPrime1
	h = bits.RotateLeft64(h, 27)*xxPrime1 + xxPrime4
	return xxAvalanche(h)
}

func xxBytes(b []byte, seed uint64) uint64 {
	n := uint64(len(b))
	var h uint64
	if len(b) >= 32 {
		v1, v2, v3, v4 := seed+xxPrime1+xxPrime2, seed+xxPrime2, seed, seed-xxPrime1
		round := func(v, x uint64) uint64 { return bits.RotateLeft64(v+x*xxPrime2, 31) * xxPrime1 }
		for len(b) >= 32 {
			v1 = round(v1, binary.LittleEndian.Uint64(b))
			v2 = round(v2, binary.LittleEndian.Uint64(b[8:]))
			v3 = round(v3, binary.LittleEndian.Uint64(b[16:]))
			v4 = round(v4, binary.LittleEndian.Uint64(b[24:]))
			b = b[32:]
		}
		h = bits.RotateLeft64(v1, 1) + bits.RotateLeft64(v2, 7) + bits.RotateLeft64(v3, 12) + bits.RotateLeft64(v4, 18)
		for _, v := range [...]uint64{v1, v2, v3, v4} {
			h ^= round(0, v)
			h = h*xxPrime1 + xxPrime4
		}
	} else {
		h = seed + xxPrime5
	}
	h += n
	for len(b) >= 8 {
		h ^= bits.RotateLeft64(binary.LittleEndian.Uint64(b)*xxPrime2, 31) * xxPrime1
		h = bits.RotateLeft64(h, 27)*xxPrime1 + xxPrime4
		b = b[8:]
	}
	if len(b) >= 4 {
		h ^= uint64(binary.LittleEndian.Uint32(b)) * xxPrime1
		h = bits.RotateLeft64(h, 23)*xxPrime2 + xxPrime3
		b = b[4:]
	}
	for _, c := range b {
		h ^= uint64(c) * xxPrime5
		h = bits.RotateLeft64(h, 11) * xxPrime1
	}
	return xxAvalanche(h)
}

// sparkXXHash is Spark's xxhash64 of a value; null leaves the seed.
func sparkXXHash(v *columnar.Vec, i int, seed uint64) uint64 {
	if v.IsNull(i) {
		return seed
	}
	switch v.Phys {
	case columnar.PBool:
		if v.Bool(i) {
			return xxInt(1, seed)
		}
		return xxInt(0, seed)
	case columnar.PI8, columnar.PI16, columnar.PI32:
		return xxInt(uint32(int32(i64At(v, i))), seed)
	case columnar.PI64:
		return xxLong(uint64(v.I64[i]), seed)
	case columnar.PF32:
		return xxInt(math.Float32bits(float32(canonical(float64(v.F32[i])))), seed)
	case columnar.PF64:
		f := v.F64[i]
		if f != f { // Java's NaN
			return xxLong(0x7ff8000000000000, seed)
		}
		return xxLong(math.Float64bits(canonical(f)), seed)
	case columnar.PDec:
		if v.Type.Precision <= 18 {
			return xxLong(v.Dec[i].LowBits(), seed)
		}
		return xxBytes(javaBigInteger(v, i), seed)
	case columnar.PBytes:
		return xxBytes(v.Bytes(i), seed)
	case columnar.PList, columnar.PMap:
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			for _, k := range v.Kids {
				seed = sparkXXHash(k, int(j), seed)
			}
		}
	case columnar.PStruct:
		for _, k := range v.Kids {
			seed = sparkXXHash(k, i, seed)
		}
	}
	return seed
}

// javaBigInteger is the shortest big-endian two's complement of an unscaled decimal.
func javaBigInteger(v *columnar.Vec, i int) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(v.Dec[i].HighBits()))
	binary.BigEndian.PutUint64(b[8:], v.Dec[i].LowBits())
	s := b[:]
	for len(s) > 1 && (s[0] == 0 && s[1] < 0x80 || s[0] == 0xff && s[1] >= 0x80) {
		s = s[1:]
	}
	return append([]byte(nil), s...)
}
