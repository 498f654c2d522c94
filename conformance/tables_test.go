package conformance

import (
	"context"

	"streamlab/engine"
)

// readTable gives a table of the catalog as a source.
func (p *player) readTable(ctx context.Context, s *engine.Session, name string, static bool, options map[string]string) (*engine.DataFrame, error) {
	if static {
		df := s.Read().Options(options).FromTable(name)
		return df, df.Err()
	}
	df := s.ReadStream().Options(options).Table(name)
	return df, df.Err()
}
