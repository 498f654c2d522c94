package columnar

// Gather fills dst with the selected rows of src, in order. dst's buffers are reused; it must not be src.
func Gather(dst, src *Vec, sel Sel) {
	n := sel.N
	if src.Phys == PNull {
		*dst = Vec{Type: src.Type, Phys: PNull, Len: n}
		return
	}
	if sel.All && !src.Const && n == src.Len {
		v := src.View(0, n)
		*dst = v
		return
	}
	idx := sel.Idx
	if sel.All || src.Const {
		idx = make([]int32, n)
		if !src.Const {
			for i := range idx {
				idx[i] = int32(i)
			}
		}
	}
	GatherIdx(dst, src, idx[:n])
}

// GatherIdx fills dst with rows idx of src, in that order; rows may repeat. A negative index gives null.
func GatherIdx(dst, src *Vec, idx []int32) {
	n := len(idx)
	if src.Phys == PNull {
		*dst = Vec{Type: src.Type, Phys: PNull, Len: n}
		return
	}
	dst.Reset(src.Type, n)
	negative := false
	for _, i := range idx {
		if i < 0 {
			negative = true
			break
		}
	}
	if negative {
		idx2 := make([]int32, n)
		copy(idx2, idx)
		valid := make([]uint64, Words(n))
		for k, i := range idx {
			if i < 0 {
				idx2[k] = 0
			} else if src.Valid == nil || GetBit(src.Valid, int(i)) {
				SetBit(valid, k)
			}
		}
		if src.Len == 0 { // nothing to point at: all rows are null
			zeroValues(dst, n)
			dst.Valid = valid
			return
		}
		idx = idx2
		dst.Valid = valid
	} else if src.Valid != nil {
		valid := make([]uint64, Words(n))
		for k, i := range idx {
			valid[k>>6] |= (src.Valid[i>>6] >> (uint(i) & 63) & 1) << (uint(k) & 63)
		}
		dst.Valid = valid
	}
	switch src.Phys {
	case PBool:
		for k, i := range idx {
			dst.Bits[k>>6] |= (src.Bits[i>>6] >> (uint(i) & 63) & 1) << (uint(k) & 63)
		}
	case PI8:
		pick(dst.I8, src.I8, idx)
	case PI16:
		pick(dst.I16, src.I16, idx)
	case PI32:
		pick(dst.I32, src.I32, idx)
	case PI64:
		pick(dst.I64, src.I64, idx)
	case PF32:
		pick(dst.F32, src.F32, idx)
	case PF64:
		pick(dst.F64, src.F64, idx)
	case PDec:
		pick(dst.Dec, src.Dec, idx)
	case PBytes:
		total := 0
		for _, i := range idx {
			total += int(src.Off[i+1] - src.Off[i])
		}
		if cap(dst.Data) < total {
			dst.Data = make([]byte, 0, total)
		}
		for k, i := range idx {
			dst.Data = append(dst.Data, src.Data[src.Off[i]:src.Off[i+1]]...)
			dst.Off[k+1] = int32(len(dst.Data))
		}
	case PList, PMap:
		var inner []int32
		for k, i := range idx {
			for j := src.Off[i]; j < src.Off[i+1]; j++ {
				inner = append(inner, j)
			}
			dst.Off[k+1] = int32(len(inner))
		}
		for c := range src.Kids {
			GatherIdx(dst.Kids[c], src.Kids[c], inner)
		}
	case PStruct:
		for c := range src.Kids {
			GatherIdx(dst.Kids[c], src.Kids[c], idx)
		}
	}
}

func zeroValues(v *Vec, n int) {
	switch v.Phys {
	case PI8:
		clear(v.I8)
	case PI16:
		clear(v.I16)
	case PI32:
		clear(v.I32)
	case PI64:
		clear(v.I64)
	case PF32:
		clear(v.F32)
	case PF64:
		clear(v.F64)
	case PDec:
		clear(v.Dec)
	}
	for _, k := range v.Kids {
		if v.Phys == PStruct {
			zeroValues(k, n)
			k.Valid = make([]uint64, Words(n))
		}
	}
}

func pick[T any](dst, src []T, idx []int32) {
	dst = dst[:len(idx)]
	for k, i := range idx {
		dst[k] = src[i]
	}
}
