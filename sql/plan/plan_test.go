package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// TestPlans plays testdata/plans: "table name" and "stream name [watermark=(column, delay)]" define relations
// of the columns below them, "view name" a view, "plan" prints the optimised plan of a query, "check
// mode=…" what CheckStreaming says about it.
func TestPlans(t *testing.T) {
	conf := Conf{Expr: expr.Conf{Zone: time.UTC, ANSI: true}}
	datadriven.Walk(t, "testdata/plans", func(t *testing.T, path string) {
		c := catalog.New(nil)
		id := int64(0)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "table", "stream":
				s, err := types.ParseDDL(strings.ReplaceAll(d.Input, "\n", " "))
				if err != nil {
					t.Fatal(err)
				}
				name := d.CmdArgs[0].Key
				if d.Cmd == "table" {
					c.Register(name, catalog.Relation{Table: &catalog.Memory{S: s}})
					return ""
				}
				id++
				c.Register(name, catalog.Relation{Stream: catalog.NewStream(id, name, "memory", s, nil)})
				if d.HasArg("watermark") {
					var column, delay string
					d.ScanArgs(t, "watermark", &column, &delay)
					n, err := AnalyzeText("SELECT * FROM "+name, c, conf)
					if err == nil {
						n, err = WithWatermark(n, column, delay+" seconds")
					}
					if err != nil {
						t.Fatal(err)
					}
					c.Register(name, catalog.Relation{View: &catalog.View{Plan: n}})
				}
				return ""
			case "view":
				n, err := AnalyzeText(d.Input, c, conf)
				if err != nil {
					return errorText(err)
				}
				if d.HasArg("dedup") {
					var keys string
					d.ScanArgs(t, "dedup", &keys)
					if n, err = DropDuplicates(n, strings.Split(keys, "+")); err != nil {
						return errorText(err)
					}
				}
				if d.HasArg("within") {
					var keys string
					d.ScanArgs(t, "within", &keys)
					if n, err = DropDuplicatesWithinWatermark(n, strings.Split(keys, "+")); err != nil {
						return errorText(err)
					}
				}
				c.Register(d.CmdArgs[0].Key, catalog.Relation{View: &catalog.View{Plan: n}})
				return ""
			case "plan":
				n, err := AnalyzeText(d.Input, c, conf)
				if err != nil {
					return errorText(err)
				}
				o := Optimize(n)
				if why := verify(o); why != "" {
					t.Errorf("%s\n%s", why, Explain(o))
				}
				return Explain(o)
			case "check":
				n, err := AnalyzeText(d.Input, c, conf)
				if err != nil {
					return errorText(err)
				}
				var out []string
				for _, mode := range []string{"append", "update", "complete"} {
					said := "yes"
					if err := CheckStreaming(n, mode, conf); err != nil {
						e := errs.As(err)
						said = e.Condition + " " + strings.Join([]string{e.Params["operation"], e.Params["msg"]}, "")
						if len(said) > 140 {
							said = said[:140] + "…"
						}
					}
					out = append(out, mode+": "+said)
				}
				return strings.Join(out, "\n") + "\n"
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func errorText(err error) string {
	e := errs.As(err)
	if e == nil {
		return err.Error() + "\n"
	}
	var parts []string
	for _, k := range sortedKeys(e.Params) {
		parts = append(parts, k+" = "+e.Params[k])
	}
	return fmt.Sprintf("%s at %d:%d %s\n", e.Condition, e.Pos.Line, e.Pos.Col, strings.Join(parts, ", "))
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sortStrings(out)
	return out
}
