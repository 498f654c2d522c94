package sql

import (
	"slices"
	"strings"

	"streamlab/errs"
)

func (p *parser) describe() Statement {
	start := p.next().Start
	d := &Describe{What: "TABLE"}
	w := p.word(0)
	named := p.isName(1) || p.peek(1).Kind == String
	switch {
	case (w == "HISTORY" || w == "DETAIL") && named:
		p.skip(1)
		d.What = w
		if p.isKw("TABLE") && p.isName(1) {
			p.skip(1)
		}
	case w == "FUNCTION" && named:
		p.skip(1)
		d.What = w
	case (w == "DATABASE" || w == "SCHEMA" || w == "NAMESPACE") && named:
		p.skip(1)
		d.What = "SCHEMA"
	case w == "QUERY" && (named || p.at(1) == "("), p.queryAt(0) && w != "TABLE", p.isKw("TABLE") && p.isName(1) && p.word(1) == "TABLE":
		if w == "QUERY" {
			p.skip(1)
		}
		d.What = "QUERY"
		d.Query = p.query()
		d.Span = p.from(start)
		return d
	case w == "TABLE" && named:
		p.skip(1)
	}
	if w := p.word(0); (w == "EXTENDED" || w == "FORMATTED") && p.isName(1) {
		p.skip(1)
		d.Extended = true
	}
	s := p.start()
	if p.tok().Kind == String {
		d.Path = p.str()
	} else {
		d.Name, d.Ident = p.nameOrIdent()
	}
	d.NameSpan = p.from(s)
	if p.isKw("PARTITION") && p.at(1) == "(" {
		p.skip(1)
		d.Partition = p.partitionSpec()
	}
	if d.What == "TABLE" && p.isName(0) && !p.isKw("AS") {
		d.Column = p.dotted()
	}
	if p.isKw("AS", "JSON") {
		p.refuse(p.tok().Span, "DESCRIBE … AS JSON", "")
	}
	d.Span = p.from(start)
	return d
}

func (p *parser) show() Statement {
	start := p.next().Start
	s := &Show{}
	name := func() {
		at := p.start()
		s.Name, s.Ident = p.nameOrIdent()
		s.NameSpan = p.from(at)
	}
	switch w := p.needAnyShow(); w {
	case "CREATE":
		p.needKw("TABLE")
		s.What = "CREATE TABLE"
		name()
	case "CURRENT":
		p.needAny("SCHEMA", "DATABASE", "NAMESPACE")
		s.What = "CURRENT SCHEMA"
	case "COLUMNS":
		s.What = w
		p.needAny("IN", "FROM")
		name()
		if p.anyKw("IN", "FROM") != "" {
			switch space := p.dotted(); {
			case len(s.Name) == 1:
				s.Name = append(space, s.Name...)
			case !slices.EqualFunc(space, s.Name[:len(s.Name)-1], strings.EqualFold):
				panic(failure{errs.New("SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE", "namespaceA", backquoted(space), "namespaceB",
					backquoted(s.Name[:len(s.Name)-1]))})
			}
		}
	case "TBLPROPERTIES":
		s.What = w
		name()
		if p.sym("(") {
			s.Key = p.propertyKey()
			p.needSym(")")
		}
	case "PARTITIONS":
		s.What = w
		name()
		if p.kw("PARTITION") {
			s.Partition = p.partitionSpec()
		}
	default:
		s.What = w
		if p.anyKw("IN", "FROM") != "" {
			name()
			s.HasSchema = true
		}
		if like := p.kw("LIKE"); like || p.tok().Kind == String {
			s.HasLike = true
			if like && strings.HasSuffix(w, "FUNCTIONS") && p.tok().Kind != String {
				s.Like = strings.Join(p.dotted(), ".")
			} else {
				s.Like = p.str()
			}
		}
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) needAnyShow() string {
	switch w := p.word(0); w {
	case "TABLES", "VIEWS", "COLUMNS", "FUNCTIONS", "PARTITIONS", "TBLPROPERTIES", "CATALOGS", "CREATE", "CURRENT":
		p.skip(1)
		return w
	case "SCHEMAS", "DATABASES", "NAMESPACES":
		p.skip(1)
		return "SCHEMAS"
	case "USER", "SYSTEM", "ALL":
		if p.word(1) == "FUNCTIONS" {
			p.skip(2)
			if w == "ALL" {
				return "FUNCTIONS"
			}
			return w + " FUNCTIONS"
		}
	case "TABLE":
		if p.word(1) == "EXTENDED" {
			p.skip(2)
			return "TABLE EXTENDED"
		}
	}
	if p.tok().Kind == Word && p.peek(1).Kind == EOF { // the word could be the kind of functions wanted
		p.skip(1)
		p.missing("FUNCTIONS")
	}
	p.unexpected("TABLES", "VIEWS", "COLUMNS", "FUNCTIONS", "SCHEMAS", "PARTITIONS", "TBLPROPERTIES", "CREATE", "CATALOGS")
	return ""
}

// backquoted is a name as errors show it.
func backquoted(parts []string) string { return "`" + strings.Join(parts, "`.`") + "`" }
