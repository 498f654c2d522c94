package plan

import "streamlab/sql/catalog"

// Still is a plan with the streams below it replaced by tables, so that it can be run as a batch. What only
// means something while rows keep coming goes: watermarks, as Spark drops them from a batch. A table of nil
// leaves its stream. The plan given is not changed.
func Still(n Node, table func(*catalog.Stream) catalog.Table) Node {
	return rewrite(n, func(n Node) Node {
		switch x := n.(type) {
		case *Scan:
			if x.Stream == nil {
				return x
			}
			if t := table(x.Stream); t != nil {
				c := *x
				c.Table, c.Stream = t, nil
				return &c
			}
		case *Watermark:
			return x.Child
		}
		return n
	})
}
