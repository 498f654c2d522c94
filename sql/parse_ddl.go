package sql

import (
	"strings"

	"streamlab/errs"
)

// create reads CREATE [OR REPLACE] … and REPLACE TABLE.
func (p *parser) create() Statement {
	start := p.start()
	replace := p.next().Upper == "REPLACE"
	if !replace {
		if replace = p.kw("OR", "REPLACE"); !replace && p.isKw("OR") {
			p.skip(1)
			p.unexpected("REPLACE")
		}
	}
	p.pipelineDataset(replace)
	global := p.kw("GLOBAL")
	temp := p.anyKw("TEMPORARY", "TEMP") != ""
	switch {
	case p.kw("VIEW"):
		return p.createView(start, &CreateView{Replace: replace, Temporary: temp || global, Global: global})
	case p.isKw("RECURSIVE", "VIEW"):
		p.refuse(p.tok().Span, "CREATE RECURSIVE VIEW", "Use WITH RECURSIVE inside the view.")
	case p.isKw("TABLE") && !global:
		if temp {
			p.failAt(Span{start, p.tok().End}, errs.New("_LEGACY_ERROR_TEMP_0046"))
		}
		p.skip(1)
		return p.createTable(start, replace)
	case p.isKw("EXTERNAL", "TABLE"):
		p.refuse(p.tok().Span, "CREATE EXTERNAL TABLE", "Use CREATE TABLE … LOCATION.")
	case !temp && !global && !replace && p.anyKw("DATABASE", "SCHEMA", "NAMESPACE") != "":
		return p.createSchema(start)
	case !global && p.kw("FUNCTION"):
		return p.createFunction(start, &CreateFunction{Replace: replace, Temporary: temp})
	case !temp && !global && !replace && p.kw("FLOW"):
		return p.createFlow(start)
	case !replace && (p.isKw("VARIABLE") || p.isKw("CONNECTION")):
		p.refuse(p.tok().Span, "CREATE "+p.word(0), "")
	}
	p.unexpected("TABLE", "VIEW", "SCHEMA", "FUNCTION")
	return nil
}

// pipelineDataset refuses streaming tables and materialized views with Spark's condition.
func (p *parser) pipelineDataset(replace bool) {
	kind := ""
	switch {
	case replace:
	case p.isKw("STREAMING", "TABLE"):
		kind = "STREAMING TABLE"
	case p.isKw("MATERIALIZED", "VIEW"):
		kind = "MATERIALIZED VIEW"
	}
	if kind == "" {
		return
	}
	at := p.tok().Span
	p.skip(2)
	p.kw("IF", "NOT", "EXISTS")
	p.dotted()
	at.End = p.toks[p.i-1].End
	if kind == "MATERIALIZED VIEW" && (p.tok().Kind == EOF || p.isSym(";")) {
		p.failAt(at, errs.New("_LEGACY_ERROR_TEMP_0035", "message", "A materialized view needs a query."))
	}
	p.failAt(at, errs.New("UNSUPPORTED_FEATURE.CREATE_PIPELINE_DATASET_QUERY_EXECUTION", "pipelineDatasetType", kind).
		WithHint("Write a query with a sink in the lab file instead."))
}

func (p *parser) createView(start int, v *CreateView) Statement {
	v.IfNotExists = p.kw("IF", "NOT", "EXISTS")
	v.Name, v.Ident = p.nameOrIdent()
	if v.Temporary && p.isSym("(") && p.typedColumns() {
		var cols []ColumnDef
		p.inBrackets(func() { cols = append(cols, p.columnDef(false)) })
		v.Schema = ddlText(cols)
		if !p.isKw("USING") {
			p.unexpected("USING")
		}
	} else if p.isSym("(") {
		p.inBrackets(func() {
			v.Columns = append(v.Columns, p.name())
			comment := ""
			if p.kw("COMMENT") {
				comment = p.str()
			}
			if comment != "" && v.Comments == nil {
				v.Comments = make([]string, len(v.Columns)-1)
			}
			if v.Comments != nil {
				v.Comments = append(v.Comments, comment)
			}
			if !p.isSym(",") && !p.isSym(")") {
				p.unexpected(",", ")")
			}
		})
	}
	for {
		switch {
		case p.isKw("USING") && v.Temporary && v.Columns == nil:
			p.skip(1)
			v.Using = strings.ToLower(strings.Join(p.dotted(), "."))
			if p.kw("OPTIONS") {
				v.Options = p.properties()
			}
			v.Span = p.from(start)
			return v
		case p.isKw("PARTITIONED", "ON"):
			p.refuse(p.tok().Span, "PARTITIONED ON", "")
		case p.kw("COMMENT"):
			v.Comment = p.str()
			continue
		case p.kw("TBLPROPERTIES"):
			v.Properties = append(v.Properties, p.properties()...)
			continue
		case p.isKw("WITH", "SCHEMA"):
			p.refuse(p.tok().Span, "WITH SCHEMA of a view", "")
		case p.kw("WITH", "METRICS"):
			p.refuse(p.tok().Span, "metric views", "")
		}
		break
	}
	p.needKw("AS")
	s := p.start()
	v.Query = p.query()
	v.QueryText = p.text[s:p.toks[p.i-1].End]
	v.Span = p.from(start)
	return v
}

// typedColumns reports whether the first column in the brackets here has a type.
func (p *parser) typedColumns() bool {
	w := p.word(2)
	return p.isName(1) && w != "" && w != "COMMENT"
}

func (p *parser) createTable(start int, replace bool) Statement {
	c := &CreateTable{Replace: replace}
	c.IfNotExists = p.kw("IF", "NOT", "EXISTS")
	at := p.start()
	c.Name, c.Ident = p.nameOrIdent()
	c.NameSpan = p.from(at)
	if p.kw("SHALLOW", "CLONE") {
		c.Clone = &TableName{}
		at = p.start()
		c.Clone.Parts = p.dotted()
		c.Clone.NameSpan = p.from(at)
		p.timeTravel(c.Clone)
		c.Clone.Span = p.from(at)
		if p.kw("TBLPROPERTIES") {
			c.Properties = p.properties()
		}
		if p.kw("LOCATION") {
			c.Location = p.str()
		}
		c.Span = p.from(start)
		return c
	}
	if p.isKw("LIKE") && p.isName(1) {
		p.skip(1)
		at = p.start()
		c.Like = p.dotted()
		c.LikeSpan = p.from(at)
	}
	if p.isSym("(") && !p.queryAt(1) {
		s := p.start()
		p.inBrackets(func() { p.tableElement(c) })
		c.ColumnsSpan = Span{s + 1, p.toks[p.i-1].Start}
		c.Columns = ddlText(c.Cols)
	}
	for p.tableClause(c) {
	}
	if p.kw("AS") || p.queryAt(0) {
		if c.Cols != nil {
			p.failAt(Span{start, p.toks[p.i-1].End}, errs.New("_LEGACY_ERROR_TEMP_0035", "message",
				"Schema may not be specified in a Create Table As Select (CTAS) statement"))
		}
		c.Query = p.query()
	}
	c.Span = p.from(start)
	return c
}

func (p *parser) tableClause(c *CreateTable) bool {
	switch {
	case p.kw("USING"):
		c.Using = strings.ToLower(strings.Join(p.dotted(), "."))
	case p.kw("PARTITIONED", "BY"):
		p.inBrackets(func() {
			n := p.start()
			name := p.name()
			switch {
			case p.isSym("("):
				p.refuse(Span{n, p.tok().End}, "a partition transform", "Partition by a column that holds the value.")
			case p.tok().Kind == Word: // a column of its own: PARTITIONED BY (day DATE)
				d := ColumnDef{Name: []string{name}}
				p.columnRest(&d, n)
				c.Cols = append(c.Cols, d)
				c.Columns = ddlText(c.Cols)
			}
			c.PartitionBy = append(c.PartitionBy, name)
		})
	case p.kw("CLUSTER", "BY"):
		if p.kw("AUTO") || p.kw("NONE") {
			return true
		}
		p.inBrackets(func() { c.ClusterBy = append(c.ClusterBy, strings.Join(p.dotted(), ".")) })
	case p.kw("LOCATION"):
		c.Location = p.str()
	case p.kw("COMMENT"):
		c.Comment = p.str()
	case p.kw("OPTIONS"):
		c.Options = p.properties()
	case p.kw("TBLPROPERTIES"):
		c.Properties = p.properties()
	case p.kw("CLUSTERED", "BY"): // buckets lay files out and change no answer
		p.inBrackets(func() { p.name() })
		if p.kw("SORTED", "BY") {
			p.inBrackets(func() { p.name(); p.anyKw("ASC", "DESC") })
		}
		p.needKw("INTO")
		if p.tok().Kind != Number {
			p.unexpected()
		}
		p.skip(1)
		p.needKw("BUCKETS")
	case p.isKw("STORED") || p.isKw("ROW", "FORMAT") || p.isKw("SKEWED", "BY"):
		p.refuse(p.tok().Span, p.word(0)+" "+p.word(1), "Use USING with a format.")
	case p.isKw("DEFAULT", "COLLATION"):
		p.refuse(p.tok().Span, "DEFAULT COLLATION", "")
	default:
		return false
	}
	return true
}

// tableElement reads a column or a constraint.
func (p *parser) tableElement(c *CreateTable) {
	switch {
	case p.isKw("CONSTRAINT") && p.isName(1) && (p.word(2) == "CHECK" || p.word(2) == "PRIMARY" || p.word(2) == "FOREIGN" || p.word(2) == "UNIQUE"),
		p.isKw("CHECK") && p.at(1) == "(":
		c.Constraints = append(c.Constraints, p.constraint())
	case (p.isKw("PRIMARY", "KEY") || p.isKw("FOREIGN", "KEY") || p.isKw("UNIQUE")) && p.at(2) == "(":
		p.refuse(p.tok().Span, p.word(0)+" "+p.word(1), "")
	default:
		c.Cols = append(c.Cols, p.columnDef(false))
	}
}

// constraint reads [CONSTRAINT name] CHECK (e).
func (p *parser) constraint() Constraint {
	start := p.start()
	k := Constraint{}
	if p.kw("CONSTRAINT") {
		k.Name = p.name()
	}
	if p.isKw("PRIMARY") || p.isKw("FOREIGN") || p.isKw("UNIQUE") {
		p.refuse(p.tok().Span, p.word(0)+" KEY", "Only CHECK constraints are known.")
	}
	p.needKw("CHECK")
	p.needSym("(")
	s := p.start()
	k.Check = p.expr()
	k.Text = p.text[s:p.toks[p.i-1].End]
	p.needSym(")")
	for p.kw("ENFORCED") || p.kw("NOT", "ENFORCED") && p.notEnforced() || p.kw("NORELY") {
	}
	k.Span = p.from(start)
	return k
}

func (p *parser) notEnforced() bool {
	p.refuse(p.toks[p.i-1].Span, "a constraint that is NOT ENFORCED", "")
	return false
}

// columnDef reads name type and what may follow; in ALTER TABLE the name may have parts and a position.
func (p *parser) columnDef(alter bool) ColumnDef {
	start := p.start()
	d := ColumnDef{}
	if alter {
		d.Name = p.dotted()
	} else {
		d.Name = []string{p.plainName()}
		p.sym(":")
	}
	p.columnRest(&d, start)
	if alter {
		p.columnPosition(&d)
	}
	d.Span.End = p.toks[p.i-1].End
	return d
}

func (p *parser) columnPosition(d *ColumnDef) bool {
	switch {
	case p.kw("FIRST"):
		d.First = true
	case p.kw("AFTER"):
		d.After = p.name()
	default:
		return false
	}
	return true
}

func (p *parser) columnRest(d *ColumnDef, start int) {
	d.Type = p.typeName()
	for {
		switch {
		case p.kw("NOT", "NULL"):
			d.NotNull = true
		case p.kw("COMMENT"):
			d.Comment = p.str()
		case p.kw("DEFAULT"):
			d.Default = p.expr()
		case p.kw("GENERATED"):
			p.generated(d)
		default:
			d.Span = p.from(start)
			return
		}
	}
}

func (p *parser) generated(d *ColumnDef) {
	identity := "DEFAULT"
	if p.kw("ALWAYS") {
		identity = "ALWAYS"
	} else {
		p.needKw("BY", "DEFAULT")
	}
	p.needKw("AS")
	if !p.isKw("IDENTITY") {
		if identity == "DEFAULT" {
			p.unexpected("IDENTITY")
		}
		p.needSym("(")
		d.Generated = p.expr()
		p.needSym(")")
		return
	}
	p.skip(1)
	d.Identity = identity
	if !p.sym("(") {
		return
	}
	number := func() string {
		sign := ""
		if p.sym("-") {
			sign = "-"
		}
		if p.tok().Kind != Number {
			p.unexpected()
		}
		return sign + p.next().Text
	}
	for !p.sym(")") {
		switch {
		case p.kw("START", "WITH"):
			d.Start = number()
		case p.kw("INCREMENT", "BY"):
			d.Step = number()
		default:
			p.unexpected("START", "INCREMENT")
		}
	}
}

// ddlText writes columns as the DDL text that types.ParseDDL reads.
func ddlText(cols []ColumnDef) string {
	var b strings.Builder
	for i, c := range cols {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(QuoteName(c.Name[0]) + " " + c.Type.Text)
		if c.NotNull {
			b.WriteString(" NOT NULL")
		}
		if c.Comment != "" {
			b.WriteString(" COMMENT " + quoteString(c.Comment))
		}
	}
	return b.String()
}

func (p *parser) createSchema(start int) Statement {
	c, d := p.command("CREATE SCHEMA"), &CreateSchema{}
	d.IfNotExists = p.kw("IF", "NOT", "EXISTS")
	p.target(c)
	for {
		switch {
		case p.kw("COMMENT"):
			d.Comment = p.str()
			continue
		case p.kw("LOCATION"):
			d.Location = p.str()
			continue
		case p.isKw("WITH") && (p.word(1) == "DBPROPERTIES" || p.word(1) == "PROPERTIES"):
			p.skip(2)
			d.Properties = p.properties()
			continue
		}
		break
	}
	c.Detail = d
	return p.finish(c, start)
}

func (p *parser) createFunction(start int, d *CreateFunction) Statement {
	c := p.command("CREATE FUNCTION")
	d.IfNotExists = p.kw("IF", "NOT", "EXISTS")
	p.target(c)
	if p.isKw("AS") && p.peek(1).Kind == String {
		p.skip(1)
		d.Class = p.str()
		c.Detail = d
		return p.finish(c, start)
	}
	columns := func() (out []ColumnDef) {
		p.needSym("(")
		if !p.isSym(")") {
			p.list(func() { out = append(out, p.columnDef(false)) })
		}
		p.needSym(")")
		return out
	}
	d.Params = columns()
	for {
		switch {
		case p.kw("RETURNS", "TABLE"):
			if d.IsTable = true; p.isSym("(") {
				d.Table = columns()
			}
		case p.kw("RETURNS"):
			d.Returns = p.typeName().Text
		case p.kw("COMMENT"):
			d.Comment = p.str()
		case p.isKw("LANGUAGE") && p.word(1) != "SQL" || p.isKw("AS"):
			p.refuse(p.tok().Span, "a function of another language", "Write it as an SQL expression with RETURN.")
		case p.kw("LANGUAGE", "SQL"), p.kw("NOT", "DETERMINISTIC"), p.kw("DETERMINISTIC"), p.kw("CONTAINS", "SQL"), p.kw("READS", "SQL", "DATA"):
		default:
			p.needKw("RETURN")
			if p.isKw("WITH") || p.queryAt(0) && !p.isSym("(") {
				d.Query = p.query()
			} else {
				d.Body = p.expr()
			}
			c.Detail = d
			return p.finish(c, start)
		}
	}
}

// createFlow reads CREATE FLOW name [COMMENT c] AS INSERT INTO t BY NAME query.
func (p *parser) createFlow(start int) Statement {
	c, d := p.command("CREATE FLOW"), &CreateFlow{}
	p.target(c)
	if p.kw("COMMENT") {
		d.Comment = p.str()
	}
	p.needKw("AS")
	if !p.isKw("INSERT") {
		p.unexpected("INSERT")
	}
	d.Insert, _ = p.insert().(*Insert)
	c.Detail = d
	return p.finish(c, start)
}
