package store

import (
	"fmt"
	"slices"
)

// Written says what a batch wrote of the state.
type Written struct {
	Deltas, Releases, Bases int // groups of segments
}

// Written tells what the commit record of a batch says of its segments; ok is false if the batch is not
// retained or not committed.
func (c *Checkpoint) Written(batch int64) (w Written, ok bool, err error) {
	if from, to := c.Retained(); batch < from || batch > to {
		return w, false, nil
	}
	r, err := c.commitRecord(batch)
	if err != nil || r == nil {
		return w, false, err
	}
	for _, n := range r.Groups {
		switch {
		case n.Kind == keyBase:
			w.Bases++
		case n.Batch != batch: // moved here from an older record
		case n.Kind == keyDelta:
			w.Deltas++
		case n.Kind == keyRelease:
			w.Releases++
		}
	}
	return w, true, nil
}

// ChangesOf opens what a retained batch wrote and nothing else: its pieces are the batch's deltas and
// releases. Opening one costs what the batch wrote, however many batches are retained. Errors are those of
// At.
func (c *Checkpoint) ChangesOf(batch int64) *View {
	v := c.At(batch)
	v.alone = true
	return v
}

// listAlone is list for a view of one batch's changes.
func (v *View) listAlone() error {
	_, payload, err := fetch(v.txn, batchKey(keyCommit, v.batch))
	if err != nil {
		return err
	}
	if payload == nil {
		return v.c.missing("commit", v.batch)
	}
	r, err := decodeCommit(payload)
	if err != nil {
		return err
	}
	segments, err := r.segments()
	if err != nil {
		return err
	}
	for i, note := range r.Groups {
		g := note.group()
		if note.Batch != v.batch || g.letter != keyDelta && g.letter != keyRelease {
			continue
		}
		vg := inlineGroup(g, segments[i])
		if note.Parts > 0 {
			vg.inline = nil
			if g.letter == keyRelease {
				if vg.inline, err = readGroup(v.txn, g, nil); err != nil {
					return err
				}
			}
		}
		x := v.shard(g.shard)
		x.deltas = append(x.deltas, vg)
		if g.letter == keyDelta {
			x.changes = append(x.changes, vg)
		}
	}
	for _, x := range v.shards {
		slices.SortStableFunc(x.deltas, func(a, b viewGroup) int { return compareGroups(a.group, b.group) })
	}
	return nil
}

// checkGroupSums holds the segments of a batch against the sums that its commit record has of them.
func (v *View) checkGroupSums() error {
	_, payload, err := fetch(v.txn, batchKey(keyCommit, v.batch))
	if err != nil || payload == nil {
		return err
	}
	r, err := decodeCommit(payload)
	if err != nil {
		return err
	}
	if _, err := r.segments(); err != nil { // the sums of those inside the record
		return corrupt(v.c.dir, fmt.Sprintf("state in the commit record of batch %d does not have its sum", v.batch), err)
	}
	for _, note := range r.Groups {
		if note.Parts == 0 {
			continue
		}
		g := note.group()
		segments, err := readGroup(v.txn, g, nil)
		if err != nil {
			return corrupt(v.c.dir, fmt.Sprintf("state written with batch %d cannot be read: operator %d, range %d, store %q",
				v.batch, note.Op, note.Range, note.Store), err)
		}
		if sumOf(segments) != note.Sum {
			return corrupt(v.c.dir, fmt.Sprintf("state written with batch %d does not have its sum: operator %d, range %d, store %q",
				v.batch, note.Op, note.Range, note.Store), nil)
		}
	}
	return nil
}
