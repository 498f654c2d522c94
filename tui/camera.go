package tui

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/tui/canvas"
)

// A Camera shows the workbench without a terminal and without time: keys are typed by the program, what
// they ask for is done at once, timers never ring. Same options, same keys, same picture. It is what
// golden frames and the pictures of the manual are made with. Not safe for concurrent use.
type Camera struct{ m *model }

// NewCamera opens the workbench at a size, at a moment that never passes.
func NewCamera(opts Options, w, h int, now time.Time) *Camera {
	opts.clock = func() time.Time { return now }
	opts.zone = time.UTC
	opts.timer = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }
	if opts.theme == "" {
		opts.theme = opts.Look.Theme
	}
	c := &Camera{newModel(context.Background(), opts)}
	c.run(c.m.Init())
	c.send(tea.WindowSizeMsg{Width: w, Height: h})
	return c
}

func (c *Camera) send(msg tea.Msg) {
	_, cmd := c.m.Update(msg)
	c.run(cmd)
	_ = c.m.View()
}

// run does a command and what comes of it.
func (c *Camera) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, tea.QuitMsg, tea.SuspendMsg:
	case tea.BatchMsg:
		for _, x := range msg {
			c.run(x)
		}
	default:
		c.send(msg)
	}
}

// Keys presses keys by the names of the key table, separated by blanks: "b enter ] down".
func (c *Camera) Keys(names string) {
	for _, n := range strings.Fields(names) {
		c.send(keyMsgOf(n))
	}
}

// Type types text, one key a character.
func (c *Camera) Type(text string) {
	for _, r := range text {
		c.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
}

// Resize gives the terminal another size.
func (c *Camera) Resize(w, h int) { c.send(tea.WindowSizeMsg{Width: w, Height: h}) }

// Frame is what is seen now, and the theme it is seen in. It is valid until the next call.
func (c *Camera) Frame() (*canvas.Canvas, *canvas.Theme) {
	_ = c.m.View()
	return c.m.cv, c.m.theme
}

// named are the keys that are no characters.
var named = map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "up": tea.KeyUp, "down": tea.KeyDown,
	"left": tea.KeyLeft, "right": tea.KeyRight, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab,
	"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "backspace": tea.KeyBackspace,
	"delete": tea.KeyDelete, "space": tea.KeySpace, "ctrl+_": tea.KeyCtrlUnderscore}

func init() {
	for c := 'a'; c <= 'z'; c++ {
		switch c {
		case 'h', 'i', 'm': // backspace, tab and enter
		default:
			named["ctrl+"+string(c)] = tea.KeyCtrlA + tea.KeyType(c-'a')
		}
	}
}

func keyMsgOf(n string) tea.KeyMsg {
	if t, ok := named[n]; ok {
		m := tea.KeyMsg{Type: t}
		if t == tea.KeySpace {
			m.Runes = []rune{' '}
		}
		return m
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(n)}
}
