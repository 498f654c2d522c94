package engine

import (
	"context"
	"net/url"
	"sort"
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// partitionOf is a partition as its folder is called: d=x/e=1.
func partitionOf(d catalog.Definition, values map[string]string) string {
	out := make([]string, len(d.PartitionBy))
	for i, p := range d.PartitionBy {
		v, ok := values[strings.ToLower(p)]
		if !ok {
			return ""
		}
		out[i] = p + "=" + v
	}
	return strings.Join(out, "/")
}

// partitions lists the partitions of a table, sorted: those that have rows and, of heap tables, those that
// ALTER TABLE ADD PARTITION made.
func (r *statement) partitions(rel catalog.Relation) ([]string, error) {
	d := catalog.DefinitionOf(rel.Table)
	schema := rel.Table.Schema()
	at := make([]int, len(d.PartitionBy))
	for i, p := range d.PartitionBy {
		at[i] = schema.Index(p)
	}
	n := plan.Columns(plan.ScanOf(rel.Name, rel.Table), at...)
	rows, _, err := r.s.collect(r.ctx, plan.Optimize(n))
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	if h, ok := rel.Table.(*heap); ok {
		for _, p := range h.madePartitions() {
			seen[p] = true
		}
	}
	zone := r.s.conf.zone()
	for _, rb := range rows {
		vs := columnar.Vectors(rb, n.Schema())
		for i := range int(rb.NumRows()) {
			values := map[string]string{}
			for j := range vs {
				v := "__HIVE_DEFAULT_PARTITION__"
				if !vs[j].IsNull(i) {
					v = escapePartition(string(expr.AppendText(nil, &vs[j], i, zone, expr.CastStyle)))
				}
				values[strings.ToLower(d.PartitionBy[j])] = v
			}
			seen[partitionOf(d, values)] = true
		}
	}
	out := make([]string, 0, len(seen))
	for p := range seen {
		out = append(out, p)
	}
	sort.Strings(out)
	return out, nil
}

// escapePartition writes a value as the name of a folder.
func escapePartition(v string) string {
	if !strings.ContainsAny(v, "\"#%'*/:=?\\\x7f{[]^") {
		return v
	}
	var b strings.Builder
	for _, r := range v {
		if strings.ContainsRune("\"#%'*/:=?\\\x7f{[]^", r) {
			b.WriteString("%" + strings.ToUpper(url.PathEscape(string(rune(r))))[1:])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// spec reads the values of PARTITION (…) of a table: lower-case column → text. Errors: PARTITIONS_NOT_FOUND
// for a column that does not partition the table.
func (r *statement) spec(rel catalog.Relation, name []string, ps []sql.Property) (map[string]string, error) {
	d := catalog.DefinitionOf(rel.Table)
	out := map[string]string{}
	for _, p := range ps {
		found := false
		for _, c := range d.PartitionBy {
			found = found || strings.EqualFold(c, p.Key)
		}
		if !found {
			return nil, errs.New("PARTITIONS_NOT_FOUND", "partitionList", types.Quote(p.Key), "tableName", quoteParts(fullParts(rel, name)))
		}
		v, err := plan.ConstantText(p.Value, rel.Table.Schema()[rel.Table.Schema().Index(p.Key)].Type, planConf(r.s.conf))
		if err != nil {
			return nil, err
		}
		out[strings.ToLower(p.Key)] = escapePartition(v)
	}
	return out, nil
}

func (r *statement) partitioned(rel catalog.Relation, name []string, at sql.Span) error {
	d := catalog.DefinitionOf(rel.Table)
	full := quoteParts(fullParts(rel, name))
	if len(d.PartitionBy) == 0 {
		return errs.New("INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY", "name", full)
	}
	if _, ok := rel.Table.(*heap); !ok {
		return r.fail(at, "INVALID_PARTITION_OPERATION.PARTITION_MANAGEMENT_IS_UNSUPPORTED", "name", full)
	}
	return nil
}

func (r *statement) showPartitions(c *sql.Show) (*DataFrame, error) {
	rel, err := r.table(c.Name, c.NameSpan, "SHOW PARTITIONS")
	if err != nil {
		return nil, err
	}
	if err := r.partitioned(rel, c.Name, c.NameSpan); err != nil {
		return nil, err
	}
	want, err := r.spec(rel, c.Name, c.Partition)
	if err != nil {
		return nil, err
	}
	list, err := r.partitions(rel)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, p := range list {
		if fits(p, want) {
			rows = append(rows, []any{p})
		}
	}
	return r.s.answer(types.Schema{text("partition")}, rows)
}

// fits reports whether a partition has the values that a specification names.
func fits(partition string, want map[string]string) bool {
	for _, part := range strings.Split(partition, "/") {
		k, v, _ := strings.Cut(part, "=")
		if w, ok := want[strings.ToLower(k)]; ok && w != v {
			return false
		}
	}
	return true
}

func (r *statement) alterPartition(c *sql.Command, d *sql.Alter, rel catalog.Relation) (*DataFrame, error) {
	def := catalog.DefinitionOf(rel.Table)
	full := quoteParts(fullParts(rel, c.Name))
	h, ok := rel.Table.(*heap)
	if !ok {
		return nil, r.fail(c.NameSpan, "INVALID_PARTITION_OPERATION.PARTITION_MANAGEMENT_IS_UNSUPPORTED", "name", full)
	}
	if len(def.PartitionBy) == 0 {
		return nil, errs.New("_LEGACY_ERROR_TEMP_1251", "action", "ALTER TABLE "+d.Action, "tableName", rel.Name)
	}
	spec, err := r.spec(rel, c.Name, d.Partition)
	if err != nil {
		return nil, err
	}
	list, err := r.partitions(rel)
	if err != nil {
		return nil, err
	}
	var hit []string
	for _, p := range list {
		if fits(p, spec) {
			hit = append(hit, p)
		}
	}
	short := types.Quote(rel.Database) + "." + types.Quote(rel.Name)
	if d.Action == "DROP PARTITION" {
		if len(hit) == 0 && !d.IfExists {
			return nil, errs.New("PARTITIONS_NOT_FOUND", "partitionList", specText(d.Partition, spec), "tableName", short)
		}
		return r.dropRows(rel, c.Name, d.Partition, "ALTER TABLE DROP PARTITION")
	}
	if len(spec) < len(def.PartitionBy) {
		var keys []string
		for _, p := range d.Partition {
			keys = append(keys, p.Key)
		}
		return nil, errs.New("_LEGACY_ERROR_TEMP_1232", "specKeys", strings.Join(keys, ", "), "partitionColumnNames",
			strings.Join(def.PartitionBy, ", "), "tableName", full)
	}
	if d.Action == "ADD PARTITION" {
		if len(hit) > 0 {
			if d.IfExists {
				return r.none()
			}
			return nil, errs.New("PARTITIONS_ALREADY_EXIST", "partitionList", specText(d.Partition, spec), "tableName", short)
		}
		h.makePartition(partitionOf(def, spec))
		return r.none()
	}
	to, err := r.spec(rel, c.Name, d.ToPartition)
	if err != nil {
		return nil, err
	}
	if len(hit) == 0 {
		return nil, errs.New("PARTITIONS_NOT_FOUND", "partitionList", specText(d.Partition, spec), "tableName", short)
	}
	for _, p := range list {
		if p == partitionOf(def, to) {
			return nil, errs.New("PARTITIONS_ALREADY_EXIST", "partitionList", specText(d.ToPartition, to), "tableName", short)
		}
	}
	return r.done(r.movePartition(rel, h, d, hit[0], partitionOf(def, to)))
}

func specText(ps []sql.Property, values map[string]string) string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = types.Quote(p.Key) + " = " + values[strings.ToLower(p.Key)]
	}
	return "PARTITION (" + strings.Join(out, ", ") + ")"
}

// movePartition gives the rows of one partition the values of another.
func (r *statement) movePartition(rel catalog.Relation, h *heap, d *sql.Alter, from, to string) error {
	u, err := plan.MovePartition(rel.Table, d.Partition, d.ToPartition, planConf(r.s.conf))
	if err != nil {
		return err
	}
	ch, err := r.s.begin(r.ctx, h.fullName(), rel.Table, catalog.Intent{Operation: "WRITE"})
	if err != nil {
		return err
	}
	defer ch.tx.Abort()
	old := plan.Keep(ch.rows(), u.Where)
	before, err := ch.collect(r.ctx, old)
	if err != nil {
		return err
	}
	after, err := ch.collect(r.ctx, plan.Fill(u.New, u.Old, ch.tableRows(inMemory(old.Schema(), before))))
	if err != nil {
		return err
	}
	w := len(ch.schema)
	ch.remove(before, old.Schema(), w, w+1)
	ch.add("rows", after)
	if h.unmakePartitions(func(p string) bool { return p == from }) {
		h.makePartition(to)
	}
	return ch.commit(r.ctx, nil)
}

// dropRows removes the rows of partitions of a heap table.
func (r *statement) dropRows(rel catalog.Relation, name []string, ps []sql.Property, operation string) (*DataFrame, error) {
	if err := r.partitioned(rel, name, sql.Span{}); err != nil {
		return nil, err
	}
	spec, err := r.spec(rel, name, ps)
	if err != nil {
		return nil, err
	}
	u, err := plan.MovePartition(rel.Table, ps, nil, planConf(r.s.conf))
	if err != nil {
		return nil, err
	}
	if h, ok := rel.Table.(*heap); ok && operation != "TRUNCATE TABLE" {
		h.unmakePartitions(func(p string) bool { return fits(p, spec) })
	}
	return r.done(r.s.deleteRows(r.ctx, rel, quoteParts(fullParts(rel, name)), u.Where))
}

func (s *Session) deleteRows(ctx context.Context, rel catalog.Relation, full string, where expr.Expr) error {
	ch, err := s.begin(ctx, full, rel.Table, catalog.Intent{Operation: "WRITE"})
	if err != nil {
		return err
	}
	defer ch.tx.Abort()
	if _, err := ch.deleteWhere(ctx, where); err != nil {
		return err
	}
	return ch.commit(ctx, nil)
}
