package screen

import (
	"math"
	"slices"
	"time"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// drawDetail is the live look at one query.
func (s *Queries) drawDetail(v canvas.View, q *QuerySnapshot) {
	if q == nil {
		rule(v, 0, 0, v.W, "", "", s.pane == 1)
		return
	}
	title := text(q.Name)
	switch {
	case q.Message != "" && q.State.Active():
		title += " · " + text(q.Message)
	default:
		title += " · " + safe.Line(q.State.String())
	}
	note := safe.Line("")
	if !q.Since.IsZero() && q.State.Active() {
		note = safe.Line(q.State.String()) + " " + widget.Clock(s.sh.Now.Sub(q.Since))
	}
	rule(v, 0, 0, v.W, title, note, false)
	y := 1
	if q.Error != nil {
		body := v.Sub(0, 1, v.W, max(5, v.H-8))
		y += min(DrawCard(body, 0, q.Error), body.H)
		if q.State == Failed {
			x := 9
			for _, hint := range [...]safe.Line{"enter shows all", "s starts again", "c opens the checkpoint"} {
				if x+safe.Width(hint) < v.W {
					x = v.Put(x, y, hint, canvas.Muted) + 3
				}
			}
			y++
		}
		if v.H >= 16 {
			y++
		}
	}
	if lines := warningLines(q, v.W, 3); len(lines) > 0 && y+len(lines)+4 < v.H {
		y = drawWarning(v, y, lines)
	}
	roomy := v.H >= 14 && q.Error == nil || v.H >= 18
	if y+4 < v.H {
		y = s.drawCharts(v, y, q)
		if roomy && (v.H >= 18 || q.Memory.Held == 0) {
			y++
		}
	}
	if y+6 < v.H && q.Error == nil || y+8 < v.H {
		y = drawPhaseBar(v, y, q)
		if v.H >= 24 {
			y++
		}
		y = s.drawFacts(v, y, q)
		if v.H >= 24 {
			y++
		}
	}
	if y+2 < v.H {
		s.drawBatches(v.Sub(0, y, v.W, v.H-y), q)
	}
}

// drawCharts is the three lines of rates and durations. Input and processing share one scale, so that
// "in above proc" can be seen.
func (s *Queries) drawCharts(v canvas.View, y int, q *QuerySnapshot) int {
	w := max(8, min(60, v.W-46))
	in, proc, dur := series(q)
	top := 0.0
	for i := max(0, len(in)-w); i < len(in); i++ {
		top = atLeast(atLeast(top, in[i]), proc[i])
	}
	p := q.Last()
	quiet := q.Quiet(s.sh.Now)
	if quiet {
		p.InputRate, p.ProcessRate = 0, 0
	}
	gap := 12
	if v.W < 90 {
		gap = 4
	}
	trig := safe.Line("")
	if q.Trigger != "" {
		trig = "trigger " + text(q.Trigger)
	}
	// The widest value, what stands to its right, and the space between them: a chart is shorter before words are cut.
	if over := 7 + w + gap + 11 + safe.Width(trig) + 4 - v.W; over > 0 {
		w = max(8, w-over)
	}
	vx := 7 + w + gap
	active := q.State.Active() && p.BatchID >= 0
	line := func(y int, label safe.Line, vals []float64, top float64, value, note safe.Line, nst canvas.Style) {
		v.Put(1, y, label, canvas.Muted)
		widget.Spark(v, 7, y, w, vals, top, canvas.Accent)
		v.Put(vx, y, value, canvas.Text)
		v.Right(v.W-1, y, v.W-vx-safe.Width(value)-3, note, nst)
	}
	rate := func(r float64) safe.Line {
		if !active {
			return "-"
		}
		return widget.Rate(r) + " r/s"
	}
	limit := safe.Line("")
	if q.Limit != "" {
		limit = "limit " + text(q.Limit)
	}
	line(y, "in", in, top, rate(p.InputRate), limit, canvas.Muted)
	keep, kst := keeping(q)
	if quiet {
		keep, kst = "idle", canvas.Muted
	}
	line(y+1, "proc", proc, top, rate(p.ProcessRate), keep, kst)
	took := safe.Line("-")
	if p.BatchID >= 0 {
		took = widget.Took(p.Duration)
	}
	line(y+2, "dur", dur, 0, took, trig, canvas.Muted)
	return y + 3
}

// atLeast is the greater of two rates; a rate that is none or has no end does not count.
func atLeast(top, f float64) float64 {
	if f > top && !math.IsInf(f, 0) {
		return f
	}
	return top
}

func series(q *QuerySnapshot) (in, proc, dur []float64) {
	n := len(q.Progress)
	in, proc, dur = make([]float64, n), make([]float64, n), make([]float64, n)
	for i, p := range q.Progress {
		in[i], proc[i], dur[i] = p.InputRate, p.ProcessRate, float64(p.Duration)/float64(time.Millisecond)
	}
	return in, proc, dur
}

// keeping says whether a query keeps up: it falls behind after three batches longer than the trigger.
func keeping(q *QuerySnapshot) (safe.Line, canvas.Style) {
	n := len(q.Progress)
	if !q.State.Active() || n == 0 {
		return "", canvas.Muted
	}
	if q.Progress[n-1].RowsIn == 0 {
		return "idle", canvas.Muted
	}
	if q.TriggerEvery > 0 && n >= 3 {
		var over time.Duration
		slow := 0
		for _, p := range q.Progress[n-3:] {
			if p.Duration > q.TriggerEvery {
				slow++
				over += p.Duration - q.TriggerEvery
			}
		}
		if slow == 3 {
			return "falling behind " + widget.Words(over), canvas.Warn
		}
	}
	return "keeping up", canvas.OK
}

var shades = map[string]safe.Line{"latestOffset": "░", "queryPlanning": "▒", "getBatch": "░", "addBatch": "█",
	"walCommit": "▓", "commitOffsets": "▒", "commitBatch": "▒"}

var shortPhase = map[string]safe.Line{"latestOffset": "offset", "queryPlanning": "planning",
	"commitOffsets": "commit", "commitBatch": "commit"}

func parts(p Progress) []widget.Part {
	out := make([]widget.Part, 0, len(p.Phases))
	for _, ph := range p.Phases {
		sh, ok := shades[ph.Name]
		if !ok {
			sh = "░"
		}
		n, ok := shortPhase[ph.Name]
		if !ok {
			n = text(ph.Name)
		}
		out = append(out, widget.Part{Name: n, Shade: sh, Took: ph.Took})
	}
	return out
}

func total(ps []widget.Part) (d time.Duration) {
	for _, p := range ps {
		d += p.Took
	}
	return d
}

func drawPhaseBar(v canvas.View, y int, q *QuerySnapshot) int {
	ps := parts(q.Last())
	v.Put(1, y, "batch", canvas.Muted)
	if len(ps) == 0 {
		v.Put(11, y, "none yet", canvas.Muted)
		return y + 1
	}
	if total(ps) == 0 {
		v.Put(11, y, "shorter than 1 ms", canvas.Muted)
		return y + 1
	}
	if v.Plain() { // the names, and no bar that they would explain
		words, comma := safe.Line(""), safe.Line("")
		for _, p := range ps {
			words, comma = words+comma+p.Name+" "+f("%d", p.Took.Milliseconds()), ", "
		}
		for _, l := range widget.Wrap(words+" ms", v.W-13) {
			v.Put(11, y, l, canvas.Text)
			y++
		}
		return y
	}
	widget.PhaseBar(v, 11, y, max(10, min(90, v.W-17)), ps, canvas.Accent)
	x := 11
	for _, p := range fitting(ps, v.W-12) {
		v.Put(x, y+1, p.Shade, canvas.Accent)
		t := legend(p)
		v.Put(x+2, y+1, t, canvas.Muted)
		x += 2 + safe.Width(t) + 2
	}
	return y + 2
}

func legend(p widget.Part) safe.Line { return p.Name + " " + f("%d", p.Took.Milliseconds()) }

// fitting are the parts that a legend on w cells has room for: the shortest are left out first.
func fitting(ps []widget.Part, w int) []widget.Part {
	ps = slices.Clone(ps)
	for len(ps) > 0 {
		need, least := -2, 0
		for i, p := range ps {
			need += 2 + safe.Width(legend(p)) + 2
			if p.Took < ps[least].Took {
				least = i
			}
		}
		if need <= w {
			break
		}
		ps = slices.Delete(ps, least, least+1)
	}
	return ps
}

// drawFacts is watermark, state, source and sink.
func (s *Queries) drawFacts(v canvas.View, y int, q *QuerySnapshot) int {
	p := q.Last()
	put := func(label safe.Line, t safe.Line, st canvas.Style) {
		v.Put(1, y, label, canvas.Muted)
		v.Fit(11, y, v.W-12, t, st)
		y++
	}
	switch {
	case !q.Watermark.IsZero():
		t := s.sh.EventClock(q.Watermark) + "   " + widget.Words(max(0, s.sh.Now.Sub(q.Watermark))) + " behind the clock"
		if q.WatermarkDelay > 0 {
			t += " (" + widget.Words(q.WatermarkDelay) + " is the delay)"
		}
		put("watermark", t, canvas.Text)
	case q.WatermarkDelay > 0:
		put("watermark", "none yet (the delay is "+widget.Words(q.WatermarkDelay)+")", canvas.Text)
	default:
		put("watermark", "none", canvas.Muted)
	}
	if len(p.Operators) == 0 {
		put("state", "none", canvas.Muted)
	} else {
		var upd, rem, mem int64
		for _, o := range p.Operators {
			upd += o.RowsUpdated
			rem += o.RowsRemoved
			mem += o.MemoryBytes
		}
		prev := int64(0)
		if n := len(q.Progress); n > 1 {
			prev = q.Progress[n-2].StateRows()
		}
		t := widget.Plural(p.StateRows(), "key") + "  " + widget.Signed(p.StateRows()-prev) + "  " +
			widget.Count(upd) + " updated  "
		if rem > 0 {
			t += widget.Count(rem) + " removed  "
		}
		t += widget.Bytes(mem)
		put("state", t, canvas.Text)
		if l := p.Late(); l > 0 {
			x := 11 + safe.Width(t) + 2
			v.Fit(x, y-1, v.W-x-1, widget.Count(l)+" "+text(p.LateWord(l))+" dropped", canvas.Warn)
		} else if q.Grows {
			x := 11 + safe.Width(t) + 2
			v.Fit(x, y-1, v.W-x-1, "grows for ever", canvas.Warn)
		}
	}
	if t := memoryWords(q.Memory); t != "" {
		put("memory", t, canvas.Text)
		if q.Memory.Limited {
			x := 11 + safe.Width(t) + 2
			v.Fit(x, y-1, v.W-x-1, "batches are made smaller", canvas.Warn)
		} else if q.Memory.Away > 0 {
			x := 11 + safe.Width(t) + 2
			v.Fit(x, y-1, v.W-x-1, widget.Count(q.Memory.Away)+" rows of state on disk only", canvas.Muted)
		}
	}
	src := text(q.Source)
	if src == "" {
		src = "-"
	}
	sink := "sink " + text(q.Sink)
	if q.Promise != "" {
		promise := text(q.Promise)
		if promise == "none" {
			promise = "no guarantee"
		}
		sink += ", " + promise
	}
	if q.Temporary {
		sink += ", temporary checkpoint"
	}
	v.Put(1, y, "source", canvas.Muted)
	if x := v.W - 1 - safe.Width(sink); 11+safe.Width(src)+3 <= x {
		v.Put(11, y, src, canvas.Text)
		v.Put(min(x, max(11+safe.Width(src)+4, 40)), y, sink, canvas.Text)
		return y + 1
	}
	v.Fit(11, y, v.W-12, src, canvas.Text)
	v.Put(1, y+1, "sink", canvas.Muted)
	v.Fit(11, y+1, v.W-12, sink[len("sink "):], canvas.Text)
	return y + 2
}

// memoryWords says what a query holds of what it may hold; empty if that is not known.
func memoryWords(m Memory) safe.Line {
	switch {
	case m.Held <= 0:
		return ""
	case m.Budget <= 0:
		return widget.Bytes(m.Held) + ", no limit"
	}
	share := safe.Line("under 1 %")
	if n := m.Held * 100 / m.Budget; n > 0 {
		share = f("%d %%", n)
	}
	return widget.Bytes(m.Held) + " of " + widget.Bytes(m.Budget) + ", " + share
}

var lastCols = []widget.Col{
	{Title: "BATCH", Width: 6, Right: true},
	{Title: "ROWS IN", Width: 10, Right: true, Rank: 1},
	{Title: "OUT", Width: 8, Right: true, Rank: 2},
	{Title: "DUR", Width: 9, Right: true, Rank: 1},
	{Title: "LATE", Width: 8, Right: true, Rank: 3},
	{Title: "", Width: 4, Grow: true, Rank: 4},
}

func (s *Queries) drawBatches(v canvas.View, q *QuerySnapshot) {
	n := len(q.Progress)
	rule(v, 0, 0, v.W, "last batches", "b all", s.pane == 1)
	if n == 0 {
		empty(v.Sub(0, 0, v.W, v.H), noBatchYet(q))
		return
	}
	ws := widget.Layout(lastCols, v.W-2, 1)
	widget.Header(v, 1, 1, 1, lastCols, ws, canvas.Muted)
	from, to := s.batches.Window(n, v.H-2)
	focusable(v, takes(&s.pane, 1))
	clickRows(v, 2, to-from, &s.batches, from, takes(&s.pane, 1))
	for i := from; i < to; i++ {
		p := &q.Progress[n-1-i]
		y := 2 + i - from
		widget.Row(v, 1, y, 1, lastCols, ws, func(c int) (safe.Line, canvas.Style) {
			switch c {
			case 0:
				return f("%d", p.BatchID), canvas.Text
			case 1:
				return widget.Count(p.RowsIn), canvas.Text
			case 2:
				return widget.Count(p.RowsOut), canvas.Text
			case 3:
				return widget.Took(p.Duration), canvas.Text
			case 4:
				if p.Late() > 0 {
					return widget.Count(p.Late()), canvas.Warn
				}
				return "0", canvas.Muted
			}
			return " " + batchNote(p), canvas.Warn
		})
		if s.pane == 1 && i == s.batches.Cursor {
			v.Put(0, y, "▸", canvas.Accent|canvas.Bold)
			v.Paint(1, y, v.W-1, canvas.Cursor)
		}
	}
}

func batchNote(p *Progress) safe.Line {
	n := text(p.Note)
	if p.Retried {
		if n != "" {
			n = ", " + n
		}
		n = "ran again" + n
	}
	return n
}

// notable reports batches that are worth stopping at.
func notable(q *QuerySnapshot, i int) bool {
	p := &q.Progress[i]
	return p.Retried || p.Late() > 0 || p.Note != "" || q.TriggerEvery > 0 && p.Duration > q.TriggerEvery
}

// noBatch says why a step to another batch leads nowhere: PrevNotable and NextNotable look for something else
// than the two steps by one.
func noBatch(q *QuerySnapshot, a Action) safe.Line {
	kept := f("%d to %d are kept", q.Progress[0].BatchID, q.Last().BatchID)
	if a == PrevNotable || a == NextNotable {
		where := safe.Line("after")
		if a == PrevNotable {
			where = "before"
		}
		return "no batch " + where + " this was late, slow or run again; " + kept
	}
	return "no such batch: " + kept
}

// notFound answers a search: n without one before says which key asks for it.
func notFound(find string) safe.Line {
	if find == "" {
		return "n goes on with a search, and there was none: / searches"
	}
	return "not found: " + text(find)
}

// noBatchYet stands where batches will be listed. A query that goes on from its checkpoint runs and has none.
func noBatchYet(q *QuerySnapshot) safe.Line {
	if q.State.Active() {
		return "No batch in this run yet: it waits for rows."
	}
	return "No batch yet. s starts the query, . runs one batch."
}

// drawPhases is where the time of the last 60 batches went, phase by phase.
func (s *Queries) drawPhases(v canvas.View, q *QuerySnapshot) {
	v.Clear()
	n := len(q.Progress)
	from := max(0, n-60)
	rule(v, 0, 0, v.W, f("where the time goes · last %d batches", n-from), "", false)
	if n == 0 {
		return
	}
	drawPhaseList(v.Sub(0, 2, v.W, v.H-2), q.Progress[from:])
}

// drawPhaseList draws one bar per phase, the longest first.
func drawPhaseList(v canvas.View, ps []Progress) {
	var names []string
	sum := map[string]time.Duration{}
	var total time.Duration
	for _, p := range ps {
		for _, ph := range p.Phases {
			if _, ok := sum[ph.Name]; !ok {
				names = append(names, ph.Name)
			}
			sum[ph.Name] += ph.Took
			total += ph.Took
		}
	}
	if total == 0 {
		return
	}
	for i := range names { // a handful: insertion sort keeps the order of equals
		for j := i; j > 0 && sum[names[j]] > sum[names[j-1]]; j-- {
			names[j], names[j-1] = names[j-1], names[j]
		}
	}
	step := 1
	if v.H >= 2*len(names) {
		step = 2
	}
	w := max(4, v.W-34)
	for i, n := range names {
		y := i * step
		sh, ok := shades[n]
		if !ok {
			sh = "░"
		}
		d := sum[n]
		v.Fit(1, y, 14, text(n), canvas.Text)
		cells := int(float64(d) / float64(total) * float64(w))
		v.HLine(16, y, max(1, cells), sh, canvas.Accent)
		v.Right(v.W-7, y, 10, widget.Took(d/time.Duration(len(ps))), canvas.Text)
		v.Right(v.W-2, y, 4, f("%d%%", int(float64(d)/float64(total)*100+0.5)), canvas.Muted)
	}
}
