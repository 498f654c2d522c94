package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/text/collate"

	"streamlab/columnar"
	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// collationsOf is the table function collations(): a row for each name of a collation, in the order of locales.
// ICU_VERSION is the version of the locale data that texts are compared by; Spark's is newer.
func (a *analyzer) collationsOf(f *sql.FuncCall) Node {
	if len(f.Args) > 0 {
		a.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", "`collations`", "expectedNum", 0, "actualNum", len(f.Args), "docroot", docroot)
	}
	var out types.Schema
	for _, n := range []string{"CATALOG", "SCHEMA", "NAME", "LANGUAGE", "COUNTRY", "ACCENT_SENSITIVITY", "CASE_SENSITIVITY", "PAD_ATTRIBUTE", "ICU_VERSION"} {
		out = append(out, types.Field{Name: n, Type: types.Of(types.String), Nullable: len(out) > 2})
	}
	cols := make([]*columnar.Vec, len(out))
	apps := make([]*expr.Appender, len(out))
	for i := range out {
		cols[i] = &columnar.Vec{Type: out[i].Type}
		apps[i] = expr.NewAppender(cols[i])
	}
	n := 0
	add := func(c types.Collation, l types.CollationLocale) {
		sensitive := func(no bool, what string) string {
			if no {
				return what + "_INSENSITIVE"
			}
			return what + "_SENSITIVE"
		}
		pad, version := "NO_PAD", ""
		if c.Trim {
			pad = "RTRIM"
		}
		if c.Locale != "" {
			version = collate.CLDRVersion
		}
		for i, s := range []string{"SYSTEM", "BUILTIN", c.Name, l.Language, l.Country, sensitive(c.NoMarks, "ACCENT"),
			sensitive(c.NoCase || c.Lower, "CASE"), pad, version} {
			if s == "" {
				apps[i].AppendNull()
			} else {
				apps[i].AppendBytes([]byte(s))
			}
		}
		n++
	}
	named := func(name string, l types.CollationLocale) {
		if c, err := types.CollationOf(name); err == nil {
			add(c, l)
		}
	}
	for _, name := range []string{"UTF8_BINARY", "UTF8_BINARY_RTRIM", "UTF8_LCASE", "UTF8_LCASE_RTRIM"} {
		named(name, types.CollationLocale{})
	}
	for _, l := range types.CollationLocales {
		for _, m := range []string{"", "_RTRIM", "_AI", "_AI_RTRIM", "_CI", "_CI_RTRIM", "_CI_AI", "_CI_AI_RTRIM"} {
			named(l.Name+m, l)
		}
	}
	for _, p := range apps {
		p.Finish()
	}
	return &Values{Out: out, Rows: []arrow.RecordBatch{columnar.Record(out.Arrow(), cols, columnar.AllRows(n))}}
}
