// Package console prints batches as Spark's console sink does. It promises nothing: a batch that comes again
// is printed again, marked "(replay)".
package console

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/sinks"
	"streamlab/sources"
)

type sink struct {
	out    io.Writer
	rows   int
	cut    bool // truncate
	mark   bool
	zone   *time.Location
	number int64
}

// New makes the sink. Errors: _LEGACY_ERROR_TEMP_3206, INVALID_OPTION.
func New(def sinks.Def) (sinks.Sink, error) {
	s := &sink{out: def.Out, rows: 20, cut: true, mark: true, zone: def.Zone, number: -1}
	if s.out == nil {
		s.out = os.Stdout
	}
	for name, to := range map[string]*bool{"truncate": &s.cut, "markReplay": &s.mark} {
		if v, ok := def.Options.Get(name); ok {
			switch {
			case strings.EqualFold(v, "true"):
				*to = true
			case strings.EqualFold(v, "false"):
				*to = false
			default:
				return nil, errs.New("_LEGACY_ERROR_TEMP_3206", "value", v)
			}
		}
	}
	if v, ok := def.Options.Get("numRows"); ok {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil {
			return nil, sources.Invalid("numRows", v, "must be an integer")
		}
		s.rows = int(max(n, 0))
	}
	return s, nil
}

// Options describes numRows, truncate and markReplay.
func Options() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "numRows", Default: "20", Doc: "Rows of a batch that are shown."},
		{Name: "truncate", Default: "true", Doc: "Cut cells longer than 20 characters."},
		{Name: "markReplay", Default: "true", Doc: "Mark batches that an earlier run may have printed."},
	}
}

func (s *sink) Close() error         { return nil }
func (s *sink) Description() string  { return "console" }
func (s *sink) NumOutputRows() int64 { return s.number }

// AddBatch reads the whole batch and prints its first rows in one write.
func (s *sink) AddBatch(ctx context.Context, b sinks.Batch) error {
	if err := fault.Point("sink.stage.begin"); err != nil {
		return err
	}
	table := newTable(b.Schema.Names(), s.cut)
	total := int64(0)
	err := sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
		total += rb.NumRows()
		room := s.rows - table.rows
		if room <= 0 || rb.NumRows() == 0 {
			return nil
		}
		vs := columnar.Vectors(rb, b.Schema)
		for i := range min(room, int(rb.NumRows())) {
			for c := range vs {
				table.cell(codec.AppendDisplay(nil, &vs[c], i, s.zone))
			}
			table.rows++
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.number = total
	const rule = "-------------------------------------------\n"
	out := append([]byte(rule), "Batch: "...)
	out = strconv.AppendInt(out, b.ID, 10)
	if b.Replay && s.mark {
		out = append(out, " (replay)"...)
	}
	out = append(append(out, '\n'), rule...)
	out = table.print(out)
	if total > int64(s.rows) {
		out = append(out, "only showing top "...)
		out = strconv.AppendInt(out, int64(s.rows), 10)
		out = append(out, " row"...)
		if s.rows != 1 {
			out = append(out, 's')
		}
	}
	if err := fault.Point("sink.commit.before"); err != nil {
		return err
	}
	if _, err = s.out.Write(append(out, '\n')); err != nil {
		return err
	}
	return fault.Point("sink.commit.after")
}
