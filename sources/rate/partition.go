package rate

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// part is every stride-th value from first below end.
type part struct {
	first, end, stride int64
	time, value        bool
	at                 func(v int64) int64 // microseconds
	clock              string              // tells at from those of other ranges
}

// split makes n partitions of [first, end): partition p has first+p, first+p+n, ...
func split(first, end int64, n int, time, value bool, clock string, at func(int64) int64) []columnar.Partition {
	out := make([]columnar.Partition, n)
	for p := range out {
		out[p] = &part{first: first + int64(p), end: end, stride: int64(n), time: time, value: value, at: at, clock: clock}
	}
	return out
}

// NumRows is exact.
func (p *part) NumRows() (int64, bool) {
	if p.first >= p.end {
		return 0, true
	}
	return (p.end-p.first-1)/p.stride + 1, true
}

func (p *part) String() string { return fmt.Sprintf("rate[%d,%d) step %d", p.first, p.end, p.stride) }

// ContentKey tells the values and their times.
func (p *part) ContentKey() string {
	return fmt.Sprint(p.String(), " ", p.clock, " ", p.time, " ", p.value)
}

// Rows makes the rows anew at every call.
func (p *part) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		var s types.Schema
		if p.time {
			s = append(s, schema[0])
		}
		if p.value {
			s = append(s, schema[1])
		}
		as := s.Arrow()
		v := p.first
		left, _ := p.NumRows()
		for left > 0 {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			n := int(min(left, columnar.MaxBatch))
			var cols []*columnar.Vec
			if p.time {
				c := columnar.NewVec(schema[0].Type, n)
				for i := range c.I64 {
					c.I64[i] = p.at(v + int64(i)*p.stride)
				}
				cols = append(cols, c)
			}
			if p.value {
				c := columnar.NewVec(schema[1].Type, n)
				for i := range c.I64 {
					c.I64[i] = v + int64(i)*p.stride
				}
				cols = append(cols, c)
			}
			left -= int64(n)
			v += int64(n) * p.stride
			if !yield(columnar.Record(as, cols, columnar.AllRows(n)), nil) {
				return
			}
		}
	}
}
