package xpath

import (
	"fmt"
	"strconv"
	"strings"
)

// Path is a compiled expression. It may be used by several goroutines.
type Path struct{ e node }

// Eval computes the path from a document.
func (p *Path) Eval(root *Node) Value { return p.e.eval(context{root, 1, 1}) }

// Compile reads an expression.
func Compile(text string) (*Path, error) {
	p := &parser{}
	if err := p.lex(text); err != nil {
		return nil, err
	}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.peek() != "" {
		return nil, fmt.Errorf("%q is left over", p.peek())
	}
	return &Path{e}, nil
}

type parser struct {
	toks  []string // texts begin with a quote
	i     int
	depth int
}

func (p *parser) lex(s string) error {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '\'' || c == '"':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 {
				return fmt.Errorf("a text is not closed")
			}
			p.toks = append(p.toks, "'"+s[i+1:i+1+end])
			i += end + 2
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			end := i
			for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.') {
				end++
			}
			p.toks = append(p.toks, s[i:end])
			i = end
		case nameByte(c) && c != '-' && c != '.':
			end := i
			for end < len(s) && (nameByte(s[end]) || s[end] == ':' && end+1 < len(s) && s[end+1] != ':' && nameByte(s[end+1])) {
				end++
			}
			p.toks = append(p.toks, s[i:end])
			i = end
		default:
			n := 1
			for _, two := range []string{"//", "::", "..", "!=", "<=", ">="} {
				if strings.HasPrefix(s[i:], two) {
					n = 2
				}
			}
			if n == 1 && !strings.ContainsRune("/@.*[]()|=<>+-,", rune(c)) {
				return fmt.Errorf("%q begins nothing", s[i:i+1])
			}
			p.toks = append(p.toks, s[i:i+n])
			i += n
		}
	}
	return nil
}

func nameByte(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isName(t string) bool {
	return t != "" && nameByte(t[0]) && t[0] != '-' && t[0] != '.' && (t[0] < '0' || t[0] > '9')
}

func (p *parser) peek() string { return p.at(0) }

func (p *parser) at(n int) string {
	if p.i+n < len(p.toks) {
		return p.toks[p.i+n]
	}
	return ""
}

func (p *parser) take(t string) bool {
	if p.peek() == t {
		p.i++
		return true
	}
	return false
}

func (p *parser) need(t string) error {
	if p.take(t) {
		return nil
	}
	return fmt.Errorf("%s is missing before %q", t, p.peek())
}

// operators, loosest first.
var operators = [][]string{{"or"}, {"and"}, {"=", "!="}, {"<", "<=", ">", ">="}, {"+", "-"}, {"*", "div", "mod"}}

func (p *parser) or() (node, error) { return p.level(0) }

func (p *parser) level(n int) (node, error) {
	if p.depth++; p.depth > 200*(len(operators)+2) {
		return nil, fmt.Errorf("too deep")
	}
	defer func() { p.depth-- }()
	if n == len(operators) {
		if p.take("-") {
			x, err := p.level(n)
			return negative{x}, err
		}
		return p.union()
	}
	x, err := p.level(n + 1)
	for err == nil {
		op := ""
		for _, o := range operators[n] {
			if p.peek() == o {
				op = o
			}
		}
		if op == "" {
			return x, nil
		}
		p.i++
		var y node
		y, err = p.level(n + 1)
		x = binary{op, x, y}
	}
	return nil, err
}

func (p *parser) union() (node, error) {
	x, err := p.path()
	for err == nil && p.take("|") {
		var y node
		y, err = p.path()
		x = union{x, y}
	}
	return x, err
}

// path reads a location path, or a primary with perhaps predicates and steps behind it.
func (p *parser) path() (node, error) {
	t := p.peek()
	out := &path{}
	switch {
	case t == "":
		return nil, fmt.Errorf("a location path was expected, but the expression ends")
	case t[0] == '\'':
		p.i++
		out.base = constant{Value{Kind: 's', S: t[1:]}}
	case t[0] >= '0' && t[0] <= '9' || t[0] == '.' && len(t) > 1 && t != "..":
		p.i++
		f, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return nil, err
		}
		out.base = constant{Value{Kind: 'f', F: f}}
	case t == "(":
		p.i++
		x, err := p.or()
		if err == nil {
			err = p.need(")")
		}
		if err != nil {
			return nil, err
		}
		out.base = x
	case isName(t) && p.at(1) == "(" && t != "text" && t != "node" && t != "comment":
		f, err := p.call()
		if err != nil {
			return nil, err
		}
		out.base = f
	}
	if out.base != nil {
		preds, err := p.predicates()
		if err != nil {
			return nil, err
		}
		if len(preds) > 0 {
			out.steps = append(out.steps, step{axis: "self", test: "node()", preds: preds})
		}
		if p.peek() != "/" && p.peek() != "//" {
			if len(out.steps) == 0 {
				return out.base, nil
			}
			return out, nil
		}
	} else if p.peek() == "/" || p.peek() == "//" {
		out.absolute = true
		if p.take("/") {
			if n := p.peek(); !(isName(n) || n == "*" || n == "@" || n == "." || n == "..") {
				return out, nil
			}
			return out, p.steps(out)
		}
	} else {
		return out, p.steps(out)
	}
	if p.take("//") {
		out.steps = append(out.steps, step{axis: "descendant-or-self", test: "node()"})
	} else {
		p.i++
	}
	return out, p.steps(out)
}

func (p *parser) steps(out *path) error {
	for {
		s := step{axis: "child"}
		switch t := p.peek(); {
		case p.take("."):
			s.axis, s.test = "self", "node()"
		case p.take(".."):
			s.axis, s.test = "parent", "node()"
		default:
			if p.take("@") {
				s.axis = "attribute"
			} else if isName(t) && p.at(1) == "::" {
				s.axis = t
				p.i += 2
			}
			switch s.axis {
			case "child", "attribute", "self", "parent", "descendant", "descendant-or-self", "ancestor", "ancestor-or-self",
				"following-sibling", "preceding-sibling":
			default:
				return fmt.Errorf("the axis %s is not known", s.axis)
			}
			t = p.peek()
			switch {
			case p.take("*"):
				s.test = "*"
			case isName(t) && p.at(1) == "(":
				p.i += 2
				if err := p.need(")"); err != nil {
					return err
				}
				s.test = t + "()"
			case isName(t):
				p.i++
				s.test = t
			default:
				return fmt.Errorf("a location path was expected, but %q stands there", t)
			}
		}
		var err error
		if s.preds, err = p.predicates(); err != nil {
			return err
		}
		out.steps = append(out.steps, s)
		switch {
		case p.take("//"):
			out.steps = append(out.steps, step{axis: "descendant-or-self", test: "node()"})
		case p.take("/"):
		default:
			return nil
		}
	}
}

func (p *parser) predicates() (out []node, err error) {
	for p.take("[") {
		x, err := p.or()
		if err == nil {
			err = p.need("]")
		}
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (p *parser) call() (node, error) {
	name := p.peek()
	p.i += 2
	f := call{name: name}
	for p.peek() != ")" {
		if len(f.args) > 0 {
			if err := p.need(","); err != nil {
				return nil, err
			}
		}
		x, err := p.or()
		if err != nil {
			return nil, err
		}
		f.args = append(f.args, x)
	}
	p.i++
	a, ok := arity[name]
	if !ok {
		return nil, fmt.Errorf("there is no function %s", name)
	}
	if len(f.args) < a[0] || len(f.args) > a[1] {
		return nil, fmt.Errorf("%s takes another number of arguments", name)
	}
	return f, nil
}
