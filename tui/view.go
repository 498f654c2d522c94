package tui

import (
	"math"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/internal/safego"
	"streamlab/tui/canvas"
	"streamlab/tui/screen"
	"streamlab/tui/widget"
)

var tabNames = [5]safe.Line{"1 Queries", "2 Checkpoints", "3 SQL", "4 Labs", "5 Events"}

// View implements tea.Model. Bubble Tea's own renderer is off (see package term), so this is only asked
// for after every message: if something changed, the frame is drawn and handed to the terminal.
func (m *model) View() string {
	if m.dirty {
		m.dirty = false
		began := time.Now()
		m.draw()
		m.frame = m.cv.Encode(m.theme)
		m.times.drawn(began)
		if m.term != nil {
			if m.opts.Plain {
				m.term.ShowCursor(m.cv.FocusRow())
			}
			m.term.Show(m.frame)
		}
	}
	return ""
}

// draw fills the canvas.
func (m *model) draw() {
	m.cv.Reset(m.w, m.h)
	v := m.cv.View()
	if m.w == 0 || m.h == 0 {
		return
	}
	if m.tooSmall() {
		m.drawSmall(v)
		return
	}
	m.sh.Busy = ""
	s := m.front()
	for k, j := range m.jobs {
		if j.slow && k.on == s {
			m.sh.Busy = string(j.what)
		}
	}
	m.drawTabs(v)
	body := v.Sub(0, 1, m.w, m.h-2)
	if err := safego.Call("draw "+string(s.Scope()), func() error { s.Draw(body); return nil }); err != nil {
		body.Clear()
		screen.DrawCard(body, 1, errs.As(err))
	}
	m.drawKeys(v)
	for _, o := range m.over {
		o := o
		if err := safego.Call("draw overlay", func() error { o.draw(v, m); return nil }); err != nil {
			m.over = nil
			break
		}
	}
}

func (m *model) drawSmall(v canvas.View) {
	lines := []safe.Line{widget.Linef("streamlab needs %dx%d,", minWidth, minHeight), widget.Linef("this is %dx%d", m.w, m.h)}
	n := 0
	for _, q := range m.sh.Queries {
		if q.State.Active() {
			n++
		}
	}
	if n > 0 {
		lines = append(lines, widget.Plural(int64(n), "query")+" running", "ctrl+c twice stops and quits")
	} else {
		lines = append(lines, "q quits")
	}
	y := max(0, (m.h-len(lines))/2)
	for i, l := range lines {
		v.Fit(max(0, (m.w-safe.Width(l))/2), y+i, m.w, l, canvas.Text)
	}
}

// tabPlaces gives the columns of each tab's label.
func (m *model) tabPlaces() (out [5][2]int) {
	x, gap := 12, 0
	if m.w < 68 {
		x = 0 // the tabs are worth more than the program's name
	}
	if m.sh.Class != screen.S {
		x, gap = 11, 1
		if n := safe.Width(m.labName()); n > 0 {
			x += n + 3
		}
	}
	for i, n := range tabNames {
		w := safe.Width(n) + 2
		out[i] = [2]int{x, x + w}
		x += w + gap
	}
	return out
}

func (m *model) labName() safe.Line {
	return safe.Text(m.sh.Lab.Name, 20)
}

// drawTabs is line 1: the program, the lab, the tabs, what runs.
func (m *model) drawTabs(v canvas.View) {
	if m.w >= 68 {
		v.Put(0, 0, "streamlab", canvas.Title|canvas.Bold)
	}
	if m.sh.Class != screen.S {
		v.Put(11, 0, m.labName(), canvas.Muted)
	}
	end := 0
	for i, r := range m.tabPlaces() {
		if i == m.tab {
			v.Put(r[0], 0, "["+tabNames[i]+"]", canvas.Accent|canvas.Bold)
		} else {
			v.Put(r[0]+1, 0, tabNames[i], canvas.Text)
		}
		end = r[1]
	}
	run, fail := 0, 0
	rate := 0.0
	for _, q := range m.sh.Queries {
		switch {
		case q.State == screen.Failed:
			fail++
		case q.State.Active():
			run++
			if p := q.Last(); p.BatchID >= 0 && !q.Quiet(m.sh.Now) && p.InputRate > 0 && !math.IsInf(p.InputRate, 0) {
				rate += p.InputRate
			}
		}
	}
	x := v.W
	put := func(t safe.Line, st canvas.Style) {
		w := safe.Width(t)
		if x-w <= end {
			return
		}
		v.Put(x-w, 0, t, st)
		x -= w
	}
	apart := 2
	if m.sh.Class == screen.S { // the counts are worth more than the space
		apart = 1
	}
	if m.sh.Class != screen.S {
		put(m.sh.Clock(m.sh.Now), canvas.Muted)
		x -= apart
	}
	if m.opts.slow != nil && m.opts.slow() {
		put("slow link", canvas.Warn)
		x -= apart
	}
	if m.sh.Lab.Changed != "" {
		put("file changed", canvas.Warn)
		x -= apart
	}
	if m.sh.ReadOnly {
		put("read-only", canvas.Warn)
		x -= apart
	}
	if fail > 0 {
		put(widget.Linef("%d fail", fail), canvas.Error|canvas.Bold)
		x--
	}
	st := canvas.Muted
	if run > 0 {
		st = canvas.OK
	}
	put(widget.Linef("%d run", run), st)
	if m.sh.Class != screen.S && run > 0 {
		x -= 2
		put(widget.Rate(rate)+" r/s", canvas.Text)
	}
}

// drawKeys is the last line: a toast, or the keys of the front screen. Hints that do not fit are
// dropped from the right; "?" stays.
func (m *model) drawKeys(v canvas.View) {
	y := v.H - 1
	tail := safe.Line("? :")
	if m.sh.Class != screen.S {
		tail = "? help  : commands"
	}
	if t, ok := m.front().(screen.Typer); ok && t.Typing() {
		tail = "ctrl+g commands"
	}
	room := v.W - safe.Width(tail) - 2
	v.Put(v.W-safe.Width(tail), y, tail, canvas.Muted)
	m.hints = m.hints[:0]
	if len(tail) > 0 && tail[0] == '?' {
		at := v.W - safe.Width(tail)
		colon := at + strings.IndexByte(string(tail), ':')
		m.hints = append(m.hints, keyHint{at, colon, "?"}, keyHint{colon, v.W, ":"})
	} else {
		m.hints = append(m.hints, keyHint{v.W - safe.Width(tail), v.W, "ctrl+g"})
	}
	if m.toast != "" {
		v.Fit(0, y, room, m.toast, canvas.Accent)
		return
	}
	s := m.front()
	x := 0
	for i := range m.keys.bindings {
		b := &m.keys.bindings[i]
		if b.Scope != s.Scope() || b.Short == "" || b.Class > m.sh.Class {
			continue
		}
		k, label := hint(b)
		if b.Action == screen.StartStop {
			label = m.startStopWord()
		}
		w := safe.Width(k) + 1 + safe.Width(label)
		if x+w > room {
			break
		}
		m.hinted(x, b, k, label)
		v.Put(x, y, k, canvas.Key|canvas.Bold)
		st := canvas.Text
		if m.disabled(s, b) != "" {
			st = canvas.Muted
		}
		v.Put(x+safe.Width(k)+1, y, label, st)
		x += w + 2
	}
}

// startStopWord is what the start-stop key does to the query the user is at.
func (m *model) startStopWord() safe.Line {
	q := m.sh.Query(m.sh.Focus)
	switch {
	case q == nil:
		return "start/stop"
	case q.State == screen.Stopping:
		return "stopping"
	case q.State.Active():
		return "stop"
	}
	return "start"
}

// hint splits the entry of the key line into keys and words. A short text that begins with keys
// ("[ ] batch") stands for a pair.
func hint(b *Binding) (k, label safe.Line) {
	switch b.Short {
	case "[ ] batch":
		return "[ ]", "batch"
	case "← → crash point":
		return "← →", "crash point"
	case "[ ] input":
		return "[ ]", "input"
	case "{ } notable":
		return "{ }", "notable"
	case "+ - level":
		return "+ -", "level"
	case "ctrl+p ctrl+n history":
		return "ctrl+p ctrl+n", "history"
	}
	k = safe.Text(b.Keys[0], 0)
	return k, b.Short
}
