package sql

import "strings"

func (f *formatter) statement(s Statement) {
	switch s := s.(type) {
	case *Query:
		f.query(s)
	case *CreateView:
		f.createView(s)
	case *CreateTable:
		f.createTable(s)
	case *Drop:
		f.put("DROP ")
		f.flag(s.Temporary, "TEMPORARY ")
		f.put(s.What, " ")
		f.flag(s.IfExists, "IF EXISTS ")
		f.named(s.Name, s.Ident)
		f.flag(s.Cascade, " CASCADE")
		f.flag(s.Purge, " PURGE")
	case *Insert:
		f.insert(s)
	case *Update:
		f.put("UPDATE ")
		f.relation(s.Table)
		f.put(" SET ")
		f.assignments(s.Set)
		f.exprIf(" WHERE ", s.Where)
	case *Delete:
		f.put("DELETE FROM ")
		f.relation(s.Table)
		f.exprIf(" WHERE ", s.Where)
	case *Merge:
		f.merge(s)
	case *Set:
		f.put("SET")
		switch {
		case s.TimeZone:
			f.put(" TIME ZONE ", quoteString(s.Value))
		case s.HasValue:
			f.put(" ", quoteKey(s.Key), " = ", s.Value)
		case s.Key != "":
			f.put(" ", quoteKey(s.Key))
		}
	case *Reset:
		f.put("RESET")
		f.flag(s.Key != "", " ")
		f.put(quoteKey(s.Key))
	case *Describe:
		f.describe(s)
	case *Show:
		f.show(s)
	case *Explain:
		f.put("EXPLAIN ")
		if s.Mode != "" {
			f.put(s.Mode, " ")
		}
		f.statement(s.Stmt)
	case *Command:
		f.command(s)
	}
}

func (f *formatter) properties(ps []Property) {
	f.put("(")
	list(f, ps, func(p Property) { f.put(quoteString(p.Key), " = ", quoteString(p.Value)) })
	f.put(")")
}

func (f *formatter) propertiesIf(prefix string, ps []Property) {
	if ps != nil {
		f.put(prefix)
		f.properties(ps)
	}
}

// partition writes (a = 1, b), whose values are text.
func (f *formatter) partition(ps []Property) {
	f.put("(")
	list(f, ps, func(p Property) {
		f.put(QuoteName(p.Key))
		f.flag(p.Value != "", " = ")
		f.put(p.Value)
	})
	f.put(")")
}

func (f *formatter) assignments(as []Assignment) {
	list(f, as, func(a Assignment) {
		f.name(a.Column.Parts)
		f.exprIf(" = ", a.Value)
	})
}

func (f *formatter) createView(v *CreateView) {
	f.put("CREATE ")
	f.flag(v.Replace, "OR REPLACE ")
	f.flag(v.Global, "GLOBAL ")
	f.flag(v.Temporary, "TEMPORARY ")
	f.put("VIEW ")
	f.flag(v.IfNotExists, "IF NOT EXISTS ")
	f.named(v.Name, v.Ident)
	if v.Using != "" {
		if v.Schema != "" {
			f.put(" (", v.Schema, ")")
		}
		f.put(" USING ", v.Using)
		f.propertiesIf(" OPTIONS ", v.Options)
		return
	}
	if v.Columns != nil {
		f.put(" (")
		for i, c := range v.Columns {
			f.flag(i > 0, ", ")
			f.put(QuoteName(c))
			if v.Comments != nil {
				f.strIf(" COMMENT ", v.Comments[i])
			}
		}
		f.put(")")
	}
	f.strIf(" COMMENT ", v.Comment)
	f.propertiesIf(" TBLPROPERTIES ", v.Properties)
	f.put(" AS ")
	f.query(v.Query)
}

func (f *formatter) createTable(c *CreateTable) {
	f.put("CREATE ")
	f.flag(c.Replace, "OR REPLACE ")
	f.put("TABLE ")
	f.flag(c.IfNotExists, "IF NOT EXISTS ")
	f.named(c.Name, c.Ident)
	if c.Like != nil {
		f.put(" LIKE ")
		f.name(c.Like)
	}
	if c.Clone != nil {
		f.put(" SHALLOW CLONE ")
		f.name(c.Clone.Parts)
		f.exprIf(" VERSION AS OF ", c.Clone.Version)
		f.exprIf(" TIMESTAMP AS OF ", c.Clone.Timestamp)
		f.propertiesIf(" TBLPROPERTIES ", c.Properties)
		f.strIf(" LOCATION ", c.Location)
		return
	}
	if len(c.Cols)+len(c.Constraints) > 0 {
		f.put(" (")
		list(f, c.Cols, f.columnDef)
		for i, k := range c.Constraints {
			f.flag(i+len(c.Cols) > 0, ", ")
			f.constraint(k)
		}
		f.put(")")
	}
	if c.Using != "" {
		f.put(" USING ")
		f.name(strings.Split(c.Using, "."))
	}
	if c.PartitionBy != nil {
		f.put(" PARTITIONED BY ")
		f.names(c.PartitionBy)
	}
	if c.ClusterBy != nil {
		f.put(" CLUSTER BY (")
		list(f, c.ClusterBy, func(n string) { f.name(strings.Split(n, ".")) })
		f.put(")")
	}
	f.strIf(" LOCATION ", c.Location)
	f.strIf(" COMMENT ", c.Comment)
	f.propertiesIf(" OPTIONS ", c.Options)
	f.propertiesIf(" TBLPROPERTIES ", c.Properties)
	if c.Query != nil {
		f.put(" AS ")
		f.query(c.Query)
	}
}

func (f *formatter) columnDef(d ColumnDef) {
	f.name(d.Name)
	f.put(" ", d.Type.Text)
	f.flag(d.NotNull, " NOT NULL")
	f.strIf(" COMMENT ", d.Comment)
	f.exprIf(" DEFAULT ", d.Default)
	if d.Generated != nil {
		f.exprIf(" GENERATED ALWAYS AS (", d.Generated)
		f.put(")")
	}
	if d.Identity != "" {
		f.put(" GENERATED ")
		f.flag(d.Identity == "DEFAULT", "BY ")
		f.put(d.Identity, " AS IDENTITY")
		if d.Start+d.Step != "" {
			f.put(" (")
			f.flag(d.Start != "", "START WITH "+d.Start+" ")
			f.flag(d.Step != "", "INCREMENT BY "+d.Step)
			f.put(")")
		}
	}
	f.flag(d.First, " FIRST")
	if d.After != "" {
		f.put(" AFTER ", QuoteName(d.After))
	}
}

func (f *formatter) constraint(k Constraint) {
	if k.Name != "" {
		f.put("CONSTRAINT ", QuoteName(k.Name), " ")
	}
	f.exprIf("CHECK (", k.Check)
	f.put(")")
}

func (f *formatter) insert(i *Insert) {
	if i.Overwrite {
		f.put("INSERT OVERWRITE ")
	} else {
		f.put("INSERT INTO ")
	}
	switch {
	case i.Directory != nil:
		f.flag(i.Directory.Local, "LOCAL ")
		f.put("DIRECTORY")
		if i.Directory.Path != "" {
			f.put(" ", quoteString(i.Directory.Path))
		}
		f.put(" USING ", i.Directory.Using)
		f.propertiesIf(" OPTIONS ", i.Directory.Options)
	case i.Ident != nil:
		f.exprIf("IDENTIFIER(", i.Ident)
		f.put(")")
	default:
		f.name(i.Table)
	}
	if i.Partition != nil {
		f.put(" PARTITION ")
		f.partition(i.Partition)
	}
	f.flag(i.IfNotExists, " IF NOT EXISTS")
	f.exprIf(" REPLACE WHERE ", i.Replace)
	f.flag(i.ByName, " BY NAME")
	if i.Columns != nil {
		f.put(" ")
		f.names(i.Columns)
	}
	f.put(" ")
	f.query(i.Query)
}

func (f *formatter) merge(m *Merge) {
	f.put("MERGE ")
	f.flag(m.SchemaEvolution, "WITH SCHEMA EVOLUTION ")
	f.put("INTO ")
	f.relation(m.Target)
	f.put(" USING ")
	f.relation(m.Source)
	f.exprIf(" ON ", m.On)
	for _, c := range m.Clauses {
		f.put(" WHEN ", c.Kind)
		f.exprIf(" AND ", c.Cond)
		f.put(" THEN ", c.Action)
		switch {
		case c.Action == "UPDATE" && c.All:
			f.put(" SET *")
		case c.Action == "UPDATE":
			f.put(" SET ")
			f.assignments(c.Set)
		case c.Action == "INSERT" && c.All:
			f.put(" *")
		case c.Action == "INSERT":
			f.put(" (")
			list(f, c.Columns, func(n *Name) { f.name(n.Parts) })
			f.put(") VALUES (")
			f.exprs(c.Values)
			f.put(")")
		}
	}
}

func (f *formatter) describe(d *Describe) {
	f.put("DESCRIBE ")
	if d.What == "QUERY" {
		f.put("QUERY ")
		f.query(d.Query)
		return
	}
	f.put(d.What, " ")
	f.flag(d.Extended, "EXTENDED ")
	if d.Ident != nil {
		f.named(nil, d.Ident)
	} else {
		f.target(d.Name, d.Path)
	}
	if d.Partition != nil {
		f.put(" PARTITION ")
		f.partition(d.Partition)
	}
	if d.Column != nil {
		f.put(" ")
		f.name(d.Column)
	}
}

// named writes a name, or IDENTIFIER(expr) in its place.
func (f *formatter) named(name []string, ident Expr) {
	if ident != nil {
		f.exprIf("IDENTIFIER(", ident)
		f.put(")")
		return
	}
	f.name(name)
}

func (f *formatter) target(name []string, path string) {
	if path != "" {
		f.put(quoteString(path))
	} else {
		f.name(name)
	}
}

func (f *formatter) show(s *Show) {
	f.put("SHOW ", s.What)
	switch s.What {
	case "CREATE TABLE", "TBLPROPERTIES", "PARTITIONS":
		f.put(" ")
		f.named(s.Name, s.Ident)
		if s.Key != "" {
			f.put(" (", quoteString(s.Key), ")")
		}
		if s.Partition != nil {
			f.put(" PARTITION ")
			f.partition(s.Partition)
		}
		return
	}
	if s.Name != nil || s.Ident != nil {
		f.put(" IN ")
		f.named(s.Name, s.Ident)
	}
	if s.HasLike {
		f.put(" LIKE ", quoteString(s.Like))
	}
}

func (f *formatter) command(c *Command) {
	if c.Ident != nil { // IDENTIFIER(expr) is written where the name would stand
		mark := []string{"\x00"}
		d, with, ident := *c, &formatter{}, &formatter{}
		d.Ident, d.Name = nil, mark
		with.command(&d)
		ident.named(nil, c.Ident)
		f.put(strings.Replace(with.b.String(), QuoteNames(mark), ident.b.String(), 1))
		return
	}
	switch d := c.Detail.(type) {
	case *Alter:
		f.put(c.Kind, " ")
		f.target(c.Name, c.Path)
		f.put(" ")
		f.alter(d)
	case *AlterSchema:
		f.put("ALTER SCHEMA ")
		f.target(c.Name, c.Path)
		switch d.Action {
		case "SET PROPERTIES":
			f.propertiesIf(" SET DBPROPERTIES ", d.Properties)
		case "UNSET PROPERTIES":
			f.put(" UNSET DBPROPERTIES (")
			list(f, d.Properties, func(p Property) { f.put(quoteString(p.Key)) })
			f.put(")")
		default:
			f.put(" SET LOCATION ", quoteString(d.Location))
		}
	case *Truncate:
		f.put("TRUNCATE TABLE ")
		f.target(c.Name, c.Path)
		if d.Partition != nil {
			f.put(" PARTITION ")
			f.partition(d.Partition)
		}
	case *Optimize:
		f.put("OPTIMIZE ")
		f.target(c.Name, c.Path)
		f.flag(d.Full, " FULL")
		f.exprIf(" WHERE ", d.Where)
		if d.ZOrder != nil {
			f.put(" ZORDER BY (")
			list(f, d.ZOrder, f.name)
			f.put(")")
		}
	case *Vacuum:
		f.put("VACUUM ")
		f.target(c.Name, c.Path)
		if d.Retain != "" {
			f.put(" RETAIN ", d.Retain, " HOURS")
		}
		f.flag(d.DryRun, " DRY RUN")
	case *Convert:
		f.put("CONVERT TO DELTA ")
		f.target(c.Name, c.Path)
		f.flag(d.NoStatistics, " NO STATISTICS")
		if d.PartitionBy != nil {
			f.put(" PARTITIONED BY (")
			list(f, d.PartitionBy, f.columnDef)
			f.put(")")
		}
	case *Restore:
		f.put("RESTORE TABLE ")
		f.target(c.Name, c.Path)
		f.exprIf(" TO VERSION AS OF ", d.Version)
		f.exprIf(" TO TIMESTAMP AS OF ", d.Timestamp)
	case *Cache:
		f.put("CACHE ")
		f.flag(d.Lazy, "LAZY ")
		f.put("TABLE ")
		f.name(c.Name)
		f.propertiesIf(" OPTIONS ", d.Options)
		if d.Query != nil {
			f.put(" AS ")
			f.query(d.Query)
		}
	case *CreateSchema:
		f.put("CREATE SCHEMA ")
		f.flag(d.IfNotExists, "IF NOT EXISTS ")
		f.name(c.Name)
		f.strIf(" COMMENT ", d.Comment)
		f.strIf(" LOCATION ", d.Location)
		f.propertiesIf(" WITH DBPROPERTIES ", d.Properties)
	case *CreateFunction:
		f.createFunction(c, d)
	case *Declare:
		f.put("DECLARE ")
		f.flag(d.Replace, "OR REPLACE ")
		f.put("VARIABLE ")
		list(f, d.Names, f.name)
		f.flag(d.Type != "", " ")
		f.put(d.Type)
		f.exprIf(" DEFAULT ", d.Default)
	case *SetVariable:
		f.put("SET VARIABLE ")
		f.assignments(d.Set)
		if d.Query != nil {
			f.put("(")
			list(f, d.Names, func(n *Name) { f.name(n.Parts) })
			f.put(") = (")
			f.query(d.Query)
			f.put(")")
		}
	case *Execute:
		f.exprIf("EXECUTE IMMEDIATE ", d.Code)
		if d.Into != nil {
			f.put(" INTO ")
			list(f, d.Into, func(n *Name) { f.name(n.Parts) })
		}
		if d.Using != nil {
			f.put(" USING ")
			list(f, d.Using, f.item)
		}
	case *CreateFlow:
		f.put("CREATE FLOW ")
		f.name(c.Name)
		f.strIf(" COMMENT ", d.Comment)
		f.put(" AS ")
		f.insert(d.Insert)
	case *Analyze:
		f.put("ANALYZE TABLE ")
		f.name(c.Name)
		f.put(" COMPUTE STATISTICS")
		f.flag(d.NoScan, " NOSCAN")
		f.flag(d.All, " FOR ALL COLUMNS")
		if d.Columns != nil {
			f.put(" FOR COLUMNS ")
			list(f, d.Columns, func(n string) { f.put(QuoteName(n)) })
		}
	case *CommentOn:
		f.put("COMMENT ON ", d.What, " ")
		f.name(c.Name)
		f.put(" IS ")
		if d.Null {
			f.put("NULL")
		} else {
			f.put(quoteString(d.Text))
		}
	default:
		f.put(c.Kind)
		switch c.Kind {
		case "UNCACHE", "REFRESH", "TRUNCATE":
			f.put(" TABLE")
		case "USE":
			f.put(" SCHEMA")
		}
		f.flag(c.IfExists, " IF EXISTS")
		if c.Name != nil || c.Path != "" {
			f.put(" ")
			f.target(c.Name, c.Path)
		}
	}
}
