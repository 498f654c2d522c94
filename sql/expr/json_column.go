package expr

import (
	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/sql/types"
)

// kernel reads the texts of a column: first as plain JSON, which nearly all of it is, else with all its rules.
func (p *jsonReader) kernel(opts map[string]string) Kernel {
	var texts *codec.JSONTexts
	if _, mode := opts["mode"]; p.t.Kind == types.Struct && p.corrupt < 0 && (len(opts) == 0 || len(opts) == 1 && mode) &&
		(p.mode == "" || p.mode == "PERMISSIVE" || p.mode == "FAILFAST") {
		texts = codec.NewJSONTexts(p.t.Fields)
	}
	if texts == nil {
		return valueRows(func(r *row, a *Appender) error {
			err := p.read(r.bytes(0), a)
			if p.formatErr != nil {
				return p.formatErr
			}
			return err
		})
	}
	one := columnar.NewVec(p.t, 0) // a row that is not plain
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		read := 0 // bytes since the size was looked at
		for k := 0; k < sel.N; {
			i := sel.At(k)
			s := args[0].Bytes(i)
			if n := texts.Read(args[0], sel, k); n > 0 {
				for f, kid := range dst.Kids {
					setAtoms(kid, sel, k, texts.Column(f))
				}
				texts.Done()
				k += n
				read += n * len(s)
			} else if k++; texts.One(s) {
				for f := range texts.Plain.Values {
					setPlain(dst.Kids[f], i, &texts.Plain.Values[f])
				}
			} else {
				a := NewAppender(one)
				err := p.read(s, a)
				if p.formatErr != nil {
					return p.formatErr
				}
				if err != nil && err != errNull {
					return err
				}
				a.Finish()
				if err == errNull {
					SetNull(dst, i)
				}
				for f, kid := range dst.Kids {
					setAtom(kid, i, one.Kids[f], err == nil)
				}
			}
			if read += len(s); read > 1<<20 {
				read = 0
				for _, kid := range dst.Kids {
					if int64(len(kid.Data)) > maxVector {
						return tooLarge()
					}
				}
			}
		}
		return nil
	}
}

// setAtoms sets the selected rows of a column from position k on to the rows of from.
func setAtoms(to *columnar.Vec, sel columnar.Sel, k int, from *columnar.Vec) {
	if from.Valid != nil {
		for r := range from.Len {
			if from.IsNull(r) {
				SetNull(to, sel.At(k+r))
			}
		}
	}
	switch to.Phys {
	case columnar.PBytes:
		base := int32(len(to.Data)) - from.Off[0]
		to.Data = append(to.Data, from.Data[from.Off[0]:from.Off[from.Len]]...)
		for r, end := range from.Off[1 : from.Len+1] {
			to.Off[sel.At(k+r)+1] = base + end
		}
	case columnar.PBool:
		for r := range from.Len {
			if from.Bool(r) {
				columnar.SetBit(to.Bits, sel.At(k+r))
			}
		}
	case columnar.PI8:
		setFixed(to.I8, sel, k, from.I8[:from.Len])
	case columnar.PI16:
		setFixed(to.I16, sel, k, from.I16[:from.Len])
	case columnar.PI32:
		setFixed(to.I32, sel, k, from.I32[:from.Len])
	case columnar.PI64:
		setFixed(to.I64, sel, k, from.I64[:from.Len])
	case columnar.PF64:
		setFixed(to.F64, sel, k, from.F64[:from.Len])
	}
}

func setFixed[T any](to []T, sel columnar.Sel, k int, from []T) {
	if sel.All {
		copy(to[k:], from)
		return
	}
	for r, i := range sel.Idx[k : k+len(from)] {
		to[i] = from[r]
	}
}

// setPlain sets row i of a column.
func setPlain(to *columnar.Vec, i int, v *codec.PlainValue) {
	if v.Null {
		SetNull(to, i)
		return
	}
	switch to.Phys {
	case columnar.PBytes:
		to.Data = append(to.Data, v.Text...)
		to.Off[i+1] = int32(len(to.Data))
	case columnar.PI64:
		to.I64[i] = v.I64
	case columnar.PF64:
		to.F64[i] = v.F64
	case columnar.PI32:
		to.I32[i] = int32(v.I64)
	case columnar.PBool:
		if v.I64 == 1 {
			columnar.SetBit(to.Bits, i)
		}
	case columnar.PI16:
		to.I16[i] = int16(v.I64)
	case columnar.PI8:
		to.I8[i] = int8(v.I64)
	}
}

// setAtom sets row i of a column to the first value of another, or to null.
func setAtom(to *columnar.Vec, i int, from *columnar.Vec, there bool) {
	if !there || from.IsNull(0) {
		SetNull(to, i)
		return
	}
	var v codec.PlainValue
	switch to.Phys {
	case columnar.PBytes:
		v.Text = from.Bytes(0)
	case columnar.PI64:
		v.I64 = from.I64[0]
	case columnar.PF64:
		v.F64 = from.F64[0]
	case columnar.PI32:
		v.I64 = int64(from.I32[0])
	case columnar.PBool:
		if from.Bool(0) {
			v.I64 = 1
		}
	case columnar.PI16:
		v.I64 = int64(from.I16[0])
	case columnar.PI8:
		v.I64 = int64(from.I8[0])
	}
	setPlain(to, i, &v)
}
