package engine_test

import (
	"context"
	"fmt"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
)

func script(t *testing.T, s *engine.Session, texts ...string) {
	t.Helper()
	for _, x := range texts {
		must(t, s, x)
	}
}

func refused(t *testing.T, s *engine.Session, text, condition string) {
	t.Helper()
	df, err := s.SQL(context.Background(), text)
	if err == nil {
		_, _, err = df.Collect(context.Background())
	}
	if !errs.Has(err, condition) {
		t.Errorf("%s: %v, want %s", text, err, condition)
	}
}

func asked(t *testing.T, s *engine.Session, text, want string) {
	t.Helper()
	if got := count(t, s, text); got != want {
		t.Errorf("%s: %q, want %q", text, got, want)
	}
}

func TestInsertFillsWhatIsLeftOut(t *testing.T) {
	s := numbered(t)
	script(t, s, "CREATE TABLE d (a INT, b INT DEFAULT 1 + 2, c STRING)", "INSERT INTO d (a) VALUES (1)", "INSERT INTO d VALUES (2, DEFAULT, 'x')",
		"INSERT INTO d BY NAME SELECT 'y' AS c, 3 AS a", "WITH q AS (SELECT 4 AS a) INSERT INTO d (a) SELECT a FROM q")
	asked(t, s, "SELECT concat_ws(',', a, b, c) FROM d ORDER BY a", "1,3 2,3,x 3,3,y 4,3 ")
	refused(t, s, "INSERT INTO d VALUES (1, DEFAULT + 1, 'x')", "DEFAULT_PLACEMENT_INVALID")
	refused(t, s, "INSERT INTO d VALUES ('x', 1, 'y')", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST")
	refused(t, s, "INSERT INTO d VALUES (3000000000, 1, 'y')", "CAST_OVERFLOW_IN_TABLE_INSERT")
	refused(t, s, "INSERT OVERWRITE d SELECT * FROM d", "UNSUPPORTED_OVERWRITE.TABLE")
}

func TestOverwriteReplacesPartitions(t *testing.T) {
	s := numbered(t)
	script(t, s, "CREATE TABLE p (v INT, d STRING) PARTITIONED BY (d)", "INSERT INTO p VALUES (1, 'x'), (2, 'y'), (3, 'z')",
		"INSERT OVERWRITE p PARTITION (d = 'x') VALUES (10)")
	asked(t, s, "SELECT concat(d, v) FROM p ORDER BY 1", "x10 y2 z3 ")
	script(t, s, "SET spark.sql.sources.partitionOverwriteMode = dynamic", "INSERT OVERWRITE p VALUES (20, 'y')")
	asked(t, s, "SELECT concat(d, v) FROM p ORDER BY 1", "x10 y20 z3 ")
	script(t, s, "ALTER TABLE p DROP PARTITION (d = 'z')", "ALTER TABLE p ADD PARTITION (d = 'w')",
		"ALTER TABLE p PARTITION (d = 'x') RENAME TO PARTITION (d = 'a')")
	asked(t, s, "SHOW PARTITIONS p", "d=a d=w d=y ")
	refused(t, s, "DELETE FROM p WHERE v = 1", "UNSUPPORTED_FEATURE.TABLE_OPERATION")
}

func TestMergeTreatsEachPairByItsFirstClause(t *testing.T) {
	s := numbered(t)
	script(t, s, "CREATE TABLE m (k INT, v STRING) USING delta", "INSERT INTO m VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
		"CREATE TEMP VIEW q AS SELECT * FROM VALUES (1, 'A'), (2, 'del'), (5, 'E') AS v(k, v)")
	must(t, s, `MERGE INTO m USING q ON m.k = q.k WHEN MATCHED AND q.v = 'del' THEN DELETE WHEN MATCHED THEN UPDATE SET v = q.v
		WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND m.k = 4 THEN DELETE`)
	asked(t, s, "SELECT concat(k, v) FROM m ORDER BY k", "1A 3c 5E ")
	refused(t, s, "MERGE INTO m USING (SELECT 1 AS k UNION ALL SELECT 1) q ON m.k = q.k WHEN MATCHED THEN UPDATE SET v = 'x'",
		"DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE")
	must(t, s, "MERGE INTO m USING (SELECT 1 AS k UNION ALL SELECT 1) q ON m.k = q.k WHEN MATCHED THEN DELETE")
	asked(t, s, "SELECT concat(k, v) FROM m ORDER BY k", "3c 5E ")
}

func TestViewsAreAnalysedAtEveryUse(t *testing.T) {
	s := numbered(t)
	script(t, s, "CREATE TABLE base (a INT)", "INSERT INTO base VALUES (1)", "CREATE VIEW w AS SELECT * FROM base", "DECLARE VARIABLE x INT DEFAULT 5",
		"CREATE TEMP VIEW tv AS SELECT x AS x", "ALTER TABLE base ADD COLUMN b INT", "SET VAR x = 6")
	asked(t, s, "SELECT * FROM w", "1 ")
	asked(t, s, "SELECT * FROM tv", "6 ")
	refused(t, s, "CREATE VIEW bad AS SELECT * FROM tv", "INVALID_TEMP_OBJ_REFERENCE")
	refused(t, s, "CREATE OR REPLACE VIEW w AS SELECT * FROM w", "RECURSIVE_VIEW")
	script(t, s, "DROP TABLE base")
	refused(t, s, "SELECT * FROM w", "TABLE_OR_VIEW_NOT_FOUND")
}

func TestFunctionsAndVariables(t *testing.T) {
	s := numbered(t)
	script(t, s, "CREATE TEMPORARY FUNCTION f(x INT, y INT DEFAULT 2) RETURNS INT RETURN x * y",
		"CREATE FUNCTION below(n INT) RETURNS BIGINT RETURN (SELECT max(id) FROM range(10) WHERE id < n)", "DECLARE VARIABLE a, b INT DEFAULT 1")
	asked(t, s, "SELECT f(CAST(id AS INT)) + f(y => 3, x => 1) FROM range(3) ORDER BY 1", "3 5 7 ")
	asked(t, s, "SELECT below(CAST(id AS INT)) FROM range(2, 4) ORDER BY 1", "1 2 ")
	script(t, s, "SET VAR a = 5, b = a + 1", "EXECUTE IMMEDIATE 'SELECT a + b + :c' INTO a USING 1 AS c")
	asked(t, s, "SELECT a", "12 ")
	refused(t, s, "SET VAR (a, b) = (SELECT id, id FROM range(2))", "ROW_SUBQUERY_TOO_MANY_ROWS")
	refused(t, s, "SELECT f(1, 2, 3)", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION")
}

func TestRecursionEnds(t *testing.T) {
	s := numbered(t)
	loop := "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r%s) SELECT n FROM r%s"
	asked(t, s, fmt.Sprintf(loop, " WHERE n < 4", ""), "1 2 3 4 ")
	asked(t, s, fmt.Sprintf(loop, "", " LIMIT 3"), "1 2 3 ")
	refused(t, s, fmt.Sprintf(loop, "", ""), "RECURSION_LEVEL_LIMIT_EXCEEDED")
	refused(t, s, "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT max(n) FROM r) SELECT * FROM r", "INVALID_RECURSIVE_REFERENCE.PLACE")
}

func TestTablesInMemoryAreStreams(t *testing.T) {
	ctx := context.Background()
	s := numbered(t)
	script(t, s, "CREATE TABLE src (v BIGINT)", "INSERT INTO src VALUES (1), (2)", "CREATE TABLE dst (v BIGINT)")
	dir := t.TempDir()
	for range 2 {
		q, err := must(t, s, "SELECT v * 10 AS v FROM STREAM src").WriteStream().Trigger(engine.AvailableNow()).Option("checkpointLocation", dir).ToTable(ctx, "dst")
		if err != nil {
			t.Fatal(err)
		}
		if err := q.AwaitTermination(ctx); err != nil {
			t.Fatal(err)
		}
		must(t, s, "INSERT INTO src VALUES (3)")
	}
	asked(t, s, "SELECT v FROM dst ORDER BY v", "10 20 30 ")
	refused(t, s, "SELECT * FROM STREAM src", "_LEGACY_ERROR_TEMP_3102")
}

func TestRenamedTablesLeaveTheirNameFree(t *testing.T) {
	for _, format := range []string{"parquet", "delta"} {
		s := numbered(t)
		script(t, s, "CREATE TABLE a (v INT) USING "+format, "INSERT INTO a VALUES (1)", "ALTER TABLE a RENAME TO b",
			"CREATE TABLE a (v INT) USING "+format, "INSERT INTO a VALUES (2)", "INSERT INTO b VALUES (3)")
		asked(t, s, "SELECT v FROM b ORDER BY v", "1 3 ")
		asked(t, s, "SELECT v FROM a", "2 ")
		script(t, s, "DROP TABLE a")
		asked(t, s, "SELECT v FROM b ORDER BY v", "1 3 ")
	}
}
