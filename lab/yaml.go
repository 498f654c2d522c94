package lab

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"streamlab/errs"
)

// value is a node of the file with its place; the rest of the package never sees the YAML library.
type value struct {
	pos    errs.Pos
	scalar string // of scalars; null is ""
	isNull bool
	quoted bool // a scalar in quotes or a block: never a number
	block  bool // a literal block: scalar's lines begin at line pos.Line, column indent
	indent int
	list   []*value
	keys   []entry // of mappings, in file order
	kind   kind
	flow   bool // of mappings: between braces
}

type entry struct {
	key string
	pos errs.Pos
	val *value
}

type kind uint8

const (
	scalarKind kind = iota
	listKind
	mapKind
)

// parseYAML reads one document. Errors: LAB_SYNTAX with the place.
func parseYAML(file string, data []byte) (*value, error) {
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		text := err.Error()
		pos := errs.Pos{File: file, Line: 1, Col: 1, Length: 1}
		if strings.HasPrefix(text, "[") {
			if head, rest, ok := strings.Cut(text[1:], "] "); ok {
				line, col, _ := strings.Cut(head, ":")
				pos.Line, pos.Col = atoi(line), atoi(col)
				text, _, _ = strings.Cut(rest, "\n")
			}
		}
		return nil, place(errs.New("LAB_SYNTAX", "problem", text), pos, data)
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return &value{kind: mapKind, pos: errs.Pos{File: file, Line: 1, Col: 1, Length: 1}}, nil
	}
	return convert(file, f.Docs[0].Body, 0)
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return n
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func convert(file string, n ast.Node, depth int) (*value, error) {
	if depth > 100 {
		return nil, errs.New("LAB_SYNTAX", "problem", "nested too deeply")
	}
	v := &value{}
	if t := n.GetToken(); t != nil && t.Position != nil {
		v.pos = errs.Pos{File: file, Line: t.Position.Line, Col: t.Position.Column, Length: max(1, len(t.Value))}
	}
	switch x := n.(type) {
	case *ast.MappingNode:
		v.kind = mapKind
		v.flow = x.Start != nil && x.Start.Value == "{"
		for _, mv := range x.Values {
			if err := v.add(file, mv, depth); err != nil {
				return nil, err
			}
		}
		if len(v.keys) > 0 && x.Start != nil && x.Start.Value != "{" {
			v.pos = v.keys[0].pos
		}
	case *ast.MappingValueNode:
		v.kind = mapKind
		if err := v.add(file, x, depth); err != nil {
			return nil, err
		}
		v.pos = v.keys[0].pos
	case *ast.SequenceNode:
		v.kind = listKind
		for _, e := range x.Values {
			c, err := convert(file, e, depth+1)
			if err != nil {
				return nil, err
			}
			v.list = append(v.list, c)
		}
	case *ast.LiteralNode:
		v.scalar, v.quoted = x.Value.Value, true
		if x.Start != nil && strings.HasPrefix(x.Start.Value, "|") {
			v.block = true
			v.pos = errs.Pos{File: file, Line: x.Start.Position.Line + 1, Col: 1, Length: 1}
			raw := strings.TrimLeft(x.Value.GetToken().Origin, "\r\n")
			v.indent = len(raw) - len(strings.TrimLeft(raw, " "))
			v.pos.Col = v.indent + 1
		}
	case *ast.StringNode:
		v.scalar = x.Value
		v.quoted = x.GetToken().Type.String() != "String"
	case *ast.NullNode:
		v.isNull = true
	case *ast.AnchorNode:
		return convert(file, x.Value, depth+1)
	case *ast.TagNode:
		return convert(file, x.Value, depth+1)
	case *ast.AliasNode:
		return nil, place(errs.New("LAB_SYNTAX", "problem", "aliases are not used in lab files"), v.pos, nil)
	default:
		v.scalar = n.GetToken().Value
	}
	return v, nil
}

func (v *value) add(file string, mv *ast.MappingValueNode, depth int) error {
	t := mv.Key.GetToken()
	pos := errs.Pos{File: file, Line: t.Position.Line, Col: t.Position.Column, Length: max(1, len(t.Value))}
	key := t.Value
	for _, e := range v.keys {
		if e.key == key {
			return errs.New("LAB_DUPLICATE_KEY", "key", key).At(pos)
		}
	}
	c, err := convert(file, mv.Value, depth+1)
	if err != nil {
		return err
	}
	v.keys = append(v.keys, entry{key, pos, c})
	return nil
}

// place adds the place and the line it points into.
func place(e *errs.Error, pos errs.Pos, data []byte) *errs.Error {
	e = e.At(pos)
	if e.Excerpt == "" && data != nil && e.Pos.Line > 0 {
		lines := strings.Split(string(data), "\n")
		if e.Pos.Line <= len(lines) {
			e = e.WithExcerpt(strings.TrimRight(lines[e.Pos.Line-1], "\r"))
		}
	}
	return e
}
