package lab

import (
	"context"

	"streamlab/engine"
	"streamlab/store"
)

// Forecast says what a restart of a query would do now, from its checkpoint; see engine.Forecast.
func (w *Workbench) Forecast(ctx context.Context, name string, cp *store.Checkpoint) (*engine.Forecast, error) {
	q, err := w.Find(name)
	if err != nil {
		return nil, err
	}
	dw, path, err := w.Lab.writer(ctx, w.s, q)
	if err != nil {
		return nil, err
	}
	if q.ToTable.Value != "" {
		path = q.ToTable.Value
	}
	return dw.Forecast(ctx, cp, pathOf(path)...)
}

// Afresh says what stands in the way of a query's rows at its sink if it begins with a new checkpoint; "" if
// nothing does. See engine.DataStreamWriter.Afresh.
func (w *Workbench) Afresh(ctx context.Context, name string) (string, error) {
	q, err := w.Find(name)
	if err != nil {
		return "", err
	}
	dw, path, err := w.Lab.writer(ctx, w.s, q)
	if err != nil || q.ToTable.Value != "" {
		return "", err
	}
	return dw.Afresh(pathOf(path)...)
}
