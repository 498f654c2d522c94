package engine

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// changing is a statement that removes or changes rows while it runs.
type changing struct {
	s      *Session
	tx     catalog.Transaction
	schema types.Schema // of the table
	files  []columnar.Partition
	gone   map[int]map[uint32]bool // rows that go, by file
	added  []columnar.Partition
	feed   []columnar.Partition
}

func (s *Session) begin(ctx context.Context, name string, t catalog.Table, i catalog.Intent) (*changing, error) {
	c, ok := t.(catalog.Changer)
	if !ok {
		operation := map[string]string{"UPDATE": "UPDATE TABLE", "MERGE": "MERGE INTO TABLE", "WRITE": "INSERT … REPLACE WHERE"}[i.Operation]
		if operation == "" {
			operation = i.Operation
		}
		return nil, errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", name, "operation", operation)
	}
	var err error
	if i.Tag, err = s.writeTag(); err != nil {
		return nil, err
	}
	if text := s.conf.Get(keyUserMetadata); text != "" {
		if i.Parameters == nil {
			i.Parameters = map[string]string{}
		}
		i.Parameters["userMetadata"] = text
	}
	tx, err := c.Begin(ctx, i)
	if err != nil {
		return nil, err
	}
	return &changing{s: s, tx: tx, schema: t.Schema(), files: tx.Files(), gone: map[int]map[uint32]bool{}}, nil
}

// numbered is the rows of the transaction's files with the numbers of file and row behind their columns.
type numbered struct {
	schema types.Schema
	files  []columnar.Partition
}

func (n *numbered) Schema() types.Schema { return plan.NumberedSchema(n.schema) }

func (n *numbered) Scan(context.Context, catalog.Scan) ([]columnar.Partition, error) {
	out := make([]columnar.Partition, len(n.files))
	for i, f := range n.files {
		out[i] = numberedFile{n, f, int32(i)}
	}
	return out, nil
}

type numberedFile struct {
	n    *numbered
	file columnar.Partition
	at   int32
}

func (f numberedFile) String() string { return f.file.String() }

func (f numberedFile) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		row := int64(0)
		schema := f.n.Schema()
		for rb, err := range f.file.Rows(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			n := int(rb.NumRows())
			vs := columnar.Vectors(rb, f.n.schema)
			out := make([]*columnar.Vec, 0, len(schema))
			for i := range vs {
				out = append(out, &vs[i])
			}
			file, number := columnar.NewVec(types.Of(types.Int), n), columnar.NewVec(types.Of(types.BigInt), n)
			for i := range n {
				file.I32[i], number.I64[i] = f.at, row+int64(i)
			}
			row += int64(n)
			if !yield(columnar.RecordOf(schema, append(out, file, number), columnar.AllRows(n)), nil) {
				return
			}
		}
	}
}

func (c *changing) rows() plan.Node {
	return plan.ScanOf("rows", &numbered{c.schema, c.files})
}

// inMemory makes rows that were collected readable by a plan.
func inMemory(schema types.Schema, rows []arrow.RecordBatch) plan.Node {
	return plan.ScanOf("rows", &catalog.Memory{S: schema, List: columnar.Batches{Name: "rows", List: rows}})
}

func (c *changing) collect(ctx context.Context, n plan.Node) ([]arrow.RecordBatch, error) {
	rows, _, err := c.s.collect(ctx, plan.Optimize(n))
	return rows, err
}

// remove notes the rows that two columns, of file and row numbers, name; it counts those not noted before.
func (c *changing) remove(rows []arrow.RecordBatch, schema types.Schema, file, row int) (count int64) {
	for _, rb := range rows {
		vs := columnar.Vectors(rb, schema)
		for i := range int(rb.NumRows()) {
			f, r := int(vs[file].I32[i]), uint32(vs[row].I64[i])
			if c.gone[f] == nil {
				c.gone[f] = map[uint32]bool{}
			}
			if !c.gone[f][r] {
				c.gone[f][r] = true
				count++
			}
		}
	}
	return count
}

// add notes new rows; it counts them.
func (c *changing) add(name string, rows []arrow.RecordBatch) (count int64) {
	for _, rb := range rows {
		count += rb.NumRows()
	}
	if count > 0 {
		c.added = append(c.added, columnar.Batches{Name: name, List: rows})
	}
	return count
}

// change notes rows for the change feed, if it is wanted.
func (c *changing) change(kind string, rows []arrow.RecordBatch, schema types.Schema) {
	if !c.tx.Feed() || len(rows) == 0 {
		return
	}
	out := append(append(types.Schema{}, c.schema...), types.Field{Name: "_change_type", Type: types.Of(types.String)})
	var list []arrow.RecordBatch
	for _, rb := range rows {
		vs := columnar.Vectors(rb, schema)
		cols := make([]*columnar.Vec, 0, len(out))
		for i := range c.schema {
			cols = append(cols, &vs[i])
		}
		n := int(rb.NumRows())
		word := columnar.NewVec(types.Of(types.String), n)
		for i := range n {
			word.Data = append(word.Data, kind...)
			word.Off[i+1] = int32(len(word.Data))
		}
		list = append(list, columnar.RecordOf(out, append(cols, word), columnar.AllRows(n)))
	}
	c.feed = append(c.feed, columnar.Batches{Name: kind, List: list})
}

func (c *changing) commit(ctx context.Context, metrics map[string]int64) error {
	o := catalog.Outcome{Added: c.added, Changes: c.feed, Metrics: metrics}
	for f := range c.files {
		set := c.gone[f]
		if len(set) == 0 {
			continue
		}
		d := catalog.Deletion{File: f, Rows: make([]uint32, 0, len(set))}
		for r := range set {
			d.Rows = append(d.Rows, r)
		}
		sortRows(d.Rows)
		o.Deleted = append(o.Deleted, d)
	}
	return c.tx.Commit(ctx, o)
}

func textOf(e expr.Expr) string {
	if e == nil {
		return ""
	}
	return plan.HistoryText(e)
}

func (s *Session) delete(ctx context.Context, d *plan.Delete) (*DataFrame, error) {
	c, err := s.begin(ctx, d.Name, d.Table, catalog.Intent{Operation: "DELETE", Where: plan.Predicates(d.Where, exprConf(s.conf)), Predicate: textOf(d.Where)})
	if err != nil {
		return nil, err
	}
	defer c.tx.Abort()
	n, err := c.deleteWhere(ctx, d.Where)
	if err != nil {
		return nil, err
	}
	if err := c.commit(ctx, map[string]int64{"numDeletedRows": n}); err != nil {
		return nil, err
	}
	return s.answer(d.Out, [][]any{{n}})
}

func (c *changing) deleteWhere(ctx context.Context, where expr.Expr) (int64, error) {
	old := plan.Keep(c.rows(), where)
	rows, err := c.collect(ctx, old)
	if err != nil {
		return 0, err
	}
	w := len(c.schema)
	c.change("delete", rows, old.Schema())
	return c.remove(rows, old.Schema(), w, w+1), nil
}

func (s *Session) update(ctx context.Context, u *plan.Update) (*DataFrame, error) {
	c, err := s.begin(ctx, u.Name, u.Table, catalog.Intent{Operation: "UPDATE", Where: plan.Predicates(u.Where, exprConf(s.conf)), Predicate: textOf(u.Where)})
	if err != nil {
		return nil, err
	}
	defer c.tx.Abort()
	old := plan.Keep(c.rows(), u.Where)
	before, err := c.collect(ctx, old)
	if err != nil {
		return nil, err
	}
	after, err := c.collect(ctx, plan.Fill(u.New, u.Old, c.tableRows(inMemory(old.Schema(), before))))
	if err != nil {
		return nil, err
	}
	w := len(c.schema)
	n := c.remove(before, old.Schema(), w, w+1)
	c.add("update", after)
	c.change("update_preimage", before, old.Schema())
	c.change("update_postimage", after, c.schema)
	if err := c.commit(ctx, map[string]int64{"numUpdatedRows": n}); err != nil {
		return nil, err
	}
	return s.answer(u.Out, [][]any{{n}})
}

// tableRows cuts what stands behind the table's columns off.
func (c *changing) tableRows(n plan.Node) plan.Node {
	at := make([]int, len(c.schema))
	for i := range at {
		at[i] = i
	}
	return plan.Columns(n, at...)
}

func (s *Session) merge(ctx context.Context, m *plan.Merge) (*DataFrame, error) {
	i := catalog.Intent{Operation: "MERGE", Predicate: m.OnText, Parameters: map[string]string{}}
	for k, list := range mergeTexts(m) {
		i.Parameters[k] = list
	}
	c, err := s.begin(ctx, m.Name, m.Table, i)
	if err != nil {
		return nil, err
	}
	defer c.tx.Abort()
	g := &merging{changing: c, m: m, conf: exprConf(s.conf)}
	if err := g.run(ctx); err != nil {
		return nil, err
	}
	if err := c.commit(ctx, map[string]int64{"numSourceRows": g.sources, "numTargetRowsInserted": g.inserted, "numTargetRowsUpdated": g.updated,
		"numTargetRowsDeleted": g.deleted, "numTargetRowsMatchedUpdated": g.updated - g.updatedAlone, "numTargetRowsMatchedDeleted": g.deleted - g.deletedAlone,
		"numTargetRowsNotMatchedBySourceUpdated": g.updatedAlone, "numTargetRowsNotMatchedBySourceDeleted": g.deletedAlone}); err != nil {
		return nil, err
	}
	return s.answer(m.Out, [][]any{{g.updated + g.deleted + g.inserted, g.updated, g.deleted, g.inserted}})
}

// mergeTexts are the clauses as the history of a Delta table keeps them: JSON lists by kind.
func mergeTexts(m *plan.Merge) map[string]string {
	keys := map[string]string{"MATCHED": "matchedPredicates", "NOT MATCHED": "notMatchedPredicates", "NOT MATCHED BY SOURCE": "notMatchedBySourcePredicates"}
	lists := map[string][]byte{}
	for _, k := range keys {
		lists[k] = nil
	}
	for _, c := range m.Clauses {
		key := keys[c.Kind]
		if lists[key] != nil {
			lists[key] = append(lists[key], ',')
		}
		lists[key] = append(lists[key], '{')
		if c.CondText != "" {
			lists[key] = fmt.Appendf(lists[key], `"predicate":%s,`, jsonText(c.CondText))
		}
		lists[key] = fmt.Appendf(lists[key], `"actionType":%q}`, map[string]string{"UPDATE": "update", "DELETE": "delete", "INSERT": "insert"}[c.Action])
	}
	out := map[string]string{}
	for k, l := range lists {
		out[k] = "[" + string(l) + "]"
	}
	return out
}

type merging struct {
	*changing
	m    *plan.Merge
	conf expr.Conf

	sources, inserted, updated, deleted int64
	updatedAlone, deletedAlone          int64 // of rows without a match in the source
}

func (g *merging) has(kind string) bool {
	for _, c := range g.m.Clauses {
		if c.Kind == kind {
			return true
		}
	}
	return false
}

func (g *merging) run(ctx context.Context) error {
	source, err := g.collect(ctx, g.m.Source)
	if err != nil {
		return err
	}
	schema := append(append(types.Schema{}, g.m.Source.Schema()...), types.Field{Name: "_source", Type: types.Of(types.BigInt)})
	var list []arrow.RecordBatch
	for _, rb := range source {
		n := int(rb.NumRows())
		vs := columnar.Vectors(rb, g.m.Source.Schema())
		number := columnar.NewVec(types.Of(types.BigInt), n)
		cols := make([]*columnar.Vec, 0, len(schema))
		for i := range vs {
			cols = append(cols, &vs[i])
		}
		for i := range n {
			number.I64[i] = g.sources + int64(i)
		}
		g.sources += int64(n)
		list = append(list, columnar.RecordOf(schema, append(cols, number), columnar.AllRows(n)))
	}
	src := inMemory(schema, list)
	pairs := g.m.Pairs(g.rows(), src)
	rows, err := g.collect(ctx, pairs)
	if err != nil {
		return err
	}
	ps := pairs.Schema()
	matched := make([]bool, g.sources)
	hit := map[[2]int64]bool{}
	for _, rb := range rows {
		vs := columnar.Vectors(rb, ps)
		w := len(ps)
		for i := range int(rb.NumRows()) {
			matched[vs[w-1].I64[i]] = true
			at := [2]int64{int64(vs[w-3].I32[i]), vs[w-2].I64[i]}
			if hit[at] && g.has("MATCHED") && !g.onlyDeletes() {
				return errs.New("DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE", "usageReference",
					"https://docs.delta.io/latest/delta-update.html#upsert-into-a-table-using-merge")
			}
			hit[at] = true
		}
	}
	if err := g.treat(ctx, "MATCHED", inMemory(ps, rows)); err != nil {
		return err
	}
	if g.has("NOT MATCHED") {
		alone := without(list, schema, func(vs []columnar.Vec, i int) bool { return matched[vs[len(vs)-1].I64[i]] })
		if err := g.treat(ctx, "NOT MATCHED", g.m.Unmatched(inMemory(schema, alone), true)); err != nil {
			return err
		}
	}
	if g.has("NOT MATCHED BY SOURCE") {
		t := g.rows()
		all, err := g.collect(ctx, t)
		if err != nil {
			return err
		}
		alone := without(all, t.Schema(), func(vs []columnar.Vec, i int) bool {
			return hit[[2]int64{int64(vs[len(vs)-2].I32[i]), vs[len(vs)-1].I64[i]}]
		})
		return g.treat(ctx, "NOT MATCHED BY SOURCE", g.m.Unmatched(inMemory(t.Schema(), alone), false))
	}
	return nil
}

// onlyDeletes: the one matched clause is a DELETE without condition, for which it does not matter how often
// a row matches.
func (g *merging) onlyDeletes() bool {
	n := 0
	for _, c := range g.m.Clauses {
		if c.Kind == "MATCHED" {
			n++
			if c.Action != "DELETE" || c.Cond != nil {
				return false
			}
		}
	}
	return n == 1
}

// without drops the rows for which drop holds.
func without(rows []arrow.RecordBatch, schema types.Schema, drop func(vs []columnar.Vec, i int) bool) []arrow.RecordBatch {
	var out []arrow.RecordBatch
	for _, rb := range rows {
		vs := columnar.Vectors(rb, schema)
		var idx []int32
		for i := range int(rb.NumRows()) {
			if !drop(vs, i) {
				idx = append(idx, int32(i))
			}
		}
		if len(idx) == 0 {
			continue
		}
		cols := make([]*columnar.Vec, len(vs))
		for i := range vs {
			cols[i] = &vs[i]
		}
		out = append(out, columnar.RecordOf(schema, cols, columnar.Sel{N: len(idx), Idx: idx}))
	}
	return out
}

// treat carries out the clauses of a kind over pairs: the target's columns, the source's, then, of rows that
// stand in the table, file and row numbers.
func (g *merging) treat(ctx context.Context, kind string, pairs plan.Node) error {
	if !g.has(kind) {
		return nil
	}
	chosen, err := g.m.Choose(pairs, kind, g.conf)
	if err != nil {
		return err
	}
	rows, err := g.collect(ctx, chosen)
	if err != nil {
		return err
	}
	schema := chosen.Schema()
	width := len(g.m.Pair.Out)
	front := make([]int, width)
	for i := range front {
		front[i] = i
	}
	for i, c := range g.m.Clauses {
		if c.Kind != kind {
			continue
		}
		mine := without(rows, schema, func(vs []columnar.Vec, r int) bool {
			v := vs[len(vs)-1]
			return v.I32[v.Row(r)] != int32(i)
		})
		if len(mine) == 0 {
			continue
		}
		var fresh []arrow.RecordBatch
		if c.Rows != nil {
			if fresh, err = g.collect(ctx, plan.Fill(c.Rows, g.m.Pair, plan.Columns(inMemory(schema, mine), front...))); err != nil {
				return err
			}
		}
		switch c.Action {
		case "INSERT":
			g.inserted += g.add("insert", fresh)
			g.change("insert", fresh, g.schema)
		case "UPDATE":
			n := g.remove(mine, schema, width, width+1)
			g.updated += n
			if kind != "MATCHED" {
				g.updatedAlone += n
			}
			g.add("update", fresh)
			g.change("update_preimage", mine, schema)
			g.change("update_postimage", fresh, g.schema)
		case "DELETE":
			seen := map[[2]int64]bool{}
			once := without(mine, schema, func(vs []columnar.Vec, r int) bool {
				at := [2]int64{int64(vs[width].I32[r]), vs[width+1].I64[r]}
				old := seen[at]
				seen[at] = true
				return old
			})
			n := g.remove(once, schema, width, width+1)
			g.deleted += n
			if kind != "MATCHED" {
				g.deletedAlone += n
			}
			g.change("delete", once, schema)
		}
	}
	return nil
}
