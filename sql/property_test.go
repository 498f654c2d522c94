package sql

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Random statements: what Format writes of a tree has to read back as the same tree.

func drawExpr(t *rapid.T, depth int) string {
	one := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "one") }
	if depth <= 0 {
		return one("a", "t.b", "`x y`", "s.f.g", "1", "-2", "3L", "1.50", "2e3", "4Y", "1.5BD", "'it''s'", "'a\\nb'", "NULL", "TRUE", "X'1f'",
			"DATE '2020-01-02'", "TIMESTAMP '2020-01-02 03:04:05'", "INTERVAL '1' DAY", "INTERVAL '1-2' YEAR TO MONTH", ":p", "current_date",
			"INTERVAL 3 HOURS 2 MINUTES", "select", "`from`", "interval", "case", "date")
	}
	sub := func() string { return drawExpr(t, depth-rapid.IntRange(1, 2).Draw(t, "down")) }
	switch rapid.IntRange(0, 20).Draw(t, "kind") {
	case 0, 1, 2:
		return "(" + sub() + ") " + one("+", "-", "*", "/", "%", "DIV", "||", "&", "|", "^", "<<", ">>", ">>>") + " (" + sub() + ")"
	case 3, 4:
		return "(" + sub() + ") " + one("=", "<>", "<", "<=", ">", ">=", "<=>", "AND", "OR") + " (" + sub() + ")"
	case 5:
		return one("NOT", "-", "+", "~") + " (" + sub() + ")"
	case 6:
		return "(" + sub() + ") " + one("", "NOT ") + "BETWEEN (" + sub() + ") AND (" + sub() + ")"
	case 7:
		return "(" + sub() + ") " + one("", "NOT ") + "IN (" + sub() + ", " + sub() + ")"
	case 8:
		return "(" + sub() + ") " + one("", "NOT ") + one("LIKE", "ILIKE", "RLIKE") + " 'a%'" + one("", "", " ")
	case 9:
		return "(" + sub() + ") IS " + one("", "NOT ") + one("NULL", "TRUE", "FALSE", "UNKNOWN")
	case 10:
		return "CASE WHEN " + sub() + " THEN " + sub() + one("", " ELSE "+sub()) + " END"
	case 11:
		return "CASE (" + sub() + ") WHEN " + sub() + " THEN " + sub() + " END"
	case 12:
		return one("CAST", "TRY_CAST") + "(" + sub() + " AS " + drawType(t, 2) + ")"
	case 13:
		return one("f", "upper", "date_add", "`my f`", "cat.f") + "(" + sub() + one("", ", "+sub()) + ")"
	case 14:
		return one("sum", "count") + "(" + one("", "DISTINCT ") + sub() + ")" + one("", " FILTER (WHERE "+sub()+")")
	case 15:
		return "rank() OVER (" + one("", "PARTITION BY "+sub()+" ") + "ORDER BY " + sub() + one("", " DESC", " NULLS LAST") +
			one("", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW") + ")"
	case 16:
		return "transform(" + sub() + ", x -> " + sub() + ")"
	case 17:
		return "(" + sub() + ")[" + sub() + "]"
	case 18:
		return one("(SELECT "+sub()+")", "EXISTS (SELECT "+sub()+" FROM t)", "("+sub()+") IN (SELECT a FROM t)")
	case 19:
		return one("EXTRACT(DAY FROM "+sub()+")", "SUBSTRING("+sub()+" FROM 1 FOR 2)", "TRIM(BOTH 'x' FROM "+sub()+")", "POSITION('a' IN "+sub()+")",
			"OVERLAY("+sub()+" PLACING 'x' FROM 2)", "DATEADD(DAY, 1, "+sub()+")")
	}
	return one("STRUCT("+sub()+" AS k)", "("+sub()+", "+sub()+")", "("+sub()+").fld", "("+sub()+")::INT", "f(nm => "+sub()+")")
}

func drawType(t *rapid.T, depth int) string {
	one := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "type") }
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "plain") > 0 {
		return one("INT", "BIGINT", "STRING", "DECIMAL(10,2)", "TIMESTAMP_NTZ", "INTERVAL DAY TO SECOND", "BOOLEAN", "VARCHAR(5)", "VARIANT")
	}
	return one("ARRAY<"+drawType(t, depth-1)+">", "MAP<STRING, "+drawType(t, depth-1)+">", "STRUCT<a: "+drawType(t, depth-1)+", `b c`: INT>")
}

func drawQuery(t *rapid.T) string {
	one := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "part") }
	var items []string
	for range rapid.IntRange(1, 3).Draw(t, "items") {
		items = append(items, drawExpr(t, rapid.IntRange(0, 3).Draw(t, "depth"))+one("", " AS k", " AS `a b`"))
	}
	from := one("", " FROM t", " FROM t AS u JOIN v ON u.a = v.a", " FROM (SELECT 1 AS a) AS q", " FROM VALUES (1, 'x'), (2, NULL) AS w(a, b)", " FROM range(3)",
		" FROM a LEFT JOIN b USING (k)", " FROM t LATERAL VIEW explode(arr) AS e")
	if from == "" {
		return "SELECT " + strings.Join(items, ", ")
	}
	return "SELECT " + one("", "DISTINCT ") + strings.Join(items, ", ") + from + one("", " WHERE "+drawExpr(t, 2)) + one("", " GROUP BY a", " GROUP BY ROLLUP (a, b)") +
		one("", " HAVING a") + one("", " ORDER BY a DESC", " ORDER BY 1 NULLS LAST") + one("", " LIMIT 5") + one("", " OFFSET 1")
}

func TestFormattedStatementsReadBack(t *testing.T) {
	read := 0
	for runs := 0; read < 1000 && runs < 300; runs++ { // a run of rapid is 100 cases, or what -short leaves of them
		rapid.Check(t, func(r *rapid.T) {
			text := drawQuery(r)
			first, err := ParseStatement(text)
			if err != nil { // the words that are names by luck may not fit together
				return
			}
			read++
			shown := Format(first)
			again, err := ParseStatement(shown)
			if err != nil {
				r.Fatalf("%s\nis written %s\n%v", text, shown, err)
			}
			bare(first)
			bare(again)
			if !reflect.DeepEqual(first, again) {
				r.Fatalf("%s\nis written %s\nand then   %s", text, shown, Format(again))
			}
		})
	}
	if read < 1000 {
		t.Fatalf("only %d statements could be read", read)
	}
	t.Logf("%d statements", read)
}
