package engine

import (
	"context"

	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/internal/fault"
	"streamlab/sources"
	"streamlab/store"
)

// A batch that is due as soon as the one before has ended is planned before that one commits: then its offsets
// travel in the commit record, and a batch costs one synced write instead of two. Nothing of it but the reading of
// files is done before that record is durable, so a crash finds what it would find with two records: the batch,
// planned and not committed.

// nextBatch is a batch that is planned while the one before still runs.
type nextBatch struct {
	timestamp int64            // batch time, ms
	ends      []sources.Offset // per source
	latest    []sources.Offset // per source; "" is unknown
	took      int64            // ms that planning took
	read      *exec.Task       // what is read of it already; nil if nothing is
	files     []int64          // per source: of what is read
}

// due says that a next batch would begin at once, were there data for it.
func (d *driver) due() bool {
	t := d.p.w.trigger
	return d.async == nil && (t.kind == availableNow || t.kind == processingTime && t.every == 0) && d.q.stopRequested() == keepRunning &&
		(d.p.w.maxBatches == 0 || d.batches+1 < d.p.w.maxBatches)
}

// ahead plans the batch after the running one, which is to have the given watermark, and gives the record of it;
// nil if none is due or there is no new data. A source that fails is asked again, and heard, when the running
// batch has committed.
func (d *driver) ahead(ctx context.Context, watermark int64) (*store.OffsetEntry, error) {
	if !d.due() {
		return nil, nil
	}
	if err := fault.Point("plan.begin"); err != nil {
		return nil, err
	}
	began := d.s.now()
	n := &nextBatch{ends: make([]sources.Offset, len(d.sources)), latest: make([]sources.Offset, len(d.sources))}
	newData := false
	for i, x := range d.sources {
		start := x.end
		if start == "" {
			o, err := x.src.InitialOffset(ctx)
			if err != nil {
				return nil, nil
			}
			start = o
		}
		end, err := x.src.LatestOffset(ctx, start, x.admits())
		if err != nil {
			return nil, nil
		}
		if r, ok := x.src.(sources.Reporter); ok {
			n.latest[i] = r.ReportLatestOffset()
		}
		if end == "" {
			end = x.end
		}
		n.ends[i] = end
		newData = newData || end != "" && end != x.end
	}
	if !newData {
		return nil, nil
	}
	now := d.s.now()
	n.timestamp, n.took = max(d.timestamp, now.UnixMilli()), now.Sub(began).Milliseconds()
	d.next = n
	e := store.OffsetEntry{BatchWatermarkMs: watermark, BatchTimestampMs: n.timestamp, Conf: d.pinned}.WithSkipped(d.skipped)
	for _, k := range d.scans {
		e.Offsets = append(e.Offsets, string(n.ends[k]))
	}
	return &e, nil
}

// adopt makes the batch that was planned ahead, and whose offsets are logged, the one to run.
func (d *driver) adopt(ctx context.Context) error {
	n := d.next
	d.next, d.early = nil, n
	d.durations["latestOffset"] = n.took
	for i, x := range d.sources {
		x.start, x.end, x.latest = x.committed, n.ends[i], n.latest[i]
		if x.start == "" {
			o, err := x.src.InitialOffset(ctx)
			if err != nil {
				return err
			}
			x.start = o
		}
	}
	d.timestamp = n.timestamp
	return d.timed("walCommit", func() error { return d.planned(ctx) })
}

// readAheadFrom is how many rows a batch must have for the next one to be read while it commits: handing less over to
// other cores takes as long as reading it. Tests change it.
var readAheadFrom = int64(1 << 15)

// readAhead begins to read the batch that ahead has planned, which is to run with these watermarks, in the time that
// the running one takes to commit. It does so where reading has no effect that anybody sees, see sources.Repeatable.
func (d *driver) readAhead(ctx context.Context, late, evict int64) {
	n := d.next
	if n == nil || d.memory.Limited || d.q.recordings.wanted.Load() {
		return
	}
	rows := int64(0)
	for _, x := range d.sources {
		if _, ok := x.src.(sources.Repeatable); !ok || x.shared != nil {
			return
		}
		rows += x.rows
	}
	if rows < readAheadFrom {
		return
	}
	inputs := make([][]columnar.Partition, len(d.scans))
	files := make([]int64, len(d.sources))
	for k, x := range d.sources {
		if n.ends[k] == "" || n.ends[k] == x.end {
			continue
		}
		parts, err := x.src.PlanPartitions(ctx, x.end, n.ends[k])
		if err != nil {
			return // the batch will meet it too
		}
		files[k] = pieces(parts)
		for i, s := range d.scans {
			if s == k {
				inputs[i] = parts
			}
		}
	}
	n.files = files
	n.read = &exec.Task{Batch: d.batch + 1, Inputs: inputs, NowMicros: n.timestamp * 1000, LateWatermarkMs: late, EvictWatermarkMs: evict}
	d.plan.ReadAhead(ctx, n.read)
}
