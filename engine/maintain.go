package engine

import (
	"strconv"
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
)

// maintained carries out a command about the files and versions of a table, which is named or, as path, lies
// somewhere.
func (r *statement) maintained(name []string, path string, at sql.Span, m catalog.Maintenance) (*DataFrame, error) {
	rel, err := r.maintainable(name, path, at)
	if err != nil {
		return nil, err
	}
	return r.maintain(rel, name, m)
}

func (r *statement) maintainable(name []string, path string, at sql.Span) (catalog.Relation, error) {
	if path != "" {
		t, ok, err := r.s.catalog.File("delta", path)
		if !ok {
			err = errs.New("UNSUPPORTED_FEATURE", "feature", "The format `delta`")
		}
		return catalog.Relation{Name: path, Table: t}, err
	}
	return r.relation(name, at, plan.CommandPath(r.s.catalog))
}

func (r *statement) maintain(rel catalog.Relation, name []string, m catalog.Maintenance) (*DataFrame, error) {
	t, ok := rel.Table.(catalog.Maintainer)
	if !ok {
		operation := m.Operation
		if operation == "HISTORY" || operation == "DETAIL" {
			operation = "DESCRIBE " + operation
		}
		if rel.View != nil && operation == "OPTIMIZE" {
			return nil, errs.New("EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE", "viewName", quoteParts(name), "operation", operation)
		}
		if operation == "OPTIMIZE" || operation == "DESCRIBE HISTORY" {
			return nil, errs.New("DELTA_ONLY_OPERATION", "operation", operation)
		}
		return nil, errs.New("DELTA_TABLE_ONLY_OPERATION", "tableName", strings.Join(fullParts(rel, name), "."), "operation", operation)
	}
	m.Setting = r.s.conf.Get
	schema, rows, err := t.Maintain(r.ctx, m)
	if err != nil {
		return nil, err
	}
	return r.s.answer(schema, rows)
}

func (r *statement) optimize(c *sql.Command, d *sql.Optimize) (*DataFrame, error) {
	rel, err := r.maintainable(c.Name, c.Path, c.NameSpan)
	if err != nil {
		return nil, err
	}
	m := catalog.Maintenance{Operation: "OPTIMIZE", Full: d.Full}
	for _, z := range d.ZOrder {
		m.ZOrder = append(m.ZOrder, strings.Join(z, "."))
	}
	if d.Where != nil {
		conf := planConf(r.s.conf)
		conf.Text = r.text
		cond, err := plan.Condition(nilTable(rel.Table), d.Where, r.s.catalog, conf)
		if err != nil {
			return nil, err
		}
		def := catalog.DefinitionOf(nilTable(rel.Table))
		schema := nilTable(rel.Table).Schema()
		for _, at := range plan.ColumnsOf(cond) {
			partition := false
			for _, p := range def.PartitionBy {
				partition = partition || strings.EqualFold(p, schema[at].Name)
			}
			if !partition {
				return nil, errs.New("DELTA_NON_PARTITION_COLUMN_REFERENCE", "columnName", schema[at].Name, "columnList", strings.Join(def.PartitionBy, ", "))
			}
		}
		m.Where = plan.Predicates(cond, exprConf(r.s.conf))
		m.Predicate = cond.String()
	}
	return r.maintain(rel, c.Name, m)
}

func (r *statement) vacuum(c *sql.Command, d *sql.Vacuum) (*DataFrame, error) {
	m := catalog.Maintenance{Operation: "VACUUM", RetainHours: -1, DryRun: d.DryRun}
	if d.Retain != "" {
		h, err := strconv.ParseFloat(d.Retain, 64)
		if err != nil {
			return nil, errs.New("PARSE_SYNTAX_ERROR", "error", "'"+d.Retain+"'", "hint", "")
		}
		m.RetainHours = h
	}
	return r.maintained(c.Name, c.Path, c.NameSpan, m)
}

func (r *statement) restore(c *sql.Command, d *sql.Restore) (*DataFrame, error) {
	m := catalog.Maintenance{Operation: "RESTORE", Version: -1}
	conf := planConf(r.s.conf)
	conf.Text = r.text
	v, at, err := plan.TravelTo(d.Version, d.Timestamp, conf)
	if err != nil {
		return nil, err
	}
	if d.Version != nil {
		m.Version = v
	} else {
		m.AtMicros = at
	}
	return r.maintained(c.Name, c.Path, c.NameSpan, m)
}
