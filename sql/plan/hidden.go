package plan

import (
	"slices"
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// Hidden columns of a scan are read by name only: _metadata of files, and what the functions of
// fileFunctions say. A scan reads one when an expression above asks for it; the column then travels at the
// end of every node between.

// metadataColumn is the hidden column that has a name in SQL.
const metadataColumn = "_metadata"

// fileFunctions are functions that read a hidden column; where there is none they are constants.
var fileFunctions = map[string]bool{"input_file_name": true, "input_file_block_start": true, "input_file_block_length": true}

func hiddenOf(s *Scan) types.Schema {
	if s.Stream != nil {
		return s.Stream.Hidden
	}
	if h, ok := s.Table.(catalog.Hider); ok {
		return h.Hidden()
	}
	return nil
}

func (s *Scan) width() int {
	if s.Stream != nil {
		return len(s.Stream.Schema())
	}
	return len(s.Table.Schema())
}

// expose lets a node yield a hidden column of the scan below it, behind its own columns; nil if there is
// none. A view hides _metadata of what is in it, but not which file its rows are from.
func (a *analyzer) expose(n Node, name string) Node {
	if name == metadataColumn && slices.Contains(a.opaque, n) {
		return nil
	}
	below := func(c Node) Node { return a.expose(c, name) }
	switch x := n.(type) {
	case *Scan:
		i := hiddenOf(x).Index(name)
		if i < 0 {
			return nil
		}
		c := *x
		if c.Columns == nil {
			for k := range x.Out {
				c.Columns = append(c.Columns, k)
			}
		}
		c.Columns = append(slices.Clip(c.Columns), x.width()+i)
		c.Out = append(slices.Clip(x.Out), hiddenOf(x)[i])
		return &c
	case *Filter:
		if c := below(x.Child); c != nil {
			return &Filter{Child: c, Cond: x.Cond}
		}
	case *Limit, *Sample:
		if c := below(n.Children()[0]); c != nil {
			return withChildren(n, []Node{c})
		}
	case *Watermark:
		if c := below(x.Child); c != nil {
			w := *x
			w.Child = c
			w.Out = append(slices.Clip(x.Out), c.Schema()[len(c.Schema())-1])
			return &w
		}
	case *Project:
		if c := below(x.Child); c != nil {
			p := *x
			p.Child = c
			last := columnAt(c, len(c.Schema())-1)
			p.Exprs = append(slices.Clip(x.Exprs), last)
			p.Out = append(slices.Clip(x.Out), last.Field)
			return &p
		}
	case *Join:
		return a.exposeJoin(x, name)
	}
	return nil
}

// exposeJoin exposes the column of the one side that has it.
func (a *analyzer) exposeJoin(x *Join, name string) Node {
	if x.Kind != Inner && x.Kind != LeftOuter && x.Kind != RightOuter && x.Kind != FullOuter {
		return nil
	}
	l, r := a.expose(x.Left, name), a.expose(x.Right, name)
	if (l == nil) == (r == nil) {
		return nil
	}
	j := *x
	if r != nil {
		j.Right, j.Out = r, joinSchema(x.Kind, x.Left, r)
		return &j
	}
	n := len(x.Left.Schema())
	j.Left, j.Out = l, joinSchema(x.Kind, l, x.Right)
	if x.Residual != nil {
		j.Residual = mapColumns(x.Residual, func(i int) int {
			if i >= n {
				return i + 1
			}
			return i
		})
	}
	var es []expr.Expr
	var names []string
	for i, f := range j.Out {
		if i != n {
			es, names = append(es, columnAt(&j, i)), append(names, f.Name)
		}
	}
	return newProject(&j, append(es, columnAt(&j, n)), append(names, name))
}

// metadata resolves _metadata and fields of it, with or without a qualifier; nil if nothing here has it.
func (x *resolver) metadata(n *sql.Name) expr.Expr {
	for q, part := range n.Parts[:min(len(n.Parts), 4)] {
		if !strings.EqualFold(part, metadataColumn) {
			continue
		}
		if q > 0 && !slices.ContainsFunc(x.sc.cols, func(c column) bool { return qualifies(n.Parts[:q], c.qual) }) {
			return nil
		}
		if c := x.hidden(metadataColumn); c != nil {
			return x.fields(n, c, n.Parts[q+1:])
		}
		return nil
	}
	return nil
}

// hidden gives a hidden column of the scope's node, which yields it from now on.
func (x *resolver) hidden(name string) *expr.Column {
	for i, f := range x.sc.node.Schema() { // it does already
		if i >= len(x.sc.cols) && f.Name == name && !slices.ContainsFunc(x.sc.cols, func(c column) bool { return c.index == i }) {
			return columnAt(x.sc.node, i)
		}
	}
	n := x.a.expose(x.sc.node, name)
	if n == nil {
		return nil
	}
	x.sc.node = n
	return columnAt(n, len(n.Schema())-1)
}

// IsFileFunction reports the functions of the file that a row came from, which are columns of a stream's scan.
func IsFileFunction(name string) bool { return fileFunctions[name] }

// fileFunction resolves input_file_name and its kin; nil if f is none of them, or there is no
// file to tell of.
func (x *resolver) fileFunction(f *sql.FuncCall, name string) expr.Expr {
	if !fileFunctions[name] || len(f.Args) > 0 || x.sc.node == nil {
		return nil
	}
	if fileScans(x.sc.node) > 1 {
		x.failWith(f, errs.New("MULTI_SOURCES_UNSUPPORTED_FOR_EXPRESSION", "expr", `"`+name+`()"`))
	}
	if c := x.hidden(name); c != nil {
		c.Field.Name = name + "()"
		return c
	}
	return nil
}

func fileScans(n Node) int {
	if s, ok := n.(*Scan); ok {
		if hiddenOf(s).Index("input_file_name") >= 0 {
			return 1
		}
		return 0
	}
	if u, ok := n.(*Union); ok {
		most := 0
		for _, c := range u.Inputs {
			most = max(most, fileScans(c))
		}
		return most
	}
	total := 0
	for _, c := range n.Children() {
		total += fileScans(c)
	}
	return total
}
