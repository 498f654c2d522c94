package expr

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func formatFunctions() []Function {
	out := synonyms(fn("format_string(strfmt, expr, ...)", "Java's printf.", buildFormatString), "printf")
	out = append(out, synonyms(fn("to_char(expr, fmt)", "A number, date or binary as a format says.", buildToChar), "to_varchar")...)
	return append(out,
		fn("format_number(expr, d)", "A number with groups of three digits and d decimals, or by a pattern.", buildFormatNumber),
		fn("to_number(str, fmt)", "The number of a text by a format.", toNumberBuilder(false)),
		fn("try_to_number(str, fmt)", "As to_number, null for bad text.", toNumberBuilder(true)))
}

func buildFormatString(c *Call) (Expr, error) {
	if err := c.Arity(1, -1); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	if f, ok := constText(c.Args[0], c.Conf); ok && strings.Contains(f, "%0$") {
		return nil, errs.New("INVALID_PARAMETER_VALUE.ZERO_INDEX", "parameter", "`strfmt`", "functionName", types.Quote(c.Name))
	}
	if err := call.need(c.Text(), 0, tString); err != nil {
		return nil, err
	}
	return NewScalar("format_string", tString, c.Args[0].Nullable(), call.Args, c.Text(), bytesRows(func(r *row, dst []byte) ([]byte, error) {
		if r.null(0) {
			return dst, errNull
		}
		return appendFormatted(dst, r)
	})), nil
}

// formatSpec is one %… of a format.
type formatSpec struct {
	minus, plus, space, zero, group, paren, sharp bool
	width, precision                              int
	conv                                          byte
}

// badFormat says what is wrong with a format; Spark lets Java's exception through, which has no condition.
func badFormat(message string) error { return errs.New("INVALID_FORMAT_STRING", "message", message) }

// appendFormatted formats the arguments behind the first by the first.
func appendFormatted(dst []byte, r *row) ([]byte, error) {
	f := r.bytes(0)
	next, last := 1, 0
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			dst = append(dst, f[i])
			continue
		}
		start := i
		i++
		s := formatSpec{precision: -1}
		index := 0
		if n := digitRun(f[i:], 9); n > 0 && i+n < len(f) && f[i+n] == '$' {
			index, _ = strconv.Atoi(string(f[i : i+n]))
			i += n + 1
		} else if i < len(f) && f[i] == '<' { // the argument of the format before
			if index = last; index == 0 {
				return dst, badFormat("Format specifier '%<'")
			}
			i++
		}
	flags:
		for ; i < len(f); i++ {
			switch f[i] {
			case '-':
				s.minus = true
			case '+':
				s.plus = true
			case ' ':
				s.space = true
			case '0':
				s.zero = true
			case ',':
				s.group = true
			case '(':
				s.paren = true
			case '#':
				s.sharp = true
			default:
				break flags
			}
		}
		if n := digitRun(f[i:], len(f)); n > 0 {
			s.width = formatNumber(f[i : i+n])
			i += n
		}
		if i < len(f) && f[i] == '.' {
			n := digitRun(f[i+1:], len(f))
			s.precision = formatNumber(f[i+1 : i+1+n])
			i += n + 1
		}
		if i >= len(f) {
			return dst, badFormat("Conversion = '%'")
		}
		if max(s.width, s.precision) > math.MaxInt32 {
			return dst, badFormat("a width or precision is no INT")
		}
		if err := fitsText(int64(len(dst)) + int64(max(s.width, s.precision, 0))); err != nil {
			return dst, err
		}
		s.conv = f[i]
		switch s.conv {
		case '%':
			dst = s.pad(dst, []byte{'%'})
			continue
		case 'n':
			dst = append(dst, '\n')
			continue
		}
		if strings.IndexByte("dxXosSbBcCeEfgGhH", s.conv) < 0 {
			return dst, badFormat("Conversion = '" + string(s.conv) + "'")
		}
		arg := index
		if index == 0 {
			arg = next
			next++
		}
		last = arg
		if flags := s.unfit(); flags != "" {
			return dst, badFormat("Conversion = " + string(s.conv) + ", Flags = " + flags)
		}
		if arg >= len(r.args) {
			return dst, badFormat("Format specifier '" + string(f[start:i+1]) + "'")
		}
		var err error
		if dst, err = s.append(dst, r, arg); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// formatNumber is the value of digits, or more than any INT.
func formatNumber(digits []byte) int {
	n, err := strconv.Atoi(string(digits))
	if err != nil && len(digits) > 0 {
		return math.MaxInt
	}
	return n
}

// unfit gives flags that are of no use for the conversion or contradict each other, for which Java fails.
func (s *formatSpec) unfit() string {
	switch lower := s.conv | 0x20; {
	case (s.minus || s.zero) && s.width == 0:
		return "- or 0 without a width"
	case s.minus && s.zero:
		return "-0"
	case s.plus && s.space:
		return "+ "
	case lower == 'c' && (s.precision >= 0 || s.sharp || s.plus || s.space || s.zero || s.group || s.paren):
		return "another than -"
	case (lower == 's' || lower == 'b' || lower == 'h') && (s.sharp || s.plus || s.space || s.zero || s.group || s.paren):
		return "another than -"
	case s.conv == 'd' && (s.sharp || s.precision >= 0):
		return "# or a precision"
	case (lower == 'x' || s.conv == 'o') && (s.plus || s.space || s.group || s.paren || s.precision >= 0):
		return "another than -, # and 0"
	case lower == 'e' && s.group:
		return ","
	case lower == 'g' && s.sharp:
		return "#"
	}
	return ""
}

func (s *formatSpec) pad(dst, text []byte) []byte {
	blanks := s.width - countRunes(text)
	if s.minus {
		dst = append(dst, text...)
	}
	for ; blanks > 0; blanks-- {
		dst = append(dst, ' ')
	}
	if !s.minus {
		dst = append(dst, text...)
	}
	return dst
}

func (s *formatSpec) append(dst []byte, r *row, k int) ([]byte, error) {
	v := r.args[k]
	var buf [128]byte
	text := buf[:0]
	null := v.IsNull(r.i)
	i := v.Row(r.i)
	kind := v.Type.Kind
	mismatch := func() error {
		names := map[types.Kind]string{types.String: "org.apache.spark.unsafe.types.UTF8String", types.Double: "java.lang.Double", types.Boolean: "java.lang.Boolean",
			types.Decimal: "org.apache.spark.sql.types.Decimal"}
		return badFormat(string(s.conv) + " != " + names[kind])
	}
	whole := v.Type.IsIntegral() || kind == types.Date || kind == types.Timestamp || kind == types.TimestampNTZ
	lower := s.conv | 0x20
	switch {
	case null && lower == 'b':
		text = append(text, "false"...)
	case null:
		text = append(text, "null"...)
	case lower == 's':
		switch {
		case whole:
			text = strconv.AppendInt(text, integralAt(v, r.i), 10)
		default:
			text = AppendText(text, v, i, r.ctx.Conf.Zone, CastStyle)
		}
	case lower == 'b':
		text = strconv.AppendBool(text, kind != types.Boolean || v.Bool(i))
	case lower == 'h':
		text = strconv.AppendUint(text, uint64(uint32(javaHash(v, i))), 16)
	case lower == 'c':
		if !v.Type.IsIntegral() || kind == types.BigInt {
			return dst, mismatch()
		}
		if n := integralAt(v, r.i); n < 0 || n > utf8.MaxRune {
			return dst, badFormat("Code point = " + strconv.FormatInt(n, 16))
		}
		text = append(text, string(rune(integralAt(v, r.i)))...)
	case s.conv == 'd' || lower == 'x' || s.conv == 'o':
		if !whole {
			return dst, mismatch()
		}
		n := integralAt(v, r.i)
		if s.conv == 'd' {
			return s.number(dst, n < 0, strconv.AppendUint(text, absU(n), 10), 0), nil
		}
		u := uint64(n)
		switch v.Phys {
		case columnar.PI8:
			u = uint64(uint8(n))
		case columnar.PI16:
			u = uint64(uint16(n))
		case columnar.PI32:
			u = uint64(uint32(n))
		}
		base := 16
		if s.conv == 'o' {
			base = 8
		}
		if s.sharp {
			text = append(text, map[int]string{8: "0", 16: "0x"}[base]...)
		}
		text = strconv.AppendUint(text, u, base)
		if missing := s.width - len(text); s.zero && missing > 0 {
			text = append(bytes.Repeat([]byte{'0'}, missing), text...)
		}
	default:
		var x float64
		switch kind {
		case types.Float:
			x = float64(v.F32[i])
		case types.Double:
			x = v.F64[i]
		default: // also DECIMAL, of which Java's formatter knows nothing
			return dst, mismatch()
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			text = AppendDouble(text, x, 64)
			break
		}
		p := s.precision
		if p < 0 {
			p = 6
		}
		neg := math.Signbit(x)
		switch {
		case s.conv == 'f':
			text = strconv.AppendFloat(text, math.Abs(roundFloat(x, int32(p), halfUp, 64)), 'f', p, 64)
		case lower == 'e':
			text = strconv.AppendFloat(text, math.Abs(x), 'e', p, 64)
		default:
			p = max(p, 1)
			if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= math.Pow(10, float64(p))) {
				text = strconv.AppendFloat(text, a, 'e', p-1, 64)
			} else {
				text = strconv.AppendFloat(text, a, 'f', max(0, p-1-int(math.Floor(math.Log10(max(a, 1e-300))))*b2i(a != 0)), 64)
			}
		}
		dst = s.number(dst, neg, text, 0)
		return dst, nil
	}
	if s.precision >= 0 && (lower == 's' || lower == 'b') {
		text = text[:runeOffset(text, int64(s.precision))]
	}
	if s.conv >= 'A' && s.conv <= 'Z' {
		text = appendUpper(nil, text)
	}
	return s.pad(dst, text), nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func absU(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func javaHash(v *columnar.Vec, i int) int32 { return int32(Murmur3(v, i, 42)) }

// number pads, groups and signs digits.
func (s *formatSpec) number(dst []byte, neg bool, digits []byte, _ int) []byte {
	if s.group {
		digits = appendGrouped(nil, digits, 3)
	}
	head, tail := "", ""
	switch {
	case neg && s.paren:
		head, tail = "(", ")"
	case neg:
		head = "-"
	case s.plus:
		head = "+"
	case s.space:
		head = " "
	}
	text := append([]byte{}, head...)
	if s.zero {
		for n := len(head) + len(tail) + len(digits); n < s.width; n++ {
			text = append(text, '0')
		}
	}
	text = append(append(text, digits...), tail...)
	if s.conv >= 'A' && s.conv <= 'Z' {
		text = appendUpper(nil, text)
	}
	return s.pad(dst, text)
}

// appendGrouped puts commas between groups of digits before the point.
func appendGrouped(dst, digits []byte, size int) []byte {
	point := len(digits)
	for i, c := range digits {
		if c < '0' || c > '9' {
			point = i
			break
		}
	}
	for i, c := range digits[:point] {
		if i > 0 && size > 0 && (point-i)%size == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c)
	}
	return append(dst, digits[point:]...)
}

func buildFormatNumber(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	text := c.Text()
	if t := c.Args[0].Type(); !t.IsNumeric() {
		x, ok := ImplicitCast(c.Args[0], tDouble, c.Conf)
		if !ok {
			return nil, WrongType(text, 0, `"NUMERIC"`, c.Args[0])
		}
		call.Args[0] = x
	}
	switch k := c.Args[1].Type(); {
	case k.Kind == types.String:
	case k.IsIntegral(), k.Kind == types.Null:
		call.Args[1] = CastTo(c.Args[1], tInt, c.Conf)
	default:
		return nil, WrongType(text, 1, `("INT" or "STRING")`, c.Args[1])
	}
	byPattern := c.Args[1].Type().Kind == types.String
	s := Strict("format_number", tString, call.Args, text, bytesRows(func(r *row, dst []byte) ([]byte, error) {
		p := numberPattern{minInt: 1, group: 3}
		if byPattern {
			p.parse(r.bytes(1))
		} else {
			n := int(r.i32(1))
			if n < 0 {
				return dst, errNull
			}
			if r.args[0].Phys != columnar.PDec {
				n = min(n, javaFractionDigits)
			}
			if err := fitsText(int64(len(dst)) + int64(n)); err != nil {
				return dst, err
			}
			p.minFrac, p.maxFrac = n, n
		}
		return p.format(dst, r.args[0], r.args[0].Row(r.i)), nil
	}))
	s.Null = true
	return s, nil
}

// javaFractionDigits is how many digits after the point Java's DecimalFormat gives at most to a number that is no
// decimal.
const javaFractionDigits = 340

// numberPattern is the part of Java's DecimalFormat that format_number needs.
type numberPattern struct {
	minInt, minFrac, maxFrac, group int
	prefix, suffix                  string
}

func (p *numberPattern) parse(s []byte) {
	*p = numberPattern{}
	frac, seen := false, false
	sinceComma := -1
	for _, c := range s {
		switch {
		case c == '#' || c == '0':
			seen = true
			switch {
			case frac:
				p.maxFrac++
				if c == '0' {
					p.minFrac = p.maxFrac
				}
			default:
				if c == '0' {
					p.minInt++
				}
				if sinceComma >= 0 {
					sinceComma++
				}
			}
		case c == ',' && !frac:
			sinceComma = 0
		case c == '.':
			frac = true
		case !seen:
			p.prefix += string(rune(c))
		default:
			p.suffix += string(rune(c))
		}
	}
	p.group = max(sinceComma, 0)
	if p.minInt == 0 {
		p.minInt = 1
	}
}

func (p *numberPattern) format(dst []byte, v *columnar.Vec, i int) []byte {
	var buf [400]byte
	digits := buf[:0]
	switch {
	case v.Phys == columnar.PF32 || v.Phys == columnar.PF64:
		x := 0.0
		if v.Phys == columnar.PF32 {
			x = float64(v.F32[i])
		} else {
			x = v.F64[i]
		}
		switch {
		case math.IsNaN(x):
			return append(dst, "NaN"...)
		case math.IsInf(x, 1):
			return append(dst, "∞"...)
		case math.IsInf(x, -1):
			return append(dst, "-∞"...)
		}
		digits = strconv.AppendFloat(digits, x, 'f', p.maxFrac, 64)
	default:
		n, scale := decimal128.Num{}, int32(0)
		if v.Phys == columnar.PDec {
			n, scale = v.Dec[i], v.Type.Scale
		} else {
			n = decimal128.FromI64(integralAt(v, i))
		}
		if int32(p.maxFrac) >= scale { // zeros are added as text: they need not fit
			digits = appendDecimal(digits, n, scale)
			if scale == 0 && p.maxFrac > 0 {
				digits = append(digits, '.')
			}
			for k := int(scale); k < p.maxFrac; k++ {
				digits = append(digits, '0')
			}
		} else {
			n, _ = roundDecimal(n, scale, int32(p.maxFrac), int32(p.maxFrac), halfEven)
			digits = appendDecimal(digits, n, int32(p.maxFrac))
		}
	}
	neg := false
	if digits[0] == '-' {
		digits = digits[1:]
		neg = len(bytes.Trim(digits, "0.")) > 0
	}
	if p.maxFrac > 0 {
		point := bytes.IndexByte(digits, '.')
		for len(digits)-point-1 > p.minFrac && digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
		digits = bytes.TrimSuffix(digits, []byte{'.'})
	}
	if neg {
		dst = append(dst, '-')
	}
	dst = append(dst, p.prefix...)
	point := bytes.IndexByte(digits, '.')
	if point < 0 {
		point = len(digits)
	}
	if pad := p.minInt - point; pad > 0 {
		digits = append(bytes.Repeat([]byte{'0'}, pad), digits...)
	}
	return append(appendGrouped(dst, digits, p.group), p.suffix...)
}

// charFormat is a parsed format of to_char and to_number.
type charFormat struct {
	text       string
	sign       byte // 'S', 'M' (MI), 'P' (PR), 0
	signLast   bool
	currency   bool
	whole      []byte // '9', '0', ','
	frac       []byte
	point      bool
	fracDigits int
	digits     int
}

func parseCharFormat(text string) (*charFormat, error) {
	f := &charFormat{text: text}
	s := strings.ToUpper(text)
	fail := func(cond string, params ...any) error {
		return errs.New("INVALID_FORMAT."+cond, append([]any{"format", "'" + s + "'"}, params...)...)
	}
	if s == "" {
		return nil, fail("EMPTY")
	}
	if !strings.ContainsAny(s, "09") {
		return nil, fail("WRONG_NUM_DIGIT")
	}
	rest := s
	cut := func(p string) bool {
		var ok bool
		rest, ok = strings.CutPrefix(rest, p)
		return ok
	}
	switch {
	case cut("MI"):
		f.sign = 'M'
	case cut("S"):
		f.sign = 'S'
	}
	f.currency = cut("$")
	n := 0
	for n < len(rest) && strings.IndexByte("09,G", rest[n]) >= 0 {
		c := rest[n]
		if c == 'G' {
			c = ','
		}
		if c != ',' {
			f.digits++
		}
		f.whole = append(f.whole, c)
		n++
	}
	if i := len(f.whole); i > 0 && (f.whole[0] == ',' || f.whole[i-1] == ',') {
		return nil, fail("CONT_THOUSANDS_SEPS")
	}
	rest = rest[n:]
	if cut(".") || cut("D") {
		f.point = true
		n = 0
		for n < len(rest) && (rest[n] == '0' || rest[n] == '9') {
			n++
		}
		f.frac, f.fracDigits = []byte(rest[:n]), n
		rest = rest[n:]
	}
	if strings.HasPrefix(rest, "$") && !f.currency {
		return nil, fail("CUR_MUST_BEFORE_DIGIT")
	}
	if f.sign == 0 {
		switch {
		case cut("PR"):
			f.sign, f.signLast = 'P', true
		case cut("MI"):
			f.sign, f.signLast = 'M', true
		case cut("S"):
			f.sign, f.signLast = 'S', true
		}
	}
	for _, again := range [...]struct {
		begins string
		name   string
		given  bool
	}{{".", ". or D", f.point}, {"D", ". or D", f.point}, {"S", "S", f.sign == 'S'}, {"MI", "MI", f.sign == 'M'}, {"$", "$", f.currency}} {
		if again.given && strings.HasPrefix(rest, again.begins) {
			return nil, fail("WRONG_NUM_TOKEN", "token", again.name)
		}
	}
	if rest != "" {
		return nil, fail("UNEXPECTED_TOKEN", "token", "'"+rest[:1]+"'")
	}
	return f, nil
}

func (f *charFormat) appendNumber(dst []byte, n decimal128.Num, scale int32) []byte {
	var buf [64]byte
	neg := n.Sign() < 0
	digits := bytes.TrimPrefix(appendDecimal(buf[:0], n, scale), []byte{'-'})
	whole, frac, _ := bytes.Cut(digits, []byte{'.'})
	whole = bytes.TrimLeft(whole, "0")
	frac = bytes.TrimRight(frac, "0")
	if len(whole) > f.digits || len(frac) > f.fracDigits {
		if f.currency {
			dst = append(dst, '$')
		}
		for _, c := range f.whole {
			if c != ',' {
				c = '#'
			}
			dst = append(dst, c)
		}
		if f.point {
			dst = append(dst, '.')
		}
		for range f.frac {
			dst = append(dst, '#')
		}
		return dst
	}
	// Digits are laid out from the left: missing ones are blanks for 9 and zeros from the first 0 on.
	missing := f.digits - len(whole)
	var body []byte
	blanks := 0
	started := false
	k := 0
	for j, c := range f.whole {
		if c == ',' {
			if started {
				body = append(body, ',')
			} else {
				blanks++
			}
			continue
		}
		switch {
		case k >= missing:
			started = true
			body = append(body, whole[k-missing])
		case started || c == '0' || k == f.digits-1 && len(whole) == 0:
			started = true
			body = append(body, '0')
		default:
			blanks++
		}
		k++
		_ = j
	}
	if f.point {
		body = append(body, '.')
		for j := range f.frac {
			if j < len(frac) {
				body = append(body, frac[j])
			} else {
				body = append(body, '0')
			}
		}
	}
	if !f.signLast && f.sign == 'M' && !neg {
		blanks++
	}
	for range blanks {
		dst = append(dst, ' ')
	}
	switch {
	case f.sign == 'P' && neg:
		dst = append(dst, '<')
	case f.sign == 0 && neg, !f.signLast && f.sign != 0 && neg:
		dst = append(dst, '-')
	case !f.signLast && f.sign == 'S':
		dst = append(dst, '+')
	}
	if f.currency {
		dst = append(dst, '$')
	}
	dst = append(dst, body...)
	switch {
	case f.sign == 'P' && neg:
		dst = append(dst, '>')
	case f.sign == 'P': // room for the brackets
		dst = append(dst, "  "...)
	case f.signLast && f.sign == 'S' && !neg:
		dst = append(dst, '+')
	case f.signLast && f.sign != 'P' && neg:
		dst = append(dst, '-')
	case f.signLast && f.sign == 'M':
		dst = append(dst, ' ')
	}
	return dst
}

// read gives the digits of a text without point and signs, ready to be parsed at the format's scale.
func (f *charFormat) read(s []byte) (n decimal128.Num, ok bool) {
	s = bytes.TrimSpace(s)
	neg := false
	switch {
	case f.sign == 'P':
		if len(s) >= 2 && s[0] == '<' && s[len(s)-1] == '>' {
			neg, s = true, s[1:len(s)-1]
		}
	case f.sign != 0 && f.signLast && len(s) > 0 && (s[len(s)-1] == '-' || s[len(s)-1] == '+' && f.sign == 'S'):
		neg, s = s[len(s)-1] == '-', s[:len(s)-1]
	case f.sign != 0 && !f.signLast && len(s) > 0 && (s[0] == '-' || s[0] == '+' && f.sign == 'S'):
		neg, s = s[0] == '-', s[1:]
	}
	s = bytes.TrimSpace(s)
	if f.currency {
		var had bool
		if s, had = bytes.CutPrefix(s, []byte{'$'}); !had {
			return n, false
		}
	}
	whole, frac, point := bytes.Cut(s, []byte{'.'})
	if point && !f.point || len(frac) > f.fracDigits || !allDigits(frac) && len(frac) > 0 {
		return n, false
	}
	var digits []byte
	at := len(f.whole) - 1
	for k := len(whole) - 1; k >= 0; k-- {
		if at < 0 {
			return n, false
		}
		switch c := whole[k]; {
		case c == ',':
			if f.whole[at] != ',' {
				return n, false
			}
		case c >= '0' && c <= '9':
			if f.whole[at] == ',' {
				return n, false
			}
			digits = append(digits, c)
		default:
			return n, false
		}
		at--
	}
	if len(digits) == 0 && len(frac) == 0 {
		return n, false
	}
	for i, j := 0, len(digits)-1; i < j; i, j = i+1, j-1 {
		digits[i], digits[j] = digits[j], digits[i]
	}
	if neg {
		digits = append([]byte{'-'}, digits...)
	}
	if len(digits) == 0 || digits[len(digits)-1] == '-' {
		digits = append(digits, '0')
	}
	digits = append(append(digits, '.'), frac...)
	if len(frac) == 0 {
		digits = append(digits, '0')
	}
	var d parsedDecimal
	if !d.parse(digits) {
		return n, false
	}
	return d.at(38, int32(f.fracDigits))
}

func buildToChar(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	a := c.Args[0]
	t := a.Type()
	text := callText("to_char", c.Args)
	switch {
	case t.IsDatetime():
		return Build("date_format", c.Args, c.Conf)
	case t.Kind == types.Binary:
		f, _ := constText(c.Args[1], c.Conf)
		switch strings.ToLower(f) {
		case "utf-8", "utf8":
			return Build("decode", []Expr{a, c.Args[1]}, c.Conf)
		case "hex":
			return Build("hex", []Expr{a}, c.Conf)
		case "base64":
			return Build("base64", []Expr{a}, c.Conf)
		}
		return nil, errs.New("INVALID_PARAMETER_VALUE.BINARY_FORMAT", "functionName", types.Quote(c.Name), "parameter", "`format`", "invalidFormat", "'"+f+"'")
	case t.IsIntegral():
		a = CastTo(a, decimalFor(t), c.Conf)
	case t.Kind == types.Null:
		a = CastTo(a, types.DecimalOf(10, 0), c.Conf)
	case t.Kind != types.Decimal:
		x, ok := ImplicitCast(a, types.DecimalOf(38, 18), c.Conf)
		if !ok {
			return nil, WrongType(text, 0, `"DECIMAL"`, a)
		}
		a = x
	}
	fs, ok := constText(c.Args[1], c.Conf)
	if !ok {
		if c.Args[1].Type().Kind == types.Null || Foldable(c.Args[1]) {
			return &Literal{Value: NullLit(tString).Value, Text: text}, nil
		}
		return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(text), "inputName", "`format`", "inputType", `"STRING"`, "inputExpr", quoted(c.Args[1].String()))
	}
	f, err := parseCharFormat(fs)
	if err != nil {
		return nil, err
	}
	scale := a.Type().Scale
	s := Strict("to_char", tString, []Expr{a}, text, bytesRows(func(r *row, dst []byte) ([]byte, error) {
		v := r.args[0]
		return f.appendNumber(dst, v.Dec[v.Row(r.i)], scale), nil
	}))
	s.Extra = fs
	return s, nil
}

func toNumberBuilder(try bool) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		call := *c
		call.copyArgs()
		text := c.Text()
		if err := call.need(text, 0, tString); err != nil {
			return nil, err
		}
		fs, ok := constText(c.Args[1], c.Conf)
		if !ok {
			return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(text), "inputName", "`format`", "inputType", `"STRING"`, "inputExpr", quoted(c.Args[1].String()))
		}
		f, err := parseCharFormat(fs)
		if err != nil {
			return nil, err
		}
		t := types.DecimalOf(int32(f.digits+f.fracDigits), int32(f.fracDigits))
		s := Strict(c.Name, t, call.Args[:1], text, fixedRows(decValues, func(r *row) (decimal128.Num, error) {
			n, ok := f.read(r.bytes(0))
			switch {
			case ok:
				return n, nil
			case try:
				return n, errNull
			}
			return n, errs.New("INVALID_FORMAT.MISMATCH_INPUT", "inputType", `"STRING"`, "input", string(r.bytes(0)), "format", fs)
		}))
		s.Null = s.Null || try
		s.Extra = fs
		return s, nil
	}
}
