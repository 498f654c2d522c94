package codec

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/sql/types"
)

const (
	maxFooter   = 64 << 20
	maxPage     = 256 << 20
	parquetRows = 16384 // rows of a batch
)

// parquetNode is a column, or a part of one, as it is wanted, and where it lies in the file.
type parquetNode struct {
	t      types.DataType
	def    int16 // definition level from which it is not null
	base   int16 // definition level from which it has a place at all: that of the innermost list around it
	inside int16 // repetition level around it
	rep    int16 // list, map: repetition level of its elements
	elem   int16 // list, map: definition level from which an element is there
	leaf   *parquetLeaf
	kids   []*parquetNode
	gone   bool // not in the file: null

	how    parquetFrom // leaf: how values are made
	factor int64
	scale  int32
}

// Parquet is an open Parquet file.
type Parquet struct {
	url    string
	r      *file.Reader
	source File
}

// OpenParquet reads the footer of a file. Error: FAILED_READ_FILE.
func OpenParquet(in Input) (*Parquet, error) {
	f, err := in.Open()
	if err != nil {
		return nil, err
	}
	p := &Parquet{url: in.Path, source: f}
	err = safego.Call("parquet footer", func() error {
		size, err := fileSize(f)
		if err != nil {
			return err
		}
		if err := checkFooter(f, size); err != nil {
			return err
		}
		props := parquet.NewReaderProperties(nil)
		props.MaxCompressedPageSize, props.MaxUncompressedPageSize = maxPage, maxPage
		p.r, err = file.NewParquetReader(io.NewSectionReader(f, 0, size), file.WithReadProps(props))
		return err
	})
	if err != nil {
		f.Close()
		return nil, errs.Wrap(brokenParquet(err), "FAILED_READ_FILE.NO_HINT", "path", in.Path)
	}
	return p, nil
}

// Close closes the file.
func (p *Parquet) Close() error { return p.source.Close() }

// brokenParquet tells what a panic of the decoder means: the file is not what it says.
func brokenParquet(err error) error {
	if e := errs.As(err); e != nil && e.Condition == "INTERNAL_ERROR" && e.Err != nil {
		return errs.Wrap(e.Err, "PARQUET_CORRUPT", "reason", e.Err.Error())
	}
	return err
}

func fileSize(f File) (int64, error) {
	if s, ok := f.(io.Seeker); ok {
		return s.Seek(0, io.SeekEnd)
	}
	if s, ok := f.(interface{ Size() int64 }); ok {
		return s.Size(), nil
	}
	// Double until a read fails, then halve.
	b := make([]byte, 1)
	there := func(at int64) bool { n, _ := f.ReadAt(b, at); return n == 1 }
	hi := int64(1)
	for there(hi - 1) {
		hi *= 2
	}
	lo := hi / 2
	for lo < hi {
		mid := (lo + hi) / 2
		if there(mid) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

var parquetMagic = []byte("PAR1")

func checkFooter(f io.ReaderAt, size int64) error {
	if size < 12 {
		return errs.New("PARQUET_CORRUPT", "reason", "the file is too short")
	}
	var tail [8]byte
	if _, err := f.ReadAt(tail[:], size-8); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(tail[4:], parquetMagic) {
		return errs.New("PARQUET_CORRUPT", "reason", "it does not end with PAR1")
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:4])); n > maxFooter || n > size-12 {
		return errs.New("PARQUET_CORRUPT", "reason", "the footer is said to have an impossible length")
	}
	return nil
}

// Schema is the columns of the file: Spark's own description if the footer has it, else what the Parquet
// types mean to Spark.
func (p *Parquet) Schema() (types.Schema, error) {
	meta := p.r.MetaData()
	if kv := meta.KeyValueMetadata(); kv != nil {
		if text := kv.FindValue(sparkSchemaKey); text != nil {
			if s, err := types.ParseSchemaJSON(*text); err == nil {
				return s, nil
			}
		}
	}
	root := meta.Schema.Root()
	var out types.Schema
	for i := range root.NumFields() {
		n := root.Field(i)
		t, err := typeOfNode(n)
		if err != nil {
			return nil, errs.Wrap(err, "FAILED_READ_FILE.NO_HINT", "path", p.url)
		}
		out = append(out, types.Field{Name: n.Name(), Type: t, Nullable: n.RepetitionType() != parquet.Repetitions.Required})
	}
	return out, nil
}

// Rows is the number of rows.
func (p *Parquet) Rows() int64 { return p.r.NumRows() }

// ParquetNames says how wanted columns find theirs in a file. The zero value compares names without regard to
// case.
type ParquetNames struct {
	Exact  bool                            // names differ by case
	Prefer bool                            // of several names that differ by case, the one that is the same wins, else none
	Name   func(types.Field) string        // nil: the field's name
	ID     func(types.Field) (int32, bool) // the field's id in the file, which wins over its name; nil: there are none
	Loose  bool                            // times in nanoseconds, with or without a zone, and texts for bytes, are taken too
}

func (n *ParquetNames) of(f types.Field) string {
	if n.Name != nil {
		return n.Name(f)
	}
	return f.Name
}

// parquetPlan finds the wanted columns in the file.
type parquetPlan struct {
	url    string
	file   *schema.Schema
	names  ParquetNames
	leaves map[int]*parquetLeaf
	order  []*parquetLeaf
}

func (pl *parquetPlan) leafOf(n schema.Node, def, rep int16) *parquetLeaf {
	for {
		g, ok := n.(*schema.GroupNode)
		if !ok {
			break
		}
		n = g.Field(0)
		switch n.RepetitionType() {
		case parquet.Repetitions.Optional:
			def++
		case parquet.Repetitions.Repeated:
			def++
			rep++
		}
	}
	i := pl.file.ColumnIndexByNode(n)
	if l := pl.leaves[i]; l != nil {
		return l
	}
	l := &parquetLeaf{index: i, node: n.(*schema.PrimitiveNode), maxDef: def, maxRep: rep}
	pl.leaves[i] = l
	pl.order = append(pl.order, l)
	return l
}

func (pl *parquetPlan) mismatch(n schema.Node, t types.DataType) error {
	text := n.Name()
	if p, ok := n.(*schema.PrimitiveNode); ok {
		text = p.PhysicalType().String()
	}
	return errs.New("FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH", "path", pl.url, "column", "["+n.Path()+"]",
		"expectedType", t.Simple(), "actualType", text)
}

// node matches a node of the file with a wanted type. def and rep are the levels at the node, itself counted
// if it is optional; base is the level of the list around it.
func (pl *parquetPlan) node(n schema.Node, t types.DataType, def, rep, base int16) (*parquetNode, error) {
	p := &parquetNode{t: t, def: def, base: base, inside: rep}
	if n.RepetitionType() == parquet.Repetitions.Repeated { // an old list: no group around it
		if t.Kind != types.Array {
			return nil, pl.mismatch(n, t)
		}
		p.def, p.rep, p.elem = def, rep+1, def+1
		kid, err := pl.one(n, *t.Elem, def+1, rep+1, def+1)
		p.kids = []*parquetNode{kid}
		if err == nil {
			p.leaf = kid.leaf
		}
		return p, err
	}
	return pl.one(n, t, def, rep, base)
}

func optional(n schema.Node) int16 {
	if n.RepetitionType() == parquet.Repetitions.Optional {
		return 1
	}
	return 0
}

func (pl *parquetPlan) one(n schema.Node, t types.DataType, def, rep, base int16) (*parquetNode, error) {
	p := &parquetNode{t: t, def: def, base: base, inside: rep}
	g, isGroup := n.(*schema.GroupNode)
	if !isGroup {
		if !p.accept(n.(*schema.PrimitiveNode), pl.names.Loose) {
			return nil, pl.mismatch(n, t)
		}
		p.leaf = pl.leafOf(n, def, rep)
		return p, nil
	}
	switch t.Kind {
	case types.Array:
		r, e, ok := listElement(g)
		if !ok {
			return nil, pl.mismatch(n, t)
		}
		p.rep, p.elem = rep+1, def+1
		inner := def + 1
		if r != e {
			inner += optional(e)
		}
		kid, err := pl.one(e, *t.Elem, inner, rep+1, def+1)
		if err != nil {
			return nil, err
		}
		p.kids, p.leaf = []*parquetNode{kid}, kid.leaf
		return p, nil
	case types.Map:
		kv, ok := mapEntries(g)
		if !ok {
			return nil, pl.mismatch(n, t)
		}
		p.rep, p.elem = rep+1, def+1
		k, err := pl.one(kv.Field(0), *t.Key, def+1+optional(kv.Field(0)), rep+1, def+1)
		if err != nil {
			return nil, err
		}
		v, err := pl.one(kv.Field(1), *t.Elem, def+1+optional(kv.Field(1)), rep+1, def+1)
		if err != nil {
			return nil, err
		}
		p.kids, p.leaf = []*parquetNode{k, v}, k.leaf
		return p, nil
	case types.Struct:
		if isList(n) || isMap(n) {
			return nil, pl.mismatch(n, t)
		}
		for _, f := range t.Fields {
			kid, err := pl.field(g, f, def, rep, base)
			if err != nil {
				return nil, err
			}
			p.kids = append(p.kids, kid)
			if p.leaf == nil && !kid.gone && !kidRepeats(kid) {
				p.leaf = kid.leaf
			}
		}
		for _, kid := range p.kids {
			if p.leaf == nil && !kid.gone {
				p.leaf = kid.leaf
			}
		}
		if p.leaf == nil { // only to know where the struct is null
			p.leaf = pl.leafOf(n, def, rep)
		}
		return p, nil
	}
	return nil, pl.mismatch(n, t)
}

// kidRepeats prefers leaves without lists for the levels of a struct: there are fewer of them.
func kidRepeats(k *parquetNode) bool { return k.leaf != nil && k.leaf.maxRep > k.inside }

// field finds a field by its id or by name. Errors: _LEGACY_ERROR_TEMP_2093 if several match, PARQUET_NO_FIELD_IDS.
func (pl *parquetPlan) field(g *schema.GroupNode, f types.Field, def, rep, base int16) (*parquetNode, error) {
	found, err := pl.find(g, f)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return &parquetNode{t: f.Type, gone: true}, nil
	}
	return pl.node(found, f.Type, def+optional(found), rep, base)
}

func (pl *parquetPlan) find(g *schema.GroupNode, f types.Field) (schema.Node, error) {
	if pl.names.ID != nil {
		if id, ok := pl.names.ID(f); ok {
			any := false
			for i := range g.NumFields() {
				n := g.Field(i)
				if n.FieldID() == id {
					return n, nil
				}
				any = any || n.FieldID() >= 0
			}
			if !any && g.NumFields() > 0 {
				return nil, errs.New("PARQUET_NO_FIELD_IDS", "column", f.Name)
			}
			return nil, nil
		}
	}
	name := pl.names.of(f)
	var found schema.Node
	var all []string
	for i := range g.NumFields() {
		n := g.Field(i)
		if pl.names.Prefer && n.Name() == name {
			return n, nil
		}
		if !sameName(n.Name(), name, pl.names.Exact) {
			continue
		}
		all = append(all, n.Name())
		if found == nil {
			found = n
		}
	}
	if len(all) > 1 {
		if pl.names.Prefer {
			return nil, nil
		}
		return nil, errs.New("_LEGACY_ERROR_TEMP_2093", "requiredFieldName", f.Name, "matchedOrcFields", "["+strings.Join(all, ", ")+"]")
	}
	return found, nil
}

// NullVec is a column of n nulls.
func NullVec(t types.DataType, n int) *columnar.Vec {
	v := columnar.NewVec(t, n)
	if v.Phys != columnar.PNull {
		v.Valid = make([]uint64, columnar.Words(n))
		if v.Phys == columnar.PStruct {
			for i, k := range v.Kids {
				v.Kids[i] = NullVec(k.Type, n)
			}
		}
	}
	return v
}

// build makes the vector of a node for the rows that its leaves have loaded; n is its length where the
// levels do not tell.
func (p *parquetNode) build(n int) (*columnar.Vec, error) {
	if p.gone {
		return NullVec(p.t, n), nil
	}
	switch p.t.Kind {
	case types.Array, types.Map:
		return p.list()
	case types.Struct:
		if len(p.kids) > 0 || p.leaf != nil {
			return p.structure()
		}
	}
	return p.leaf.vector(p)
}

func (p *parquetNode) list() (*columnar.Vec, error) {
	l := p.leaf
	v := &columnar.Vec{Type: p.t, Phys: columnar.PhysicalOf(p.t)}
	v.Off = make([]int32, 1, l.used+1)
	v.Valid = make([]uint64, columnar.Words(l.used))
	nulls := false
	n, at := 0, int32(0)
	for i, d := range l.def[:l.used] {
		r := l.rep[i]
		if r > p.rep || d < p.base {
			continue
		}
		if r == p.rep {
			at++
			v.Off[n] = at
			continue
		}
		if d >= p.elem {
			at++
		}
		if d >= p.def {
			columnar.SetBit(v.Valid, n)
		} else {
			nulls = true
		}
		n++
		v.Off = append(v.Off, at)
	}
	v.Len = n
	if !nulls {
		v.Valid = nil
	}
	for _, k := range p.kids {
		kid, err := k.build(int(at))
		if err != nil {
			return nil, err
		}
		if kid.Len != int(at) {
			return nil, errShort
		}
		v.Kids = append(v.Kids, kid)
	}
	return v, nil
}

func (p *parquetNode) structure() (*columnar.Vec, error) {
	l := p.leaf
	v := &columnar.Vec{Type: p.t, Phys: columnar.PhysicalOf(p.t)}
	if l.maxDef == 0 || l.full {
		v.Len = l.used
	} else {
		v.Valid = make([]uint64, columnar.Words(l.used))
		nulls := false
		for i, d := range l.def[:l.used] {
			if d < p.base || l.maxRep > p.inside && l.rep[i] > p.inside {
				continue
			}
			if d >= p.def {
				columnar.SetBit(v.Valid, v.Len)
			} else {
				nulls = true
			}
			v.Len++
		}
		if !nulls {
			v.Valid = nil
		}
	}
	for _, k := range p.kids {
		kid, err := k.build(v.Len)
		if err != nil {
			return nil, err
		}
		if kid.Len != v.Len {
			return nil, errShort
		}
		v.Kids = append(v.Kids, kid)
	}
	return v, nil
}

// Columns are those of the reader, in order.
func (r *Reader) Columns() types.Schema {
	out := make(types.Schema, len(r.columns))
	for i, c := range r.columns {
		out[i] = r.schema[c]
	}
	return out
}

// ReadParquet reads the columns of the reader from a file, see ReadParquetColumns.
func (r *Reader) ReadParquet(ctx context.Context, in Input, tests []columnar.Test, give func(cols []*columnar.Vec, first int64, n int) error) error {
	names := ParquetNames{Exact: strings.EqualFold(r.conf("spark.sql.caseSensitive"), "true")}
	return ReadParquetColumns(ctx, in, r.Columns(), names, tests, give)
}

// ReadParquetColumns reads the rows of a file that lie in the part, see rowsOfPart, leaving out row groups that,
// by their statistics, hold no row that passes tests, whose columns are positions in columns. give gets the
// columns, the number of the first row in the file, and the number of rows. Columns that the file does not
// have are null. Errors: FAILED_READ_FILE, those of give and of in.Open.
func ReadParquetColumns(ctx context.Context, in Input, columns types.Schema, names ParquetNames, tests []columnar.Test,
	give func(cols []*columnar.Vec, first int64, n int) error) error {
	p, err := OpenParquet(in)
	if err != nil {
		return err
	}
	defer p.Close()
	stop := error(nil)
	err = safego.Call("parquet", func() error {
		return p.read(ctx, columns, names, in, tests, func(cols []*columnar.Vec, first int64, n int) error {
			stop = give(cols, first, n)
			return stop
		})
	})
	if err == nil || stop != nil || ctx.Err() != nil || errs.Has(err, "FAILED_READ_FILE") {
		return err
	}
	return errs.Wrap(brokenParquet(err), "FAILED_READ_FILE.NO_HINT", "path", in.Path)
}

func (p *Parquet) read(ctx context.Context, columns types.Schema, names ParquetNames, in Input, tests []columnar.Test, give func([]*columnar.Vec, int64, int) error) error {
	meta := p.r.MetaData()
	pl := &parquetPlan{url: p.url, file: meta.Schema, names: names, leaves: map[int]*parquetLeaf{}}
	nodes := make([]*parquetNode, len(columns))
	for i, f := range columns {
		var err error
		if nodes[i], err = pl.field(meta.Schema.Root(), f, 0, 0, 0); err != nil {
			return err
		}
	}
	for _, l := range pl.order {
		l.lends = in.Lent
	}
	first := int64(0)
	for g := range meta.NumRowGroups() {
		m := meta.RowGroup(g)
		rows := m.NumRows()
		from, to, err := rowsOfPart(p.source, m, pl.order, in)
		if err != nil {
			return err
		}
		if from < to && !p.skip(m, nodes, tests) {
			if err := p.group(ctx, p.r.RowGroup(g), pl, nodes, first, from, to, give); err != nil {
				return err
			}
		}
		first += rows
	}
	return nil
}

// group reads rows done to rows of a row group, which begins with row first of the file.
func (p *Parquet) group(ctx context.Context, g *file.RowGroupReader, pl *parquetPlan, nodes []*parquetNode, first, done, rows int64, give func([]*columnar.Vec, int64, int) error) error {
	for _, l := range pl.order {
		defer l.end()
		if err := l.begin(p.source, g, done); err != nil {
			return err
		}
	}
	for done < rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int(min(rows-done, parquetRows))
		for _, l := range pl.order {
			if err := l.load(n); err != nil {
				return err
			}
		}
		cols := make([]*columnar.Vec, len(nodes))
		for i, node := range nodes {
			v, err := node.build(n)
			if err != nil {
				return err
			}
			if v.Len != n {
				return errShort
			}
			cols[i] = v
		}
		if err := give(cols, first+done, n); err != nil {
			return err
		}
		done += int64(n)
	}
	return nil
}
