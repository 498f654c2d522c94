package tui

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/screen"
	"streamlab/tui/widget"
)

// An overlay is drawn over the front screen and takes all keys. Esc always means "no change".
type overlay interface {
	draw(v canvas.View, m *model)
	key(m *model, k widget.Key) tea.Cmd
	typing() bool // it has a text field: a paste may go there
}

// close removes the front overlay.
func (m *model) close() {
	if n := len(m.over); n > 0 {
		m.over = m.over[:n-1]
	}
	m.dirty = true
}

// box clears a centred rectangle, draws the heavy border with title and foot, and gives its inside.
func box(v canvas.View, w, h int, title, note, foot safe.Line) canvas.View {
	w, h = min(w, v.W-2), min(h, v.H-2)
	b := v.Sub((v.W-w)/2, max(1, (v.H-h)/2), w, h)
	v.Spot(0, 0, v.W, v.H, canvas.Spot{}) // what is below does not answer
	b.Clear()
	st := canvas.Accent
	b.HLine(0, 0, w, "━", st)
	b.HLine(0, h-1, w, "━", st)
	b.VLine(0, 1, h-2, "┃", st)
	b.VLine(w-1, 1, h-2, "┃", st)
	b.Put(0, 0, "┏", st)
	b.Put(w-1, 0, "┓", st)
	b.Put(0, h-1, "┗", st)
	b.Put(w-1, h-1, "┛", st)
	b.Put(2, 0, " "+safe.Cut(title, w-8)+" ", canvas.Title|canvas.Bold)
	if note != "" {
		b.Right(w-2, 0, w/2, " "+note+" ", canvas.Muted)
	}
	if foot != "" {
		b.Put(2, h-1, " "+safe.Cut(foot, w-6)+" ", canvas.Muted)
	}
	return b.Sub(2, 1, w-4, h-2)
}

// confirm asks a question. The default is No: Enter, Esc and n change nothing.
type confirm struct {
	q    screen.Question
	on   screen.Screen
	yes  func() tea.Cmd // instead of q.Yes
	name widget.Editor
}

func (c *confirm) typing() bool { return c.q.Name != "" }

func (c *confirm) draw(v canvas.View, _ *model) {
	foot := "y " + c.q.Verb + "   n or enter no"
	h := 4
	var lines []safe.Line
	for _, l := range c.q.Lines {
		lines = append(lines, widget.Wrap(l, min(58, v.W-8))...)
	}
	h += len(lines)
	if c.q.Name != "" {
		foot = "enter " + c.q.Verb + "   esc no"
		h += 2
		if safe.Width(c.q.Name) > 40 { // there must be room to type it
			lines = append(append(lines, ""), widget.Wrap(c.q.Name, min(58, v.W-8))...)
			h = 6 + len(lines)
		}
	}
	b := box(v, 64, h, c.q.Title, "", foot)
	for i, l := range lines {
		b.Put(0, 1+i, l, canvas.Text)
	}
	if c.q.Name != "" {
		y := b.H - 2
		label := c.q.Name + " >"
		if safe.Width(c.q.Name) > 40 {
			label = ">"
		}
		b.Put(0, y, label, canvas.Muted)
		x := safe.Width(label) + 1
		c.name.Single = true
		c.name.Draw(b.Sub(x, y, b.W-x, 1), true, false, nil)
	}
}

func (c *confirm) key(m *model, k widget.Key) tea.Cmd {
	answered := func(word string) {
		m.note(screen.Info, strings.TrimSuffix(string(c.q.Title), "?")+": "+word)
	}
	do := func() tea.Cmd {
		m.close()
		answered("yes")
		if c.yes != nil {
			return c.yes()
		}
		return m.apply(c.on, c.q.Yes())
	}
	if c.q.Name != "" {
		switch k.Name {
		case "esc":
			m.close()
			answered("no")
		case "enter":
			if safe.Text(c.name.Text(), 400) == c.q.Name {
				return do()
			}
			return m.say("the name does not match: nothing was changed")
		default:
			c.name.Single = true
			c.name.Handle(k)
		}
		return nil
	}
	switch k.Name {
	case "y", "Y":
		return do()
	case "n", "N", "esc", "enter", "q":
		m.close()
		answered("no")
	}
	return nil
}

// prompt asks for one line.
type prompt struct {
	p  screen.Prompt
	on screen.Screen
	ed widget.Editor
}

func newPrompt(p screen.Prompt, on screen.Screen) *prompt {
	o := &prompt{p: p, on: on}
	o.ed.Single = true
	o.ed.Set(p.Text)
	return o
}

func (p *prompt) typing() bool { return true }

func (p *prompt) draw(v canvas.View, _ *model) {
	w := 60
	if safe.Width(p.p.Label) > w-4 {
		w = min(76, v.W-4)
	}
	label := widget.Wrap(p.p.Label, w-4)
	foot, h := safe.Line("enter done   esc no change"), 4+len(label)
	about := p.p.Next != nil && p.p.About != nil
	if p.p.Next != nil {
		foot = "↑↓ choose   " + foot
	}
	if about {
		h++
	}
	b := box(v, w, h, p.p.Title, "", foot)
	for i, l := range label {
		b.Put(0, i, l, canvas.Muted)
	}
	b.Put(0, len(label), ">", canvas.Accent|canvas.Bold)
	p.ed.Draw(b.Sub(2, len(label), b.W-2, 1), true, false, nil)
	if about {
		b.Fit(2, len(label)+1, b.W-2, p.p.About(p.ed.Text()), canvas.Muted)
	}
}

func (p *prompt) key(m *model, k widget.Key) tea.Cmd {
	switch by := map[string]int{"up": -1, "down": 1}[k.Name]; {
	case by != 0 && p.p.Next != nil:
		p.ed.Set(p.p.Next(p.ed.Text(), by))
		return nil
	}
	switch k.Name {
	case "esc":
		m.close()
	case "enter":
		m.close()
		return m.apply(p.on, p.p.Done(p.ed.Text()))
	default:
		p.ed.Handle(k)
	}
	return nil
}

// viewer shows text that is too long for its place.
type viewer struct {
	title safe.Line
	text  string
	lines []safe.Line
	width int
	top   int
	page  int
}

func newViewer(v screen.Viewer) *viewer { return &viewer{title: v.Title, text: v.Text} }

func (o *viewer) typing() bool { return false }

func (o *viewer) draw(v canvas.View, _ *model) {
	w := min(v.W-4, 100)
	if o.width != w-4 {
		o.width = w - 4
		o.lines = nil
		text := o.text
		if len(text) > 1<<20 {
			text = text[:1<<20] // a megabyte is more than anybody scrolls through
		}
		for _, l := range safe.Lines(text) {
			for safe.Width(l) > o.width {
				head := safe.Line(strings.TrimSuffix(string(safe.Cut(l, o.width)), safe.Ellipsis))
				o.lines = append(o.lines, head)
				l = l[len(head):]
			}
			o.lines = append(o.lines, l)
		}
	}
	h := min(max(len(o.lines), 1)+2, v.H-4)
	note := widget.Linef("%d lines", len(o.lines))
	b := box(v, w, h, o.title, note, "↑↓ move   y copy   esc close")
	o.page = b.H
	o.top = max(0, min(o.top, len(o.lines)-b.H))
	for i := range b.H {
		if o.top+i < len(o.lines) {
			b.Put(0, i, o.lines[o.top+i], canvas.Text)
		}
	}
}

// scroll goes one line up or down.
func (o *viewer) scroll(key string) {
	if key == "up" || key == "k" {
		o.top = max(0, o.top-1)
		return
	}
	o.top++ // draw knows the end
}

func (o *viewer) key(m *model, k widget.Key) tea.Cmd {
	switch k.Name {
	case "esc", "q", "enter", "space":
		m.close()
	case "up", "down", "k", "j":
		o.scroll(k.Name)
	case "pgup", "ctrl+u":
		o.top = max(0, o.top-o.page)
	case "pgdown", "ctrl+d":
		o.top += o.page
	case "g", "home":
		o.top = 0
	case "G", "end":
		o.top = len(o.lines)
	case "y":
		return m.copy(screen.Clip{Text: o.text, What: "text"})
	}
	return nil
}

// card shows an error: condition, place, cause, what to do.
type card struct{ err *errs.Error }

func (c *card) typing() bool { return false }

func (c *card) draw(v canvas.View, _ *model) {
	w := min(v.W-4, 90)
	n := len(screen.Card(c.err, w-4))
	b := box(v, w, min(n+4, v.H-2), "Error", "", "y copy   esc close")
	screen.DrawCard(b.Sub(0, 1, b.W, b.H-1), 0, c.err)
}

func (c *card) key(m *model, k widget.Key) tea.Cmd {
	switch k.Name {
	case "esc", "q", "enter":
		m.close()
	case "y":
		return m.copy(screen.Clip{Text: screen.CardText(c.err), What: "error"})
	}
	return nil
}

// leaving is shown while the lab closes.
type leaving struct{ stop context.CancelFunc }

func (l *leaving) typing() bool { return false }

func (l *leaving) draw(v canvas.View, m *model) {
	b := box(v, 60, 5, "Stopping", "", "K stop at once and quit")
	n := 0
	for _, q := range m.sh.Queries {
		if q.State.Active() {
			n++
		}
	}
	if n == 0 {
		b.Put(0, 1, "Closing the lab.", canvas.Text)
		return
	}
	b.Put(0, 1, widget.Plural(int64(n), "query")+" to finish the batch.", canvas.Text)
}

func (l *leaving) key(_ *model, k widget.Key) tea.Cmd {
	if k.Name == "K" {
		l.stop()
	}
	return nil
}
