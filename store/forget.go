package store

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"streamlab/errs"
)

// An Audit is a note that a checkpoint was brought to an older batch by hand.
type Audit struct {
	Time   time.Time `json:"time"`
	Action string    `json:"action"` // "rewind" or "forget"
	Batch  int64     `json:"batch"`  // that was the newest afterwards
	From   int64     `json:"from"`   // first of the batches that were given up
	To     int64     `json:"to"`     // last of them, inclusive
	Kept   string    `json:"kept"`   // the folder as it was before
}

const auditKey = "audit/"

// audit keeps a note. The caller holds life.
func (c *Checkpoint) audit(a Audit) error {
	a.Time = time.Now().UTC()
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	key := metaKey(auditKey + a.Time.Format("20060102T150405.000000000"))
	return c.write(c.head+1, []write{{key, frame(flagSegmentEnd|flagGroupEnd, raw)}}, "")
}

// Audits lists what was done by hand, oldest first.
func (c *Checkpoint) Audits() (list []Audit, err error) {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.closed {
		return nil, errs.New("CHECKPOINT_CLOSED", "checkpointLocation", c.dir)
	}
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	var found [][]byte
	keys(txn, metaKey(auditKey), func(k []byte, _ uint64) { found = append(found, slices.Clone(k)) })
	for _, k := range found {
		_, raw, err := fetch(txn, k)
		if err != nil {
			return nil, corrupt(c.dir, "an audit record is not readable", err)
		}
		var a Audit
		if err := json.Unmarshal(raw, &a); err != nil {
			return nil, corrupt(c.dir, "an audit record is not readable", err)
		}
		list = append(list, a)
	}
	return list, nil
}

// A Damage says what is wrong with a checkpoint that Open refuses, and what is left of it.
type Damage struct {
	Err error // what Open says
	// From and To are the batches that are lost, inclusive: everything after the newest whole one.
	From, To int64
	// Whole is the newest batch that can be gone back to; -1 if there is none.
	Whole int64
}

// Damaged looks at a checkpoint that Open refuses with a condition of damage, and finds the newest batch
// from which records and state are whole; ok is false if Open does not refuse it. Errors: those of Open that
// say nothing of what is inside (CHECKPOINT_IN_USE, CHECKPOINT_TOO_NEW), and damage of the database itself,
// which nothing here can read.
func Damaged(dir string, o Options) (d Damage, ok bool, err error) {
	c, err := Open(dir, o)
	if err == nil {
		return d, false, c.Close()
	}
	if !errs.Has(err, "CHECKPOINT_LOST_COMMITS") && !errs.Has(err, "CHECKPOINT_LOG_ENTRY_MISSING") &&
		!errs.Has(err, "CHECKPOINT_LOG_GAP") && !errs.Has(err, "CHECKPOINT_CORRUPT") {
		return d, false, err
	}
	d = Damage{Err: err, Whole: -1}
	newest, anchored, ferr := ends(dir, o)
	if ferr != nil {
		return d, false, err // the database does not open
	}
	d.To = max(newest, anchored)
	for n := newest; n >= 0; n-- {
		c, err := openUpTo(dir, n, o)
		if err != nil {
			continue
		}
		head := c.head
		c.release()
		if head == n {
			d.Whole = n
			break
		}
	}
	if lost, ok := lostContent(err); ok && lost <= d.Whole {
		d.Whole = lost - 1 // the record is whole, and not the one that was there
	}
	d.From = d.Whole + 1
	return d, true, nil
}

// lostContent is the batch whose record was replaced by another, if that is what is wrong.
func lostContent(err error) (batch int64, ok bool) {
	e := errs.As(err)
	if e == nil || e.Condition != "CHECKPOINT_LOST_COMMITS" || !strings.Contains(e.Params["what"], "another") {
		return 0, false
	}
	_, serr := fmt.Sscanf(e.Params["range"], "%d to", &batch)
	return batch, serr == nil
}

// ends reads the newest batch that the database has any record of, and the newest that the anchor names.
func ends(dir string, o Options) (newest, anchored int64, err error) {
	newest, anchored = -1, -1
	c, err := openUpTo(dir, -1, o)
	if err != nil {
		return 0, 0, err
	}
	defer c.release()
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	for _, letter := range []byte{keyCommit, keyOffsets} {
		keys(txn, []byte{letter, '/'}, func(k []byte, _ uint64) {
			if n, ok := batchOfKey(k); ok {
				newest = max(newest, n)
			}
		})
	}
	if c.anchor != nil {
		anchored = max(c.anchor.last.lastCommitted, c.anchor.last.lastPlanned)
	}
	return newest, anchored, nil
}

// openUpTo opens what is there of batches up to one, to be read or copied and not to be written.
func openUpTo(dir string, batch int64, o Options) (*Checkpoint, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{opts: o, retain: o.MinBatchesToRetain, inlineMax: inlineLimit, slack: stateSlack, moveAfter: moveAfter,
		dir: dir, salvage: &batch}
	c.reset()
	if c.retain <= 0 {
		c.retain = 100
	}
	if err := closeLeft(dir); err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

// Forget accepts that batches from to to of a damaged checkpoint are lost: the query goes on after the batch
// before them, and its sources are read again from there. The range must be all that Damaged reports. The
// folder as it was is kept beside it, and a note stays in Audits, which is returned. Errors:
// CHECKPOINT_NOTHING_LOST of a sound checkpoint, CHECKPOINT_OTHER_LOSS with the range that is lost,
// CHECKPOINT_NOTHING_LEFT if no batch is whole.
func Forget(dir string, from, to int64, o Options) (Audit, error) {
	d, damaged, err := Damaged(dir, o)
	if err != nil {
		return Audit{}, err
	}
	if !damaged {
		return Audit{}, errs.New("CHECKPOINT_NOTHING_LOST", "checkpointLocation", dir)
	}
	if d.Whole < 0 {
		return Audit{}, errs.Wrap(d.Err, "CHECKPOINT_NOTHING_LEFT", "checkpointLocation", dir)
	}
	if from != d.From || to != d.To {
		return Audit{}, errs.Wrap(d.Err, "CHECKPOINT_OTHER_LOSS", "checkpointLocation", dir, "from", d.From, "to", d.To)
	}
	return salvage(dir, d.Whole, Audit{Action: "forget", Batch: d.Whole, From: from, To: to}, o)
}

// RewindDamaged is Rewind of a checkpoint that Open refuses: batch must be whole, with all before it.
func RewindDamaged(dir string, batch int64, o Options) (Audit, error) {
	newest, anchored, err := ends(dir, o)
	if err != nil {
		return Audit{}, err
	}
	return salvage(dir, batch, Audit{Action: "rewind", Batch: batch, From: batch + 1, To: max(newest, anchored)}, o)
}

func salvage(dir string, batch int64, why Audit, o Options) (Audit, error) {
	c, err := openUpTo(dir, batch, o)
	if err != nil {
		return Audit{}, err
	}
	if c.head != batch {
		defer c.release()
		return Audit{}, c.notRetained(batch)
	}
	if err := c.goBack(batch, why); err != nil {
		if !c.closed {
			c.release()
		}
		return Audit{}, err
	}
	list, err := c.Audits()
	if err = firstOf(err, c.Close()); err != nil {
		return Audit{}, err
	}
	return list[len(list)-1], nil
}

func firstOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}
