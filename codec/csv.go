package codec

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"streamlab/errs"
	"streamlab/sql/types"
)

type csvOptions struct {
	sep                    []byte
	quote, escape, comment int // -1: none
	header, enforce        bool
	leading, trailing      bool // cut white space
	null, empty            string
	nan, posInf, negInf    string
	maxColumns, maxChars   int
	caseSensitive          bool
	unescaped              quoteHandling
	pruning                bool
}

// quoteHandling is what becomes of a field in quotes in which a quote stands that is not escaped.
type quoteHandling uint8

const (
	stopAtDelimiter    quoteHandling = iota // the raw text up to the next separator
	stopAtClosingQuote                      // up to a quote with a separator behind it
	skipValue                               // null
	raiseError                              // the file cannot be read
)

func (r *Reader) csvSetup(err *error) {
	o := &r.csv
	fail := func(name, value, why string) {
		if *err == nil {
			*err = invalid(name, value, why)
		}
	}
	char := func(name, def string) int {
		v := r.Settings.text(name, def)
		if v == "\u0000" {
			v = ""
		}
		if len(v) > 1 {
			if v = unescapeSep(v); len(v) > 1 && *err == nil {
				*err = errs.New("OPTION_VALUE_EXCEEDS_ONE_CHARACTER", "paramName", name, "actualValue", v)
			}
		}
		if v == "" {
			return -1
		}
		return int(v[0])
	}
	sep := r.Settings.text("sep", r.Settings.text("delimiter", ","))
	o.sep = []byte(unescapeSep(sep))
	if len(o.sep) == 0 {
		fail("sep", sep, "must not be empty")
	}
	o.quote = char("quote", `"`)
	o.escape = char("escape", `\`)
	o.comment = char("comment", "")
	o.header = r.flag("header", false, err)
	o.enforce = r.flag("enforceSchema", true, err)
	o.leading = r.flag("ignoreLeadingWhiteSpace", false, err)
	o.trailing = r.flag("ignoreTrailingWhiteSpace", false, err)
	o.null = r.Settings.text("nullValue", "")
	o.empty = r.Settings.text("emptyValue", "")
	o.nan = r.Settings.text("nanValue", "NaN")
	o.posInf = r.Settings.text("positiveInf", "Inf")
	o.negInf = r.Settings.text("negativeInf", "-Inf")
	o.maxColumns = r.number("maxColumns", 20480, err)
	o.maxChars = r.number("maxCharsPerColumn", -1, err)
	o.caseSensitive = strings.EqualFold(r.conf("spark.sql.caseSensitive"), "true")
	switch u := strings.ToUpper(r.Settings.text("unescapedQuoteHandling", "STOP_AT_DELIMITER")); u {
	case "STOP_AT_DELIMITER":
	case "STOP_AT_CLOSING_QUOTE":
		o.unescaped = stopAtClosingQuote
	case "SKIP_VALUE":
		o.unescaped = skipValue
	case "RAISE_ERROR":
		o.unescaped = raiseError
	case "BACK_TO_DELIMITER":
		if *err == nil {
			*err = errs.New("UNSUPPORTED_FEATURE", "feature", "The CSV option unescapedQuoteHandling = "+u)
		}
	default:
		fail("unescapedQuoteHandling", u, "must be STOP_AT_DELIMITER, STOP_AT_CLOSING_QUOTE, SKIP_VALUE or RAISE_ERROR")
	}
	// A query that needs some of the columns has only those cut out of a line, so how many there are is not seen.
	o.pruning = r.flag("columnPruning", !r.Document && !strings.EqualFold(r.conf("spark.sql.csv.parser.columnPruning.enabled"), "false"), err)
	if c := char("charToEscapeQuoteEscaping", ""); c >= 0 && c != o.escape && *err == nil {
		*err = errs.New("UNSUPPORTED_FEATURE", "feature", "A CSV option charToEscapeQuoteEscaping other than the escape")
	}
	if n := len(r.LineSep); *err == nil && (n > 2 || n == 0 && r.Settings.has("lineSep")) {
		fail("lineSep", string(r.LineSep), "must be one or two characters")
	}
}

func (s Settings) number(name string, def int, err *error) int {
	v := s.text(name, "")
	if v == "" {
		return def
	}
	n, e := strconv.Atoi(v)
	if e != nil && *err == nil {
		*err = invalid(name, v, "must be an integer")
	}
	return n
}

// unescapeSep turns \t and the like into the character they stand for.
func unescapeSep(s string) string {
	if len(s) < 2 || s[0] != '\\' {
		return s
	}
	return strings.NewReplacer(`\t`, "\t", `\r`, "\r", `\n`, "\n", `\b`, "\b", `\f`, "\f", `\\`, `\`, `\"`, `"`, `\'`, `'`,
		`\u0000`, "\u0000").Replace(s)
}

type token struct {
	text   []byte
	quoted bool
}

type csvDecoder struct {
	rowsOf
	tokens  []token
	buf     []byte // texts of quoted fields with escapes
	target  []int  // of the i-th token; -1: not wanted
	width   int    // tokens a record should have
	header  bool   // the next record is a header
	pruned  bool   // not every column is wanted, so the number of tokens is not looked at
	problem error
	broken  error // a quote that the option refuses
}

func newCSVDecoder(rows rowsOf) *csvDecoder {
	d := &csvDecoder{rowsOf: rows}
	at := map[int]int{}
	for k, c := range rows.r.columns {
		at[c] = k
	}
	corrupt := rows.r.Settings.text("columnNameOfCorruptRecord", rows.r.conf("spark.sql.columnNameOfCorruptRecord"))
	if corrupt == "" {
		corrupt = "_corrupt_record"
	}
	for i, f := range rows.r.schema {
		if f.Name == corrupt {
			continue
		}
		k, ok := at[i]
		if !ok {
			k = -1
		}
		d.target = append(d.target, k)
	}
	d.width = len(d.target)
	for _, k := range d.target {
		d.pruned = d.pruned || k < 0 && rows.r.csv.pruning
	}
	return d
}

func (d *csvDecoder) Begin(_ string, first bool) { d.header = first && d.r.csv.header }

func (d *csvDecoder) Record(rec []byte) error {
	if d.blank(rec) {
		return nil
	}
	if !d.splitPlain(rec) {
		d.split(rec, 0, false)
	}
	return d.convert(rec)
}

// TooLong takes a record; one that stands where a header should be is left out as a header is.
func (d *csvDecoder) TooLong(start []byte, why error) error {
	if d.header {
		d.header = false
		return nil
	}
	return d.rowsOf.TooLong(start, why)
}

// Document reads records whose quoted fields may span lines.
func (d *csvDecoder) Document(text []byte) error {
	text = oneLineEnd(text)
	for i := 0; i < len(text); {
		line := text[i:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		if d.blank(line) {
			i += len(line) + 1
			continue
		}
		next := d.split(text, i, true)
		if err := d.convert(bytes.TrimRight(text[i:next], "\r\n")); err != nil {
			return err
		}
		i = next
	}
	return nil
}

// oneLineEnd turns the line ends of a document into line feeds, in quotes too. Which end it has, the first one says:
// behind a carriage return there, every pair, or every single one, is an end.
func oneLineEnd(s []byte) []byte {
	i := bytes.IndexAny(s, "\r\n")
	if i < 0 || s[i] == '\n' {
		return s
	}
	if i+1 < len(s) && s[i+1] == '\n' {
		return bytes.ReplaceAll(s, []byte("\r\n"), []byte("\n"))
	}
	return bytes.ReplaceAll(s, []byte("\r"), []byte("\n"))
}

// blank reports lines that are no records: empty ones, blanks only, comments.
func (d *csvDecoder) blank(rec []byte) bool {
	if len(rec) == 0 {
		return true
	}
	if d.r.csv.comment >= 0 && rec[0] == byte(d.r.csv.comment) {
		return true
	}
	if rec[0] > ' ' {
		return false
	}
	for _, c := range rec {
		if c > ' ' {
			return false
		}
	}
	return len(d.r.csv.sep) != 1 || bytes.IndexByte(rec, d.r.csv.sep[0]) < 0
}

// splitPlain is split of a record without fields in quotes where nothing is cut off: eight bytes at a time. False
// says that split must do it.
func (d *csvDecoder) splitPlain(s []byte) bool {
	o := &d.r.csv
	if len(o.sep) != 1 || o.leading || o.trailing || o.quote >= 0 && len(s) > 0 && s[0] == byte(o.quote) {
		return false
	}
	sep := o.sep[0]
	tokens, from := d.tokens[:0], 0
	take := func(end int) bool {
		tokens = append(tokens, token{text: s[from:end]})
		from = end + 1
		return from >= len(s) || o.quote < 0 || s[from] != byte(o.quote)
	}
	all, i := uint64(sep)*lowBits, 0
	for ; i+8 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(s[i:]) ^ all
		// The highest bit of every byte that is zero, and of no other.
		for found := ^(x&lowSeven + lowSeven | x | lowSeven); found != 0; found &= found - 1 {
			if !take(i + bits.TrailingZeros64(found)/8) {
				return false
			}
		}
	}
	for ; i < len(s); i++ {
		if s[i] == sep && !take(i) {
			return false
		}
	}
	d.tokens = append(tokens, token{text: s[from:]})
	return true
}

const (
	lowBits  = 0x0101010101010101
	lowSeven = 0x7f7f7f7f7f7f7f7f
)

// split takes the record at i apart into d.tokens and returns where the next one begins. With lines set a
// line end outside quotes ends the record, otherwise the end of s does.
func (d *csvDecoder) split(s []byte, i int, lines bool) int {
	o := &d.r.csv
	d.tokens = d.tokens[:0]
	d.buf = d.buf[:0]
	for {
		if o.leading {
			for i < len(s) && s[i] <= ' ' && s[i] != o.sep[0] && !(lines && s[i] == '\n') {
				i++
			}
		}
		if o.quote >= 0 && i < len(s) && s[i] == byte(o.quote) {
			i = d.quoted(s, i, lines)
		} else {
			end := d.delimiter(s, i, lines)
			t := s[i:end]
			if lines && end < len(s) && s[end] == '\n' {
				t = bytes.TrimSuffix(t, []byte("\r"))
			}
			if o.trailing {
				for len(t) > 0 && t[len(t)-1] <= ' ' { // control characters too, as the JVM's trim
					t = t[:len(t)-1]
				}
			}
			d.tokens = append(d.tokens, token{text: t})
			i = end
		}
		if i >= len(s) {
			return i
		}
		if lines && s[i] == '\n' {
			return i + 1
		}
		i += len(o.sep)
		if i >= len(s) || lines && s[i] == '\n' { // a separator at the end begins an empty field
			d.tokens = append(d.tokens, token{})
			if i < len(s) {
				i++
			}
			return i
		}
	}
}

// delimiter finds the end of the field at i.
func (d *csvDecoder) delimiter(s []byte, i int, lines bool) int {
	sep := d.r.csv.sep
	end := len(s)
	if len(sep) == 1 {
		c := sep[0]
		for k := i; k < len(s); k++ {
			if s[k] == c || lines && s[k] == '\n' {
				return k
			}
		}
		return end
	}
	if n := bytes.Index(s[i:], sep); n >= 0 {
		end = i + n
	}
	if lines {
		if n := bytes.IndexByte(s[i:end], '\n'); n >= 0 {
			end = i + n
		}
	}
	return end
}

// quoted reads the field in quotes at i and returns where its delimiter stands. A quote that closes before
// the delimiter makes the field its raw text.
func (d *csvDecoder) quoted(s []byte, i int, lines bool) int {
	o := &d.r.csv
	q := byte(o.quote)
	start := i
	i++
	from := len(d.buf)
	for i < len(s) {
		c := s[i]
		if o.escape >= 0 && c == byte(o.escape) && i+1 < len(s) && (s[i+1] == q || s[i+1] == c && c != q) {
			d.buf = append(d.buf, s[i+1])
			i += 2
			continue
		}
		if c != q {
			d.buf = append(d.buf, c)
			i++
			continue
		}
		k := i + 1
		for k < len(s) && (s[k] == ' ' || s[k] == '\r') && !bytes.HasPrefix(s[k:], o.sep) {
			k++
		}
		if k >= len(s) || bytes.HasPrefix(s[k:], o.sep) || lines && s[k] == '\n' {
			d.tokens = append(d.tokens, token{text: d.buf[from:len(d.buf):len(d.buf)], quoted: true})
			return k
		}
		switch o.unescaped {
		case stopAtClosingQuote:
			d.buf = append(d.buf, c)
			i++
			continue
		case raiseError:
			d.broken = errs.New("MALFORMED_CSV_RECORD", "badRecord", strings.ToValidUTF8(string(s[start:min(len(s), start+keptOfLong)]), "\uFFFD"))
		}
		end := d.delimiter(s, i, lines)
		t := token{text: s[start:end]}
		if o.unescaped == skipValue {
			t.text = nil
		}
		d.tokens = append(d.tokens, t)
		return end
	}
	// The quote is never closed: all that follows is the field.
	d.tokens = append(d.tokens, token{text: d.buf[from:len(d.buf):len(d.buf)], quoted: true})
	return len(s)
}

func (d *csvDecoder) convert(rec []byte) error {
	if d.header {
		d.header = false
		return d.checkHeader()
	}
	if err := d.limits(); err != nil {
		return err
	}
	d.room()
	d.problem = nil
	good := true
	for i, t := range d.tokens {
		if i >= d.width {
			break
		}
		k := d.target[i]
		if k < 0 {
			continue
		}
		if !d.field(d.cols[k], t) {
			good = false
		}
	}
	if good && (d.pruned || len(d.tokens) == d.width) {
		d.row++
		return nil
	}
	if d.r.mode == FailFast && d.problem == nil {
		d.problem = errs.New("MALFORMED_CSV_RECORD", "badRecord", strings.ToValidUTF8(string(rec), "\uFFFD"))
	}
	return d.bad(rec, false, d.problem)
}

// limits refuses a record with more fields, or a field with more characters, than the options allow, and one with a
// quote that unescapedQuoteHandling does not: in every mode, because it is the splitting that fails.
func (d *csvDecoder) limits() error {
	o := &d.r.csv
	if d.broken != nil {
		err := d.broken
		d.broken = nil
		return err
	}
	if len(d.tokens) > o.maxColumns && o.maxColumns > 0 {
		return errs.New("MALFORMED_CSV_RECORD", "badRecord", "more than "+strconv.Itoa(o.maxColumns)+" fields")
	}
	if o.maxChars < 0 || o.maxChars == 0 && o.maxColumns == 0 { // no options were read
		return nil
	}
	for i, t := range d.tokens {
		if len(t.text) <= o.maxChars || d.pruned && (i >= d.width || d.target[i] < 0) {
			continue
		}
		units := 0
		for _, c := range string(t.text) {
			units++
			if c > 0xFFFF {
				units++
			}
		}
		if units > o.maxChars {
			return errs.New("MALFORMED_CSV_RECORD", "badRecord", "a field of more than "+strconv.Itoa(o.maxChars)+" characters")
		}
	}
	return nil
}

func (d *csvDecoder) checkHeader() error {
	if d.r.csv.enforce {
		return nil
	}
	names := []string{}
	for i, f := range d.r.schema {
		if d.r.corrupt < 0 || d.r.columns[d.r.corrupt] != i {
			names = append(names, f.Name)
		}
	}
	same := len(names) == len(d.tokens)
	for i := 0; same && i < len(names); i++ {
		h := strings.TrimSpace(string(d.tokens[i].text))
		same = h == names[i] || !d.r.csv.caseSensitive && strings.EqualFold(h, names[i])
	}
	if same {
		return nil
	}
	have := make([]string, len(d.tokens))
	for i, t := range d.tokens {
		have[i] = string(t.text)
	}
	return errs.New("CSV_HEADER_MISMATCH", "header", strings.Join(have, ", "), "schema", strings.Join(names, ", "))
}

// field converts one field; false if it does not fit and is null.
func (d *csvDecoder) field(c *column, t token) bool {
	o := &d.r.csv
	r := d.row
	s := t.text
	if len(s) == 0 {
		if !t.quoted {
			c.setNull(r)
			return true
		}
		s = []byte(o.empty)
	}
	if len(s) == len(o.null) && string(s) == o.null {
		c.setNull(r)
		return true
	}
	switch c.t.Kind {
	case types.String:
		if !utf8.Valid(s) {
			s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
		}
		c.setBytes(r, s)
		return true
	case types.Binary:
		c.setBytes(r, s)
		return true
	case types.BigInt, types.Int, types.SmallInt, types.TinyInt:
		v, ok := parseInt(s)
		if !ok {
			break
		}
		switch c.t.Kind {
		case types.BigInt:
			c.i64[r] = v
		case types.Int:
			c.i32[r] = int32(v)
			ok = v == int64(int32(v))
		case types.SmallInt:
			c.i16[r] = int16(v)
			ok = v == int64(int16(v))
		default:
			c.i8[r] = int8(v)
			ok = v == int64(int8(v))
		}
		if ok {
			c.set(r)
			return true
		}
	case types.Double:
		if f, ok := d.float(s, 64); ok {
			c.f64[r] = f
			c.set(r)
			return true
		}
	case types.Float:
		if f, ok := d.float(s, 32); ok {
			c.f32[r] = float32(f)
			c.set(r)
			return true
		}
	case types.Decimal:
		if bytes.IndexByte(s, ',') > 0 {
			s = bytes.ReplaceAll(s, []byte(","), nil)
		}
		if n, ok := ParseDecimal(s, c.t.Precision, c.t.Scale); ok {
			c.dec[r] = n
			c.set(r)
			return true
		}
	case types.Boolean:
		if len(s) == 4 && strings.EqualFold(string(s), "true") {
			c.setBool(r, true)
			return true
		}
		if len(s) == 5 && strings.EqualFold(string(s), "false") {
			c.setBool(r, false)
			return true
		}
	case types.Date, types.Timestamp, types.TimestampNTZ:
		if d.setDatetime(c, r, s) {
			return true
		}
	case types.DayTime, types.YearMonth:
		if setInterval(c, r, s) {
			return true
		}
	case types.Null:
		return true
	}
	c.setNull(r)
	if d.r.mode == FailFast && d.problem == nil {
		d.problem = errs.New("MALFORMED_CSV_RECORD", "badRecord", strings.ToValidUTF8(string(s), "\uFFFD"))
	}
	return false
}

func parseInt(s []byte) (int64, bool) {
	i, negative := 0, false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		i = 1
	}
	if n := len(s) - i; n == 0 || n > 18 {
		v, err := strconv.ParseInt(string(s), 10, 64)
		return v, err == nil
	}
	v := int64(0)
	for ; i < len(s); i++ {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	if negative {
		v = -v
	}
	return v, true
}

// float reads a number as the JVM does: spaces around, a suffix d or f.
func (d *csvDecoder) float(s []byte, size int) (float64, bool) {
	m, fraction, digits := uint64(0), -1, 0
	i, negative := 0, false
	if len(s) > 0 && s[0] == '-' {
		negative = true
		i = 1
	}
	for ; i < len(s); i++ {
		c := s[i] - '0'
		if c <= 9 {
			m = m*10 + uint64(c)
			digits++
			if fraction >= 0 {
				fraction++
			}
		} else if s[i] == '.' && fraction < 0 {
			fraction = 0
		} else {
			break
		}
	}
	if i == len(s) && digits > 0 && digits <= 15 && size == 64 {
		f := float64(m)
		if fraction > 0 {
			f /= pow10f[fraction]
		}
		if negative {
			f = -f
		}
		return f, true
	}
	o := &d.r.csv
	text := func(set, def string) string { // from_csv has no reader whose options were read
		if set == "" {
			return def
		}
		return set
	}
	switch string(s) {
	case text(o.posInf, "Inf"):
		return math.Inf(1), true
	case text(o.negInf, "-Inf"):
		return math.Inf(-1), true
	case o.nan:
		return math.NaN(), true
	case "Infinity", "+Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	case "NaN":
		return math.NaN(), true
	}
	t := bytes.TrimSpace(s)
	if n := len(t); n > 1 && strings.IndexByte("dDfF", t[n-1]) >= 0 {
		t = t[:n-1]
	}
	for _, c := range t {
		if c-'0' > 9 && strings.IndexByte("+-.eE", c) < 0 {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(string(t), size)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}
