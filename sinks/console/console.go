// Package console is the sink that prints every micro-batch as a table, byte for byte as Spark's does. It
// promises nothing: a batch that is run again is printed again.
package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/types"
)

// Options describes numRows and truncate.
func Options() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "numRows", Default: "20", Doc: "Rows shown of a micro-batch."},
		{Name: "truncate", Default: "true", Doc: "Cut cells to 20 characters; false aligns left and cuts nothing."},
	}
}

// New makes the sink. Bad options end the query when it runs, as in Spark.
func New(def sinks.Def) (sinks.Sink, error) {
	s := &sink{out: def.Out, zone: def.Zone, schema: def.Schema, show: 20, cut: true}
	if s.zone == nil {
		s.zone = time.UTC
	}
	if v, ok := def.Options.Get("numRows"); ok {
		n, err := strconv.Atoi(v)
		if err != nil {
			return nil, errs.Wrap(err, "INVALID_OPTION_VALUE", "option", "numRows", "value", v, "expected", "a number")
		}
		s.show = max(0, n)
	}
	if v, ok := def.Options.Get("truncate"); ok {
		switch strings.ToLower(v) {
		case "true":
		case "false":
			s.cut = false
		default:
			return nil, errs.New("_LEGACY_ERROR_TEMP_3206", "value", v)
		}
	}
	return s, nil
}

type sink struct {
	out    io.Writer
	zone   *time.Location
	schema types.Schema
	show   int
	cut    bool
	rows   int64
	buf    bytes.Buffer
}

func (s *sink) Description() string {
	return "org.apache.spark.sql.execution.streaming.ConsoleTable$@streamlab"
}

func (s *sink) NumOutputRows() int64 { return s.rows }

func (s *sink) Close() error { return nil }

// AddBatch prints the rows in one write, so that blocks of several queries do not mix.
func (s *sink) AddBatch(ctx context.Context, b sinks.Batch) error {
	s.rows = 0
	cells := [][]string{{}}
	for _, f := range s.schema {
		cells[0] = append(cells[0], escape(f.Name))
	}
	var text []byte
	err := sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
		n := int(rb.NumRows())
		s.rows += int64(n)
		if left := s.show - (len(cells) - 1); left < n {
			n = max(0, left)
		}
		if n == 0 {
			return nil
		}
		vs := columnar.Vectors(rb, s.schema)
		for i := range n {
			row := make([]string, len(vs))
			for j := range vs {
				text = codec.AppendDisplay(text[:0], &vs[j], i, s.zone)
				row[j] = escape(string(text))
				if s.cut {
					row[j] = shorten(row[j])
				}
			}
			cells = append(cells, row)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.buf.Reset()
	rule := strings.Repeat("-", 43)
	s.buf.WriteString(rule + "\nBatch: " + strconv.FormatInt(b.ID, 10) + "\n" + rule + "\n")
	s.table(cells)
	shown := len(cells) - 1
	if s.rows > int64(shown) {
		s.buf.WriteString("only showing top " + strconv.Itoa(shown) + " row")
		if shown != 1 {
			s.buf.WriteByte('s')
		}
		s.buf.WriteByte('\n')
	} else {
		s.buf.WriteByte('\n')
	}
	if s.out == nil {
		return errors.New("console: no output")
	}
	_, err = s.out.Write(s.buf.Bytes())
	return err
}

func (s *sink) table(cells [][]string) {
	width := make([]int, len(s.schema))
	for i := range width {
		width[i] = 3
		for _, r := range cells {
			width[i] = max(width[i], halfWidths(r[i]))
		}
	}
	line := func() {
		s.buf.WriteByte('+')
		for _, w := range width {
			for range w {
				s.buf.WriteByte('-')
			}
			s.buf.WriteByte('+')
		}
		s.buf.WriteByte('\n')
	}
	line()
	for k, r := range cells {
		s.buf.WriteByte('|')
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-halfWidths(c))
			if s.cut {
				s.buf.WriteString(pad + c)
			} else {
				s.buf.WriteString(c + pad)
			}
			s.buf.WriteByte('|')
		}
		s.buf.WriteByte('\n')
		if k == 0 {
			line()
		}
	}
	line()
}

// escapes are the control characters that Spark shows as two characters.
var escapes = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`, "\b", `\b`, "\v", `\v`, "\a", `\a`)

func escape(s string) string { return escapes.Replace(s) }

// shorten cuts a text of more than 20 UTF-16 units to its first 17 and three dots; never inside a pair.
func shorten(s string) string {
	if len(s) <= 20 {
		return s
	}
	units := 0
	at17 := len(s)
	for i, r := range s {
		if units >= 17 && at17 == len(s) {
			at17 = i
		}
		n := utf16.RuneLen(r)
		if n < 1 {
			n = 1
		}
		if units < 17 && units+n > 17 && at17 == len(s) {
			at17 = i
		}
		units += n
	}
	if units <= 20 {
		return s
	}
	return s[:at17] + "..."
}

// halfWidths is Spark's width of a text: UTF-16 units, full-width characters twice.
func halfWidths(s string) int {
	n := 0
	for _, r := range s {
		u := utf16.RuneLen(r)
		if u < 1 {
			u = 1
		}
		n += u
		if wide(r) {
			n++
		}
	}
	return n
}

func wide(r rune) bool {
	return r >= 0x1100 && r <= 0x115F || r >= 0x2E80 && r <= 0xA4CF || r >= 0xAC00 && r <= 0xD7A3 || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0xFE10 && r <= 0xFE19 || r >= 0xFE30 && r <= 0xFE6F || r >= 0xFF00 && r <= 0xFF60 || r >= 0xFFE0 && r <= 0xFFE6
}
