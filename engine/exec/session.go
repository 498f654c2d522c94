package exec

import (
	"sort"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// sessionAggregate merges rows that lie near each other in time into sessions, per rest of the grouping
// keys. Rows of a batch are first folded per (keys, start, end); then the stored sessions of each key that
// occurs are merged with them in the order of their starts. Sessions that touch are one.
//
// A stored session is a record keyed by (rest of the keys, start); behind the key stand its end, its place
// in the chain of its key's sessions, and the aggregates. owners finds the chain of a key; it is not saved.
type sessionAggregate struct {
	child    operator
	g        *grouping // over all keys: the fold of one batch
	schema   types.Schema
	session  int // place of the window among the keys
	restKeys []int
	mode     string
	mark     inMark
	fleeting bool

	partial  []*partialFold
	owners   *table
	sessions *table
	restLay  *layout
	sessLay  *layout
	x        *expiry
	eo, es   *encoder
	aggs     []expr.Aggregate
	out      []uint32
	count    OperatorCounters
	stats    segmentStats
	lastE    int64
	batch    int64
	refs     []int

	tap     *tap // nil: untraced
	numbers map[uint32]int64
	touched []uint32
}

const (
	sessEnd   = 0  // i64
	sessNext  = 8  // u32: next session of the key + 1
	sessOwner = 12 // u32
	sessAggs  = 16
)

func (b *builder) session(x *plan.Aggregate, child operator, number int) (operator, error) {
	g := newGrouping(x.Keys, x.Calls, x.Child.Schema(), b.conf.Expr)
	if g.hasDistinct() {
		if number >= 0 {
			return nil, refuse("DISTINCT aggregates of a stream")
		}
		d := &sessionDistinct{child: child, g: g, session: x.Session}
		for i := range x.Keys {
			if i != x.Session {
				d.rest = append(d.rest, i)
			}
		}
		_, err := g.newFolder()
		return b.pass(d, child), err
	}
	if _, err := g.newFolder(); err != nil {
		return nil, err
	}
	o := &sessionAggregate{child: child, g: g, schema: x.Out, session: x.Session, mode: b.conf.Mode, mark: b.mark(child),
		fleeting: number < 0}
	if o.fleeting {
		o.mode = "complete"
	}
	var ts []types.DataType
	for i, k := range x.Keys {
		if i != x.Session {
			o.restKeys = append(o.restKeys, i)
			ts = append(ts, k.Type())
		}
	}
	o.restLay = newLayout(ts, true)
	o.sessLay = newLayout(append(append([]types.DataType{}, ts...), x.Keys[x.Session].Type().Fields[0].Type), true)
	for _, r := range g.refs {
		o.refs = append(o.refs, sessAggs+r)
	}
	_, delay := eventTime(x.Out[:len(x.Keys)])
	o.x = newExpiry(expiryWidth(delay))
	o.eo, o.es, o.aggs = newEncoder(o.restLay), newEncoder(o.sessLay), g.fresh()
	o.reset()
	if number >= 0 {
		b.p.stateful[number] = o
		if len(o.restKeys) == 0 {
			b.first(errs.New("_LEGACY_ERROR_TEMP_3068"))
		}
		b.first(checkKeys(x.Out[:len(x.Keys)]))
	}
	return b.pass(o, child), nil
}

func (o *sessionAggregate) reset() {
	o.owners, o.sessions = newTable(o.restLay, 8), newTable(o.sessLay, sessAggs+o.g.width)
	o.x.reset()
	o.stats = segmentStats{}
}

func (o *sessionAggregate) end(g uint32) *int64 {
	return (*int64)(o.sessions.rec.Ptr(g, o.sessions.extraAt()+sessEnd))
}

func (o *sessionAggregate) start(g uint32) int64 {
	f := o.sessLay.fields[o.sessLay.top[len(o.restKeys)]]
	return *(*int64)(o.sessions.rec.Ptr(g, recKey+f.at*8))
}

// links are the next session of the key + 1 and the owner.
func (o *sessionAggregate) links(g uint32) *[2]uint32 {
	return (*[2]uint32)(o.sessions.rec.Ptr(g, o.sessions.extraAt()+sessNext))
}

func (o *sessionAggregate) head(owner uint32) *uint32 {
	return (*uint32)(o.owners.rec.Ptr(owner, o.owners.extraAt()))
}

// piece is a stored session or a group of the batch, on its way into a merged session.
type piece struct {
	owner      uint32
	start, end int64
	stored     bool
	g          uint32 // session, or group of the batch
	row        int    // of a group of the batch
}

func (o *sessionAggregate) open(r *run) (int, error) {
	began := r.now()
	parts, err := o.child.open(r)
	if err != nil {
		return 0, err
	}
	if o.fleeting {
		o.reset()
	}
	late, evict := o.mark.at(r.task.lateUs), o.mark.at(r.task.evictUs)
	key := newTimeKey(o.g.lay, o.session)
	if o.tap != nil {
		o.numbers, o.touched = map[uint32]int64{}, nil
		o.tap.beginFold(func(t *table, g uint32) (int64, bool) {
			us, _ := key.of(t, o.g.lay, g)
			return us, us <= late && !o.fleeting
		})
	}
	ps, err := o.g.foldAll(r, o.child, &o.partial, parts, 1, false)
	if err != nil {
		return 0, err
	}
	o.lastE, o.batch = evict, r.task.Batch
	c := &o.count
	p := ps[0].t
	groups := make([]uint32, 0, p.rec.Len())
	for g := range uint32(p.rec.Len()) {
		if t, _ := key.of(p, o.g.lay, g); t <= late && !o.fleeting {
			c.NumRowsDroppedByWatermark++
			continue
		}
		groups = append(groups, g)
	}
	if err := o.merge(p, groups); err != nil {
		return 0, err
	}
	if o.tap != nil {
		o.traceValues(o.touched, false)
	}
	o.out = o.out[:0]
	if o.mode == "complete" {
		o.out = o.sessions.groups(o.out)
	} else {
		o.x.pop(evict, func(g uint32) (int64, bool) {
			if !o.sessions.isLive(g) {
				return 0, false
			}
			return *o.end(g), true
		}, func(g uint32) {
			o.out = append(o.out, g)
			o.detach(g, evict)
			o.sessions.unlink(g)
			c.NumRowsRemoved++
		})
	}
	if o.tap != nil {
		o.traceOut()
		o.tap.endFold()
	}
	o.measure()
	c.AllUpdatesTimeMs = r.now().Sub(began).Milliseconds()
	return 1, nil
}

func (o *sessionAggregate) measure() {
	o.count.NumRowsTotal = int64(o.sessions.live)
	o.count.MemoryUsedBytes = o.sessions.bytes() + o.owners.bytes() + o.x.bytes()
}

// detach takes a session that ends at or before a time out of its key's chain, and with it all others of the key
// that do: a chain is walked once in a batch, however many of its sessions go.
func (o *sessionAggregate) detach(g uint32, evict int64) {
	owner := o.links(g)[1]
	if owner == noGroup {
		return // it went with another
	}
	for at := o.head(owner); *at != 0; {
		s := *at - 1
		l := o.links(s)
		if *o.end(s) > evict {
			at = &l[0]
			continue
		}
		*at, l[1] = l[0], noGroup
	}
	if *o.head(owner) == 0 {
		o.owners.unlink(owner)
	}
}

// merge brings the batch's groups together with the stored sessions of their keys.
func (o *sessionAggregate) merge(p *table, groups []uint32) error {
	n := len(groups)
	if n == 0 {
		return nil
	}
	cols := make([]columnar.Vec, len(o.g.keys))
	for i := range cols {
		cols[i].Reset(o.g.keys[i].Type(), 0)
		o.g.lay.decode(p.rec, groups, recKey, i, &cols[i])
	}
	var rest []*columnar.Vec
	for _, k := range o.restKeys {
		rest = append(rest, &cols[k])
	}
	starts, ends := cols[o.session].Kids[0], cols[o.session].Kids[1]
	all := columnar.AllRows(n)
	o.eo.encode(rest, all)
	o.es.encode(append(rest, starts), all)
	owners := make([]uint32, n)
	o.owners.upsert(o.eo, owners)
	pieces := make([]piece, 0, n)
	seen := map[uint32]bool{}
	for k, g := range groups {
		pieces = append(pieces, piece{owner: owners[k], start: starts.I64[k], end: ends.I64[k], g: g, row: k})
		if seen[owners[k]] {
			continue
		}
		seen[owners[k]] = true
		for s := *o.head(owners[k]); s != 0; s = o.links(s - 1)[0] {
			pieces = append(pieces, piece{owner: owners[k], start: o.start(s - 1), end: *o.end(s - 1), stored: true, g: s - 1})
		}
	}
	sort.SliceStable(pieces, func(x, y int) bool {
		a, b := &pieces[x], &pieces[y]
		if a.owner != b.owner {
			return a.owner < b.owner
		}
		if a.start != b.start {
			return a.start < b.start
		}
		return a.stored && !b.stored
	})
	for len(pieces) > 0 {
		owner := pieces[0].owner
		k := 1
		for k < len(pieces) && pieces[k].owner == owner {
			k++
		}
		if err := o.mergeKey(p, owner, pieces[:k]); err != nil {
			return err
		}
		pieces = pieces[k:]
	}
	return nil
}

// mergeKey merges the pieces of one key, which are in order of start.
func (o *sessionAggregate) mergeKey(p *table, owner uint32, pieces []piece) error {
	chain := uint32(0)
	for len(pieces) > 0 {
		end := pieces[0].end
		k := 1
		for k < len(pieces) && pieces[k].start <= end {
			end = max(end, pieces[k].end)
			k++
		}
		number := int64(0)
		if o.tap != nil {
			number = o.tap.newGroup()
			o.traceBefore(number, pieces[:k])
		}
		target, others := pieces[0].g, pieces[1:k]
		if !pieces[0].stored {
			target, _ = o.sessions.upsertOne(o.es, pieces[0].row)
			others = pieces[:k]
			*o.end(target) = end
			o.x.add(end, target)
		} else {
			o.sessions.mark(target)
		}
		*o.end(target) = end
		for _, q := range others {
			from, at := p, p.extraAt()
			if q.stored {
				from, at = o.sessions, o.sessions.extraAt()+sessAggs
			}
			for i, a := range o.aggs {
				off := o.sessions.extraAt() + sessAggs + o.g.offs[i]
				err := a.Merge(o.sessions.rec, off, []uint32{target}, from.rec, at+o.g.offs[i], []uint32{q.g})
				if err != nil {
					return err
				}
			}
			if q.stored {
				o.sessions.unlink(q.g)
				o.count.NumRowsRemoved++
			}
		}
		if o.tap != nil {
			o.traceSession(target, number, pieces[:k])
		}
		o.count.NumRowsUpdated++
		*o.links(target) = [2]uint32{chain, owner}
		chain = target + 1
		pieces = pieces[k:]
	}
	*o.head(owner) = chain
	return nil
}

func (o *sessionAggregate) part(r *run, w, p int, to emit) error {
	cols := make([]columnar.Vec, len(o.g.keys)+len(o.g.calls))
	groups := o.out
	for len(groups) > 0 {
		part := groups[:min(len(groups), columnar.Slice)]
		groups = groups[len(part):]
		if err := o.results(part, cols); err != nil {
			return err
		}
		if err := to(&chunk{cols: cols, sel: columnar.AllRows(len(part))}); err != nil {
			return err
		}
	}
	return nil
}

// results fills columns with keys and aggregate results of sessions, in this order.
func (o *sessionAggregate) results(groups []uint32, cols []columnar.Vec) error {
	t := o.sessions
	for i, k := range o.restKeys {
		cols[k].Reset(o.g.keys[k].Type(), 0)
		o.sessLay.decode(t.rec, groups, recKey, i, &cols[k])
	}
	win := &cols[o.session]
	win.Reset(o.g.keys[o.session].Type(), len(groups))
	for k, g := range groups {
		win.Kids[0].I64[k], win.Kids[1].I64[k] = o.start(g), *o.end(g)
	}
	for i, a := range o.aggs {
		if err := a.Result(t.rec, t.extraAt()+sessAggs+o.g.offs[i], groups, &cols[len(o.g.keys)+i]); err != nil {
			return err
		}
	}
	return nil
}

func (o *sessionAggregate) Name() string                { return "sessionWindowStateStoreSaveExec" }
func (o *sessionAggregate) counters() *OperatorCounters { return &o.count }

func (o *sessionAggregate) needsBatch(w int64) bool {
	return o.mode != "complete" && o.mark.has && o.mark.at(w) > o.lastE
}

func (o *sessionAggregate) settle() {
	o.sessions.settle()
	o.owners.settle()
	if o.sessions.sparse() || o.sessions.undivided() {
		o.sessions = o.sessions.pack(o.refs)
		o.relink()
	}
}

// relink builds chains and expiry from the stored sessions.
func (o *sessionAggregate) relink() {
	o.owners = newTable(o.restLay, 8)
	o.x.reset()
	gs := o.sessions.groups(nil)
	owners := make([]uint32, columnar.Slice)
	for len(gs) > 0 {
		part := gs[:min(len(gs), columnar.Slice)]
		gs = gs[len(part):]
		var rest []*columnar.Vec
		for i, k := range o.restKeys {
			v := columnar.NewVec(o.g.keys[k].Type(), 0)
			o.sessLay.decode(o.sessions.rec, part, recKey, i, v)
			rest = append(rest, v)
		}
		o.eo.encode(rest, columnar.AllRows(len(part)))
		o.owners.upsert(o.eo, owners[:len(part)])
		for k, g := range part {
			h := o.head(owners[k])
			*o.links(g) = [2]uint32{*h, owners[k]}
			*h = g + 1
			o.x.add(*o.end(g), g)
		}
	}
	o.owners.settle()
}

func (o *sessionAggregate) save(b *store.Batch, number int) error {
	return saveTable(b, store.Shard{Operator: number}, o.sessions, o.refs, &o.stats, o.batch)
}

func (o *sessionAggregate) load(v *store.View, number int) error {
	if err := loadTable(v, store.Shard{Operator: number}, o.sessions, o.refs, &o.stats); err != nil {
		return err
	}
	o.relink()
	o.measure()
	return nil
}

func (o *sessionAggregate) shape() OperatorShape {
	var k types.Schema
	for _, i := range o.restKeys {
		k = append(k, o.schema[i])
	}
	k = append(k, types.Field{Name: "sessionStartTime", Type: types.Of(types.Timestamp)})
	return newShape(o.Name(), k, o.schema[len(o.g.keys):])
}
