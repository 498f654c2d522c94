package columnar

// Copy fills dst with the first n rows of src, in memory of its own: dst's buffers are reused. Numbers that a
// dictionary gave the texts are copied too.
func Copy(dst, src *Vec, n int) {
	dst.Coded = nil
	if src.Const || len(src.Kids) > 0 || src.Phys == PNull || src.Phys == PList || src.Phys == PMap || src.Phys == PStruct {
		idx := make([]int32, n)
		if !src.Const {
			for i := range idx {
				idx[i] = int32(i)
			}
		}
		GatherIdx(dst, src, idx)
		return
	}
	valid := dst.Valid[:0]
	dst.Type, dst.Phys, dst.Const, dst.Len, dst.Valid = src.Type, src.Phys, false, n, nil
	if src.Valid != nil {
		dst.Valid = append(valid, src.Valid[:Words(n)]...)
	}
	switch src.Phys {
	case PBool:
		dst.Bits = append(dst.Bits[:0], src.Bits[:Words(n)]...)
	case PI8:
		dst.I8 = append(dst.I8[:0], src.I8[:n]...)
	case PI16:
		dst.I16 = append(dst.I16[:0], src.I16[:n]...)
	case PI32:
		dst.I32 = append(dst.I32[:0], src.I32[:n]...)
	case PI64:
		dst.I64 = append(dst.I64[:0], src.I64[:n]...)
	case PF32:
		dst.F32 = append(dst.F32[:0], src.F32[:n]...)
	case PF64:
		dst.F64 = append(dst.F64[:0], src.F64[:n]...)
	case PDec:
		dst.Dec = append(dst.Dec[:0], src.Dec[:n]...)
	case PBytes:
		first := src.Off[0]
		dst.Off = append(dst.Off[:0], src.Off[:n+1]...)
		if first != 0 {
			for i := range dst.Off {
				dst.Off[i] -= first
			}
		}
		dst.Data = append(dst.Data[:0], src.Data[first:src.Off[n]]...)
		if !src.Costly() {
			if codes, c, ok := src.Codes(); ok {
				dst.Coded = &Coded{Off: dst.Off, Codes: append([]uint32(nil), codes[:n]...), Values: c.Values, Dictionary: c.Dictionary}
			}
		}
	}
}

// MemoryBytes is the memory of a vector's buffers and of its parts, by capacity.
func (v *Vec) MemoryBytes() int64 {
	n := cap(v.Bits)*8 + cap(v.Valid)*8 + cap(v.I8) + cap(v.I16)*2 + cap(v.I32)*4 + cap(v.I64)*8 + cap(v.F32)*4 + cap(v.F64)*8 +
		cap(v.Dec)*16 + cap(v.Off)*4 + cap(v.Data)
	sum := int64(n)
	for _, k := range v.Kids {
		sum += k.MemoryBytes()
	}
	return sum
}
