package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
)

func jsonText(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case float64:
		if x == float64(int64(x)) {
			return fmt.Sprint(int64(x))
		}
		return fmt.Sprint(x)
	case []any:
		var o []string
		for _, e := range x {
			o = append(o, jsonText(e))
		}
		return "[" + strings.Join(o, ",") + "]"
	case map[string]any:
		return "{?}"
	}
	return fmt.Sprint(v)
}

func TestScratch(t *testing.T) {
	fams := strings.Split(os.Getenv("FAM"), ",")
	for _, fam := range fams {
		raw, err := os.ReadFile("/work/shared/conformance/expressions/" + fam + ".golden.json")
		if err != nil {
			t.Skip()
		}
		var es []map[string]any
		json.Unmarshal(raw, &es)
		cat := catalog.New(nil)
		ok, bad, unk := 0, 0, 0
		for _, e := range es {
			q, isRun := e["run"].(string)
			if !isRun {
				q, _ = e["sql"].(string)
				if q == "" {
					continue
				}
				if !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(q)), "SELECT") && e["verbatim"] == nil {
					q = "SELECT " + q
				}
			}
			n, err := plan.AnalyzeText(q, cat, plan.Conf{Expr: ansi})
			if isRun {
				if err != nil {
					t.Log("RUN", q, err)
					continue
				}
				if cv, ok := n.(*plan.CreateView); ok {
					cat.Register(cv.Name, catalog.Relation{View: &catalog.View{Plan: cv.Query}})
				}
				continue
			}
			var got []string
			if err == nil {
				rbs, s, e2 := Collect(context.Background(), n, Conf{Expr: ansi})
				err = e2
				if err == nil {
					got = show(rbs, s)
				}
			}
			if ge, isErr := e["error"].(map[string]any); isErr {
				cls := ge["class"]
				if err == nil {
					bad++
					t.Logf("%s: want error %v got rows %v", q, cls, got)
				} else if x, is := err.(*errs.Error); !is || x.Condition != cls {
					unk++
				} else {
					ok++
				}
				continue
			}
			if err != nil {
				bad++
				t.Logf("%s: %v", q, strings.Split(err.Error(), "\n")[0])
				continue
			}
			var want []string
			for _, r := range e["rows"].([]any) {
				var c []string
				for _, v := range r.([]any) {
					c = append(c, jsonText(v))
				}
				want = append(want, strings.Join(c, "|"))
			}
			sort.Strings(want)
			sort.Strings(got)
			if strings.Join(want, ";") != strings.Join(got, ";") {
				if len(want) == len(got) && (strings.ContainsAny(strings.Join(want, ""), "{:Z.")) {
					unk++
					continue
				}
				bad++
				t.Logf("%s:\n   got %v\n  want %v", q, got, want)
			} else {
				ok++
			}
		}
		t.Logf("%s: ok %d bad %d unknown %d", fam, ok, bad, unk)
	}
}
