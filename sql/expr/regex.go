package expr

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"streamlab/errs"
	"streamlab/sql/types"
)

// regexTimeout bounds one match of a backtracking pattern.
const regexTimeout = 2 * time.Second

// A pattern is a compiled Java regular expression. Go's engine runs what it can say, in linear time; look-around
// and back references go to a backtracking engine with a time limit.
type pattern struct {
	text   string
	re     *regexp.Regexp
	quick  *matcher // does what re does, on short texts; nil: there is none
	back   *regexp2.Regexp
	groups int
	// literal is set when the pattern has no special characters.
	literal bool
	loc     []int
}

// patterns caches the compiled pattern of a kernel: mostly there is one.
type patterns struct {
	function string
	last     *pattern
	all      map[string]*pattern
}

func (p *patterns) get(text []byte) (*pattern, error) {
	if p.last != nil && p.last.text == string(text) {
		return p.last, nil
	}
	if c, ok := p.all[string(text)]; ok {
		p.last = c
		return c, nil
	}
	c, err := compilePattern(string(text), p.function)
	if err != nil {
		return nil, err
	}
	if p.all == nil || len(p.all) > 1000 {
		p.all = map[string]*pattern{}
	}
	p.all[c.text], p.last = c, c
	return c, nil
}

func compilePattern(text, function string) (*pattern, error) {
	p := &pattern{text: text, literal: regexp.QuoteMeta(text) == text}
	bad := func(err error) error {
		return errs.Wrap(err, "INVALID_PARAMETER_VALUE.PATTERN", "functionName", types.Quote(function), "parameter", "`regexp`",
			"value", quoteSQL(text))
	}
	goText, ok := javaToGo(text)
	if !ok {
		return nil, bad(fmt.Errorf("classes inside classes and intersections of classes are not supported"))
	}
	re, err := regexp.Compile(goText)
	if err == nil {
		p.re, p.groups, p.quick = re, re.NumSubexp(), newMatcher(goText)
		return p, nil
	}
	back, err2 := regexp2.Compile(goText, regexp2.None)
	if err2 != nil {
		return nil, bad(err)
	}
	back.MatchTimeout = regexTimeout
	p.back, p.groups = back, len(back.GetGroupNumbers())-1
	return p, nil
}

// javaToGo rewrites what Java and Go spell differently; false for class syntax that Go would misread.
func javaToGo(s string) (string, bool) {
	var b strings.Builder
	class := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			switch n := s[i]; {
			case n == 'u' && i+4 < len(s):
				b.WriteString(`\x{` + s[i+1:i+5] + `}`)
				i += 4
			case n == 'h' && !class:
				b.WriteString(`[ \t\x{A0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]`)
			case n == 'R' && !class:
				b.WriteString(`(?:\r\n|[\n\x0B\f\r\x{85}\x{2028}\x{2029}])`)
			case n == 'Z' && !class:
				b.WriteString(`(?:\n?\z)`)
			case n == 'e':
				b.WriteString(`\x1B`)
			case n == 'p' || n == 'P':
				name, w := "", 0
				if i+1 < len(s) && s[i+1] == '{' {
					if j := strings.IndexByte(s[i:], '}'); j > 0 {
						name, w = s[i+2:i+j], j
					}
				}
				if posix, ok := posixClasses[name]; ok {
					neg := ""
					if n == 'P' {
						neg = "^"
					}
					if class {
						b.WriteString("[:" + neg + posix + ":]")
					} else {
						b.WriteString("[[:" + neg + posix + ":]]")
					}
				} else {
					b.WriteString(`\` + string(n) + "{" + strings.TrimPrefix(name, "Is") + "}")
					if w == 0 {
						b.Reset()
						return s, true
					}
				}
				i += w
			default:
				b.WriteByte('\\')
				b.WriteByte(n)
			}
		case class && c == '[' && !(i+1 < len(s) && s[i+1] == ':'):
			return "", false
		case class && c == '&' && i+1 < len(s) && s[i+1] == '&':
			return "", false
		case c == '[' && !class:
			class = true
			b.WriteByte(c)
			if i+1 < len(s) && s[i+1] == '^' {
				i++
				b.WriteByte('^')
			}
			if i+1 < len(s) && s[i+1] == ']' {
				i++
				b.WriteString(`\]`)
			}
		case c == ']' && class:
			class = false
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

var posixClasses = map[string]string{"Alpha": "alpha", "Digit": "digit", "Alnum": "alnum", "Upper": "upper", "Lower": "lower",
	"Punct": "punct", "Space": "space", "Blank": "blank", "Cntrl": "cntrl", "Graph": "graph", "Print": "print", "XDigit": "xdigit",
	"ASCII": "ascii"}

// first gives the places of the first match, group by group (-1 if a group took no part); nil if there is
// none. It is valid until the next call.
func (p *pattern) first(s []byte) ([]int, error) { return p.find(s, 0) }

// find is first from byte from on, for patterns of the backtracking engine.
func (p *pattern) find(s []byte, from int) ([]int, error) {
	if p.quick.takes(s) {
		return p.quick.find(s, 0, p.groups > 0), nil
	}
	if p.re != nil {
		return p.re.FindSubmatchIndex(s), nil
	}
	// The backtracking engine counts in characters.
	text := string(s)
	m, err := p.back.FindStringMatchStartingAt(text, from)
	if err != nil { // the one error of a match: it took too long
		return nil, errs.Wrap(err, "REGEX_TIMEOUT", "pattern", quoteSQL(p.text), "seconds", int(regexTimeout/time.Second))
	}
	if m == nil {
		return nil, nil
	}
	p.loc = p.loc[:0]
	for _, g := range m.Groups() {
		if len(g.Captures) == 0 {
			p.loc = append(p.loc, -1, -1)
			continue
		}
		a := runeOffset(s, int64(g.Index))
		p.loc = append(p.loc, a, a+runeOffset(s[a:], int64(g.Length)))
	}
	return p.loc, nil
}

func (p *pattern) match(s []byte) (bool, error) {
	if p.quick.takes(s) {
		return p.quick.find(s, 0, false) != nil, nil
	}
	if p.re != nil {
		return p.re.Match(s), nil
	}
	loc, err := p.first(s)
	return loc != nil, err
}

// each calls f for every match from byte from on, as Java's Matcher.find does again and again.
func (p *pattern) each(s []byte, from int, f func(loc []int) error) error {
	if p.quick.takes(s) {
		return p.quick.each(s, func(loc []int) error {
			if loc[0] < from { // see below
				return nil
			}
			return f(loc)
		})
	}
	if p.re != nil {
		// From the beginning also where the search starts later: anchors look at what stands before.
		for _, loc := range p.re.FindAllSubmatchIndex(s, -1) {
			if loc[0] < from {
				continue
			}
			if err := f(loc); err != nil {
				return err
			}
		}
		return nil
	}
	for from <= len(s) {
		loc, err := p.find(s, from)
		if err != nil || loc == nil {
			return err
		}
		end := loc[1]
		empty := loc[0] == loc[1]
		if err := f(loc); err != nil {
			return err
		}
		from = end
		if empty {
			_, w := utf8.DecodeRune(s[from:])
			from += max(w, 1)
		}
	}
	return nil
}

func regexFunctions() []Function {
	var out []Function
	add := func(f Function, names ...string) { out = append(out, synonyms(f, names...)...) }
	add(Function{Name: "rlike", Signature: "rlike(str, regexp)", Doc: "Whether the regular expression matches somewhere in the text.", Portable: true, Build: buildRLike},
		"regexp_like", "regexp")
	add(fn("regexp_extract(str, regexp[, idx])", "A group of the first match, '' if there is none.",
		regexBuilder("regexp_extract", "ssi", 2, []Expr{IntLit(1)}, tString, func(ps *patterns) Kernel {
			return bytesRows(func(r *row, dst []byte) ([]byte, error) {
				p, err := ps.get(r.bytes(1))
				if err != nil {
					return dst, err
				}
				s := r.bytes(0)
				loc, err := p.first(s)
				if err != nil || loc == nil {
					return dst, err
				}
				g, err := groupOf(r, ps, p)
				if err != nil || loc[2*g] < 0 {
					return dst, err
				}
				return append(dst, s[loc[2*g]:loc[2*g+1]]...), nil
			})
		})))
	add(fn("regexp_extract_all(str, regexp[, idx])", "A group of every match.",
		regexBuilder("regexp_extract_all", "ssi", 2, []Expr{IntLit(1)}, tStrings, func(ps *patterns) Kernel {
			return valueRows(func(r *row, a *Appender) error {
				p, err := ps.get(r.bytes(1))
				if err != nil {
					return err
				}
				s := r.bytes(0)
				err = p.each(s, 0, func(loc []int) error {
					g, err := groupOf(r, ps, p)
					if err != nil {
						return err
					}
					if loc[2*g] < 0 {
						a.Kid(0).AppendBytes(nil)
					} else {
						a.Kid(0).AppendBytes(s[loc[2*g]:loc[2*g+1]])
					}
					return nil
				})
				a.End()
				return err
			})
		})))
	add(fn("regexp_replace(str, regexp, rep[, position])", "Every match from a position on replaced; $1 and ${name} stand for groups.", buildRegexpReplace))
	add(fn("regexp_count(str, regexp)", "Number of matches.", regexBuilder("regexp_count", "ss", 2, nil, tInt, func(ps *patterns) Kernel {
		ps.function = "regexp_extract_all" // which Spark makes of it
		return i32Rows(func(r *row) (int32, error) {
			p, err := ps.get(r.bytes(1))
			if err != nil {
				return 0, err
			}
			n := int32(0)
			err = p.each(r.bytes(0), 0, func([]int) error { n++; return nil })
			return n, err
		})
	})))
	add(fn("regexp_instr(str, regexp)", "Position of the first match, 0 if there is none.",
		regexBuilder("regexp_instr", "ssi", 2, []Expr{IntLit(0)}, tInt, func(ps *patterns) Kernel {
			return i32Rows(func(r *row) (int32, error) {
				p, err := ps.get(r.bytes(1))
				if err != nil {
					return 0, err
				}
				loc, err := p.first(r.bytes(0))
				if err != nil || loc == nil {
					return 0, err
				}
				return int32(countRunes(r.bytes(0)[:loc[0]])) + 1, nil
			})
		})))
	add(fn("regexp_substr(str, regexp)", "The first match, null if there is none.", regexBuilder("regexp_substr", "ss", 2, nil, tString, func(ps *patterns) Kernel {
		return bytesRows(func(r *row, dst []byte) ([]byte, error) {
			p, err := ps.get(r.bytes(1))
			if err != nil {
				return dst, err
			}
			loc, err := p.first(r.bytes(0))
			if err == nil && loc == nil {
				err = errNull
			}
			if err != nil {
				return dst, err
			}
			return append(dst, r.bytes(0)[loc[0]:loc[1]]...), nil
		})
	})))
	add(fn("split(str, regex[, limit])", "Parts between matches; limit > 0 is the most parts.",
		regexBuilder("split", "ssi", 2, []Expr{IntLit(-1)}, types.ArrayOf(tString, false), func(ps *patterns) Kernel {
			return valueRows(func(r *row, a *Appender) error { return splitRow(r, a, ps) })
		})))
	return out
}

func regexBuilder(name, in string, min int, defaults []Expr, out types.DataType, make func(ps *patterns) Kernel) func(c *Call) (Expr, error) {
	return sig{in: in, min: min, defaults: defaults, out: out, null: name == "regexp_substr",
		fresh: func() Kernel { return make(&patterns{function: name}) }}.build
}

func buildRLike(c *Call) (Expr, error) {
	e, err := regexBuilder("rlike", "ss", 2, nil, tBoolean, func(ps *patterns) Kernel {
		return boolRows(func(r *row) (bool, error) {
			p, err := ps.get(r.bytes(1))
			if err != nil {
				return false, err
			}
			return p.match(r.bytes(0))
		})
	})(c)
	if s, ok := e.(*Scalar); ok {
		s.Text = callText(strings.ToUpper(c.Name), c.Args)
	}
	return e, err
}

// groupOf is the group that is asked for. Spark looks at it when there is a match.
func groupOf(r *row, ps *patterns, p *pattern) (int, error) {
	g := int(r.i32(2))
	if g < 0 || g > p.groups {
		return 0, errs.New("INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX", "parameter", "`idx`", "functionName", types.Quote(ps.function),
			"groupCount", p.groups, "groupIndex", g)
	}
	return g, nil
}

func splitRow(r *row, a *Appender, ps *patterns) error {
	s, limit := r.bytes(0), int(r.i32(2))
	parts := a.Kid(0)
	if len(r.bytes(1)) == 0 {
		n := countRunes(s)
		if limit > 0 {
			n = min(n, limit)
		}
		if len(s) == 0 {
			parts.AppendBytes(nil)
		}
		for ; n > 0 && len(s) > 0; n-- {
			_, w := utf8.DecodeRune(s)
			if n == 1 { // the last part is what is left
				w = len(s)
			}
			parts.AppendBytes(s[:w])
			s = s[w:]
		}
		a.End()
		return nil
	}
	p, err := ps.get(r.bytes(1))
	if err != nil {
		return err
	}
	start, count := 0, 1
	if p.literal {
		for limit <= 0 || count < limit {
			i := strings.Index(bytesView(s[start:]), p.text)
			if i < 0 {
				break
			}
			parts.AppendBytes(s[start : start+i])
			start += i + len(p.text)
			count++
		}
	} else {
		err = p.each(s, 0, func(loc []int) error {
			if limit > 0 && count >= limit || loc[1] == 0 {
				return nil
			}
			parts.AppendBytes(s[start:loc[0]])
			start = loc[1]
			count++
			return nil
		})
	}
	parts.AppendBytes(s[start:])
	a.End()
	return err
}

func buildRegexpReplace(c *Call) (Expr, error) {
	if err := c.Arity(3, 4); err != nil {
		return nil, err
	}
	if len(c.Args) == 4 {
		text := c.Text()
		if n, ok := constInt(c.Args[3], c.Conf); ok && n < 1 {
			return nil, errs.New("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "sqlExpr", quoted(text), "exprName", "position",
				"valueRange", "(0, 2147483647]", "currentValue", n)
		}
	}
	return regexBuilder("regexp_replace", "sssi", 3, []Expr{IntLit(1)}, tString, func(ps *patterns) Kernel {
		var rep replacement
		return bytesRows(func(r *row, dst []byte) ([]byte, error) {
			p, err := ps.get(r.bytes(1))
			if err != nil {
				return dst, err
			}
			s, pos := r.bytes(0), int64(r.i32(3))
			done := 0
			err = p.each(s, runeOffset(s, pos-1), func(loc []int) error {
				if rep.of != p || rep.text != string(r.bytes(2)) {
					if !rep.parse(p, string(r.bytes(2))) {
						return errs.New("INVALID_REGEXP_REPLACE", "source", string(s), "pattern", p.text, "replacement", rep.text, "position", pos)
					}
				}
				dst = append(dst, s[done:loc[0]]...)
				for _, part := range rep.parts {
					if part.group < 0 {
						dst = append(dst, part.text...)
					} else if loc[2*part.group] >= 0 {
						dst = append(dst, s[loc[2*part.group]:loc[2*part.group+1]]...)
					}
				}
				done = loc[1]
				return fitsText(int64(len(dst)))
			})
			return append(dst, s[done:]...), err
		})
	})(c)
}

// replacement is a parsed replacement text of Java: $1, ${name}, \x.
type replacement struct {
	of    *pattern
	text  string
	parts []replacementPart
}

type replacementPart struct {
	group int // -1: text
	text  string
}

func (rp *replacement) parse(p *pattern, text string) bool {
	*rp = replacement{of: p, text: text}
	lit := ""
	flush := func() {
		if lit != "" {
			rp.parts = append(rp.parts, replacementPart{-1, lit})
			lit = ""
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			if i++; i >= len(text) {
				rp.of = nil
				return false
			}
			lit += text[i : i+1]
		case c == '$':
			g, w := -1, 0
			if i+1 < len(text) && text[i+1] == '{' {
				if j := strings.IndexByte(text[i:], '}'); j > 0 {
					g, w = p.group(text[i+2:i+j]), j
				}
			} else {
				for j := i + 1; j < len(text) && text[j] >= '0' && text[j] <= '9'; j++ {
					n := max(g, 0)*10 + int(text[j]-'0')
					if g >= 0 && n > p.groups {
						break
					}
					g, w = n, j-i
				}
			}
			if g < 0 || g > p.groups {
				rp.of = nil
				return false
			}
			flush()
			rp.parts = append(rp.parts, replacementPart{g, ""})
			i += w
		default:
			lit += text[i : i+1]
		}
	}
	flush()
	return true
}

func (p *pattern) group(name string) int {
	if p.re != nil {
		return p.re.SubexpIndex(name)
	}
	return p.back.GroupNumberFromName(name)
}
