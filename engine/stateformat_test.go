package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sinks"
)

func stateQuery(t *testing.T) (*engine.Session, string) {
	t.Helper()
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir(), Conf: map[string]string{"spark.sql.shuffle.partitions": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.ReadStream().Format("memory").Schema("k STRING, v INT").Register("rows")
	dir := t.TempDir()
	for i := range 2 {
		if err := s.Feed("rows", [][]any{{"a", fmt.Sprint(i)}, {fmt.Sprint("k", i), "5"}}); err != nil {
			t.Fatal(err)
		}
		df, err := s.SQL(context.Background(), "SELECT k, sum(v) AS s FROM rows GROUP BY k")
		if err != nil {
			t.Fatal(err)
		}
		q, err := df.WriteStream().OutputMode("update").Trigger(engine.AvailableNow()).Option("checkpointLocation", dir).
			EachBatch(func(ctx context.Context, b sinks.Batch) error { return nil }).Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := q.AwaitTermination(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	return s, dir
}

func TestStateIsATable(t *testing.T) {
	s, dir := stateQuery(t)
	ctx := context.Background()
	count := func(df *engine.DataFrame) int64 {
		t.Helper()
		rows, _, err := df.Collect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		for _, rb := range rows {
			n += rb.NumRows()
		}
		return n
	}
	now := s.Read().Format("statestore").Load(ctx, dir)
	if n := count(now); n != 3 {
		t.Errorf("%d rows", n)
	}
	if got := now.Schema().Simple(); !strings.HasPrefix(got, "struct<key:struct<k:string>,value:struct<") || !strings.HasSuffix(got, ",partition_id:int>") {
		t.Error(got)
	}
	// Spark's hash of the key, over three partitions.
	if n := count(now.SelectExpr("partition_id = pmod(hash(key.k), 3) AS right").Where("right")); n != 3 {
		t.Errorf("%d rows are in their partition", n)
	}
	if n := count(s.Read().Format("statestore").Option("batchId", 0).Load(ctx, dir)); n != 2 {
		t.Errorf("%d rows after batch 0", n)
	}
	meta := s.Read().Format("state-metadata").Load(ctx, dir)
	if n := count(meta.Where("operatorId = 0 AND operatorName = 'stateStoreSave' AND stateStoreName = 'default' AND numPartitions = 3 AND maxBatchId = 1")); n != 1 {
		t.Errorf("%d operators", n)
	}
	for text, want := range map[string]int64{
		"SELECT key.k, value FROM statestore.`" + dir + "` WHERE key.k = 'a'":                                 1,
		"SELECT operatorName FROM `state-metadata`.`" + dir + "`":                                             1,
		"SELECT * FROM (SELECT key.k FROM statestore.`" + dir + "`) a JOIN (SELECT 'k1' AS k) b ON a.k = b.k": 1,
	} {
		df, err := s.SQL(ctx, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if n := count(df); n != want {
			t.Errorf("%s: %d rows", text, n)
		}
	}
	if _, err := s.SQL(ctx, "CREATE TEMPORARY VIEW st USING statestore OPTIONS (path '"+dir+"', batchId '0')"); err != nil {
		t.Error(err)
	} else if df, err := s.SQL(ctx, "SELECT * FROM st"); err != nil || count(df) != 2 {
		t.Error(err)
	}
	for _, x := range []struct{ option, value, want string }{
		{"batchId", "7", "STDS_OFFSET_LOG_UNAVAILABLE"},
		{"batchId", "-1", "STDS_INVALID_OPTION_VALUE.IS_NEGATIVE"},
		{"operatorId", "4", "STDS_FAILED_TO_READ_OPERATOR_METADATA"},
		{"operatorId", "x", "STDS_INVALID_OPTION_VALUE.WITH_MESSAGE"},
		{"storeName", "none", "STDS_INVALID_OPTION_VALUE.WITH_MESSAGE"},
		{"storeName", "", "STDS_INVALID_OPTION_VALUE.IS_EMPTY"},
		{"joinSide", "up", "STDS_INVALID_OPTION_VALUE.WITH_MESSAGE"},
		{"readChangeFeed", "true", "UNSUPPORTED_FEATURE"},
	} {
		if err := s.Read().Format("statestore").Option(x.option, x.value).Load(ctx, dir).Err(); !errs.Has(err, x.want) {
			t.Errorf("%s=%s: %v, want %s", x.option, x.value, err, x.want)
		}
	}
	if err := s.Read().Format("statestore").Load(ctx).Err(); !errs.Has(err, "STDS_REQUIRED_OPTION_UNSPECIFIED") {
		t.Error(err)
	}
	if err := s.Read().Format("state-metadata").Load(ctx, t.TempDir()).Err(); !errs.Has(err, "STDS_COMMITTED_BATCH_UNAVAILABLE") {
		t.Error(err)
	}
}
