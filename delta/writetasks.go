package delta

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/internal/safego"
	"streamlab/sql/types"
)

// heldRows is how many rows of a partition are kept back before they go into files: partitions with fewer all
// go into the files of one worker, in their order, so that small writes make one file.
const heldRows = 16384

// held are the first rows of a partition.
type held struct {
	batches []arrow.RecordBatch
	rows    int64
}

// take keeps a copy of rows: whoever made them may use their memory again.
func (h *held) take(rb arrow.RecordBatch, s types.Schema, as *arrow.Schema) {
	n := int(rb.NumRows())
	vs := make([]*columnar.Vec, len(s))
	for i, f := range s {
		vs[i] = new(columnar.Vec)
		columnar.Gather(vs[i], columnar.FromArrow(rb.Column(i), f.Type), columnar.AllRows(n))
	}
	h.batches = append(h.batches, columnar.Record(as, vs, columnar.AllRows(n)))
	h.rows += int64(n)
}

func (h *held) writeTo(w *dataWriter) error {
	for _, rb := range h.batches {
		if err := w.write(rb); err != nil {
			return err
		}
	}
	h.batches = nil
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
	back := make([]held, len(parts))
	hs := make([]*safego.Handle, len(ws))
	as := ws[0].schema.Arrow()
	for k, w := range ws {
		hs[k] = safego.Go("delta writer", func() error {
			for i := range next {
				if err := w.part(ctx, parts[i], &back[i], as); err != nil {
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
			first = back[i].writeTo(ws[0])
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
func (w *dataWriter) part(ctx context.Context, p columnar.Partition, h *held, as *arrow.Schema) error {
	open := false
	for rb, err := range p.Rows(ctx) {
		switch {
		case err != nil:
		case open:
			err = w.write(rb)
		case h.rows+rb.NumRows() <= heldRows:
			h.take(rb, w.schema, as)
		default:
			open = true
			if err = h.writeTo(w); err == nil {
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
