package sql

import "strings"

var units = map[string]string{}

// dateParts are the units that DATEADD and its like take.
var dateParts = wordSet([]string{"QUARTER", "DAYOFYEAR"})

func init() {
	for _, u := range []string{"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"} {
		units[u], units[u+"S"] = u, u
		dateParts[u] = true
	}
	units["NANOSECOND"], units["NANOSECONDS"] = "NANOSECOND", "NANOSECOND"
}

// unitAt gives the unit n tokens ahead in the singular, "" if there is none.
func (p *parser) unitAt(n int) string { return units[p.word(n)] }

// intervalValue gives the number of tokens of a value with a unit behind it, 0 if there is none.
func (p *parser) intervalValue(n int) int {
	m := n
	if s := p.at(m); s == "-" || s == "+" {
		m++
	}
	switch k := p.peek(m).Kind; {
	case k == Number || k == String:
		m++
	case p.at(m) == "?":
		m++
	case p.at(m) == ":" && p.peek(m+1).Kind == Word:
		m += 2
	default:
		return 0
	}
	if p.unitAt(m) == "" {
		return 0
	}
	return m - n
}

// interval reads INTERVAL …; nil, and nothing read, if INTERVAL is a name here.
func (p *parser) interval() Expr {
	start := p.start()
	iv := &Interval{}
	if p.peek(1).Kind == String && p.unitAt(2) == "" {
		p.skip(1)
		iv.Text = p.str()
		iv.Span = p.from(start)
		return iv
	}
	if p.intervalValue(1) == 0 {
		if p.peek(1).Kind == Number { // INTERVAL 1 can be nothing else: a unit is missing
			p.skip(2)
			p.unexpected("DAY", "HOUR", "MINUTE", "SECOND", "MONTH", "YEAR")
		}
		return nil
	}
	p.skip(1)
	for p.intervalValue(0) > 0 {
		s := p.start()
		sign := p.at(0)
		if sign == "-" || sign == "+" {
			p.skip(1)
		}
		v := p.atom()
		if sign == "-" || sign == "+" {
			v = &Unary{p.from(s), sign, v}
		}
		u := p.unitAt(0)
		p.skip(1)
		iv.Parts = append(iv.Parts, IntervalPart{p.from(s), v, u})
		if len(iv.Parts) == 1 && p.isKw("TO") && p.unitAt(1) != "" {
			iv.From, iv.To = u, p.unitAt(1)
			p.skip(2)
			break
		}
	}
	iv.Span = p.from(start)
	return iv
}

// typeName reads a type and gives it as text in one canonical form.
func (p *parser) typeName() TypeName {
	start := p.start()
	var b strings.Builder
	p.typeText(&b)
	return TypeName{p.from(start), b.String()}
}

func (p *parser) typeText(b *strings.Builder) {
	p.enter()
	defer p.leave()
	if p.tok().Kind != Word {
		p.unexpected()
	}
	t := p.next()
	w := t.Upper
	switch {
	case w == "INTERVAL":
		b.WriteString(w)
		if u := p.unitAt(0); u != "" {
			p.skip(1)
			b.WriteString(" " + u)
			if p.isKw("TO") && p.unitAt(1) != "" {
				b.WriteString(" TO " + p.unitAt(1))
				p.skip(2)
			}
		}
		return
	case w == "TIMESTAMP" && p.kw("WITHOUT", "TIME", "ZONE"):
		b.WriteString("TIMESTAMP_NTZ")
		return
	case w == "TIMESTAMP" && p.kw("WITH", "LOCAL", "TIME", "ZONE"):
		b.WriteString("TIMESTAMP_LTZ")
		return
	case w == "TIME":
		b.WriteString(w)
		p.typeSizes(b)
		p.kw("WITHOUT", "TIME", "ZONE")
		return
	}
	b.WriteString(t.Text)
	switch {
	case (w == "ARRAY" || w == "MAP" || w == "STRUCT") && p.isSym("<"):
		hint := "" // the bare word is a type, too, so that what fails behind < fails at it
		if p.depth == p.castDepth {
			hint = ": missing ')'"
		}
		p.blamed(p.i, hint, func() { p.nestedType(w, b) })
	case w == "STRUCT" && p.sym("<>"):
		b.WriteString("<>")
	default:
		p.typeSizes(b)
		if w == "STRING" && p.isKw("COLLATE") && p.isName(1) {
			s := p.next().Start
			if c := p.dotted(); p.casts > 0 {
				b.WriteString(" COLLATE " + c[len(c)-1])
			} else if !strings.EqualFold(c[len(c)-1], "UTF8_BINARY") {
				p.refuse(p.from(s), "the collation "+strings.Join(c, "."), "A column is UTF8_BINARY; write COLLATE where it is compared.")
			}
		}
	}
}

// nestedType reads what stands behind ARRAY, MAP or STRUCT, from < to >.
func (p *parser) nestedType(w string, b *strings.Builder) {
	p.skip(1)
	b.WriteByte('<')
	switch w {
	case "ARRAY":
		p.typeText(b)
	case "MAP":
		p.typeText(b)
		p.needSym(",")
		b.WriteString(", ")
		p.typeText(b)
	default:
		for !p.isSym(">") {
			if b.String()[b.Len()-1] != '<' {
				p.needSym(",")
				b.WriteString(", ")
			}
			b.WriteString(QuoteName(p.plainName()))
			p.sym(":")
			b.WriteString(": ")
			p.typeText(b)
			if p.kw("NOT", "NULL") {
				b.WriteString(" NOT NULL")
			}
			if p.kw("COMMENT") {
				b.WriteString(" COMMENT " + quoteString(p.str()))
			}
		}
	}
	p.needSym(">")
	b.WriteByte('>')
}

// typeSizes reads (10, 2) behind a type.
func (p *parser) typeSizes(b *strings.Builder) {
	if !p.isSym("(") {
		return
	}
	sep := "("
	p.inBrackets(func() {
		if p.tok().Kind != Number {
			p.unexpected()
		}
		b.WriteString(sep + p.next().Text)
		sep = ","
	})
	b.WriteByte(')')
}
