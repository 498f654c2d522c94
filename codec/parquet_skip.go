package codec

import (
	"bytes"
	"cmp"
	"math"

	"github.com/apache/arrow-go/v18/parquet/metadata"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// skip reports that no row of a row group can pass all tests. Tests name columns of the reader by position.
func (p *Parquet) skip(m *metadata.RowGroupMetaData, nodes []*parquetNode, tests []columnar.Test) bool {
	for _, t := range tests {
		if t.Column < 0 || t.Column >= len(nodes) {
			continue
		}
		n := nodes[t.Column]
		if n.gone {
			if t.Op != columnar.IsNull {
				return true
			}
			continue
		}
		if n.leaf == nil || n.leaf.maxRep > 0 || len(n.kids) > 0 || n.leaf.index >= m.NumColumns() {
			continue
		}
		c, err := m.ColumnChunk(n.leaf.index)
		if err != nil {
			continue
		}
		s, err := c.Statistics()
		if err != nil || s == nil {
			continue
		}
		if s.HasNullCount() {
			if t.Op == columnar.IsNull && s.NullCount() == 0 || t.Op != columnar.IsNull && s.NullCount() == m.NumRows() {
				return true
			}
		}
		if t.Op == columnar.IsNull || t.Op == columnar.IsNotNull || !s.HasMinMax() {
			continue
		}
		if n.outside(s, t) {
			return true
		}
	}
	return false
}

// outside reports that a test cannot hold between the least and greatest value.
func (p *parquetNode) outside(s metadata.TypedStatistics, t columnar.Test) bool {
	switch x := s.(type) {
	case *metadata.Int32Statistics:
		if p.how == fromUint32 || p.t.Kind == types.Decimal || p.t.Kind == types.Double {
			return false
		}
		f := max(p.factor, 1)
		if int64(x.Min()) < math.MinInt64/f || int64(x.Max()) > math.MaxInt64/f {
			return false
		}
		return beyond(int64(x.Min())*f, int64(x.Max())*f, t, longOf)
	case *metadata.Int64Statistics:
		if p.how == fromUint64 || p.how == fromNanos || p.t.Kind == types.Decimal || p.t.Kind == types.Double {
			return false
		}
		f := max(p.factor, 1)
		if f > 1 && (x.Min() < math.MinInt64/f || x.Max() > math.MaxInt64/f) {
			return false
		}
		return beyond(x.Min()*f, x.Max()*f, t, longOf)
	case *metadata.Float32Statistics:
		return beyondFloat(float64(x.Min()), float64(x.Max()), t)
	case *metadata.Float64Statistics:
		return beyondFloat(x.Min(), x.Max(), t)
	case *metadata.ByteArrayStatistics:
		if p.t.Kind != types.String && p.t.Kind != types.Binary {
			return false
		}
		lo, hi := []byte(x.Min()), []byte(x.Max())
		return outsideOf(t, func(v *columnar.Vec) (below, above int, ok bool) {
			if v.Phys != columnar.PBytes {
				return 0, 0, false
			}
			return bytes.Compare(v.Bytes(0), lo), bytes.Compare(v.Bytes(0), hi), true
		})
	}
	return false
}

func longOf(v *columnar.Vec) (int64, bool) {
	switch v.Phys {
	case columnar.PI8:
		return int64(v.I8[0]), true
	case columnar.PI16:
		return int64(v.I16[0]), true
	case columnar.PI32:
		return int64(v.I32[0]), true
	case columnar.PI64:
		return v.I64[0], true
	}
	return 0, false
}

// beyondFloat trusts no bounds that are NaN, and tells no zero from another. NaN is the greatest value, but
// never a bound.
func beyondFloat(lo, hi float64, t columnar.Test) bool {
	if math.IsNaN(lo) || math.IsNaN(hi) || t.Op == columnar.Greater || t.Op == columnar.AtLeast {
		return false
	}
	return beyond(lo, hi, t, func(v *columnar.Vec) (float64, bool) {
		switch v.Phys {
		case columnar.PF32:
			return float64(v.F32[0]), !math.IsNaN(float64(v.F32[0]))
		case columnar.PF64:
			return v.F64[0], !math.IsNaN(v.F64[0])
		}
		return 0, false
	})
}

func beyond[T cmp.Ordered](lo, hi T, t columnar.Test, of func(*columnar.Vec) (T, bool)) bool {
	return outsideOf(t, func(v *columnar.Vec) (int, int, bool) {
		x, ok := of(v)
		return cmp.Compare(x, lo), cmp.Compare(x, hi), ok
	})
}

// outsideOf decides a test; at compares a value with the least and the greatest one.
func outsideOf(t columnar.Test, at func(*columnar.Vec) (withLeast, withGreatest int, ok bool)) bool {
	for _, v := range t.Values {
		lo, hi, ok := at(v)
		if !ok {
			return false
		}
		switch t.Op {
		case columnar.Equal, columnar.In:
			if lo >= 0 && hi <= 0 {
				return false
			}
		case columnar.Less:
			return lo <= 0
		case columnar.AtMost:
			return lo < 0
		case columnar.Greater:
			return hi >= 0
		case columnar.AtLeast:
			return hi > 0
		default:
			return false
		}
	}
	return len(t.Values) > 0
}

// Excludes reports that rows which all have one value, that of the one-row vector v, do not pass a test.
func Excludes(v *columnar.Vec, t columnar.Test) bool {
	switch {
	case v.IsNull(0):
		return t.Op != columnar.IsNull
	case t.Op == columnar.IsNull:
		return true
	case t.Op == columnar.IsNotNull:
		return false
	}
	switch v.Phys {
	case columnar.PF32:
		return beyondFloat(float64(v.F32[0]), float64(v.F32[0]), t)
	case columnar.PF64:
		return beyondFloat(v.F64[0], v.F64[0], t)
	case columnar.PBytes:
		return outsideOf(t, func(x *columnar.Vec) (int, int, bool) {
			if x.Phys != columnar.PBytes {
				return 0, 0, false
			}
			c := bytes.Compare(x.Bytes(0), v.Bytes(0))
			return c, c, true
		})
	}
	if x, ok := longOf(v); ok {
		return beyond(x, x, t, longOf)
	}
	return false
}
