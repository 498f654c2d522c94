package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/screen"
	"streamlab/tui/widget"
)

// palette lists every action with its key; typing filters. What cannot apply here is listed with the
// reason instead of being hidden.
type palette struct {
	ed   widget.Editor
	list widget.List
	all  []item
}

type item struct {
	b    *Binding
	text safe.Line
	why  safe.Line // it cannot apply now

	recent bool // listed because it was chosen lately
	run    func(m *model) tea.Cmd
}

func newPalette(m *model) *palette {
	p := &palette{}
	p.ed.Single = true
	s := m.front()
	seen := map[screen.Action]bool{}
	add := func(scope screen.Scope, here bool) {
		for i := range m.keys.bindings {
			b := &m.keys.bindings[i]
			if b.Scope != scope || seen[b.Action] {
				continue
			}
			seen[b.Action] = true
			it := item{b: b, text: b.Long}
			if here {
				it.why = m.disabled(s, b)
			} else {
				it.why = "in " + safe.Line(b.Scope)
			}
			p.all = append(p.all, it)
		}
	}
	for _, b := range m.recent { // what was done here last is mostly wanted again
		p.all = append(p.all, item{b: b, text: b.Long, why: m.here(s, b), recent: true})
	}
	add(s.Scope(), true)
	for _, q := range m.sh.Queries {
		name := q.Name
		p.all = append(p.all, item{text: "go " + safe.Text(name, 60), run: func(m *model) tea.Cmd { return m.goTo(name, -1) }})
	}
	add(screen.Everywhere, true)
	for i := range m.keys.bindings { // all other places, in the order of the table
		if sc := m.keys.bindings[i].Scope; sc != screen.Everywhere {
			add(sc, sc == s.Scope())
		}
	}
	return p
}

// disabled says why an action cannot apply to a screen now: for what changes stored data or loses work, that
// nothing may be changed at all.
func (m *model) disabled(s screen.Screen, b *Binding) safe.Line {
	switch {
	case m.sh.ReadOnly && b.Level > 0:
		return "read-only"
	case b.Action == actShip:
		return "not in this version"
	case b.Action == actToFile && m.copied == "":
		return "nothing was copied"
	}
	return s.Disabled(b.Action)
}

// here is disabled of an action that may belong to another place.
func (m *model) here(s screen.Screen, b *Binding) safe.Line {
	if b.Scope != screen.Everywhere && b.Scope != s.Scope() {
		return "in " + safe.Line(b.Scope)
	}
	return m.disabled(s, b)
}

// remember puts an action in front of those that were chosen lately.
func (m *model) remember(b *Binding) {
	m.recent = slices.DeleteFunc(m.recent, func(x *Binding) bool { return x == b })
	m.recent = append([]*Binding{b}, m.recent[:min(len(m.recent), 2)]...)
}

// about tells all that the key table knows of an action.
func about(b *Binding, why safe.Line) screen.Viewer {
	t := string(b.Long) + "\n\nplace   " + string(b.Scope) + "\nkeys    "
	if len(b.Keys) == 0 {
		t += "none: only from here"
	} else {
		t += string(keyNames(b))
	}
	t += "\nname    " + scopeID(b.Scope) + "." + string(b.Action) + ", for keys.yaml\n"
	switch b.Level {
	case 0:
		t += "asks    nothing: no stored data is changed"
	case 3:
		t += "asks    for the object's name to be typed"
	default:
		t += "asks    y or n, default n"
	}
	if why != "" {
		t += "\nnow     cannot run: " + string(why)
	}
	return screen.Viewer{Title: "what it does", Text: t}
}

// goTo shows a query, at one of its batches if batch is not -1.
func (m *model) goTo(query string, batch int64) tea.Cmd {
	if m.sh.Query(query) == nil {
		return m.say("no query is called " + safe.Text(query, 60))
	}
	if batch >= 0 {
		return m.apply(m.front(), screen.Effect{Tab: 1, Push: screen.NewBatch(m.sh, query, batch)})
	}
	return m.apply(m.front(), screen.Effect{Tab: 1, Push: screen.NewBatches(m.sh, query)})
}

func (p *palette) typing() bool { return true }

func (p *palette) shown() []item {
	t := strings.ToLower(strings.TrimSpace(p.ed.Text()))
	if t == "" {
		return p.all
	}
	var ranked [loosely + 1][]item
	for _, it := range p.all {
		s := strings.ToLower(string(it.text))
		if it.b != nil {
			s += " " + string(it.b.Action)
		}
		if r := rank(t, s); r <= loosely {
			ranked[r] = append(ranked[r], it)
		}
	}
	return slices.Concat(ranked[:]...)
}

// How well a command fits what was typed, the best first.
const (
	asWord  = iota // it stands there as words
	asStart        // a word begins with it
	within         // it stands somewhere inside of a word
	loosely        // its letters stand there in this order
)

// rank tells how well s fits the letters of t; more than loosely: not at all.
func rank(t, s string) int {
	best := loosely + 1
	for from := 0; from+len(t) <= len(s); {
		i := strings.Index(s[from:], t)
		if i < 0 {
			break
		}
		i += from
		end := i + len(t)
		switch {
		case i > 0 && letter(s[i-1]):
			best = min(best, within)
		case end < len(s) && letter(s[end]):
			best = min(best, asStart)
		default:
			return asWord
		}
		from = i + 1
	}
	if best > loosely && subsequence(t, s) {
		best = loosely
	}
	return best
}

// letter reports whether a byte is part of a word; all but ASCII are.
func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// subsequence reports whether the letters of t stand in s in this order.
func subsequence(t, s string) bool {
	i := 0
	for j := 0; i < len(t) && j < len(s); j++ {
		if t[i] == ' ' {
			i++
			j--
			continue
		}
		if t[i] == s[j] {
			i++
		}
	}
	return i == len(t)
}

func (p *palette) draw(v canvas.View, _ *model) {
	items := p.shown()
	h := 17
	if v.H >= 36 {
		h = 22
	}
	b := box(v, min(74, v.W-6), h, "Commands", "", "enter run   ? what it does   esc close")
	b.Put(0, 0, ":", canvas.Accent|canvas.Bold)
	p.ed.Draw(b.Sub(2, 0, b.W-14, 1), true, false, nil)
	b.Right(b.W, 0, 12, widget.Linef("%d of %d", len(items), len(p.all)), canvas.Muted)
	body := b.Sub(0, 2, b.W, b.H-2)
	from, to := p.list.Window(len(items), body.H)
	clickRows(body, 0, to-from, &p.list, from)
	for i := from; i < to; i++ {
		it := items[i]
		y := i - from
		st := canvas.Text
		if it.why != "" {
			st = canvas.Muted
		}
		if i == p.list.Cursor {
			body.Put(0, y, "▸", canvas.Accent|canvas.Bold)
		}
		kx := body.W - 30
		body.Fit(2, y, kx-3, it.text, st)
		if it.b != nil {
			body.Fit(kx, y, 9, keyNames(it.b), canvas.Key)
		}
		why := it.why
		if why == "" && it.recent {
			why = "recent"
		}
		body.Right(body.W, y, 20, why, canvas.Muted)
	}
	if len(items) == 0 {
		body.Put(2, 0, "no command has these letters", canvas.Muted)
	}
}

func (p *palette) key(m *model, k widget.Key) tea.Cmd {
	n := len(p.shown())
	switch k.Name {
	case "esc", "ctrl+g":
		m.close()
	case "up":
		p.list.Move(-1, n)
	case "down":
		p.list.Move(1, n)
	case "pgup":
		p.list.Move(-p.list.Page(), n)
	case "pgdown":
		p.list.Move(p.list.Page(), n)
	case "enter":
		m.close()
		if cmd, ok := m.command(p.ed.Text()); ok {
			return cmd
		}
		items := p.shown()
		if len(items) == 0 {
			return nil
		}
		p.list.To(p.list.Cursor, len(items))
		it := items[p.list.Cursor]
		switch {
		case it.why != "":
			return m.say(it.text + ": " + it.why)
		case it.run != nil:
			return it.run(m)
		}
		m.remember(it.b)
		return m.act(it.b)
	case "?":
		p.list.To(p.list.Cursor, n)
		if items := p.shown(); len(items) > 0 && items[p.list.Cursor].b != nil {
			it := items[p.list.Cursor]
			v := about(it.b, it.why)
			m.push(newViewer(v))
		}
	default:
		if p.ed.Handle(k) {
			p.list.To(0, n)
		}
	}
	return nil
}

// command runs what was typed with arguments: "go NAME", "go NAME batch N", "sql SELECT …", "fork N as NAME".
func (m *model) command(text string) (tea.Cmd, bool) {
	text = strings.TrimSpace(text)
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case word == "go" && rest != "":
		f := strings.Fields(rest)
		if m.sh.Query(f[0]) == nil {
			return nil, false
		}
		batch := int64(-1)
		if len(f) == 3 && f[1] == "batch" {
			if n, err := strconv.ParseInt(f[2], 10, 64); err == nil {
				batch = n
			}
		}
		return m.goTo(f[0], batch), true
	case word == "fork" && rest != "":
		w := strings.Fields(rest)
		if len(w) != 3 || w[1] != "as" {
			return nil, false
		}
		n, err := strconv.ParseInt(w[0], 10, 64)
		if err != nil {
			return nil, false
		}
		if m.sh.Query(m.sh.Focus) == nil {
			return m.say("fork: choose a query first"), true
		}
		return tea.Batch(m.do(screen.Command{Verb: screen.Fork, Query: m.sh.Focus, Batch: n, Arg: w[2]}),
			m.say("forking "+safe.Text(m.sh.Focus, 60)+" to "+safe.Text(w[2], 60))), true
	case word == "sql" && rest != "":
		return m.statement(rest), true
	}
	return nil, false
}

// statement runs a statement in the tab SQL.
func (m *model) statement(text string) tea.Cmd {
	s, ok := m.tabs[2][0].(*screen.SQL)
	if !ok {
		return nil
	}
	m.setTab(2)
	m.cut(1)
	return m.apply(s, s.RunText(text))
}

// help lists the keys of the front screen, then those that hold everywhere.
type help struct {
	ed   widget.Editor
	list widget.List
	all  []item
	here int // entries of all that belong to the screen
}

func newHelp(m *model) *help {
	h := &help{}
	h.ed.Single = true
	s := m.front()
	seen := map[string]bool{}
	for _, sc := range []screen.Scope{s.Scope(), screen.Everywhere} {
		for i := range m.keys.bindings {
			b := &m.keys.bindings[i]
			if b.Scope != sc || len(b.Keys) == 0 || seen[b.Keys[0]] {
				continue
			}
			seen[b.Keys[0]] = true
			h.all = append(h.all, item{b: b, text: b.Long, why: m.disabled(s, b)})
			if sc != screen.Everywhere {
				h.here++
			}
		}
	}
	return h
}

func (h *help) typing() bool { return true }

func (h *help) shown() []item {
	t := strings.ToLower(strings.TrimSpace(h.ed.Text()))
	if t == "" {
		return h.all
	}
	var out []item
	for _, it := range h.all {
		if strings.Contains(strings.ToLower(string(it.text)+" "+string(keyNames(it.b))), t) {
			out = append(out, it)
		}
	}
	return out
}

func (h *help) draw(v canvas.View, m *model) {
	items := h.shown()
	rows := (len(items) + 3) / 2
	b := box(v, min(v.W-2, 96), min(v.H-3, max(8, rows+4)), "Keys on this screen · type to filter",
		safe.Line(m.front().Scope()), "↑↓ ←→ move   enter do it   esc close")
	body := b
	if h.ed.Text() != "" {
		b.Put(0, 0, "/", canvas.Accent|canvas.Bold)
		h.ed.Draw(b.Sub(2, 0, b.W-2, 1), true, false, nil)
		body = b.Sub(0, 1, b.W, b.H-1)
	}
	// Two columns, filled one after the other; what does not fit scrolls with the cursor.
	height := body.H
	h.list.To(h.list.Cursor, len(items))
	type line struct {
		head safe.Line
		item int
	}
	var lines []line
	for i := range items {
		if h.ed.Text() == "" && i == 0 && h.here > 0 {
			lines = append(lines, line{"HERE", -1})
		}
		if h.ed.Text() == "" && i == h.here {
			lines = append(lines, line{"EVERYWHERE", -1})
		}
		lines = append(lines, line{"", i})
	}
	top := 0
	for k, l := range lines {
		if l.item == h.list.Cursor && k >= 2*height {
			top = (k/height - 1) * height
		}
	}
	colW := body.W / 2
	body.Spot(0, 0, body.W, height, canvas.Spot{Pick: func(x, y int) bool {
		k := top + y
		if x >= colW {
			k += height
		}
		if k >= len(lines) || lines[k].item < 0 {
			return false
		}
		again := h.list.Cursor == lines[k].item
		h.list.Cursor = lines[k].item
		return again
	}})
	for k := top; k < len(lines) && k-top < 2*height; k++ {
		x, y := (k-top)/height*colW, (k-top)%height
		l := lines[k]
		if l.item < 0 {
			body.Put(x, y, l.head, canvas.Title|canvas.Bold)
			continue
		}
		it := items[l.item]
		if l.item == h.list.Cursor {
			body.Put(x, y, "▸", canvas.Accent|canvas.Bold)
		}
		body.Fit(x+2, y, 10, keyNames(it.b), canvas.Key)
		st := canvas.Text
		if it.why != "" {
			st = canvas.Muted
		}
		body.Fit(x+12, y, colW-13, it.text, st)
	}
}

func (h *help) key(m *model, k widget.Key) tea.Cmd {
	n := len(h.shown())
	switch k.Name {
	case "esc":
		m.close()
	case "up":
		h.list.Move(-1, n)
	case "down":
		h.list.Move(1, n)
	case "left", "pgup":
		h.list.Move(-10, n)
	case "right", "pgdown":
		h.list.Move(10, n)
	case "enter":
		items := h.shown()
		m.close()
		if len(items) > 0 {
			h.list.To(h.list.Cursor, len(items))
			return m.act(items[h.list.Cursor].b)
		}
	default:
		if h.ed.Handle(k) {
			h.list.To(0, n)
		}
	}
	return nil
}
