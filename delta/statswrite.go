package delta

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/sql/types"
)

// statsLeaf collects the statistics of one leaf column.
type statsLeaf struct {
	path   []string // physical names
	typ    types.DataType
	nulls  int64
	seen   bool
	nan    bool
	loI    int64
	hiI    int64
	loF    float64
	hiF    float64
	loD    decimal128.Num
	hiD    decimal128.Num
	loS    []byte
	hiS    []byte
	broken bool // a text that is no UTF-8: no bounds
}

// statsCollector collects the statistics of a file from the vectors that are written to it.
type statsCollector struct {
	tree   []statsNode
	rows   int64
	prefix int
	tight  bool
}

// statsNode is a column or a field of a struct.
type statsNode struct {
	col  int // position among the columns, or among the fields of the parent
	name string
	leaf *statsLeaf
	kids []statsNode
}

// newStats makes the collector of a table's data columns: the first leaves up to the table's limit, or those
// that the table names.
func newStats(columns types.Schema, m *Metadata, mode MappingMode, tight bool) *statsCollector {
	limit := 32
	if n, err := strconv.Atoi(m.Property("delta.dataSkippingNumIndexedCols")); err == nil {
		limit = n
	}
	prefix := 32
	if n, err := strconv.Atoi(m.Property("delta.dataSkippingStringPrefixLength")); err == nil && n > 0 {
		prefix = n
	}
	var named map[string]bool
	if list := m.Property("delta.dataSkippingStatsColumns"); strings.TrimSpace(list) != "" {
		named = map[string]bool{}
		for _, c := range strings.Split(list, ",") {
			named[strings.ToLower(strings.ReplaceAll(strings.TrimSpace(c), "`", ""))] = true
		}
	}
	left := limit
	if limit < 0 {
		left = math.MaxInt
	}
	var build func(fs []types.Field, path []string, logical string, whole bool) []statsNode
	build = func(fs []types.Field, path []string, logical string, whole bool) []statsNode {
		var out []statsNode
		for i, f := range fs {
			name := physicalName(f, mode)
			here := append(append([]string{}, path...), name)
			full := strings.ToLower(f.Name)
			if logical != "" {
				full = logical + "." + full
			}
			in := whole || named == nil || named[full]
			if f.Type.Kind == types.Null {
				continue
			}
			if f.Type.Kind == types.Struct {
				if kids := build(f.Type.Fields, here, full, named != nil && in); len(kids) > 0 {
					out = append(out, statsNode{col: i, name: name, kids: kids})
				}
				continue
			}
			if named == nil && left <= 0 || !in {
				continue
			}
			left--
			out = append(out, statsNode{col: i, name: name, leaf: &statsLeaf{path: here, typ: f.Type}})
		}
		return out
	}
	return &statsCollector{tree: build(columns, nil, "", false), prefix: prefix, tight: tight}
}

// add takes rows into account: all rows of vs, in the order of the columns.
func (s *statsCollector) add(vs []*columnar.Vec, n int) {
	s.rows += int64(n)
	var walk func(nodes []statsNode, kids []*columnar.Vec, valid []uint64)
	walk = func(nodes []statsNode, kids []*columnar.Vec, valid []uint64) {
		for i := range nodes {
			v := kids[nodes[i].col]
			both := andBits(valid, v.Valid, n)
			if nodes[i].leaf != nil {
				nodes[i].leaf.add(v, both, n)
				continue
			}
			walk(nodes[i].kids, v.Kids, both)
		}
	}
	walk(s.tree, vs, nil)
}

func andBits(a, b []uint64, n int) []uint64 {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := make([]uint64, columnar.Words(n))
	for i := range out {
		out[i] = a[i] & b[i]
	}
	return out
}

func (l *statsLeaf) add(v *columnar.Vec, valid []uint64, n int) {
	if v.Phys == columnar.PNull {
		l.nulls += int64(n)
		return
	}
	ok := func(i int) bool { return valid == nil || columnar.GetBit(valid, i) }
	if valid != nil {
		for i := 0; i < n; i++ {
			if !ok(i) {
				l.nulls++
			}
		}
	}
	ints := func(at func(i int) int64) {
		for i := 0; i < n; i++ {
			if !ok(i) {
				continue
			}
			x := at(i)
			if !l.seen {
				l.seen, l.loI, l.hiI = true, x, x
				continue
			}
			l.loI, l.hiI = min(l.loI, x), max(l.hiI, x)
		}
	}
	floats := func(at func(i int) float64) {
		for i := 0; i < n; i++ {
			if !ok(i) {
				continue
			}
			x := at(i)
			if x != x {
				l.nan = true
				continue
			}
			if !l.seen {
				l.seen, l.loF, l.hiF = true, x, x
				continue
			}
			l.loF, l.hiF = math.Min(l.loF, x), math.Max(l.hiF, x)
		}
	}
	switch l.typ.Kind {
	case types.TinyInt:
		ints(func(i int) int64 { return int64(v.I8[i]) })
	case types.SmallInt:
		ints(func(i int) int64 { return int64(v.I16[i]) })
	case types.Int, types.Date:
		ints(func(i int) int64 { return int64(v.I32[i]) })
	case types.BigInt, types.Timestamp, types.TimestampNTZ:
		ints(func(i int) int64 { return v.I64[i] })
	case types.Float:
		floats(func(i int) float64 { return float64(v.F32[i]) })
	case types.Double:
		floats(func(i int) float64 { return v.F64[i] })
	case types.Decimal:
		for i := 0; i < n; i++ {
			if !ok(i) {
				continue
			}
			x := v.Dec[i]
			if !l.seen {
				l.seen, l.loD, l.hiD = true, x, x
				continue
			}
			if x.Less(l.loD) {
				l.loD = x
			}
			if l.hiD.Less(x) {
				l.hiD = x
			}
		}
	case types.String:
		for i := 0; i < n; i++ {
			if !ok(i) {
				continue
			}
			x := v.Bytes(i)
			if !l.seen {
				l.seen, l.loS, l.hiS = true, bytes.Clone(x), bytes.Clone(x)
				continue
			}
			if bytes.Compare(x, l.loS) < 0 {
				l.loS = append(l.loS[:0], x...)
			}
			if bytes.Compare(x, l.hiS) > 0 {
				l.hiS = append(l.hiS[:0], x...)
			}
		}
	}
}

// bound prints the lower or the upper bound as JSON; nil if there is none.
func (l *statsLeaf) bound(upper bool, prefix int) []byte {
	number := func(x int64) []byte { return strconv.AppendInt(nil, x, 10) }
	pick := func() int64 {
		if upper {
			return l.hiI
		}
		return l.loI
	}
	switch l.typ.Kind {
	case types.Float, types.Double:
		if l.nan && (upper || !l.seen) {
			return []byte(`"NaN"`)
		}
	}
	if !l.seen || l.broken {
		return nil
	}
	switch l.typ.Kind {
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		return number(pick())
	case types.Date:
		return []byte(`"` + time.Unix(pick()*86400, 0).UTC().Format("2006-01-02") + `"`)
	case types.Timestamp, types.TimestampNTZ:
		z := ""
		if l.typ.Kind == types.Timestamp {
			z = "Z"
		}
		return []byte(`"` + time.UnixMilli(floorDiv(pick(), 1000)).UTC().Format("2006-01-02T15:04:05.000") + z + `"`)
	case types.Float, types.Double:
		x, bits := l.loF, 64
		if upper {
			x = l.hiF
		}
		if l.typ.Kind == types.Float {
			bits = 32
		}
		b := codec.AppendDouble(nil, x, bits)
		if math.IsInf(x, 0) {
			return []byte(`"` + string(b) + `"`)
		}
		return b
	case types.Decimal:
		x := l.loD
		if upper {
			x = l.hiD
		}
		return codec.AppendDecimal(nil, x, l.typ.Scale)
	case types.String:
		return l.textBound(upper, prefix)
	}
	return nil
}

func (l *statsLeaf) textBound(upper bool, prefix int) []byte {
	s := l.loS
	if upper {
		s = l.hiS
	}
	if !utf8.Valid(s) {
		return nil
	}
	cut := cutRunes(s, prefix)
	if len(cut) == len(s) {
		return quoteJSON(string(s))
	}
	if !upper {
		return quoteJSON(string(cut))
	}
	// The cut text followed by a character that is above whatever follows in the whole one.
	for n := prefix; n <= 2*prefix; n++ {
		c := cutRunes(s, n)
		if len(c) == len(s) {
			return quoteJSON(string(s))
		}
		next, _ := utf8.DecodeRune(s[len(c):])
		if next < 0x7f {
			return quoteJSON(string(c) + "\x7f")
		}
		if next < utf8.MaxRune {
			return quoteJSON(string(c) + string(utf8.MaxRune))
		}
	}
	return nil
}

func cutRunes(s []byte, n int) []byte {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, w := utf8.DecodeRune(s[at:])
		at += w
	}
	return s[:at]
}

// json prints the statistics as the log holds them.
func (s *statsCollector) json() string {
	b := append([]byte(`{"numRecords":`), strconv.AppendInt(nil, s.rows, 10)...)
	section := func(name string, leaf func(l *statsLeaf) []byte) {
		b = append(b, `,"`+name+`":`...)
		var walk func(nodes []statsNode)
		walk = func(nodes []statsNode) {
			b = append(b, '{')
			first := true
			for i := range nodes {
				var val []byte
				if l := nodes[i].leaf; l != nil {
					if val = leaf(l); val == nil {
						continue
					}
				}
				if !first {
					b = append(b, ',')
				}
				first = false
				b = append(append(b, quoteJSON(nodes[i].name)...), ':')
				if val != nil {
					b = append(b, val...)
				} else {
					walk(nodes[i].kids)
				}
			}
			b = append(b, '}')
		}
		walk(s.tree)
	}
	section("minValues", func(l *statsLeaf) []byte { return l.bound(false, s.prefix) })
	section("maxValues", func(l *statsLeaf) []byte { return l.bound(true, s.prefix) })
	section("nullCount", func(l *statsLeaf) []byte { return strconv.AppendInt(nil, l.nulls, 10) })
	if s.tight {
		b = append(b, `,"tightBounds":true`...)
	}
	return string(append(b, '}'))
}
