package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"streamlab/engine"
)

const (
	soakFor   = 30 * time.Minute // unless the probe is told otherwise
	soakRows  = 20_000           // a second, of each stream
	soakEvery = time.Second      // between two looks at the memory
)

// probeSoak is P6: W6's windows and W9's join over streams that do not end, in this process. Both states are full
// after a minute, so that from then on memory must stay as it is.
func probeSoak(ctx context.Context, p Probing) ([]Figure, error) {
	length := p.For
	if length == 0 {
		length = soakFor
	}
	s, err := engine.NewSession(engine.Config{Dir: p.Scratch})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for _, name := range []string{"events", "impressions", "clicks"} {
		rate := s.ReadStream().Format("rate").Option("rowsPerSecond", soakRows).Load()
		if err := rate.WithWatermark("timestamp", "5 seconds").CreateOrReplaceTempView(name); err != nil {
			return nil, err
		}
	}
	var runs []*engine.StreamingQuery
	for i, text := range []string{
		`SELECT window(timestamp, '10 seconds') w, mod(value, 1000) country, count(*) n, avg(value) p FROM events GROUP BY window(timestamp, '10 seconds'), mod(value, 1000)`,
		`SELECT i.value, i.timestamp AS shown, c.timestamp AS clicked FROM impressions i JOIN clicks c ON i.value = c.value AND c.timestamp BETWEEN i.timestamp AND i.timestamp + INTERVAL 20 SECONDS`,
	} {
		df, err := s.SQL(ctx, text)
		if err != nil {
			return nil, err
		}
		q, err := df.WriteStream().OutputMode("append").Format("noop").QueryName([]string{"W6", "W9"}[i]).
			Option("checkpointLocation", filepath.Join(p.Scratch, fmt.Sprint("chk", i))).Start(ctx)
		if err != nil {
			return nil, err
		}
		runs = append(runs, q)
	}
	var resident []float64
	began := time.Now()
	tick := time.NewTicker(soakEvery)
	defer tick.Stop()
	for next := time.Minute; time.Since(began) < length; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		resident = append(resident, float64(residentBytes(os.Getpid()))/(1<<20))
		for _, q := range runs {
			if !q.IsActive() {
				return nil, errors.Join(q.Exception(), errors.New("a query ended"))
			}
		}
		if time.Since(began) > next {
			next += time.Minute
			p.Say(fmt.Sprintf("%s: %.0f MiB, %d batches", time.Since(began).Round(time.Second), resident[len(resident)-1], runs[0].Snapshot().Batch+runs[1].Snapshot().Batch))
		}
	}
	rows := int64(0)
	for _, q := range runs {
		rows += q.Snapshot().TotalRows
	}
	sixth := len(resident) / 6
	if sixth == 0 {
		return nil, errors.New("a soak takes some seconds at least")
	}
	early, last := mean(resident[sixth:2*sixth]), mean(resident[len(resident)-sixth:])
	return []Figure{
		{Name: "resident memory, last sixth ÷ second", Value: last / early, Target: 1.05},
		{Name: "resident memory, second sixth", Value: early, Unit: "MiB"},
		{Name: "resident memory, last sixth", Value: last, Unit: "MiB"},
		{Name: "rows", Value: float64(rows) / 1e6, Unit: "M"},
		{Name: "length", Value: time.Since(began).Minutes(), Unit: "min"},
	}, nil
}
