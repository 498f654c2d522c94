package codec

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// Writer prints rows in a format. It is immutable and shared.
type Writer struct {
	Settings
	schema  types.Schema
	names   [][]byte // JSON: "name":
	lineSep string
	zone    *time.Location
	dates   *Pattern
	times   *Pattern
	ntz     *Pattern

	ignoreNull bool // JSON

	sep                       string // CSV
	quote, escape             byte
	quoteAll, escapeQuotes    bool
	header, leading, trailing bool
	null, empty               string
	extension                 string
}

// NewWriter checks options and schema. Errors: INVALID_OPTION, UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE.
func NewWriter(s Settings, schema types.Schema) (*Writer, error) {
	w := &Writer{Settings: s, schema: schema, lineSep: s.text("lineSep", "\n"), zone: s.Zone, extension: s.Format}
	if w.zone == nil {
		w.zone = time.UTC
	}
	var err error
	pattern := func(name, def string) *Pattern {
		text := s.text(name, def)
		p, e := ParsePattern(text)
		if e != nil && err == nil {
			err = invalid(name, text, "is no pattern: "+e.Error())
		}
		return p
	}
	if s.Format == "text" {
		w.extension = "txt"
		for _, f := range schema {
			if f.Type.Kind != types.String {
				return nil, unsupportedColumn("Text", f.Name, f.Type)
			}
		}
		if len(schema) != 1 {
			return nil, errs.New("_LEGACY_ERROR_TEMP_1290", "schemaSize", len(schema))
		}
		return w, nil
	}
	if e := s.text("encoding", s.text("charset", "")); e != "" {
		decode, known := charsets[strings.ToLower(e)]
		if !known {
			return nil, errs.New("INVALID_PARAMETER_VALUE.CHARSET", "functionName", "`"+strings.ToUpper(s.Format)+"Options`", "parameter", "`charset`",
				"charset", e, "charsets", strings.Join(charsetNames, ", "))
		}
		if decode != nil {
			return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "Writing files in the encoding "+e)
		}
	}
	if z := s.text("timeZone", ""); z != "" {
		off, fixed, loc, ok := parseZone(z)
		if !ok {
			return nil, invalid("timeZone", z, "must be a time zone")
		}
		if fixed {
			loc = time.FixedZone(z, off)
		}
		w.zone = loc
	}
	w.dates = pattern("dateFormat", "yyyy-MM-dd")
	w.times = pattern("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
	w.ntz = pattern("timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSS")
	if s.Format == "json" {
		def := !strings.EqualFold(s.conf("spark.sql.jsonGenerator.ignoreNullFields"), "false")
		w.ignoreNull = s.flag("ignoreNullFields", def, &err)
		for _, f := range schema {
			w.names = append(w.names, append(AppendJSONText(nil, []byte(f.Name)), ':'))
		}
		for _, f := range schema {
			if bad, ok := unwritable(f.Type, false); ok {
				return nil, unsupportedColumn("JSON", f.Name, bad)
			}
		}
		return w, err
	}
	w.sep = unescapeSep(s.text("sep", s.text("delimiter", ",")))
	w.quote, w.escape = '"', '\\'
	for _, name := range []string{"quote", "escape"} {
		if v := s.text(name, ""); len(unescapeSep(v)) > 1 && v != "\u0000" {
			return nil, errs.New("OPTION_VALUE_EXCEEDS_ONE_CHARACTER", "paramName", name, "actualValue", v)
		}
	}
	if q := s.text("quote", `"`); q != "" {
		w.quote = q[0]
	}
	if e := s.text("escape", `\`); e != "" {
		w.escape = e[0]
	}
	w.quoteAll = s.flag("quoteAll", false, &err)
	w.escapeQuotes = s.flag("escapeQuotes", true, &err)
	w.header = s.flag("header", false, &err)
	w.leading = s.flag("ignoreLeadingWhiteSpace", true, &err)
	w.trailing = s.flag("ignoreTrailingWhiteSpace", true, &err)
	w.null = s.text("nullValue", "")
	w.empty = s.text("emptyValue", `""`)
	w.extension = s.text("extension", "csv")
	for _, f := range schema {
		if bad, ok := unwritable(f.Type, true); ok {
			return nil, unsupportedColumn("CSV", f.Name, bad)
		}
	}
	return w, err
}

func unsupportedColumn(format, name string, t types.DataType) error {
	return errs.New("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE", "format", format, "columnName", types.Quote(name), "columnType",
		`"`+t.SQL()+`"`)
}

func unwritable(t types.DataType, csv bool) (types.DataType, bool) {
	switch t.Kind {
	case types.Calendar, types.Null, types.Variant:
		return t, csv || t.Kind != types.Null
	case types.Array, types.Map, types.Struct:
		if csv {
			return t, true
		}
		if t.Elem != nil {
			if bad, ok := unwritable(*t.Elem, csv); ok {
				return bad, true
			}
		}
		for _, f := range t.Fields {
			if bad, ok := unwritable(f.Type, csv); ok {
				return bad, true
			}
		}
	}
	return t, false
}

// Extension is the ending of file names: "json", "csv", "txt".
func (w *Writer) Extension() string { return w.extension }

// Header prints what stands before the first row of a file.
func (w *Writer) Header(dst []byte) []byte {
	if w.Format != "csv" || !w.header {
		return dst
	}
	for i, f := range w.schema {
		if i > 0 {
			dst = append(dst, w.sep...)
		}
		dst = w.csvText(dst, []byte(f.Name))
	}
	return append(dst, w.lineSep...)
}

// Append prints rows [from, to) of the columns, a line each.
func (w *Writer) Append(dst []byte, cols []columnar.Vec, from, to int) []byte {
	switch w.Format {
	case "json":
		for r := from; r < to; r++ {
			dst = w.jsonRow(dst, cols, r)
			dst = append(dst, w.lineSep...)
		}
	case "csv":
		for r := from; r < to; r++ {
			for i := range cols {
				if i > 0 {
					dst = append(dst, w.sep...)
				}
				dst = w.csvField(dst, &cols[i], r)
			}
			dst = append(dst, w.lineSep...)
		}
	default:
		for r := from; r < to; r++ {
			if !cols[0].IsNull(r) {
				dst = append(dst, cols[0].Bytes(r)...)
			}
			dst = append(dst, w.lineSep...)
		}
	}
	return dst
}

func (w *Writer) jsonRow(dst []byte, cols []columnar.Vec, r int) []byte {
	dst = append(dst, '{')
	first := true
	for i := range cols {
		null := cols[i].IsNull(r)
		if null && w.ignoreNull {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, w.names[i]...)
		dst = w.JSON(dst, &cols[i], r)
	}
	return append(dst, '}')
}

// JSON prints one value.
func (w *Writer) JSON(dst []byte, v *columnar.Vec, r int) []byte {
	if v.IsNull(r) {
		return append(dst, "null"...)
	}
	r = v.Row(r)
	switch v.Type.Kind {
	case types.Boolean:
		return strconv.AppendBool(dst, v.Bool(r))
	case types.TinyInt:
		return strconv.AppendInt(dst, int64(v.I8[r]), 10)
	case types.SmallInt:
		return strconv.AppendInt(dst, int64(v.I16[r]), 10)
	case types.Int:
		return strconv.AppendInt(dst, int64(v.I32[r]), 10)
	case types.BigInt:
		return strconv.AppendInt(dst, v.I64[r], 10)
	case types.Float:
		return jsonDouble(dst, float64(v.F32[r]), 32)
	case types.Double:
		return jsonDouble(dst, v.F64[r], 64)
	case types.Decimal:
		return AppendDecimal(dst, v.Dec[r], v.Type.Scale)
	case types.String:
		return AppendJSONText(dst, v.Bytes(r))
	case types.Binary:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes(r))
		return append(dst, '"')
	case types.Array:
		dst = append(dst, '[')
		for j := v.Off[r]; j < v.Off[r+1]; j++ {
			if j > v.Off[r] {
				dst = append(dst, ',')
			}
			dst = w.JSON(dst, v.Kids[0], int(j))
		}
		return append(dst, ']')
	case types.Map:
		dst = append(dst, '{')
		for j := v.Off[r]; j < v.Off[r+1]; j++ {
			if j > v.Off[r] {
				dst = append(dst, ',')
			}
			if v.Kids[0].Type.Kind == types.String {
				dst = AppendJSONText(dst, v.Kids[0].Bytes(int(j)))
			} else {
				dst = AppendJSONText(dst, AppendDisplay(nil, v.Kids[0], int(j), w.zone))
			}
			dst = append(dst, ':')
			dst = w.JSON(dst, v.Kids[1], int(j))
		}
		return append(dst, '}')
	case types.Struct:
		dst = append(dst, '{')
		first := true
		for k, kid := range v.Kids {
			if w.ignoreNull && kid.IsNull(r) {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(AppendJSONText(dst, []byte(v.Type.Fields[k].Name)), ':')
			dst = w.JSON(dst, kid, r)
		}
		return append(dst, '}')
	}
	dst = append(dst, '"')
	dst = w.plain(dst, v, r)
	return append(dst, '"')
}

// plain prints dates, timestamps and intervals.
func (w *Writer) plain(dst []byte, v *columnar.Vec, r int) []byte {
	switch v.Type.Kind {
	case types.Date:
		return w.dates.Append(dst, int64(v.I32[r])*day, 0, "")
	case types.Timestamp:
		us := v.I64[r]
		off := 0
		if w.zone != time.UTC {
			off = offsetAt(floorDiv(us, second), w.zone)
		}
		return w.times.Append(dst, us+int64(off)*second, off, w.zone.String())
	case types.TimestampNTZ:
		return w.ntz.Append(dst, v.I64[r], 0, "")
	case types.Time:
		return AppendTime(dst, v.I64[r]/1000)
	}
	return AppendInterval(dst, v, r)
}

func jsonDouble(dst []byte, f float64, size int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		dst = append(dst, '"')
		dst = AppendDouble(dst, f, size)
		return append(dst, '"')
	}
	return AppendDouble(dst, f, size)
}

// AppendJSONText prints a text in quotes with escapes. Bytes that are no UTF-8 become U+FFFD.
func AppendJSONText(dst, s []byte) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '"')
	for len(s) > 0 {
		i := scanPlain(s, 0)
		dst = append(dst, s[:i]...)
		if i == len(s) {
			break
		}
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			r, n := utf8.DecodeRune(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n - 1
		}
		s = s[i+1:]
	}
	return append(dst, '"')
}

func (w *Writer) csvField(dst []byte, v *columnar.Vec, r int) []byte {
	if v.IsNull(r) {
		return w.csvWord(dst, w.null)
	}
	r = v.Row(r)
	var b [64]byte
	switch v.Type.Kind {
	case types.String:
		return w.csvText(dst, v.Bytes(r))
	case types.Date, types.Timestamp, types.TimestampNTZ, types.Time, types.YearMonth, types.DayTime:
		return w.csvText(dst, w.plain(b[:0], v, r))
	}
	return w.csvText(dst, AppendDisplay(b[:0], v, r, w.zone))
}

// csvWord prints what stands for null or the empty text: as it is, unless everything is in quotes.
func (w *Writer) csvWord(dst []byte, word string) []byte {
	if w.quoteAll && word != "" && word != `""` {
		return append(append(append(dst, w.quote), word...), w.quote)
	}
	return append(dst, word...)
}

// csvText prints a field, in quotes where it needs them.
func (w *Writer) csvText(dst, s []byte) []byte {
	if len(s) == 0 {
		return w.csvWord(dst, w.empty)
	}
	if w.leading {
		s = bytes.TrimLeft(s, " \t\n\r\v\f\x00")
	}
	if w.trailing {
		s = bytes.TrimRight(s, " \t\n\r\v\f\x00")
	}
	quoted := w.quoteAll
	if !quoted {
		for i, c := range s {
			if c == w.sep[0] && bytes.HasPrefix(s[i:], []byte(w.sep)) || c == '\n' || c == '\r' ||
				c == w.quote && (i == 0 || w.escapeQuotes) {
				quoted = true
				break
			}
		}
	}
	if !quoted {
		return append(dst, s...)
	}
	dst = append(dst, w.quote)
	for _, c := range s {
		if c == w.quote || c == w.escape {
			dst = append(dst, w.escape)
		}
		dst = append(dst, c)
	}
	return append(dst, w.quote)
}

// A Codec compresses files.
type Codec struct{ Name, Extension string }

// FindCodec finds the codec of the option compression; "" is none. Error: CODEC_NOT_AVAILABLE.
func FindCodec(name string) (Codec, error) {
	switch l := strings.ToLower(name); l {
	case "", "none", "uncompressed":
		return Codec{}, nil
	case "gzip":
		return Codec{l, ".gz"}, nil
	case "deflate":
		return Codec{l, ".deflate"}, nil
	case "zstd":
		return Codec{l, ".zst"}, nil
	case "bzip2":
		return Codec{l, ".bz2"}, nil
	case "lz4", "snappy":
		return Codec{l, "." + l}, nil
	}
	return Codec{}, errs.New("CODEC_NOT_AVAILABLE.WITH_AVAILABLE_CODECS_SUGGESTION", "codecName", name,
		"availableCodecs", "none, uncompressed, bzip2, deflate, gzip, lz4, snappy, zstd")
}

// NewWriter compresses what is written to dst; closing it does not close dst.
func (c Codec) NewWriter(dst io.Writer) (io.WriteCloser, error) {
	switch c.Name {
	case "gzip":
		return gzip.NewWriterLevel(dst, gzip.BestSpeed)
	case "deflate":
		return zlib.NewWriter(dst), nil
	case "zstd":
		return zstd.NewWriter(dst, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	case "bzip2":
		return newBzip2Writer(dst), nil
	case "snappy":
		return &blockWriter{dst: dst, codec: snappyBlocks}, nil
	case "lz4":
		return &blockWriter{dst: dst, codec: lz4Blocks}, nil
	}
	return plainWriter{dst}, nil
}

type plainWriter struct{ io.Writer }

func (plainWriter) Close() error { return nil }
