package expr

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/sql/types"
)

func constVec(t types.DataType) *columnar.Vec {
	v := columnar.NewVec(t, 1)
	v.Const = true
	return v
}

// NullLit is NULL of a type.
func NullLit(t types.DataType) *Literal {
	v := constVec(t)
	v.Valid = []uint64{0}
	return &Literal{Value: v, Text: "NULL"}
}

// BoolLit is TRUE or FALSE.
func BoolLit(b bool) *Literal {
	v := constVec(types.Of(types.Boolean))
	if b {
		v.Bits[0] = 1
	}
	return &Literal{Value: v}
}

// IntLit is an INT.
func IntLit(i int32) *Literal { return IntegralLit(int64(i), types.Int) }

// BigIntLit is a BIGINT.
func BigIntLit(i int64) *Literal { return IntegralLit(i, types.BigInt) }

// IntegralLit is a value of an integral, date, time, timestamp or interval type that fits it.
func IntegralLit(i int64, k types.Kind) *Literal { return IntegralOf(i, types.Of(k)) }

// IntegralOf is IntegralLit of a type with parameters.
func IntegralOf(i int64, t types.DataType) *Literal {
	v := constVec(t)
	switch v.Phys {
	case columnar.PI8:
		v.I8[0] = int8(i)
	case columnar.PI16:
		v.I16[0] = int16(i)
	case columnar.PI32:
		v.I32[0] = int32(i)
	case columnar.PI64:
		v.I64[0] = i
	}
	return &Literal{Value: v}
}

// TimestampLit is a TIMESTAMP, which prints in the session time zone.
func TimestampLit(us int64, c Conf) *Literal {
	l := IntegralLit(us, types.Timestamp)
	l.Text = literalText(l.Value, c.Zone)
	return l
}

// FloatLit is a FLOAT.
func FloatLit(f float32) *Literal {
	v := constVec(types.Of(types.Float))
	v.F32[0] = f
	return &Literal{Value: v}
}

// DoubleLit is a DOUBLE.
func DoubleLit(f float64) *Literal {
	v := constVec(types.Of(types.Double))
	v.F64[0] = f
	return &Literal{Value: v}
}

// DecimalLit is the unscaled value n as DECIMAL(p,s).
func DecimalLit(n decimal128.Num, p, s int32) *Literal {
	v := constVec(types.DecimalOf(p, s))
	v.Dec[0] = n
	return &Literal{Value: v}
}

// StringLit is a STRING.
func StringLit(s string) *Literal { return BytesLit([]byte(s), types.Of(types.String)) }

// BinaryLit is a BINARY.
func BinaryLit(b []byte) *Literal { return BytesLit(b, types.Of(types.Binary)) }

// BytesLit is a value of a STRING, BINARY or VARIANT type.
func BytesLit(b []byte, t types.DataType) *Literal {
	v := constVec(t)
	v.Data = append([]byte{}, b...)
	v.Off[1] = int32(len(b))
	return &Literal{Value: v}
}

// CalendarLit is a calendar interval.
func CalendarLit(months, days int32, micros int64) *Literal {
	v := constVec(types.Of(types.Calendar))
	v.Kids[0].I32[0], v.Kids[1].I32[0], v.Kids[2].I64[0] = months, days, micros
	return &Literal{Value: v}
}

// LitOf is row i of a vector as a literal; the value is copied.
func LitOf(v *columnar.Vec, i int) *Literal {
	w := new(columnar.Vec)
	columnar.GatherIdx(w, v, []int32{int32(v.Row(i))})
	if w.Phys == columnar.PNull && v.Type.Kind != types.Null {
		return NullLit(v.Type)
	}
	w.Const = true
	return &Literal{Value: w}
}

// Foldable reports whether e is a constant: no columns, parameters, aggregates or random numbers below it.
// Constants of the micro-batch (current_timestamp) count as foldable, as in Spark.
func Foldable(e Expr) bool {
	ok := true
	own := map[*LambdaVar]bool{}
	Walk(e, func(x Expr) bool {
		switch s := x.(type) {
		case *Column, *AggregateCall:
			ok = false
		case *Lambda:
			for _, p := range s.Params {
				own[p] = true
			}
		case *LambdaVar:
			ok = ok && own[s]
		case *Scalar:
			ok = ok && !s.Nondeterministic
		case *Higher:
			ok = ok && !s.Nondeterministic
		}
		return ok
	})
	return ok
}

// Const computes a constant expression. It returns nil and no error if e is not constant.
func Const(e Expr, c Conf) (*Literal, error) { return ConstAt(e, c, Task{}) }

// ConstAt is Const within a micro-batch: current_timestamp and friends are t's.
func ConstAt(e Expr, c Conf, t Task) (*Literal, error) {
	if l, ok := e.(*Literal); ok {
		return l, nil
	}
	if !Foldable(e) {
		return nil, nil
	}
	p, err := Compile([]Expr{e}, nil, c)
	if err != nil {
		return nil, err
	}
	p.Begin(t)
	vs, err := p.Eval(nil, columnar.AllRows(1))
	if err != nil {
		return nil, err
	}
	return LitOf(vs[0], 0), nil
}
