package tui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/screen"
	"streamlab/tui/widget"
)

// form asks for a few values. Enter does it from any field; Esc changes nothing.
type form struct {
	f      screen.Form
	on     screen.Screen
	texts  []widget.Editor // of fields without choices
	choice []int
	own    []bool // typed in by the user: does not follow any more
	at     int
}

func newForm(f screen.Form, on screen.Screen) *form {
	o := &form{f: f, on: on, texts: make([]widget.Editor, len(f.Fields)), choice: make([]int, len(f.Fields)), own: make([]bool, len(f.Fields))}
	for i, x := range f.Fields {
		o.texts[i].Single = true
		o.texts[i].Set(x.Text)
		o.choice[i] = max(0, slices.Index(x.Choices, x.Text))
	}
	return o
}

func (o *form) typing() bool { return o.f.Fields[o.at].Choices == nil }

func (o *form) values() []string {
	out := make([]string, len(o.f.Fields))
	for i, x := range o.f.Fields {
		out[i] = o.texts[i].Text()
		if x.Choices != nil {
			out[i] = x.Choices[o.choice[i]]
		}
	}
	return out
}

func (o *form) draw(v canvas.View, _ *model) {
	w := 0
	for _, x := range o.f.Fields {
		w = max(w, safe.Width(x.Label))
	}
	b := box(v, 70, len(o.f.Fields)*2+3, o.f.Title, "", "enter "+o.f.Verb+"   tab next   ←→ choose   esc no change")
	for i, x := range o.f.Fields {
		y := 1 + 2*i
		st := canvas.Muted
		if i == o.at {
			st = canvas.Title | canvas.Bold
			b.Put(0, y, "▸", canvas.Accent|canvas.Bold)
		}
		b.Put(2, y, x.Label, st)
		at := w + 4
		if x.Choices == nil {
			o.texts[i].Draw(b.Sub(at, y, b.W-at, 1), i == o.at, false, nil)
			continue
		}
		for k, c := range x.Choices {
			t := safe.Text(c, 24)
			st := canvas.Muted
			if k == o.choice[i] {
				st = canvas.Accent | canvas.Bold
				b.Put(at-1, y, "[", st)
				b.Put(at+safe.Width(t), y, "]", st)
			}
			b.Put(at, y, t, st)
			if k == o.choice[i] && i == o.at {
				b.Paint(at, y, safe.Width(t), canvas.Cursor)
			}
			at += safe.Width(t) + 3
		}
	}
}

func (o *form) key(m *model, k widget.Key) tea.Cmd {
	x := &o.f.Fields[o.at]
	n := len(o.f.Fields)
	switch k.Name {
	case "esc":
		m.close()
		return nil
	case "enter":
		m.close()
		return m.apply(o.on, o.f.Done(o.values()))
	case "tab", "down":
		o.at = (o.at + 1) % n
		return nil
	case "shift+tab", "up":
		o.at = (o.at + n - 1) % n
		return nil
	}
	if x.Choices == nil {
		if o.texts[o.at].Handle(k) && k.Text != "" || k.Name == "backspace" {
			o.own[o.at] = true
		}
		return nil
	}
	switch k.Name {
	case "left", "h":
		o.choice[o.at] = (o.choice[o.at] + len(x.Choices) - 1) % len(x.Choices)
	case "right", "l", "space":
		o.choice[o.at] = (o.choice[o.at] + 1) % len(x.Choices)
	default:
		return nil
	}
	for i, y := range o.f.Fields {
		if y.Follow != nil && !o.own[i] {
			o.texts[i].Set(y.Follow(o.values()))
		}
	}
	return nil
}

// menu lets the user choose.
type menu struct {
	m    screen.Menu
	on   screen.Screen
	list widget.List
}

func (o *menu) typing() bool { return false }

func (o *menu) draw(v canvas.View, _ *model) {
	n := len(o.m.Items)
	label, note := 0, 0
	for _, x := range o.m.Items {
		label, note = max(label, safe.Width(x.Label)), max(note, safe.Width(x.Note))
	}
	foot := safe.Line("enter choose   esc no change")
	if o.m.Remove != nil {
		foot = "enter choose   x remove   esc no change"
	}
	// Digit, label, note, a blank at the end, and the border with a blank on both sides.
	w := max(safe.Width(o.m.Title)+10, safe.Width(foot)+6, 2+label+1+4)
	if note > 0 {
		w = max(w, 2+label+2+note+1+4)
	}
	h := min(n, max(3, v.H-8))
	b := box(v, min(78, w), h+2, o.m.Title, "", foot)
	from, to := o.list.Window(n, b.H)
	clickRows(b, 0, to-from, &o.list, from)
	if room := b.W - 2 - 2 - 1; note > 0 && label+note > room {
		label = max(room-note, min(label, room/2)) // the longer of the two gives way
	}
	for i := from; i < to; i++ {
		y := i - from
		x := o.m.Items[i]
		if i < 9 {
			b.Put(0, y, widget.Linef("%d", i+1), canvas.Key|canvas.Bold)
		}
		if x.Note == "" {
			b.Fit(2, y, b.W-3, x.Label, canvas.Text)
		} else {
			b.Fit(2, y, label, x.Label, canvas.Text)
			b.Fit(2+label+2, y, b.W-label-5, x.Note, canvas.Muted)
		}
		if i == o.list.Cursor {
			b.Paint(0, y, b.W, canvas.Cursor)
		}
	}
}

func (o *menu) key(m *model, k widget.Key) tea.Cmd {
	n := len(o.m.Items)
	switch k.Name {
	case "esc", "q":
		m.close()
	case "up", "k":
		o.list.Move(-1, n)
	case "down", "j":
		o.list.Move(1, n)
	case "pgup":
		o.list.Move(-o.list.Page(), n)
	case "pgdown":
		o.list.Move(o.list.Page(), n)
	case "home", "g":
		o.list.To(0, n)
	case "end", "G":
		o.list.To(n-1, n)
	case "enter":
		return o.choose(m, o.list.Cursor)
	case "x":
		if o.m.Remove != nil && n > 0 {
			m.close()
			return m.apply(o.on, o.m.Remove(o.list.Cursor))
		}
	default:
		if len(k.Name) == 1 && k.Name[0] >= '1' && k.Name[0] <= '9' && int(k.Name[0]-'1') < n {
			return o.choose(m, int(k.Name[0]-'1'))
		}
	}
	return nil
}

func (o *menu) choose(m *model, i int) tea.Cmd {
	m.close()
	if i < 0 || i >= len(o.m.Items) {
		return nil
	}
	return m.apply(o.on, o.m.Done(i))
}
