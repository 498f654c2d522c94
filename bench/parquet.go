package bench

import (
	"context"
	"io"
	"os"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/internal/safego"
	"streamlab/sql/types"
)

// parquetChunk is how many rows of a Parquet file are in memory at a time while it is written.
const parquetChunk = 1 << 16

// parquet writes rows [from, to) of a set. Rows that are given as JSON go through the JSON reader, so that both
// formats hold the same values.
func (s set) parquet(dst io.Writer, from, to int) error {
	schema, err := types.ParseDDL(s.schema)
	if err != nil {
		return err
	}
	compression, err := codec.FindParquetCodec("snappy")
	if err != nil {
		return err
	}
	format, err := codec.NewParquetFormat(schema, compression)
	if err != nil {
		return err
	}
	w, err := format.NewWriter(dst)
	if err != nil {
		return err
	}
	table := s.table
	if table == nil {
		reader, err := codec.NewReader(codec.Settings{Format: "json"}, schema, nil)
		if err != nil {
			return err
		}
		d := reader.NewDecoder()
		var line []byte
		table = func(from, to int) ([]*columnar.Vec, error) {
			for i := from; i < to; i++ {
				if line = s.row(line[:0], i); len(line) == 0 {
					break
				}
				if err := d.Record(line[:len(line)-1]); err != nil {
					return nil, err
				}
			}
			return d.Take(), nil
		}
	}
	for ; from < to; from += parquetChunk {
		n := min(parquetChunk, to-from)
		vs, err := table(from, from+n)
		if err != nil {
			return err
		}
		cols := make([]columnar.Vec, len(vs))
		for i, v := range vs {
			cols[i] = *v
		}
		if err := w.Write(cols, 0, n); err != nil {
			return err
		}
	}
	return w.Close()
}

// parquetRows is the number of rows of a Parquet file, by its footer.
func parquetRows(path string) (int64, error) {
	f, err := codec.OpenParquet(fileInput(path))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Rows(), nil
}

func fileInput(path string) codec.Input {
	return codec.Input{Path: path, Open: func() (codec.File, error) { return os.Open(path) }}
}

// eachTable calls fold(worker, columns, rows) for the batches of a Parquet file: while one goroutine reads,
// the others take what it has read. The reading is the repository's own, since a limit is a loop for a query, not for
// a format.
func eachTable(file string, columns types.Schema, workers int, fold func(w int, cols []*columnar.Vec, n int)) (int64, error) {
	type table struct {
		cols []*columnar.Vec
		n    int
	}
	rows := int64(0)
	ready := make(chan table, 4)
	reader := safego.Go("limit reader", func() error {
		defer close(ready)
		return codec.ReadParquetColumns(context.Background(), fileInput(file), columns, codec.ParquetNames{}, nil,
			func(cols []*columnar.Vec, _ int64, n int) error {
				rows += int64(n)
				ready <- table{cols, n}
				return nil
			})
	})
	err := parallel(max(1, workers-1), func(w int) func() error {
		return func() error {
			for t := range ready {
				fold(w, t.cols, t.n)
			}
			return nil
		}
	})
	if e := reader.Wait(); err == nil {
		err = e
	}
	return rows, err
}
