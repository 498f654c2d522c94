package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"streamlab/sql/types"
)

// A rowset is rows in a form in which two of them can be compared: column names, and one text a row, sorted.
// Texts are exact: floats are their bits, times are microseconds.
type rowset struct {
	columns []string
	rows    []string
}

func rowsOf(batches []arrow.RecordBatch, names []string) rowset {
	out := rowset{columns: names}
	for _, b := range batches {
		for i := 0; i < int(b.NumRows()); i++ {
			var line []byte
			for c := 0; c < int(b.NumCols()); c++ {
				if c > 0 {
					line = append(line, '|')
				}
				line = appendCell(line, b.Column(c), i)
			}
			out.rows = append(out.rows, string(line))
		}
	}
	sort.Strings(out.rows)
	return out
}

// difference says in one line how two rowsets differ; "" if they do not.
func (r rowset) difference(want rowset) string {
	if a, b := strings.Join(r.columns, ","), strings.Join(want.columns, ","); a != b {
		return fmt.Sprintf("columns %s, want %s", a, b)
	}
	count := map[string]int{}
	for _, x := range want.rows {
		count[x]++
	}
	var extra, missing []string
	for _, x := range r.rows {
		if count[x]--; count[x] < 0 {
			extra = append(extra, x)
		}
	}
	for x, n := range count {
		if n > 0 {
			missing = append(missing, x)
		}
	}
	if len(extra)+len(missing) == 0 {
		return ""
	}
	sort.Strings(missing)
	text := fmt.Sprintf("%d rows, want %d", len(r.rows), len(want.rows))
	if len(extra) > 0 {
		text += "; not wanted: " + extra[0]
	}
	if len(missing) > 0 {
		text += "; missing: " + missing[0]
	}
	return text
}

// appendCell prints one value.
func appendCell(b []byte, a arrow.Array, i int) []byte {
	if a.IsNull(i) {
		return append(b, "null"...)
	}
	switch x := a.(type) {
	case *array.Boolean:
		return strconv.AppendBool(b, x.Value(i))
	case *array.Int8:
		return strconv.AppendInt(b, int64(x.Value(i)), 10)
	case *array.Int16:
		return strconv.AppendInt(b, int64(x.Value(i)), 10)
	case *array.Int32:
		return strconv.AppendInt(b, int64(x.Value(i)), 10)
	case *array.Int64:
		return strconv.AppendInt(b, x.Value(i), 10)
	case *array.Uint64: // deltalake's versions
		return strconv.AppendUint(b, x.Value(i), 10)
	case *array.Float32:
		v := x.Value(i)
		if v != v {
			return append(b, "NaN"...)
		}
		return fmt.Appendf(b, "f%08x", math.Float32bits(v))
	case *array.Float64:
		v := x.Value(i)
		if v != v {
			return append(b, "NaN"...)
		}
		return fmt.Appendf(b, "d%016x", math.Float64bits(v))
	case *array.Decimal128:
		return append(b, x.Value(i).ToString(x.DataType().(*arrow.Decimal128Type).Scale)...)
	case *array.Date32:
		return append(b, x.Value(i).ToTime().Format("2006-01-02")...)
	case *array.Timestamp:
		u := x.DataType().(*arrow.TimestampType).Unit
		v := int64(x.Value(i))
		switch u {
		case arrow.Second:
			v *= 1_000_000
		case arrow.Millisecond:
			v *= 1000
		case arrow.Nanosecond:
			v = time.Unix(0, v).UnixMicro()
		}
		return append(b, time.UnixMicro(v).UTC().Format("2006-01-02T15:04:05.000000")...)
	case *array.String:
		return strconv.AppendQuote(b, x.Value(i))
	case *array.LargeString:
		return strconv.AppendQuote(b, x.Value(i))
	case *array.StringView:
		return strconv.AppendQuote(b, x.Value(i))
	case *array.Binary:
		return fmt.Appendf(b, "x%x", x.Value(i))
	case *array.LargeBinary:
		return fmt.Appendf(b, "x%x", x.Value(i))
	case *array.BinaryView:
		return fmt.Appendf(b, "x%x", x.Value(i))
	case *array.Dictionary:
		return appendCell(b, x.Dictionary(), x.GetValueIndex(i))
	case *array.Struct:
		b = append(b, '{')
		t := x.DataType().(*arrow.StructType)
		for k := 0; k < x.NumField(); k++ {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(append(b, t.Field(k).Name...), ':')
			b = appendCell(b, x.Field(k), i)
		}
		return append(b, '}')
	case *array.Map: // before lists, which it is one of
		from, to := x.ValueOffsets(i)
		pairs := make([]string, 0, to-from)
		for k := from; k < to; k++ {
			p := appendCell(nil, x.Keys(), int(k))
			pairs = append(pairs, string(appendCell(append(p, '='), x.Items(), int(k))))
		}
		sort.Strings(pairs)
		return append(append(append(b, '<'), strings.Join(pairs, ",")...), '>')
	case array.ListLike:
		from, to := x.ValueOffsets(i)
		b = append(b, '[')
		for k := from; k < to; k++ {
			if k > from {
				b = append(b, ',')
			}
			b = appendCell(b, x.ListValues(), int(k))
		}
		return append(b, ']')
	}
	return append(b, "?"+a.DataType().String()...)
}

// readIPC reads a file of Arrow's IPC format.
func readIPC(path string) (rowset, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return rowset{}, err
	}
	r, err := ipc.NewFileReader(bytes.NewReader(text))
	if err != nil {
		return rowset{}, err
	}
	var batches []arrow.RecordBatch
	for i := 0; i < r.NumRecords(); i++ {
		rec, err := r.RecordBatchAt(i)
		if err != nil {
			return rowset{}, err
		}
		batches = append(batches, rec)
	}
	var names []string
	for _, f := range r.Schema().Fields() {
		names = append(names, f.Name)
	}
	return rowsOf(batches, names), r.Close()
}

// writeIPC writes rows as the others read them.
func writeIPC(path string, batches []arrow.RecordBatch, schema types.Schema) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema.Arrow()))
	if err != nil {
		return err
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}
