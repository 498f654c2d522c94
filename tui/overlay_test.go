package tui

import (
	"context"
	"strings"
	"testing"

	"streamlab/internal/safe"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

func TestAMenuShowsItsNotesWhole(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.m.apply(d.m.front(), screen.Effect{Menu: &screen.Menu{Title: "There is unsaved text of lab.yaml", Items: []screen.MenuItem{
		{Label: "go on with it", Note: "typed 13:37:34, the file changed since"},
		{Label: "leave it for another time", Note: "the file as it is on disk"},
		{Label: "throw it away"}}}})
	d.has("typed 13:37:34, the file changed since ", "leave it for another time", "the file as it is on disk", "3 throw it away")
}

func TestAMenuCutsTheLongerOfLabelAndNote(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	long := "a label that is so long that it can never stand beside the note of its line, whole"
	d.m.apply(d.m.front(), screen.Effect{Menu: &screen.Menu{Title: "choose", Items: []screen.MenuItem{
		{Label: "short", Note: "and its note"}, {Label: "long", Note: "x"}, {Label: safe.Text(long, 0), Note: "noted"}}}})
	d.has("and its note", "noted", "a label that is so long")
}

func TestTheLabsSayWhereIsWrittenWhateverThePath(t *testing.T) {
	for _, size := range sizes[:3] {
		b := screentest.New()
		l := b.Lab()
		l.Folder = "/home/somebody/a/very/long/path/to/the/labs/of/somebody/who/likes/order/shop-demo/.streamlab"
		b.SetLab(l)
		d := newDriver(t, size[0], size[1], b)
		d.keys("4")
		d.has("3 queries of shop-demo running.", "Written: …", "shop-demo/.streamlab and the paths of sinks.")
	}
}

func TestALabOpensAtItsStepsWhereThatIsAsked(t *testing.T) {
	for steps, want := range map[bool]string{true: "0 of 5 steps", false: "[1 Queries]"} {
		d := &driver{t, NewCamera(Options{Gallery: running{}, Open: "event-time", Steps: steps}, 80, 24, screentest.Now)}
		d.has(want)
	}
}

// running is a gallery whose labs have steps and start their queries when they are opened.
type running struct{ screentest.Gallery }

func (g running) Open(ctx context.Context, path string) (screen.Workbench, error) {
	w, err := g.Gallery.Open(ctx, path)
	if b, ok := w.(*screentest.Bench); ok {
		l := b.Lab()
		l.Started = true
		b.SetLab(l)
	}
	return w, err
}

// The arrow keys go through the templates; a folder that the user named stays.
func TestTheTemplatesOfANewLabAreChosenByArrows(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New()).keys("4 a")
	d.has("rate my-rate", "rows from the clock", "queries start unless", "↑↓ choose")
	d.keys("down").has("csv my-csv")
	d.keys("up up").has("delta my-delta")
	d.keys("down backspace backspace backspace backspace").text("x").keys("down").has("csv my-x")
}

// keeps puts checkpoints aside.
type keeps struct{ *screentest.Bench }

func (k keeps) Kept(query string) string { return query + ".before-7" }
func (k keeps) Do(_ context.Context, c screen.Command) error {
	return nil
}

// A rewind says how much runs again, and afterwards where the checkpoint is that it replaced.
func TestARewindSaysWhatItKept(t *testing.T) {
	d := newDriver(t, 80, 24, keeps{screentest.New()})
	d.keys("2 down down down enter [ R")
	d.has("Batch 88 will run again.")
	d.text("top_pages")
	d.keys("enter")
	d.has("the checkpoint as it was: top_pages.before-7")
}

// A name that has to be typed to go on may be as long as names are.
func TestALongNameCanBeTyped(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	name := safe.Line(strings.Repeat("a_long_name_", 8))
	done := false
	d.m.push(&confirm{q: screen.Question{Title: "Remove?", Lines: []safe.Line{"Type the query's name to go on."}, Verb: "remove", Name: name,
		Yes: func() screen.Effect { done = true; return screen.Effect{} }}})
	d.text(string(name))
	d.has("> ", "long_name_a")
	d.keys("enter")
	if !done {
		t.Error("the whole name was typed, and it is not taken")
	}
}

// The choices of an export are read whole.
func TestTheChoicesOfAnExportAreWhole(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.m.push(newForm(screen.Form{Title: "Export the rows", Verb: "export", Fields: []screen.Field{{Label: "rows",
		Choices: []string{"fetched (1,000)", "all (at most 100,000)"}}}}, d.m.front()))
	d.has("all (at most 100,000)")
}
