package sql

import (
	"strings"

	"streamlab/errs"
)

func (p *parser) statement() Statement {
	t := p.tok()
	start := t.Start
	switch {
	case t.Kind == Symbol && t.Text == "(":
		return p.query()
	case t.Kind != Word:
		p.unexpected()
	}
	switch t.Upper {
	case "SELECT", "WITH", "VALUES", "TABLE", "FROM":
		return p.query()
	case "CREATE":
		return p.create()
	case "DROP":
		p.next()
		d := &Drop{}
		p.anyKw("TEMPORARY", "TEMP")
		if d.What = p.anyKw("TABLE", "VIEW", "DATABASE", "SCHEMA", "FUNCTION"); d.What == "" {
			p.unexpected("TABLE", "VIEW")
		}
		d.IfExists = p.kw("IF", "EXISTS")
		d.Name = p.dotted()
		p.kw("PURGE")
		d.Span = p.from(start)
		return d
	case "INSERT":
		return p.insert()
	case "UPDATE":
		p.next()
		u := &Update{Table: p.target()}
		p.needKw("SET")
		u.Set = p.assignments()
		if p.kw("WHERE") {
			u.Where = p.expr()
		}
		u.Span = p.from(start)
		return u
	case "DELETE":
		p.next()
		p.needKw("FROM")
		d := &Delete{Table: p.target()}
		if p.kw("WHERE") {
			d.Where = p.expr()
		}
		d.Span = p.from(start)
		return d
	case "MERGE":
		return p.merge()
	case "SET":
		return p.set()
	case "RESET":
		p.next()
		r := &Reset{Key: strings.TrimSpace(p.rest())}
		r.Span = p.from(start)
		return r
	case "EXPLAIN":
		p.next()
		e := &Explain{Mode: p.anyKw("EXTENDED", "FORMATTED", "CODEGEN", "COST")}
		e.Stmt = p.statement()
		e.Span = p.from(start)
		return e
	case "DESC", "DESCRIBE":
		return p.describe()
	case "SHOW":
		return p.show()
	case "ALTER", "OPTIMIZE", "VACUUM", "RESTORE", "CACHE", "UNCACHE", "USE", "REFRESH", "TRUNCATE", "COMMENT", "ANALYZE", "CLEAR", "CONVERT", "MSCK", "REPAIR", "ADD", "LIST", "EXECUTE", "DECLARE", "CALL", "GENERATE":
		if nx := p.peek(1); t.Upper == "ALTER" && nx.Upper != "TABLE" && nx.Upper != "VIEW" && nx.Upper != "DATABASE" && nx.Upper != "SCHEMA" {
			p.next()
			p.unexpected("TABLE", "VIEW")
		}
		c := &Command{Kind: t.Upper}
		if t.Upper == "ALTER" {
			c.Kind += " " + p.peek(1).Upper
		}
		c.Text = p.rest()
		c.Span = p.from(start)
		return c
	}
	p.unexpected("SELECT", "WITH", "INSERT", "CREATE", "MERGE", "UPDATE", "DELETE", "DROP", "SHOW", "DESCRIBE", "EXPLAIN")
	return nil
}

// rest takes all tokens up to a semicolon and gives their text.
func (p *parser) rest() string {
	start := p.tok().Start
	end := start
	for p.tok().Kind != EOF && !p.isSym(";") {
		end = p.tok().End
		p.i++
	}
	return p.text[start:end]
}

func (p *parser) target() *TableName {
	start := p.tok().Start
	t := p.tableName()
	t.Alias = p.tableAlias()
	t.Span = p.from(start)
	return t
}

func (p *parser) properties() []Property {
	p.needSym("(")
	var out []Property
	for !p.isSym(")") {
		k := ""
		if p.tok().Kind == String {
			k = p.str()
		} else {
			k = strings.Join(p.dotted(), ".")
		}
		v := ""
		if p.sym("=") || p.tok().Kind == String {
			t := p.next()
			v = t.Text
			if t.Text == "-" && t.Kind == Symbol {
				v += p.next().Text
			}
		}
		out = append(out, Property{k, v})
		if !p.sym(",") {
			break
		}
	}
	p.needSym(")")
	return out
}

func (p *parser) create() Statement {
	start := p.next().Start
	replace := p.kw("OR", "REPLACE")
	global := p.kw("GLOBAL")
	temp := p.kw("TEMPORARY") || p.kw("TEMP")
	switch {
	case p.kw("VIEW"):
		v := &CreateView{Replace: replace, Temporary: temp || global}
		v.IfNotExists = p.kw("IF", "NOT", "EXISTS")
		v.Name = p.dotted()
		if p.sym("(") {
			for {
				v.Columns = append(v.Columns, p.name())
				if p.kw("COMMENT") {
					p.str()
				}
				if !p.sym(",") {
					break
				}
			}
			p.needSym(")")
		}
		if p.kw("USING") {
			p.failAt(p.tok().Span, errs.New("UNSUPPORTED_FEATURE", "feature", "CREATE TEMPORARY VIEW … USING"))
		}
		if p.kw("COMMENT") {
			p.str()
		}
		if p.kw("TBLPROPERTIES") {
			p.properties()
		}
		p.needKw("AS")
		s := p.tok().Start
		v.Query = p.query()
		v.QueryText = p.text[s:p.toks[p.i-1].End]
		v.Span = p.from(start)
		return v
	case !temp && !global && p.kw("TABLE"):
		return p.createTable(start, replace)
	}
	if p.isKw("DATABASE") || p.isKw("SCHEMA") || p.isKw("FUNCTION") {
		c := &Command{Kind: "CREATE " + p.tok().Upper, Text: p.rest()}
		c.Span = p.from(start)
		return c
	}
	p.unexpected("TABLE", "VIEW")
	return nil
}

func (p *parser) createTable(start int, replace bool) Statement {
	c := &CreateTable{Replace: replace}
	c.IfNotExists = p.kw("IF", "NOT", "EXISTS")
	c.Name = p.dotted()
	if p.isSym("(") {
		from := p.next().End
		for depth := 1; depth > 0; {
			t := p.next()
			switch {
			case t.Kind == EOF:
				p.unexpected(")")
			case t.Kind == Symbol && t.Text == "(":
				depth++
			case t.Kind == Symbol && t.Text == ")":
				depth--
			}
		}
		c.ColumnsSpan = Span{from, p.toks[p.i-1].Start}
		c.Columns = p.text[c.ColumnsSpan.Start:c.ColumnsSpan.End]
	}
	for {
		switch {
		case p.kw("USING"):
			c.Using = strings.ToLower(p.name())
		case p.kw("PARTITIONED", "BY"):
			c.PartitionBy = p.names()
		case p.kw("CLUSTER", "BY"):
			c.ClusterBy = p.names()
		case p.kw("LOCATION"):
			c.Location = p.str()
		case p.kw("COMMENT"):
			c.Comment = p.str()
		case p.kw("OPTIONS"):
			c.Options = p.properties()
		case p.kw("TBLPROPERTIES"):
			c.Properties = p.properties()
		default:
			p.kw("AS")
			if p.startsQuery() {
				c.Query = p.query()
			}
			c.Span = p.from(start)
			return c
		}
	}
}

func (p *parser) insert() Statement {
	start := p.next().Start
	i := &Insert{}
	if p.kw("OVERWRITE") {
		i.Overwrite = true
	} else {
		p.needKw("INTO")
	}
	p.kw("TABLE")
	p.inTable = true
	i.Table = p.dotted()
	p.inTable = false
	if p.kw("PARTITION") {
		p.needSym("(")
		for {
			pr := Property{Key: p.name()}
			if p.sym("=") {
				s := p.tok().Start
				p.value(0)
				pr.Value = p.text[s:p.toks[p.i-1].End]
			}
			i.Partition = append(i.Partition, pr)
			if !p.sym(",") {
				break
			}
		}
		p.needSym(")")
	}
	p.kw("IF", "NOT", "EXISTS")
	if p.kw("REPLACE", "WHERE") {
		i.Replace = p.expr()
	}
	if p.kw("BY", "NAME") {
		i.ByName = true
	} else if p.isSym("(") && !p.startsQuery() {
		i.Columns = p.names()
	}
	i.Query = p.query()
	i.Span = p.from(start)
	return i
}

func (p *parser) assignments() []Assignment {
	var out []Assignment
	for {
		s := p.tok().Start
		n := &Name{Parts: p.dotted()}
		n.Span = p.from(s)
		p.needSym("=")
		out = append(out, Assignment{n, p.expr()})
		if !p.sym(",") {
			return out
		}
	}
}

func (p *parser) merge() Statement {
	start := p.next().Start
	m := &Merge{}
	m.SchemaEvolution = p.kw("WITH", "SCHEMA", "EVOLUTION")
	p.needKw("INTO")
	m.Target = p.target()
	p.needKw("USING")
	m.Source = p.relationTerm()
	p.needKw("ON")
	m.On = p.expr()
	for p.isKw("WHEN") {
		s := p.next().Start
		c := MergeClause{Kind: "MATCHED"}
		if p.kw("NOT") {
			c.Kind = "NOT MATCHED"
		}
		p.needKw("MATCHED")
		if p.kw("BY", "SOURCE") {
			c.Kind = "NOT MATCHED BY SOURCE"
		} else {
			p.kw("BY", "TARGET")
		}
		if p.kw("AND") {
			c.Cond = p.expr()
		}
		p.needKw("THEN")
		switch {
		case p.kw("DELETE"):
			c.Action = "DELETE"
		case p.kw("UPDATE"):
			c.Action = "UPDATE"
			p.needKw("SET")
			if p.sym("*") {
				c.All = true
			} else {
				c.Set = p.assignments()
			}
		case p.kw("INSERT"):
			c.Action = "INSERT"
			if p.sym("*") {
				c.All = true
				break
			}
			p.needSym("(")
			for {
				s := p.tok().Start
				n := &Name{Parts: p.dotted()}
				n.Span = p.from(s)
				c.Columns = append(c.Columns, n)
				if !p.sym(",") {
					break
				}
			}
			p.needSym(")")
			p.needKw("VALUES")
			p.needSym("(")
			c.Values = p.exprs()
			p.needSym(")")
		default:
			p.unexpected("UPDATE", "DELETE", "INSERT")
		}
		c.Span = p.from(s)
		m.Clauses = append(m.Clauses, c)
	}
	if len(m.Clauses) == 0 {
		p.failAt(p.tok().Span, errs.New("MERGE_WITHOUT_WHEN"))
	}
	m.Span = p.from(start)
	return m
}

func (p *parser) set() Statement {
	start := p.next().Start
	s := &Set{}
	if p.kw("TIME", "ZONE") {
		s.TimeZone, s.HasValue, s.Key = true, true, "spark.sql.session.timeZone"
		if p.tok().Kind == String {
			s.Value = p.str()
		} else {
			s.Value = strings.TrimSpace(p.rest())
			if strings.EqualFold(s.Value, "LOCAL") {
				s.Value = "UTC"
			}
		}
	} else {
		text := strings.TrimSpace(p.rest())
		k, v, ok := strings.Cut(text, "=")
		s.Key, s.Value, s.HasValue = strings.Trim(strings.TrimSpace(k), "`"), strings.TrimSpace(v), ok
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) describe() Statement {
	start := p.next().Start
	d := &Describe{What: "TABLE"}
	switch {
	case p.kw("HISTORY"):
		d.What = "HISTORY"
	case p.kw("DETAIL"):
		d.What = "DETAIL"
	case p.kw("FUNCTION"):
		d.What = "FUNCTION"
	case p.kw("QUERY") || p.startsQuery():
		d.What = "QUERY"
		d.Query = p.query()
		d.Span = p.from(start)
		return d
	default:
		p.kw("TABLE")
	}
	d.Extended = p.anyKw("EXTENDED", "FORMATTED") != ""
	if p.tok().Kind == String {
		d.Path = p.str()
	} else {
		d.Name = p.dotted()
	}
	d.Span = p.from(start)
	return d
}

func (p *parser) show() Statement {
	start := p.next().Start
	s := &Show{What: p.name()}
	s.What = strings.ToUpper(s.What)
	switch s.What {
	case "CREATE":
		p.needKw("TABLE")
		s.What = "CREATE TABLE"
		s.Name = p.dotted()
	case "COLUMNS", "TBLPROPERTIES", "PARTITIONS":
		p.anyKw("IN", "FROM")
		s.Name = p.dotted()
	}
	if p.anyKw("IN", "FROM") != "" {
		s.Name = p.dotted()
	}
	p.kw("LIKE")
	if p.tok().Kind == String {
		s.Like = p.str()
	}
	s.Span = p.from(start)
	return s
}
