package sql

import (
	"strings"

	"streamlab/errs"
)

func (p *parser) drop() Statement {
	start := p.next().Start
	d := &Drop{}
	d.Temporary = p.anyKw("TEMPORARY", "TEMP") != ""
	switch w := p.word(0); {
	case !d.Temporary && (w == "TABLE" || w == "VIEW"), w == "FUNCTION":
		d.What = w
	case !d.Temporary && (w == "SCHEMA" || w == "DATABASE" || w == "NAMESPACE"):
		d.What = "SCHEMA"
	case d.Temporary && (w == "VARIABLE" || w == "VAR"):
		d.What = "VARIABLE"
	default:
		p.unexpected("TABLE", "VIEW", "SCHEMA", "FUNCTION")
	}
	p.skip(1)
	d.IfExists = p.isKw("IF", "EXISTS") && p.isName(2) && p.kw("IF", "EXISTS")
	s := p.start()
	d.Name, d.Ident = p.nameOrIdent()
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
		return p.alterSchema(c, start)
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
	case p.kw("SET", "SERDEPROPERTIES"):
		d.Action = "SET SERDEPROPERTIES"
		d.Properties = p.properties()
	case p.isKw("PARTITION") && p.at(1) == "(":
		p.skip(1)
		d.Action = "RENAME PARTITION"
		d.Partition = p.partitionSpec()
		if !p.isKw("RENAME") {
			p.refuse(at, "ALTER TABLE … PARTITION … "+p.word(0), "")
		}
		p.needKw("RENAME", "TO", "PARTITION")
		d.ToPartition = p.partitionSpec()
	case p.isKw("PARTITION"), p.isKw("RECOVER"), p.isKw("SET"), p.isKw("CLUSTERED"), p.isKw("SKEWED"):
		p.refuse(at, "ALTER TABLE … "+p.word(0), "")
	default:
		p.unexpected("ADD", "DROP", "RENAME", "ALTER", "SET", "UNSET")
	}
	return p.finish(c, start)
}

func (p *parser) alterSchema(c *Command, start int) Statement {
	p.skip(1)
	c.Kind = "ALTER SCHEMA"
	d := &AlterSchema{}
	c.Detail = d
	p.target(c)
	switch {
	case p.isKw("SET") && (p.word(1) == "DBPROPERTIES" || p.word(1) == "PROPERTIES"):
		p.skip(2)
		d.Action = "SET PROPERTIES"
		d.Properties = p.properties()
	case p.isKw("UNSET") && (p.word(1) == "DBPROPERTIES" || p.word(1) == "PROPERTIES"):
		p.skip(2)
		d.Action = "UNSET PROPERTIES"
		p.kw("IF", "EXISTS")
		d.Properties = p.properties()
	case p.kw("SET", "LOCATION"):
		d.Action = "SET LOCATION"
		d.Location = p.str()
	default:
		p.unexpected("SET")
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
	change := p.next().Upper == "CHANGE"
	if p.isKw("COLUMN") && p.isName(1) {
		p.skip(1)
	}
	d.Action = "ALTER COLUMN"
	start := p.start()
	d.Targets = [][]string{p.dotted()}
	col := ColumnDef{}
	switch {
	case change && p.isName(0) && p.peek(1).Kind == Word: // CHANGE c c type [COMMENT text] [FIRST | AFTER c]
		name := p.name()
		if !strings.EqualFold(name, d.Targets[0][len(d.Targets[0])-1]) {
			p.failAt(p.from(start), errs.New("_LEGACY_ERROR_TEMP_0034", "operation", "Renaming column", "command", "ALTER COLUMN", "msg", "please run RENAME COLUMN instead"))
		}
		d.Change = "TYPE"
		col.Type = p.typeName()
		if p.kw("COMMENT") {
			d.Change = "COMMENT"
			col.Comment = p.str()
		}
		p.columnPosition(&col)
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
