package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// parquet writes all types with every compression here and in Spark, and what pyarrow and DuckDB write in
// their own ways is read here.
func (b *bench) parquet(ctx context.Context) error {
	df, err := b.s.SQL(ctx, typed)
	if err != nil {
		return err
	}
	batches, schema, err := df.Collect(ctx)
	if err != nil {
		return err
	}
	want := rowsOf(batches, schema.Names())
	readers := []string{"pyarrow", "duckdb"}
	if b.spark {
		readers = append(readers, "spark")
	}
	for _, codec := range []string{"snappy", "gzip", "zstd", "lz4_raw", "brotli", "none"} {
		name := "parquet: " + codec + ", written by streamlab"
		if !b.wanted(name) {
			continue
		}
		path := filepath.Join(b.dir, "parquet", codec)
		by := readers
		if err := df.Write().Format("parquet").Option("compression", codec).Save(ctx, path); err != nil {
			b.result(name, "", err)
			continue
		}
		if codec == "brotli" && b.spark {
			by = readers[:2]
			b.skip(name+" by spark", "Spark's build has no brotli")
		}
		b.compare(name, "parquet", path, want, by)
	}
	for _, kind := range []string{"INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"} {
		for _, legacy := range []string{"false", "true"} {
			name := fmt.Sprintf("parquet: %s, legacy %s, written by spark", kind, legacy)
			if !b.wanted(name) {
				continue
			}
			if !b.spark {
				b.skip(name, "there is no Spark")
				continue
			}
			path := filepath.Join(b.dir, "parquet", kind+legacy)
			_, err := b.o.call("spark_sql", map[string]any{"statements": []string{"SET spark.sql.parquet.outputTimestampType=" + kind, "SET spark.sql.parquet.writeLegacyFormat=" + legacy,
				"INSERT OVERWRITE DIRECTORY '" + path + "' USING parquet " + typed, "RESET spark.sql.parquet.outputTimestampType", "RESET spark.sql.parquet.writeLegacyFormat"}})
			b.backHere(ctx, name, path, err)
		}
	}
	rows := b.file()
	if err := writeIPC(rows, batches, schema); err != nil {
		return err
	}
	// DuckDB counts the differences of INT columns in more than 32 bits, which Arrow's reader does not take.
	near, err := b.s.SQL(ctx, "SELECT * FROM ("+typed+") WHERE i BETWEEN -1000000000 AND 1000000000")
	if err != nil {
		return err
	}
	nearBatches, _, err := near.Collect(ctx)
	if err != nil {
		return err
	}
	nearRows := b.file()
	if err := writeIPC(nearRows, nearBatches, schema); err != nil {
		return err
	}
	for _, w := range []struct {
		by, name string
		options  map[string]any
	}{{"pyarrow", "1.0", map[string]any{"version": "1.0", "use_dictionary": false}}, {"pyarrow", "data pages v2", map[string]any{"data_page_version": "2.0", "compression": "zstd"}},
		{"pyarrow", "small groups", map[string]any{"row_group_size": 7, "data_page_size": 64, "compression": "gzip"}},
		{"pyarrow", "milliseconds", map[string]any{"coerce_timestamps": "ms", "allow_truncated_timestamps": true, "compression": "lz4"}},
		{"pyarrow", "page index", map[string]any{"write_page_index": true, "compression": "brotli"}},
		{"duckdb", "snappy", map[string]any{}}, {"duckdb", "zstd, V2", map[string]any{"COMPRESSION": "zstd", "PARQUET_VERSION": "V2"}}} {
		name := "parquet: " + w.name + ", written by " + w.by
		if !b.wanted(name) {
			continue
		}
		path := filepath.Join(b.dir, "parquet", w.by+w.name)
		from := rows
		if w.by == "duckdb" {
			from = nearRows
		}
		_, err := b.o.call("parquet_write", map[string]any{"by": w.by, "rows": from, "path": path, "options": w.options})
		if err != nil {
			b.result(name, "", err)
			continue
		}
		got, err := b.here(ctx, "parquet", path)
		if err == nil {
			there, err2 := b.there(w.by, "parquet", path)
			if err = err2; err == nil {
				if d := got.difference(there); d != "" {
					err = errors.New(d)
				}
			}
		}
		b.result(name, fmt.Sprintf("%d rows", len(got.rows)), err)
	}
	return nil
}

// backHere reads files here and in Spark, unless making them failed.
func (b *bench) backHere(ctx context.Context, name, path string, err error) {
	if err != nil {
		b.result(name, "", err)
		return
	}
	want, err := b.here(ctx, "parquet", path)
	if err != nil {
		b.result(name, "", err)
		return
	}
	b.compare(name, "parquet", path, want, []string{"spark"})
}

// elsewhere reads tables that deltalake writes and changes.
func (b *bench) elsewhere(ctx context.Context) error {
	const name = "delta: written by deltalake"
	if !b.wanted(name) {
		return nil
	}
	path := filepath.Join(b.dir, "delta", "rust")
	step := func(what, call string, args map[string]any) bool {
		args["path"] = path
		_, err := b.o.call(call, args)
		if err != nil {
			b.result(name+", "+what, "", err)
			return false
		}
		want, err := b.here(ctx, "delta", path)
		if err != nil {
			b.result(name+", "+what, "", err)
			return false
		}
		readers := []string{"deltalake"}
		if b.spark {
			readers = append(readers, "spark")
		}
		b.compare(name+", "+what, "delta", path, want, readers)
		return true
	}
	rows := func(query string) (string, error) {
		df, err := b.s.SQL(ctx, query)
		if err != nil {
			return "", err
		}
		batches, schema, err := df.Collect(ctx)
		if err != nil {
			return "", err
		}
		f := b.file()
		return f, writeIPC(f, batches, schema)
	}
	first, err := rows("SELECT id, concat('p', id % 3, '/%') AS p, CAST(id AS DECIMAL(10,2)) AS d, TIMESTAMP '2020-01-01 00:00:00.123456' AS t, named_struct('x', id) AS s FROM range(0, 30)")
	if err != nil {
		return err
	}
	second, err := rows("SELECT id, 'q' AS p, CAST(0 AS DECIMAL(10,2)) AS d, TIMESTAMP '2020-01-01 00:00:00' AS t, named_struct('x', id) AS s FROM range(25, 40)")
	if err != nil {
		return err
	}
	_ = step("partitioned", "deltalake_write", map[string]any{"rows": first, "partition_by": []string{"p"}}) &&
		step("delete", "deltalake_change", map[string]any{"delete": "id % 5 = 0"}) &&
		step("update", "deltalake_change", map[string]any{"update": map[string]string{"d": "d + 1"}, "where": "id < 10"}) &&
		step("merge", "deltalake_merge", map[string]any{"rows": second, "on": "s.id = t.id"}) &&
		step("optimize", "deltalake_change", map[string]any{"optimize": true}) &&
		step("checkpoint", "deltalake_change", map[string]any{"checkpoint": true}) &&
		step("append behind the checkpoint", "deltalake_write", map[string]any{"rows": second})
	if err := b.statements(ctx, []string{"DELETE FROM delta.`" + path + "` WHERE id = 26"}); err != nil {
		b.result(name+", DELETE by streamlab", "", err)
		return nil
	}
	_ = step("append behind a DELETE by streamlab", "deltalake_write", map[string]any{"rows": second})
	return nil
}

// turns lets streamlab, deltalake and Spark write to one table, commit by commit, and counts its rows.
func (b *bench) turns(ctx context.Context, n int) error {
	name := fmt.Sprintf("turns: %d commits", n)
	if !b.wanted(name) || n == 0 {
		return nil
	}
	path := filepath.Join(b.dir, "delta", "turns")
	if err := b.statements(ctx, []string{"CREATE TABLE turns (id BIGINT, who STRING, turn BIGINT) USING delta LOCATION '" + path + "'"}); err != nil {
		return err
	}
	if b.spark {
		if err := b.sql(ctx, true, []string{"CREATE TABLE turns USING delta LOCATION '" + path + "'"}); err != nil {
			b.result(name, "", err)
			return nil
		}
	}
	const each = 3
	count := map[string]int{}
	for i := 1; i < n; i++ {
		who := []string{"streamlab", "deltalake"}[i%2]
		if b.spark && i%10 == 5 {
			who = "spark"
		}
		count[who]++
		var err error
		insert := []string{fmt.Sprintf("INSERT INTO turns SELECT id, '%s', %d FROM range(%d, %d)", who, i, i*each, (i+1)*each)}
		switch who {
		case "streamlab":
			err = b.statements(ctx, insert)
		case "spark":
			err = b.sql(ctx, true, insert)
		default:
			id, names, turn := []int{}, []string{}, []int{}
			for k := range each {
				id, names, turn = append(id, i*each+k), append(names, who), append(turn, i)
			}
			_, err = b.o.call("deltalake_rows", map[string]any{"path": path, "columns": map[string]any{"id": id, "who": names, "turn": turn}})
		}
		if err != nil {
			b.result(name, "", fmt.Errorf("commit %d by %s: %w", i, who, err))
			return nil
		}
	}
	if _, err := os.Stat(filepath.Join(path, "_delta_log", fmt.Sprintf("%020d.json", n-1))); err != nil {
		b.result(name, "", err)
		return nil
	}
	df, err := b.s.SQL(ctx, fmt.Sprintf("SELECT r.id, t.n FROM range(%d, %d) r FULL JOIN (SELECT id, count(*) AS n FROM turns GROUP BY id) t ON r.id = t.id WHERE t.n IS NULL OR t.n > 1 OR r.id IS NULL", each, n*each))
	if err != nil {
		return err
	}
	bad, schema, err := df.Collect(ctx)
	if err == nil {
		if r := rowsOf(bad, schema.Names()); len(r.rows) > 0 {
			err = fmt.Errorf("%d rows are lost or doubled: %s", len(r.rows), r.rows[0])
		}
	}
	b.result(name, fmt.Sprint(count), err)
	_, _ = b.all(ctx, name, deltaCase{}, path)
	return nil
}
