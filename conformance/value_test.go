package conformance

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/sql/types"
)

// rowsOf gives the rows of batches as the recording program prints them: JSON values.
func rowsOf(batches []arrow.RecordBatch, s types.Schema) [][]any {
	out := [][]any{}
	for _, rb := range batches {
		vs := columnar.Vectors(rb, s)
		for i := range int(rb.NumRows()) {
			row := make([]any, len(vs))
			for j := range vs {
				row[j] = plain(&vs[j], i)
			}
			out = append(out, row)
		}
	}
	return out
}

func plain(v *columnar.Vec, i int) any {
	if v.IsNull(i) {
		return nil
	}
	i = v.Row(i)
	switch v.Type.Kind {
	case types.Boolean:
		return v.Bool(i)
	case types.TinyInt:
		return float64(v.I8[i])
	case types.SmallInt:
		return float64(v.I16[i])
	case types.Int:
		return float64(v.I32[i])
	case types.BigInt:
		return json.Number(strconv.FormatInt(v.I64[i], 10))
	case types.Float:
		return double(float64(v.F32[i]))
	case types.Double:
		return double(v.F64[i])
	case types.Decimal:
		return v.Dec[i].ToString(v.Type.Scale)
	case types.String:
		return string(v.Bytes(i))
	case types.Binary:
		return map[string]any{"hex": hex.EncodeToString(v.Bytes(i))}
	case types.Date:
		return time.Unix(int64(v.I32[i])*86400, 0).UTC().Format("2006-01-02")
	case types.Timestamp:
		return time.UnixMicro(v.I64[i]).UTC().Format("2006-01-02T15:04:05.000000Z")
	case types.TimestampNTZ:
		return time.UnixMicro(v.I64[i]).UTC().Format("2006-01-02T15:04:05.000000")
	case types.Time:
		t := time.Unix(0, v.I64[i]).UTC()
		if t.Nanosecond() == 0 {
			return t.Format("15:04:05")
		}
		return t.Format("15:04:05.000000")
	case types.DayTime:
		return map[string]any{"interval_us": json.Number(strconv.FormatInt(v.I64[i], 10))}
	case types.Variant:
		return variantText(codec.AppendDisplay(nil, v, i, time.UTC))
	case types.Array:
		out := []any{}
		for k := v.Off[i]; k < v.Off[i+1]; k++ {
			out = append(out, plain(v.Kids[0], int(k)))
		}
		return out
	case types.Map:
		out := []any{}
		for k := v.Off[i]; k < v.Off[i+1]; k++ {
			out = append(out, []any{plain(v.Kids[0], int(k)), plain(v.Kids[1], int(k))})
		}
		return map[string]any{"map": out}
	case types.Struct:
		m := map[string]any{}
		for k, f := range v.Type.Fields {
			m[f.Name] = plain(v.Kids[k], i)
		}
		return m
	}
	return map[string]any{"text": string(codec.AppendDisplay(nil, v, i, time.UTC))}
}

// variantText is the JSON that a VARIANT holds; it is compared as JSON.
type variantText string

func sameJSON(a, b string) bool {
	var x, y any
	for text, to := range map[string]*any{a: &x, b: &y} {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if dec.Decode(to) != nil {
			return false
		}
	}
	if a == b {
		return true
	}
	return same(x, y)
}

// castText turns a timestamp of ours into the text that its cast to string gives.
func castText(s string) string {
	s = strings.TrimSuffix(strings.Replace(s, "T", " ", 1), "Z")
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
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

// same compares a value of ours with a recorded one: numbers within 1e-12, maps in any order.
func same(got, want any) bool {
	switch w := want.(type) {
	case nil:
		return got == nil
	case json.Number, float64:
		a, ok1 := number(got)
		b, ok2 := number(w)
		if !ok1 || !ok2 {
			return false
		}
		if fmt.Sprint(got) == fmt.Sprint(w) || a == b {
			return true
		}
		return math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b))
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !same(g[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		if t, isText := w["text"].(string); isText && len(w) == 1 {
			if g, ok := got.(string); ok {
				return castText(g) == t
			}
		}
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		if pairs, isMap := w["map"].([]any); isMap && len(w) == 1 {
			mine, _ := g["map"].([]any)
			return sameSet(mine, pairs)
		}
		if len(g) != len(w) {
			return false
		}
		for k := range w {
			x, ok := g[k]
			if !ok || !same(x, w[k]) {
				return false
			}
		}
		return true
	}
	if v, ok := got.(variantText); ok {
		w, ok := want.(string)
		return ok && sameJSON(string(v), w)
	}
	return got == want
}

func sameSet(got, want []any) bool {
	if len(got) != len(want) {
		return false
	}
	used := make([]bool, len(got))
next:
	for _, w := range want {
		for i, g := range got {
			if !used[i] && same(g, w) {
				used[i] = true
				continue next
			}
		}
		return false
	}
	return true
}

func number(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case json.Number:
		f, err := x.Float64()
		return f, err == nil
	}
	return 0, false
}

func sameRows(got [][]any, want []any, ordered bool) bool {
	g := make([]any, len(got))
	for i := range got {
		g[i] = any(got[i])
	}
	if ordered {
		return same(g, want)
	}
	return sameSet(g, want)
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// showRows prints rows sorted, one a line, at most ten.
func showRows(rows any) string {
	var lines []string
	switch r := rows.(type) {
	case [][]any:
		for _, x := range r {
			lines = append(lines, show(x))
		}
	case []any:
		for _, x := range r {
			lines = append(lines, show(x))
		}
	}
	sort.Strings(lines)
	if len(lines) > 10 {
		lines = append(lines[:10], "…")
	}
	return strings.Join(lines, " ")
}
