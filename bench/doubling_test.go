package bench

import (
	"context"
	"testing"
)

// TestDoubling measures something whose cost grows with its size, and something whose cost does not.
func TestDoubling(t *testing.T) {
	how := Probing{Scratch: t.TempDir(), Rounds: 3, Say: func(string) {}}
	for name, cost := range map[string]func(size int64) float64{
		"flat": func(int64) float64 { return 2 }, "grows": func(size int64) float64 { return float64(size) },
		"below the floor": func(size int64) float64 { return float64(size) / 1e6 },
	} {
		prepared := map[string]int64{}
		d := doubled{name: name, axis: "state", small: 10, floor: 1,
			prepare: func(_ context.Context, _ Probing, dir string, size int64) error { prepared[dir] = size; return nil },
			measure: func(_ context.Context, _ Probing, dir string, size int64) (float64, error) {
				if prepared[dir] != size {
					t.Fatalf("%s: measured %d in a folder made for %d", name, size, prepared[dir])
				}
				return cost(size), nil
			}}
		f, err := d.run(context.Background(), how)
		if err != nil {
			t.Fatal(err)
		}
		if f.OK() != (name != "grows") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestStatefulsRun runs every line over a small state: each must start, go on after a restart, and take rows.
func TestStatefulsRun(t *testing.T) {
	for _, q := range statefuls() {
		t.Run(q.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, batch := range []struct {
				rows int64
				n    int
			}{{100, 1}, {20, 9}} {
				ms, err := q.run(context.Background(), dir, 100, batch.rows, batch.n)
				if err != nil {
					t.Fatal(err)
				}
				if len(ms) != batch.n {
					t.Fatalf("%d batches, want %d", len(ms), batch.n)
				}
			}
		})
	}
}
