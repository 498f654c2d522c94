package expr

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math"
	"math/bits"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func hashFunctions() []Function {
	text := func(f func(dst, s []byte) []byte) func(c *Call) (Expr, error) {
		return sig{in: "b", out: tString, k: bytesToBytes(f)}.build
	}
	sha := text(func(dst, s []byte) []byte { h := sha1.Sum(s); return hex.AppendEncode(dst, h[:]) })
	out := []Function{
		fn("hash(expr1, ...)", "Murmur3 hash of the arguments.", hashBuilder(false)),
		fn("xxhash64(expr1, ...)", "64-bit xxHash of the arguments.", hashBuilder(true)),
		fn("md5(bin)", "MD5 as hexadecimal digits.", text(func(dst, s []byte) []byte { h := md5.Sum(s); return hex.AppendEncode(dst, h[:]) })),
		fn("sha2(bin, bits)", "SHA-2 of 224, 256 (or 0), 384 or 512 bits as hexadecimal digits; null for other lengths.", sig{in: "bi", out: tString, null: true, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
			s := r.bytes(0)
			switch r.i32(1) {
			case 224:
				h := sha256.Sum224(s)
				return hex.AppendEncode(dst, h[:]), nil
			case 0, 256:
				h := sha256.Sum256(s)
				return hex.AppendEncode(dst, h[:]), nil
			case 384:
				h := sha512.Sum384(s)
				return hex.AppendEncode(dst, h[:]), nil
			case 512:
				h := sha512.Sum512(s)
				return hex.AppendEncode(dst, h[:]), nil
			}
			return dst, errNull
		})}.build),
		fn("crc32(bin)", "CRC-32.", sig{in: "b", out: tBigInt, k: bytesToBigInt(func(s []byte) int64 { return int64(crc32.ChecksumIEEE(s)) })}.build),
	}
	return append(out, synonyms(fn("sha1(bin)", "SHA-1 as hexadecimal digits.", sha), "sha")...)
}

func containsKind(t types.DataType, k types.Kind) bool {
	if t.Kind == k || t.Elem != nil && containsKind(*t.Elem, k) || t.Key != nil && containsKind(*t.Key, k) {
		return true
	}
	for _, f := range t.Fields {
		if containsKind(f.Type, k) {
			return true
		}
	}
	return false
}

func hashBuilder(wide bool) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(1, -1); err != nil {
			return nil, err
		}
		for _, a := range c.Args {
			for k, cond := range map[types.Kind]string{types.Map: "HASH_MAP_TYPE", types.Variant: "HASH_VARIANT_TYPE"} {
				if containsKind(a.Type(), k) {
					return nil, errs.New("DATATYPE_MISMATCH."+cond, "sqlExpr", quoted(c.Text()), "functionName", types.Quote(c.Name))
				}
			}
		}
		if wide {
			return NewScalar("xxhash64", tBigInt, false, c.Args, "", i64Rows(func(r *row) (int64, error) {
				h := uint64(42)
				for _, v := range r.args {
					h = XXHash64(v, r.i, h)
				}
				return int64(h), nil
			})), nil
		}
		return NewScalar("hash", tInt, false, c.Args, "", i32Rows(func(r *row) (int32, error) {
			h := uint32(42)
			for _, v := range r.args {
				h = Murmur3(v, r.i, h)
			}
			return int32(h), nil
		})), nil
	}
}

// hashWord is the value of a row as Spark's hashes see it: 4 bytes, 8 bytes, or bytes.
func hashWord(v *columnar.Vec, i int) (word uint64, size int, b []byte) {
	i = v.Row(i)
	switch v.Phys {
	case columnar.PBool, columnar.PI8, columnar.PI16, columnar.PI32:
		return uint64(uint32(integralAt(v, i))), 4, nil
	case columnar.PI64:
		return uint64(v.I64[i]), 8, nil
	case columnar.PF32:
		f := v.F32[i]
		if f != f {
			return 0x7fc00000, 4, nil
		}
		return uint64(math.Float32bits(f + 0)), 4, nil
	case columnar.PF64:
		f := v.F64[i]
		if f != f {
			return 0x7ff8000000000000, 8, nil
		}
		return math.Float64bits(f + 0), 8, nil
	case columnar.PDec:
		n := v.Dec[i]
		if v.Type.Precision <= 18 {
			return n.LowBits(), 8, nil
		}
		var full [16]byte
		binary.BigEndian.PutUint64(full[:], uint64(n.HighBits()))
		binary.BigEndian.PutUint64(full[8:], n.LowBits())
		b := full[:]
		for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
			b = b[1:]
		}
		return 0, 0, append([]byte(nil), b...)
	}
	return 0, 0, v.Bytes(i)
}

// Murmur3 folds row i of v into a hash, as Spark's hash() does. A null leaves it.
func Murmur3(v *columnar.Vec, i int, seed uint32) uint32 {
	if v.IsNull(i) {
		return seed
	}
	i = v.Row(i)
	switch v.Phys {
	case columnar.PList:
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			seed = Murmur3(v.Kids[0], int(j), seed)
		}
		return seed
	case columnar.PStruct:
		if v.Type.Kind == types.Calendar {
			return Murmur3(v.Kids[0], i, Murmur3(v.Kids[1], i, Murmur3(v.Kids[2], i, seed)))
		}
		for _, k := range v.Kids {
			seed = Murmur3(k, i, seed)
		}
		return seed
	}
	w, size, b := hashWord(v, i)
	switch size {
	case 4:
		return murmurEnd(murmurMix(seed, uint32(w)), 4)
	case 8:
		return murmurEnd(murmurMix(murmurMix(seed, uint32(w)), uint32(w>>32)), 8)
	}
	h := seed
	n := len(b)
	for ; len(b) >= 4; b = b[4:] {
		h = murmurMix(h, binary.LittleEndian.Uint32(b))
	}
	for _, c := range b { // Spark mixes the tail byte by byte, signed
		h = murmurMix(h, uint32(int32(int8(c))))
	}
	return murmurEnd(h, uint32(n))
}

func murmurMix(h, k uint32) uint32 {
	k *= 0xcc9e2d51
	k = bits.RotateLeft32(k, 15)
	k *= 0x1b873593
	h ^= k
	return bits.RotateLeft32(h, 13)*5 + 0xe6546b64
}

func murmurEnd(h, n uint32) uint32 {
	h ^= n
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// XXHash64 folds row i of v into a hash, as Spark's xxhash64() does. A null leaves it.
func XXHash64(v *columnar.Vec, i int, seed uint64) uint64 {
	if v.IsNull(i) {
		return seed
	}
	i = v.Row(i)
	switch v.Phys {
	case columnar.PList:
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			seed = XXHash64(v.Kids[0], int(j), seed)
		}
		return seed
	case columnar.PStruct:
		if v.Type.Kind == types.Calendar {
			return XXHash64(v.Kids[0], i, XXHash64(v.Kids[1], i, XXHash64(v.Kids[2], i, seed)))
		}
		for _, k := range v.Kids {
			seed = XXHash64(k, i, seed)
		}
		return seed
	}
	w, size, b := hashWord(v, i)
	switch size {
	case 4:
		h := seed + xxPrime5 + 4
		h ^= uint64(uint32(w)) * xxPrime1
		return xxEnd(bits.RotateLeft64(h, 23)*xxPrime2 + xxPrime3)
	case 8:
		return xxEnd(xxWord(seed+xxPrime5+8, w))
	}
	n := uint64(len(b))
	h := seed + xxPrime5
	if len(b) >= 32 {
		a := [4]uint64{seed, seed, seed, seed}
		a[0] += xxPrime1
		a[0] += xxPrime2
		a[1] += xxPrime2
		a[3] -= xxPrime1
		for ; len(b) >= 32; b = b[32:] {
			for k := range a {
				a[k] = xxRound(a[k], binary.LittleEndian.Uint64(b[8*k:]))
			}
		}
		h = bits.RotateLeft64(a[0], 1) + bits.RotateLeft64(a[1], 7) + bits.RotateLeft64(a[2], 12) + bits.RotateLeft64(a[3], 18)
		for _, x := range a {
			h = (h^xxRound(0, x))*xxPrime1 + xxPrime4
		}
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h = xxWord(h, binary.LittleEndian.Uint64(b))
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
	return xxEnd(h)
}

func xxRound(acc, x uint64) uint64 {
	acc += x * xxPrime2
	return bits.RotateLeft64(acc, 31) * xxPrime1
}

func xxWord(h, x uint64) uint64 {
	h ^= xxRound(0, x)
	return bits.RotateLeft64(h, 27)*xxPrime1 + xxPrime4
}

func xxEnd(h uint64) uint64 {
	h ^= h >> 33
	h *= xxPrime2
	h ^= h >> 29
	h *= xxPrime3
	return h ^ h>>32
}
