package sql

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"streamlab/errs"
)

// recordedAnswer is one entry of a recorded family of expressions: what was asked of Spark, and its error.
type recordedAnswer struct {
	SQL      *string         `json:"sql"`
	Run      string          `json:"run"`
	Verbatim bool            `json:"verbatim"`
	Set      map[string]any  `json:"set"`
	Reset    json.RawMessage `json:"reset"`
	Error    *struct {
		Class      string            `json:"class"`
		SQLState   string            `json:"sqlState"`
		Parameters map[string]string `json:"parameters"`
		At         []int             `json:"at"`
	} `json:"error"`
}

// text is what Spark was given; it knows a statement from an expression by the first word.
func (a *recordedAnswer) text() string {
	text := *a.SQL
	if a.Verbatim {
		return text
	}
	first := strings.ToUpper(strings.TrimLeft(text, "( \n"))
	for _, w := range []string{"SELECT", "WITH", "VALUES", "FROM", "TABLE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "CREATE", "DROP", "ALTER",
		"INSERT", "MERGE", "UPDATE", "DELETE", "TRUNCATE", "USE", "SET", "RESET", "CACHE", "UNCACHE", "REFRESH", "CLEAR", "COMMENT", "OPTIMIZE",
		"VACUUM", "RESTORE", "ANALYZE", "DECLARE", "EXECUTE"} {
		if rest, ok := strings.CutPrefix(first, w); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\n' || rest[0] == '(' && w == "VALUES") {
			if strings.HasPrefix(text, "(") && strings.Contains(text, "), ") {
				return "SELECT " + text
			}
			return text
		}
	}
	return "SELECT " + text
}

// recorded calls f for every recorded statement under the settings it was asked with.
func recorded(t *testing.T, f func(family string, a *recordedAnswer, o Options)) {
	t.Helper()
	files, err := filepath.Glob("../conformance/expressions/*.golden.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded expressions", err)
	}
	total := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var answers []recordedAnswer
		if err := json.Unmarshal(data, &answers); err != nil {
			t.Fatal(file, err)
		}
		o := Options{}
		for i := range answers {
			a := &answers[i]
			on := func(key string, is *bool) {
				if v, ok := a.Set[key]; ok {
					*is = v == "true"
				}
			}
			on("spark.sql.ansi.enforceReservedKeywords", &o.EnforceReserved)
			on("spark.sql.ansi.doubleQuotedIdentifiers", &o.DoubleQuotedIdentifiers)
			on("spark.sql.parser.escapedStringLiterals", &o.EscapedStringLiterals)
			on("spark.sql.legacy.setopsPrecedence.enabled", &o.LegacySetOps)
			if a.Reset != nil {
				o = Options{}
			}
			if a.Run != "" {
				a.SQL, a.Verbatim = &a.Run, true
			}
			if a.SQL != nil {
				total++
				f(strings.TrimSuffix(filepath.Base(file), ".golden.json"), a, o)
			}
		}
	}
	if total < 1000 {
		t.Fatalf("read %d statements only", total)
	}
}

// parserConditions are those that Spark's parser raises and ours has to; others belong to the analyzer.
func parserCondition(condition string) bool {
	switch condition {
	case "TRAILING_COMMA_IN_SELECT", "UNCLOSED_BRACKETED_COMMENT", "INVALID_IDENTIFIER", "INVALID_STATEMENT_OR_CLAUSE", "UNSUPPORTED_TYPED_LITERAL",
		"DUPLICATED_CTE_NAMES", "INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE", "_LEGACY_ERROR_TEMP_0035", "_LEGACY_ERROR_TEMP_0046",
		"UNSUPPORTED_FEATURE.CHANGE_DATA_CAPTURE", "UNSUPPORTED_FEATURE.CREATE_PIPELINE_DATASET_QUERY_EXECUTION",
		"UNSUPPORTED_FEATURE.CLAUSE_WITH_PIPE_OPERATORS", "UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE",
		"PARSE_SYNTAX_ERROR", "PARSE_EMPTY_STATEMENT":
		return true
	}
	return false
}

// laterErrors are parse errors of Spark that streamlab finds in another phase, or not at all.
var laterErrors = map[string]string{
	"EXECUTE IMMEDIATE 'SELEC 1'":                   "the inner text is read when it is run",
	"SELECT l IN (SELECT 'A') FROM c WHERE a = 'a'": "Spark takes the name of a column for a type before a text",
}

// schemaReader finds functions whose schema, a text, is read by the analyzer.
var schemaReader = regexp.MustCompile(`(?i)\bfrom_(json|csv|xml)\(`)

// refusedTexts use syntax of Spark that streamlab refuses by name.
var refusedTexts = map[string]bool{
	"CREATE TEMPORARY VIEW fv USING parquet": true,
	"SELECT typeof(cast('a' AS VARCHAR(3) COLLATE UTF8_LCASE)), typeof(cast('a' AS CHAR(3) COLLATE UTF8_LCASE))": true,
	"CREATE FUNCTION nosuch AS 'com.example.Nope'":                                                               true,
}

// TestRecorded parses every recorded statement: what Spark read must be read here, what its parser refused
// must be refused with the same condition, and for the kinds of places that must agree at the same place.
func TestRecorded(t *testing.T) {
	recorded(t, func(family string, a *recordedAnswer, o Options) {
		if laterErrors[*a.SQL] != "" {
			return
		}
		text := a.text()
		_, err := o.ParseStatement(text)
		got := errs.As(err)
		if got != nil && got.Condition == "UNSUPPORTED_FEATURE.STREAMLAB" {
			return // refused by name: the list of exceptions has it
		}
		want := ""
		if a.Error != nil && parserCondition(a.Error.Class) {
			want = a.Error.Class
		}
		switch {
		case got == nil && (want == "" || schemaReader.MatchString(text)):
		case got == nil:
			t.Errorf("%s: %s\n\tparses, want %s", family, text, want)
		case want == "":
			if (a.Error == nil || a.Error.Class != got.Condition) && !refusedTexts[text] {
				t.Errorf("%s: %s\n\t%v", family, text, err)
			}
		case got.Condition != want || got.SQLState != a.Error.SQLState:
			t.Errorf("%s: %s\n\t%v, want %s", family, text, err, want)
		default:
			samePlace(t, family, text, a, got)
		}
	})
}

// samePlace compares place and parameters where they have to agree: at the end of input, for extra input and
// unclosed quotes.
func samePlace(t *testing.T, family, text string, a *recordedAnswer, got *errs.Error) {
	t.Helper()
	w := a.Error.Parameters
	exact := a.Error.Class != "PARSE_SYNTAX_ERROR" || w["error"] == "end of input" || strings.HasPrefix(w["hint"], ": extra") ||
		strings.Contains(w["error"], "'''") || strings.Contains(w["error"], `"`)
	if !exact || looser[text] {
		return
	}
	for k, v := range w {
		if got.Params[k] != v {
			t.Errorf("%s: %s\n\t%s = %q, want %q", family, text, k, got.Params[k], v)
		}
	}
	if len(a.Error.At) == 2 && a.Error.Class == "PARSE_SYNTAX_ERROR" && (got.Pos.Line != a.Error.At[0] || got.Pos.Col != a.Error.At[1]+1) {
		t.Errorf("%s: %s\n\tat %v, want %v", family, text, got.Pos, a.Error.At)
	}
}

// looser are texts whose place Spark's parser gives in a way that no reader would: our place is better.
var looser = map[string]bool{
	"SELECT CASE WHEN 1":                      true,
	"SELECT * FROM STREAM (SELECT * FROM st)": true,
	"SHOW THINGS":                             true,
	`SELECT 1 AS "name"`:                      true,
}

// TestScenarioTexts parses every SQL text of the recorded scenarios, and writes and reads it again.
func TestScenarioTexts(t *testing.T) {
	files, _ := filepath.Glob("../conformance/scenarios/*/*.yaml")
	if len(files) < 100 {
		t.Fatalf("%d scenarios", len(files))
	}
	n := 0
	check := func(file, text string) {
		n++
		want := scenarioErrors[text]
		_, err := Parse(text)
		if e := errs.As(err); err == nil && want != "" || err != nil && e.Condition != want {
			t.Errorf("%s: %v, want %q\n\t%s", file, err, want, text)
		}
		roundTrip(t, text, Options{})
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := yaml.Unmarshal(data, &doc); err != nil {
			t.Fatal(file, err)
		}
		sqlTexts(doc, func(text string) { check(file, text) })
	}
	if n < 1000 {
		t.Errorf("%d texts only", n)
	}
}

// scenarioErrors are the texts that Spark's parser refused as well.
var scenarioErrors = map[string]string{
	"SELECT id +": "PARSE_SYNTAX_ERROR",
	"SELECT k, v FROM x UNION ALL BY NAME SELECT v, k FROM y":                                                             "PARSE_SYNTAX_ERROR",
	"SELECT * FROM s WATERMARK ts DELAY OF '1 minute'":                                                                    "PARSE_SYNTAX_ERROR",
	"SELECT * FROM s AS x WATERMARK ts DELAY OF INTERVAL 1 MINUTE":                                                        "PARSE_SYNTAX_ERROR",
	"SELECT * FROM delta.`$WORK/t` VERSION AS OF -1":                                                                      "PARSE_SYNTAX_ERROR",
	"MERGE INTO t USING b ON t.key = b.key":                                                                               "MERGE_WITHOUT_WHEN",
	"MERGE INTO t USING b ON t.key = b.key WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET *":                       "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION",
	"MERGE INTO t USING b ON t.key = b.key WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED AND b.key = 1 THEN INSERT *":   "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
	"MERGE INTO t USING b ON t.key = b.key WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE": "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
	"MERGE INTO t USING b ON t.key = b.key WHEN NOT MATCHED THEN INSERT (key) VALUES (1, 2)":                              "MERGE_INSERT_VALUE_COUNT_MISMATCH",
}

// sqlTexts calls f for the texts of a scenario that begin as statements do.
func sqlTexts(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		first, _, several := strings.Cut(strings.TrimSpace(v), " ")
		if !several {
			return
		}
		switch strings.ToUpper(first) {
		case "SELECT", "WITH", "VALUES", "FROM", "SHOW", "DESCRIBE", "TABLE", "CREATE", "DROP", "ALTER", "INSERT", "MERGE", "UPDATE", "DELETE",
			"TRUNCATE", "USE", "SET", "CACHE", "REFRESH", "OPTIMIZE", "VACUUM", "RESTORE", "EXPLAIN":
			f(v)
		}
	case []any:
		for _, x := range v {
			sqlTexts(x, f)
		}
	case map[string]any:
		for k, x := range v {
			if k != "about" && k != "name" {
				sqlTexts(x, f)
			}
		}
	}
}
