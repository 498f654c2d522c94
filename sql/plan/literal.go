package plan

import (
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// literal gives the value of a constant.
func (x *resolver) literal(l *sql.Literal) expr.Expr {
	switch l.Kind {
	case "null":
		return expr.NullLit(types.Of(types.Null))
	case "bool":
		return expr.BoolLit(strings.EqualFold(l.Text, "true"))
	case "string":
		return expr.StringLit(l.Text)
	case "binary":
		text := l.Text
		if len(text)%2 == 1 {
			text = "0" + text
		}
		b, err := hex.DecodeString(text)
		if err != nil {
			x.fail(l, "INVALID_TYPED_LITERAL", "valueType", `"X"`, "value", "'"+l.Text+"'")
		}
		return expr.BinaryLit(b)
	case "int", "number":
		if i, err := strconv.ParseInt(l.Text, 10, 32); err == nil {
			return expr.IntLit(int32(i))
		}
		if i, err := strconv.ParseInt(l.Text, 10, 64); err == nil {
			return expr.BigIntLit(i)
		}
		return x.decimal(l)
	case "long":
		return x.integral(l, "L", 64, types.BigInt)
	case "short":
		return x.integral(l, "S", 16, types.SmallInt)
	case "byte":
		return x.integral(l, "Y", 8, types.TinyInt)
	case "decimal", "bigdecimal":
		return x.decimal(l)
	case "double":
		x.inRange(l, math.MaxFloat64, "1.7976931348623157E+308", "double")
		f, _ := strconv.ParseFloat(l.Text, 64)
		return expr.DoubleLit(f)
	case "float":
		x.inRange(l, math.MaxFloat32, "3.4028234663852886E+38", "float")
		f, _ := strconv.ParseFloat(l.Text, 32)
		return expr.FloatLit(float32(f))
	case "typed":
		return x.typedLiteral(l)
	}
	x.fail(l, "UNSUPPORTED_FEATURE", "feature", "literal "+l.Kind)
	return nil
}

// inRange refuses a literal beyond the largest value of its type; the digits decide, before any rounding.
func (x *resolver) inRange(l *sql.Literal, limit float64, shown, typeName string) {
	v, _, err := big.ParseFloat(l.Text, 10, 2000, big.ToNearestEven)
	if limit := big.NewFloat(limit); err != nil || v.Abs(v).Cmp(limit) > 0 {
		x.fail(l, "INVALID_NUMERIC_LITERAL_RANGE", "rawStrippedQualifier", l.Text, "minValue", "-"+shown,
			"maxValue", shown, "typeName", typeName)
	}
}

func (x *resolver) integral(l *sql.Literal, suffix string, bits int, k types.Kind) expr.Expr {
	i, err := strconv.ParseInt(l.Text, 10, bits)
	if err != nil {
		limit := int64(1) << (bits - 1)
		x.fail(l, "INVALID_NUMERIC_LITERAL_RANGE", "rawStrippedQualifier", l.Text, "minValue", -limit, "maxValue", limit-1,
			"typeName", map[string]string{"L": "bigint", "S": "smallint", "Y": "tinyint"}[suffix])
	}
	return expr.IntegralLit(i, k)
}

func (x *resolver) decimal(l *sql.Literal) expr.Expr {
	text, exp := strings.ToLower(l.Text), 0
	if i := strings.IndexByte(text, 'e'); i >= 0 {
		exp, _ = strconv.Atoi(text[i+1:])
		text = text[:i]
	}
	scale := 0
	if i := strings.IndexByte(text, '.'); i >= 0 {
		scale = len(text) - i - 1
		text = text[:i] + text[i+1:]
	}
	scale -= exp
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		x.fail(l, "PARSE_SYNTAX_ERROR", "error", "'"+l.Text+"'", "hint", "")
	}
	digits := len(new(big.Int).Abs(n).String())
	precision := max(digits, scale, digits-scale)
	if scale >= 0 {
		precision = max(digits, scale)
	}
	if precision <= 38 && scale < 0 {
		n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-scale)), nil))
		scale = 0
	}
	if precision > 38 {
		x.fail(l, "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "precision", precision, "maxPrecision", 38)
	}
	return expr.DecimalLit(decimal128.FromBigInt(n), int32(precision), int32(scale))
}

func (x *resolver) typedLiteral(l *sql.Literal) expr.Expr {
	s := []byte(strings.TrimSpace(l.Text))
	zone := x.a.conf.Expr.Zone
	if zone == nil {
		zone = time.UTC
	}
	now := time.Now().UnixMicro()
	switch l.Type {
	case "DATE":
		if d, ok := expr.ParseDate(s); ok {
			return expr.IntegralLit(int64(d), types.Date)
		}
		if v, ok := expr.SpecialDay(string(s), types.Date, zone, now); ok {
			return expr.IntegralLit(v, types.Date)
		}
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		if x.a.conf.Expr.NTZ && l.Type == "TIMESTAMP" {
			if us, ok := expr.ParseTimestampNTZ(s, true); ok { // with a zone it stays an instant
				return expr.IntegralLit(us, types.TimestampNTZ)
			}
		}
		if us, ok := expr.ParseTimestamp(s, zone, now); ok {
			return expr.TimestampLit(us, x.a.conf.Expr)
		}
		if v, ok := expr.SpecialDay(string(s), types.Timestamp, zone, now); ok {
			return expr.TimestampLit(v, x.a.conf.Expr)
		}
	case "TIMESTAMP_NTZ":
		if us, ok := expr.ParseTimestampNTZ(s, false); ok {
			return expr.IntegralLit(us, types.TimestampNTZ)
		}
		if v, ok := expr.SpecialDay(string(s), types.TimestampNTZ, zone, now); ok {
			return expr.IntegralLit(v, types.TimestampNTZ)
		}
	case "TIME":
		if n, ok := expr.ParseTimeOfDay(s); ok {
			return expr.IntegralLit(n, types.Time)
		}
	}
	x.fail(l, "INVALID_TYPED_LITERAL", "valueType", `"`+l.Type+`"`, "value", "'"+l.Text+"'")
	return nil
}

// intervalUnits give class ('m' months, 'd' days and below) and the unit of the literal's type.
var intervalUnits = map[string]struct {
	class byte
	unit  uint8
}{
	"YEAR": {'m', types.Year}, "MONTH": {'m', types.Month}, "WEEK": {'d', types.Day}, "DAY": {'d', types.Day},
	"HOUR": {'d', types.Hour}, "MINUTE": {'d', types.Minute}, "SECOND": {'d', types.Second},
	"MILLISECOND": {'d', types.Second}, "MICROSECOND": {'d', types.Second}, "NANOSECOND": {'d', types.Second},
}

func unitName(u string) string {
	u = strings.ToUpper(u)
	if _, ok := intervalUnits[u]; !ok {
		u = strings.TrimSuffix(u, "S")
	}
	return u
}

// interval gives the value of an interval literal. Errors stand behind the word INTERVAL.
func (x *resolver) interval(iv *sql.Interval) expr.Expr {
	at := iv.Pos()
	if len(iv.Parts) > 0 {
		at.Start = iv.Parts[0].Start
	}
	if iv.From != "" && iv.To != "" {
		return x.unitToUnit(iv, at)
	}
	text := iv.Text
	var used []string
	if len(iv.Parts) > 0 {
		text = ""
		for _, p := range iv.Parts {
			v, ok := constantText(x, p.Value)
			if !ok {
				x.fail(iv, "UNSUPPORTED_FEATURE", "feature", "an interval of values that are not constant; use make_dt_interval")
			}
			if !plainNumber(v) {
				x.fail(at, "_LEGACY_ERROR_TEMP_0026", "value", v)
			}
			text += " " + v + " " + strings.ToLower(unitName(p.Unit))
			used = append(used, unitName(p.Unit))
		}
	} else {
		for _, w := range strings.FieldsFunc(text, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
		}) {
			if u := unitName(w); u != "INTERVAL" {
				used = append(used, u)
			}
		}
	}
	months, days, micros, err := expr.ParseCalendarInterval(text)
	if err != nil {
		if len(iv.Parts) == 0 {
			x.fail(iv, "INVALID_TYPED_LITERAL", "valueType", `"INTERVAL"`, "value", "'"+iv.Text+"'")
		}
		x.failWith(nil, err)
	}
	if x.a.conf.Expr.CalendarIntervals {
		return expr.CalendarLit(months, days, micros)
	}
	t := types.DataType{}
	classes := byte(0)
	for _, u := range used {
		k, ok := intervalUnits[u]
		if !ok {
			continue
		}
		if classes == 0 {
			classes, t.From, t.To = k.class, k.unit, k.unit
		}
		if classes != k.class {
			shown := text
			if x.a.text != "" {
				shown = x.a.text[iv.Start:iv.End]
			}
			x.fail(iv, "_LEGACY_ERROR_TEMP_0029", "literal", shown)
		}
		t.From, t.To = min(t.From, k.unit), max(t.To, k.unit)
	}
	if classes == 'm' {
		t.Kind = types.YearMonth
		return expr.IntegralOf(int64(months), t)
	}
	t.Kind = types.DayTime
	us := int64(days) * dayMicros
	sum := us + micros
	if us/dayMicros != int64(days) || (us^sum)&(micros^sum) < 0 {
		x.failWith(nil, errs.New("INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION"))
	}
	return expr.IntegralOf(sum, t)
}

// unitToUnit is INTERVAL 'text' FROM TO TO.
func (x *resolver) unitToUnit(iv *sql.Interval, at sql.Span) expr.Expr {
	text, ok := iv.Text, true
	if len(iv.Parts) > 0 {
		if text, ok = constantText(x, iv.Parts[0].Value); !ok {
			x.fail(iv, "_LEGACY_ERROR_TEMP_0028", "msg", "the value of an interval of two units has to be a text")
		}
	}
	from, to := intervalUnits[unitName(iv.From)], intervalUnits[unitName(iv.To)]
	if from.class != to.class || from.unit >= to.unit {
		x.fail(at, "INVALID_INTERVAL_FORMAT.UNSUPPORTED_FROM_TO_EXPRESSION", "input", text,
			"from", strings.ToLower(unitName(iv.From)), "to", strings.ToLower(unitName(iv.To)))
	}
	t := types.DataType{Kind: types.DayTime, From: from.unit, To: to.unit}
	if from.class == 'm' {
		t.Kind = types.YearMonth
	}
	n, err := expr.ParseIntervalLiteral(text, t)
	if err != nil {
		x.failWith(at, err)
	}
	switch {
	case x.a.conf.Expr.CalendarIntervals && t.Kind == types.YearMonth:
		return expr.CalendarLit(int32(n), 0, 0)
	case x.a.conf.Expr.CalendarIntervals:
		return expr.CalendarLit(0, int32(n/dayMicros), n%dayMicros)
	}
	return expr.IntegralOf(n, t)
}

// plainNumber tells what may be the value of an interval's unit: digits with a sign and a point.
func plainNumber(s string) bool {
	return s != "" && strings.Trim(s, "+-.0123456789") == "" && strings.ContainsAny(s, "0123456789")
}

const dayMicros = int64(24 * time.Hour / time.Microsecond)

// constantText is the text of a literal number or string, or of a parameter bound to one.
func constantText(x *resolver, e sql.Expr) (string, bool) {
	switch l := e.(type) {
	case *sql.Literal:
		return strings.TrimSpace(l.Text), true
	case *sql.Paren:
		return constantText(x, l.X)
	case *sql.Unary:
		t, ok := constantText(x, l.X)
		switch {
		case l.Op == "-" && strings.HasPrefix(t, "-"):
			return t[1:], ok
		case l.Op == "+" || strings.HasPrefix(t, "+"):
			t = strings.TrimPrefix(t, "+")
		}
		return strings.TrimPrefix(l.Op, "+") + t, ok
	case *sql.Param:
		if v, ok := x.param(l).(*expr.Literal); ok {
			return v.String(), true
		}
	}
	return "", false
}

// parseDelay reads an interval text as microseconds; a month counts as 31 days, as in withWatermark.
func parseDelay(text string) (int64, error) {
	months, days, micros, err := expr.ParseCalendarInterval(text)
	if err != nil {
		return 0, errs.New("CANNOT_PARSE_INTERVAL", "intervalString", text)
	}
	d := int64(months)*31*dayMicros + int64(days)*dayMicros + micros
	if d < 0 {
		return 0, errs.New("INVALID_PARAMETER_VALUE", "parameter", "delayThreshold", "functionName", "withWatermark",
			"expected", "an interval that is not negative, but got: "+text)
	}
	return d, nil
}
