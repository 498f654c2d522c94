package delta

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"streamlab/columnar"
	"streamlab/internal/safego"
)

// writeHeld writes the rows of a partition that were held back.
func (w *dataWriter) writeHeld(h *columnar.Held) error {
	for _, rb := range h.Batches {
		if err := w.write(rb); err != nil {
			return err
		}
	}
	h.Batches = nil
	return nil
}

// writeParallel reads partitions on several workers, each of which writes files of its own. On an error
// nothing is left.
func (t *Txn) writeParallel(ctx context.Context, ws []*dataWriter, parts []columnar.Partition) ([]written, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := make(chan int, len(parts))
	for i := range parts {
		next <- i
	}
	close(next)
	back := make([]columnar.Held, len(parts))
	hs := make([]*safego.Handle, len(ws))
	for k, w := range ws {
		hs[k] = safego.Go("delta writer", func() error {
			for i := range next {
				if err := w.part(ctx, parts[i], &back[i]); err != nil {
					cancel()
					return err
				}
			}
			return nil
		})
	}
	var first error
	for _, h := range hs {
		if err := h.Wait(); err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
		}
	}
	for i := range back {
		if first == nil {
			first = ws[0].writeHeld(&back[i])
		}
	}
	done := make([][]written, len(ws))
	if first == nil {
		// Most of a file's pages are compressed when it is closed.
		for k, w := range ws {
			hs[k] = safego.Go("delta writer", func() (err error) {
				done[k], err = w.finish()
				return err
			})
		}
		for _, h := range hs {
			if err := h.Wait(); err != nil && first == nil {
				first = err
			}
		}
	}
	if first != nil {
		for _, w := range ws {
			w.abort()
		}
		return nil, first
	}
	return slices.Concat(done...), nil
}

// part writes the rows of a partition, or leaves them in h if they are few.
func (w *dataWriter) part(ctx context.Context, p columnar.Partition, h *columnar.Held) error {
	open := false
	for rb, err := range p.Rows(ctx) {
		switch {
		case err != nil:
		case open:
			err = w.write(rb)
		case h.Take(rb, w.schema):
		default:
			open = true
			if err = w.writeHeld(h); err == nil {
				err = w.write(rb)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// workers is how many writers a write of some partitions has.
func workers(parts []columnar.Partition) int { return max(1, min(len(parts), runtime.GOMAXPROCS(0))) }
