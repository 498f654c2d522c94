package engine

import (
	"time"

	"streamlab/sources"
	"streamlab/sql/plan"
)

// Read is a stream that a query reads.
type Read struct {
	Name    string          // as in the catalog; the format's for an anonymous one
	Format  string          // "rate", "kafka", …
	Path    string          // of formats that read a folder or a table; else empty
	Options sources.Options // as they were given; not to be changed
}

// Reads lists the streams of the plan from left to right, one that is named twice only once, the greatest delay among
// its watermarks, 0 without one, and whether it puts rows into windows of time.
func (d *DataFrame) Reads() (reads []Read, delay time.Duration, windows bool) {
	if d.err != nil {
		return nil, 0, false
	}
	seen := map[int64]bool{}
	var walk func(n plan.Node)
	walk = func(n plan.Node) {
		switch x := n.(type) {
		case *plan.Scan:
			if x.Stream == nil || seen[x.Stream.ID] {
				return
			}
			seen[x.Stream.ID] = true
			r := Read{Name: x.Stream.Name, Format: x.Stream.Format}
			if o, ok := x.Stream.Open.(*opening); ok {
				r.Path, r.Options = o.def.Path, o.def.Options
			}
			reads = append(reads, r)
		case *plan.TimeWindow, *plan.SessionWindow:
			windows = true
		case *plan.Watermark:
			delay = max(delay, time.Duration(x.DelayMicros)*time.Microsecond)
		}
		for _, c := range n.Children() {
			walk(c)
		}
	}
	walk(d.node)
	return reads, delay, windows
}
