package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/internal/safego"
	"streamlab/internal/vfs"
	"streamlab/sinks"
	"streamlab/sql/types"
)

// blockSize is how much text is gathered before it is written.
const blockSize = 256 << 10

// stage writes the files of a batch under their final names and returns them in the order of partitions. On
// an error nothing that this attempt wrote is left.
func (s *sink) stage(ctx context.Context, b sinks.Batch) ([]codec.SinkFile, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tasks := make([]*task, len(b.Parts))
	next := make(chan int, len(b.Parts))
	for i := range b.Parts {
		tasks[i] = &task{sink: s, batch: b.ID, part: i, query: b.QueryID, open: map[string]*output{}}
		next <- i
	}
	close(next)
	var handles []*safego.Handle
	for range min(len(b.Parts), runtime.GOMAXPROCS(0)) {
		handles = append(handles, safego.Go("file sink", func() error {
			var large *task
			for i := range next {
				if err := tasks[i].run(ctx, b.Parts[i], b.Schema, &large); err != nil {
					cancel()
					return err
				}
			}
			if large == nil {
				return nil
			}
			return large.finish()
		}))
	}
	var first error
	for _, h := range handles {
		if err := h.Wait(); err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
		}
	}
	var done []*output
	for _, t := range tasks {
		done = append(done, t.done...)
	}
	if first == nil && len(done) == 0 && len(s.keys) == 0 { // a batch without rows leaves one file without rows
		t := &task{sink: s, batch: b.ID, query: b.QueryID, open: map[string]*output{}}
		if _, first = t.output(""); first == nil {
			first = t.finish()
		}
		done = append(done, t.done...)
	}
	if first == nil {
		first = fault.Point("sink.stage.mid")
	}
	if first == nil {
		first = s.publish(done)
	}
	if first != nil {
		for _, o := range done {
			_ = s.fs.Remove(o.temp)
			_ = s.fs.Remove(o.path)
		}
		for _, t := range tasks {
			t.abort()
		}
		return nil, first
	}
	files := make([]codec.SinkFile, len(done))
	for i, o := range done {
		files[i] = codec.SinkFile{Path: codec.FileURL(o.path), Size: o.size, ModificationTime: o.mtime, BlockReplication: 1,
			BlockSize: 32 << 20, Action: "add"}
	}
	return files, nil
}

// publish gives the files their names, then makes the folders durable.
func (s *sink) publish(done []*output) error {
	dirs := map[string]bool{}
	for _, o := range done {
		if err := s.fs.Rename(o.temp, o.path); err != nil {
			return err
		}
		dirs[filepath.Dir(o.path)] = true
	}
	if !s.def.Durable {
		return nil
	}
	names := make([]string, 0, len(dirs))
	for d := range dirs {
		names = append(names, d)
	}
	sort.Strings(names)
	for _, d := range names {
		if err := s.fs.SyncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// task writes the files of one partition.
type task struct {
	*sink
	batch int64
	part  int
	query string
	open  map[string]*output // by folder
	files int
	done  []*output
}

// output is one file being written.
type output struct {
	temp, path string
	file       vfs.File
	to         io.WriteCloser
	parquet    *codec.ParquetWriter // instead of to and buf
	buf        []byte
	rows       int64
	size       int64
	mtime      int64
}

var namespace = uuid.MustParse("5ba9bd32-1b5c-4f4b-9a25-2f1c0b7c8f10")

// maxName is the longest name that file systems take, less what the sink puts around it.
const maxName = 255

// within refuses a partition folder that cannot be made or that leads somewhere else.
func (t *task) within(folder string) error {
	if folder == "" || folder == "." {
		return nil
	}
	for i, part := range strings.Split(folder, "/") {
		if len(part) > maxName {
			return errs.New("PARTITION_VALUE_TOO_LONG", "column", t.def.Schema[t.keys[i]].Name, "bytes", len(part), "limit", maxName)
		}
	}
	link, err := vfs.Link(t.fs, t.def.Path, folder)
	if err == nil && link != "" {
		err = errs.New("OUTPUT_THROUGH_LINK", "path", link, "folder", t.def.Path)
	}
	return err
}

// output gives the file of a folder, opening it if need be.
func (t *task) output(folder string) (*output, error) {
	if o := t.open[folder]; o != nil {
		return o, nil
	}
	most := 256
	if t.parquet != nil {
		most = 64 // each holds a row group
	}
	if len(t.open) >= most { // many folders: rather many files than too many open ones
		if err := t.finish(); err != nil {
			return nil, err
		}
	}
	seed := fmt.Appendf(nil, "%s/%d/%d", t.query, t.batch, t.part)
	if strings.HasSuffix(folder, emptyMark) { // another file than that of the nulls
		seed = append(seed, emptyMark...)
	}
	id := uuid.NewSHA1(namespace, seed)
	key := folder
	folder = strings.TrimSuffix(folder, emptyMark)
	mark := "-"
	if len(t.keys) > 0 {
		mark = "."
	}
	name := fmt.Sprintf("part-%05d-%s%sc%03d%s", t.part, id, mark, t.files, t.extension)
	if len(t.keys) == 0 {
		t.files++
	} else if t.mostRows > 0 || len(t.done) > 0 {
		// Folders keep their files apart; a second file of one folder needs another number.
		n := 0
		for _, o := range t.done {
			if filepath.Dir(o.path) == filepath.Join(t.def.Path, folder) {
				n++
			}
		}
		name = fmt.Sprintf("part-%05d-%s.c%03d%s", t.part, id, n, t.extension)
	}
	dir := filepath.Join(t.def.Path, folder)
	if folder == "." || folder == "" {
		dir = t.def.Path
	}
	if err := t.within(folder); err != nil {
		return nil, err
	}
	if err := vfs.MkdirAll(t.fs, dir, 0o755); err != nil {
		return nil, err
	}
	o := &output{temp: filepath.Join(dir, "."+name+".tmp"), path: filepath.Join(dir, name)}
	// What a crash has left, or somebody has put there as a link, is not written to but replaced.
	if err := t.fs.Remove(o.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var err error
	if o.file, err = t.fs.OpenFile(o.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return nil, err
	}
	if t.parquet != nil {
		o.parquet, err = t.parquet.NewWriter(o.file)
	} else if o.to, err = t.codec.NewWriter(o.file); err == nil {
		o.buf = t.writer.Header(o.buf)
	}
	if err != nil {
		return nil, errors.Join(err, o.file.Close())
	}
	t.open[key] = o
	return o, nil
}

func (o *output) flush() error {
	if o.parquet != nil {
		return nil
	}
	_, err := o.to.Write(o.buf)
	o.buf = o.buf[:0]
	return err
}

// close ends a file: everything is written and, if asked for, synced.
func (t *task) close(o *output) error {
	err := o.flush()
	switch {
	case err != nil:
	case o.parquet != nil:
		err = o.parquet.Close()
	default:
		err = o.to.Close()
	}
	if err == nil && t.def.Durable {
		err = o.file.Sync()
	}
	if err == nil {
		info, e := o.file.Stat()
		if err = e; e == nil {
			o.size, o.mtime = info.Size(), info.ModTime().UnixMilli()
		}
	}
	err = errors.Join(err, o.file.Close())
	t.done = append(t.done, o)
	return err
}

// finish ends all open files, by folder.
func (t *task) finish() error {
	folders := make([]string, 0, len(t.open))
	for f := range t.open {
		folders = append(folders, f)
	}
	sort.Strings(folders)
	var err error
	for _, f := range folders {
		err = errors.Join(err, t.close(t.open[f]))
		delete(t.open, f)
	}
	return err
}

// abort removes the files that were not finished.
func (t *task) abort() {
	for _, o := range t.open {
		_ = o.file.Close()
		_ = t.fs.Remove(o.temp)
	}
}

// run writes a partition. One with few rows has files of its own. The rows of larger ones go into the files of
// the first such partition of the worker, which stay open: large is its task, nil before there is one.
func (t *task) run(ctx context.Context, p columnar.Partition, schema types.Schema, large **task) error {
	var held columnar.Held
	to := (*task)(nil)
	early := func() error {
		for _, rb := range held.Batches {
			if err := to.take(rb, schema); err != nil {
				return err
			}
		}
		return nil
	}
	for rb, err := range p.Rows(ctx) {
		if err == nil && to == nil {
			if held.Take(rb, schema) {
				continue
			}
			if *large == nil {
				*large = t
			}
			to = *large
			err = early()
		}
		if err == nil {
			err = to.take(rb, schema)
		}
		if err != nil {
			return err
		}
	}
	if to != nil {
		return nil
	}
	to = t
	return errors.Join(early(), t.finish())
}

// take writes rows into the files of their folders.
func (t *task) take(rb arrow.RecordBatch, schema types.Schema) error {
	all := columnar.Vectors(rb, schema)
	n := int(rb.NumRows())
	t.rows.Add(int64(n))
	cols := make([]columnar.Vec, len(t.data))
	for i, c := range t.data {
		cols[i] = all[c]
	}
	if len(t.keys) == 0 {
		return t.write("", cols, 0, n)
	}
	some := make([]columnar.Vec, len(t.data))
	for _, g := range t.groups(all, n) {
		rows := cols
		if g.rows.N < n {
			for i := range cols {
				columnar.Gather(&some[i], &cols[i], g.rows)
			}
			rows = some
		}
		if err := t.write(g.folder, rows, 0, g.rows.N); err != nil {
			return err
		}
	}
	return nil
}

// group is the rows of a batch that go into one folder.
type group struct {
	folder string
	rows   columnar.Sel
}

// groups sorts rows by folder: the folders come in the order of their first rows, the rows of each as they were.
func (t *task) groups(cols []columnar.Vec, n int) []group {
	var out []group
	at := map[string]int{}
	var folder []byte
	for i := range n {
		folder = t.folder(folder[:0], cols, i)
		k, ok := at[string(folder)]
		if !ok {
			k = len(out)
			out = append(out, group{folder: string(folder)})
			at[out[k].folder] = k
		}
		out[k].rows.Idx = append(out[k].rows.Idx, int32(i))
		out[k].rows.N++
	}
	return out
}

// write appends rows [from, to) to the file of a folder, and to further ones if that is full.
func (t *task) write(folder string, cols []columnar.Vec, from, to int) error {
	for from < to {
		o, err := t.output(folder)
		if err != nil {
			return err
		}
		n := min(to-from, 1024)
		if t.parquet != nil {
			n = to - from
		}
		if t.mostRows > 0 {
			n = int(min(int64(n), t.mostRows-o.rows))
		}
		if o.parquet != nil {
			if err := o.parquet.Write(cols, from, from+n); err != nil {
				return err
			}
		} else {
			o.buf = t.writer.Append(o.buf, cols, from, from+n)
		}
		o.rows += int64(n)
		from += n
		if len(o.buf) >= blockSize {
			if err := o.flush(); err != nil {
				return err
			}
		}
		if t.mostRows > 0 && o.rows == t.mostRows {
			delete(t.open, folder)
			if err := t.close(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// emptyMark ends the name of a folder whose rows have an empty text where others have null: both lie there, in
// files of their own.
const emptyMark = "\x00"

const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// folder prints the folders of the partition values of a row: a=1/b=x.
func (t *task) folder(dst []byte, cols []columnar.Vec, row int) []byte {
	var buf [64]byte
	empty := false
	for i, k := range t.keys {
		if i > 0 {
			dst = append(dst, '/')
		}
		dst = appendEscaped(dst, []byte(t.def.Schema[k].Name))
		dst = append(dst, '=')
		v := &cols[k]
		if v.IsNull(row) {
			dst = append(dst, nullPartition...)
			continue
		}
		text := codec.AppendDisplay(buf[:0], v, row, t.def.Zone)
		if v.Type.Kind == types.Binary {
			text = v.Bytes(v.Row(row))
		}
		if len(text) == 0 {
			dst = append(dst, nullPartition...)
			empty = true
			continue
		}
		dst = appendEscaped(dst, text)
	}
	if empty {
		dst = append(dst, emptyMark...)
	}
	return dst
}

// escaped are the characters that may not stand in the name of a partition folder.
var escaped = func() (out [256]bool) {
	for c := range 0x20 {
		out[c] = true
	}
	for _, c := range []byte("\x7f\"#%'*/:=?\\{[]^") {
		out[c] = true
	}
	return out
}()

// appendEscaped writes characters that may not stand in the name of a partition folder as %XX.
func appendEscaped(dst, s []byte) []byte {
	const hex = "0123456789ABCDEF"
	from := 0
	for i, c := range s {
		if escaped[c] {
			dst = append(append(dst, s[from:i]...), '%', hex[c>>4], hex[c&15])
			from = i + 1
		}
	}
	return append(dst, s[from:]...)
}

func entryName(id int64, compact bool) string {
	name := strconv.FormatInt(id, 10)
	if compact {
		name += ".compact"
	}
	return name
}
