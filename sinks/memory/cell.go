//go:build cgo

package memory

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/sql/types"
)

const microsLayout = "2006-01-02T15:04:05.000000"

// cell is a value as SQLite keeps it.
func cell(v *columnar.Vec, i int) any {
	if v.IsNull(i) {
		return nil
	}
	i = v.Row(i)
	switch v.Type.Kind {
	case types.Boolean:
		if v.Bool(i) {
			return int64(1)
		}
		return int64(0)
	case types.TinyInt:
		return int64(v.I8[i])
	case types.SmallInt:
		return int64(v.I16[i])
	case types.Int:
		return int64(v.I32[i])
	case types.BigInt:
		return v.I64[i]
	case types.Float:
		return double(float64(v.F32[i]))
	case types.Double:
		return double(v.F64[i])
	case types.Binary:
		return append([]byte{}, v.Bytes(i)...)
	case types.Array, types.Map, types.Struct:
		return string(appendJSON(nil, v, i))
	}
	return text(v, i)
}

func double(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return f
}

// text is the form of what SQLite has no type for.
func text(v *columnar.Vec, i int) string {
	switch v.Type.Kind {
	case types.String, types.Variant:
		return string(v.Bytes(i))
	case types.Decimal:
		return v.Dec[i].ToString(v.Type.Scale)
	case types.Date:
		return time.Unix(int64(v.I32[i])*86400, 0).UTC().Format("2006-01-02")
	case types.Timestamp:
		return time.UnixMicro(v.I64[i]).UTC().Format(microsLayout + "Z")
	case types.TimestampNTZ:
		return time.UnixMicro(v.I64[i]).UTC().Format(microsLayout)
	}
	return string(codec.AppendDisplay(nil, v, i, time.UTC))
}

// appendJSON prints a nested value; maps are objects, their keys as text.
func appendJSON(dst []byte, v *columnar.Vec, i int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	i = v.Row(i)
	switch v.Type.Kind {
	case types.Boolean:
		return strconv.AppendBool(dst, v.Bool(i))
	case types.TinyInt:
		return strconv.AppendInt(dst, int64(v.I8[i]), 10)
	case types.SmallInt:
		return strconv.AppendInt(dst, int64(v.I16[i]), 10)
	case types.Int:
		return strconv.AppendInt(dst, int64(v.I32[i]), 10)
	case types.BigInt:
		return strconv.AppendInt(dst, v.I64[i], 10)
	case types.Float, types.Double:
		f := 0.0
		bits := 64
		if v.Type.Kind == types.Float {
			f, bits = float64(v.F32[i]), 32
		} else {
			f = v.F64[i]
		}
		if d, ok := double(f).(string); ok {
			return strconv.AppendQuote(dst, d)
		}
		return strconv.AppendFloat(dst, f, 'g', -1, bits)
	case types.Decimal:
		return append(dst, v.Dec[i].ToString(v.Type.Scale)...)
	case types.Binary:
		return strconv.AppendQuote(dst, hex.EncodeToString(v.Bytes(i)))
	case types.Array:
		dst = append(dst, '[')
		for k := v.Off[i]; k < v.Off[i+1]; k++ {
			if k > v.Off[i] {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, v.Kids[0], int(k))
		}
		return append(dst, ']')
	case types.Map:
		dst = append(dst, '{')
		for k := v.Off[i]; k < v.Off[i+1]; k++ {
			if k > v.Off[i] {
				dst = append(dst, ',')
			}
			dst = appendString(dst, text(v.Kids[0], int(k)))
			dst = append(dst, ':')
			dst = appendJSON(dst, v.Kids[1], int(k))
		}
		return append(dst, '}')
	case types.Struct:
		dst = append(dst, '{')
		for k, f := range v.Type.Fields {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, f.Name)
			dst = append(dst, ':')
			dst = appendJSON(dst, v.Kids[k], i)
		}
		return append(dst, '}')
	}
	return appendString(dst, text(v, i))
}

func appendString(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return append(dst, `""`...)
	}
	return append(dst, b...)
}
