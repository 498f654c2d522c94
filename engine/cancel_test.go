package engine_test

import (
	"context"
	"errors"
	"testing"
)

// A query over endless rows ends when its context does.
func TestCollectStopsWithItsContext(t *testing.T) {
	s := numbered(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, text := range []string{
		"SELECT count(*) FROM range(9223372036854775807)",
		"SELECT max(a.id + b.id) FROM range(9223372036854775807) a CROSS JOIN range(2) b",
	} {
		if _, _, err := must(t, s, text).Collect(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
