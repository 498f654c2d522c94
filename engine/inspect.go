package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// An Inspector reads what a query keeps in its checkpoint, for people: pages of state, the history of a key,
// the difference of two batches. It never writes. What state rows mean is known to the operators, so it needs
// the query as it is defined now. It keeps the state it read last, until Release. Safe for concurrent use.
type Inspector struct {
	p *prepared

	mu     sync.Mutex // held while state is read: one at a time is enough memory
	at     stateAt
	image  *exec.StateImage
	filter string
	places []uint32 // that match filter; nil: all

	// first has the rows with the least keys of the state at firstAt, which has firstOf rows; nil: it was not read.
	first   *exec.StateImage
	firstAt stateAt
	firstOf int
}

// firstRows is how many rows with the least keys are read of a state that is large, when these are all that is asked
// for: what a screen shows first need not wait for the others.
const (
	firstRows  = 400
	largeState = 20_000 // rows
)

// stateAt says which state.
type stateAt struct {
	id       string // of the checkpoint
	batch    int64
	operator int
	store    string
}

// Inspect makes an inspector of the query. Errors are those of the query's plan.
func (w *DataStreamWriter) Inspect() (*Inspector, error) {
	p, err := w.prepareNode()
	if err != nil {
		return nil, err
	}
	x := &Inspector{p: p}
	_, err = x.build()
	return x, err
}

func (x *Inspector) build() (*exec.Plan, error) {
	return exec.Build(x.p.node, exec.Conf{Expr: exprConf(x.p.conf), Mode: string(x.p.mode), ShufflePartitions: x.p.conf.number(keyPartitions)})
}

// A StateStore is a store of a stateful operator.
type StateStore struct {
	Operator int    // counts from the sink, as Spark does
	Name     string // of the operator, as progress shows it
	Store    string // "default"; "left" and "right" of a join; a variable
}

// Stores lists what can be looked at as of a batch.
func (x *Inspector) Stores(cp *store.Checkpoint, batch int64) ([]StateStore, error) {
	ep, err := x.build()
	if err != nil {
		return nil, err
	}
	v := cp.At(batch)
	defer v.Close()
	var out []StateStore
	for i, s := range ep.Stateful() {
		names, err := ep.StateStores(v, i)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			out = append(out, StateStore{i, s.Name(), n})
		}
	}
	return out, nil
}

// Release forgets the state that was read last.
func (x *Inspector) Release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at, x.image, x.places, x.filter = stateAt{}, nil, nil, ""
	x.first = nil
}

// read reads the state after a batch.
func (x *Inspector) read(cp *store.Checkpoint, batch int64, operator int, storeName string, sorted bool) (*exec.StateImage, error) {
	ep, err := x.build()
	if err != nil {
		return nil, err
	}
	v := cp.At(batch)
	defer v.Close()
	return ep.StateImage(v, operator, storeName, sorted)
}

// A StatePage is some rows of a store, in the order of their keys.
type StatePage struct {
	Key     []string     // columns of the key; of a window its start
	Values  types.Schema // columns of the values
	Total   int          // rows of the store
	Matches int          // that fit the filter
	From    int          // place of the first row among those
	Rows    []StateRow
}

// StateQuery says which rows of the state to read.
type StateQuery struct {
	Batch    int64
	Operator int
	Store    string
	// Filter keeps rows: "" all; the beginning of a key as JSON, ["2026-01-05T12:40:00Z","/ho; an expression
	// of SQL over the columns of key and values, count > 10; else a text with which a column of the key
	// begins.
	Filter  string
	From, N int
}

// Page reads rows of the state. The first page of a large state costs a look at its keys; what is asked then reads it
// whole, or Prepare did, and after that pages are quick. Errors:
// CHECKPOINT_BATCH_NOT_RETAINED, STDS_INVALID_OPTION_VALUE for another operator or store, STATE_KEY_MALFORMED
// and those of the expression.
func (x *Inspector) Page(ctx context.Context, cp *store.Checkpoint, q StateQuery) (StatePage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.page(ctx, cp, q)
}

// Again is Page of state that was read before, for which no checkpoint need be open; ok is false if it is
// another. What a committed batch left never changes, but a rewind may put another in its place: Release then.
func (x *Inspector) Again(ctx context.Context, q StateQuery) (p StatePage, ok bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	of := func(at stateAt) bool { return at.batch == q.Batch && at.operator == q.Operator && at.store == q.Store }
	switch {
	case x.image != nil && of(x.at):
		p, err = x.page(ctx, nil, q)
		return p, true, err
	case x.first != nil && of(x.firstAt) && q.least():
		return x.rows(x.first, nil, x.firstOf, q), true, nil
	}
	return p, false, nil
}

// least says that a query asks for the rows with the least keys and no others.
func (q StateQuery) least() bool { return q.Filter == "" && q.From+q.N <= firstRows }

// Prepare reads the state that a page is from whole, so that other pages of it and filters are quick.
func (x *Inspector) Prepare(ctx context.Context, cp *store.Checkpoint, q StateQuery) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.whole(ctx, cp, q)
}

// whole reads the state of a query's batch if it is not there. The caller holds mu.
func (x *Inspector) whole(ctx context.Context, cp *store.Checkpoint, q StateQuery) error {
	if err := ctx.Err(); err != nil { // whoever asked has gone while another read
		return err
	}
	at := stateAt{idOf(cp), q.Batch, q.Operator, q.Store}
	if cp == nil || x.image != nil && x.at == at {
		return nil
	}
	x.image = nil // not two at a time
	m, err := x.read(cp, q.Batch, q.Operator, q.Store, true)
	if err != nil {
		return err
	}
	x.at, x.image, x.filter, x.places = at, m, "", nil
	return nil
}

// front reads the rows with the least keys of a large state; ok is false if it has to be read whole. The caller holds
// mu.
func (x *Inspector) front(cp *store.Checkpoint, q StateQuery) (ok bool, err error) {
	at := stateAt{idOf(cp), q.Batch, q.Operator, q.Store}
	if x.first != nil && x.firstAt == at {
		return true, nil
	}
	total, ok := rowsTold(cp, q)
	if !ok || total < largeState {
		return false, nil
	}
	ep, err := x.build()
	if err != nil {
		return false, err
	}
	v := cp.At(q.Batch)
	defer v.Close()
	m, ok, err := ep.StateFront(v, q.Operator, q.Store, firstRows)
	if err != nil || !ok {
		return false, err
	}
	x.first, x.firstAt, x.firstOf = m, at, total
	return true, nil
}

// rowsTold is how many rows an operator had after a batch, as its report tells; ok is false if there is none.
func rowsTold(cp *store.Checkpoint, q StateQuery) (rows int, ok bool) {
	raw, ok := cp.Progress(q.Batch)
	if !ok {
		return 0, false
	}
	var told struct {
		StateOperators []struct {
			NumRowsTotal int `json:"numRowsTotal"`
		} `json:"stateOperators"`
	}
	if json.Unmarshal(raw, &told) != nil || q.Operator < 0 || q.Operator >= len(told.StateOperators) {
		return 0, false
	}
	return told.StateOperators[q.Operator].NumRowsTotal, true
}

// page is Page for who holds mu; cp is nil if the state is there.
func (x *Inspector) page(ctx context.Context, cp *store.Checkpoint, q StateQuery) (StatePage, error) {
	if at := (stateAt{idOf(cp), q.Batch, q.Operator, q.Store}); cp != nil && (x.image == nil || x.at != at) && q.least() {
		if ok, err := x.front(cp, q); err != nil {
			return StatePage{}, err
		} else if ok {
			return x.rows(x.first, nil, x.firstOf, q), nil
		}
	}
	if err := x.whole(ctx, cp, q); err != nil {
		return StatePage{}, err
	}
	if x.filter != q.Filter {
		places, err := x.pick(ctx, x.image, q.Filter)
		if err != nil {
			return StatePage{}, err
		}
		x.filter, x.places = q.Filter, places
	}
	return x.rows(x.image, x.places, x.image.Len(), q), nil
}

// rows prints the rows that a query asks for of an image, or of its places; total is how many the state has.
func (x *Inspector) rows(m *exec.StateImage, places []uint32, total int, q StateQuery) StatePage {
	p := StatePage{Key: keyNames(m.Keys), Values: m.Values, Total: total, Matches: total, From: q.From}
	if places != nil {
		p.Matches = len(places)
	}
	zone := x.p.conf.zone()
	for i := max(0, q.From); i < min(q.From+q.N, p.Matches); i++ {
		place := i
		if places != nil {
			place = int(places[i])
		}
		p.Rows = append(p.Rows, rowAt(m, place, zone))
	}
	return p
}

func idOf(cp *store.Checkpoint) string {
	if cp == nil {
		return ""
	}
	return cp.ID()
}

// pick lists the places that a filter keeps; nil is all.
func (x *Inspector) pick(ctx context.Context, m *exec.StateImage, filter string) ([]uint32, error) {
	switch {
	case filter == "":
		return nil, nil
	case strings.HasPrefix(strings.TrimSpace(filter), "["):
		p, err := x.p.s.ParseKey(m.Keys, filter, true)
		if err != nil {
			return nil, err
		}
		return pickPattern(ctx, m, p)
	case isExpression(filter):
		return x.pickWhere(ctx, m, filter)
	}
	out := []uint32{}
	cols, zone := m.Columns(), x.p.conf.zone()
	var buf []byte
	for place := range m.Len() {
		if place%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row := m.Row(place)
		for k := range m.Keys {
			if buf = appendKeyText(buf[:0], &cols[k], row, zone); strings.HasPrefix(string(buf), filter) {
				out = append(out, uint32(place))
				break
			}
		}
	}
	return out, nil
}

func pickPattern(ctx context.Context, m *exec.StateImage, p KeyPattern) ([]uint32, error) {
	from, to := m.Search(p.prefix())
	out := []uint32{}
	var buf []byte
	for place := from; place < to; place++ {
		if place%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p.matches(m, place, &buf) {
			out = append(out, uint32(place))
		}
	}
	return out, nil
}

// isExpression tells a condition from a text.
func isExpression(filter string) bool {
	if strings.ContainsAny(filter, "<>=()") {
		return true
	}
	for i, w := range strings.Fields(strings.ToUpper(filter)) {
		if i == 0 {
			continue
		}
		switch w {
		case "IS", "IN", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "NOT":
			return true
		}
	}
	return false
}

const placeColumn = "__place__"

// pickWhere runs a condition over the columns of key and values.
func (x *Inspector) pickWhere(ctx context.Context, m *exec.StateImage, where string) ([]uint32, error) {
	schema := append(append(append(types.Schema{}, m.Keys...), m.Values...), types.Field{Name: placeColumn, Type: types.Of(types.BigInt)})
	n := m.Len()
	place := columnar.NewVec(types.Of(types.BigInt), n)
	for i := range n {
		place.I64[m.Row(i)] = int64(i)
	}
	cols := m.Columns()
	vs := make([]*columnar.Vec, 0, len(schema))
	for i := range cols {
		vs = append(vs, &cols[i])
	}
	rb := columnar.RecordOf(schema, append(vs, place), columnar.AllRows(n))
	c := catalog.New(nil)
	c.Register("__state__", catalog.Relation{Table: stateRows(slicesOf(rb), schema)})
	node, err := plan.AnalyzeText("SELECT "+placeColumn+" FROM __state__ WHERE "+where, c, planConf(x.p.conf))
	if err != nil {
		return nil, err
	}
	rows, named, err := (&DataFrame{s: x.p.s, node: node}).Collect(ctx)
	if err != nil {
		return nil, err
	}
	out := []uint32{}
	for _, rb := range rows {
		v := columnar.Vectors(rb, named)[0]
		for i := range int(rb.NumRows()) {
			out = append(out, uint32(v.I64[v.Row(i)]))
		}
	}
	slices.Sort(out)
	return out, nil
}

// slicesOf cuts a batch into those of a size that operators take.
func slicesOf(rb arrow.RecordBatch) (out []arrow.RecordBatch) {
	n := rb.NumRows()
	for from := int64(0); from < n; from += columnar.MaxBatch {
		out = append(out, rb.NewSlice(from, min(n, from+columnar.MaxBatch)))
	}
	return out
}

// A KeyVersion is what a batch did to a key.
type KeyVersion struct {
	Batch   int64
	AtMost  bool      // Batch is an upper bound: it is the value before the retained batches
	Time    time.Time // of the batch; zero if it is not known
	Removed bool
	Row     StateRow // as the batch left it; empty if Removed
	// Change is per value by how much a number differs from the version before, with its sign; "" for others
	// and where the version before is not known or has none.
	Change []string
}

// Match finds the key that a pattern stands for among the rows of a store after a batch, or, if it has been
// removed since, among those that the retained batches wrote. Errors: STATE_KEY_NOT_FOUND,
// STATE_KEY_AMBIGUOUS, STATE_KEY_MALFORMED.
func (x *Inspector) Match(ctx context.Context, cp *store.Checkpoint, operator int, storeName, text string) (StateRow, error) {
	from, to := cp.Retained()
	x.mu.Lock()
	m, err := x.image, error(nil)
	if at := (stateAt{cp.ID(), to, operator, storeName}); m == nil || x.at != at {
		m, err = x.read(cp, to, operator, storeName, true)
	}
	x.mu.Unlock()
	if err != nil {
		return StateRow{}, err
	}
	p, err := x.p.s.ParseKey(m.Keys, text, false)
	if err != nil {
		return StateRow{}, err
	}
	places, err := pickPattern(ctx, m, p)
	if err != nil {
		return StateRow{}, err
	}
	zone := x.p.conf.zone()
	switch len(places) {
	case 1:
		return rowAt(m, int(places[0]), zone), nil
	case 0:
	default:
		return StateRow{}, errs.New("STATE_KEY_AMBIGUOUS", "key", text, "count", len(places), "first", rowAt(m, int(places[0]), zone).KeyJSON,
			"second", rowAt(m, int(places[1]), zone).KeyJSON)
	}
	for n := to; n >= from; n-- {
		c, err := x.changes(ctx, cp, n, operator, storeName)
		if err != nil {
			return StateRow{}, err
		}
		for _, m := range []*exec.StateImage{c.changed, c.removed} {
			if places, err := pickPattern(ctx, m, p); err != nil {
				return StateRow{}, err
			} else if len(places) > 0 {
				return rowAt(m, int(places[0]), zone), nil
			}
		}
	}
	return StateRow{}, errs.New("STATE_KEY_NOT_FOUND", "key", text, "from", from, "to", to)
}

// changed is what a batch did to a store: rows as it left them, and keys it removed.
type changed struct {
	changed, removed *exec.StateImage
}

// changes reads what a batch wrote. Of an operator that does not tell removed keys it compares the states
// before and after.
func (x *Inspector) changes(ctx context.Context, cp *store.Checkpoint, batch int64, operator int, storeName string) (c changed, err error) {
	if err := ctx.Err(); err != nil {
		return c, err
	}
	ep, err := x.build()
	if err != nil {
		return c, err
	}
	v := cp.ChangesOf(batch)
	defer v.Close()
	var told bool
	if o := ep.Stateful(); operator >= 0 && operator < len(o) && ep.TellsRemoved(operator) {
		if c.changed, c.removed, told, err = ep.StateChanges(v, operator, storeName); err != nil || told {
			return c, err
		}
	}
	after, err := x.read(cp, batch, operator, storeName, true)
	if err != nil {
		return c, err
	}
	if from, _ := cp.Retained(); batch == from && batch > 0 {
		return changed{after.None(), after.None()}, nil // the state before is not there any more
	}
	before, err := x.readOrNone(cp, batch-1, operator, storeName, after)
	if err != nil {
		return c, err
	}
	c.changed, c.removed = after.Except(before, true), before.Except(after, false)
	return c, nil
}

// readOrNone reads the state after a batch; a store that is not there yet is empty.
func (x *Inspector) readOrNone(cp *store.Checkpoint, batch int64, operator int, storeName string, like *exec.StateImage) (*exec.StateImage, error) {
	m, err := x.read(cp, batch, operator, storeName, true)
	if errs.Has(err, "STDS_INVALID_OPTION_VALUE.WITH_MESSAGE") {
		return like.None(), nil // a variable that has not been declared
	}
	return m, err
}

// History yields what the retained batches did to a key, newest first, and last the value from before them
// if there is one. It costs what the batches wrote. Errors end it.
func (x *Inspector) History(ctx context.Context, cp *store.Checkpoint, operator int, storeName string, key []byte) iter.Seq2[KeyVersion, error] {
	return func(yield func(KeyVersion, error) bool) {
		var held *KeyVersion // waits for the one before, to say the change
		emit := func(v *KeyVersion) bool {
			if held != nil {
				if v != nil && !v.Removed && !held.Removed {
					held.Change = differences(v.Row.Values, held.Row.Values)
				}
				if !yield(*held, nil) {
					return false
				}
			}
			held = v
			return true
		}
		from, to := cp.Retained()
		zone := x.p.conf.zone()
		for n := to; n >= from && n >= 0; n-- {
			c, err := x.changes(ctx, cp, n, operator, storeName)
			if err != nil {
				yield(KeyVersion{}, err)
				return
			}
			v := KeyVersion{Batch: n}
			if place, ok := c.changed.Find(key); ok {
				v.Row = rowAt(c.changed, place, zone)
			} else if _, ok := c.removed.Find(key); ok {
				v.Removed = true
			} else {
				continue
			}
			if e, ok, err := cp.Offsets(n); err == nil && ok {
				v.Time = time.UnixMilli(e.BatchTimestampMs)
			}
			if !emit(&v) {
				return
			}
		}
		if from > 0 && (held == nil || held.Batch > from) {
			m, err := x.read(cp, from, operator, storeName, false)
			if err != nil {
				yield(KeyVersion{}, err)
				return
			}
			if place, ok := m.Find(key); ok {
				v := KeyVersion{Batch: from, AtMost: true, Row: rowAt(m, place, zone)}
				if v.Row.Batch >= 0 && v.Row.Batch < from {
					v.Batch, v.AtMost = v.Row.Batch, v.Row.AtMost
				}
				if !emit(&v) {
					return
				}
			}
		}
		emit(nil)
	}
}

// differences are b minus a, value by value.
func differences(a, b []StateValue) []string {
	out := make([]string, len(b))
	for i := range b {
		if i >= len(a) || a[i].Null || b[i].Null || len(b[i].JSON) == 0 || b[i].JSON[0] == '"' {
			continue
		}
		if x, err := strconv.ParseInt(a[i].JSON, 10, 64); err == nil {
			if y, err := strconv.ParseInt(b[i].JSON, 10, 64); err == nil {
				out[i] = fmt.Sprintf("%+d", y-x)
				continue
			}
		}
		x, err1 := strconv.ParseFloat(a[i].JSON, 64)
		y, err2 := strconv.ParseFloat(b[i].JSON, 64)
		if err1 == nil && err2 == nil {
			out[i] = fmt.Sprintf("%+g", y-x)
		}
	}
	return out
}
