package engine

import (
	"context"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// command carries out an analysed statement. A query is not run: it becomes a DataFrame.
func (s *Session) command(ctx context.Context, n plan.Node) (*DataFrame, error) {
	switch c := n.(type) {
	case *plan.CreateView:
		return s.createView(c)
	case *plan.CreateTable:
		return s.createTable(ctx, c)
	case *plan.CreateFunction:
		return s.createFunction(c)
	case *plan.CacheTable:
		return s.cacheTable(ctx, c)
	case *plan.Insert:
		return s.insert(ctx, c)
	case *plan.InsertDirectory:
		w := (&DataFrame{s: s, node: c.Query}).Write().Format(c.Using).Mode("overwrite").Options(c.Options)
		if err := w.Save(ctx, c.Path); err != nil {
			return nil, err
		}
		return s.answer(nil, nil)
	case *plan.Update:
		return s.update(ctx, c)
	case *plan.Delete:
		return s.delete(ctx, c)
	case *plan.Merge:
		return s.merge(ctx, c)
	case *plan.Declare:
		return s.declare(ctx, c)
	case *plan.SetVariable:
		return s.setVariable(ctx, c)
	case *plan.Execute:
		return s.execute(ctx, c)
	case *plan.Set:
		return s.set(c)
	case *plan.Reset:
		return s.reset(c)
	case *plan.DescribeQuery:
		return s.answer(describeSchema, columnRows(c.Target))
	case *plan.Explained:
		return s.answer(types.Schema{text("plan")}, [][]any{{plan.Explain(plan.Optimize(c.Query))}})
	case *plan.Raw:
		r := &statement{s: s, ctx: ctx, text: c.Text}
		return r.run(c.Stmt)
	}
	return &DataFrame{s: s, node: n}, nil
}

// statement is one whose names are looked up while it is carried out.
type statement struct {
	s    *Session
	ctx  context.Context
	text string // of all, for places of errors
}

// fail makes an error at a part of the text.
func (r *statement) fail(at sql.Span, condition string, params ...any) error {
	e := errs.New(condition, params...)
	if r.text == "" || at.End == 0 {
		return e
	}
	pos, line := sql.Place(r.text, at)
	return e.At(pos).WithExcerpt(line)
}

func (r *statement) none() (*DataFrame, error) { return r.s.answer(nil, nil) }

// done is the answer of a statement that gives no rows, unless it failed.
func (r *statement) done(err error) (*DataFrame, error) {
	if err != nil {
		return nil, err
	}
	return r.none()
}

func (r *statement) run(st sql.Statement) (*DataFrame, error) {
	switch c := st.(type) {
	case *sql.Drop:
		return r.drop(c)
	case *sql.Show:
		return r.show(c)
	case *sql.Describe:
		return r.describe(c)
	case *sql.Command:
		return r.command(c)
	}
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "This statement")
}

func (r *statement) command(c *sql.Command) (*DataFrame, error) {
	switch d := c.Detail.(type) {
	case *sql.CreateSchema:
		return r.createSchema(c, d)
	case *sql.AlterSchema:
		return r.alterSchema(c, d)
	case *sql.Alter:
		return r.alter(c, d)
	case *sql.CommentOn:
		return r.comment(c, d)
	case *sql.Optimize:
		return r.optimize(c, d)
	case *sql.Convert:
		return r.convert(c, d)
	case *sql.Vacuum:
		return r.vacuum(c, d)
	case *sql.Restore:
		return r.restore(c, d)
	case *sql.Analyze:
		return r.analyze(c, d)
	case *sql.Truncate:
		return r.truncate(c, d)
	}
	switch c.Kind {
	case "USE":
		return r.use(c)
	case "CACHE":
		_, err := r.relation(c.Name, c.NameSpan, plan.SearchPath(r.s.catalog))
		return r.done(err)
	case "UNCACHE":
		if c.IfExists {
			return r.none()
		}
		_, err := r.relation(c.Name, c.NameSpan, plan.SearchPath(r.s.catalog))
		return r.done(err)
	case "REFRESH":
		if c.Path != "" {
			return r.none()
		}
		_, err := r.relation(c.Name, c.NameSpan, plan.CommandPath(r.s.catalog))
		return r.done(err)
	case "REFRESH FUNCTION":
		if _, ok := r.s.catalog.Function(c.Name); !ok {
			return nil, errs.New("ROUTINE_NOT_FOUND", "routineName", r.routine(c.Name, false))
		}
		return r.none()
	case "CLEAR CACHE":
		return r.none()
	}
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "The statement "+c.Kind)
}

// relation finds what a name stands for; path is what an error shows as searched.
func (r *statement) relation(parts []string, at sql.Span, path string) (catalog.Relation, error) {
	if rel, ok := r.s.catalog.Find(parts); ok {
		if f, fresh := rel.Table.(catalog.Fresh); fresh {
			var err error
			rel.Table, err = f.Resolve()
			return rel, err
		}
		return rel, nil
	}
	if len(parts) == 2 {
		if t, ok, err := r.s.catalog.File(parts[0], parts[1]); ok {
			return catalog.Relation{Name: parts[1], Table: t}, err
		}
	}
	return catalog.Relation{}, r.fail(at, "TABLE_OR_VIEW_NOT_FOUND", "relationName", quoteParts(parts), "searchPath", path)
}

// table finds a table; operation is what a view is refused with.
func (r *statement) table(parts []string, at sql.Span, operation string) (catalog.Relation, error) {
	rel, err := r.relation(parts, at, plan.CommandPath(r.s.catalog))
	if err == nil && rel.Table == nil {
		err = r.fail(at, "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE", "viewName", quoteParts(fullParts(rel, parts)), "operation", operation)
	}
	return rel, err
}

// fullParts is the name of a relation with catalog and database; temporary ones as they were written.
func fullParts(rel catalog.Relation, parts []string) []string {
	if rel.Temporary || rel.Database == "" {
		return parts
	}
	return []string{"spark_catalog", rel.Database, rel.Name}
}

func quoteParts(parts []string) string {
	b := []byte{}
	for i, p := range parts {
		if i > 0 {
			b = append(b, '.')
		}
		b = append(b, types.Quote(p)...)
	}
	return string(b)
}

func comment(f types.Field) any {
	if c, ok := f.Metadata[catalog.Comment]; ok {
		return c
	}
	return nil
}

func text(name string) types.Field { return types.Field{Name: name, Type: types.Of(types.String)} }

func nullable(name string) types.Field {
	return types.Field{Name: name, Type: types.Of(types.String), Nullable: true}
}

// answer is a DataFrame of constant rows.
func (s *Session) answer(schema types.Schema, rows [][]any) (*DataFrame, error) {
	v := &plan.Values{Out: schema}
	if len(rows) > 0 {
		rb, err := s.InlineRows(schema, rows)
		if err != nil {
			return nil, err
		}
		v.Rows = []arrow.RecordBatch{rb}
	}
	return &DataFrame{s: s, node: v}, nil
}

// sortedKeys lists the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
