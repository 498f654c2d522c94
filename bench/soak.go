package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"streamlab/engine"
)

const (
	soakFor   = 30 * time.Minute // unless the probe is told otherwise
	soakRows  = 20_000           // a second, of each stream
	soakEvery = time.Second      // between two looks at the memory
	soakParts = 72               // of the time, at whose ends is collected
)

// probeSoak is P6: W6's windows and W9's join over streams that do not end, in this process. Both states are full
// after a minute, so that from then on memory must stay as it is.
func probeSoak(ctx context.Context, p Probing) ([]Figure, error) {
	length := p.For
	if length == 0 {
		length = soakFor
	}
	if length < 2*time.Minute {
		return nil, errors.New("a soak takes two minutes at least")
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
	var resident, live, behind []float64
	var settled, disk []float64 // one for each part of the time, as live
	var at []time.Duration      // when
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
		m := takeMemory()
		behind = append(behind, soakBehind(runs, time.Since(began)))
		if now := time.Since(began); len(at) == 0 || now-at[len(at)-1] >= length/soakParts {
			at = append(at, now)
			// What waits for the collector depends on when it came by last, by half of all memory; a leak does not.
			debug.FreeOSMemory()
			after := takeMemory()
			settled, live = append(settled, after.anonymous), append(live, after.live)
			disk = append(disk, float64(diskBytes(p.Scratch))/(1<<20))
			p.Say(fmt.Sprintf("%s: after a collection %.0f MiB without mapped files, checkpoints %.0f MiB", time.Since(began).Round(time.Second),
				settled[len(settled)-1], disk[len(disk)-1]))
		}
		if time.Since(began) > next {
			next += time.Minute
			p.Say(fmt.Sprintf("%s: resident %.0f MiB (heap live %.0f, held %.0f; files %.0f), %d batches, %.2f s behind", time.Since(began).Round(time.Second),
				resident[len(resident)-1], m.live, m.held, m.files, runs[0].Snapshot().Batch+runs[1].Snapshot().Batch, behind[len(behind)-1]))
		}
	}
	rows := int64(0)
	for _, q := range runs {
		rows += q.Snapshot().TotalRows
	}
	// Medians, since the database holds some hundred megabytes for a second or two when it merges tables: a look that
	// falls into that says nothing of what stays.
	part := func(v []float64, sixth int) float64 {
		var in []float64
		for i := range v {
			when := time.Duration(float64(length) * float64(i) / float64(len(v)))
			if len(v) == len(at) {
				when = at[i]
			}
			if min(5, int(6*when/length)) == sixth {
				in = append(in, v[i])
			}
		}
		return middle(in)
	}
	second := func(v []float64) float64 { return part(v, 1) }
	last := func(v []float64) float64 { return part(v, 5) }
	return []Figure{
		{Name: "resident after a collection, without mapped files, median of the last sixth ÷ of the second", Value: last(settled) / second(settled), Target: 1.05},
		{Name: "resident after a collection, without mapped files, last sixth", Value: last(settled), Unit: "MiB"},
		{Name: "resident memory, last sixth ÷ second", Value: last(resident) / second(resident)},
		{Name: "resident memory, second sixth", Value: second(resident), Unit: "MiB"},
		{Name: "resident memory, last sixth", Value: last(resident), Unit: "MiB"},
		{Name: "live heap, last sixth ÷ second", Value: last(live) / second(live)},
		{Name: "checkpoints, last sixth ÷ second", Value: last(disk) / second(disk)},
		{Name: "checkpoints, last sixth", Value: last(disk), Unit: "MiB"},
		{Name: "behind the streams, second sixth", Value: second(behind), Unit: "s"},
		{Name: "behind the streams, last sixth", Value: last(behind), Unit: "s"},
		{Name: "rows", Value: float64(rows) / 1e6, Unit: "M"},
		{Name: "length", Value: time.Since(began).Minutes(), Unit: "min"},
	}, nil
}

// soakBehind is how far the queries are behind their streams, in seconds of these. A machine that is too busy for
// the streams makes batches that grow, and memory with them, which is no leak: then this grows too.
func soakBehind(runs []*engine.StreamingQuery, since time.Duration) (seconds float64) {
	for i, q := range runs {
		rate := float64(soakRows * (i + 1)) // one stream, and two
		seconds = max(seconds, since.Seconds()-float64(q.Snapshot().TotalRows)/rate)
	}
	return seconds
}

// memoryParts is what the resident memory of this process is made of, in MiB.
type memoryParts struct {
	live  float64 // of the heap, as the last collection left it
	held  float64 // by the heap, with what waits for the next collection
	files float64 // that are mapped, and resident: the system takes them back when it needs the memory
	// anonymous is what is resident and of no file. It grows if something is kept that should not be.
	anonymous float64
}

func takeMemory() (m memoryParts) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	m.live = float64(samples[0].Value.Uint64()) / (1 << 20)
	m.held = float64(samples[1].Value.Uint64()-samples[2].Value.Uint64()) / (1 << 20)
	if raw, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(raw)) {
			var kib float64
			for prefix, to := range map[string]*float64{"RssFile:": &m.files, "RssAnon:": &m.anonymous} {
				if text, ok := strings.CutPrefix(line, prefix); ok {
					if _, err := fmt.Sscan(text, &kib); err == nil {
						*to = kib / 1024
					}
				}
			}
		}
	}
	return m
}
