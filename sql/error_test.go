package sql

import (
	"strings"
	"testing"
	"time"

	"streamlab/errs"
)

// TestErrors pins what a user sees: condition, place, offending token, hint.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"SELEC 1", "PARSE_SYNTAX_ERROR 1:1+5 'SELEC' Did you mean SELECT?"},
		{"SELECT 1 FRM t", "PARSE_SYNTAX_ERROR 1:14+1 't': extra input 't' Did you mean FROM?"},
		{"SELECT a\n  FROM t\n WEHRE a = 1", "PARSE_SYNTAX_ERROR 3:8+1 'a' Did you mean WHERE?"},
		{"SELECT 'ä', 'ü' FRM t", "PARSE_SYNTAX_ERROR 1:21+1 't': extra input 't' Did you mean FROM?"},
		{"SELECT id, CASE WHEN id = 1 THN 'x' END", "PARSE_SYNTAX_ERROR 1:22+2 'id' Did you mean THEN?"},
		{"SELECT a FROM t GROPU BY a", "PARSE_SYNTAX_ERROR 1:23+2 'BY' Did you mean GROUP?"},
		{"SELECT 'abc", "PARSE_SYNTAX_ERROR 1:8+1 ''' The quote is not closed."},
		{"SELECT 1, FROM t", "TRAILING_COMMA_IN_SELECT 1:11+4 Remove the comma."},
		{"SELECT * FROM my-table", "INVALID_IDENTIFIER 1:17+1 Write `my-table` in back quotes."},
		{"SELECT a IN ()", "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE 1:10+2 Give at least one value; for a condition that is always false write false."},
		{"SELECT /* x", "UNCLOSED_BRACKETED_COMMENT 1:8+4 Write */ at its end."},
		{" -- only a comment", "PARSE_EMPTY_STATEMENT 1:1+1 "},
		{"DELETE t", "PARSE_SYNTAX_ERROR 1:8+1 't': missing 'FROM' Expected FROM."},
		{"LOAD DATA INPATH 'x' INTO TABLE t", "UNSUPPORTED_FEATURE.STREAMLAB 1:1+9 Insert from a query over the files."},
		{"GRANT SELECT ON t TO u", "INVALID_STATEMENT_OR_CLAUSE 1:1+5 "},
		{"SELECT TRANSFORM(a) USING 'cat' FROM t", "UNSUPPORTED_FEATURE.STREAMLAB 1:8+9 Write the change as SQL expressions."},
		{"CREATE TABLE t (a INT) STORED AS orc", "UNSUPPORTED_FEATURE.STREAMLAB 1:24+6 Use USING with a format."},
		{"MERGE INTO t USING s ON t.a = s.a", "MERGE_WITHOUT_WHEN 1:1+33 "},
		{"WITH a AS (SELECT 1), A AS (SELECT 2) SELECT 1", "DUPLICATED_CTE_NAMES 1:1+4 "},
		{"SELECT 1; SELECT", "PARSE_SYNTAX_ERROR 1:17+1 end of input "},
	} {
		_, err := Parse(c.text)
		e := errs.As(err)
		if e == nil {
			t.Errorf("%s parses", c.text)
			continue
		}
		got := e.Condition + " " + e.Pos.String() + "+" + itoa(e.Pos.Length) + " "
		if s := e.Params["error"]; s != "" {
			got += s + e.Params["hint"] + " "
		}
		if got += e.Hint; got != c.want {
			t.Errorf("%s\n\tgot  %s\n\twant %s", c.text, got, c.want)
		}
		if lines := strings.Split(c.text, "\n"); e.Excerpt != lines[e.Pos.Line-1] {
			t.Errorf("%s: excerpt %q", c.text, e.Excerpt)
		}
		if strings.Contains(e.Error(), "<") {
			t.Errorf("%s: unfilled message %s", c.text, e.Error())
		}
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// TestDepth: nesting of every kind ends in an error and not in a full stack, and in little time.
func TestDepth(t *testing.T) {
	const n = 20_000
	start := time.Now()
	for _, c := range []struct{ open, mid, close string }{
		{"SELECT " + strings.Repeat("(", n), "1", strings.Repeat(")", n)},
		{"SELECT " + strings.Repeat("-", 1) + strings.Repeat(" -", n), "a", ""},
		{"SELECT " + strings.Repeat("NOT ", n), "a", ""},
		{"SELECT " + strings.Repeat("f(", n), "1", strings.Repeat(")", n)},
		{"SELECT " + strings.Repeat("CASE WHEN ", n), "1", strings.Repeat(" THEN 1 END", n)},
		{"SELECT " + strings.Repeat("a[", n), "1", strings.Repeat("]", n)},
		{strings.Repeat("SELECT * FROM (", n), "SELECT 1", strings.Repeat(")", n)},
		{strings.Repeat("(", n), "SELECT 1", strings.Repeat(")", n)},
		{"SELECT * FROM " + strings.Repeat("(", n), "a", strings.Repeat(")", n)},
		{"SELECT CAST(a AS " + strings.Repeat("ARRAY<", n), "INT", strings.Repeat(">", n) + ")"},
		{"SELECT " + strings.Repeat("x -> ", n), "1", ""},
		{strings.Repeat("EXPLAIN ", n), "SELECT 1", ""},
		{"SELECT a", strings.Repeat("::INT", n), ""},
		{"SELECT * FROM a", strings.Repeat(" JOIN a", n), ""},
		{"SELECT 1", strings.Repeat(" + 1", n), ""},
		{"SELECT a", strings.Repeat(" = a", n), ""},
		{"SELECT 1", strings.Repeat(" UNION SELECT 1", n), ""},
		{"FROM t", strings.Repeat(" |> WHERE a UNION TABLE t", n), ""},
		{"SELECT * FROM ((SELECT * FROM (" + strings.Repeat("(SELECT * FROM ((", 40), "SELECT 1", strings.Repeat(") a JOIN b) x", 40)},
	} {
		_, err := Parse(c.open + c.mid + c.close)
		if e := errs.As(err); e == nil || e.Condition != "FAILED_TO_PARSE_TOO_COMPLEX" && e.Condition != "PARSE_SYNTAX_ERROR" {
			t.Errorf("%.60s: %v", c.open, err)
		}
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
	// Long is not deep.
	long := "SELECT a FROM t WHERE " + strings.Repeat("a = 1 OR ", 20_000) + "b"
	if q, err := ParseQuery(long); err != nil {
		t.Error(err)
	} else if Format(q) != long {
		t.Error("a long condition is written in another way")
	}
}

// FuzzParse: no text makes the parser or the formatter fail in another way than by an error, every place is
// inside the text, and what is read is written so that it reads back the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"SELECT 1", "SELECT a.b[0]::INT, x -> x + 1 FROM t |> WHERE a", "((SELECT 1), 2)", "SELECT '\\\\%' \"a\" r'\\'",
		"MERGE INTO t USING s ON a WHEN MATCHED THEN DELETE", "SELECT * FROM STREAM t WATERMARK a DELAY OF INTERVAL 1 DAY", "CREATE TABLE t (a INT)",
		"SELECT /*+ b(t) */ case when from then to end", "SELECT `", "SELECT 1 /*", "SELECT INTERVAL -", "SET a = b", "SELECT -1 .a, - -1, a:b.c",
		"VALUES (1), ((2, 3)), (SELECT 1)", "SELECT 1 AS", "SELECT * FROM a LEFT", "FROM t |> UNION |> INTERSECT", "SELECT trim(both from a)",
		"SELECT cast(a as struct<a: int, `b`: array<int>>)", "SELECT ? || ?", "SELECT :a, ?", "\xff\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stmts, err := Parse(text)
		if err != nil {
			e := errs.As(err)
			if e == nil || e.SQLState == "" && !strings.HasPrefix(e.Condition, "_LEGACY") {
				t.Fatalf("%v", err)
			}
			if lines := strings.Count(text, "\n") + 1; e.Pos.Line < 1 || e.Pos.Line > lines {
				t.Fatalf("%v is not in the text", e.Pos)
			}
			return
		}
		for _, st := range stmts {
			if s := st.Pos(); s.Start < 0 || s.End > len(text) || s.End < s.Start {
				t.Fatalf("span %v", s)
			}
		}
		roundTrip(t, text, Options{})
	})
}
