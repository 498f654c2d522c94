package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"streamlab/errs"
	"streamlab/internal/safego"
)

// recover reads what a database holds, checks it and deletes the leftovers of an interrupted commit.
func (c *Checkpoint) recover() error {
	at := uint64(latest)
	if c.salvage != nil { // as it was then: later batches have deleted what that one needs
		at = version(*c.salvage)
	}
	txn := c.db.NewTransactionAt(at, false)
	defer txn.Discard()
	commits, err := c.readCommits(txn)
	if err != nil {
		return err
	}
	offsets, err := c.readOffsets(txn, commits)
	if err != nil {
		return err
	}
	if err := c.checkAnchor(commits, offsets); err != nil {
		return err
	}
	leftovers, superfluous, err := c.readSegments(txn, commits)
	if err != nil {
		return err
	}
	if c.salvage != nil {
		c.setThreshold()
		return nil // the folder is kept as it is
	}
	// Both at the version of the next batch: a leftover has that version itself, and what is superfluous
	// is still seen by views of older batches.
	if err := put(c.db, c.wal, true, version(c.head+1), leftovers, func() error { return c.point("compact.mid") }); err != nil {
		return err
	}
	c.drops = superfluous
	c.setThreshold()
	c.opened = map[int64]*commitRecord{}
	for _, r := range commits {
		if c.inline[r.Batch] > 0 {
			c.opened[r.Batch] = r
		}
	}
	return nil
}

// readCommits reads and checks the commit records, oldest first.
func (c *Checkpoint) readCommits(txn *badger.Txn) ([]*commitRecord, error) {
	var batches []int64
	var payloads [][]byte
	var failed error
	items(txn, []byte{keyCommit, '/'}, func(it *badger.Item) {
		n, ok := batchOfKey(it.Key())
		if !ok || !c.wants(n) || failed != nil {
			return
		}
		v, err := it.ValueCopy(nil)
		if err == nil {
			_, v, err = unframe(v)
		}
		if err != nil {
			failed = c.notWhole("commit", n, err)
		}
		batches, payloads = append(batches, n), append(payloads, v)
	})
	if failed != nil {
		return nil, failed
	}
	commits := make([]*commitRecord, len(batches))
	failures := make([]error, len(batches))
	decode := func(from, step int) error {
		for i := from; i < len(batches); i += step {
			r, err := decodeCommit(payloads[i])
			if err == nil {
				_, err = r.segments()
			}
			commits[i], failures[i] = r, err
		}
		return nil
	}
	if workers := runtime.GOMAXPROCS(0); len(batches) < 2*fewRecords || workers == 1 {
		_ = decode(0, 1)
	} else {
		hs := make([]*safego.Handle, workers)
		for w := range hs {
			hs[w] = safego.Go("reading commit records", func() error { return decode(w, workers) })
		}
		for _, h := range hs {
			if err := h.Wait(); err != nil {
				return nil, err
			}
		}
	}
	for i, n := range batches {
		if i > 0 && n != batches[i-1]+1 {
			return nil, c.missing("commit", batches[i-1]+1)
		}
		r, err := commits[i], failures[i]
		if err == nil && r.Batch != n {
			err = fmt.Errorf("it is that of batch %d", r.Batch)
		}
		if err == nil && i > 0 && r.Prev != commits[i-1].digest {
			err = fmt.Errorf("it does not follow batch %d", n-1)
		}
		if err != nil {
			return nil, c.notWhole("commit", n, err)
		}
	}
	if len(commits) > 0 {
		last := commits[len(commits)-1]
		c.purged = last.From
		keys(txn, []byte{keyProgress, '/'}, func(k []byte, _ uint64) {
			if n, ok := batchOfKey(k); ok {
				c.purged = min(c.purged, n)
			}
		})
		c.head, c.chain, c.from = last.Batch, last.digest, max(last.From, last.Batch-c.retain)
		// Records below may have been deleted already, none from there on.
		if c.low = batches[0]; c.low > last.Low {
			return nil, c.missing("commit", last.Low)
		}
	}
	return commits, nil
}

// fewRecords are read by one core.
const fewRecords = 16

// notWhole is the error of a record that cannot be read.
func (c *Checkpoint) notWhole(log string, batch int64, err error) error {
	return corrupt(c.dir, fmt.Sprintf("the %s record of batch %d is not whole", log, batch), err)
}

// wants says whether records of a batch are looked at.
func (c *Checkpoint) wants(batch int64) bool { return c.salvage == nil || batch <= *c.salvage }

func (c *Checkpoint) missing(log string, batch int64) error {
	return errs.New("CHECKPOINT_LOG_ENTRY_MISSING", "checkpointLocation", c.dir, "log", log, "batchId", batch)
}

// readOffsets checks the offset log from the oldest retained batch on and gives its fingerprints.
func (c *Checkpoint) readOffsets(txn *badger.Txn, commits []*commitRecord) (map[int64]digest, error) {
	payloads := map[int64][]byte{}
	for _, r := range commits {
		if r.next != nil && c.wants(r.Batch+1) {
			payloads[r.Batch+1] = r.next
		}
	}
	var batches []int64
	keys(txn, []byte{keyOffsets, '/'}, func(k []byte, _ uint64) {
		if n, ok := batchOfKey(k); ok && !c.wants(n) {
			return
		} else if ok {
			batches = append(batches, n)
			c.purged = min(c.purged, n)
		} else if len(k) == 14 {
			c.long[int64(binary.BigEndian.Uint64(k[2:]))]++
		}
	})
	for _, n := range batches {
		payload, err := fetchLong(txn, batchKey(keyOffsets, n))
		if err != nil {
			return nil, c.notWhole("offset", n, err)
		}
		payloads[n] = payload
	}
	batches = batches[:0]
	for n := range payloads {
		batches = append(batches, n)
	}
	slices.Sort(batches)
	if n := len(batches); n > 0 && batches[n-1] > c.head+1 {
		return nil, errs.New("CHECKPOINT_LOG_GAP", "checkpointLocation", c.dir,
			"lastOffsets", batches[n-1], "lastCommit", c.head)
	}
	prints := map[int64]digest{}
	for _, n := range batches {
		r, print, err := decodeOffsets(payloads[n])
		if err == nil && r.Batch != n {
			err = fmt.Errorf("it is that of batch %d", r.Batch)
		}
		if prev, ok := prints[n-1]; err == nil && ok && r.Prev != prev {
			err = fmt.Errorf("it does not follow batch %d", n-1)
		}
		if err != nil {
			return nil, c.notWhole("offset", n, err)
		}
		prints[n] = print
		c.planned, c.print = n, print
		if n == c.head+1 {
			c.pending = &r.Entry
		}
	}
	for _, r := range commits {
		print, ok := prints[r.Batch]
		if !ok && r.Batch >= c.from {
			return nil, c.missing("offset", r.Batch)
		}
		if ok && print != r.Offset {
			return nil, corrupt(c.dir,
				fmt.Sprintf("batch %d was committed with other offsets than are logged", r.Batch), nil)
		}
	}
	return prints, nil
}

// checkAnchor finds out whether the database forgot something that was durable.
func (c *Checkpoint) checkAnchor(commits []*commitRecord, offsets map[int64]digest) error {
	if c.anchor == nil || c.salvage != nil {
		return nil
	}
	a := c.anchor.last
	lost := func(what string, from, to int64) error {
		return errs.New("CHECKPOINT_LOST_COMMITS", "checkpointLocation", c.dir,
			"range", fmt.Sprintf("%d to %d", from, to), "what", what)
	}
	if c.head < a.lastCommitted {
		return lost("committed", c.head+1, a.lastCommitted)
	}
	if c.planned < a.lastPlanned {
		return lost("planned", c.planned+1, a.lastPlanned)
	}
	if n := a.lastCommitted; n >= 0 && n >= c.low {
		if commits[n-c.low].digest != a.chain {
			return lost("committed with another content", n, n)
		}
	}
	if n := a.lastPlanned; n >= c.from && n >= 0 && offsets[n] != a.fingerprint {
		return lost("planned with other offsets", n, n)
	}
	return nil
}

// readSegments lists the segments by keys alone, tells leftovers from what counts, and checks that what
// the commit records speak of is there.
func (c *Checkpoint) readSegments(txn *badger.Txn, commits []*commitRecord) (leftovers, superfluous []write, err error) {
	parts, leftovers, err := c.listSegments(txn)
	if err != nil {
		return nil, nil, err
	}
	counts := make(map[group]int, len(parts))
	for g, ref := range parts {
		counts[g] = ref.parts
		switch g.letter {
		case keyCovered:
			covered, err := readCovered(txn, g)
			if err != nil {
				return nil, nil, corrupt(c.dir, "a record of covered deltas is not whole", err)
			}
			superfluous = append(superfluous, c.shard(g.shard).cover(covered, ref)...)
		case keyRelease:
			buckets, err := readRelease(txn, g)
			if err != nil {
				return nil, nil, corrupt(c.dir,
					fmt.Sprintf("a release of batch %d is not whole", g.batch), err)
			}
			s := c.shard(g.shard)
			s.addDelta(ref)
			for _, b := range buckets {
				s.release(b, g.batch)
			}
		case keyDelta:
			c.shard(g.shard).addDelta(ref)
		case keyBase:
			superfluous = append(superfluous, c.shard(g.shard).addBase(ref)...)
		}
	}
	for _, r := range commits {
		segments, err := r.segments()
		if err != nil {
			return nil, nil, c.notWhole("commit", r.Batch, err)
		}
		for i, note := range r.Groups {
			if note.Parts > 0 || counts[note.group()] > 0 {
				continue // in parts from the start, or moved out of the record
			}
			s := c.shard(note.group().shard)
			s.addDelta(groupRef{group: note.group(), bytes: bytesOf(segments[i])})
			if note.Kind == keyRelease {
				for _, b := range decodeRelease(segments[i]) {
					s.release(b, note.Batch)
				}
			}
		}
	}
	if err := c.checkGroups(commits, counts); err != nil {
		return nil, nil, err
	}
	for _, s := range c.shards {
		superfluous = append(superfluous, s.tidy()...)
		for _, d := range s.deltas {
			if d.parts == 0 {
				c.inline[d.batch]++
			}
		}
	}
	return leftovers, superfluous, nil
}

// listSegments lists the groups that are in parts, and the keys of a commit that was interrupted. It reads all of them, so
// both cores do it.
func (c *Checkpoint) listSegments(txn *badger.Txn) (groups map[group]groupRef, leftovers []write, err error) {
	type found struct {
		groups    map[group]groupRef
		leftovers []write
		err       error
	}
	list := func(out *found, letters ...byte) {
		out.groups = map[group]groupRef{}
		for _, letter := range letters {
			items(txn, []byte{letter, '/'}, func(it *badger.Item) {
				k := it.Key()
				g, part, ok := groupOfKey(k)
				switch {
				case !ok:
					out.err = corrupt(c.dir, fmt.Sprintf("the database has an unknown key %x", k), nil)
				case it.Version() > version(c.head):
					out.leftovers = append(out.leftovers, write{key: slices.Clone(k)})
				default:
					ref := out.groups[g]
					out.groups[g] = groupRef{g, max(ref.parts, part+1), ref.bytes + payloadSize(it)}
				}
			})
		}
	}
	var others, deltas found
	h := safego.Go("listing deltas", func() error { list(&deltas, keyDelta); return nil })
	list(&others, keyBase, keyRelease, keyCovered)
	if err := errors.Join(h.Wait(), deltas.err, others.err); err != nil {
		return nil, nil, err
	}
	maps.Copy(others.groups, deltas.groups)
	return others.groups, append(others.leftovers, deltas.leftovers...), nil
}

// checkGroups reports a group that a commit record tells of, that is still needed and is not there.
// The indexes still know of every release that a commit record at hand made, but for those in parts that
// are deleted: the bases of such a shard are not checked.
func (c *Checkpoint) checkGroups(commits []*commitRecord, parts map[group]int) error {
	forgotten := map[Shard]bool{}
	for _, r := range commits {
		for _, note := range r.Groups {
			if note.Kind == keyRelease && note.Parts > 0 && parts[note.group()] == 0 {
				forgotten[note.group().shard] = true
			}
		}
	}
	for _, r := range commits {
		for _, note := range r.Groups {
			g := note.group()
			if note.Parts == 0 || parts[g] == note.Parts {
				continue
			}
			if g.letter == keyBase && forgotten[g.shard] {
				continue
			}
			if c.shard(g.shard).needs(g) {
				return corrupt(c.dir, fmt.Sprintf("state written by batch %d is missing: operator %d, range %d, store %q",
					r.Batch, note.Op, note.Range, note.Store), nil)
			}
		}
	}
	return nil
}
