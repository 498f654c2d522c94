package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/screen"
	"streamlab/tui/widget"
)

// keyMsg turns a message into keys. Fast typing and key repeat over a slow line arrive as one message
// with several runes: each is a key of its own, else keys would be lost. A paste is text and never
// keys: pasted text must not run commands.
func (m *model) keyMsg(msg tea.KeyMsg) tea.Cmd {
	m.dirty = true
	if msg.Paste {
		return m.paste(string(msg.Runes))
	}
	if msg.Type == tea.KeyRunes {
		var cmds []tea.Cmd
		if msg.Alt {
			// Esc and a key in the same read: no alt chord is bound, so it was Esc, then the key.
			cmds = append(cmds, m.key(widget.Key{Name: "esc"}))
		}
		for _, r := range msg.Runes {
			s := string(r)
			k := widget.Key{Name: s, Text: s}
			if r == ' ' {
				k.Name = "space"
			}
			cmds = append(cmds, m.key(k))
		}
		return tea.Batch(cmds...)
	}
	var cmds []tea.Cmd
	if msg.Alt {
		cmds = append(cmds, m.key(widget.Key{Name: "esc"}))
		msg.Alt = false
	}
	k := widget.Key{Name: msg.String()}
	if msg.Type == tea.KeySpace {
		k = widget.Key{Name: "space", Text: " "}
	}
	return tea.Batch(append(cmds, m.key(k))...)
}

func (m *model) paste(text string) tea.Cmd {
	k := widget.Key{Text: text}
	if n := len(m.over); n > 0 {
		if m.over[n-1].typing() {
			return m.over[n-1].key(m, k)
		}
	} else if t, ok := m.front().(screen.Typer); ok && t.Typing() {
		e, _ := t.Type(k)
		return m.apply(m.front(), e)
	}
	return m.say("a paste goes only into a text field")
}

// key dispatches one key: overlay, text field, then the key table.
func (m *model) key(k widget.Key) tea.Cmd {
	if k.Name == "ctrl+c" {
		return m.ctrlCKey()
	}
	if m.tooSmall() {
		if k.Name == "q" {
			return m.quitSmall()
		}
		return nil
	}
	if n := len(m.over); n > 0 {
		return m.over[n-1].key(m, k)
	}
	s := m.front()
	if t, ok := s.(screen.Typer); ok && t.Typing() {
		// Keys that mean something in an editor's scope go before its text; letters never do.
		if b := m.keys.lookup(s.Scope(), k.Name); b == nil || k.Text != "" || b.Scope == screen.Everywhere || b.Action == screen.Back {
			if e, took := t.Type(k); took {
				return m.apply(s, e)
			}
		}
		if k.Text != "" {
			return nil
		}
	}
	b := m.keys.lookup(s.Scope(), k.Name)
	if b == nil {
		return nil
	}
	return m.act(b)
}

// act does the action of a binding, or says why it cannot apply now.
func (m *model) act(b *Binding) tea.Cmd {
	if cmd, ok := m.rootAction(b.Action); ok {
		return cmd
	}
	s := m.front()
	if why := m.disabled(s, b); why != "" {
		return m.say(safe.Line(b.Long) + ": " + why)
	}
	return m.apply(s, s.Handle(b.Action))
}

// rootAction does the actions that belong to no screen.
func (m *model) rootAction(a screen.Action) (tea.Cmd, bool) {
	switch a {
	case actTab1, actTab2, actTab3, actTab4, actTab5:
		i := map[screen.Action]int{actTab1: 0, actTab2: 1, actTab3: 2, actTab4: 3, actTab5: 4}[a]
		if i == m.tab && len(m.tabs[i]) > 1 {
			m.cut(1) // the tab's own number once more: back to its root
		}
		m.setTab(i)
		return m.wake(), true
	case actPalette:
		m.push(newPalette(m))
		return nil, true
	case actHelp:
		m.push(newHelp(m))
		return nil, true
	case actQuit:
		if len(m.tabs[m.tab]) > 1 {
			m.pop()
			return m.wake(), true
		}
		return m.quit(), true
	case actRedraw:
		m.dirty = true
		if m.term != nil {
			m.term.Redraw()
		}
		return nil, true
	case actMouse:
		m.mouse = !m.mouse
		if m.term != nil {
			m.term.Mouse(m.mouse)
		}
		if m.mouse {
			return m.say("mouse on: the terminal's own selection needs shift"), true
		}
		return m.say("mouse off"), true
	case actSuspend:
		if m.term != nil {
			m.term.Pause()
		}
		m.away = m.clock().Round(0) // the other clock stands still in a computer that sleeps
		return tea.Suspend, true
	case actShip:
		return m.say("ship is not in this version: a lab runs here, and its keys are PySpark's methods"), true
	case actToFile:
		return m.copyToFile(), true
	case actCancel:
		return m.ctrlCKey(), true
	case actUTC:
		m.utc = !m.utc
		m.sh.Zone = m.opts.zone
		word := safe.Line("times are local")
		if m.utc {
			m.sh.Zone = time.UTC
			word = "times are UTC"
		}
		return m.say(word), true
	case actTheme:
		names := canvas.ThemeNames()
		for i, n := range names {
			if n == m.theme.Name {
				m.theme, _ = canvas.Named(names[(i+1)%len(names)])
				break
			}
		}
		m.cv.SetASCII(m.theme.ASCII || m.opts.Plain)
		return m.say("theme " + safe.Line(m.theme.Name)), true
	}
	return nil, false
}

// ctrlCKey cancels what the front screen waits for; else it asks to quit; twice within two seconds it
// stops and quits without asking.
func (m *model) ctrlCKey() tea.Cmd {
	now := m.clock()
	twice := now.Sub(m.ctrlC) < 2*time.Second
	m.ctrlC = now
	if twice {
		if m.quits {
			for _, o := range m.over {
				if l, ok := o.(*leaving); ok {
					l.stop()
				}
			}
			return nil
		}
		return m.closeAndQuit()
	}
	if m.quits {
		return nil
	}
	if len(m.over) == 0 && m.cancel(m.front()) {
		return m.say("cancelled")
	}
	m.over = nil
	return m.quit()
}

// quitSmall quits where there is no room for a question: with queries running it takes ctrl+c twice.
func (m *model) quitSmall() tea.Cmd {
	if m.active() {
		return nil
	}
	return m.closeAndQuit()
}

func (m *model) tooSmall() bool { return m.w < minWidth || m.h < minHeight }
