package sql

func (f *formatter) createFunction(c *Command, d *CreateFunction) {
	f.put("CREATE ")
	f.flag(d.Replace, "OR REPLACE ")
	f.flag(d.Temporary, "TEMPORARY ")
	f.put("FUNCTION ")
	f.flag(d.IfNotExists, "IF NOT EXISTS ")
	f.name(c.Name)
	if d.Class != "" {
		f.put(" AS ", quoteString(d.Class))
		return
	}
	f.put("(")
	list(f, d.Params, f.columnDef)
	f.put(")")
	if d.IsTable {
		f.put(" RETURNS TABLE")
		if d.Table != nil {
			f.put(" (")
			list(f, d.Table, f.columnDef)
			f.put(")")
		}
	}
	if d.Returns != "" {
		f.put(" RETURNS ", d.Returns)
	}
	f.strIf(" COMMENT ", d.Comment)
	f.put(" RETURN ")
	if d.Query != nil {
		f.query(d.Query)
	} else {
		f.expr(d.Body)
	}
}

func (f *formatter) alter(d *Alter) {
	columns := func(cs []ColumnDef) {
		f.put(" (")
		list(f, cs, f.columnDef)
		f.put(")")
	}
	targets := func() {
		f.put(" (")
		list(f, d.Targets, f.name)
		f.put(")")
	}
	switch d.Action {
	case "ADD CONSTRAINT":
		f.put("ADD ")
		f.constraint(*d.Constraint)
		return
	case "ADD PARTITION":
		f.put("ADD ")
		f.flag(d.IfExists, "IF NOT EXISTS ")
		f.put("PARTITION ")
		f.partition(d.Partition)
		return
	case "RENAME PARTITION":
		f.put("PARTITION ")
		f.partition(d.Partition)
		f.put(" RENAME TO PARTITION ")
		f.partition(d.ToPartition)
		return
	case "DROP PARTITION":
		f.put("DROP ")
		f.flag(d.IfExists, "IF EXISTS ")
		f.put("PARTITION ")
		f.partition(d.Partition)
		return
	}
	f.put(d.Action)
	switch d.Action {
	case "ADD COLUMNS", "REPLACE COLUMNS":
		columns(d.Columns)
	case "DROP COLUMNS":
		f.flag(d.IfExists, " IF EXISTS")
		targets()
	case "RENAME COLUMN":
		f.put(" ")
		f.name(d.Targets[0])
		f.put(" TO ")
		f.name(d.To)
	case "RENAME TO":
		f.put(" ")
		f.name(d.To)
	case "DROP FEATURE":
		f.put(" ", quoteString(d.To[0]))
	case "ALTER COLUMN":
		f.put(" ")
		f.name(d.Targets[0])
		f.alterColumn(d.Change, d.Columns[0])
	case "SET TBLPROPERTIES", "SET SERDEPROPERTIES":
		f.put(" ")
		f.properties(d.Properties)
	case "UNSET TBLPROPERTIES":
		f.flag(d.IfExists, " IF EXISTS")
		f.put(" ")
		f.properties(d.Properties)
	case "DROP CONSTRAINT":
		f.flag(d.IfExists, " IF EXISTS")
		f.put(" ", QuoteName(d.Constraint.Name))
	case "CLUSTER BY":
		if d.Targets == nil {
			f.put(" NONE")
		} else {
			targets()
		}
	case "SET LOCATION":
		f.put(" ", quoteString(d.Location))
	case "AS":
		f.put(" ")
		f.query(d.Query)
	}
}

func (f *formatter) alterColumn(change string, c ColumnDef) {
	switch change {
	case "TYPE":
		f.put(" TYPE ", c.Type.Text)
	case "COMMENT":
		f.put(" COMMENT ", quoteString(c.Comment))
	case "SET DEFAULT":
		f.exprIf(" SET DEFAULT ", c.Default)
	case "POSITION":
		if c.First {
			f.put(" FIRST")
		} else {
			f.put(" AFTER ", QuoteName(c.After))
		}
	default:
		f.put(" ", change)
	}
}
