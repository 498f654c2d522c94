package expr

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sort"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// Sketches that count distinct values: HLL in the layout of the DataSketches library, as long as it holds
// few values or comes of one partition with equal estimates, and theta sketches, which also intersect.

// sketchSeed is the seed of the hash that DataSketches uses everywhere.
const sketchSeed = 9001

// murmur128 is MurmurHash3 x64 128.
func murmur128(b []byte, seed uint64) (h1, h2 uint64) {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	h1, h2 = seed, seed
	n := len(b)
	for ; len(b) >= 16; b = b[16:] {
		k1, k2 := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		h1 ^= bits.RotateLeft64(k1*c1, 31) * c2
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= bits.RotateLeft64(k2*c2, 33) * c1
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var k1, k2 uint64
	for i, c := range b {
		if i < 8 {
			k1 |= uint64(c) << (8 * i)
		} else {
			k2 |= uint64(c) << (8 * (i - 8))
		}
	}
	h2 ^= bits.RotateLeft64(k2*c2, 33) * c1
	h1 ^= bits.RotateLeft64(k1*c1, 31) * c2
	h1 ^= uint64(n)
	h2 ^= uint64(n)
	h1 += h2
	h2 += h1
	mix := func(k uint64) uint64 {
		k ^= k >> 33
		k *= 0xff51afd7ed558ccd
		k ^= k >> 33
		k *= 0xc4ceb9fe1a85ec53
		return k ^ k>>33
	}
	h1, h2 = mix(h1), mix(h2)
	h1 += h2
	h2 += h1
	return h1, h2
}

// sketchHash hashes a value as DataSketches does; ok is false for what it ignores: empty texts and arrays.
func sketchHash(v *columnar.Vec, i int) (h1, h2 uint64, ok bool) {
	i = v.Row(i)
	var buf [8]byte
	long := func(x uint64) (uint64, uint64, bool) {
		binary.LittleEndian.PutUint64(buf[:], x)
		a, b := murmur128(buf[:], sketchSeed)
		return a, b, true
	}
	switch v.Phys {
	case columnar.PI8:
		return long(uint64(int64(v.I8[i])))
	case columnar.PI16:
		return long(uint64(int64(v.I16[i])))
	case columnar.PI32:
		return long(uint64(int64(v.I32[i])))
	case columnar.PI64:
		return long(uint64(v.I64[i]))
	case columnar.PF32, columnar.PF64:
		f := 0.0
		if v.Phys == columnar.PF32 {
			f = float64(v.F32[i])
		} else {
			f = v.F64[i]
		}
		if f == 0 {
			f = 0
		}
		if math.IsNaN(f) {
			return long(0x7ff8000000000000)
		}
		return long(math.Float64bits(f))
	case columnar.PList:
		k := v.Kids[0]
		var b []byte
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			switch {
			case k.IsNull(int(j)):
			case k.Phys == columnar.PI32:
				b = binary.LittleEndian.AppendUint32(b, uint32(k.I32[j]))
			default:
				b = binary.LittleEndian.AppendUint64(b, uint64(k.I64[j]))
			}
		}
		if len(b) == 0 {
			return 0, 0, false
		}
		h1, h2 = murmur128(b, sketchSeed)
		return h1, h2, true
	}
	b := v.Bytes(i)
	if len(b) == 0 {
		return 0, 0, false
	}
	h1, h2 = murmur128(b, sketchSeed)
	return h1, h2, true
}

// hllSketch holds coupons (26 bits of address, 6 of rank) while they are few, then a byte for each of 2^lgK
// registers. hip is the running estimate that holds while registers only ever came from single values.
type hllSketch struct {
	lgK     int
	coupons []uint32
	regs    []byte
	hip     float64
	merged  bool
}

func (h *hllSketch) limit() int {
	if h.lgK < 8 {
		return 8
	}
	return 3 << h.lgK / 32 // three quarters of the largest table of coupons
}

func (h *hllSketch) update(v *columnar.Vec, i int) error {
	h1, h2, ok := sketchHash(v, i)
	if ok {
		h.add(uint32(h1)&(1<<26-1) | uint32(min(bits.LeadingZeros64(h2), 62)+1)<<26)
	}
	return nil
}

func (h *hllSketch) add(coupon uint32) {
	if h.regs != nil {
		h.register(coupon)
		return
	}
	for _, c := range h.coupons {
		if c == coupon {
			return
		}
	}
	h.coupons = append(h.coupons, coupon)
	if len(h.coupons) > h.limit() || h.lgK < 8 && len(h.coupons) >= 8 {
		h.promote()
	}
}

func (h *hllSketch) promote() {
	n := float64(len(h.coupons))
	h.regs = make([]byte, 1<<h.lgK)
	for _, c := range h.coupons {
		h.register(c)
	}
	h.coupons, h.hip = nil, n
}

func (h *hllSketch) register(coupon uint32) {
	at, rank := coupon&(1<<h.lgK-1), byte(coupon>>26)
	if old := h.regs[at]; rank > old {
		h.hip += float64(len(h.regs)) / h.sum()
		h.regs[at] = rank
	}
}

func (h *hllSketch) sum() (s float64) {
	for _, r := range h.regs {
		s += math.Ldexp(1, -int(r))
	}
	return s
}

func (h *hllSketch) merge(s sketch) error {
	o := s.(*hllSketch)
	if o.lgK < h.lgK { // the coarser one decides
		h.fold(o.lgK)
	}
	if o.regs == nil {
		for _, c := range o.coupons {
			h.add(c)
		}
		return nil
	}
	if h.regs == nil {
		h.promote()
	}
	for i, r := range o.regs {
		k := i & (len(h.regs) - 1)
		h.regs[k] = max(h.regs[k], r)
	}
	h.merged = true
	return nil
}

func (h *hllSketch) fold(lgK int) {
	h.lgK = lgK
	if h.regs == nil {
		return
	}
	regs := make([]byte, 1<<lgK)
	for i, r := range h.regs {
		k := i & (len(regs) - 1)
		regs[k] = max(regs[k], r)
	}
	h.regs, h.merged = regs, true
}

func (h *hllSketch) estimate() float64 {
	switch {
	case h.regs == nil:
		return float64(len(h.coupons))
	case !h.merged:
		return h.hip
	}
	k := float64(len(h.regs))
	zeros := 0
	for _, r := range h.regs {
		if r == 0 {
			zeros++
		}
	}
	e := 0.7213 / (1 + 1.079/k) * k * k / h.sum()
	if e < 2.5*k && zeros > 0 {
		return k * math.Log(k/float64(zeros))
	}
	return e
}

// encode writes the updatable form of DataSketches for HLL_8.
func (h *hllSketch) encode(dst []byte) []byte {
	flags := byte(0)
	switch n := len(h.coupons); {
	case h.regs != nil:
		if h.merged {
			flags = 16
		}
		dst = append(dst, 10, 1, 7, byte(h.lgK), 0, flags, 0, 2|8)
		k0, k1 := 0.0, 0.0
		zeros := uint32(0)
		for _, r := range h.regs {
			if r < 32 {
				k0 += math.Ldexp(1, -int(r))
			} else {
				k1 += math.Ldexp(1, -int(r))
			}
			if r == 0 {
				zeros++
			}
		}
		for _, f := range []float64{h.hip, k0, k1} {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
		}
		dst = binary.LittleEndian.AppendUint32(dst, zeros)
		dst = binary.LittleEndian.AppendUint32(dst, 0)
		return append(dst, h.regs...)
	case n <= 8 && (n < 8 || h.lgK < 8):
		if n == 0 {
			flags = 4
		}
		dst = append(dst, 2, 1, 7, byte(h.lgK), 3, flags, byte(n), 0|8)
		for i := range 8 {
			c := uint32(0)
			if i < n {
				c = h.coupons[i]
			}
			dst = binary.LittleEndian.AppendUint32(dst, c)
		}
		return dst
	default:
		lg := 5
		for n > 3<<lg/4 {
			lg++
		}
		dst = append(dst, 3, 1, 7, byte(h.lgK), byte(lg), flags, 0, 1|8)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
		table := make([]uint32, 1<<lg)
		for _, c := range h.coupons {
			at, stride := c&(1<<lg-1), c&(1<<26-1)>>lg|1
			for table[at] != 0 {
				at = (at + stride) & (1<<lg - 1)
			}
			table[at] = c
		}
		for _, c := range table {
			dst = binary.LittleEndian.AppendUint32(dst, c)
		}
		return dst
	}
}

func decodeHLL(function string) func(b []byte) (sketch, error) {
	return func(b []byte) (sketch, error) {
		bad := errs.New("HLL_INVALID_INPUT_SKETCH_BUFFER", "function", types.Quote(function))
		if len(b) < 8 || b[1] != 1 || b[2] != 7 || b[3] < 4 || b[3] > 21 {
			return nil, bad
		}
		h := &hllSketch{lgK: int(b[3])}
		switch from := 4 * int(b[0]); {
		case b[0] == 10 && len(b) >= 40+1<<h.lgK:
			h.hip = math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
			h.merged = b[5]&16 != 0
			h.regs = append([]byte{}, b[40:40+1<<h.lgK]...)
		case b[0] == 2 || b[0] == 3:
			for i := from; i+4 <= len(b); i += 4 {
				if c := binary.LittleEndian.Uint32(b[i:]); c != 0 {
					h.coupons = append(h.coupons, c)
				}
			}
		default:
			return nil, bad
		}
		return h, nil
	}
}

// thetaSketch keeps the least hashes below theta, sorted, at most 2^lgN of them once it had to choose.
type thetaSketch struct {
	lgN    int
	theta  uint64
	hashes []uint64
}

const thetaAll = 1<<63 - 1

func (t *thetaSketch) update(v *columnar.Vec, i int) error {
	if h, _, ok := sketchHash(v, i); ok {
		t.add(h >> 1)
		t.trim(15 << t.lgN / 8)
	}
	return nil
}

func (t *thetaSketch) add(h uint64) {
	if h == 0 || h >= t.theta {
		return
	}
	at := sort.Search(len(t.hashes), func(k int) bool { return t.hashes[k] >= h })
	if at < len(t.hashes) && t.hashes[at] == h {
		return
	}
	t.hashes = append(t.hashes, 0)
	copy(t.hashes[at+1:], t.hashes[at:])
	t.hashes[at] = h
}

// trim keeps 2^lgN hashes if there are more than most.
func (t *thetaSketch) trim(most int) {
	if n := 1 << t.lgN; len(t.hashes) > most && len(t.hashes) > n {
		t.theta = t.hashes[n]
		t.hashes = t.hashes[:n]
	}
}

func (t *thetaSketch) below(theta uint64) {
	t.theta = min(t.theta, theta)
	n := sort.Search(len(t.hashes), func(k int) bool { return t.hashes[k] >= t.theta })
	t.hashes = t.hashes[:n]
}

func (t *thetaSketch) merge(s sketch) error {
	o := s.(*thetaSketch)
	t.below(o.theta)
	for _, h := range o.hashes {
		t.add(h)
	}
	t.trim(1 << t.lgN)
	return nil
}

func (t *thetaSketch) has(h uint64) bool {
	at := sort.Search(len(t.hashes), func(k int) bool { return t.hashes[k] >= h })
	return at < len(t.hashes) && t.hashes[at] == h
}

// keep leaves the hashes that are in o, or with without those that are not.
func (t *thetaSketch) keep(o *thetaSketch, without bool) {
	t.below(o.theta)
	kept := t.hashes[:0]
	for _, h := range t.hashes {
		if o.has(h) != without {
			kept = append(kept, h)
		}
	}
	t.hashes = kept
}

func (t *thetaSketch) estimate() float64 {
	return float64(len(t.hashes)) / (float64(t.theta) / float64(uint64(thetaAll)))
}

// encode has a layout of its own: a mark, lgN, theta, the hashes.
func (t *thetaSketch) encode(dst []byte) []byte {
	dst = append(dst, 't', 'h', 1, byte(t.lgN), 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, t.theta)
	for _, h := range t.hashes {
		dst = binary.LittleEndian.AppendUint64(dst, h)
	}
	return dst
}

func decodeTheta(function string) func(b []byte) (sketch, error) {
	return func(b []byte) (sketch, error) {
		if len(b) < 16 || len(b)%8 != 0 || b[0] != 't' || b[1] != 'h' || b[2] != 1 || b[3] < 4 || b[3] > 26 {
			return nil, errs.New("THETA_INVALID_INPUT_SKETCH_BUFFER", "function", types.Quote(function))
		}
		t := &thetaSketch{lgN: int(b[3]), theta: binary.LittleEndian.Uint64(b[8:])}
		for i := 16; i < len(b); i += 8 {
			t.hashes = append(t.hashes, binary.LittleEndian.Uint64(b[i:]))
		}
		return t, nil
	}
}

// thetaIntersection intersects what comes; the first sketch is kept as it is.
type thetaIntersection struct {
	t *thetaSketch
	f string
}

func (x *thetaIntersection) update(v *columnar.Vec, i int) error {
	s, err := decodeTheta(x.f)(v.Bytes(v.Row(i)))
	if err != nil {
		return err
	}
	return x.merge(&thetaIntersection{t: s.(*thetaSketch)})
}

func (x *thetaIntersection) merge(s sketch) error {
	o := s.(*thetaIntersection).t
	switch {
	case o == nil:
	case x.t == nil:
		x.t = o
	default:
		x.t.keep(o, false)
	}
	return nil
}

func (x *thetaIntersection) encode(dst []byte) []byte {
	if x.t == nil {
		return (&thetaSketch{lgN: 12, theta: thetaAll}).encode(dst)
	}
	return x.t.encode(dst)
}

// unionOf is an aggregate over sketches: update decodes one and merges it.
type unionOf struct {
	sketch
	read  func(b []byte) (sketch, error)
	check func(into, s sketch) error
}

func (u *unionOf) update(v *columnar.Vec, i int) error {
	s, err := u.read(v.Bytes(v.Row(i)))
	if err != nil {
		return err
	}
	return u.take(s)
}

func (u *unionOf) take(s sketch) error {
	if u.sketch == nil {
		u.sketch = s
		return nil
	}
	if err := u.check(u.sketch, s); err != nil {
		return err
	}
	return u.sketch.merge(s)
}

func (u *unionOf) merge(s sketch) error {
	if o := s.(*unionOf); o.sketch != nil {
		return u.take(o.sketch)
	}
	return nil
}
