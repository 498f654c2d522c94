package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// doublingLimit is how much more a batch may cost when there is ten times as much that it does not touch.
const doublingLimit = 1.3

// A doubled is one line of the complexity budget: something grows tenfold, and the cost of a batch must stay. It
// is prepared twice, small and large, and then measured in turn, so that a busy machine is busy for both.
type doubled struct {
	name, axis string
	small      int64 // of what grows; the large one is ten times it
	exempt     bool  // grows by definition, and is shown only
	unit       string
	floor      float64 // figures below it count as equal to it
	prepare    func(ctx context.Context, p Probing, dir string, size int64) error
	measure    func(ctx context.Context, p Probing, dir string, size int64) (cost float64, err error)
}

// probeDoubling measures every line of the budget: state, history, idle queries, files that were seen. Options
// are names, or beginnings of names, of lines; none is all.
func probeDoubling(ctx context.Context, p Probing) ([]Figure, error) {
	var out []Figure
	for _, d := range doublings() {
		if !p.wants(d.axis + " " + d.name) {
			continue
		}
		f, err := d.run(ctx, p)
		if err != nil {
			return out, fmt.Errorf("%s %s: %w", d.axis, d.name, err)
		}
		out = append(out, f)
	}
	return out, nil
}

func doublings() []doubled {
	var all []doubled
	for _, q := range statefuls() {
		all = append(all, q.doubled())
	}
	return append(all, besideState()...)
}

// run prepares both sizes and gives the median of the rounds' ratios.
func (d doubled) run(ctx context.Context, p Probing) (Figure, error) {
	f := Figure{Name: fmt.Sprintf("%s: %s %d → %d", d.name, d.axis, d.small, 10*d.small), Target: doublingLimit}
	if d.exempt {
		f.Target = 0
	}
	base, err := os.MkdirTemp(p.Scratch, "doubled-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(base)
	sizes := [2]int64{d.small, 10 * d.small}
	var dirs [2]string
	began := time.Now()
	for i, size := range sizes {
		dirs[i] = filepath.Join(base, fmt.Sprint(size))
		if err := os.MkdirAll(dirs[i], 0o755); err != nil {
			return f, err
		}
		if err := d.prepare(ctx, p, dirs[i], size); err != nil {
			return f, err
		}
	}
	made := time.Since(began)
	var ratios []float64
	var costs [2][]float64
	for round := range p.Rounds {
		var c [2]float64
		for i := range sizes {
			k := (round + i) % 2
			if c[k], err = d.measure(ctx, p, dirs[k], sizes[k]); err != nil {
				return f, err
			}
			c[k] = max(c[k], d.floor)
			costs[k] = append(costs[k], c[k])
		}
		ratios = append(ratios, c[1]/c[0])
	}
	f.Value = middle(ratios)
	p.Say(fmt.Sprintf("%-9s %-34s %9d: %8.3f %-4s %9d: %8.3f %-4s ratio %.2f  (made in %.1f s)", d.axis, d.name,
		sizes[0], middle(costs[0]), d.unit, sizes[1], middle(costs[1]), d.unit, f.Value, made.Seconds()))
	return f, nil
}
