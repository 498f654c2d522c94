package memory

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/sources"
)

// Readers gives one reader of all pushes behind start.
func (r *source) Readers(_ context.Context, start sources.Offset) ([]sources.Reader, error) {
	at, err := parse(start)
	if err != nil {
		return nil, err
	}
	return []sources.Reader{&reader{r, at}}, nil
}

// Merge is the place of the one reader.
func (r *source) Merge(places []sources.Place) (sources.Offset, error) {
	return sources.Offset(places[0]), nil
}

// Repartitioned is false: there is one partition.
func (r *source) Repartitioned(context.Context) (bool, error) { return false, nil }

// RealTime marks the source as fit for the real-time trigger.
func (r *source) RealTime() {}

// reader delivers push after push; at is the last one delivered.
type reader struct {
	s  *source
	at int
}

func (r *reader) Start() sources.Place {
	if r.at < 0 {
		return ""
	}
	return sources.Place(strconv.Itoa(r.at))
}

func (r *reader) Close() error { return nil }

// Next waits for a push.
func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, sources.Place, error) {
	for {
		r.s.stream.mu.Lock()
		var rb arrow.RecordBatch
		if r.at+1 < len(r.s.stream.pushes) {
			r.at++
			rb = r.s.stream.pushes[r.at]
		}
		r.s.stream.mu.Unlock()
		if rb != nil {
			return rb, r.Start(), nil
		}
		select {
		case <-r.s.changed:
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
}
