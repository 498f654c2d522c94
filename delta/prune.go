package delta

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// prune leaves out files of which no row can satisfy all predicates: by partition values, else by
// statistics. What cannot be decided is kept.
func (s *Snapshot) prune(files []*Add, where []catalog.Predicate) []*Add {
	if len(where) == 0 {
		return files
	}
	var out []*Add
	for _, a := range files {
		if s.mayMatch(a, where) {
			out = append(out, a)
		}
	}
	return out
}

// testsOf are the predicates, whose columns are positions in the table's schema, that speak of a column of
// want: for Reader.Skip.
func (s *Snapshot) testsOf(where []catalog.Predicate, want types.Schema) []columnar.Test {
	at := make(map[int]int, len(want))
	for k, f := range want {
		if i := s.Schema.Index(f.Name); i >= 0 && !s.isPartition(f.Name) && charLength(f) == 0 {
			at[i] = k
		}
	}
	var out []columnar.Test
	for _, t := range catalog.Tests(where) {
		if k, ok := at[t.Column]; ok {
			t.Column = k
			out = append(out, t)
		}
	}
	return out
}

// wasFloat says whether bounds of a column may be the short texts of a FLOAT, which are other numbers as DOUBLE.
func wasFloat(f types.Field) bool {
	return f.Type.Kind == types.Double && f.Metadata["delta.typeChanges"] != ""
}

// MayPass says whether rows of a file may pass tests, whose columns are positions in columns, by the file's
// partition values.
func (s *Snapshot) MayPass(f DataFile, columns types.Schema, tests []columnar.Test) bool {
	for _, t := range tests {
		c := columns[t.Column]
		if !s.isPartition(c.Name) || charLength(c) > 0 {
			continue
		}
		i := s.Schema.Index(c.Name)
		if i < 0 {
			continue
		}
		v, err := partitionVec(s.Schema[i].Type, f.Values[physicalName(s.Schema[i], s.MappingMode())], s.Log.Zone)
		if err == nil && codec.Excludes(v, t) {
			return false
		}
	}
	return true
}

func (s *Snapshot) mayMatch(a *Add, where []catalog.Predicate) bool {
	var st *Stats
	parsed := false
	for _, p := range where {
		f := s.Schema[p.Column]
		if charLength(f) > 0 && p.Value != nil {
			continue // the log has the texts without the blanks that rows have
		}
		if wasFloat(f) && p.Value != nil {
			continue
		}
		name := physicalName(f, s.MappingMode())
		if s.isPartition(f.Name) {
			if !s.partitionMatches(a.PartitionValues[name], f.Type, p) {
				return false
			}
			continue
		}
		if !parsed {
			st, parsed = a.stats(), true
		}
		if st != nil && !statsMatch(st, name, f.Type, p) {
			return false
		}
	}
	return true
}

// matchesPartition says whether partition values satisfy those of the predicates that are about partitions.
func (s *Snapshot) matchesPartition(values map[string]*string, where []catalog.Predicate) bool {
	for _, p := range where {
		f := s.Schema[p.Column]
		if s.isPartition(f.Name) && !s.partitionMatches(values[physicalName(f, s.MappingMode())], f.Type, p) {
			return false
		}
	}
	return true
}

func (s *Snapshot) partitionMatches(value *string, t types.DataType, p catalog.Predicate) bool {
	v, err := partitionVec(t, value, s.Log.Zone)
	if err != nil {
		return true
	}
	null := v.IsNull(0)
	switch p.Op {
	case "IS NULL":
		return null
	case "IS NOT NULL":
		return !null
	}
	if null {
		return false
	}
	if p.Value == nil || p.Value.IsNull(0) {
		return false
	}
	c, ok := compareVec(v, p.Value)
	return !ok || holds(p.Op, c)
}

func holds(op string, c int) bool {
	switch op {
	case "=":
		return c == 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	}
	return true
}

// compareVec compares row 0 of two vectors of one type; ok is false for types without an order here.
func compareVec(a, b *columnar.Vec) (c int, ok bool) {
	if a.Phys != b.Phys {
		return 0, false
	}
	switch a.Phys {
	case columnar.PBool:
		x, y := 0, 0
		if a.Bool(0) {
			x = 1
		}
		if b.Bool(0) {
			y = 1
		}
		return x - y, true
	case columnar.PI8:
		return order(a.I8[0], b.I8[0]), true
	case columnar.PI16:
		return order(a.I16[0], b.I16[0]), true
	case columnar.PI32:
		return order(a.I32[0], b.I32[0]), true
	case columnar.PI64:
		return order(a.I64[0], b.I64[0]), true
	case columnar.PF32:
		return orderFloat(float64(a.F32[0]), float64(b.F32[0])), true
	case columnar.PF64:
		return orderFloat(a.F64[0], b.F64[0]), true
	case columnar.PDec:
		if a.Type.Scale != b.Type.Scale {
			return 0, false
		}
		return a.Dec[0].Cmp(b.Dec[0]), true
	case columnar.PBytes:
		return bytes.Compare(a.Bytes(0), b.Bytes(0)), true
	}
	return 0, false
}

func order[T int8 | int16 | int32 | int64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// orderFloat is Spark's order: NaN is greatest and equal to itself, zeros are equal.
func orderFloat(a, b float64) int {
	switch {
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	case b != b:
		return -1
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// statsMatch says whether a file may hold a row that satisfies a predicate.
func statsMatch(st *Stats, name string, t types.DataType, p catalog.Predicate) bool {
	nulls, known := st.Nulls[name]
	exact := st.Tight || nulls == 0 || nulls == st.NumRecords
	switch p.Op {
	case "IS NULL":
		return !known || !exact || nulls > 0 || !st.HasRecords
	case "IS NOT NULL":
		return !known || !exact || !st.HasRecords || nulls < st.NumRecords || nulls == 0
	}
	if p.Value == nil || p.Value.IsNull(0) {
		return false
	}
	if known && exact && st.HasRecords && nulls == st.NumRecords && st.NumRecords > 0 {
		return false // a comparison with null is never true
	}
	switch p.Op {
	case "=", ">", ">=":
		if hi, ok := boundVec(st.Max[name], t, true); ok {
			if c, ok := compareVec(hi, p.Value); ok && (c < 0 || c == 0 && p.Op == ">") {
				return false
			}
		}
	}
	switch p.Op {
	case "=", "<", "<=":
		if lo, ok := boundVec(st.Min[name], t, false); ok {
			if c, ok := compareVec(lo, p.Value); ok && (c > 0 || c == 0 && p.Op == "<") {
				return false
			}
		}
	}
	return true
}

// boundVec reads a bound of the statistics as a value of the column's type. Times are cut to milliseconds in
// the log, so an upper bound is a millisecond later.
func boundVec(raw json.RawMessage, t types.DataType, upper bool) (*columnar.Vec, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, false
	}
	v := columnar.NewVec(t, 1)
	text := rawText(raw)
	switch t.Kind {
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, false
		}
		switch v.Phys {
		case columnar.PI8:
			if n < math.MinInt8 || n > math.MaxInt8 {
				return nil, false
			}
			v.I8[0] = int8(n)
		case columnar.PI16:
			if n < math.MinInt16 || n > math.MaxInt16 {
				return nil, false
			}
			v.I16[0] = int16(n)
		case columnar.PI32:
			if n < math.MinInt32 || n > math.MaxInt32 {
				return nil, false
			}
			v.I32[0] = int32(n)
		default:
			v.I64[0] = n
		}
	case types.Date:
		d, err := time.Parse("2006-01-02", text)
		if err != nil {
			return nil, false
		}
		v.I32[0] = int32(floorDiv(d.Unix(), 86400))
	case types.Timestamp, types.TimestampNTZ:
		at, ok := parseStatTime(text)
		if !ok {
			return nil, false
		}
		if upper {
			at += 1000
		}
		v.I64[0] = at
	case types.Float:
		if raw[0] == '"' {
			return nil, false
		}
		x, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return nil, false
		}
		v.F32[0] = float32(x)
	case types.Double:
		if raw[0] == '"' {
			return nil, false
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, false
		}
		v.F64[0] = x
	case types.Decimal:
		d, err := decimal128.FromString(text, t.Precision, t.Scale)
		if err != nil {
			return nil, false
		}
		v.Dec[0] = d
	case types.String:
		if raw[0] != '"' {
			return nil, false
		}
		v.Off = []int32{0, int32(len(text))}
		v.Data = []byte(text)
	default:
		return nil, false
	}
	return v, true
}

func parseStatTime(text string) (int64, bool) {
	for _, layout := range []string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if at, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return at.UnixMicro(), true
		}
	}
	return 0, false
}
