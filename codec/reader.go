package codec

import (
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// Settings are what a format is told: options of the reader or writer, settings of the session.
type Settings struct {
	Format string                                    // "json", "csv", "text"
	Option func(name string) (value string, ok bool) // nil: none
	Conf   func(key string) string                   // nil: none
	Zone   *time.Location                            // nil: UTC
	Now    func() time.Time                          // nil: the clock
}

func (s Settings) text(name, def string) string {
	if s.Option != nil {
		if v, ok := s.Option(name); ok {
			return v
		}
	}
	return def
}

func invalid(option, value, requirement string) error {
	return errs.New("INVALID_OPTION", "option", option, "value", value, "requirement", requirement)
}

// flag reads a boolean option; the first error is kept in *err.
func (s Settings) flag(name string, def bool, err *error) bool {
	v := s.text(name, "")
	switch {
	case v == "" && !s.has(name):
		return def
	case strings.EqualFold(v, "true"):
		return true
	case strings.EqualFold(v, "false"):
		return false
	}
	if *err == nil {
		*err = invalid(name, v, "must be 'true' or 'false'")
	}
	return def
}

// recordLimit reads maxRecordBytes: bytes, or a number with k, m or g.
func (s Settings) recordLimit() (int, error) {
	v := strings.ToLower(strings.TrimSpace(s.text("maxRecordBytes", "")))
	if v == "" {
		return MaxRecord, nil
	}
	digits, shift := v, 0
	if i := strings.IndexByte("kmg", v[len(v)-1]); i >= 0 {
		digits, shift = v[:len(v)-1], 10*(i+1)
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if n <<= shift; err != nil || n < keptOfLong || n > maxDocument {
		return 0, invalid("maxRecordBytes", v, "must be a number of bytes from 1k to 1g")
	}
	return int(n), nil
}

func (s Settings) has(name string) bool {
	if s.Option == nil {
		return false
	}
	_, ok := s.Option(name)
	return ok
}

func (s Settings) conf(key string) string {
	if s.Conf == nil {
		return ""
	}
	return s.Conf(key)
}

// Mode says what becomes of a record that does not fit.
type Mode uint8

// The parse modes.
const (
	Permissive Mode = iota
	DropMalformed
	FailFast
)

func (m Mode) String() string { return [...]string{"PERMISSIVE", "DROPMALFORMED", "FAILFAST"}[m] }

// Reader is a format with its options, checked against a schema. It is immutable and shared; each goroutine
// makes a Decoder of its own.
type Reader struct {
	Settings
	schema  types.Schema // all data columns
	columns []int        // those that are built
	mode    Mode
	corrupt int // index in columns of the column for corrupt records; -1: none
	LineSep []byte
	charset func([]byte) []byte // to UTF-8; nil: the bytes are read as they are
	longest int                 // bytes of a record
	// Document is set if a file is one document and not a record a line.
	Document bool

	zone       *time.Location
	clockNow   func() time.Time
	dateFormat *Pattern
	tsFormat   *Pattern
	ntzFormat  *Pattern

	json jsonOptions
	csv  csvOptions
	text textOptions

	idle sync.Pool // of Decoders
}

type textOptions struct{ whole bool }

// NewReader checks options and schema. columns are the positions of the columns to build; nil is all.
// Errors: INVALID_OPTION, UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, _LEGACY_ERROR_TEMP_1097.
func NewReader(s Settings, schema types.Schema, columns []int) (*Reader, error) {
	r := &Reader{Settings: s, schema: schema, corrupt: -1, zone: s.Zone, clockNow: s.Now}
	if columns == nil {
		for i := range schema {
			columns = append(columns, i)
		}
	}
	r.columns = columns
	var err error
	if r.longest, err = s.recordLimit(); err != nil {
		return nil, err
	}
	switch s.Format {
	case "text":
		return r, r.textSetup()
	case "parquet":
		for _, f := range schema {
			if bad, ok := unreadableParquet(f.Type); ok {
				return nil, unsupportedColumn("Parquet", f.Name, bad)
			}
		}
		return r, nil
	}
	switch strings.ToUpper(s.text("mode", "PERMISSIVE")) {
	case "PERMISSIVE":
	case "DROPMALFORMED":
		r.mode = DropMalformed
	case "FAILFAST":
		r.mode = FailFast
	default: // as Spark, which warns
	}
	name := s.text("columnNameOfCorruptRecord", s.conf("spark.sql.columnNameOfCorruptRecord"))
	if name == "" {
		name = "_corrupt_record"
	}
	for k, c := range columns {
		if schema[c].Name == name {
			r.corrupt = k
		}
	}
	for _, f := range schema {
		if f.Name == name && (f.Type.Kind != types.String || !f.Nullable) {
			return nil, errs.New("INVALID_CORRUPT_RECORD_TYPE", "columnName", types.Quote(name), "actualType", `"`+f.Type.SQL()+`"`)
		}
	}
	if len(columns) == 1 && r.corrupt == 0 {
		return nil, errs.New("UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN")
	}
	if z := s.text("timeZone", ""); z != "" {
		off, fixed, loc, ok := parseZone(z)
		if !ok {
			return nil, invalid("timeZone", z, "must be a time zone")
		}
		if fixed {
			loc = time.FixedZone(z, off)
		}
		r.zone = loc
	}
	for _, p := range []struct {
		name string
		to   **Pattern
	}{{"dateFormat", &r.dateFormat}, {"timestampFormat", &r.tsFormat}, {"timestampNTZFormat", &r.ntzFormat}} {
		if f := s.text(p.name, ""); f != "" {
			if *p.to, err = ParsePattern(f); err != nil {
				return nil, invalid(p.name, f, "is no pattern: "+err.Error())
			}
		}
	}
	r.LineSep = []byte(s.text("lineSep", ""))
	r.Document = s.flag("multiLine", false, &err)
	if err == nil {
		err = r.setCharset()
	}
	if s.Format == "csv" {
		r.csvSetup(&err)
	} else {
		r.jsonSetup(&err)
	}
	if err != nil {
		return nil, err
	}
	for i, f := range schema {
		if bad, ok := r.unsupported(f.Type); ok {
			return nil, errs.New("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE", "format", strings.ToUpper(s.Format),
				"columnName", "`"+schema[i].Name+"`", "columnType", `"`+bad.SQL()+`"`)
		}
	}
	return r, nil
}

func (r *Reader) textSetup() error {
	var err error
	r.text.whole = r.flag("wholetext", false, &err)
	r.Document = r.text.whole
	r.LineSep = []byte(r.Settings.text("lineSep", ""))
	if len(r.LineSep) == 0 && r.Settings.has("lineSep") && err == nil {
		err = invalid("lineSep", "", "must not be empty")
	}
	return err
}

// unsupported finds the part of a type that the format cannot read.
func (r *Reader) unsupported(t types.DataType) (types.DataType, bool) {
	switch t.Kind {
	case types.YearMonth, types.DayTime:
		return t, false
	case types.Calendar, types.Variant, types.Time:
		return t, true
	case types.Array, types.Map, types.Struct:
		if r.Format == "csv" {
			return t, true
		}
		if t.Kind == types.Map && t.Key.Kind != types.String {
			return t, true
		}
		if t.Elem != nil {
			if bad, ok := r.unsupported(*t.Elem); ok {
				return bad, true
			}
		}
		for _, f := range t.Fields {
			if bad, ok := r.unsupported(f.Type); ok {
				return bad, true
			}
		}
	}
	return t, false
}

// A Decoder fills columns with records. It belongs to one goroutine.
type Decoder interface {
	// Begin is called before the first record of a file; first says that its first byte comes next.
	Begin(path string, first bool)
	// Record reads one record without its line end. It may give any number of rows. Errors come in mode
	// FAILFAST only, without the file's name.
	Record(rec []byte) error
	// TooLong takes the beginning of a record that was too long to be read: a malformed record. why says so.
	TooLong(start []byte, why error) error
	// Document reads a file that is one text.
	Document(text []byte) error
	// Rows is the number of rows since the last Take.
	Rows() int
	// Take gives the rows away: one vector per column of the reader.
	Take() []*columnar.Vec
	// Lend shows the rows since the last Take: one vector per column of the reader, which are valid until Reuse,
	// which must come before the next record. It takes the rows away and keeps their memory for the next.
	Lend() []*columnar.Vec
	Reuse()
	// Malformed is the number of records so far that did not fit, and how many of them were left out.
	Malformed() (all, dropped int64)
}

// NoRows is the decoder of formats that are not read record by record.
type NoRows struct{}

// Begin does nothing.
func (NoRows) Begin(string, bool) {}

// Record takes no record.
func (NoRows) Record([]byte) error { return nil }

// TooLong takes no record.
func (NoRows) TooLong([]byte, error) error { return nil }

// Document takes no document.
func (NoRows) Document([]byte) error { return nil }

// Rows is 0.
func (NoRows) Rows() int { return 0 }

// Take gives nothing.
func (NoRows) Take() []*columnar.Vec { return nil }

// Lend gives nothing.
func (NoRows) Lend() []*columnar.Vec { return nil }

// Reuse does nothing.
func (NoRows) Reuse() {}

// Malformed is none.
func (NoRows) Malformed() (all, dropped int64) { return 0, 0 }

// NewDecoder gives a decoder: one that was kept, or a new one.
func (r *Reader) NewDecoder() Decoder {
	if d, ok := r.idle.Get().(Decoder); ok {
		return d
	}
	rows := rowsOf{r: r, clock: NewClock(r.zone, r.clockNow)}
	for _, c := range r.columns {
		rows.cols = append(rows.cols, newColumn(r.schema[c].Name, r.schema[c].Type))
	}
	switch r.Format {
	case "parquet":
		return NoRows{}
	case "csv":
		return newCSVDecoder(rows)
	case "json":
		return newJSONDecoder(rows)
	}
	return &textDecoder{rows}
}

// Keep takes back a decoder of this reader that nobody uses any more, for a later NewDecoder: with the room of its
// columns, which else every part of a file would have to grow anew, and with what it knows of how records are written.
// Neither it nor what it lent may be used afterwards. A decoder that still has rows is left to the collector, and so
// are, soon, those that nobody asks for.
func (r *Reader) Keep(d Decoder) {
	x, ok := d.(interface{ forgetPart() })
	if !ok || d.Rows() > 0 {
		return
	}
	x.forgetPart()
	r.idle.Put(d)
}

// forgetPart forgets the part that was read.
func (d *rowsOf) forgetPart() { d.malformed, d.dropped = 0, 0 }

// rowsOf is what the decoders share: the columns and the number of the row that is being read.
type rowsOf struct {
	r                  *Reader
	clock              *Clock
	cols               []*column
	row, cap           int
	malformed, dropped int64
}

func (d *rowsOf) Rows() int { return d.row }

func (d *rowsOf) Malformed() (int64, int64) { return d.malformed, d.dropped }

func (d *rowsOf) Begin(string, bool) {}

func (d *rowsOf) TooLong(start []byte, why error) error {
	d.room()
	return d.bad(start, true, why)
}

// room makes place for one more row.
func (d *rowsOf) room() {
	if d.row >= d.cap {
		d.roomFor(1)
	}
}

// roomFor makes place for n more rows.
func (d *rowsOf) roomFor(n int) {
	if d.row+n <= d.cap {
		return
	}
	d.cap = max(64, 4*d.cap, d.row+n)
	for _, c := range d.cols {
		c.grow(d.cap)
	}
}

func (d *rowsOf) Take() []*columnar.Vec {
	out := make([]*columnar.Vec, len(d.cols))
	n := d.row
	if n > d.cap {
		d.cap = n
	}
	for i, c := range d.cols {
		c.grow(n)
		out[i] = c.take(n)
	}
	d.row, d.cap = 0, 0
	if n >= 4096 { // more of the same is likely
		d.cap = n + n/8
		for _, c := range d.cols {
			c.grow(d.cap)
		}
	}
	return out
}

func (d *rowsOf) Lend() []*columnar.Vec {
	out := make([]*columnar.Vec, len(d.cols))
	for i, c := range d.cols {
		out[i] = c.lend(d.row)
	}
	return out
}

func (d *rowsOf) Reuse() {
	for _, c := range d.cols {
		c.reuse(d.row)
	}
	d.row, d.cap = 0, max(d.cap, d.row)
}

// bad ends a row that did not fit. whole says that nothing of it counts. raw is the record, cause the first
// field's error.
func (d *rowsOf) bad(raw []byte, whole bool, cause error) error {
	d.malformed++
	switch d.r.mode {
	case FailFast:
		for _, c := range d.cols {
			c.forget(d.row)
		}
		text := strings.ToValidUTF8(string(raw[:min(len(raw), 1000)]), string(utf8.RuneError))
		return errs.Wrap(cause, "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION", "badRecord", text, "failFastMode", "FAILFAST")
	case DropMalformed:
		d.dropped++
		for _, c := range d.cols {
			c.forget(d.row)
		}
		return nil
	}
	if whole {
		for _, c := range d.cols {
			c.forget(d.row)
		}
	}
	if d.r.corrupt >= 0 {
		d.cols[d.r.corrupt].setBytes(d.row, raw)
	}
	d.row++
	return nil
}

type textDecoder struct{ rowsOf }

func (d *textDecoder) Record(rec []byte) error {
	d.room()
	for _, c := range d.cols {
		c.setBytes(d.row, rec)
	}
	d.row++
	return nil
}

func (d *textDecoder) Document(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	return d.Record(text)
}
