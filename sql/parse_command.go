package sql

import (
	"strconv"
	"strings"

	"streamlab/errs"
)

// statement reads one statement, up to its end or a semicolon.
func (p *parser) statement() Statement {
	p.enter()
	defer p.leave()
	t := p.tok()
	start := t.Start
	if p.isSym("(") {
		return p.query()
	}
	p.foreign()
	switch p.word(0) {
	case "WITH", "FROM":
		if s := p.insertLast(); s != nil {
			return s
		}
		return p.query()
	case "SELECT", "VALUES", "TABLE":
		return p.query()
	case "CREATE", "REPLACE":
		return p.create()
	case "DROP":
		return p.drop()
	case "INSERT":
		return p.insert()
	case "UPDATE":
		return p.update()
	case "DELETE":
		return p.delete()
	case "MERGE":
		return p.merge()
	case "SET":
		return p.set()
	case "RESET":
		p.skip(1)
		r := &Reset{Key: unquoteKey(p.rest())}
		r.Span = p.from(start)
		return r
	case "EXPLAIN":
		p.skip(1)
		e := &Explain{Mode: p.anyKw("EXTENDED", "FORMATTED", "CODEGEN", "COST", "LOGICAL")}
		e.Stmt = p.statement()
		e.Span = p.from(start)
		return e
	case "DESC", "DESCRIBE":
		return p.describe()
	case "SHOW":
		return p.show()
	case "ALTER":
		return p.alter()
	case "OPTIMIZE", "VACUUM", "RESTORE":
		return p.maintain()
	case "CONVERT":
		return p.convert()
	case "USE", "CACHE", "UNCACHE", "CLEAR", "REFRESH", "TRUNCATE", "ANALYZE", "COMMENT":
		return p.smallCommand()
	case "DECLARE":
		return p.declare()
	case "EXECUTE":
		return p.execute()
	}
	p.unexpected("SELECT", "WITH", "FROM", "VALUES", "INSERT", "CREATE", "MERGE", "UPDATE", "DELETE", "DROP", "SHOW", "DESCRIBE", "EXPLAIN",
		"SET", "ALTER", "OPTIMIZE", "VACUUM")
	return nil
}

// foreignStatements are statements of other systems that Spark names in its refusal, by their first words.
var foreignStatements = []string{"GRANT", "REVOKE", "COMMIT", "ROLLBACK", "START TRANSACTION", "LOCK TABLE", "LOCK DATABASE",
	"UNLOCK TABLE", "UNLOCK DATABASE", "CREATE ROLE", "DROP ROLE", "CREATE INDEX", "DROP INDEX", "ALTER INDEX", "EXPORT TABLE",
	"IMPORT TABLE", "SHOW GRANT", "SHOW ROLE GRANT", "SHOW PRINCIPALS", "SHOW ROLES", "SHOW CURRENT ROLES", "SHOW COMPACTIONS",
	"SHOW TRANSACTIONS", "SHOW INDEXES", "SHOW LOCKS", "CREATE TEMPORARY MACRO", "DROP TEMPORARY MACRO", "DFS"}

// refusedStatements are statements of Spark that streamlab does not have, with what to do instead.
var refusedStatements = []struct{ words, instead string }{
	{"LOAD DATA", "Insert from a query over the files."},
	{"CALL", ""},
	{"BEGIN", "Run the statements one by one."},
	{"ADD JAR", ""}, {"ADD FILE", ""}, {"ADD ARCHIVE", ""}, {"LIST JAR", ""}, {"LIST FILE", ""},
	{"MSCK", ""}, {"REPAIR TABLE", ""},
	{"GENERATE", ""}, {"REORG", ""}, {"FSCK", ""},
	{"CREATE CATALOG", ""}, {"DROP CATALOG", ""},
}

// foreign fails at statements that are known and refused.
func (p *parser) foreign() {
	start := p.start()
	for _, f := range foreignStatements {
		words := strings.Fields(f)
		if p.isKw(words...) {
			p.skip(len(words))
			p.failAt(p.from(start), errs.New("INVALID_STATEMENT_OR_CLAUSE", "operation", f))
		}
	}
	for _, f := range refusedStatements {
		words := strings.Fields(f.words)
		if p.isKw(words...) {
			p.skip(len(words))
			p.refuse(p.from(start), f.words, f.instead)
		}
	}
}

// rest takes all tokens up to a semicolon and gives their text.
func (p *parser) rest() string {
	start, end := p.start(), p.start()
	for p.tok().Kind != EOF && !p.isSym(";") {
		end = p.tok().End
		p.skip(1)
	}
	return p.text[start:end]
}

func unquoteKey(k string) string {
	k = strings.TrimSpace(k)
	if len(k) > 1 && k[0] == '`' && k[len(k)-1] == '`' {
		return strings.ReplaceAll(k[1:len(k)-1], "``", "`")
	}
	return k
}

// quoteKey writes the name of a setting so that unquoteKey reads it.
func quoteKey(k string) string {
	if !strings.Contains(k, "`") {
		return k
	}
	return "`" + strings.ReplaceAll(k, "`", "``") + "`"
}

// set reads SET, SET key, SET key = value, whose value is any text, SET TIME ZONE and SET VARIABLE.
func (p *parser) set() Statement {
	start := p.next().Start
	if (p.isKw("VAR") || p.isKw("VARIABLE")) && (p.isName(1) || p.at(1) == "(") {
		p.skip(1)
		return p.setVariable(start)
	}
	s := &Set{}
	if p.isKw("TIME", "ZONE") {
		p.skip(2)
		s.TimeZone, s.HasValue, s.Key = true, true, "spark.sql.session.timeZone"
		switch {
		case p.tok().Kind == String:
			s.Value = p.str()
		case p.isKw("LOCAL"):
			s.Value = p.next().Upper
		case p.isKw("INTERVAL"):
			s.Value = p.zoneOffset()
		default:
			p.unexpected("LOCAL")
		}
	} else {
		text := p.rest()
		k, v, ok := strings.Cut(text, "=")
		s.Key, s.Value, s.HasValue = unquoteKey(k), unquoteKey(v), ok
		if ok && s.Key == "" || strings.EqualFold(s.Key, "-v") || strings.ContainsAny(s.Key, " \t\n") {
			p.failAt(Span{start, start + len(text) + 4}, errs.New("INVALID_SET_SYNTAX"))
		}
	}
	s.Span = p.from(start)
	return s
}

// zoneOffset reads INTERVAL '1' HOUR or '1:30' HOUR TO MINUTE as +01:30.
func (p *parser) zoneOffset() string {
	s := p.start()
	iv, ok := p.interval().(*Interval)
	if !ok || len(iv.Parts) != 1 || iv.Parts[0].Unit != "HOUR" {
		p.failAt(p.from(s), errs.New("PARSE_SYNTAX_ERROR", "error", "'INTERVAL'", "hint", ""))
	}
	sign, v := "+", iv.Parts[0].Value
	if u, ok := v.(*Unary); ok {
		sign, v = u.Op, u.X
	}
	l, _ := v.(*Literal)
	if l == nil {
		p.failAt(p.from(s), errs.New("PARSE_SYNTAX_ERROR", "error", "'INTERVAL'", "hint", ""))
	}
	h, m, _ := strings.Cut(l.Text, ":")
	if n, err := strconv.Atoi(h); err == nil && (n > 18 || n < -18) {
		p.failAt(Span{}, errs.New("INVALID_INTERVAL_FORMAT.TIMEZONE_INTERVAL_OUT_OF_RANGE", "input", l.Text))
	}
	if strings.HasPrefix(h, "-") {
		sign, h = "-", h[1:]
	}
	pad := func(x string) string { return strings.Repeat("0", max(0, 2-len(x))) + x }
	return sign + pad(h) + ":" + pad(m)
}

func (p *parser) command(kind string) *Command { return &Command{Kind: kind} }

// finish sets span and text.
func (p *parser) finish(c *Command, start int) *Command {
	c.Span = p.from(start)
	c.Text = p.text[c.Start:c.End]
	return c
}

// target reads the name a command works on, or a path.
func (p *parser) target(c *Command) {
	s := p.start()
	if p.tok().Kind == String {
		at := p.i
		if c.Path = p.str(); c.Path == "" { // no place at all
			p.i = at
			p.unexpected()
		}
	} else {
		c.Name, c.Ident = p.nameOrIdent()
	}
	c.NameSpan = p.from(s)
}

func (p *parser) setVariable(start int) Statement {
	c, d := p.command("SET VARIABLE"), &SetVariable{}
	if p.isSym("(") {
		p.inBrackets(func() { d.Names = append(d.Names, p.column()) })
		p.needSym("=")
		d.Query = p.subquery()
	} else {
		d.Set = p.assignments()
	}
	c.Detail = d
	return p.finish(c, start)
}

func (p *parser) declare() Statement {
	start := p.next().Start
	c, d := p.command("DECLARE"), &Declare{}
	d.Replace = p.kw("OR", "REPLACE")
	if !p.kw("VARIABLE") {
		p.kw("VAR")
	}
	at := p.start()
	p.list(func() { d.Names = append(d.Names, p.dotted()) })
	c.Name, c.NameSpan = d.Names[0], p.from(at)
	if p.tok().Kind == Word && !p.isKw("DEFAULT") {
		d.Type = p.typeName().Text
	}
	if p.kw("DEFAULT") || p.sym("=") {
		d.Default = p.expr()
	} else if d.Type == "" {
		p.failAt(p.from(start), errs.New("INVALID_SQL_SYNTAX.VARIABLE_TYPE_OR_DEFAULT_REQUIRED"))
	}
	c.Detail = d
	return p.finish(c, start)
}

func (p *parser) execute() Statement {
	start := p.next().Start
	p.needKw("IMMEDIATE")
	c, d := p.command("EXECUTE"), &Execute{}
	d.Code = p.expr()
	if p.kw("INTO") {
		p.list(func() { d.Into = append(d.Into, p.column()) })
	}
	if p.kw("USING") {
		if p.isSym("(") && p.bracketsEnd() {
			p.inBrackets(func() { d.Using = append(d.Using, p.selectItem()) })
		} else {
			d.Using = p.selectItems()
		}
	}
	c.Detail = d
	return p.finish(c, start)
}

// bracketsEnd reports whether the bracket that opens here closes at the end of the statement.
func (p *parser) bracketsEnd() bool {
	depth := 0
	for n := 0; ; n++ {
		switch p.at(n) {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 || p.peek(n).Kind == EOF {
			return p.peek(n+1).Kind == EOF || p.at(n+1) == ";" || p.word(n+1) == "INTO"
		}
	}
}

func (p *parser) smallCommand() Statement {
	start := p.start()
	w := p.next().Upper
	c := p.command(w)
	switch w {
	case "USE":
		if p.isName(1) && !p.isKw("CATALOG") && p.anyKw("DATABASE", "SCHEMA", "NAMESPACE") == "" {
			p.unexpected()
		}
		if p.tok().Kind == String { // a catalog or schema is no folder
			p.unexpected()
		}
		p.target(c)
	case "CACHE":
		d := &Cache{Lazy: p.kw("LAZY")}
		p.needKw("TABLE")
		p.target(c)
		if p.kw("OPTIONS") {
			d.Options = p.properties()
		}
		if p.kw("AS") || p.queryAt(0) {
			d.Query = p.query()
		}
		c.Detail = d
	case "UNCACHE":
		p.needKw("TABLE")
		c.IfExists = p.kw("IF", "EXISTS")
		p.target(c)
	case "CLEAR":
		p.needKw("CACHE")
		c.Kind = "CLEAR CACHE"
	case "REFRESH":
		if p.isName(1) && (p.isKw("TABLE") || p.isKw("FUNCTION")) {
			if p.next().Upper == "FUNCTION" {
				c.Kind = "REFRESH FUNCTION"
			}
		} else if p.isName(0) && p.isName(1) {
			p.failAt(p.from(start), errs.New("_LEGACY_ERROR_TEMP_0064", "msg", "REFRESH takes a table, a function or a path in quotes."))
		}
		p.target(c)
	case "TRUNCATE":
		p.needKw("TABLE")
		p.target(c)
		d := &Truncate{}
		if p.kw("PARTITION") {
			d.Partition = p.partitionSpec()
		}
		c.Detail = d
	case "ANALYZE":
		p.analyze(c)
	case "COMMENT":
		p.needKw("ON")
		d := &CommentOn{What: p.needAny("TABLE", "SCHEMA", "DATABASE", "NAMESPACE")}
		if d.What != "TABLE" {
			d.What = "SCHEMA"
		}
		p.target(c)
		p.needKw("IS")
		if d.Null = p.kw("NULL"); !d.Null {
			d.Text = p.str()
		}
		c.Detail = d
	}
	return p.finish(c, start)
}

func (p *parser) analyze(c *Command) {
	p.needKw("TABLE")
	p.target(c)
	if p.isKw("PARTITION") {
		p.refuse(p.tok().Span, "ANALYZE TABLE … PARTITION", "")
	}
	p.needKw("COMPUTE", "STATISTICS")
	d := &Analyze{}
	switch {
	case p.kw("NOSCAN"):
		d.NoScan = true
	case p.kw("FOR", "ALL", "COLUMNS"):
		d.All = true
	case p.kw("FOR", "COLUMNS"):
		p.list(func() { d.Columns = append(d.Columns, p.name()) })
	}
	c.Detail = d
}

// maintain reads OPTIMIZE, VACUUM and RESTORE of Delta.
func (p *parser) maintain() Statement {
	start := p.start()
	w := p.next().Upper
	c := p.command(w)
	if w == "RESTORE" && p.isKw("TABLE") && (p.isName(1) && p.word(1) != "TO" || p.peek(1).Kind == String) {
		p.skip(1)
	}
	p.target(c)
	switch w {
	case "OPTIMIZE":
		d := &Optimize{Full: p.kw("FULL")}
		if p.kw("WHERE") {
			d.Where = p.expr()
		}
		if p.kw("ZORDER", "BY") {
			if p.isSym("(") {
				p.inBrackets(func() { d.ZOrder = append(d.ZOrder, p.dotted()) })
			} else {
				p.list(func() { d.ZOrder = append(d.ZOrder, p.dotted()) })
			}
		}
		c.Detail = d
	case "VACUUM":
		d := &Vacuum{}
		if p.isKw("LITE") || p.isKw("FULL") || p.isKw("USING") {
			p.refuse(p.tok().Span, "VACUUM … "+p.word(0), "Use VACUUM without it.")
		}
		for {
			switch {
			case p.kw("RETAIN"):
				if p.tok().Kind != Number {
					p.unexpected()
				}
				d.Retain = p.next().Text
				p.needKw("HOURS")
				continue
			case p.kw("DRY", "RUN"):
				d.DryRun = true
				continue
			}
			break
		}
		c.Detail = d
	case "RESTORE":
		d := &Restore{}
		p.kw("TO")
		t := &TableName{}
		p.timeTravel(t)
		d.Version, d.Timestamp = t.Version, t.Timestamp
		if d.Version == nil && d.Timestamp == nil {
			p.unexpected("VERSION", "TIMESTAMP")
		}
		c.Detail = d
	}
	return p.finish(c, start)
}

// convert reads CONVERT TO DELTA.
func (p *parser) convert() Statement {
	start := p.start()
	p.needKw("CONVERT", "TO", "DELTA")
	c, d := p.command("CONVERT TO DELTA"), &Convert{}
	p.target(c)
	d.NoStatistics = p.kw("NO", "STATISTICS")
	if p.kw("PARTITIONED", "BY") {
		p.inBrackets(func() { d.PartitionBy = append(d.PartitionBy, p.columnDef(false)) })
	}
	if !d.NoStatistics {
		d.NoStatistics = p.kw("NO", "STATISTICS")
	}
	c.Detail = d
	return p.finish(c, start)
}

// propertyKey reads 'a.b', a.b.
func (p *parser) propertyKey() string {
	if p.tok().Kind == String {
		return p.str()
	}
	return strings.Join(p.dotted(), ".")
}

// properties reads ('key' = 'value', key value, key).
func (p *parser) properties() []Property {
	var out []Property
	p.inBrackets(func() {
		pr := Property{Key: p.propertyKey()}
		if p.sym("=") || !p.isSym(",") && !p.isSym(")") {
			switch t := p.tok(); {
			case t.Kind == String:
				pr.Value = p.str()
			case p.isSym("-") && p.peek(1).Kind == Number:
				p.skip(1)
				pr.Value = "-" + p.next().Text
			case t.Kind == Number || t.Kind == Word && (t.Upper == "TRUE" || t.Upper == "FALSE"):
				pr.Value = strings.ToLower(p.next().Text)
			case p.isName(0):
				pr.Value = strings.Join(p.dotted(), ".")
			default:
				p.unexpected()
			}
		}
		out = append(out, pr)
	})
	return out
}
