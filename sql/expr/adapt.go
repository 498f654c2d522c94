package expr

import (
	"streamlab/columnar"
)

// Adaptors make kernels of plain Go functions. They are meant for Strict calls: rows they see are valid.

// bytesToBytes appends the result of f to the output.
func bytesToBytes(f func(dst, s []byte) []byte) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a := args[0]
		for k := range sel.N {
			i := sel.At(k)
			dst.Data = f(dst.Data, a.Bytes(i))
			dst.Off[i+1] = int32(len(dst.Data))
		}
		return nil
	}
}

// bytesToInt fills an INT.
func bytesToInt(f func(s []byte) int32) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a, out := args[0], dst.I32
		for k := range sel.N {
			i := sel.At(k)
			out[i] = f(a.Bytes(i))
		}
		return nil
	}
}

// bytesToBigInt fills a BIGINT.
func bytesToBigInt(f func(s []byte) int64) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a, out := args[0], dst.I64
		for k := range sel.N {
			i := sel.At(k)
			out[i] = f(a.Bytes(i))
		}
		return nil
	}
}

// bytesBytesToBool fills a BOOLEAN.
func bytesBytesToBool(f func(a, b []byte) bool) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a, b := args[0], args[1]
		for k := range sel.N {
			i := sel.At(k)
			if f(a.Bytes(i), b.Bytes(i)) {
				columnar.SetBit(dst.Bits, i)
			}
		}
		return nil
	}
}

// unaryF64 is DOUBLE to DOUBLE.
func unaryF64(f func(x float64) float64) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a, out := args[0].F64, dst.F64
		if args[0].Const {
			out[0] = f(a[0])
			return nil
		}
		if sel.All {
			for i, x := range a[:sel.N] {
				out[i] = f(x)
			}
			return nil
		}
		for _, i := range sel.Idx[:sel.N] {
			out[i] = f(a[i])
		}
		return nil
	}
}

// binaryF64 is (DOUBLE, DOUBLE) to DOUBLE.
func binaryF64(f func(x, y float64) float64) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a, b, out := args[0], args[1], dst.F64
		for k := range sel.N {
			i := sel.At(k)
			out[i] = f(a.F64[a.Row(i)], b.F64[b.Row(i)])
		}
		return nil
	}
}

// i64i64 is (BIGINT) to BIGINT, or of other 64-bit types.
func i64i64(f func(x int64) int64) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a, out := args[0], dst.I64
		for k := range sel.N {
			i := sel.At(k)
			out[i] = f(a.I64[a.Row(i)])
		}
		return nil
	}
}

// i64i32 is a 64-bit type to a 32-bit one.
func i64i32(f func(x int64) int32) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a, out := args[0], dst.I32
		for k := range sel.N {
			i := sel.At(k)
			out[i] = f(a.I64[a.Row(i)])
		}
		return nil
	}
}

// i32i32 is a 32-bit type to a 32-bit one.
func i32i32(f func(x int32) int32) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a, out := args[0], dst.I32
		for k := range sel.N {
			i := sel.At(k)
			out[i] = f(a.I32[a.Row(i)])
		}
		return nil
	}
}
