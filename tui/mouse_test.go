package tui

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/tui/screen/screentest"
)

// clickOn clicks on the first place of a text of the frame.
func (d *driver) clickOn(text string) {
	d.t.Helper()
	x, y := d.find(text)
	d.send(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
}

func (d *driver) find(text string) (x, y int) {
	d.t.Helper()
	for y, l := range strings.Split(d.frame(), "\n") {
		if i := strings.Index(l, text); i >= 0 {
			return len([]rune(l[:i])), y
		}
	}
	d.t.Fatalf("%q is not on the screen:\n%s", text, d.frame())
	return 0, 0
}

// A click chooses, a second one opens; tabs, hints and the rows of overlays answer too.
func TestClicks(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.clickOn("2 Checkpoints")
	if d.m.tab != 0 {
		t.Fatal("the mouse is off, and a click showed a tab")
	}
	d.keys("%")
	d.clickOn("2 Checkpoints")
	if d.m.tab != 1 {
		t.Fatal("a click on a tab does not show it")
	}
	d.clickOn("1 Queries")
	d.clickOn("▶ orders_dedup")
	if d.m.sh.Focus != "orders_dedup" {
		t.Errorf("the focus is at %s after a click on orders_dedup", d.m.sh.Focus)
	}
	d.clickOn("▸▶ orders_dedup")
	d.has("orders_dedup › batches")
	d.keys("esc")
	d.clickOn("? help")
	d.has("Keys on this screen")
	d.clickOn("its plan and identity")
	d.clickOn("its plan and identity")
	d.has("› plan")
	d.keys("esc")
	d.clickOn(": commands")
	d.has("Commands")
	d.keys("esc")
	d.m.toast, d.m.dirty = "", true
	d.clickOn("b batches")
	d.has("› batches")
}

// The wheel moves what is below the pointer, and a pane that is clicked has the keys.
func TestTheWheelMovesThePaneBelowThePointer(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.keys("%")
	x, y := d.find("last batches")
	before := d.m.sh.Focus
	d.send(tea.MouseMsg{X: x, Y: y + 3, Button: tea.MouseButtonWheelDown, Action: tea.MouseActionPress})
	d.send(tea.MouseMsg{X: x, Y: y + 3, Button: tea.MouseButtonWheelDown, Action: tea.MouseActionPress})
	if d.m.sh.Focus != before {
		t.Errorf("the wheel over the batches moved the list of queries to %s", d.m.sh.Focus)
	}
	d.keys("enter")
	d.has("batch 1839")
}

// A click that brings the window to the front does nothing else.
func TestTheClickThatFocusesTheWindowIsOnlyThat(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.keys("%")
	now := d.m.clock()
	d.m.clock = func() time.Time { return now }
	d.send(tea.FocusMsg{})
	d.clickOn("5 Events")
	if d.m.tab != 0 {
		t.Error("the click that focused the window changed the tab")
	}
	now = now.Add(time.Second)
	d.clickOn("5 Events")
	if d.m.tab != 4 {
		t.Error("a later click does nothing")
	}
}
