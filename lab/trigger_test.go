package lab_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/lab"
)

func TestTriggersOfALabFile(t *testing.T) {
	for query, want := range map[string]string{
		"sql: SELECT value FROM s WHERE value > 3, format: console, trigger: {continuous: 1 second}":                     "",
		"from: s, format: memory, trigger: {continuous: 0 seconds}":                                                      "",
		"sql: SELECT count(*) AS n FROM s, outputMode: complete, format: console, trigger: {continuous: 1 second}":       "Aggregate",
		"sql: 'SELECT value, now() AS t FROM s', format: console, trigger: {continuous: 1 second}":                       "current time",
		"from: s, format: console, trigger: {continuous: 1 month}":                                                       "_LEGACY_ERROR_TEMP_3262",
		"from: m, format: console, outputMode: update, trigger: {realTime: 5 minutes}":                                   "",
		"from: m, format: console, trigger: {realTime: 5 minutes}":                                                       "STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED",
		"from: m, format: noop, outputMode: update, trigger: {realTime: 5 minutes}":                                      "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST",
		"from: m, format: console, outputMode: update, trigger: {realTime: 1 second}":                                    "INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL",
		"from: m, format: console, outputMode: update, trigger: {realTime: 0 seconds}":                                   "NEGATIVE_TRIGGER_INTERVAL",
		"from: s, format: console, options: {asyncProgressTrackingEnabled: true}":                                        "",
		"from: s, format: console, trigger: {availableNow: true}, options: {asyncProgressTrackingEnabled: true}":         "ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED",
		"from: s, format: console, trigger: {continous: 1 second}":                                                       "LAB_UNKNOWN_KEY",
		"from: s, format: json, path: out, options: {checkpointLocation: chk}, trigger: {continuous: 1 second}":          "UNKNOWN_TRIGGER_TYPE",
		"from: s, format: console, options: {asyncProgressTrackingEnabled: false}, trigger: {processingTime: 5 seconds}": "",
	} {
		text := "sources:\n  s: {format: rate}\n  m: {format: memory, schema: v INT}\nqueries:\n- {queryName: q, " + query + "}\n"
		l, err := lab.Parse("lab.yaml", filepath.Join(t.TempDir(), "lab.yaml"), []byte(text))
		problems := lab.Problems(err)
		if err == nil {
			problems = lab.Check(context.Background(), l, engine.Config{})
		}
		var got []string
		for _, p := range problems {
			got = append(got, p.Error())
		}
		if all := strings.Join(got, "\n"); want == "" && all != "" || !strings.Contains(all, want) {
			t.Errorf("%s\ngot  %s\nwant %s", query, all, want)
		}
	}
}
