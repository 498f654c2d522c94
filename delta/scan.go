package delta

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// DataFile is a file to read and what the log says about its rows.
type DataFile struct {
	Path    string
	Values  map[string]*string // partition values by physical name
	Size    int64
	DV      *DeletionVector
	Version int64 // of the commit, for messages; -1 if unknown

	// Extra are columns that the file does not hold, by name: constants that win over everything else.
	Extra map[string]*columnar.Vec
	// Keep, if set, are the rows that are read: those of the bitmap and no others; DV is not looked at.
	Keep *roaring64.Bitmap
}

// A Reader reads columns of data files. It is immutable.
type Reader struct {
	log    *Log
	mode   MappingMode
	parts  map[string]bool
	out    types.Schema
	arrow  *arrow.Schema
	zone   *time.Location
	rowPos int             // position of the column that numbers a file's rows, -1 for none
	tests  []columnar.Test // by position in out
}

// RowIndexColumn is the name under which a Reader gives the position of a row in its file.
const RowIndexColumn = "__row_index"

// FilePathColumn is the name under which Extra may carry the file's path; used by commands that change rows.
const FilePathColumn = "__file_path"

// NewReader makes a reader of columns: columns of the table with their metadata, RowIndexColumn, and names
// that the files' Extra give.
func (s *Snapshot) NewReader(columns types.Schema) *Reader {
	r := &Reader{log: s.Log, mode: s.MappingMode(), parts: s.parts, out: columns, arrow: columns.Arrow(), zone: s.Log.Zone, rowPos: -1}
	for i, f := range columns {
		if f.Name == RowIndexColumn {
			r.rowPos = i
		}
	}
	return r
}

// Skip makes the reader leave out row groups in which no row passes tests, whose columns are positions in the
// reader's columns. It is called before the reader is used.
func (r *Reader) Skip(tests []columnar.Test) { r.tests = tests }

// DataFileOf is a live file as the table's rows are read from it.
func (s *Snapshot) DataFileOf(a *Add) DataFile {
	return DataFile{Path: a.Path, Values: a.PartitionValues, Size: a.Size, DV: a.DV, Version: -1}
}

// each calls yield with the live rows of a file, in their order.
func (r *Reader) each(ctx context.Context, f DataFile, yield func(arrow.RecordBatch) bool) error {
	name, err := r.log.reading(f.Path)
	if err != nil {
		return err
	}
	var gone *roaring64.Bitmap
	if f.Keep == nil {
		if gone, err = r.log.readDV(f.DV); err != nil {
			return err
		}
	}
	vs := make([]*columnar.Vec, len(r.out))
	var want []types.Field
	var at []int
	tests := []columnar.Test(nil)
	for i, c := range r.out {
		switch {
		case f.Extra[c.Name] != nil:
			vs[i] = f.Extra[c.Name]
		case i == r.rowPos:
		case r.parts[strings.ToLower(c.Name)]:
			if vs[i], err = partitionVec(c.Type, f.Values[physicalName(c, r.mode)], r.zone); err != nil {
				return err
			}
		default:
			for _, t := range r.tests {
				if t.Column == i {
					t.Column = len(want)
					tests = append(tests, t)
				}
			}
			want = append(want, c)
			at = append(at, i)
		}
	}
	err = readColumns(ctx, r.log.FS, name, want, r.mode, tests, func(b columnBatch) bool {
		for k, v := range b.vs {
			vs[at[k]] = v
		}
		if r.rowPos >= 0 {
			v := columnar.NewVec(types.Of(types.BigInt), b.n)
			for i := range v.I64 {
				v.I64[i] = b.first + int64(i)
			}
			vs[r.rowPos] = v
		}
		for i, c := range r.out {
			if n := charLength(c); n > 0 && vs[i] != nil && f.Extra[c.Name] == nil {
				vs[i] = padded(vs[i], n)
			}
		}
		sel := columnar.AllRows(b.n)
		switch {
		case f.Keep != nil:
			sel = selection(f.Keep, b, true)
		case gone != nil:
			sel = selection(gone, b, false)
		}
		if sel.N == 0 {
			return true
		}
		return yield(columnar.Record(r.arrow, vs, sel))
	})
	if err != nil && ctx.Err() == nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errs.New("DELTA_FILE_NOT_FOUND", "path", f.Path, "table", r.log.Root, "version", f.Version)
		}
		if errs.As(err) == nil {
			return errs.Wrap(err, "FAILED_READ_FILE.NO_HINT", "path", name)
		}
	}
	return err
}

// selection are the rows of a batch that are, or are not, in a bitmap of a file's rows.
func selection(m *roaring64.Bitmap, b columnBatch, in bool) columnar.Sel {
	if !in && m.Rank(uint64(b.first)+uint64(b.n)-1) == before(m, b.first) {
		return columnar.AllRows(b.n)
	}
	idx := make([]int32, 0, b.n)
	for i := 0; i < b.n; i++ {
		if m.Contains(uint64(b.first)+uint64(i)) == in {
			idx = append(idx, int32(i))
		}
	}
	return columnar.Sel{Idx: idx, N: len(idx)}
}

func before(m *roaring64.Bitmap, first int64) uint64 {
	if first == 0 {
		return 0
	}
	return m.Rank(uint64(first) - 1)
}

// part is some files, read one after the other.
type part struct {
	r     *Reader
	files []DataFile
}

func (p *part) String() string {
	if len(p.files) == 1 {
		return p.files[0].Path
	}
	return fmt.Sprintf("%s and %d more", p.files[0].Path, len(p.files)-1)
}

// Rows reads the files in order.
func (p *part) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, f := range p.files {
			going := true
			err := p.r.each(ctx, f, func(rb arrow.RecordBatch) bool {
				going = yield(rb, nil)
				return going
			})
			if err != nil {
				yield(nil, err)
				return
			}
			if !going {
				return
			}
		}
	}
}

// Spark's figures for cutting a scan: bytes of a partition and what opening a file counts for.
const (
	partBytes = 128 << 20
	openBytes = 4 << 20
)

// Partitions packs files into partitions, in order.
func (r *Reader) Partitions(files []DataFile) []columnar.Partition {
	var out []columnar.Partition
	var cur *part
	var size int64
	for _, f := range files {
		if cur == nil || size+f.Size > partBytes {
			cur = &part{r: r}
			size = 0
			out = append(out, cur)
		}
		cur.files = append(cur.files, f)
		size += f.Size + openBytes
	}
	return out
}
