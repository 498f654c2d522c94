package lab_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/lab"
)

// shapes are the query shapes of operators.md 2.2 to 2.7 that a lab can say, over streams s and r (with watermark:
// sw, rw) and the table t.
var shapes = map[string]string{
	"select":                "SELECT k, v FROM s",
	"stream-static":         "SELECT s.k, name FROM s JOIN t ON s.k = t.k",
	"union all":             "SELECT k, v FROM s UNION ALL SELECT k, v FROM r",
	"aggregate":             "SELECT k, count(*) AS n FROM s GROUP BY k",
	"aggregate marked":      "SELECT k, count(*) AS n FROM sw GROUP BY k",
	"window marked":         "SELECT window(ts, '5 seconds') AS w, count(*) AS n FROM sw GROUP BY window(ts, '5 seconds')",
	"window":                "SELECT window(ts, '5 seconds') AS w, count(*) AS n FROM s GROUP BY window(ts, '5 seconds')",
	"raw time":              "SELECT ts, count(*) AS n FROM sw GROUP BY ts",
	"window start":          "SELECT window(ts, '5 seconds').start AS w, count(*) AS n FROM sw GROUP BY window(ts, '5 seconds').start",
	"cast time":             "SELECT count(*) AS n FROM sw GROUP BY CAST(ts AS DATE)",
	"global":                "SELECT count(*) AS n FROM s",
	"session":               "SELECT k, session_window(ts, '5 seconds') AS w, count(*) AS n FROM sw GROUP BY k, session_window(ts, '5 seconds')",
	"session alone":         "SELECT session_window(ts, '5 seconds') AS w, count(*) AS n FROM sw GROUP BY session_window(ts, '5 seconds')",
	"distinct":              "SELECT DISTINCT k FROM s",
	"union":                 "SELECT k FROM s UNION SELECT k FROM r",
	"deduplicated":          "SELECT * FROM sd",
	"deduplicated within":   "SELECT * FROM swd",
	"within unmarked":       "SELECT * FROM sbad",
	"inner":                 "SELECT s.k, r.v FROM s JOIN r ON s.k = r.k",
	"inner, unequal":        "SELECT s.k, r.v FROM s JOIN r ON s.k < r.k",
	"left":                  "SELECT s.k, r.v FROM s LEFT JOIN r ON s.k = r.k",
	"left marked":           "SELECT sw.k, rw.v FROM sw LEFT JOIN rw ON sw.k = rw.k AND rw.ts BETWEEN sw.ts - INTERVAL 1 MINUTE AND sw.ts",
	"right":                 "SELECT s.k, r.v FROM s RIGHT JOIN r ON s.k = r.k",
	"full":                  "SELECT s.k, r.v FROM s FULL JOIN r ON s.k = r.k",
	"semi":                  "SELECT s.k FROM s LEFT SEMI JOIN r ON s.k = r.k",
	"anti":                  "SELECT s.k FROM s LEFT ANTI JOIN r ON s.k = r.k",
	"cross":                 "SELECT s.k, r.v FROM s CROSS JOIN r",
	"static left, stream":   "SELECT t.k, s.v FROM t LEFT JOIN s ON s.k = t.k",
	"static semi, stream":   "SELECT t.k FROM t LEFT SEMI JOIN s ON s.k = t.k",
	"static anti, stream":   "SELECT t.k FROM t LEFT ANTI JOIN s ON s.k = t.k",
	"stream right, static":  "SELECT s.k, t.name FROM s RIGHT JOIN t ON s.k = t.k",
	"full, static":          "SELECT s.k, t.name FROM s FULL JOIN t ON s.k = t.k",
	"sorted":                "SELECT k FROM s ORDER BY k",
	"sorted aggregate":      "SELECT k, count(*) AS n FROM s GROUP BY k ORDER BY n DESC",
	"sort by":               "SELECT k, count(*) AS n FROM s GROUP BY k SORT BY n",
	"limit":                 "SELECT k FROM s LIMIT 3",
	"limit aggregate":       "SELECT k, count(*) AS n FROM s GROUP BY k LIMIT 3",
	"offset":                "SELECT k FROM s OFFSET 2",
	"union static":          "SELECT k FROM s UNION ALL SELECT k FROM t",
	"except stream":         "SELECT k FROM t EXCEPT SELECT k FROM s",
	"except static":         "SELECT k FROM s EXCEPT SELECT k FROM t",
	"intersect":             "SELECT k FROM s INTERSECT SELECT k FROM r",
	"intersect static":      "SELECT k FROM s INTERSECT SELECT k FROM t",
	"sample":                "SELECT k FROM s TABLESAMPLE (10 PERCENT)",
	"sample rows":           "SELECT k FROM s TABLESAMPLE (10 ROWS)",
	"over":                  "SELECT k, row_number() OVER (PARTITION BY k ORDER BY ts) AS n FROM s",
	"subquery in":           "SELECT k FROM s WHERE k IN (SELECT k FROM r)",
	"subquery scalar":       "SELECT k, (SELECT max(k) FROM r) AS m FROM s",
	"subquery exists":       "SELECT k FROM s WHERE EXISTS (SELECT 1 FROM r WHERE r.k = s.k)",
	"count distinct":        "SELECT k, count(DISTINCT v) AS n FROM s GROUP BY k",
	"ids":                   "SELECT monotonically_increasing_id() AS id, k FROM s",
	"chain":                 "SELECT n, count(*) AS m FROM (SELECT k, count(*) AS n FROM s GROUP BY k) GROUP BY n",
	"chain marked":          "SELECT w, max(n) AS m FROM (SELECT k, window(ts, '5 seconds') AS w, count(*) AS n FROM sw GROUP BY k, window(ts, '5 seconds')) GROUP BY w",
	"chain join":            "SELECT a.k, a.n, r.v FROM (SELECT k, count(*) AS n FROM s GROUP BY k) a JOIN r ON a.k = r.k",
	"deduplicated, grouped": "SELECT k, count(*) AS n FROM sd GROUP BY k",
	"rollup":                "SELECT k, v, count(*) AS n FROM s GROUP BY ROLLUP (k, v)",
	"static":                "SELECT k FROM t",
}

var sinksOf = map[string]string{
	"console": "  format: console\n",
	"memory":  "  format: memory\n",
	"noop":    "  format: noop\n",
	"parquet": "  format: parquet\n  path: out/p\n",
	"json":    "  format: json\n  options: {path: out/j}\n",
	"delta":   "  format: delta\n  path: out/d\n",
	"kafka":   "  format: kafka\n  options: {kafka.bootstrap.servers: embedded, topic: o}\n",
	"batch":   "  foreachBatch:\n    - SELECT count(*) FROM batch\n",
}

const relations = `sources:
  s:
    format: memory
    schema: k INT, v INT, ts TIMESTAMP
    rows: [[[1, 2, "2026-01-01T00:00:00Z"]]]
  r: {format: memory, schema: 'k INT, v INT, ts TIMESTAMP', rows: [[[1, 2, "2026-01-01T00:00:00Z"]]]}
  sw: {format: memory, schema: 'k INT, v INT, ts TIMESTAMP', withWatermark: {eventTime: ts, delayThreshold: 10 seconds}}
  rw:
    format: memory
    schema: k INT, v INT, ts TIMESTAMP
    withWatermark: {eventTime: ts, delayThreshold: 10 seconds}
tables:
  t: {schema: 'k INT, name STRING', rows: [[1, one]]}
views:
  sd: {sql: SELECT * FROM s, dropDuplicates: [k]}
  swd: {sql: SELECT * FROM sw, dropDuplicatesWithinWatermark: [k]}
  sbad:
    sql: SELECT * FROM s
    dropDuplicatesWithinWatermark: [k]
`

// refusedCells checks a lab and, if its query is refused, that there is a fix and that every fix leaves nothing
// to refuse. It gives the conditions found.
func refusedCell(t *testing.T, dir, text string) (conditions []string) {
	t.Helper()
	file := filepath.Join(dir, "lab.yaml")
	ctx := context.Background()
	r := lab.CheckText(ctx, file, []byte(text), engine.Config{})
	for _, p := range r.Problems {
		if p.Query == "" { // of a view that the query does not read
			continue
		}
		conditions = append(conditions, p.Condition)
		if len(p.Fixes) == 0 {
			t.Errorf("no fix: %s\n%s", p.Error.Error(), text)
		}
		for _, f := range p.Fixes {
			if f.Title == "" || f.Explain == "" || len(f.Edits) == 0 {
				t.Errorf("a fix without words: %+v", f)
			}
			after := lab.Apply([]byte(text), f.Edits)
			for _, left := range lab.CheckText(ctx, file, after, engine.Config{}).Problems {
				if left.Query == p.Query {
					t.Errorf("%s: %s\n  leads to %s\n%s", p.Condition, f.Title, left.Error.Error(), after)
				}
			}
		}
	}
	return conditions
}

// TestEveryRefusedCellHasAFix goes through mode × shape × sink.
func TestEveryRefusedCellHasAFix(t *testing.T) {
	dir := t.TempDir()
	found := map[string]int{}
	cells := 0
	for _, shape := range sorted(shapes) {
		for _, mode := range []string{"append", "update", "complete"} {
			for _, sink := range sorted(sinksOf) {
				if testing.Short() && sink != "delta" && sink != "console" {
					continue
				}
				text := fmt.Sprintf("%squeries:\n- queryName: q\n  sql: |\n    %s\n  outputMode: %s\n%s", relations, shapes[shape], mode, sinksOf[sink])
				cells++
				for _, c := range refusedCell(t, dir, text) {
					found[c]++
				}
			}
		}
	}
	t.Logf("%d cells, refused: %v", cells, found)
	if len(found) < 8 {
		t.Errorf("only %d conditions were met: the cells are not what they were", len(found))
	}
}

// TestEveryRefusedTriggerAndSinkHasAFix goes through what engine.md 12 refuses of the rest of a query.
func TestEveryRefusedTriggerAndSinkHasAFix(t *testing.T) {
	dir := t.TempDir()
	for query, want := range map[string]string{
		"sql: 'SELECT count(*) AS n FROM s', outputMode: complete, format: console, trigger: {continuous: 1 second}":                      "_LEGACY_ERROR_TEMP_3102",
		"from: rm, format: console, trigger: {continuous: 1 second}":                                                                      "_LEGACY_ERROR_TEMP_2253",
		"from: s, format: json, path: out, trigger: {continuous: 1 second}":                                                               "UNKNOWN_TRIGGER_TYPE",
		"from: s, foreachBatch: [SELECT 1], trigger: {continuous: 1 second}":                                                              "_LEGACY_ERROR_TEMP_1195",
		"from: s, format: console, trigger: {continuous: 1 month}":                                                                        "_LEGACY_ERROR_TEMP_3262",
		"from: s, format: console, trigger: {processingTime: 5 parsecs}":                                                                  "INVALID_INTERVAL_FORMAT.INVALID_UNIT",
		"from: s, format: console, trigger: {processingTime: -5 seconds}":                                                                 "NEGATIVE_TRIGGER_INTERVAL",
		"from: s, format: console, trigger: {realTime: 5 minutes}":                                                                        "STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED",
		"from: s, format: noop, outputMode: update, trigger: {realTime: 5 minutes}":                                                       "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST",
		"from: s, format: console, outputMode: update, trigger: {realTime: 1 second}":                                                     "INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL",
		"from: rm, format: console, outputMode: update, trigger: {realTime: 5 minutes}":                                                   "STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED",
		"from: s, format: console, outputMode: update, trigger: {realTime: 5 minutes}, options: {asyncProgressTrackingEnabled: true}":     "STREAMING_REAL_TIME_MODE.ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED",
		"from: s, format: console, trigger: {once: true}, options: {asyncProgressTrackingEnabled: true}":                                  "ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED",
		"from: s, format: json, path: out, options: {asyncProgressTrackingEnabled: true}":                                                 "ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED",
		"sql: 'SELECT k, count(*) FROM s GROUP BY k', outputMode: update, format: console, options: {asyncProgressTrackingEnabled: true}": "ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED",
		"from: s, format: memory, partitionBy: [k]":                                                                                       "_LEGACY_ERROR_TEMP_1197",
		"from: s, foreachBatch: [SELECT 1], partitionBy: [k]":                                                                             "_LEGACY_ERROR_TEMP_1197",
		"from: s, format: parquet, path: out, partitionBy: [kk]":                                                                          "_LEGACY_ERROR_TEMP_1196",
		"from: s, format: parquet":                       "_LEGACY_ERROR_TEMP_2047",
		"from: s, format: rate":                          "_LEGACY_ERROR_TEMP_2049",
		"from: s, format: orc, path: out":                "UNSUPPORTED_FEATURE",
		"from: s, format: consol":                        "DATA_SOURCE_NOT_FOUND",
		"from: s, format: console, options: {numRow: 3}": "UNKNOWN_OPTION",
		"from: s, format: console, outputmode: update":   "LAB_UNKNOWN_KEY",
		"from: s, format: console, outputMode: apend":    "STREAMING_OUTPUT_MODE.INVALID",
		"sql: SELECT kk FROM s, format: console":         "UNRESOLVED_COLUMN.WITH_SUGGESTION",
		"from: ss, format: console":                      "TABLE_OR_VIEW_NOT_FOUND",
	} {
		text := relations + "queries:\n- {queryName: q, " + query + "}\n"
		text = strings.Replace(text, "tables:", "  rm: {format: rate-micro-batch, options: {rowsPerBatch: 5}}\ntables:", 1)
		got := refusedCell(t, dir, text)
		if len(got) == 0 || got[0] != want {
			t.Errorf("%s\n  got  %v\n  want %s", query, got, want)
		}
	}
}

func sorted(m map[string]string) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// TestMistakesOutsideOfQueriesHaveFixes is about sources and views.
func TestMistakesOutsideOfQueriesHaveFixes(t *testing.T) {
	for text, want := range map[string]string{
		"sources:\n  s: {format: rat}\nqueries:\n- {queryName: q, from: s, format: console}\n":                                                                                          "DATA_SOURCE_NOT_FOUND",
		"sources:\n  s: {format: rate, options: {rowsPerSecnd: 5}}\nqueries:\n- {queryName: q, from: s, format: console}\n":                                                             "UNKNOWN_OPTION",
		"sources:\n  s: {format: rate}\nqueries:\n- {queryNam: q, from: s, format: console}\n":                                                                                          "LAB_UNKNOWN_KEY",
		"sources:\n  s: {format: rate}\nqueries:\n- {queryName: q, form: s, format: console}\n":                                                                                         "LAB_UNKNOWN_KEY",
		"sources:\n  s: {formt: rate}\nqueries:\n- {queryName: q, from: s, format: console}\n":                                                                                          "LAB_UNKNOWN_KEY",
		"sources:\n  s: {format: memory, schema: 'ts STRING, v INT', withWatermark: {eventTime: ts, delayThreshold: 1 second}}\nqueries:\n- {queryName: q, from: s, format: console}\n": "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE",
	} {
		file := filepath.Join(t.TempDir(), "lab.yaml")
		r := lab.CheckText(context.Background(), file, []byte(text), engine.Config{})
		if len(r.Problems) != 1 || r.Problems[0].Condition != want || len(r.Problems[0].Fixes) == 0 {
			t.Errorf("%s\n%+v", text, r.Problems)
			continue
		}
		for _, f := range r.Problems[0].Fixes {
			after := lab.Apply([]byte(text), f.Edits)
			if left := lab.CheckText(context.Background(), file, after, engine.Config{}); len(left.Problems) > 0 {
				t.Errorf("%s: %v\n%s", f.Title, left.Problems[0].Error, after)
			}
		}
	}
}
