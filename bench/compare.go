package bench

import (
	"context"
	"strconv"

	"streamlab/errs"
)

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// Row is a workload's figures of one comparison: medians of interleaved rounds.
type Row struct {
	Workload, Variant string
	Engine, Limit     Result
	Ratio             float64 // median of per-round engine ÷ limit, in rows per second
}

// Compare checks a workload's result against its limit and then times both in interleaved rounds. Errors:
// BENCH_MISMATCH if the results differ.
func Compare(ctx context.Context, w Workload, variant, data, scratch string, rounds int) (*Row, error) {
	got, err := Run(ctx, w, variant, data, scratch, true)
	if err != nil {
		return nil, err
	}
	want, err := RunLimit(w, variant, data, true)
	if err != nil {
		return nil, err
	}
	if got.CheckN != want.CheckN || got.Checksum != want.Checksum {
		return nil, errs.New("BENCH_MISMATCH", "workload", w.Name, "rows", got.CheckN, "checksum", got.Checksum,
			"limitRows", want.CheckN, "limitChecksum", want.Checksum)
	}
	var mine, limits []*Result
	var ratios []float64
	for range rounds {
		m, err := Run(ctx, w, variant, data, scratch, false)
		if err != nil {
			return nil, err
		}
		l, err := RunLimit(w, variant, data, false)
		if err != nil {
			return nil, err
		}
		mine, limits, ratios = append(mine, m), append(limits, l), append(ratios, m.RowsPerS/l.RowsPerS)
	}
	return &Row{Workload: w.Name, Variant: variant, Engine: *median(mine), Limit: *median(limits), Ratio: middle(ratios)}, nil
}

func median(rs []*Result) *Result {
	best := rs[0]
	for _, r := range rs {
		slower := 0
		for _, o := range rs {
			if o.Seconds < r.Seconds {
				slower++
			}
		}
		if slower == len(rs)/2 {
			best = r
		}
	}
	return best
}

func middle(fs []float64) float64 {
	for _, f := range fs {
		less := 0
		for _, o := range fs {
			if o < f {
				less++
			}
		}
		if less == len(fs)/2 {
			return f
		}
	}
	return fs[0]
}
