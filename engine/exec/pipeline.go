package exec

import (
	"slices"
	"sync"
	"sync/atomic"

	"streamlab/columnar"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// reader slices record batches into chunks. columns picks from batches that have width columns; batches
// that have just the picked ones are taken as they are.
type reader struct {
	schema  types.Schema
	columns []int
	width   int
	full    int // width with hidden columns; 0 if there are none
	coders  perWorker[[]coder]
}

// coder numbers the texts of a column of lent rows, if somebody asks for the numbers: of keys that repeat.
type coder struct {
	words columnar.Dictionary
	codes columnar.Coded
}

// set makes it a reader of the rows of x out of batches of a width, to which hidden columns may come.
func (s *reader) set(x *plan.Scan, width, hidden int) {
	s.schema, s.columns, s.width = x.Out, x.Columns, width
	if x.Stream != nil {
		s.full = width + hidden
	}
	s.coders.make = func() ([]coder, error) { return make([]coder, len(s.schema)), nil }
}

func (s *reader) read(r *run, w int, p columnar.Partition, count func(rows int64), to emit) error {
	whole := make([]columnar.Vec, len(s.schema))
	views := make([]columnar.Vec, len(s.schema))
	push := func(n int) error {
		return pushSlices(whole, views, n, columnar.Slice, func(c *chunk) error {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			if count != nil {
				count(int64(c.sel.N))
			}
			return to(c)
		})
	}
	held := int64(0) // by the rows that are read
	hold := func(bytes int64) error {
		r.p.meter.input.Add(bytes - held)
		held = bytes
		return r.p.meter.room()
	}
	defer func() { r.p.meter.input.Add(-held) }()
	if l, ok := p.(columnar.Lender); ok {
		coders, err := s.coders.get(w)
		if err != nil {
			return err
		}
		return l.Lend(r.ctx, func(cols []*columnar.Vec, n int) error {
			bytes := int64(0)
			for _, c := range cols {
				bytes += c.MemoryBytes()
			}
			if err := hold(bytes); err != nil {
				return err
			}
			pick := s.picks(len(cols))
			for i := range whole {
				at := i
				if pick {
					at = s.columns[i]
				}
				whole[i] = *cols[at]
				whole[i].Type = s.schema[i].Type
				if c := &(*coders)[i]; whole[i].Coded == nil {
					c.words.Code(&whole[i], &c.codes)
				}
			}
			return push(n)
		})
	}
	for rb, err := range p.Rows(r.ctx) {
		if err != nil {
			return err
		}
		if err := hold(recordBytes(rb)); err != nil {
			return err
		}
		n := int(rb.NumRows())
		if n == 0 {
			continue
		}
		pick := s.picks(int(rb.NumCols()))
		for i := range whole {
			at := i
			if pick {
				at = s.columns[i]
			}
			whole[i].SetArrow(rb.Column(at), s.schema[i].Type)
		}
		if err := push(n); err != nil {
			return err
		}
	}
	return nil
}

// picks says whether a batch with have columns has more than those that are wanted.
func (s *reader) picks(have int) bool {
	return s.columns != nil && (have == s.width || have == s.full) && have != len(s.columns)
}

// scan reads one occurrence of a streaming source.
type scan struct {
	reader
	stream *catalog.Stream
	number int // among the plan's scans
	// filters are conditions that the format applies while reading: rows that fail do not count as input.
	filters  perWorker[*expr.Program]
	filtered bool
	// byRow, if set, makes these and the conditions that compare with scalar subqueries for a batch.
	byRow  func() (*expr.Program, error)
	where  []catalog.Predicate // conditions that also stand above the scan
	silent bool                // the same rows are counted by another scan
	// limited says that a limit above may leave rows unread: then chunks are the counted rows of each worker's
	// last chunk.
	limited bool
	chunks  perWorker[*columnar.Sel]
}

// unread takes the rows behind position last of the worker's chunk out of the count.
func (s *scan) unread(r *run, w, last int) error {
	if !r.counting || s.silent {
		return nil
	}
	sel, err := s.chunks.get(w)
	if err != nil {
		return err
	}
	beyond := int64(0)
	for k := (*sel).N - 1; k >= 0 && (*sel).At(k) > last; k-- {
		beyond++
	}
	atomic.AddInt64(&r.task.Counters.ScanRows[s.number], -beyond)
	return nil
}

func (s *scan) inputs(r *run) []columnar.Partition {
	if s.number < len(r.task.Inputs) {
		return r.task.Inputs[s.number]
	}
	return nil
}

func (s *scan) open(r *run) (int, error) { return len(s.inputs(r)), nil }

func (s *scan) part(r *run, w, p int, to emit) error {
	if r.single {
		to = rowByRow(to)
	}
	var count func(int64)
	if r.counting && !s.silent {
		count = func(n int64) { atomic.AddInt64(&r.task.Counters.ScanRows[s.number], n) }
	}
	keep := func(columnar.Sel) {}
	if s.limited {
		at, err := s.chunks.get(w)
		if err != nil {
			return err
		}
		keep = func(sel columnar.Sel) { **at = sel }
	}
	if s.filtered || s.byRow != nil {
		prog, err := s.condition(w)
		if err != nil {
			return err
		}
		prog.Begin(r.exprTask(p))
		return s.read(r, w, s.inputs(r)[p], nil, func(c *chunk) error {
			sel, err := prog.Select(c.cols, c.sel)
			if err != nil || sel.N == 0 {
				return err
			}
			if count != nil {
				count(int64(sel.N))
			}
			keep(sel)
			return to(&chunk{cols: c.cols, sel: sel})
		})
	}
	if s.limited {
		return s.read(r, w, s.inputs(r)[p], count, func(c *chunk) error {
			keep(c.sel)
			return to(c)
		})
	}
	return s.read(r, w, s.inputs(r)[p], count, to)
}

// condition is what worker w leaves rows out by.
func (s *scan) condition(w int) (*expr.Program, error) {
	if s.byRow != nil {
		return s.byRow()
	}
	prog, err := s.filters.get(w)
	if err != nil {
		return nil, err
	}
	return *prog, nil
}

// rowByRow passes the rows of a chunk on one at a time.
func rowByRow(to emit) emit {
	return func(c *chunk) error {
		for k := range c.sel.N {
			sel := columnar.Sel{Idx: []int32{int32(c.sel.At(k))}, N: 1}
			if err := to(&chunk{cols: c.cols, sel: sel}); err != nil {
				return err
			}
		}
		return nil
	}
}

// tableScan reads a static table, anew in every batch.
type tableScan struct {
	reader
	table catalog.Table
	where []catalog.Predicate // over the table's own columns
	parts []columnar.Partition
}

func (s *tableScan) open(r *run) (int, error) {
	parts, err := s.table.Scan(r.ctx, catalog.Scan{Columns: s.columns, Where: s.where})
	s.parts = parts
	return len(parts), err
}

func (s *tableScan) part(r *run, w, p int, to emit) error { return s.read(r, w, s.parts[p], nil, to) }

// values is rows known when the plan was built; rows without columns count too.
type values struct {
	cols []columnar.Vec
	n    int
}

func (v *values) open(r *run) (int, error) { return 1, nil }

func (v *values) part(r *run, w, p int, to emit) error {
	return pushRows(v.cols, v.n, to)
}

// pushRows pushes n rows in slices.
func pushRows(cols []columnar.Vec, n int, to emit) error {
	return pushSlices(cols, make([]columnar.Vec, len(cols)), n, columnar.Slice, to)
}

// pushSlices is pushRows with room for the views of a slice, which has at most so many rows.
func pushSlices(cols, views []columnar.Vec, n, slice int, to emit) error {
	var c chunk
	if n <= slice {
		if n == 0 {
			return nil
		}
		c.cols, c.sel = cols, columnar.AllRows(n)
		return to(&c)
	}
	for from := 0; from < n; from += slice {
		end := min(from+slice, n)
		for i := range cols {
			views[i] = cols[i].View(from, end)
		}
		c.cols, c.sel = views, columnar.AllRows(end-from)
		if err := to(&c); err != nil {
			return err
		}
	}
	return nil
}

// project computes columns; with filtered those of the rows that pass a condition, which its program applies first.
type project struct {
	child    operator
	programs perWorker[*expr.Program]
	filtered bool
}

func newProject(child operator, es []expr.Expr, in types.Schema, c expr.Conf) (*project, error) {
	pr := &project{child: child}
	pr.programs.make = func() (*expr.Program, error) { return expr.Compile(es, in, c) }
	_, err := pr.programs.get(0) // errors show when the query is built
	return pr, err
}

// overFilter takes the condition of a filter below into the project if both compute something: what they have in common
// is then computed once.
func (o *project) overFilter(es []expr.Expr) (*project, error) {
	f, ok := o.child.(*filter)
	if !ok {
		return o, nil
	}
	pr := &project{child: f.child, filtered: true}
	pr.programs.make = func() (*expr.Program, error) { return expr.CompileFiltered(f.cond, es, f.in, f.conf) }
	prog, err := pr.programs.get(0)
	if err != nil || *prog == nil {
		return o, err
	}
	return pr, nil
}

func (o *project) open(r *run) (int, error) { return o.child.open(r) }

func (o *project) part(r *run, w, p int, to emit) error {
	prog, err := o.programs.get(w)
	if err != nil {
		return err
	}
	(*prog).Begin(r.exprTask(p))
	var out chunk
	return o.child.part(r, w, p, func(c *chunk) error {
		var vs []*columnar.Vec
		var err error
		out.sel = c.sel
		if o.filtered {
			if out.sel, err = (*prog).Select(c.cols, c.sel); err != nil || out.sel.N == 0 {
				return err
			}
			vs, err = (*prog).Passed(out.sel)
		} else {
			vs, err = (*prog).Eval(c.cols, c.sel)
		}
		if err != nil {
			return err
		}
		out.cols = slices.Grow(out.cols[:0], len(vs))
		for _, v := range vs {
			out.cols = append(out.cols, *v)
		}
		return to(&out)
	})
}

// filter keeps rows where the condition is true.
type filter struct {
	child    operator
	cond     expr.Expr
	in       types.Schema
	conf     expr.Conf
	programs perWorker[*expr.Program]
}

func newFilter(child operator, cond expr.Expr, in types.Schema, c expr.Conf) (*filter, error) {
	f := &filter{child: child, cond: cond, in: in, conf: c}
	f.programs.make = func() (*expr.Program, error) { return expr.Compile([]expr.Expr{cond}, in, c) }
	_, err := f.programs.get(0)
	return f, err
}

func (o *filter) open(r *run) (int, error) { return o.child.open(r) }

func (o *filter) part(r *run, w, p int, to emit) error {
	prog, err := o.programs.get(w)
	if err != nil {
		return err
	}
	(*prog).Begin(r.exprTask(p))
	var out chunk
	return o.child.part(r, w, p, func(c *chunk) error {
		sel, err := (*prog).Select(c.cols, c.sel)
		if err != nil || sel.N == 0 {
			return err
		}
		out.cols, out.sel = c.cols, sel
		return to(&out)
	})
}

// watermark observes event times and lets all rows pass.
type watermark struct {
	child  operator
	column int
	name   string
	delay  int64 // microseconds
	number int   // among the plan's watermarks
	mu     sync.Mutex
	parts  []EventTime
}

func (o *watermark) open(r *run) (int, error) {
	n, err := o.child.open(r)
	if cap(o.parts) < n {
		o.parts = make([]EventTime, n)
	}
	o.parts = o.parts[:n]
	clear(o.parts)
	return n, err
}

func (o *watermark) part(r *run, w, p int, to emit) error {
	var e EventTime
	err := o.child.part(r, w, p, func(c *chunk) error {
		if r.counting {
			e.observe(&c.cols[o.column], c.sel)
		}
		return to(c)
	})
	if (err == nil || err == errEnough) && r.counting {
		o.mu.Lock()
		// Statistics are merged in the order of the parts, whichever ends first.
		o.parts[p] = e
		all := EventTime{}
		for _, x := range o.parts {
			all.merge(x)
		}
		r.task.Counters.EventTimes[o.number] = all
		o.mu.Unlock()
	}
	return err
}

// observe takes the times of rows in. Spark adds to the average row by row, and so do few rows here; of many the
// differences are summed up and divided once, which gives the same but for the rounding, and does not wait for a
// division a row.
func (e *EventTime) observe(v *columnar.Vec, sel columnar.Sel) {
	if sel.N >= observedTogether && v.Valid == nil && v.Phys == columnar.PI64 && !v.Const {
		e.observeMany(v.I64, sel)
		return
	}
	for k := range sel.N {
		i := sel.At(k)
		t := int64(0)
		if !v.IsNull(i) {
			t = v.I64[v.Row(i)]
		}
		if e.Count == 0 {
			e.Max, e.Min = t, t
		}
		e.Max, e.Min = max(e.Max, t), min(e.Min, t)
		e.Count++
		e.AvgMs += (float64(floorDiv(t, 1000)) - e.AvgMs) / float64(e.Count)
	}
}

// observedTogether is from how many rows on they are observed together.
const observedTogether = 512

func (e *EventTime) observeMany(ts []int64, sel columnar.Sel) {
	if e.Count == 0 {
		t := ts[sel.At(0)]
		e.Max, e.Min, e.AvgMs = t, t, float64(floorDiv(t, 1000))
	}
	high, low, mean, sum := e.Max, e.Min, e.AvgMs, 0.0
	if sel.All {
		for _, t := range ts[:sel.N] {
			high, low = max(high, t), min(low, t)
			sum += float64(floorDiv(t, 1000)) - mean
		}
	} else {
		for _, i := range sel.Idx[:sel.N] {
			t := ts[i]
			high, low = max(high, t), min(low, t)
			sum += float64(floorDiv(t, 1000)) - mean
		}
	}
	e.Max, e.Min = high, low
	e.Count += int64(sel.N)
	e.AvgMs += sum / float64(e.Count)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// union puts the parts of its children side by side.
type union struct {
	kids  []operator
	first []int // first part of each child
}

func (o *union) open(r *run) (int, error) {
	o.first = o.first[:0]
	total := 0
	for _, k := range o.kids {
		n, err := k.open(r)
		if err != nil {
			return 0, err
		}
		o.first = append(o.first, total)
		total += n
	}
	return total, nil
}

func (o *union) part(r *run, w, p int, to emit) error {
	k := len(o.first) - 1
	for o.first[k] > p {
		k--
	}
	return o.kids[k].part(r, w, p-o.first[k], to)
}

// limit passes the first n rows after skip.
type limit struct {
	child   operator
	n, skip int64
	parts   int
}

func (o *limit) open(r *run) (int, error) {
	n, err := o.child.open(r)
	o.parts = n
	return 1, err
}

func (o *limit) part(r *run, w, p int, to emit) error {
	left, skip := o.n, o.skip
	if left == 0 {
		return nil
	}
	for i := range o.parts {
		err := o.child.part(r, w, i, func(c *chunk) error {
			sel := c.sel
			if skip > 0 {
				k := min(skip, int64(sel.N))
				skip -= k
				sel = dropHead(sel, int(k))
			}
			if left >= 0 && int64(sel.N) > left {
				sel.N = int(left)
			}
			if sel.N == 0 {
				return nil
			}
			if left >= 0 {
				left -= int64(sel.N)
			}
			if err := to(&chunk{cols: c.cols, sel: sel}); err != nil {
				return err
			}
			if left == 0 {
				return errEnough
			}
			return nil
		})
		if err == errEnough {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func dropHead(s columnar.Sel, k int) columnar.Sel {
	if !s.All {
		return columnar.Sel{Idx: s.Idx[k:], N: s.N - k}
	}
	idx := make([]int32, 0, s.N-k)
	for i := k; i < s.N; i++ {
		idx = append(idx, int32(i))
	}
	return columnar.Sel{Idx: idx, N: s.N - k}
}
