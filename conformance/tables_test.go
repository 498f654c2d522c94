package conformance

import (
	"context"

	"streamlab/engine"
)

// readTable gives a table of the catalog as a source.
func (p *player) readTable(ctx context.Context, s *engine.Session, name string, static bool) (*engine.DataFrame, error) {
	if static {
		return s.Table(name)
	}
	return nil, harness("tables as streams are not played")
}

// toTable starts a query into a table of the catalog.
func (p *player) toTable(ctx context.Context, w *engine.DataStreamWriter, name string) (*engine.StreamingQuery, error) {
	return nil, harness("tables as sinks are not played")
}
