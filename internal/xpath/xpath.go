// Package xpath evaluates XPath 1.0 over small XML texts: location paths with the axes that abbreviations
// reach (child, descendant, attribute, parent, self), predicates, operators and the core functions. Names are
// compared with their prefix as written. What a path may not do here is refused when it is compiled.
package xpath

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

// Kind tells what a node is.
type Kind uint8

// The kinds of nodes.
const (
	Root Kind = iota
	Element
	Attribute
	Text
)

// Node is a part of a document. Data is the text of a text node or attribute; elements have none.
type Node struct {
	Kind     Kind
	Name     string
	Data     string
	Parent   *Node
	Attrs    []*Node
	Children []*Node
	order    int
}

// Parse reads a document. An error says that it is not well-formed.
func Parse(text string) (*Node, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	root := &Node{}
	cur, n, elements := root, 0, 0
	add := func(k *Node) {
		n++
		k.Parent, k.order = cur, n
	}
	for {
		t, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		switch x := t.(type) {
		case xml.StartElement:
			e := &Node{Kind: Element, Name: qualified(x.Name)}
			add(e)
			cur.Children = append(cur.Children, e)
			if cur == root {
				if elements++; elements > 1 {
					return nil, errors.New("more than one root element")
				}
			}
			cur = e
			for _, a := range x.Attr {
				k := &Node{Kind: Attribute, Name: qualified(a.Name), Data: a.Value}
				add(k)
				e.Attrs = append(e.Attrs, k)
			}
		case xml.EndElement:
			if cur == root || cur.Name != qualified(x.Name) {
				return nil, errors.New("an end tag that ends nothing")
			}
			cur = cur.Parent
		case xml.CharData:
			if cur == root {
				if strings.TrimSpace(string(x)) != "" {
					return nil, errors.New("text outside the root element")
				}
				continue
			}
			if k := len(cur.Children); k > 0 && cur.Children[k-1].Kind == Text {
				cur.Children[k-1].Data += string(x)
				continue
			}
			e := &Node{Kind: Text, Data: string(x)}
			add(e)
			cur.Children = append(cur.Children, e)
		}
	}
	if cur != root || elements == 0 {
		return nil, errors.New("the document ends early")
	}
	return root, nil
}

func qualified(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

// String is the text below a node.
func (n *Node) String() string {
	if n.Kind == Text || n.Kind == Attribute {
		return n.Data
	}
	var b strings.Builder
	n.text(&b)
	return b.String()
}

func (n *Node) text(b *strings.Builder) {
	for _, c := range n.Children {
		if c.Kind == Text {
			b.WriteString(c.Data)
		} else {
			c.text(b)
		}
	}
}

// Value is a result: a set of nodes in document order, a text, a number or a truth value.
type Value struct {
	Nodes []*Node
	Kind  byte // 'n' nodes, 's' text, 'f' number, 'b' truth value
	S     string
	F     float64
	B     bool
}

// Text converts a value as XPath's string() does: of nodes the first one's.
func (v Value) Text() string {
	switch v.Kind {
	case 'n':
		if len(v.Nodes) == 0 {
			return ""
		}
		return v.Nodes[0].String()
	case 'f':
		switch {
		case math.IsInf(v.F, 1):
			return "Infinity"
		case math.IsInf(v.F, -1):
			return "-Infinity"
		case v.F == 0:
			return "0"
		}
		return strconv.FormatFloat(v.F, 'f', -1, 64)
	case 'b':
		return strconv.FormatBool(v.B)
	}
	return v.S
}

// Number converts a value as XPath's number() does; text that is none is NaN.
func (v Value) Number() float64 {
	switch v.Kind {
	case 'f':
		return v.F
	case 'b':
		if v.B {
			return 1
		}
		return 0
	}
	s := strings.Trim(v.Text(), " \t\r\n")
	for i, c := range s {
		if !(c >= '0' && c <= '9' || c == '.' || c == '-' && i == 0) {
			return math.NaN()
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

// Bool converts a value as XPath's boolean() does.
func (v Value) Bool() bool {
	switch v.Kind {
	case 'n':
		return len(v.Nodes) > 0
	case 'f':
		return v.F != 0 && !math.IsNaN(v.F)
	case 's':
		return v.S != ""
	}
	return v.B
}
