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
		replace = p.kw("OR", "REPLACE")
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
	p.failAt(at, errs.New("UNSUPPORTED_FEATURE.CREATE_PIPELINE_DATASET_QUERY_EXECUTION", "pipelineDatasetType", kind).
		WithHint("Write a query with a sink in the lab file instead."))
}

func (p *parser) createView(start int, v *CreateView) Statement {
	v.IfNotExists = p.kw("IF", "NOT", "EXISTS")
	v.Name = p.dotted()
	if p.isSym("(") {
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
		})
	}
	for {
		switch {
		case p.isKw("USING"):
			p.refuse(p.tok().Span, "CREATE TEMPORARY VIEW … USING", "Create the view AS a query over the files.")
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

func (p *parser) createTable(start int, replace bool) Statement {
	c := &CreateTable{Replace: replace}
	c.IfNotExists = p.kw("IF", "NOT", "EXISTS")
	c.Name = p.dotted()
	if p.isKw("LIKE") && p.isName(1) {
		p.skip(1)
		c.Like = p.dotted()
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
	case p.isKw("STORED") || p.isKw("ROW", "FORMAT") || p.isKw("SKEWED", "BY") || p.isKw("CLUSTERED", "BY"):
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
		p.refuse(p.tok().Span, "a function of a Java class", "Write it as an SQL expression with RETURN.")
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

func (p *parser) drop() Statement {
	start := p.next().Start
	d := &Drop{}
	d.Temporary = p.anyKw("TEMPORARY", "TEMP") != ""
	switch w := p.word(0); {
	case !d.Temporary && (w == "TABLE" || w == "VIEW"), w == "FUNCTION":
		d.What = w
	case !d.Temporary && (w == "SCHEMA" || w == "DATABASE" || w == "NAMESPACE"):
		d.What = "SCHEMA"
	case w == "VARIABLE" || w == "VAR":
		d.What = "VARIABLE"
	default:
		p.unexpected("TABLE", "VIEW", "SCHEMA", "FUNCTION")
	}
	p.skip(1)
	d.IfExists = p.isKw("IF", "EXISTS") && p.isName(2) && p.kw("IF", "EXISTS")
	s := p.start()
	d.Name = p.dotted()
	d.NameSpan = p.from(s)
	switch d.What {
	case "TABLE":
		d.Purge = p.kw("PURGE")
	case "SCHEMA":
		d.Cascade = p.kw("CASCADE")
		if !d.Cascade {
			p.kw("RESTRICT")
		}
	}
	d.Span = p.from(start)
	return d
}

func (p *parser) alter() Statement {
	start := p.next().Start
	d := &Alter{}
	c := p.command("ALTER " + p.word(0))
	switch p.word(0) {
	case "TABLE", "VIEW":
		p.skip(1)
	case "SCHEMA", "DATABASE", "NAMESPACE":
		p.refuse(p.tok().Span, "ALTER "+p.word(0), "")
	default:
		p.unexpected("TABLE", "VIEW")
	}
	p.target(c)
	c.Detail = d
	at := p.tok().Span
	switch {
	case p.kw("RENAME"):
		if p.kw("COLUMN") {
			d.Action = "RENAME COLUMN"
			d.Targets = [][]string{p.dotted()}
			p.needKw("TO")
			d.To = []string{p.name()}
		} else {
			d.Action = "RENAME TO"
			p.needKw("TO")
			d.To = p.dotted()
		}
	case p.kw("SET", "TBLPROPERTIES"):
		d.Action = "SET TBLPROPERTIES"
		d.Properties = p.properties()
	case p.kw("UNSET", "TBLPROPERTIES"):
		d.Action = "UNSET TBLPROPERTIES"
		d.IfExists = p.kw("IF", "EXISTS")
		d.Properties = p.properties()
	case c.Kind == "ALTER VIEW":
		d.Action = "AS"
		p.kw("AS")
		s := p.start()
		d.Query = p.query()
		d.QueryText = p.text[s:p.toks[p.i-1].End]
	case p.isKw("ADD"):
		p.alterAdd(d)
	case p.isKw("DROP"):
		p.alterDrop(d)
	case p.isKw("REPLACE", "COLUMNS"):
		p.skip(2)
		d.Action = "REPLACE COLUMNS"
		p.inBrackets(func() { d.Columns = append(d.Columns, p.columnDef(true)) })
	case p.isKw("ALTER") || p.isKw("CHANGE"):
		p.alterColumn(d)
	case p.kw("CLUSTER", "BY"):
		d.Action = "CLUSTER BY"
		if !p.kw("NONE") {
			p.inBrackets(func() { d.Targets = append(d.Targets, p.dotted()) })
		}
	case p.kw("SET", "LOCATION"):
		d.Action = "SET LOCATION"
		d.Location = p.str()
	case p.isKw("PARTITION"), p.isKw("RECOVER"), p.isKw("SET"), p.isKw("CLUSTERED"), p.isKw("SKEWED"):
		p.refuse(at, "ALTER TABLE … "+p.word(0), "")
	default:
		p.unexpected("ADD", "DROP", "RENAME", "ALTER", "SET", "UNSET")
	}
	return p.finish(c, start)
}

func (p *parser) alterAdd(d *Alter) {
	p.skip(1)
	switch {
	case p.isKw("CONSTRAINT"):
		d.Action = "ADD CONSTRAINT"
		k := p.constraint()
		d.Constraint = &k
	case p.isKw("PARTITION") || p.isKw("IF", "NOT", "EXISTS"):
		d.Action = "ADD PARTITION"
		d.IfExists = p.kw("IF", "NOT", "EXISTS")
		p.needKw("PARTITION")
		d.Partition = p.partitionSpec()
	case p.anyKw("COLUMNS", "COLUMN") != "":
		d.Action = "ADD COLUMNS"
		add := func() { d.Columns = append(d.Columns, p.columnDef(true)) }
		if p.isSym("(") {
			p.inBrackets(add)
		} else {
			p.list(add)
		}
	default:
		p.unexpected("COLUMN", "COLUMNS", "CONSTRAINT", "PARTITION")
	}
}

func (p *parser) alterDrop(d *Alter) {
	p.skip(1)
	w := p.word(0)
	switch {
	case p.anyKw("COLUMNS", "COLUMN") != "":
		d.Action = "DROP COLUMNS"
		d.IfExists = p.isKw("IF", "EXISTS") && (p.isName(2) || p.at(2) == "(") && p.kw("IF", "EXISTS")
		drop := func() { d.Targets = append(d.Targets, p.dotted()) }
		if p.isSym("(") {
			p.inBrackets(drop)
		} else {
			p.list(drop)
		}
	case p.kw("CONSTRAINT"):
		d.Action = "DROP CONSTRAINT"
		d.IfExists = p.isKw("IF", "EXISTS") && p.isName(2) && p.kw("IF", "EXISTS")
		d.Constraint = &Constraint{Name: p.name()}
	case w == "PARTITION" || w == "IF":
		d.Action = "DROP PARTITION"
		d.IfExists = p.kw("IF", "EXISTS")
		p.needKw("PARTITION")
		d.Partition = p.partitionSpec()
	case p.kw("FEATURE"):
		d.Action = "DROP FEATURE"
		if p.tok().Kind == String {
			d.To = []string{p.str()}
		} else {
			d.To = []string{p.name()}
		}
	default:
		p.unexpected("COLUMN", "COLUMNS", "CONSTRAINT", "PARTITION", "FEATURE")
	}
}

func (p *parser) alterColumn(d *Alter) {
	p.skip(1)
	if p.isKw("COLUMN") && p.isName(1) {
		p.skip(1)
	}
	d.Action = "ALTER COLUMN"
	start := p.start()
	d.Targets = [][]string{p.dotted()}
	col := ColumnDef{}
	switch {
	case p.kw("TYPE"):
		d.Change = "TYPE"
		col.Type = p.typeName()
	case p.kw("COMMENT"):
		d.Change = "COMMENT"
		col.Comment = p.str()
	case p.kw("SET", "NOT", "NULL"):
		d.Change = "SET NOT NULL"
	case p.kw("DROP", "NOT", "NULL"):
		d.Change = "DROP NOT NULL"
	case p.kw("SET", "DEFAULT"):
		d.Change = "SET DEFAULT"
		col.Default = p.expr()
	case p.kw("DROP", "DEFAULT"):
		d.Change = "DROP DEFAULT"
	case p.columnPosition(&col):
		d.Change = "POSITION"
	default:
		p.unexpected("TYPE", "COMMENT", "SET", "DROP", "FIRST", "AFTER")
	}
	col.Name = d.Targets[0]
	col.Span = p.from(start)
	d.Columns = []ColumnDef{col}
	if p.isSym(",") {
		p.refuse(p.tok().Span, "ALTER COLUMN of several columns", "Use one statement a column.")
	}
}

// partitionSpec reads (a = 1, b); the values are kept as text.
func (p *parser) partitionSpec() []Property {
	var out []Property
	p.inBrackets(func() {
		pr := Property{Key: p.name()}
		if p.sym("=") {
			s := p.start()
			p.value(0)
			pr.Value = p.text[s:p.toks[p.i-1].End]
		}
		out = append(out, pr)
	})
	return out
}
