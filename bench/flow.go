package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"streamlab/engine"
	"streamlab/internal/safego"
)

const (
	flowTick = 10 * time.Millisecond // a file comes so often
	flowTime = 6 * time.Second
	flowSkip = time.Second // of it that is not counted
)

// flowDelay is the delay of the watermark. The query is W6 with results from every batch, so that a row can be seen to
// have arrived. Its input goes round and round, so that the watermark has to be far behind.
const flowDelay = "10000 seconds"

// probeFlow is P5: W6 at half the rate that it can have; the time from the coming of a file to the end of the
// batch that has it.
func probeFlow(ctx context.Context, p Probing) ([]Figure, error) {
	w, err := Find("W6")
	if err != nil {
		return nil, err
	}
	best := 0.0
	for range 2 {
		r, err := Run(ctx, w, "small", p.Data, p.Scratch, false)
		if err != nil {
			return nil, err
		}
		best = max(best, r.RowsPerS)
	}
	rows := int(best / 2 * flowTick.Seconds())
	pieces := filepath.Join(p.Scratch, "pieces")
	if err := cutPieces(w.Views[0].folder(p.Data, "small"), pieces, rows); err != nil {
		return nil, err
	}
	in := filepath.Join(p.Scratch, "in")
	if err := os.Mkdir(in, 0o755); err != nil {
		return nil, err
	}
	s, err := engine.NewSession(engine.Config{Dir: p.Scratch})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.Conf().Set("spark.sql.streaming.numRecentProgressUpdates", "100000"); err != nil {
		return nil, err
	}
	df := s.ReadStream().Format("json").Schema(eventSchema).Load(in).WithWatermark("ts", flowDelay)
	if err := df.CreateOrReplaceTempView("events"); err != nil {
		return nil, err
	}
	q, err := s.SQL(ctx, w.Query)
	if err != nil {
		return nil, err
	}
	run, err := q.WriteStream().OutputMode("update").Format("noop").Option("checkpointLocation", filepath.Join(p.Scratch, "chk")).Start(ctx)
	if err != nil {
		return nil, err
	}
	var came []time.Time
	writer := safego.Go("files of the probe", func() (err error) {
		came, err = feed(pieces, in)
		return err
	})
	if err := writer.Wait(); err != nil {
		return nil, err
	}
	if err := run.ProcessAllAvailable(ctx); err != nil {
		return nil, err
	}
	progress := run.RecentProgress()
	if err := run.Stop(); err != nil {
		return nil, err
	}
	var ms []float64
	done, file := int64(0), 0
	for _, g := range progress {
		done += g.NumInputRows
		end := g.Timestamp.Add(time.Duration(g.TriggerMs() * 1e6))
		for ; int64(file+1)*int64(rows) <= done && file < len(came); file++ {
			if came[file].Sub(came[0]) > flowSkip {
				ms = append(ms, float64(end.Sub(came[file]).Microseconds())/1000)
			}
		}
	}
	if file < len(came) {
		return nil, fmt.Errorf("%d of %d files were read", file, len(came))
	}
	p.Say(fmt.Sprintf("%d rows every %v: %.2f M rows/s, half of %.2f", rows, flowTick, float64(rows)/flowTick.Seconds()/1e6, best/1e6))
	return []Figure{{Name: "row → sink at half of W6's rate, p50", Value: percentile(ms, 0.5), Unit: "ms"},
		{Name: flowName, Value: percentile(ms, 0.99), Unit: "ms", Target: 50}}, nil
}

// cutPieces cuts the files of a folder into files of rows lines; what is left at the end goes.
func cutPieces(from, to string, rows int) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(from, "part-*"))
	if err != nil {
		return err
	}
	var piece []byte
	lines, n := 0, 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		for len(data) > 0 {
			end := bytes.IndexByte(data, '\n') + 1
			piece, data = append(piece, data[:end]...), data[end:]
			if lines++; lines == rows {
				if err := os.WriteFile(filepath.Join(to, fmt.Sprintf("%05d.json", n)), piece, 0o644); err != nil {
					return err
				}
				piece, lines, n = piece[:0], 0, n+1
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("fewer than %d rows in %s", rows, from)
	}
	return nil
}

// feed links the pieces, round and round, into a folder: one in every tick. It gives the times when they came.
func feed(pieces, in string) ([]time.Time, error) {
	files, err := filepath.Glob(filepath.Join(pieces, "*.json"))
	if err != nil {
		return nil, err
	}
	var came []time.Time
	began := time.Now()
	for i := 0; time.Since(began) < flowTime; i++ {
		<-time.After(time.Until(began.Add(time.Duration(i) * flowTick)))
		now := time.Now()
		if err := os.Link(files[i%len(files)], filepath.Join(in, fmt.Sprintf("f%06d.json", i))); err != nil {
			return nil, err
		}
		came = append(came, now)
	}
	return came, nil
}
