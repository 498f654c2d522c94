package sql

import (
	"strings"

	"streamlab/errs"
)

func (p *parser) insert() Statement {
	start := p.next().Start
	i := &Insert{}
	if p.kw("OVERWRITE") {
		i.Overwrite = true
		if p.isKw("DIRECTORY") || p.isKw("LOCAL", "DIRECTORY") {
			return p.insertDirectory(i, start)
		}
	} else {
		if p.isKw("WITH", "SCHEMA", "EVOLUTION") {
			p.refuse(p.tok().Span, "INSERT WITH SCHEMA EVOLUTION", "Set the option mergeSchema of the writer.")
		}
		p.needKw("INTO")
	}
	if p.isKw("TABLE") && p.isName(1) {
		p.skip(1)
	}
	t := &TableName{}
	p.tableParts(t)
	i.Table, i.Ident, i.TableSpan = t.Parts, t.Ident, t.NameSpan
	if p.isKw("PARTITION") && p.at(1) == "(" {
		p.skip(1)
		i.Partition = p.partitionSpec()
	}
	if !i.Overwrite && p.insertAlias() { // a table has an alias only for REPLACE ON
		p.kw("BY", "NAME")
		if !p.isKw("REPLACE") {
			p.unexpected("REPLACE")
		}
	}
	if i.IfNotExists = p.kw("IF", "NOT", "EXISTS"); i.IfNotExists && !i.Overwrite {
		p.failAt(p.from(start), errs.New("INVALID_STATEMENT_OR_CLAUSE", "operation", "INSERT INTO ... IF NOT EXISTS"))
	}
	if p.kw("REPLACE", "WHERE") {
		i.Replace = p.expr()
	} else if p.isKw("REPLACE") && (p.word(1) == "ON" || p.word(1) == "USING") {
		p.refuse(p.tok().Span, "INSERT … REPLACE "+p.word(1), "Use REPLACE WHERE or MERGE.")
	}
	if p.kw("BY", "NAME") {
		i.ByName = true
	} else if p.isSym("(") && !p.queryAt(1) {
		i.Columns = p.names()
	}
	i.Query = p.query()
	i.Span = p.from(start)
	return i
}

// insertAlias takes an alias behind the table of INSERT.
func (p *parser) insertAlias() bool {
	switch {
	case p.isKw("AS") && p.isName(1):
		p.skip(2)
	case !p.isName(0), p.isKw("IF", "NOT"), p.isKw("BY", "NAME"), p.isKw("REPLACE"), p.isKw("PARTITION"), p.isKw("OPTIONS"),
		p.queryAt(0), p.isKw("WITH"), p.isKw("SELECT"), p.isKw("VALUES"), p.isKw("FROM"), p.isKw("TABLE"):
		return false
	default:
		p.skip(1)
	}
	return true
}

// insertDirectory reads [LOCAL] DIRECTORY ['path'] USING format [OPTIONS (…)] query.
func (p *parser) insertDirectory(i *Insert, start int) Statement {
	d := &Directory{Local: p.kw("LOCAL")}
	p.needKw("DIRECTORY")
	if p.tok().Kind == String {
		d.Path = p.str()
	}
	if p.isKw("STORED") || p.isKw("ROW", "FORMAT") {
		p.refuse(p.tok().Span, p.word(0)+" "+p.word(1), "Use USING with a format.")
	}
	p.needKw("USING")
	d.Using = strings.ToLower(strings.Join(p.dotted(), "."))
	if p.kw("OPTIONS") {
		d.Options = p.properties()
	}
	i.Directory = d
	i.Query = p.query()
	i.Span = p.from(start)
	return i
}

// insertLast reads WITH … INSERT and FROM … INSERT …: what stands in front belongs to the query behind. Nil,
// and nothing read, if no INSERT follows.
func (p *parser) insertLast() Statement {
	start, at, params, named, warnings := p.start(), p.i, p.params, p.named, len(p.warnings)
	var with *Query
	var from *Select
	if p.isKw("WITH") {
		with = &Query{}
		p.with(with)
	} else {
		p.skip(1)
		old := p.stop
		p.stop = "INSERT"
		from = &Select{From: p.relations()}
		p.stop = old
		from.Views = p.lateralViews()
	}
	if !p.isKw("INSERT") {
		p.i, p.params, p.named, p.warnings = at, params, named, p.warnings[:warnings]
		return nil
	}
	i, ok := p.insert().(*Insert)
	if !ok {
		p.unexpected()
	}
	if with != nil {
		i.Query.With, i.Query.Recursive = append(with.With, i.Query.With...), with.Recursive || i.Query.Recursive
	} else {
		s, ok := i.Query.Body.(*Select)
		if !ok || s.From != nil {
			p.unexpected("SELECT")
		}
		s.From, s.Views, s.FromFirst = from.From, append(from.Views, s.Views...), true
		if p.isKw("INSERT") {
			p.refuse(p.tok().Span, "INSERT into several tables", "Write one statement a table.")
		}
	}
	i.Span = p.from(start)
	return i
}

func (p *parser) update() Statement {
	start := p.next().Start
	u := &Update{Table: p.aliasedTarget("SET")}
	p.needKw("SET")
	u.Set = p.assignments()
	if p.isKw("WHERE") && p.startsExpr(1) {
		p.skip(1)
		u.Where = p.expr()
	}
	u.Span = p.from(start)
	return u
}

func (p *parser) delete() Statement {
	start := p.next().Start
	if !p.isKw("FROM") && p.isName(0) && p.word(1) != "FROM" {
		p.missing("FROM")
	}
	p.needKw("FROM")
	d := &Delete{Table: p.aliasedTarget("")}
	if p.isKw("WHERE") && p.startsExpr(1) {
		p.skip(1)
		d.Where = p.expr()
	}
	d.Span = p.from(start)
	return d
}

// aliasedTarget reads the table of UPDATE, DELETE or MERGE; stop is the word that cannot be its alias.
func (p *parser) aliasedTarget(stop string) *TableName {
	start := p.start()
	t := &TableName{}
	p.tableParts(t)
	old := p.stop
	p.stop = stop
	t.Alias = p.tableAlias()
	p.stop = old
	t.Span = p.from(start)
	return t
}

func (p *parser) assignments() []Assignment {
	var out []Assignment
	p.list(func() {
		s := p.start()
		n := p.column()
		if !p.sym("==") {
			p.needSym("=")
		}
		x := p.expr()
		out = append(out, Assignment{p.from(s), n, x})
	})
	return out
}

func (p *parser) merge() Statement {
	start := p.next().Start
	m := &Merge{}
	m.SchemaEvolution = p.kw("WITH", "SCHEMA", "EVOLUTION")
	p.needKw("INTO")
	m.Target = p.aliasedTarget("")
	p.needKw("USING")
	m.Source = p.primary()
	p.needKw("ON")
	m.On = p.expr()
	for p.isKw("WHEN") {
		m.Clauses = append(m.Clauses, p.mergeClause())
	}
	if len(m.Clauses) == 0 {
		if p.tok().Kind == EOF || p.isSym(";") {
			p.failAt(p.from(start), errs.New("MERGE_WITHOUT_WHEN"))
		}
		p.unexpected("WHEN")
	}
	m.Span = p.from(start)
	p.lastUnconditional(m)
	return m
}

// lastUnconditional: of the clauses of one kind only the last may have no condition, as none behind it could
// ever be reached.
func (p *parser) lastUnconditional(m *Merge) {
	open := map[string]bool{}
	for _, c := range m.Clauses {
		if open[c.Kind] {
			condition := "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION"
			switch c.Kind {
			case "NOT MATCHED":
				condition = "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION"
			case "NOT MATCHED BY SOURCE":
				condition = "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION"
			}
			p.failAt(m.Span, errs.New(condition))
		}
		if c.Cond == nil {
			open[c.Kind] = true
		}
	}
}

func (p *parser) mergeClause() MergeClause {
	start := p.next().Start
	c := MergeClause{Kind: "MATCHED"}
	if p.kw("NOT") {
		c.Kind = "NOT MATCHED"
	}
	p.needKw("MATCHED")
	if c.Kind == "NOT MATCHED" {
		if p.kw("BY", "SOURCE") {
			c.Kind = "NOT MATCHED BY SOURCE"
		} else {
			p.kw("BY", "TARGET")
		}
	}
	if p.kw("AND") {
		c.Cond = p.expr()
	}
	p.needKw("THEN")
	if c.Kind == "NOT MATCHED" {
		p.needKw("INSERT")
		c.Action = "INSERT"
		p.mergeInsert(&c)
	} else {
		c.Action = p.needAny("UPDATE", "DELETE")
		if c.Action == "UPDATE" {
			p.needKw("SET")
			if c.Kind == "MATCHED" && p.sym("*") {
				c.All = true
			} else {
				c.Set = p.assignments()
			}
		}
	}
	c.Span = p.from(start)
	return c
}

func (p *parser) mergeInsert(c *MergeClause) {
	if p.sym("*") {
		c.All = true
		return
	}
	p.inBrackets(func() { c.Columns = append(c.Columns, p.column()) })
	p.needKw("VALUES")
	at := p.tok().Span
	p.inBrackets(func() { c.Values = append(c.Values, p.expr()) })
	if len(c.Columns) != len(c.Values) {
		at.End = p.toks[p.i-1].End
		p.failAt(at, errs.New("MERGE_INSERT_VALUE_COUNT_MISMATCH", "actualCount", len(c.Values), "expectedCount", len(c.Columns)))
	}
}
