package expr

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// A matcher runs a pattern of Go's engine on short texts. It finds what the engine finds, the first match of the
// leftmost place with the same groups, since it goes through the engine's own program in the same order. It is
// quicker because it does not begin everywhere: only around places of a text that every match has, or where the
// first byte fits. It belongs to one goroutine.
type matcher struct {
	ops     []op
	start   int32
	slots   int // two for each group
	marks   int // operations whose places are marked
	atStart bool

	lit      []byte // in every match; nil: there is none
	min, max int    // bytes of a match before lit; max < 0: no bound
	first    [256]bool
	anywhere bool // also where first does not fit

	seen  []uint64 // by mark and place: tried before, in vain
	width int      // places of the text
	caps  []int
	stack []backtrack
	text  []byte
	asked bool // for groups
}

// most places times operations that are marked; the engine has a better way for longer texts.
const mostMarks = 1 << 16

type opKind uint8

const (
	opFail opKind = iota
	opMatch
	opAlt    // out, then arg
	opLoop   // as many of the class as there are, then out
	opClass  // one of the class
	opString // lit
	opEmpty  // cond holds here
	opGroup  // slot arg is here
	opNext
)

type op struct {
	kind     opKind
	out, arg int32
	mark     int
	ascii    [2]uint64 // of the class
	class    *syntax.Inst
	lit      string
	cond     syntax.EmptyOp
}

// backtrack is what to do when nothing fits: go on with operation pc at the places to, and before it down to from;
// or, if pc is negative, give slot ^pc its value from back.
type backtrack struct {
	pc       int32
	from, to int
}

// newMatcher makes a matcher of a pattern that Go's engine takes; nil if there is no use for one.
func newMatcher(text string) *matcher {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	re = re.Simplify()
	prog, err := syntax.Compile(re)
	if err != nil {
		return nil
	}
	m := &matcher{start: int32(prog.Start), slots: prog.NumCap, caps: make([]int, prog.NumCap)}
	m.atStart = prog.StartCond()&syntax.EmptyBeginText != 0
	m.ops = make([]op, len(prog.Inst))
	for i := range prog.Inst {
		in := &prog.Inst[i]
		o := &m.ops[i]
		o.out, o.arg, o.class = int32(in.Out), int32(in.Arg), in
		switch in.Op {
		case syntax.InstFail:
			o.kind = opFail
		case syntax.InstMatch:
			o.kind = opMatch
		case syntax.InstAlt:
			o.kind, o.mark = opAlt, m.marks
			m.marks++
			if k := &prog.Inst[in.Out]; isClass(k) && int(k.Out) == i {
				o.kind, o.class, o.out = opLoop, k, int32(in.Arg)
				o.ascii = asciiOf(k)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			o.kind, o.ascii = opClass, asciiOf(in)
		case syntax.InstEmptyWidth:
			o.kind, o.cond = opEmpty, syntax.EmptyOp(in.Arg)
		case syntax.InstCapture:
			o.kind = opGroup
		case syntax.InstNop:
			o.kind = opNext
		default:
			return nil
		}
	}
	m.joinTexts(prog)
	m.firstBytes(prog)
	l := literalOf(re)
	if l.text != "" {
		m.lit, m.min, m.max = []byte(l.text), l.min, l.max
	}
	return m
}

func isClass(in *syntax.Inst) bool {
	switch in.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// fits is MatchRune for all kinds of classes.
func fits(in *syntax.Inst, r rune) bool {
	switch in.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	case syntax.InstRune1:
		return r == in.Rune[0]
	}
	return in.MatchRune(r)
}

func asciiOf(in *syntax.Inst) (set [2]uint64) {
	for r := range rune(utf8.RuneSelf) {
		if fits(in, r) {
			set[r>>6] |= 1 << (r & 63)
		}
	}
	return set
}

// exact is the character of a class that has only one; an invalid byte fits the replacement character, which
// therefore is none of these.
func exact(in *syntax.Inst) (rune, bool) {
	switch {
	case in.Op == syntax.InstRune1,
		in.Op == syntax.InstRune && len(in.Rune) == 1 && syntax.Flags(in.Arg)&syntax.FoldCase == 0:
		return in.Rune[0], in.Rune[0] != utf8.RuneError && utf8.ValidRune(in.Rune[0])
	}
	return 0, false
}

// joinTexts makes one operation of characters that follow each other.
func (m *matcher) joinTexts(prog *syntax.Prog) {
	for i := range m.ops {
		o := &m.ops[i]
		if o.kind != opClass {
			continue
		}
		text := []byte(nil)
		at := i
		for {
			r, ok := exact(&prog.Inst[at])
			if !ok || len(text) > 100 {
				break
			}
			text = utf8.AppendRune(text, r)
			at = int(prog.Inst[at].Out)
		}
		if len(text) > 1 {
			o.kind, o.lit, o.out = opString, string(text), int32(at)
		}
	}
}

// firstBytes finds the bytes that a match can begin with.
func (m *matcher) firstBytes(prog *syntax.Prog) {
	seen := make([]bool, len(prog.Inst))
	todo := []uint32{uint32(prog.Start)}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		in := &prog.Inst[i]
		switch in.Op {
		case syntax.InstMatch:
			m.anywhere = true
		case syntax.InstFail:
		case syntax.InstAlt:
			todo = append(todo, in.Out, in.Arg)
		case syntax.InstEmptyWidth, syntax.InstCapture, syntax.InstNop:
			todo = append(todo, in.Out)
		default:
			for r := range rune(utf8.RuneSelf) {
				if fits(in, r) {
					m.first[r] = true
				}
			}
			beyond := in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL || syntax.Flags(in.Arg)&syntax.FoldCase != 0
			for _, r := range in.Rune {
				beyond = beyond || r >= utf8.RuneSelf
			}
			for b := utf8.RuneSelf; beyond && b < 256; b++ {
				m.first[b] = true
			}
		}
	}
}

// literal is a text in every match of an expression, and how many bytes of a match can stand before it; max < 0
// is no bound.
type literal struct {
	text     string
	min, max int
}

const mostLength = 1 << 20 // lengths beyond have no bound

func sum(a, b int) int {
	if a < 0 || b < 0 || a+b > mostLength {
		return -1
	}
	return a + b
}

// better prefers bounds, then length.
func (l literal) better(o literal) bool {
	if (l.max >= 0) != (o.max >= 0) && l.text != "" && o.text != "" {
		return l.max >= 0
	}
	return len(l.text) > len(o.text)
}

func literalOf(re *syntax.Regexp) literal {
	l, _, _ := measure(re)
	return l
}

// measure finds the best literal of an expression, and the least and the greatest number of bytes of a match.
func measure(re *syntax.Regexp) (best literal, least, most int) {
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return literal{}, 0, 0
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			text, sound := []byte(nil), true
			for _, r := range re.Rune {
				sound = sound && r != utf8.RuneError && utf8.ValidRune(r)
				text = utf8.AppendRune(text, r)
			}
			if sound {
				return literal{text: string(text)}, len(text), len(text)
			}
		}
		return literal{}, len(re.Rune), utf8.UTFMax * len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return literal{}, 1, utf8.UTFMax
	case syntax.OpCapture:
		return measure(re.Sub[0])
	case syntax.OpPlus:
		l, least, most := measure(re.Sub[0])
		if most != 0 {
			most = -1
		}
		return l, least, most
	case syntax.OpQuest:
		_, _, most := measure(re.Sub[0])
		return literal{}, 0, most
	case syntax.OpConcat:
		for _, s := range re.Sub {
			l, a, b := measure(s)
			if l.text != "" {
				l.min, l.max = least+l.min, sum(most, l.max)
				if l.better(best) {
					best = l
				}
			}
			least, most = min(least+a, mostLength), sum(most, b)
		}
		return best, least, most
	case syntax.OpAlternate:
		for i, s := range re.Sub {
			_, a, b := measure(s)
			if i == 0 {
				least, most = a, b
				continue
			}
			least = min(least, a)
			if b < 0 || most < 0 {
				most = -1
			} else {
				most = max(most, b)
			}
		}
		return literal{}, least, most
	}
	return literal{}, 0, -1 // repetitions
}

// takes says whether a text is short enough.
func (m *matcher) takes(s []byte) bool { return m != nil && m.marks*(len(s)+1) <= mostMarks }

// find gives the groups of the first match at or behind byte from, nil if there is none. groups false is for
// whether there is one: what it gives then has only the place of the match. It is valid until the next call.
func (m *matcher) find(s []byte, from int, groups bool) []int {
	if m.atStart && from > 0 {
		return nil
	}
	last := len(s)
	at := 0
	if m.lit != nil {
		if from+m.min > len(s) {
			return nil
		}
		if at = bytes.Index(s[from+m.min:], m.lit); at < 0 {
			return nil
		}
		at += from + m.min
		if m.max < 0 {
			last = bytes.LastIndex(s, m.lit) - m.min
		}
	}
	m.text, m.asked, m.width = s, groups, len(s)+1
	n := (m.marks*m.width + 63) / 64
	m.seen = slices.Grow(m.seen[:0], n)[:n]
	clear(m.seen)
	if m.atStart {
		return m.result(m.try(0))
	}
	if m.lit == nil || m.max < 0 {
		for p := from; p <= last; {
			if p == len(s) {
				return m.result((m.anywhere) && m.try(p))
			}
			c := s[p]
			if (m.first[c] || m.anywhere) && m.try(p) {
				return m.caps
			}
			if p++; c >= utf8.RuneSelf {
				_, w := utf8.DecodeRune(s[p-1:])
				p += w - 1
			}
		}
		return nil
	}
	for p := from; ; {
		for p = max(p, at-m.max); p <= at-m.min; p++ {
			if p < len(s) && (!m.first[s[p]] && !m.anywhere || !utf8.RuneStart(s[p]) && inside(s, p)) {
				continue
			}
			if m.try(p) {
				return m.caps
			}
		}
		next := bytes.Index(s[at+1:], m.lit)
		if next < 0 {
			return nil
		}
		at += 1 + next
	}
}

// each calls f for every match as the engine finds all of them: no match is empty where the one before has ended.
func (m *matcher) each(s []byte, f func(loc []int) error) error {
	ended, empty := -1, false
	for pos := 0; pos <= len(s); {
		loc := m.find(s, pos, true)
		if loc == nil {
			return nil
		}
		begin, end := loc[0], loc[1]
		if end != pos {
			pos = end
		} else if begin == ended && empty { // the match before once more
			pos += charAt(s, pos)
			continue
		} else {
			pos += charAt(s, pos)
		}
		ended, empty = end, begin == end
		if err := f(loc); err != nil {
			return err
		}
	}
	return nil
}

// charAt is how many bytes the character at a place has, at least one.
func charAt(s []byte, pos int) int {
	_, w := utf8.DecodeRune(s[pos:])
	return max(w, 1)
}

func (m *matcher) result(found bool) []int {
	if !found {
		return nil
	}
	return m.caps
}

// inside says whether byte p lies inside of a character.
func inside(s []byte, p int) bool {
	for k := 1; k < utf8.UTFMax && k <= p; k++ {
		if utf8.RuneStart(s[p-k]) {
			_, w := utf8.DecodeRune(s[p-k:])
			return w > k
		}
	}
	return false
}

// mark says that an operation was not tried at a place before.
func (m *matcher) mark(n, pos int) bool {
	at := n*m.width + pos
	w := &m.seen[at>>6]
	bit := uint64(1) << (at & 63)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	return true
}

// try matches at a place; the groups are in caps then.
func (m *matcher) try(begin int) bool {
	s := m.text
	for i := range m.caps {
		m.caps[i] = -1
	}
	stack := m.stack[:0]
	pc, pos := m.start, begin
	for {
		o := &m.ops[pc]
		pc = o.out
		fail := false
		switch o.kind {
		case opClass:
			if pos == len(s) {
				fail = true
			} else if c := s[pos]; c < utf8.RuneSelf {
				fail = o.ascii[c>>6]>>(c&63)&1 == 0
				pos++
			} else {
				r, w := utf8.DecodeRune(s[pos:])
				fail = !fits(o.class, r)
				pos += w
			}
		case opString:
			if fail = len(s)-pos < len(o.lit) || string(s[pos:pos+len(o.lit)]) != o.lit; !fail {
				pos += len(o.lit)
			}
		case opAlt:
			if fail = !m.mark(o.mark, pos); !fail {
				stack = append(stack, backtrack{o.arg, pos, pos})
			}
		case opLoop:
			from, end := pos, -1 // the last place that is left from
			for m.mark(o.mark, pos) {
				end = pos
				if pos == len(s) {
					break
				}
				if c := s[pos]; c < utf8.RuneSelf {
					if o.ascii[c>>6]>>(c&63)&1 == 0 {
						break
					}
					pos++
				} else {
					r, w := utf8.DecodeRune(s[pos:])
					if !fits(o.class, r) {
						break
					}
					pos += w
				}
			}
			if fail = end < 0; !fail {
				if pos = end; end > from {
					stack = append(stack, backtrack{o.out, from, before(s, end)})
				}
			}
		case opEmpty:
			fail = !m.holds(o.cond, pos)
		case opGroup:
			if m.asked && int(o.arg) < len(m.caps) {
				stack = append(stack, backtrack{^o.arg, 0, m.caps[o.arg]})
				m.caps[o.arg] = pos
			}
		case opNext:
		case opMatch:
			m.caps[0], m.caps[1] = begin, pos
			m.stack = stack
			return true
		default:
			fail = true
		}
		for fail {
			if len(stack) == 0 {
				m.stack = stack
				return false
			}
			b := &stack[len(stack)-1]
			if b.pc < 0 {
				m.caps[^b.pc] = b.to
				stack = stack[:len(stack)-1]
				continue
			}
			pc, pos = b.pc, b.to
			if fail = false; b.to > b.from {
				b.to = before(s, b.to)
			} else {
				stack = stack[:len(stack)-1]
			}
		}
	}
}

// before is where the character before a place begins.
func before(s []byte, pos int) int {
	if s[pos-1] < utf8.RuneSelf {
		return pos - 1
	}
	_, w := utf8.DecodeLastRune(s[:pos])
	return pos - w
}

// holds says whether all conditions are met at a place.
func (m *matcher) holds(cond syntax.EmptyOp, pos int) bool {
	if cond == syntax.EmptyBeginText {
		return pos == 0
	}
	if cond == syntax.EmptyEndText {
		return pos == len(m.text)
	}
	r1, r2 := rune(-1), rune(-1)
	if pos > 0 {
		r1, _ = utf8.DecodeLastRune(m.text[:pos])
	}
	if pos < len(m.text) {
		r2, _ = utf8.DecodeRune(m.text[pos:])
	}
	return cond&^syntax.EmptyOpContext(r1, r2) == 0
}
