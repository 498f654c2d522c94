package screen

import (
	"math"
	"strings"
	"time"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Charts is the history of one query as pictures: rates, where the time went, state, how the watermark follows
// the event time, and late rows. All charts share the batches under them, so that one column is one batch
// everywhere; with --plain the same is said in numbers.
type Charts struct {
	sh   *Shared
	name string
	at   int64 // batch under the cursor; -1: the newest, which is followed
	pick int   // chart that is first when not all fit, and that z shows alone
	zoom bool
}

// NewCharts makes the screen for a query.
func NewCharts(sh *Shared, query string) *Charts { return &Charts{sh: sh, name: query, at: -1} }

// Scope implements Screen, as do the methods below.
func (s *Charts) Scope() Scope     { return InCharts }
func (s *Charts) Crumb() safe.Line { return text(s.name) + " › charts" }
func (s *Charts) Wake() Effect     { s.sh.Focus = s.name; return Effect{} }

// Disabled implements Screen.
func (s *Charts) Disabled(a Action) safe.Line { return disabled(a, s.sh.Query(s.name)) }

func (s *Charts) index(q *QuerySnapshot) int {
	n := len(q.Progress)
	if s.at >= 0 {
		for i := range q.Progress {
			if q.Progress[i].BatchID >= s.at {
				return i
			}
		}
	}
	return n - 1
}

// Handle implements Screen.
func (s *Charts) Handle(a Action) Effect {
	q := s.sh.Query(s.name)
	if q == nil || a == Back {
		return Effect{Pop: a == Back}
	}
	n := len(q.Progress)
	to := func(i int) {
		if s.at = -1; i < n-1 {
			s.at = q.Progress[max(0, i)].BatchID
		}
	}
	switch a {
	case Up, PrevPane:
		s.pick = max(0, s.pick-1)
		return Effect{}
	case Down, NextPane:
		s.pick = min(len(chartList)-1, s.pick+1)
		return Effect{}
	case Zoom:
		s.zoom = !s.zoom
		return Effect{}
	}
	if n == 0 {
		e, _ := steer(s.sh, a, q)
		return e
	}
	i := s.index(q)
	switch a {
	case PrevBatch, Left:
		to(i - 1)
		return Effect{}
	case NextBatch, Right:
		to(i + 1)
		return Effect{}
	case First, PageUp:
		to(0)
		return Effect{}
	case Last, PageDown:
		to(n - 1)
		return Effect{}
	case PrevNotable, NextNotable:
		d := 1
		if a == PrevNotable {
			d = -1
		}
		for j := i + d; j >= 0 && j < n; j += d {
			if notable(q, j) {
				to(j)
				return Effect{}
			}
		}
		return Effect{Toast: "no other notable batch is kept"}
	case Enter, OpenBatch:
		return Effect{Push: NewBatch(s.sh, s.name, q.Progress[i].BatchID)}
	case OpenCheckpoint:
		return Effect{Tab: 2, Push: NewCheckpoint(s.sh, s.name, q.Progress[i].BatchID)}
	case Copy:
		var b strings.Builder
		for _, l := range s.words(q) {
			b.WriteString(string(l) + "\n")
		}
		return Effect{Copy: &Clip{b.String(), "the charts in numbers"}}
	}
	e, _ := steer(s.sh, a, q)
	return e
}

// A chart draws one picture. said is what it says of one batch, beside its title; words what it says of all.
type chart struct {
	title safe.Line
	draw  func(v canvas.View, ps []Progress)
	// axis is what stands at the upper and lower end of the scale.
	axis  func(s *Charts, ps []Progress) (top, bottom safe.Line)
	said  func(s *Charts, p *Progress) safe.Line
	words func(s *Charts, ps []Progress) safe.Line
}

var chartList = [...]chart{
	{"rows per second", drawRates,
		func(_ *Charts, ps []Progress) (safe.Line, safe.Line) { return "in " + widget.Rate(topRate(ps)), "proc" },
		func(_ *Charts, p *Progress) safe.Line {
			return "in " + widget.Rate(p.InputRate) + "   proc " + widget.Rate(p.ProcessRate)
		},
		func(_ *Charts, ps []Progress) safe.Line {
			return "in " + span(ps, func(p *Progress) float64 { return p.InputRate }, widget.Rate) +
				"; processed " + span(ps, func(p *Progress) float64 { return p.ProcessRate }, widget.Rate)
		}},
	{"batch time by phase", drawStack,
		func(_ *Charts, ps []Progress) (safe.Line, safe.Line) { return widget.Took(topTime(ps)), "0" },
		func(_ *Charts, p *Progress) safe.Line {
			t := widget.Took(p.Duration)
			for _, ph := range longest(p.Phases, 3) {
				t += "   " + shadeOf(ph.Name) + " " + phaseName(ph.Name) + " " + widget.Took(ph.Took)
			}
			return t
		},
		func(_ *Charts, ps []Progress) safe.Line {
			t := span(ps, func(p *Progress) float64 { return p.Duration.Seconds() }, func(f float64) safe.Line {
				return widget.Took(time.Duration(f * float64(time.Second)))
			})
			for i, ph := range longest(sumPhases(ps), 3) {
				t += [...]safe.Line{"; on average ", ", ", ", "}[i] + phaseName(ph.Name) + " " + widget.Took(ph.Took/time.Duration(len(ps)))
			}
			return t
		}},
	{"state rows", func(v canvas.View, ps []Progress) {
		widget.Bars(v, values(ps, func(p *Progress) float64 { return float64(p.StateRows()) }), 0, canvas.Accent)
	},
		func(_ *Charts, ps []Progress) (safe.Line, safe.Line) {
			return short(most(ps, func(p *Progress) int64 { return p.StateRows() })), "0"
		},
		func(_ *Charts, p *Progress) safe.Line {
			if len(p.Operators) == 0 {
				return "no state"
			}
			var mem int64
			for _, o := range p.Operators {
				mem += o.MemoryBytes
			}
			return widget.Plural(p.StateRows(), "row") + "   " + widget.Bytes(mem)
		},
		func(_ *Charts, ps []Progress) safe.Line {
			if len(ps[len(ps)-1].Operators) == 0 {
				return "the query keeps no state"
			}
			return span(ps, func(p *Progress) float64 { return float64(p.StateRows()) }, func(f float64) safe.Line { return widget.Count(int64(f)) })
		}},
	{"newest event ● and watermark █", drawWatermark,
		func(s *Charts, ps []Progress) (safe.Line, safe.Line) {
			from, to, ok := eventSpan(ps)
			if !ok {
				return "", ""
			}
			return s.sh.EventTime(to), s.sh.EventTime(from)
		},
		func(s *Charts, p *Progress) safe.Line {
			switch {
			case p.Watermark.IsZero() && p.EventMax.IsZero():
				return "no watermark"
			case p.Watermark.IsZero():
				return "event " + s.sh.EventClock(p.EventMax) + "   no watermark yet"
			case p.EventMax.IsZero():
				return "watermark " + s.sh.EventClock(p.Watermark)
			}
			return "event " + s.sh.EventTime(p.EventMax) + "   watermark " + s.sh.EventClock(p.Watermark) + "   gap " + widget.Words(p.EventMax.Sub(p.Watermark))
		},
		func(s *Charts, ps []Progress) safe.Line {
			p := &ps[len(ps)-1]
			if p.Watermark.IsZero() {
				return "no watermark"
			}
			t := "watermark " + s.sh.EventClock(p.Watermark)
			least, greatest := time.Duration(math.MaxInt64), time.Duration(math.MinInt64)
			for i := range ps {
				if g := ps[i].EventMax.Sub(ps[i].Watermark); !ps[i].EventMax.IsZero() && !ps[i].Watermark.IsZero() {
					least, greatest = min(least, g), max(greatest, g)
				}
			}
			if greatest >= least {
				t += "; newest event ahead of it by " + widget.Words(least) + " to " + widget.Words(greatest)
			}
			return t
		}},
	{"late rows dropped", func(v canvas.View, ps []Progress) {
		vs := values(ps, func(p *Progress) float64 { return float64(p.Late()) })
		for i := range vs {
			if vs[i] == 0 {
				vs[i] = -1 // nothing is nothing, not a low bar
			}
		}
		widget.Bars(v, vs, 0, canvas.Warn)
	},
		func(_ *Charts, ps []Progress) (safe.Line, safe.Line) {
			return short(most(ps, func(p *Progress) int64 { return p.Late() })), "0"
		},
		func(_ *Charts, p *Progress) safe.Line {
			if l := p.Late(); l > 0 {
				return widget.Count(l) + " " + text(p.LateWord(l))
			}
			return "none"
		},
		func(_ *Charts, ps []Progress) safe.Line {
			var sum int64
			in := 0
			for i := range ps {
				sum += ps[i].Late()
				in += btoi(ps[i].Late() > 0)
			}
			if sum == 0 {
				return "none"
			}
			return widget.Count(sum) + " in " + widget.Plural(int64(in), "batch")
		}},
}

func values(ps []Progress, of func(*Progress) float64) []float64 {
	out := make([]float64, len(ps))
	for i := range ps {
		out[i] = of(&ps[i])
	}
	return out
}

// span says first, last, least and greatest of a series.
func span(ps []Progress, of func(*Progress) float64, say func(float64) safe.Line) safe.Line {
	least, greatest := math.Inf(1), math.Inf(-1)
	for i := range ps {
		if f := of(&ps[i]); !math.IsNaN(f) && !math.IsInf(f, 0) {
			least, greatest = min(least, f), max(greatest, f)
		}
	}
	if greatest < least {
		return "unknown"
	}
	return "first " + say(of(&ps[0])) + ", last " + say(of(&ps[len(ps)-1])) + ", least " + say(least) + ", most " + say(greatest)
}

func most(ps []Progress, of func(*Progress) int64) (m int64) {
	for i := range ps {
		m = max(m, of(&ps[i]))
	}
	return m
}

// short writes a count on the seven cells of a scale.
func short(n int64) safe.Line {
	if n < 1_000_000 {
		return widget.Count(n)
	}
	return widget.Rate(float64(n))
}

func topRate(ps []Progress) (top float64) {
	for i := range ps {
		top = atLeast(atLeast(top, ps[i].InputRate), ps[i].ProcessRate)
	}
	return top
}

func topTime(ps []Progress) (d time.Duration) {
	for i := range ps {
		d = max(d, phaseSum(&ps[i]))
	}
	return d
}

func phaseSum(p *Progress) (d time.Duration) {
	for _, ph := range p.Phases {
		d += ph.Took
	}
	return d
}

func sumPhases(ps []Progress) (out []Phase) {
	at := map[string]int{}
	for i := range ps {
		for _, ph := range ps[i].Phases {
			j, ok := at[ph.Name]
			if !ok {
				j = len(out)
				at[ph.Name] = j
				out = append(out, Phase{Name: ph.Name})
			}
			out[j].Took += ph.Took
		}
	}
	return out
}

// longest gives the n phases that took most, the longest first.
func longest(phases []Phase, n int) []Phase {
	out := append([]Phase(nil), phases...)
	for i := range out { // a handful: insertion sort keeps the order of equals
		for j := i; j > 0 && out[j].Took > out[j-1].Took; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out[:min(n, len(out))]
}

func shadeOf(phase string) safe.Line {
	if s, ok := shades[phase]; ok {
		return s
	}
	return "░"
}

func phaseName(phase string) safe.Line {
	if n, ok := shortPhase[phase]; ok {
		return n
	}
	return text(phase)
}

// drawRates has the input above the processing on one scale, so that "in above proc" can be seen.
func drawRates(v canvas.View, ps []Progress) {
	top := topRate(ps)
	in := values(ps, func(p *Progress) float64 { return p.InputRate })
	if v.H < 2 {
		widget.Bars(v, in, top, canvas.Accent)
		return
	}
	h := v.H / 2
	widget.Bars(v.Sub(0, 0, v.W, h), in, top, canvas.Accent)
	widget.Bars(v.Sub(0, v.H-h, v.W, h), values(ps, func(p *Progress) float64 { return p.ProcessRate }), top, canvas.OK)
}

func drawStack(v canvas.View, ps []Progress) {
	cols := make([][]widget.Layer, len(ps))
	for i := range ps {
		for _, ph := range ps[i].Phases {
			cols[i] = append(cols[i], widget.Layer{Shade: shadeOf(ph.Name), Value: ph.Took.Seconds()})
		}
	}
	widget.Stack(v, cols, 0, canvas.Accent)
}

// eventSpan is the time between the lowest watermark and the newest event.
func eventSpan(ps []Progress) (from, to time.Time, ok bool) {
	for i := range ps {
		for _, t := range [...]time.Time{ps[i].Watermark, ps[i].EventMax} {
			if t.IsZero() {
				continue
			}
			if !ok || t.Before(from) {
				from = t
			}
			if !ok || t.After(to) {
				to = t
			}
			ok = true
		}
	}
	return from, to, ok
}

func drawWatermark(v canvas.View, ps []Progress) {
	from, to, ok := eventSpan(ps)
	if !ok {
		return
	}
	of := func(t time.Time) float64 {
		if t.IsZero() {
			return math.NaN()
		}
		return t.Sub(from).Seconds()
	}
	widget.Against(v, values(ps, func(p *Progress) float64 { return of(p.Watermark) }),
		values(ps, func(p *Progress) float64 { return of(p.EventMax) }), 0, to.Sub(from).Seconds(), "●", canvas.Accent, canvas.Warn)
}

// words says all charts in numbers, a line each.
func (s *Charts) words(q *QuerySnapshot) []safe.Line {
	ps := q.Progress
	if len(ps) == 0 {
		return []safe.Line{"No batch yet."}
	}
	out := []safe.Line{text(q.Name) + f(": batches %d to %d", ps[0].BatchID, ps[len(ps)-1].BatchID)}
	for i := range chartList {
		title := chartList[i].title
		if i == 3 {
			title = "newest event and watermark"
		}
		out = append(out, title+": "+chartList[i].words(s, ps))
	}
	i := s.index(q)
	p := &ps[i]
	out = append(out, "", f("batch %d at ", p.BatchID)+s.sh.Clock(p.Time)+": "+widget.Count(p.RowsIn)+" rows in, "+
		widget.Count(p.RowsOut)+" out, "+widget.Took(p.Duration))
	if n := batchNote(p); n != "" {
		out = append(out, "note: "+n)
	}
	return out
}

const axisWidth = 9

// Draw implements Screen.
func (s *Charts) Draw(v canvas.View) {
	q := s.sh.Query(s.name)
	title := "Queries › " + s.Crumb()
	if q == nil {
		rule(v, 0, 0, v.W, title, "", true)
		empty(v.Sub(0, 1, v.W, v.H), "This query is not in the lab any more. esc goes back.")
		return
	}
	n := len(q.Progress)
	if n == 0 {
		rule(v, 0, 0, v.W, title, "0 batches", true)
		empty(v.Sub(0, 1, v.W, v.H), "No batch yet. s starts the query, . runs one batch.")
		return
	}
	i := s.index(q)
	rule(v, 0, 0, v.W, title, f("batch %d", q.Progress[i].BatchID)+" · "+s.sh.Clock(q.Progress[i].Time), true)
	if s.sh.Plain {
		y := 1
		for _, l := range s.words(q) {
			for _, part := range widget.Wrap(l, v.W-1) {
				v.Put(0, y, part, canvas.Text)
				y++
			}
			if l == "" {
				y++
			}
		}
		return
	}
	body := v.Sub(0, 1, v.W, v.H-1)
	if s.zoom {
		s.drawChart(body, q, s.pick, i, true)
		return
	}
	if s.sh.Class == L {
		w := body.W/2 - 1
		divider(v, w, 1, v.H-1)
		s.drawColumn(body.Sub(0, 0, w, body.H), q, 0, 3, i)
		right := body.Sub(w+1, 0, body.W-w-1, body.H)
		h := right.H * 2 / 3
		s.drawColumn(right.Sub(0, 0, right.W, h), q, 3, 5, i)
		low := right.Sub(0, h, right.W, right.H-h)
		from := max(0, n-60)
		rule(low, 0, 0, low.W, f("where the time goes · last %d batches", n-from), "", false)
		drawPhaseList(low.Sub(0, 2, low.W, low.H-2), q.Progress[from:])
		return
	}
	fit := max(1, min(len(chartList), (body.H-1)/4))
	from := max(0, min(s.pick, len(chartList)-fit))
	s.drawColumn(body, q, from, from+fit, i)
}

// drawColumn draws charts from to to-1 below each other; the batches are named under the last.
func (s *Charts) drawColumn(v canvas.View, q *QuerySnapshot, from, to, at int) {
	y := 0
	for c := from; c < to; c++ {
		h := (v.H-1-y)/(to-c) + btoi(c == to-1)
		s.drawChart(v.Sub(0, y, v.W, h), q, c, at, c == to-1)
		y += h
	}
}

// drawChart draws one chart: a title with what the batch under the cursor says, a scale, the picture; the last
// one has the batches below it.
func (s *Charts) drawChart(v canvas.View, q *QuerySnapshot, c, at int, last bool) {
	ch := &chartList[c]
	w := v.W - axisWidth - 1
	ps := q.Progress
	first := 0
	if len(ps) > w { // the cursor stays in sight
		first = min(max(0, at-w/2), len(ps)-w)
	}
	ps = ps[first:min(len(ps), first+w)]
	st := canvas.Title
	if c == s.pick {
		st |= canvas.Bold
		v.Put(0, 0, "▸", canvas.Accent|canvas.Bold)
	}
	x := v.Put(1, 0, ch.title, st)
	v.Fit(x+3, 0, v.W-x-4, ch.said(s, &q.Progress[at]), canvas.Muted)
	h := v.H - 1 - btoi(last)
	if h <= 0 {
		return
	}
	plot := v.Sub(axisWidth, 1, w, h)
	top, bottom := ch.axis(s, ps)
	v.Right(axisWidth-1, 1, axisWidth-1, top, canvas.Muted)
	if h > 1 {
		v.Right(axisWidth-1, h, axisWidth-1, bottom, canvas.Muted)
	}
	ch.draw(plot, ps)
	if last {
		left := axisWidth + w - len(ps)
		v.HLine(left, v.H-1, len(ps), "─", canvas.Muted)
		l, r := f("%d", ps[0].BatchID), f("%d", ps[len(ps)-1].BatchID)
		if k := at - first; safe.Width(l)+safe.Width(r)+6 < len(ps) { // the cursor is worth more than a number
			if k > safe.Width(l) {
				v.Put(left, v.H-1, l+" ", canvas.Muted)
			}
			if k < len(ps)-1-safe.Width(r) {
				v.Right(axisWidth+w, v.H-1, 12, " "+r, canvas.Muted)
			}
		}
		v.Right(axisWidth-1, v.H-1, axisWidth-1, "batch", canvas.Muted)
		v.Put(left+at-first, v.H-1, "▲", canvas.Accent|canvas.Bold)
	}
}
