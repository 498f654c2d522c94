//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/lab"
	"streamlab/store"
	"streamlab/tui/screen"
)

// looksAt are the checkpoints of stopped queries that screens look at. A checkpoint can be open once only, so
// all who look share it; it is closed when the last has looked, or when its query is about to start.
type looksAt struct {
	mu   sync.Mutex
	open map[string]*sharedLook // by folder
}

type sharedLook struct {
	cp   *store.Checkpoint
	refs int
}

// take opens a checkpoint, or takes part in one that is open; done ends that.
func (l *looksAt) take(dir, query string) (cp *store.Checkpoint, done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.open[dir]
	if s == nil {
		if cp, err = openCheckpoint(dir, query); err != nil {
			return nil, nil, err
		}
		if l.open == nil {
			l.open = map[string]*sharedLook{}
		}
		s = &sharedLook{cp: cp}
		l.open[dir] = s
	}
	s.refs++
	return s.cp, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if s.refs--; s.refs == 0 && l.open[dir] == s {
			delete(l.open, dir)
			_ = s.cp.Close() // nothing was written
		}
	}, nil
}

// end closes a checkpoint although somebody looks: they get CHECKPOINT_CLOSED.
func (l *looksAt) end(dir string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.open[dir]
	if s == nil {
		return nil
	}
	delete(l.open, dir)
	return s.cp.Close()
}

// at opens the checkpoint of a query for looking: that of a crash that was made, of the running query, or the
// one on disk.
func (b *localLab) at(query string) (cp *store.Checkpoint, dir string, done func(), err error) {
	if c, ok := b.crashed(query); ok {
		cp, done, err = b.looks.take(c.checkpoint, query)
		return cp, c.checkpoint, done, err
	}
	if q := b.w.Query(query); q != nil && q.IsActive() {
		return q.Checkpoint(), q.Snapshot().Checkpoint, func() {}, nil
	}
	if dir, err = b.w.Checkpoint(query); err != nil {
		return nil, "", nil, err
	}
	cp, done, err = b.looks.take(dir, query)
	return cp, dir, done, err
}

// inspector reads the state of a query; one query's state is kept at a time.
func (b *localLab) inspector(ctx context.Context, query string) (*engine.Inspector, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.insp != nil && b.inspOf == query {
		return b.insp, nil
	}
	dw, done, err := b.writerOf(ctx, query)
	if err != nil {
		return nil, err
	}
	x, err := dw.Inspect()
	if err != nil {
		done()
		return nil, err
	}
	b.forgetState()
	b.insp, b.inspOf, b.inspDone = x, query, done
	return x, nil
}

// forgetState lets go of the inspector. The caller holds mu.
func (b *localLab) forgetState() {
	if b.inspDone != nil {
		b.inspDone()
	}
	b.insp, b.inspOf, b.inspDone = nil, "", nil
}

// forecast says what a restart of a query would do; of a crash that was made, of its query.
func (b *localLab) forecast(ctx context.Context, query string, cp *store.Checkpoint) (f *engine.Forecast, err error) {
	c, ok := b.crashed(query)
	if !ok {
		return b.w.Forecast(ctx, query, cp)
	}
	l, err := lab.Load(c.lab)
	if err != nil {
		return nil, err
	}
	w, err := lab.Open(ctx, l, engine.Config{Workspace: filepath.Join(filepath.Dir(c.lab), "look")})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return w.Forecast(ctx, "copies", cp)
}

// ReleaseState implements screen.Inspecting, as do the methods below.
func (b *localLab) ReleaseState() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgetState()
}

// Checkpoint tells what a checkpoint holds.
func (b *localLab) Checkpoint(ctx context.Context, query string) (*screen.CheckpointInfo, error) {
	cp, dir, done, err := b.at(query)
	if err != nil {
		if dir == "" {
			return nil, err
		}
		return troubled(query, dir, err), nil
	}
	defer done()
	q := b.w.Query(query)
	info := &screen.CheckpointInfo{Query: query, Location: dir, Bytes: folderSize(dir), InUse: q != nil && q.IsActive(),
		Temporary: q != nil && q.Snapshot().Temporary}
	if info.Batches, err = b.marks(cp); err != nil {
		return nil, err
	}
	f, err := b.forecast(ctx, query, cp)
	if err != nil {
		info.Restart = "The restart is refused: " + asError(err).Message()
	} else {
		info.Restart = strings.Join(f.Lines, " ")
	}
	head, ok := cp.Head()
	if !ok {
		return info, nil
	}
	insp, err := b.inspector(ctx, query)
	if err != nil {
		return info, nil // the query as it is now has no state to look at; Restart says why
	}
	stores, err := insp.Stores(cp, head)
	if err != nil {
		return nil, err
	}
	p, reported := progressAt(cp, head)
	for _, s := range stores {
		o := screen.StateOperator{ID: s.Operator, Name: s.Name, Store: s.Store, Rows: -1}
		if reported && s.Operator < len(p.Operators) && s.Store == "default" {
			o.Rows = p.Operators[s.Operator].Rows
		}
		info.Operators = append(info.Operators, o)
	}
	return info, nil
}

// troubled is what can be said of a checkpoint that does not open.
func troubled(query, dir string, err error) *screen.CheckpointInfo {
	info := &screen.CheckpointInfo{Query: query, Location: dir, Whole: -1}
	e := asError(err)
	if e.Condition == "CHECKPOINT_IN_USE" {
		info.Owner = fmt.Sprintf("process %s on %s since %s", e.Params["pid"], e.Params["host"], e.Params["since"])
	}
	if exitOf(err) == 8 {
		if d, damaged, derr := store.Damaged(dir, store.Options{}); derr == nil && damaged {
			info.Lost, info.Whole = []int64{d.From, d.To}, d.Whole
		}
		e = asError(ways(err, dir, query))
	}
	info.Problem = e
	return info
}

// marks are the batches of a checkpoint; what is said of a committed one never changes.
func (b *localLab) marks(cp *store.Checkpoint) ([]screen.BatchMark, error) {
	b.mu.Lock()
	known, of := b.known, b.knownOf
	b.mu.Unlock()
	if of != cp.ID() {
		known = nil
	}
	marks, err := batchMarksAfter(cp, known)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.known, b.knownOf = marks, cp.ID()
	b.mu.Unlock()
	return marks, nil
}

// CheckpointBatch reads one batch.
func (b *localLab) CheckpointBatch(ctx context.Context, query string, batch int64) (*screen.CheckpointBatch, error) {
	cp, _, done, err := b.at(query)
	if err != nil {
		return nil, err
	}
	defer done()
	var sources []string
	if insp, err := b.inspector(ctx, query); err == nil {
		sources = insp.Sources()
	}
	x, err := batchFacts(cp, sources, batch)
	if err != nil {
		return nil, err
	}
	for i := range x.Sources {
		x.Sources[i].Parts = partWords(x.Sources[i].Start, x.Sources[i].End)
	}
	return x, nil
}

func engineQuery(q screen.StateQuery) engine.StateQuery {
	return engine.StateQuery{Batch: q.Batch, Operator: q.Operator, Store: storeName(q.Store), Filter: q.Filter, From: q.From, N: q.N}
}

func storeName(s string) string {
	if s == "" {
		return "default"
	}
	return s
}

func (b *localLab) StatePage(ctx context.Context, q screen.StateQuery) (screen.StatePage, error) {
	insp, err := b.inspector(ctx, q.Query)
	if err != nil {
		return screen.StatePage{}, err
	}
	p, ok, err := insp.Again(ctx, engineQuery(q))
	if err == nil && !ok {
		cp, _, done, aerr := b.at(q.Query)
		if aerr != nil {
			return screen.StatePage{}, aerr
		}
		defer done()
		if p, err = insp.Page(ctx, cp, engineQuery(q)); err == nil {
			b.prepareState(insp, q)
		}
	}
	if err != nil {
		return screen.StatePage{}, err
	}
	out := screen.StatePage{Key: strings.Join(p.Key, ", "), Total: p.Total, Matches: p.Matches, From: p.From}
	for _, f := range p.Values {
		out.Values = append(out.Values, screen.Column{Name: f.Name, Type: f.Type.Simple(), Right: f.Type.IsNumeric()})
	}
	for _, r := range p.Rows {
		out.Rows = append(out.Rows, screen.StateRow{ID: r.Key, Key: r.KeyText, JSON: r.KeyJSON, Values: cellsOf(r.Values), Batch: r.Batch,
			AtMost: r.AtMost, Bytes: r.Bytes})
	}
	return out, nil
}

// prepareAfter is how long a first page is looked at before the rest of its state is read.
const prepareAfter = 50 * time.Millisecond

// prepareState reads the whole state beside the loop when its first page has been shown, so that other pages and
// filters need not wait for it. That of a query that runs is read when somebody asks: the next batch makes another.
func (b *localLab) prepareState(insp *engine.Inspector, q screen.StateQuery) {
	if r := b.w.Query(q.Query); r != nil && r.IsActive() {
		return
	}
	safego.Go("state of a checkpoint", func() error {
		<-time.After(prepareAfter)
		b.mu.Lock()
		gone := b.insp != insp
		b.mu.Unlock()
		if gone {
			return nil
		}
		cp, _, done, err := b.at(q.Query)
		if err != nil {
			return nil // whoever asks for a page is told
		}
		defer done()
		_ = insp.Prepare(context.Background(), cp, engineQuery(q)) // likewise
		return nil
	})
}

func cellsOf(values []engine.StateValue) []screen.Cell {
	out := make([]screen.Cell, len(values))
	for i, v := range values {
		out[i] = screen.Cell{Text: v.Text, Null: v.Null}
	}
	return out
}

func (b *localLab) KeyHistory(ctx context.Context, q screen.StateQuery, id []byte, limit int) ([]screen.KeyVersion, error) {
	insp, err := b.inspector(ctx, q.Query)
	if err != nil {
		return nil, err
	}
	cp, _, done, err := b.at(q.Query)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []screen.KeyVersion
	for v, err := range insp.History(ctx, cp, q.Operator, storeName(q.Store), id) {
		if err != nil {
			return out, err
		}
		out = append(out, screen.KeyVersion{Batch: v.Batch, AtMost: v.AtMost, Time: v.Time, Removed: v.Removed, Values: cellsOf(v.Row.Values), Change: v.Change})
		if len(out) == limit {
			break
		}
	}
	return out, nil
}

func (b *localLab) DiffBatches(ctx context.Context, q screen.StateQuery, from, to int64, limit int) (*screen.Diff, error) {
	insp, err := b.inspector(ctx, q.Query)
	if err != nil {
		return nil, err
	}
	cp, _, done, err := b.at(q.Query)
	if err != nil {
		return nil, err
	}
	defer done()
	d, err := insp.Diff(ctx, cp, from, to)
	if err != nil {
		return nil, err
	}
	out := &screen.Diff{From: d.From, To: d.To}
	if d.WatermarkBefore > 0 {
		out.WatermarkFrom = timeOf(d.WatermarkBefore)
	}
	if d.WatermarkAfter > 0 {
		out.WatermarkTo = timeOf(d.WatermarkAfter)
	}
	for _, s := range d.Sources {
		if s.Before == s.After {
			continue
		}
		line := s.Source + " " + s.After
		if len(s.Parts) > 0 {
			moved := int64(0)
			for _, p := range s.Parts {
				moved += p.After - p.Before
			}
			line = s.Source + " " + signed(moved)
			if len(s.Parts) > 1 {
				line += fmt.Sprintf(" over %d parts", len(s.Parts))
			}
		}
		out.Offsets = append(out.Offsets, line)
	}
	for _, s := range d.Stores {
		if s.Operator != q.Operator || s.Store != storeName(q.Store) {
			continue
		}
		out.Before, out.After, out.Added, out.Removed, out.Changed = s.Before, s.After, s.Added, s.Removed, s.Changed
		for _, r := range s.Rows(0, limit) {
			row := screen.DiffRow{Change: map[string]byte{"added": '+', "removed": '-', "changed": '~'}[r.Change], Key: r.KeyText, Before: "-", After: "-"}
			if t := joinedValues(r.Before); t != nil {
				row.Before = t.(string)
			}
			if t := joinedValues(r.After); t != nil {
				row.After = t.(string)
			}
			out.Rows = append(out.Rows, row)
		}
	}
	return out, nil
}

func (b *localLab) VerifyCheckpoint(ctx context.Context, query string, progress func(done, total int64)) error {
	cp, dir, done, err := b.at(query)
	if err != nil {
		if dir != "" {
			err = ways(err, dir, query)
		}
		return err
	}
	defer done()
	return cp.VerifyWith(ctx, progress)
}

func (b *localLab) ExportCheckpoint(ctx context.Context, query, dir string) (int, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(b.w.Lab.Dir, dir)
	}
	if exists(dir) {
		return 0, errs.New("FILE_EXISTS", "path", dir)
	}
	insp, err := b.inspector(ctx, query)
	if err != nil {
		return 0, err
	}
	cp, at, done, err := b.at(query)
	if err != nil {
		return 0, err
	}
	defer done()
	x := &looking{ctx: ctx, w: b.w, query: query, dir: at, cp: cp, insp: insp}
	return x.export(dir, true, false)
}

// acceptLoss goes on with a damaged checkpoint, and discard puts one aside. Neither is for a query that runs.
func (b *localLab) acceptLoss(query, dir string) error {
	d, damaged, err := store.Damaged(dir, store.Options{})
	if err != nil {
		return err
	}
	if !damaged {
		return errs.New("CHECKPOINT_NOTHING_LOST", "checkpointLocation", dir)
	}
	a, err := store.Forget(dir, d.From, d.To, store.Options{})
	if err == nil {
		b.keep(query, a.Kept)
	}
	return err
}

func (b *localLab) discard(query, dir string) error {
	release, err := store.Hold(dir)
	if err != nil {
		return err
	}
	return errors.Join(b.setAside(query, dir), release())
}
