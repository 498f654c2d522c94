package lab

import (
	"context"

	"streamlab/engine"
)

// share lets the queries that start with the lab read their common sources once, but for those that say
// `share: false`. A query that cannot be analysed takes no part; its start says why.
func (l *Lab) share(ctx context.Context, s *engine.Session) {
	apart, several := map[string]bool{}, false
	for _, src := range l.Sources {
		apart[src.Name.Value] = !src.Share
		several = several || src.Share
	}
	if !several || len(l.Queries) < 2 {
		return
	}
	var frames []*engine.DataFrame
	for _, q := range l.Queries {
		if !q.Start {
			continue
		}
		if df, err := s.SQL(ctx, q.SQL.Value); err == nil {
			frames = append(frames, df)
		}
	}
	s.ShareReads(frames, apart)
}
