package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/delta"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// deltaRows makes rows fit a Delta table as a transaction will leave it: columns found by name, missing ones
// null, default or computed, values cast, and all of it checked as the table's definition says.
type deltaRows struct {
	conf *Conf
	now  time.Time
	txn  *delta.Txn
	root string
}

// rowsTable is a table of partitions.
type rowsTable struct {
	schema types.Schema
	parts  []columnar.Partition
}

func (r *rowsTable) Schema() types.Schema { return r.schema }

func (r *rowsTable) Scan(context.Context, catalog.Scan) ([]columnar.Partition, error) {
	return r.parts, nil
}

// definedTable is a table that exists for its definition only.
type definedTable struct{ def catalog.Definition }

func (d definedTable) Schema() types.Schema { return d.def.Columns }

func (d definedTable) Scan(context.Context, catalog.Scan) ([]columnar.Partition, error) {
	return nil, nil
}

func (d definedTable) Definition() catalog.Definition { return d.def }

// fit gives the rows in the table's order. Errors come when the rows are read: casts that do not fit as
// TASK_WRITE_FAILED, broken constraints as Delta's conditions.
func (r *deltaRows) fit(ctx context.Context, data types.Schema, parts []columnar.Partition) ([]columnar.Partition, error) {
	table := r.txn.Shown()
	def := catalog.Definition{Provider: "delta", Columns: table, Checks: r.checks()}
	if r.plain(data, table, def) {
		return wrapWrites(parts, r.root), nil
	}
	inner := make([]string, 0, len(table))
	outer := make([]string, 0, len(table))
	for _, f := range table {
		name := quoteName(f.Name)
		i := data.Index(f.Name)
		kind, identity := f.Metadata[catalog.Identity]
		switch {
		case i >= 0 && identity && strings.HasPrefix(kind, "ALWAYS"):
			return nil, errs.New("DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", "colName", f.Name)
		case i >= 0:
			inner = append(inner, castText(quoteName(data[i].Name), data[i].Type, f.Type)+" AS "+name)
			outer = append(outer, name)
		case f.Metadata[catalog.Generation] != "":
			outer = append(outer, "CAST(("+f.Metadata[catalog.Generation]+") AS "+f.Type.SQL()+") AS "+name)
		default:
			value := f.Metadata[catalog.Default]
			if value == "" {
				value = "NULL"
			}
			text := "CAST((" + value + ") AS " + f.Type.SQL() + ") AS " + name
			if f.Type.Kind == types.Null {
				text = "NULL AS " + name
			}
			inner = append(inner, text)
			outer = append(outer, name)
		}
	}
	c := catalog.New(nil)
	c.Register("__rows__", catalog.Relation{Table: &rowsTable{data, parts}})
	pc := planConf(r.conf)
	n, err := plan.AnalyzeText("SELECT "+strings.Join(outer, ", ")+" FROM (SELECT "+strings.Join(inner, ", ")+" FROM __rows__)", c, pc)
	if err != nil {
		return nil, err
	}
	if n, err = plan.Constrained(n, definedTable{def}, c, pc); err != nil {
		return nil, err
	}
	out, err := exec.Partitions(ctx, plan.Optimize(n), exec.Conf{Expr: exprConf(r.conf), ShufflePartitions: r.conf.number(keyPartitions),
		NowMicros: r.now.UnixMicro()})
	if err != nil {
		return nil, err
	}
	return wrapWrites(notNullParts(out, table), r.root), nil
}

// plain says whether rows are the table's rows already.
func (r *deltaRows) plain(data, table types.Schema, def catalog.Definition) bool {
	if len(data) != len(table) || len(def.Checks) > 0 {
		return false
	}
	for i, f := range table {
		if f.Name != data[i].Name || !f.Nullable || hasNotNull(f.Type) || f.Metadata[catalog.Generation] != "" || f.Metadata[catalog.Identity] != "" ||
			!sameType(f.Type, data[i].Type) {
			return false
		}
	}
	return true
}

// sameType is Equal that also looks at the names of struct fields.
func sameType(a, b types.DataType) bool { return a.Equal(b) && a.Simple() == b.Simple() }

func hasNotNull(t types.DataType) bool {
	for _, f := range t.Fields {
		if !f.Nullable || hasNotNull(f.Type) {
			return true
		}
	}
	return false
}

// checks are the CHECK constraints of the table, and conditions that columns of old tables carry.
func (r *deltaRows) checks() []catalog.Check {
	var out []catalog.Check
	for _, p := range r.txn.Metadata().Configuration {
		if name, ok := strings.CutPrefix(strings.ToLower(p.Key), "delta.constraints."); ok {
			text, _ := r.txn.Metadata().Configuration.Get(p.Key)
			out = append(out, catalog.Check{Name: name, Text: text})
		}
	}
	for _, f := range r.txn.Schema() {
		var i struct {
			Expression struct {
				Expression string `json:"expression"`
			} `json:"expression"`
		}
		if text := f.Metadata["delta.invariants"]; text != "" && json.Unmarshal([]byte(text), &i) == nil && i.Expression.Expression != "" {
			out = append(out, catalog.Check{Name: f.Name, Text: i.Expression.Expression})
		}
	}
	return out
}

// castText is SQL that turns a value of one type into another: fields of structs are found by name.
func castText(e string, from, to types.DataType) string {
	if sameType(from, to) {
		return e
	}
	if from.Kind == types.Struct && to.Kind == types.Struct {
		var b strings.Builder
		b.WriteString("IF(" + e + " IS NULL, NULL, named_struct(")
		for i, f := range to.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteText(f.Name) + ", ")
			k := types.Schema(from.Fields).Index(f.Name)
			if k < 0 {
				b.WriteString("CAST(NULL AS " + f.Type.SQL() + ")")
				continue
			}
			b.WriteString(castText(e+"."+quoteName(from.Fields[k].Name), from.Fields[k].Type, f.Type))
		}
		b.WriteString("))")
		return b.String()
	}
	if from.Kind == types.Array && to.Kind == types.Array && from.Elem.Kind == types.Struct {
		return "transform(" + e + ", x -> " + castText("x", *from.Elem, *to.Elem) + ")"
	}
	return "CAST(" + e + " AS " + to.SQL() + ")"
}

// writeErrors names what fails while rows of a table are written, as Spark's tasks do.
type writeErrors struct {
	in   columnar.Partition
	root string
}

func wrapWrites(parts []columnar.Partition, root string) []columnar.Partition {
	out := make([]columnar.Partition, len(parts))
	for i, p := range parts {
		out[i] = writeErrors{p, root}
	}
	return out
}

func (w writeErrors) String() string { return w.in.String() }

func (w writeErrors) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for rb, err := range w.in.Rows(ctx) {
			if err != nil {
				yield(nil, w.wrap(ctx, err))
				return
			}
			if !yield(rb, nil) {
				return
			}
		}
	}
}

func (w writeErrors) wrap(ctx context.Context, err error) error {
	e := errs.As(err)
	if e == nil || ctx.Err() != nil || strings.HasPrefix(e.Condition, "DELTA_") {
		return err
	}
	if e.Condition == "CAST_OVERFLOW" || strings.HasPrefix(e.Condition, "NUMERIC_VALUE_OUT_OF_RANGE") {
		err = errs.New("CAST_OVERFLOW_IN_TABLE_INSERT", "sourceType", e.Params["sourceType"], "targetType", e.Params["targetType"], "columnName", "")
	}
	return errs.Wrap(err, "TASK_WRITE_FAILED", "path", "file:"+w.root)
}

// notNullFields checks fields of structs that must not be null.
type notNullFields struct {
	in     columnar.Partition
	schema types.Schema
}

func notNullParts(parts []columnar.Partition, schema types.Schema) []columnar.Partition {
	need := false
	for _, f := range schema {
		need = need || hasNotNull(f.Type)
	}
	if !need {
		return parts
	}
	out := make([]columnar.Partition, len(parts))
	for i, p := range parts {
		out[i] = notNullFields{p, schema}
	}
	return out
}

func (n notNullFields) String() string { return n.in.String() }

func (n notNullFields) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for rb, err := range n.in.Rows(ctx) {
			if err == nil {
				for i, f := range n.schema {
					if f.Type.Kind == types.Struct && err == nil {
						err = checkFields(columnar.FromArrow(rb.Column(i), f.Type), f, f.Name)
					}
				}
			}
			if !yield(rb, err) || err != nil {
				return
			}
		}
	}
}

func checkFields(v *columnar.Vec, f types.Field, path string) error {
	if v.Phys == columnar.PNull {
		return nil
	}
	for k, in := range f.Type.Fields {
		kid := v.Kids[k]
		if !in.Nullable {
			for i := range v.Len {
				if !v.IsNull(i) && kid.IsNull(i) {
					return errs.New("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "columnName", path+"."+in.Name)
				}
			}
		}
		if in.Type.Kind == types.Struct {
			if err := checkFields(kid, in, path+"."+in.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// deltaOptions are the options that writers of Delta tables share.
type deltaOptions struct {
	merge, replace bool
	userMetadata   string
	files          delta.WriteOptions
}

func readDeltaOptions(o sources.Options, conf *Conf) (deltaOptions, error) {
	var d deltaOptions
	flag := func(to *bool, name string) error {
		v, ok := o.Get(name)
		if !ok {
			return nil
		}
		b, err := strconv.ParseBool(strings.ToLower(v))
		if err != nil {
			return errs.New("DELTA_ILLEGAL_OPTION", "name", name, "input", v, "explain", "must be 'true' or 'false'")
		}
		*to = b
		return nil
	}
	d.merge = strings.EqualFold(conf.Get("spark.databricks.delta.schema.autoMerge.enabled"), "true")
	if err := flag(&d.merge, "mergeSchema"); err != nil {
		return d, err
	}
	if err := flag(&d.replace, "overwriteSchema"); err != nil {
		return d, err
	}
	d.userMetadata = o.Text("userMetadata", conf.Get("spark.databricks.delta.commitInfo.userMetadata"))
	d.files.Compression = o.Text("compression", "")
	if v, ok := o.Get("maxRecordsPerFile"); ok {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return d, errs.New("DELTA_ILLEGAL_OPTION", "name", "maxRecordsPerFile", "input", v, "explain", "must be an integer")
		}
		d.files.MaxRecords = max(n, 0)
	}
	change := true
	if err := flag(&change, "dataChange"); err != nil {
		return d, err
	}
	d.files.NoDataChange = !change
	return d, nil
}

func (d deltaOptions) String() string { return fmt.Sprintf("mergeSchema=%v", d.merge) }
