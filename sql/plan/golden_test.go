package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// recorded is one entry of a golden file of Apache Spark.
type recorded struct {
	Run      string            `json:"run"`
	SQL      string            `json:"sql"`
	Set      map[string]string `json:"set"`
	Reset    bool              `json:"reset"`
	Bind     json.RawMessage   `json:"bind"`
	Verbatim bool              `json:"verbatim"`
	Schema   string            `json:"schema"`
	Rows     json.RawMessage   `json:"rows"`
	Error    *struct {
		Class      string            `json:"class"`
		Parameters map[string]string `json:"parameters"`
		At         []int             `json:"at"`
	} `json:"error"`
}

// statement is what the recorder sends as it stands; other lines get SELECT in front.
var statement = regexp.MustCompile(`(?i)^(SELECT|WITH|VALUES|FROM|SHOW|DESCRIBE|DESC|EXPLAIN|TABLE|CREATE|DROP|ALTER|INSERT|MERGE|UPDATE|DELETE|TRUNCATE|USE|REFRESH|CACHE|UNCACHE|DECLARE|EXECUTE|BEGIN|ANALYZE|COMMENT)\b`)

// TestRecordedSchemas analyses the recorded queries and compares schemas and analysis errors with Spark's
// answers. Each family has a floor below which the number of equal answers must not fall.
func TestRecordedSchemas(t *testing.T) {
	files, _ := filepath.Glob("../../conformance/expressions/*.golden.json")
	if len(files) == 0 {
		t.Fatal("no recorded answers in conformance/expressions")
	}
	floors := map[string]int{}
	for _, line := range strings.Split(readFile(t, "testdata/floors.txt"), "\n") {
		var name string
		var n int
		if _, err := fmt.Sscanf(line, "%s %d", &name, &n); err == nil {
			floors[name] = n
		}
	}
	sort.Strings(files)
	for _, f := range files {
		family := strings.TrimSuffix(filepath.Base(f), ".golden.json")
		t.Run(family, func(t *testing.T) {
			var all []recorded
			if err := json.Unmarshal([]byte(readFile(t, f)), &all); err != nil {
				t.Fatal(err)
			}
			good, total := 0, 0
			c := catalog.New(nil)
			settings := map[string]string{}
			conf := Conf{Expr: expr.Conf{Zone: time.UTC, ANSI: true, TimeType: true},
				Get: func(k string) string { return settings[k] }}
			for _, r := range all {
				switch {
				case r.Set != nil:
					for k, v := range r.Set {
						settings[k] = v
					}
					conf.Expr.ANSI = settings["spark.sql.ansi.enabled"] != "false"
					if z, err := time.LoadLocation(settings["spark.sql.session.timeZone"]); err == nil {
						conf.Expr.Zone = z
					}
					continue
				case r.Reset:
					clear(settings)
					conf.Expr = expr.Conf{Zone: time.UTC, ANSI: true, TimeType: true}
					continue
				case r.Bind != nil:
					conf.Params, conf.Positional = bound(r.Bind)
					continue
				}
				if r.Run != "" {
					runFor(c, conf, r.Run)
					continue
				}
				total++
				if why := compare(c, conf, r); why == "" {
					good++
				} else if testing.Verbose() {
					t.Logf("%s\n      %s", r.SQL, why)
				}
			}
			t.Logf("%s %d of %d", family, good, total)
			if good < floors[family] {
				t.Errorf("%d of %d answers are Spark's, and were %d", good, total, floors[family])
			}
		})
	}
}

func readFile(t *testing.T, name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// runFor carries out CREATE TEMP VIEW; other statements do not matter for analysis.
func runFor(c *catalog.Catalog, conf Conf, text string) {
	n, err := AnalyzeText(text, c, conf)
	if err != nil {
		return
	}
	switch v := n.(type) {
	case *CreateView:
		c.RegisterView(v.Parts[len(v.Parts)-1], v.View)
	case *CreateTable:
		c.Put("default", v.Parts[len(v.Parts)-1], catalog.Relation{Table: &catalog.Memory{S: v.Def.Columns}})
	case *Raw:
		if d, ok := v.Stmt.(*sql.Drop); ok {
			c.Remove(d.Name)
		}
	}
}

func compare(c *catalog.Catalog, conf Conf, r recorded) (why string) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprint("panic: ", p)
		}
	}()
	if !r.Verbatim && !statement.MatchString(r.SQL) {
		r.SQL = "SELECT " + r.SQL
	}
	stmts, err := sql.Parse(r.SQL)
	var n Node
	if err == nil {
		conf.Text = r.SQL
		n, err = Analyze(stmts[0], c, conf)
	}
	if err == nil {
		if _, isQuery := stmts[0].(*sql.Query); !isQuery {
			runFor(c, conf, r.SQL)
		}
	}
	if r.Error != nil && r.Schema == "" {
		if err == nil {
			if strings.HasPrefix(r.Error.Class, "CAST_") || r.Error.Class == "" || strings.HasPrefix(r.Error.Class, "ARITHMETIC") {
				return ""
			}
			return "no error, want " + r.Error.Class
		}
		e := errs.As(err)
		if e == nil || e.Condition != r.Error.Class {
			return "error " + err.Error() + ", want " + r.Error.Class
		}
		for k, v := range r.Error.Parameters {
			if k == "plan" || k == "treeNode" || k == "classCanonicalName" || strings.Contains(v, "#") {
				continue
			}
			if e.Params[k] != v {
				return fmt.Sprintf("%s: %s is %q, want %q", e.Condition, k, e.Params[k], v)
			}
		}
		if len(r.Error.At) == 2 && !e.Pos.IsZero() && (e.Pos.Line != r.Error.At[0] || e.Pos.Col != r.Error.At[1]+1) {
			return fmt.Sprintf("%s: at %d:%d, want %v", e.Condition, e.Pos.Line, e.Pos.Col-1, r.Error.At)
		}
		return ""
	}
	if err != nil {
		return "error " + err.Error()
	}
	if why := verify(n); why != "" {
		return "analysed: " + why
	}
	o := Optimize(n)
	if why := verify(o); why != "" {
		return "optimised: " + why + "\n" + Explain(n) + Explain(o)
	}
	if !o.Schema().Equal(n.Schema()) {
		return "optimising changed the schema to " + o.Schema().Simple()
	}
	if got := n.Schema().Simple(); r.Schema != "" && got != r.Schema {
		return "schema " + got + "\n want " + r.Schema
	}
	return ""
}

// bound turns recorded parameters into literals.
func bound(raw json.RawMessage) (named map[string]expr.Expr, positional []expr.Expr) {
	lit := func(v any) expr.Expr {
		switch x := v.(type) {
		case bool:
			return expr.BoolLit(x)
		case string:
			return expr.StringLit(x)
		case float64:
			if x == float64(int32(x)) {
				return expr.IntLit(int32(x))
			}
			return expr.DoubleLit(x)
		}
		return expr.NullLit(types.Of(types.Null))
	}
	var m map[string]any
	if json.Unmarshal(raw, &m) == nil {
		named = map[string]expr.Expr{}
		for k, v := range m {
			named[k] = lit(v)
		}
		return
	}
	var l []any
	_ = json.Unmarshal(raw, &l)
	for _, v := range l {
		positional = append(positional, lit(v))
	}
	return
}

// verify checks that every column of every expression is what the child has at its position, and that
// nothing of analysis is left.
func verify(n Node) string {
	for _, c := range n.Children() {
		if why := verify(c); why != "" {
			return why
		}
	}
	cs := n.Children()
	why := ""
	mapExprs(n, func(e expr.Expr, right bool) expr.Expr {
		if e == nil {
			return e
		}
		expr.Walk(e, func(x expr.Expr) bool {
			switch c := x.(type) {
			case *expr.Column:
				var s = cs[0].Schema()
				if right {
					s = cs[1].Schema()
				} else if len(cs) == 2 {
					s = append(append(s[:len(s):len(s)], cs[1].Schema()...), s[:0]...)
				}
				if c.Index >= len(s) {
					why = fmt.Sprintf("%s: %s#%d of %d columns", describe(n), c, c.Index, len(s))
				} else if !s[c.Index].Type.Equal(c.Field.Type) {
					why = fmt.Sprintf("%s: %s#%d is %s, expected %s", describe(n), c, c.Index, s[c.Index].Type, c.Field.Type)
				}
			case *named, *outerRef, *subquery, *generator, *groupingCall, *eventTime, *WindowCall:
				why = fmt.Sprintf("%s: %T is left", describe(n), x)
			}
			return true
		})
		return e
	})
	if p, ok := n.(*Project); ok && len(p.Exprs) != len(p.Out) {
		why = "Project: exprs and schema differ"
	}
	if a, ok := n.(*Aggregate); ok && len(a.Keys)+len(a.Calls) != len(a.Out) {
		why = "Aggregate: keys and calls and schema differ"
	}
	return why
}
