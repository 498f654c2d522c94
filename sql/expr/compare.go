package expr

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// Orderable reports whether values of a type have an order: all but maps, variants, calendar intervals and
// what contains them.
func Orderable(t types.DataType) bool {
	switch t.Kind {
	case types.Map, types.Variant, types.Calendar:
		return false
	case types.Array:
		return Orderable(*t.Elem)
	case types.Struct:
		for _, f := range t.Fields {
			if !Orderable(f.Type) {
				return false
			}
		}
	}
	return true
}

// Compare orders row i of a and row j of b, which are of one type: -1, 0 or 1. Nulls come first and equal
// each other, NaN is the greatest number and equals itself, -0.0 equals 0.0.
func Compare(a, b *columnar.Vec, i, j int) int {
	an, bn := a.IsNull(i), b.IsNull(j)
	if an || bn {
		switch {
		case an && bn:
			return 0
		case an:
			return -1
		}
		return 1
	}
	i, j = a.Row(i), b.Row(j)
	switch a.Phys {
	case columnar.PBool:
		x, y := a.Bool(i), b.Bool(j)
		switch {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	case columnar.PI8:
		return order(a.I8[i], b.I8[j])
	case columnar.PI16:
		return order(a.I16[i], b.I16[j])
	case columnar.PI32:
		return order(a.I32[i], b.I32[j])
	case columnar.PI64:
		return order(a.I64[i], b.I64[j])
	case columnar.PF32:
		return orderFloat(float64(a.F32[i]), float64(b.F32[j]))
	case columnar.PF64:
		return orderFloat(a.F64[i], b.F64[j])
	case columnar.PDec:
		return a.Dec[i].Cmp(b.Dec[j])
	case columnar.PBytes:
		return bytes.Compare(a.Data[a.Off[i]:a.Off[i+1]], b.Data[b.Off[j]:b.Off[j+1]])
	case columnar.PList, columnar.PMap:
		p, q := a.Off[i], b.Off[j]
		for p < a.Off[i+1] && q < b.Off[j+1] {
			for c := range a.Kids {
				if r := Compare(a.Kids[c], b.Kids[c], int(p), int(q)); r != 0 {
					return r
				}
			}
			p++
			q++
		}
		return order(a.Off[i+1]-a.Off[i], b.Off[j+1]-b.Off[j])
	case columnar.PStruct:
		for c := range a.Kids {
			if r := Compare(a.Kids[c], b.Kids[c], i, j); r != 0 {
				return r
			}
		}
	}
	return 0
}

func order[T integer](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func orderFloat(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	}
	xn, yn := math.IsNaN(x), math.IsNaN(y)
	switch {
	case xn && yn:
		return 0
	case xn:
		return 1
	}
	return -1
}

// comparison symbols; == and != are written with these and NOT.
const (
	cmpEq = iota
	cmpLt
	cmpLe
	cmpGt
	cmpGe
)

var cmpOps = map[string]int{"=": cmpEq, "==": cmpEq, "<": cmpLt, "<=": cmpLe, ">": cmpGt, ">=": cmpGe, "<=>": cmpEq}

// cmpMask says for which results of a comparison (bit 0 less, 1 equal, 2 greater) an operator is true.
var cmpMask = [...]uint{cmpEq: 2, cmpLt: 1, cmpLe: 3, cmpGt: 4, cmpGe: 6}

func buildComparison(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	name := c.Name
	if name == "==" {
		name = "="
	}
	if name == "!=" || name == "<>" {
		eq, err := buildComparison(&Call{Name: "=", Args: c.Args, Conf: c.Conf})
		if err != nil {
			return nil, err
		}
		return Build("not", []Expr{eq}, c.Conf)
	}
	if l, r, op, ok := wholeBound(name, c.Args[0], c.Args[1]); ok {
		if op == "" {
			return BoolLit(l == nil), nil
		}
		return compareExpr(op, l, r, opText(op, []Expr{l, r})), nil
	}
	text := opText(name, c.Args)
	l, r, err := comparable2(c.Args[0], c.Args[1], text, c.Conf)
	if err != nil {
		return nil, err
	}
	return compareExpr(name, l, r, text), nil
}

// wholeBound turns a comparison of a whole number with a literal decimal into one with the whole number next to it
// (Spark's DecimalPrecision): i > 2.5 is i > 2. Where no BIGINT reaches the decimal the comparison is true (l is nil)
// or false, and op is empty. ok is false for every other comparison.
func wholeBound(name string, a, b Expr) (l, r Expr, op string, ok bool) {
	turned := map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}
	if turned[name] == "" {
		return nil, nil, "", false
	}
	i, d, swap := a, b, false
	if b.Type().IsIntegral() {
		i, d, swap = b, a, true
	}
	lit, isLit := d.(*Literal)
	if !isLit || !i.Type().IsIntegral() || d.Type().Kind != types.Decimal || lit.Value.IsNull(0) {
		return nil, nil, "", false
	}
	is := name // what i is to d
	if swap {
		is = turned[name]
	}
	v, scale := lit.Value.Dec[0].BigInt(), int64(d.Type().Scale)
	q, rest := new(big.Int).DivMod(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(scale), nil), new(big.Int)) // rounds down
	if rest.Sign() != 0 && (is == "<" || is == ">=") {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		if above := q.Sign() > 0; above == (is == "<" || is == "<=") {
			return nil, nil, "", true
		}
		return i, nil, "", true
	}
	n := BigIntLit(q.Int64())
	if i = CastTo(i, types.Of(types.BigInt), Conf{ANSI: true}); swap {
		return n, i, name, true
	}
	return i, n, name, true
}

// padToChar fills a text that is compared with a CHAR(n) column up to n characters, as the column's are.
func padToChar(e, column Expr) Expr {
	l, ok := e.(*Literal)
	if !ok || l.Type().Kind != types.String || l.Value.IsNull(0) {
		return e
	}
	for {
		kids := column.Children()
		if len(kids) != 1 || kids[0].String() != column.String() {
			break
		}
		column = kids[0]
	}
	c, ok := column.(*Column)
	if !ok {
		return e
	}
	kind, rest, _ := strings.Cut(strings.TrimSuffix(strings.ToLower(c.Field.Metadata["__CHAR_VARCHAR_TYPE_STRING"]), ")"), "(")
	n, err := strconv.Atoi(rest)
	text := l.Value.Bytes(0)
	if kind != "char" || err != nil || utf8.RuneCount(text) >= n {
		return e
	}
	p := StringLit(string(text) + strings.Repeat(" ", n-utf8.RuneCount(text)))
	p.Text = l.String()
	return p
}

// comparable2 casts two operands to the type they are compared in.
func comparable2(l, r Expr, text string, conf Conf) (Expr, Expr, error) {
	l, r = padToChar(l, r), padToChar(r, l)
	lt, rt := l.Type(), r.Type()
	t, ok := comparisonType(lt, rt, conf)
	if !ok {
		return nil, nil, errs.New("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "sqlExpr", quoted(text),
			"left", quoted(lt.SQL()), "right", quoted(rt.SQL()))
	}
	if !Orderable(t) {
		return nil, nil, errs.New("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "sqlExpr", quoted(text),
			"functionName", "`"+comparisonName(text, l, r)+"`", "dataType", quoted(t.SQL()))
	}
	return CastTo(l, t, conf), CastTo(r, t, conf), nil
}

func comparisonName(text string, l, r Expr) string {
	op := text[len(l.String())+2:]
	for i := range len(op) {
		if op[i] == ' ' {
			return op[:i]
		}
	}
	return "="
}

func comparisonType(lt, rt types.DataType, conf Conf) (types.DataType, bool) {
	if conf.ANSI && (lt.Kind == types.Array || lt.Kind == types.Struct) && lt.Kind == rt.Kind {
		return nested(lt, rt, func(a, b types.DataType) (types.DataType, bool) { // no text, and nothing wider than both
			t, ok := tightestCommon(a, b)
			return t, ok && !widened(a, b, t)
		})
	}
	if conf.ANSI {
		return CommonType(lt, rt)
	}
	return nested(lt, rt, func(a, b types.DataType) (types.DataType, bool) {
		if t, ok := tightestCommon(a, b); ok {
			return t, true
		}
		if a.Kind == types.Boolean && b.IsNumeric() {
			return b, true
		}
		if b.Kind == types.Boolean && a.IsNumeric() {
			return a, true
		}
		if b.Kind == types.String {
			a, b = b, a
		}
		if a.Kind != types.String {
			return types.DataType{}, false
		}
		switch {
		case b.IsNumeric(), b.IsDatetime(), b.Kind == types.Boolean, b.Kind == types.Binary:
			return b, true
		}
		return types.DataType{}, false
	})
}

// compareExpr compares two expressions of one type.
func compareExpr(name string, l, r Expr, text string) Expr {
	op := cmpOps[name]
	if text == "" {
		text = opText(name, []Expr{l, r})
	}
	if name == "<=>" {
		s := NewScalar("<=>", types.Of(types.Boolean), false, []Expr{l, r}, text, nullSafeEqual)
		return s
	}
	s := Strict(name, types.Of(types.Boolean), []Expr{l, r}, text, compareKernel(op))
	s.Total = columnar.PhysicalOf(l.Type()) != columnar.PList && columnar.PhysicalOf(l.Type()) != columnar.PStruct
	return s
}

func nullSafeEqual(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
	a, b := args[0], args[1]
	for k := range sel.N {
		i := sel.At(k)
		if Compare(a, b, i, i) == 0 {
			columnar.SetBit(dst.Bits, i)
		}
	}
	return nil
}

func compareKernel(op int) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a, b := args[0], args[1]
		switch a.Phys {
		case columnar.PI8:
			compareInts(op, dst.Bits, a.I8, b.I8, rowMask(a), rowMask(b), sel)
		case columnar.PI16:
			compareInts(op, dst.Bits, a.I16, b.I16, rowMask(a), rowMask(b), sel)
		case columnar.PI32:
			compareInts(op, dst.Bits, a.I32, b.I32, rowMask(a), rowMask(b), sel)
		case columnar.PI64:
			compareInts(op, dst.Bits, a.I64, b.I64, rowMask(a), rowMask(b), sel)
		case columnar.PBytes:
			mask := cmpMask[op]
			if op == cmpEq {
				if a.Const {
					a, b = b, a
				}
				if b.Const && !a.Const {
					equalText(dst.Bits, a, b.Bytes(0), sel)
					return nil
				}
				for k := range sel.N {
					i := sel.At(k)
					if bytes.Equal(a.Bytes(i), b.Bytes(i)) {
						columnar.SetBit(dst.Bits, i)
					}
				}
				return nil
			}
			for k := range sel.N {
				i := sel.At(k)
				if mask>>uint(bytes.Compare(a.Bytes(i), b.Bytes(i))+1)&1 != 0 {
					columnar.SetBit(dst.Bits, i)
				}
			}
		case columnar.PF32:
			mask := cmpMask[op]
			for k := range sel.N {
				i := sel.At(k)
				if mask>>uint(orderFloat(float64(a.F32[a.Row(i)]), float64(b.F32[b.Row(i)]))+1)&1 != 0 {
					columnar.SetBit(dst.Bits, i)
				}
			}
		case columnar.PF64:
			compareDoubles(op, dst.Bits, a.F64, b.F64, rowMask(a), rowMask(b), sel)
		default:
			mask := cmpMask[op]
			for k := range sel.N {
				i := sel.At(k)
				if mask>>uint(Compare(a, b, i, i)+1)&1 != 0 {
					columnar.SetBit(dst.Bits, i)
				}
			}
		}
		return nil
	}
}

// equalText fills a bitmap: the rows of a whose text is c. Whether lengths and first eight bytes are the same is found
// without a branch, so that texts in any order cost the same.
func equalText(dst []uint64, a *columnar.Vec, c []byte, sel columnar.Sel) {
	var word, mask uint64
	for i, x := range c[:min(8, len(c))] {
		word |= uint64(x) << (8 * i)
		mask |= 0xff << (8 * i)
	}
	for k := range sel.N {
		i := sel.At(k)
		from, to := int(a.Off[i]), int(a.Off[i+1])
		var u uint64
		if from+8 <= len(a.Data) {
			x := binary.LittleEndian.Uint64(a.Data[from:])
			u = b2u((x^word)&mask|uint64(to-from-len(c)) == 0)
			if len(c) > 8 && u != 0 {
				u = b2u(bytes.Equal(a.Data[from:to], c))
			}
		} else {
			u = b2u(bytes.Equal(a.Data[from:to], c))
		}
		dst[i>>6] |= u << (uint(i) & 63)
	}
}

func b2u(b bool) uint64 {
	var u uint64
	if b {
		u = 1
	}
	return u
}

// compareInts fills a bitmap, a word of 64 rows at a time when all rows are selected.
func compareInts[T integer](op int, bits []uint64, a, b []T, ma, mb int, sel columnar.Sel) {
	switch op {
	case cmpGt:
		op, a, b, ma, mb = cmpLt, b, a, mb, ma
	case cmpGe:
		op, a, b, ma, mb = cmpLe, b, a, mb, ma
	}
	if !sel.All {
		for _, row := range sel.Idx[:sel.N] {
			i := int(row)
			x, y := a[i&ma], b[i&mb]
			var u uint64
			switch op {
			case cmpEq:
				u = b2u(x == y)
			case cmpLt:
				u = b2u(x < y)
			default:
				u = b2u(x <= y)
			}
			bits[i>>6] |= u << (uint(i) & 63)
		}
		return
	}
	for w := range columnar.Words(sel.N) {
		base := w << 6
		end := min(64, sel.N-base)
		var word uint64
		switch {
		case ma != 0 && mb == 0: // column and constant
			x, c := a[base:base+end], b[0]
			switch op {
			case cmpEq:
				for i, v := range x {
					word |= b2u(v == c) << (uint(i) & 63)
				}
			case cmpLt:
				for i, v := range x {
					word |= b2u(v < c) << (uint(i) & 63)
				}
			default:
				for i, v := range x {
					word |= b2u(v <= c) << (uint(i) & 63)
				}
			}
		case ma == 0 && mb != 0:
			y, c := b[base:base+end], a[0]
			switch op {
			case cmpEq:
				for i, v := range y {
					word |= b2u(c == v) << (uint(i) & 63)
				}
			case cmpLt:
				for i, v := range y {
					word |= b2u(c < v) << (uint(i) & 63)
				}
			default:
				for i, v := range y {
					word |= b2u(c <= v) << (uint(i) & 63)
				}
			}
		case ma == 0:
			x, y := a[0], b[0]
			word = b2u(op == cmpEq && x == y || op == cmpLt && x < y || op == cmpLe && x <= y)
		default:
			x, y := a[base:base+end], b[base:base+end]
			y = y[:len(x)]
			switch op {
			case cmpEq:
				for i, v := range x {
					word |= b2u(v == y[i]) << (uint(i) & 63)
				}
			case cmpLt:
				for i, v := range x {
					word |= b2u(v < y[i]) << (uint(i) & 63)
				}
			default:
				for i, v := range x {
					word |= b2u(v <= y[i]) << (uint(i) & 63)
				}
			}
		}
		bits[w] = word
	}
}

// compareDoubles is compareInts for doubles, where NaN equals itself and is the greatest.
func compareDoubles(op int, bits []uint64, a, b []float64, ma, mb int, sel columnar.Sel) {
	switch op {
	case cmpGt:
		op, a, b, ma, mb = cmpLt, b, a, mb, ma
	case cmpGe:
		op, a, b, ma, mb = cmpLe, b, a, mb, ma
	}
	for k := range sel.N {
		i := sel.At(k)
		x, y := a[i&ma], b[i&mb]
		var r bool
		switch op {
		case cmpEq:
			r = x == y || x != x && y != y
		case cmpLt:
			r = x < y || y != y && x == x
		default:
			r = x <= y || y != y
		}
		bits[i>>6] |= b2u(r) << (uint(i) & 63)
	}
}
