package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/sql/types"
)

// limitW12 writes every column of every row to Parquet files with Snappy, one for each core and file of the input: by
// the repository's own writer and without a log, a commit or a sync.
func limitW12(files [][]string, outs []output) (int64, error) {
	schema, err := types.ParseDDL(eventSchema)
	if err != nil {
		return 0, err
	}
	compression, err := codec.FindParquetCodec("snappy")
	if err != nil {
		return 0, err
	}
	format, err := codec.NewParquetFormat(schema, compression)
	if err != nil {
		return 0, err
	}
	in := int64(0)
	for b, f := range files[0] {
		writers := make([]*eventWriter, len(outs))
		for w := range writers {
			if writers[w], err = newEventWriter(format, schema, filepath.Join(outs[w].dir, fmt.Sprintf("%d-%d.parquet", b, w))); err != nil {
				return 0, err
			}
		}
		n, err := eachEvent(f, "", len(outs), func(w int, e *event) {
			if outs[w].check {
				outs[w].event(e)
			}
			writers[w].add(e)
		})
		if err != nil {
			return 0, err
		}
		if err := parallel(len(writers), func(w int) func() error { return writers[w].close }); err != nil {
			return 0, err
		}
		in += n
	}
	return in, nil
}

// An eventWriter writes events to a Parquet file.
type eventWriter struct {
	file   *os.File
	w      *codec.ParquetWriter
	schema types.Schema
	cols   []columnar.Vec
	n      int
	err    error // the first one
}

const eventRows = 1 << 13 // of a call of the writer

func newEventWriter(format *codec.ParquetFormat, schema types.Schema, path string) (*eventWriter, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	w, err := format.NewWriter(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	e := &eventWriter{file: f, w: w, schema: schema}
	for _, c := range schema {
		e.cols = append(e.cols, *columnar.NewVec(c.Type, eventRows))
	}
	return e, nil
}

func (x *eventWriter) add(e *event) {
	put := func(c int, b []byte) {
		v := &x.cols[c]
		v.Data = append(v.Data, b...)
		v.Off[x.n+1] = int32(len(v.Data))
	}
	x.cols[0].I64[x.n], x.cols[1].I64[x.n] = e.id, e.user
	put(2, e.kind)
	x.cols[3].F64[x.n] = e.price
	x.cols[4].I64[x.n] = millis(e.ts) * 1000
	put(5, e.country)
	if e.ok {
		columnar.SetBit(x.cols[6].Bits, x.n)
	}
	if x.n++; x.n == eventRows {
		x.flush()
	}
}

func (x *eventWriter) flush() {
	if x.err == nil {
		x.err = x.w.Write(x.cols, 0, x.n)
	}
	x.n = 0
	x.cols[2].Data, x.cols[5].Data = x.cols[2].Data[:0], x.cols[5].Data[:0]
	clear(x.cols[6].Bits)
}

func (x *eventWriter) close() error {
	x.flush()
	return errors.Join(x.err, x.w.Close(), x.file.Close())
}
