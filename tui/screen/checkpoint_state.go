package screen

import (
	"context"
	"strings"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// pageRows is how many rows of the state are asked for at once, and keptPages how many such pages stay.
const (
	pageRows  = 200
	keptPages = 12
)

// A statePager shows rows of a store of any size: it knows how many there are, asks for the pages that are
// looked at, and keeps few of them. Widths grow with what has been seen and never shrink.
type statePager struct {
	focus func() bool // gives its pane the keys, for the pointer

	q     StateQuery // From and N mean nothing
	head  StatePage  // of the first answer; rows are in pages
	known bool       // head is there
	today string     // left out of the times in keys
	pages map[int][]StateRow
	used  []int // pages, the one looked at last at the end
	asked int   // page under way; -1: none
	list  widget.List
	err   *errs.Error

	keyW, batchW, bytesW int
	valueW               []int
}

func newStatePager(q StateQuery) *statePager {
	return &statePager{q: q, pages: map[int][]StateRow{}, asked: -1, keyW: 8, batchW: 5, bytesW: 5}
}

// want is the page to ask for next: that of the cursor, or the other one on the screen; -1 if all are there.
func (p *statePager) want() int {
	if p.err != nil {
		return -1
	}
	if !p.known {
		return 0
	}
	at := p.list.Cursor / pageRows
	for _, n := range []int{at, max(0, p.list.Cursor-p.list.Page()) / pageRows, min(max(0, p.head.Matches-1), p.list.Cursor+p.list.Page()) / pageRows} {
		if n*pageRows < p.head.Matches && p.pages[n] == nil {
			return n
		}
	}
	return -1
}

// job asks for the page that is wanted; ok is false if none is, or it is under way.
func (p *statePager) job(bench Inspecting) (j Job, ok bool) {
	n := p.want()
	if n < 0 || n == p.asked {
		return j, false
	}
	p.asked = n
	q := p.q
	q.From, q.N = n*pageRows, pageRows
	return Job{Slot: "state", What: "reading state", Run: func(ctx context.Context) func() Effect {
		r, err := bench.StatePage(ctx, q)
		return func() Effect {
			p.take(n, r, err)
			return Effect{}
		}
	}}, true
}

func (p *statePager) take(n int, r StatePage, err error) {
	if p.asked == n {
		p.asked = -1
	}
	if err != nil {
		p.err = AsError(err)
		return
	}
	if rows := r.Rows; rows == nil {
		r.Rows = []StateRow{}
	}
	p.pages[n] = r.Rows
	p.touch(n)
	for _, row := range r.Rows {
		p.measure(row)
	}
	r.Rows = nil
	p.head, p.known = r, true
	if len(p.valueW) < len(r.Values) {
		p.valueW = append(p.valueW, make([]int, len(r.Values)-len(p.valueW))...)
	}
	for i, c := range r.Values {
		w := safe.Width(safe.Text(c.Name, widest))
		if len(r.Values) == 1 {
			w = 5 // VALUE
		}
		p.valueW[i] = max(p.valueW[i], w)
	}
	p.list.To(p.list.Cursor, p.head.Matches)
}

func (p *statePager) measure(r StateRow) {
	p.keyW = max(p.keyW, min(widest, safe.Width(safe.Text(p.short(r.Key), widest))))
	for len(p.valueW) < len(r.Values) {
		p.valueW = append(p.valueW, 3)
	}
	for i, c := range r.Values {
		p.valueW[i] = max(p.valueW[i], min(widest, safe.Width(number(cellText(c, widest)))))
	}
	p.batchW = max(p.batchW, safe.Width(batchText(r.Batch, r.AtMost)))
	p.bytesW = max(p.bytesW, safe.Width(widget.Count(int64(r.Bytes))))
}

// touch says that a page was looked at, and forgets the one that was not for longest.
func (p *statePager) touch(n int) {
	for i, u := range p.used {
		if u == n {
			p.used = append(p.used[:i], p.used[i+1:]...)
			break
		}
	}
	if p.used = append(p.used, n); len(p.used) > keptPages {
		delete(p.pages, p.used[0])
		p.used = p.used[1:]
	}
}

// row is the row at a place; ok is false if its page is not there.
func (p *statePager) row(i int) (r StateRow, ok bool) {
	rows := p.pages[i/pageRows]
	if i < 0 || i%pageRows >= len(rows) {
		return r, false
	}
	return rows[i%pageRows], true
}

func batchText(n int64, atMost bool) safe.Line {
	switch {
	case n < 0:
		return "?"
	case atMost:
		return f("≤%d", n)
	}
	return f("%d", n)
}

// shown says how many keys there are and which are kept by the filter.
func (p *statePager) shown() safe.Line {
	if !p.known {
		return ""
	}
	out := p.list.Shown(p.head.Matches)
	if p.q.Filter != "" {
		out += " matching · " + safe.Text(p.q.Filter, 24) + " · of " + widget.Count(int64(p.head.Total))
	}
	return out
}

// short is a key without the date of today in its times.
func (p *statePager) short(key string) string {
	if p.today == "" {
		return key
	}
	return strings.ReplaceAll(key, p.today+" ", "")
}

// layout chooses the columns that fit: the key always, then the values from the left, batch before bytes.
func (p *statePager) layout(w int) (key, values int, batch, bytes bool) {
	key = min(max(p.keyW, min(4+safe.Width(text(p.head.Key)), widest)), max(10, w/2))
	left := w - key
	for values < len(p.valueW) && left >= p.valueW[values]+2 {
		left -= p.valueW[values] + 2
		values++
	}
	if batch = left >= p.batchW+2; batch {
		left -= p.batchW + 2
	}
	if bytes = batch && left >= p.bytesW+2; bytes {
		left -= p.bytesW + 2
	}
	return key + max(0, min(left-1, widest-key)), values, batch, bytes
}

func (p *statePager) draw(v canvas.View, focused bool) {
	if !p.known {
		v.Put(1, 1, "reading …", canvas.Muted)
		return
	}
	keyW, values, batch, bytes := p.layout(v.W - 4)
	x := 3
	v.Fit(x, 0, keyW, "KEY "+text(p.head.Key), canvas.Muted)
	x += keyW + 2
	put := func(y, w int, t safe.Line, right bool, st canvas.Style) {
		if right {
			v.Right(x+w, y, w, t, st)
		} else {
			v.Fit(x, y, w, t, st)
		}
		x += w + 2
	}
	for i := range values {
		name := safe.Line("VALUE")
		if len(p.head.Values) > 1 {
			name = text(p.head.Values[i].Name)
		}
		put(0, p.valueW[i], name, p.head.Values[i].Right, canvas.Muted)
	}
	if values < len(p.valueW) && x < v.W {
		v.Put(x-1, 0, "…", canvas.Muted)
	}
	if batch {
		put(0, p.batchW, "BATCH", true, canvas.Muted)
	}
	if bytes {
		put(0, p.bytesW, "BYTES", true, canvas.Muted)
	}
	if p.head.Matches == 0 {
		v.Put(3, 2, "no key", canvas.Muted)
		return
	}
	from, to := p.list.Window(p.head.Matches, v.H-1)
	clickRows(v, 1, to-from, &p.list, from, p.focus)
	for i := from; i < to; i++ {
		y := 1 + i - from
		cur := i == p.list.Cursor
		if cur {
			v.Put(1, y, "▸", canvas.Accent|canvas.Bold)
		}
		r, ok := p.row(i)
		if !ok {
			v.Put(3, y, "…", canvas.Muted)
			continue
		}
		v.Fit(3, y, keyW, text(p.short(r.Key)), canvas.Text)
		x = 3 + keyW + 2
		for k := range values {
			c := Cell{Null: true}
			if k < len(r.Values) {
				c = r.Values[k]
			}
			st := canvas.Text
			if c.Null {
				st = canvas.Muted
			}
			right := k < len(p.head.Values) && p.head.Values[k].Right
			t := cellText(c, widest)
			if right {
				t = number(t)
			}
			put(y, p.valueW[k], t, right, st)
		}
		if batch {
			put(y, p.batchW, batchText(r.Batch, r.AtMost), true, canvas.Muted)
		}
		if bytes {
			put(y, p.bytesW, widget.Count(int64(r.Bytes)), true, canvas.Muted)
		}
		if cur && focused {
			v.Paint(3, y, v.W-4, canvas.Cursor)
		}
	}
}

// number writes thousands separators into a whole number where they fit the eye; other texts stay.
func number(t safe.Line) safe.Line {
	var n int64
	for i, c := range t {
		if i == 0 && (c == '-' || c == '+') && len(t) > 1 {
			continue
		}
		if c < '0' || c > '9' || i > 17 {
			return t
		}
		n = n*10 + int64(c-'0')
	}
	if t == "" {
		return t
	}
	if t[0] == '-' || t[0] == '+' {
		return t[:1] + widget.Count(n)
	}
	return widget.Count(n)
}
