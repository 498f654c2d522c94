package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/engine"
	"streamlab/errs"
)

// A clone reads the files of its source, whose later versions do not concern it, and changes on its own; files of
// folders that are no tables are not read through it. A folder of Parquet files becomes a table where it is.
func TestClonesAndConversions(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := engine.NewSession(engine.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(text string) (string, error) {
		df, err := s.SQL(ctx, strings.ReplaceAll(text, "$D", dir))
		if err != nil {
			return "", err
		}
		rows, schema, err := df.Collect(ctx)
		var out []string
		for _, rb := range rows {
			vs := columnar.Vectors(rb, schema)
			for i := range int(rb.NumRows()) {
				var cells []string
				for k := range vs {
					cells = append(cells, string(codec.AppendDisplay(nil, &vs[k], i, time.UTC)))
				}
				out = append(out, strings.Join(cells, " "))
			}
		}
		return strings.Join(out, "; "), err
	}
	for _, c := range []struct{ text, rows, condition string }{
		{"CREATE TABLE src (id INT, p STRING) USING delta PARTITIONED BY (p) LOCATION '$D/src' TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'my' = 'x')", "", ""},
		{"INSERT INTO src VALUES (1, 'a'), (2, 'a b'), (3, NULL)", "", ""},
		{"INSERT INTO src VALUES (4, 'a'), (5, 'a'), (6, 'a')", "", ""},
		{"DELETE FROM src WHERE id = 5", "1", ""},
		{"CREATE TABLE c SHALLOW CLONE src", "", ""},
		{"SELECT id FROM c ORDER BY id", "1; 2; 3; 4; 6", ""},
		{"CREATE TABLE c SHALLOW CLONE src", "", "TABLE_OR_VIEW_ALREADY_EXISTS"},
		{"CREATE TABLE IF NOT EXISTS c SHALLOW CLONE src", "", ""},
		{"CREATE OR REPLACE TABLE c SHALLOW CLONE src", "", "DELTA_UNSUPPORTED_NON_EMPTY_CLONE"},
		{"CREATE TABLE delta.`$D/old` SHALLOW CLONE delta.`$D/src` VERSION AS OF 1 TBLPROPERTIES ('k' = 'v')", "", ""},
		{"SELECT id FROM delta.`$D/old` ORDER BY id", "1; 2; 3", ""},
		{"CREATE TABLE delta.`$D/old` SHALLOW CLONE delta.`$D/src`", "", "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"},
		{"UPDATE c SET id = 100 WHERE id = 1", "1", ""},
		{"INSERT INTO c VALUES (7, 'z')", "", ""},
		{"SELECT id FROM c ORDER BY id", "2; 3; 4; 6; 7; 100", ""},
		{"SELECT id FROM src ORDER BY id", "1; 2; 3; 4; 6", ""},
		{"TRUNCATE TABLE c", "", ""},
		{"CREATE OR REPLACE TABLE c SHALLOW CLONE delta.`$D/old`", "", ""},
		{"SELECT id FROM c ORDER BY id", "1; 2; 3", ""},
		{"CREATE OR REPLACE TABLE delta.`$D/old` SHALLOW CLONE delta.`$D/old`", "", "DELTA_UNSUPPORTED_NON_EMPTY_CLONE"},
		{"CREATE TABLE none SHALLOW CLONE nosuch", "", "TABLE_OR_VIEW_NOT_FOUND"},
		{"CREATE TABLE pq (a INT, p STRING) USING parquet PARTITIONED BY (p) LOCATION '$D/pq'", "", ""},
		{"INSERT INTO pq VALUES (1, 'x'), (2, 'y z')", "", ""},
		{"CREATE TABLE none SHALLOW CLONE pq", "", "DELTA_CLONE_UNSUPPORTED_SOURCE"},
		{"CONVERT TO DELTA parquet.`$D/pq`", "", "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME"},
		{"CONVERT TO DELTA parquet.`$D/pq` PARTITIONED BY (q STRING)", "", "DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME"},
		{"CONVERT TO DELTA parquet.`$D/pq` PARTITIONED BY (p INT)", "", "DELTA_FAILED_CAST_PARTITION_VALUE"},
		{"CONVERT TO DELTA parquet.`$D/pq` PARTITIONED BY (p STRING)", "", ""},
		{"CONVERT TO DELTA parquet.`$D/pq` PARTITIONED BY (p STRING)", "", ""},
		{"SELECT a, p FROM delta.`$D/pq` ORDER BY a", "1 x; 2 y z", ""},
		{"DELETE FROM delta.`$D/pq` WHERE a = 1", "1", ""},
		{"SELECT a FROM delta.`$D/pq`", "2", ""},
		{"CONVERT TO DELTA json.`$D/pq`", "", "DELTA_CONVERT_NON_PARQUET_TABLE"},
	} {
		rows, err := run(c.text)
		if c.condition != "" {
			if !errs.Has(err, c.condition) {
				t.Errorf("%s: %v, want %s", c.text, err, c.condition)
			}
			continue
		}
		if err != nil || c.rows != "" && rows != c.rows {
			t.Errorf("%s: %s, %v, want %s", c.text, rows, err, c.rows)
		}
	}
	// The folder of the source stops being a table: its files are no longer read.
	if err := os.Rename(filepath.Join(dir, "src", "_delta_log"), filepath.Join(dir, "src", "log")); err != nil {
		t.Fatal(err)
	}
	if _, err := run("SELECT * FROM delta.`$D/old`"); !errs.Has(err, "DELTA_PATH_OUTSIDE_TABLE") {
		t.Errorf("files that are nobody's: %v", err)
	}
}
