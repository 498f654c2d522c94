package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"streamlab/engine"
)

// streamCase is a streaming query from a Delta table to a Delta table.
type streamCase struct {
	name, query, mode, merge string
	options                  map[string]string
}

var streamCases = []streamCase{
	{name: "append", query: "SELECT id, concat(s, '!') AS s FROM source", mode: "append", options: map[string]string{"maxFilesPerTrigger": "2"}},
	{name: "complete", query: "SELECT id % 5 AS k, count(*) AS n, sum(id) AS total FROM source GROUP BY id % 5", mode: "complete", options: map[string]string{"maxFilesPerTrigger": "2"}},
	{name: "merge in foreachBatch", query: "SELECT id % 20 AS k, count(*) AS n FROM source GROUP BY id % 20", options: map[string]string{"maxFilesPerTrigger": "2"},
		merge: "MERGE INTO delta.`{p}` t USING batch s ON t.k = s.k WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.k, s.n)"},
}

// streams runs every query here over a table that Spark wrote, and in Spark over one that was written here.
func (b *bench) streams(ctx context.Context) error {
	sources := map[string]string{}
	for w, writer := range []string{"streamlab", "spark"} {
		if w == 1 && !b.spark || !b.wanted("stream") {
			continue
		}
		p := filepath.Join(b.dir, "streams", "source-"+writer)
		list := append([]string{create + "(id BIGINT, s STRING) USING delta LOCATION '{p}'"}, repeat(4, "INSERT INTO {t} SELECT id, concat('s', id) FROM range(%d0, %d9)")...)
		if err := b.sql(ctx, w == 1, named(list, "stream_source_"+writer, p)); err != nil {
			b.result("stream: source by "+writer, "", err)
			return nil
		}
		sources[writer] = p
	}
	for i, c := range streamCases {
		var made [2]rowset
		for w, writer := range []string{"streamlab", "spark"} {
			name := fmt.Sprintf("stream: %s, run by %s", c.name, writer)
			if !b.wanted(name) {
				continue
			}
			if !b.spark {
				b.skip(name, "there is no Spark")
				continue
			}
			source := sources[[]string{"spark", "streamlab"}[w]]
			sink := filepath.Join(b.dir, "streams", fmt.Sprintf("%d-%s", i, writer))
			merge := named([]string{c.merge}, "", sink)[0]
			if merge != "" {
				if err := b.sql(ctx, w == 1, []string{"CREATE TABLE stream_" + writer + fmt.Sprint(i) + " (k BIGINT, n BIGINT) USING delta LOCATION '" + sink + "'"}); err != nil {
					b.result(name, "", err)
					continue
				}
			}
			var err error
			if w == 0 {
				err = b.stream(ctx, c, source, sink, merge)
			} else {
				args := map[string]any{"source": source, "query": c.query, "mode": c.mode, "sink": sink, "checkpoint": sink + "-checkpoint", "source_options": c.options}
				if merge != "" {
					args["merge"] = merge
				}
				_, err = b.o.call("spark_stream", args)
			}
			if err != nil {
				b.result(name, "", err)
				continue
			}
			made[w], _ = b.all(ctx, name, deltaCase{}, sink)
		}
		if made[0].rows != nil && made[1].rows != nil {
			var err error
			if d := made[0].difference(made[1]); d != "" {
				err = errors.New(d)
			}
			b.result("stream: "+c.name+", the two tables", fmt.Sprintf("%d rows", len(made[0].rows)), err)
		}
	}
	return nil
}

// stream runs a query here until nothing is left to read.
func (b *bench) stream(ctx context.Context, c streamCase, source, sink, merge string) error {
	if err := b.s.ReadStream().Format("delta").Options(c.options).Load(source).CreateOrReplaceTempView("source"); err != nil {
		return err
	}
	df, err := b.s.SQL(ctx, c.query)
	if err != nil {
		return err
	}
	w := df.WriteStream().Trigger(engine.AvailableNow()).Option("checkpointLocation", sink+"-checkpoint")
	var q *engine.StreamingQuery
	if merge != "" {
		q, err = w.OutputMode("update").ForeachBatch(func(ctx context.Context, batch *engine.DataFrame, _ int64) error {
			if err := batch.CreateOrReplaceTempView("batch"); err != nil {
				return err
			}
			df, err := batch.Session().SQL(ctx, merge)
			if err != nil {
				return err
			}
			_, _, err = df.Collect(ctx)
			return err
		}).Start(ctx)
	} else {
		q, err = w.OutputMode(c.mode).Format("delta").Start(ctx, sink)
	}
	if err != nil {
		return err
	}
	return q.AwaitTermination(ctx)
}
