package engine_test

import (
	"context"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"streamlab/engine"
	"streamlab/internal/safego"
	"streamlab/sinks"
)

// Queries on one rate source that are started together make its rows once, and all of them see the same times.
func TestSharedRatesAreMadeOnce(t *testing.T) {
	for format, options := range map[string]map[string]string{
		"rate":             {"rowsPerSecond": "1000", "numPartitions": "2"},
		"rate-micro-batch": {"rowsPerBatch": "1000", "numPartitions": "2"},
	} {
		ctx := context.Background()
		s, err := engine.NewSession(engine.Config{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if df := s.ReadStream().Format(format).Options(options).Register("r"); df.Err() != nil {
			t.Fatal(df.Err())
		}
		var frames []*engine.DataFrame
		for range 3 {
			df, err := s.SQL(ctx, "SELECT CAST(value AS STRING) AS v, CAST(timestamp AS STRING) AS t FROM r WHERE value < 1000")
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, df)
		}
		s.ShareReads(frames, nil)
		var mu sync.Mutex
		rows := make([]map[string]string, len(frames))
		whole := make(chan int, 1000)
		var running []*engine.StreamingQuery
		for i, df := range frames {
			rows[i] = map[string]string{}
			q, err := df.WriteStream().EachBatch(func(ctx context.Context, b sinks.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				if err := eachText(ctx, b, func(cells []string) { rows[i][cells[0]] = cells[1] }); err != nil {
					return err
				}
				if len(rows[i]) == 1000 {
					select {
					case whole <- i:
					default:
					}
				}
				return nil
			}).Start(ctx)
			if err != nil {
				t.Fatal(err)
			}
			running = append(running, q)
		}
		for done := map[int]bool{}; len(done) < len(frames); {
			done[<-whole] = true
		}
		var stops []*safego.Handle
		for _, q := range running {
			stops = append(stops, safego.Go("stop", q.Stop))
		}
		for _, h := range stops {
			if err := h.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		mu.Lock()
		first := sorted(rows[0])
		for i := range rows {
			if got := sorted(rows[i]); got != first {
				t.Errorf("%s: query %d has other rows than query 0", format, i)
			}
		}
		mu.Unlock()
		reused := false
		for _, q := range running {
			for _, p := range q.RecentProgress() {
				for _, src := range p.Sources {
					reused = reused || src.Metrics["sharedPartitionsReused"] != "" && src.Metrics["sharedPartitionsReused"] != "0"
				}
			}
		}
		if !reused {
			t.Errorf("%s: no query had rows of another", format)
		}
		s.Close()
	}
}

func sorted(m map[string]string) string {
	var list []string
	for k, v := range m {
		list = append(list, k+"="+v)
	}
	sort.Strings(list)
	return strings.Join(list, "\n")
}

// eachText gives the rows of a batch whose columns are texts.
func eachText(ctx context.Context, b sinks.Batch, give func(cells []string)) error {
	return sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
		for i := range int(rb.NumRows()) {
			cells := make([]string, rb.NumCols())
			for c := range cells {
				cells[c] = strings.Clone(rb.Column(c).(*array.String).Value(i))
			}
			give(cells)
		}
		return nil
	})
}
