package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// typed is a query that gives a row of everything, with nulls and the ends of the ranges. Spark and streamlab
// run it alike.
const typed = `
SELECT CAST(id % 7 = 1 AS BOOLEAN) AS bo, CAST(id - 5 AS TINYINT) AS ti, CAST(id * 300 AS SMALLINT) AS si, CAST(id * 100003 AS INT) AS i,
  id * 10000000019 AS l, CAST(id / 3 AS FLOAT) AS f, id / 7 AS d, CAST(id AS DECIMAL(5,2)) AS d5, CAST(id * 1000003 / 100 AS DECIMAL(18,4)) AS d18,
  CAST(id * 1000000007 AS DECIMAL(38,10)) AS d38, concat('tëxt ', id) AS s, CAST(concat('b', id) AS BINARY) AS bi,
  date_add(DATE '2020-02-28', CAST(id AS INT)) AS da, TIMESTAMP '2021-03-04 05:06:07.891234' + make_dt_interval(CAST(id AS INT)) AS ts,
  TIMESTAMP_NTZ '2021-03-04 05:06:07.891234' + make_dt_interval(CAST(id AS INT)) AS tn,
  array(CAST(id AS INT), NULL, 7) AS a, array(array(concat('x', id)), array()) AS aa, map(concat('k', id), CAST(id AS INT), 'none', NULL) AS m,
  named_struct('x', CAST(id AS INT), 'y', array(named_struct('z', concat('z', id)))) AS st, map(CAST(id AS INT), named_struct('v', id)) AS ms
FROM range(0, 90)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM range(0, 3)
UNION ALL
SELECT true, CAST(-128 AS TINYINT), CAST(-32768 AS SMALLINT), CAST(-2147483648 AS INT), CAST(-9223372036854775808 AS BIGINT), CAST('NaN' AS FLOAT), CAST('-Infinity' AS DOUBLE),
  CAST(-999.99 AS DECIMAL(5,2)), CAST(-99999999999999.9999 AS DECIMAL(18,4)), CAST('-9999999999999999999999999999.9999999999' AS DECIMAL(38,10)), '', X'00FF',
  DATE '0001-01-01', TIMESTAMP '1582-10-15 00:00:00', TIMESTAMP_NTZ '0001-01-01 00:00:00', array(), array(), map(), named_struct('x', NULL, 'y', NULL), map()
UNION ALL
SELECT false, CAST(127 AS TINYINT), CAST(32767 AS SMALLINT), 2147483647, 9223372036854775807, CAST('Infinity' AS FLOAT), CAST('NaN' AS DOUBLE),
  CAST(999.99 AS DECIMAL(5,2)), CAST(99999999999999.9999 AS DECIMAL(18,4)), CAST('9999999999999999999999999999.9999999999' AS DECIMAL(38,10)), '日本 🙂 \\ "q"', X'',
  DATE '9999-12-31', TIMESTAMP '9999-12-31 23:59:59.999999', TIMESTAMP_NTZ '9999-12-31 23:59:59.999999', CAST(NULL AS ARRAY<INT>), array(CAST(NULL AS ARRAY<STRING>)),
  map('', 0), named_struct('x', 0, 'y', array()), map(0, CAST(NULL AS STRUCT<v: BIGINT>))`

// deltaCase is a table that is made by the same statements in streamlab and in Spark, {t} being its name and
// {p} its folder; then the other program runs the statements of after on it.
type deltaCase struct {
	name    string
	make    []string
	after   []string
	changes bool // the change data feed is compared, too
	// rust says why deltalake is not asked, "" if it is.
	rust string
}

const create = "CREATE TABLE {t} "

var deltaCases = []deltaCase{
	{name: "types", make: []string{create + "USING delta LOCATION '{p}' AS " + typed}, after: []string{"INSERT INTO {t} SELECT * FROM {t} WHERE i > 0"},
		rust: "deltalake counts Spark's timestamps in nanoseconds, which end in 2262"},
	{name: "types between 1700 and 2262", make: []string{create + "USING delta LOCATION '{p}' AS SELECT * FROM (" + typed + ") WHERE ts BETWEEN '1700-01-01' AND '2262-01-01' OR ts IS NULL"}},
	{name: "appends and checkpoints", make: append([]string{create + "(id BIGINT, s STRING) USING delta TBLPROPERTIES ('delta.checkpointInterval' = '3') LOCATION '{p}'"},
		repeat(4, "INSERT INTO {t} SELECT id, concat('s', id) FROM range(%d0, %d5)")...), after: repeat(3, "INSERT INTO {t} VALUES (%d, 'after')")},
	{name: "partitioned", make: []string{
		create + "(id BIGINT, p STRING, d DATE, t TIMESTAMP, n DECIMAL(10,2), f DOUBLE, b BOOLEAN, i INT) USING delta PARTITIONED BY (p, d, t, n, f, b, i) LOCATION '{p}'",
		`INSERT INTO {t} VALUES (1, 'a/b', DATE '2020-01-02', TIMESTAMP '2020-01-02 03:04:05.678901', 1.50, 2.5, true, 1), (2, '', NULL, NULL, NULL, NULL, NULL, NULL),
(3, 'ä %25=:?#[]{}"\'', DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59', -1, -0.5, false, -1), (4, ' x  ', DATE '9999-12-31', TIMESTAMP '2000-01-01 00:00:00', 0, 1e300, true, 0),
(5, 'null', DATE '0001-01-01', TIMESTAMP '2000-01-01 00:00:00', 99999999.99, 1e-300, true, 2147483647), (6, '+a+%2B', DATE '2024-02-29', TIMESTAMP '2000-01-01 00:00:00', 0.01, 0, true, 5)`,
		"INSERT INTO {t} SELECT id + 100, p, d, t, n, f, b, i FROM {t}"},
		after: []string{"DELETE FROM {t} WHERE p = 'a/b'", "UPDATE {t} SET id = id + 1000 WHERE i = 5"}},
	{name: "merge", make: []string{create + "(id BIGINT, v STRING, n INT) USING delta LOCATION '{p}'", "INSERT INTO {t} SELECT id, 'old', CAST(id AS INT) FROM range(0, 100)",
		`MERGE INTO {t} t USING (SELECT id * 2 AS id, concat('new', id) AS v FROM range(25, 75)) s ON t.id = s.id
WHEN MATCHED AND t.id % 10 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)
WHEN NOT MATCHED BY SOURCE AND t.id < 10 THEN UPDATE SET n = -1`},
		after: []string{`MERGE INTO {t} t USING (SELECT id FROM range(90, 120)) s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, v, n) VALUES (s.id, 'x', 0)`}},
	{name: "deletion vectors", make: []string{create + "(id BIGINT, v STRING) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') LOCATION '{p}'",
		"INSERT INTO {t} SELECT id, concat('v', id) FROM range(0, 5000)", "DELETE FROM {t} WHERE id % 7 = 0", "UPDATE {t} SET v = 'u' WHERE id % 100 = 1", "DELETE FROM {t} WHERE id BETWEEN 300 AND 400",
		"MERGE INTO {t} t USING (SELECT id FROM range(4990, 5010)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'i')"},
		after: []string{"DELETE FROM {t} WHERE id % 11 = 0", "OPTIMIZE {t}", "DELETE FROM {t} WHERE id % 13 = 0"}},
	{name: "column mapping by name", make: []string{
		create + "(id BIGINT, `a b` STRING, s STRUCT<x: INT, y: STRING>, p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = 'name') LOCATION '{p}'",
		"INSERT INTO {t} SELECT id, concat('v', id), named_struct('x', CAST(id AS INT), 'y', 'y'), CAST(id % 3 AS INT) FROM range(0, 50)",
		"ALTER TABLE {t} RENAME COLUMN `a b` TO c", "ALTER TABLE {t} RENAME COLUMN s.x TO z", "ALTER TABLE {t} ADD COLUMN d DOUBLE",
		"INSERT INTO {t} SELECT id, concat('w', id), named_struct('z', 0, 'y', 'n'), 7, 0.5D FROM range(50, 60)", "ALTER TABLE {t} DROP COLUMN c",
		"ALTER TABLE {t} ADD COLUMN c STRING", "DELETE FROM {t} WHERE id = 3"}, after: []string{"UPDATE {t} SET c = 'set' WHERE id < 5", "ALTER TABLE {t} RENAME COLUMN c TO e"},
		rust: "deltalake reads no column mapping by its query engine"},
	{name: "column mapping by id", make: []string{create + "(id BIGINT, s STRUCT<x: INT, a: ARRAY<STRUCT<q: INT>>>) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'id') LOCATION '{p}'",
		"INSERT INTO {t} SELECT id, named_struct('x', CAST(id AS INT), 'a', array(named_struct('q', 1))) FROM range(0, 50)", "ALTER TABLE {t} RENAME COLUMN id TO key"},
		after: []string{"UPDATE {t} SET key = -key WHERE key > 40"}, rust: "deltalake reads no column mapping by its query engine"},
	{name: "change data feed", changes: true, make: []string{create + "(id BIGINT, v STRING, p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') LOCATION '{p}'",
		"INSERT INTO {t} SELECT id, 'a', CAST(id % 2 AS INT) FROM range(0, 40)", "UPDATE {t} SET v = 'b' WHERE id < 10", "DELETE FROM {t} WHERE id > 30", "DELETE FROM {t} WHERE p = 1",
		"MERGE INTO {t} t USING (SELECT id FROM range(8, 50)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, 'i', 9)"},
		after: []string{"UPDATE {t} SET v = 'after' WHERE p = 9", "DELETE FROM {t} WHERE id = 0"}},
	{name: "change data feed with deletion vectors", changes: true, rust: "deltalake has no changes of deletion vectors", make: []string{
		create + "(id BIGINT, v STRING) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true') LOCATION '{p}'",
		"INSERT INTO {t} SELECT id, 'a' FROM range(0, 40)", "UPDATE {t} SET v = 'b' WHERE id < 10", "DELETE FROM {t} WHERE id > 30"}, after: []string{"DELETE FROM {t} WHERE id < 5"}},
	{name: "row tracking and commit times", rust: "deltalake does not know the features", make: []string{
		create + "(id BIGINT, v STRING) USING delta TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true') LOCATION '{p}'",
		"INSERT INTO {t} SELECT id, 'a' FROM range(0, 40)", "INSERT INTO {t} SELECT id, 'b' FROM range(40, 50)"}, after: []string{"INSERT INTO {t} VALUES (99, 'c')"}},
	{name: "checkpoints in several files", rust: "deltalake does not know the feature", make: append([]string{create + "(id BIGINT, v STRING) USING delta TBLPROPERTIES ('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '3') LOCATION '{p}'"},
		repeat(4, "INSERT INTO {t} VALUES (%d, 'v')")...), after: repeat(3, "INSERT INTO {t} VALUES (%d, 'w')")},
	{name: "widened types", rust: "deltalake does not know the feature", make: []string{create + "(id INT, n SMALLINT, d DECIMAL(6,2), f FLOAT) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true') LOCATION '{p}'",
		"INSERT INTO {t} SELECT CAST(id AS INT), 1, 1.25, 0.5 FROM range(0, 10)", "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT", "ALTER TABLE {t} ALTER COLUMN n TYPE INT",
		"ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(10,3)", "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE", "INSERT INTO {t} VALUES (10000000000, 100000, 1234567.125, 1e100)"},
		after: []string{"UPDATE {t} SET n = n + 1 WHERE id < 5"}},
	{name: "constraints, defaults and identity", rust: "deltalake does not write identity columns", make: []string{
		create + `(k BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5), id BIGINT NOT NULL, v STRING DEFAULT 'dflt', g BIGINT GENERATED ALWAYS AS (id * 2)) USING delta
TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported') LOCATION '{p}'`, "ALTER TABLE {t} ADD CONSTRAINT pos CHECK (id >= 0)", "INSERT INTO {t} (id) VALUES (1)", "INSERT INTO {t} (id, v) VALUES (2, 'x')"},
		after: []string{"INSERT INTO {t} (id) VALUES (3)", "UPDATE {t} SET id = 20 WHERE id = 2"}},
	{name: "clustered", rust: "deltalake does not know the feature", make: []string{create + "(id BIGINT, v STRING) USING delta CLUSTER BY (id) LOCATION '{p}'", "INSERT INTO {t} SELECT id, 'a' FROM range(0, 40)"},
		after: []string{"INSERT INTO {t} VALUES (99, 'c')"}},
	{name: "overwritten, optimized, restored", make: append(append([]string{create + "(id BIGINT, v STRING) USING delta LOCATION '{p}'"}, repeat(2, "INSERT INTO {t} SELECT id, 'a%d' FROM range(%d, 20)")...),
		"OPTIMIZE {t}", "INSERT OVERWRITE {t} SELECT id, 'o' FROM range(0, 5)", "RESTORE TABLE {t} TO VERSION AS OF 3", "DELETE FROM {t} WHERE id = 7"),
		after: []string{"INSERT OVERWRITE {t} SELECT id, 'z' FROM range(0, 9)"}},
	{name: "char and varchar", rust: "deltalake does not fill CHAR up", make: []string{create + "(c CHAR(5), v VARCHAR(4), n INT) USING delta LOCATION '{p}'", "INSERT INTO {t} VALUES ('abc', 'ab', 1), ('', '', 2), (NULL, NULL, 3)"},
		after: []string{"INSERT INTO {t} VALUES ('x', 'xyz ', 4)"}},
}

// repeat gives n statements; every %d in text is the number of the statement, from 1.
func repeat(n int, text string) []string {
	var out []string
	for i := 1; i <= n; i++ {
		out = append(out, strings.ReplaceAll(text, "%d", fmt.Sprint(i)))
	}
	return out
}

func named(list []string, table, path string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.NewReplacer("{t}", table, "{p}", path).Replace(s)
	}
	return out
}

// sql runs statements here or in Spark.
func (b *bench) sql(ctx context.Context, spark bool, list []string) error {
	if !spark {
		return b.statements(ctx, list)
	}
	_, err := b.o.call("spark_sql", map[string]any{"statements": list})
	return err
}

// delta makes every table here and in Spark, reads it everywhere, lets the other program change it and reads
// it again.
func (b *bench) delta(ctx context.Context) error {
	for i, c := range deltaCases {
		if !b.wanted("delta: " + c.name) {
			continue
		}
		var made [2]rowset
		for w, writer := range []string{"streamlab", "spark"} {
			name := fmt.Sprintf("delta: %s, written by %s", c.name, writer)
			if !b.spark && w == 1 {
				b.skip(name, "there is no Spark")
				continue
			}
			table, path := fmt.Sprintf("t%d_%s", i, writer), filepath.Join(b.dir, "delta", fmt.Sprintf("%d-%s", i, writer))
			if err := b.sql(ctx, w == 1, named(c.make, table, path)); err != nil {
				b.result(name, "", err)
				continue
			}
			want, err := b.all(ctx, name, c, path)
			if err != nil {
				continue
			}
			made[w] = want
			if b.spark && len(c.after) > 0 {
				other := name + ", changed by the other"
				again := table
				if err := b.sql(ctx, w == 0, named([]string{"CREATE TABLE {t} USING delta LOCATION '{p}'"}, again, path)); err != nil {
					b.result(other, "", err)
					continue
				}
				if err := b.sql(ctx, w == 0, named(c.after, again, path)); err != nil {
					b.result(other, "", err)
					continue
				}
				_, _ = b.all(ctx, other, c, path)
			}
		}
		if made[0].rows != nil && made[1].rows != nil {
			var err error
			if d := made[0].difference(made[1]); d != "" {
				err = errors.New(d)
			}
			b.result("delta: "+c.name+", the two tables", fmt.Sprintf("%d rows", len(made[0].rows)), err)
		}
	}
	return nil
}

// all reads a table, and its changes, with all programs.
func (b *bench) all(ctx context.Context, name string, c deltaCase, path string) (rowset, error) {
	var readers []string
	if b.spark {
		readers = append(readers, "spark")
	}
	if c.rust == "" {
		readers = append(readers, "deltalake")
	} else {
		b.skip(name+" by deltalake", c.rust)
	}
	want, err := b.here(ctx, "delta", path)
	if err != nil {
		b.result(name+" by streamlab", "", err)
		return rowset{}, err
	}
	b.compare(name, "delta", path, want, readers)
	if c.changes {
		changes, err := b.here(ctx, "changes", path)
		if err != nil {
			b.result(name+", changes by streamlab", "", err)
			return want, nil
		}
		b.compare(name+", changes", "changes", path, changes, readers)
	}
	return want, nil
}
