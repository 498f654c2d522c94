package engine

import (
	"context"
	"path/filepath"
	"strings"

	"streamlab/delta"
	"streamlab/errs"
	"streamlab/sources/files"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// cloned finds the table that a statement clones, at the version it names; nil if it clones none.
func (s *Session) cloned(ctx context.Context, c *plan.CreateTable) (*catalog.Cloned, error) {
	if c.Clone == nil {
		return nil, nil
	}
	r := &statement{s: s, ctx: ctx, text: c.Text}
	rel, err := r.relation(c.Clone.Parts, c.Clone.NameSpan, plan.CommandPath(s.catalog))
	if err != nil {
		return nil, err
	}
	out := &catalog.Cloned{Table: rel.Table, Name: "spark_catalog." + strings.Join(fullParts(rel, c.Clone.Parts), ".")}
	t, ok := rel.Table.(*delta.Table)
	if ok && len(c.Clone.Parts) == 2 && strings.EqualFold(c.Clone.Parts[0], "delta") {
		out.Name = "delta.`file:" + t.Log().Root + "`"
	}
	if c.Clone.Version == nil && c.Clone.Timestamp == nil || !ok {
		return out, nil
	}
	conf := planConf(s.conf)
	conf.Text = c.Text
	v, at, err := plan.TravelTo(c.Clone.Version, c.Clone.Timestamp, conf)
	if err != nil {
		return nil, err
	}
	if c.Clone.Version != nil {
		out.Table, err = t.AsOfVersion(v)
	} else {
		out.Table, err = t.AsOfTimestamp(at)
	}
	return out, err
}

// convert carries out CONVERT TO DELTA for a folder of Parquet files.
func (r *statement) convert(c *sql.Command, d *sql.Convert) (*DataFrame, error) {
	if len(c.Name) != 2 || !strings.EqualFold(c.Name[0], "parquet") {
		if len(c.Name) == 2 && strings.EqualFold(c.Name[0], "delta") {
			return r.none() // it is one
		}
		if len(c.Name) == 2 && filepath.IsAbs(c.Name[1]) {
			return nil, errs.New("DELTA_CONVERT_NON_PARQUET_TABLE", "sourceName", c.Name[0], "tableId", quoteParts(c.Name))
		}
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "CONVERT TO DELTA of a table of the catalog").
			WithHint("Name the folder: CONVERT TO DELTA parquet.`/path`.")
	}
	root := r.s.path(c.Name[1])
	l := r.s.delta.Log(root)
	exists, err := l.Exists()
	if err != nil || exists {
		return r.done(err)
	}
	t, err := r.s.Read().Format("parquet").Option("mergeSchema", true).Table(r.ctx, root)
	if err != nil {
		return nil, err
	}
	found := files.PartitionColumns(t)
	var in delta.Conversion
	for _, f := range t.Schema() {
		part := false
		for _, p := range found {
			part = part || strings.EqualFold(p, f.Name)
		}
		if !part {
			in.Columns = append(in.Columns, f)
		}
	}
	for _, p := range d.PartitionBy {
		typ, err := types.ParseType(p.Type.Text)
		if err != nil {
			return nil, err
		}
		name := strings.Join(p.Name, ".")
		in.PartitionBy = append(in.PartitionBy, name)
		kept := in.Columns[:0:0]
		for _, f := range in.Columns {
			if !strings.EqualFold(f.Name, name) { // a column that the files have as well
				kept = append(kept, f)
			}
		}
		in.Columns = append(kept, types.Field{Name: name, Type: typ, Nullable: true})
	}
	in.NoStats = d.NoStatistics
	if err := r.s.delta.Convert(r.ctx, root, in); err != nil {
		return nil, err
	}
	return r.none()
}
