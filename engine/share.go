package engine

import (
	"slices"
	"sort"
	"strconv"

	"streamlab/columnar"
	"streamlab/sources"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// ShareReads lets queries that are going to run read their common sources once (architecture.md 15 g): a
// stream that several of the DataFrames scan is read with the columns that they need between them, and what
// one query has read is kept for the others. Offsets, checkpoints and results stay each query's own. Streams
// whose names are in apart are read by every query for itself. Call it before the queries are started.
func (s *Session) ShareReads(frames []*DataFrame, apart map[string]bool) {
	type use struct {
		open    *opening
		schema  types.Schema
		queries int
		all     bool
		columns map[int]bool
	}
	uses := map[int64]*use{}
	for _, d := range frames {
		if d == nil || d.err != nil {
			continue
		}
		seen := map[int64]bool{}
		var walk func(plan.Node)
		walk = func(n plan.Node) {
			if sc, ok := n.(*plan.Scan); ok && sc.Stream != nil && !apart[sc.Stream.Name] {
				o, ours := sc.Stream.Open.(*opening)
				if !ours {
					return
				}
				u := uses[sc.Stream.ID]
				if u == nil {
					u = &use{open: o, schema: sc.Stream.Schema(), columns: map[int]bool{}}
					uses[sc.Stream.ID] = u
				}
				if !seen[sc.Stream.ID] {
					seen[sc.Stream.ID] = true
					u.queries++
				}
				u.all = u.all || sc.Columns == nil
				for _, c := range sc.Columns {
					u.columns[c] = true
				}
			}
			for _, c := range n.Children() {
				walk(c)
			}
		}
		walk(plan.Optimize(d.node))
	}
	for _, u := range uses {
		u.open.shared = nil
		if u.queries < 2 {
			continue
		}
		var columns []int
		if !u.all {
			columns = make([]int, 0, len(u.columns))
			for c := range u.columns {
				columns = append(columns, c)
			}
			sort.Ints(columns)
		}
		u.open.shared = sources.NewShared(u.schema, columns, u.queries)
	}
}

// share makes the partitions of a source those of a shared read, if there is one that has the columns.
func (x *querySource) share(parts []columnar.Partition) []columnar.Partition {
	if x.shared == nil {
		return parts
	}
	return x.shared.Wrap(parts, x.columns)
}

// joins decides whether a source takes part in a shared read: a query that was not there when it was made may
// need other columns. columns are those of the query's scan; nil is all.
func (x *querySource) joins(s *sources.Shared, columns []int) bool {
	if s == nil {
		return false
	}
	for _, c := range columns {
		if c >= len(x.stream.Schema()) {
			return false // a hidden column is asked for by name
		}
	}
	if have := s.Columns(); have != nil {
		if columns == nil {
			return false
		}
		for _, c := range columns {
			if !slices.Contains(have, c) {
				return false
			}
		}
	}
	return true
}

// sharedMetrics adds to a source's figures how many partitions the query's source read, and how many came
// from a shared read, over all queries that share.
func (x *querySource) sharedMetrics(m map[string]string) map[string]string {
	if x.shared == nil {
		return m
	}
	reads, hits := x.shared.Counts()
	out := map[string]string{}
	for k, v := range m {
		out[k] = v
	}
	out["sharedPartitionsRead"], out["sharedPartitionsReused"] = strconv.FormatInt(reads, 10), strconv.FormatInt(hits, 10)
	return out
}
