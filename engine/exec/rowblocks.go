package exec

import (
	"slices"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// blockRows is how many rows a block has room for: little enough that a block of a range that gets few rows is not
// much, and enough that blocks are few.
const blockRows = 1 << 12

// smallBlock is up to how many rows a first block grows as they come.
const smallBlock = blockRows / 16

// rowBlocks collects computed rows in blocks of one length. Nothing is copied when there are more of them, and blocks
// that are there already are filled again: memory that is touched for the first time costs more than what is written
// to it. Literals are no columns, since whoever reads the rows has them.
type rowBlocks struct {
	schema types.Schema
	at     []int // expression of each column
	blocks []*rowsBuffer
	used   int // blocks with rows
	n      int
	whole  bool // the first block has its full room
}

// newRowBlocks makes blocks for the values of expressions.
func newRowBlocks(exprs []expr.Expr) *rowBlocks {
	b := &rowBlocks{}
	for i, e := range exprs {
		if _, ok := e.(*expr.Literal); !ok {
			b.schema = append(b.schema, types.Field{Type: e.Type()})
			b.at = append(b.at, i)
		}
	}
	return b
}

// add appends rows, of which idx are the positions in the values of the expressions.
func (b *rowBlocks) add(vs []*columnar.Vec, idx []int32) {
	for len(idx) > 0 {
		if b.used == 0 || b.blocks[b.used-1].n == blockRows {
			if b.used == len(b.blocks) {
				b.blocks = append(b.blocks, newRowsBuffer(b.schema))
				if b.used > 0 {
					b.blocks[b.used].reserveAs(b.blocks[b.used-1], blockRows)
				}
			}
			b.used++
		}
		buf := b.blocks[b.used-1]
		m := min(len(idx), blockRows-buf.n)
		if !b.whole && buf.n+m > smallBlock {
			buf.reserve(blockRows)
			b.whole = true
		}
		sel := columnar.Sel{Idx: idx[:m], N: m}
		for c, i := range b.at {
			appendVec(buf.cols[c], vs[i], sel)
		}
		buf.n, b.n, idx = buf.n+m, b.n+m, idx[m:]
	}
}

// reserveAs makes room for n rows in an empty buffer, and for texts as long as those of another one.
func (b *rowsBuffer) reserveAs(other *rowsBuffer, n int) {
	b.reserve(n)
	for i, c := range b.cols {
		c.Data = slices.Grow(c.Data, len(other.cols[i].Data)*9/8)
	}
}

// each calls fn with the values of the expressions, of at most so many rows at a time.
func (b *rowBlocks) each(exprs []expr.Expr, slice int, fn func(vs []*columnar.Vec, rows columnar.Sel) error) error {
	vs := make([]*columnar.Vec, len(exprs))
	for i, e := range exprs {
		if l, ok := e.(*expr.Literal); ok {
			vs[i] = l.Value
		}
	}
	views := make([]columnar.Vec, len(b.schema))
	for _, buf := range b.blocks[:b.used] {
		err := pushSlices(buf.vecs(), views, buf.n, slice, func(c *chunk) error {
			for k, i := range b.at {
				vs[i] = &c.cols[k]
			}
			return fn(vs, c.sel)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// clear forgets the rows. Blocks that these did not need are given back.
func (b *rowBlocks) clear() {
	if b.whole && b.n <= smallBlock {
		b.used, b.whole = 0, false
	}
	clear(b.blocks[b.used:])
	b.blocks = b.blocks[:b.used]
	for _, buf := range b.blocks {
		for i, f := range b.schema {
			buf.cols[i].Reset(f.Type, 0)
		}
		buf.n = 0
	}
	b.used, b.n = 0, 0
}

// bytes is the memory of all blocks, by capacity.
func (b *rowBlocks) bytes() (n int64) {
	for _, buf := range b.blocks {
		n += buf.bytes()
	}
	return n
}
