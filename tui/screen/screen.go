package screen

import (
	"context"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// A Scope names a place whose keys mean something of their own. The key table of package tui has a
// section for each.
type Scope string

// The scopes.
const (
	Everywhere    Scope = "everywhere"
	InQueries     Scope = "queries"
	InBatches     Scope = "batches"
	InBatch       Scope = "batch"
	InTrace       Scope = "batch inspector"
	InOutput      Scope = "output"
	InPlan        Scope = "plan"
	InCharts      Scope = "charts"
	InModes       Scope = "output modes"
	InCrash       Scope = "crash and restart"
	InCheckpoints Scope = "checkpoints"
	InCheckpoint  Scope = "checkpoint"
	InSQL         Scope = "sql"
	InEditor      Scope = "sql editor"
	InFile        Scope = "file editor"
	InLabs        Scope = "labs"
	InSteps       Scope = "steps"
	InEvents      Scope = "events"
)

// An Action is what a key or a command of the palette asks for. The ids are also the names under which
// users bind keys.
type Action string

// The actions screens know. Those of the root (tabs, palette, help, quit) are in package tui.
const (
	Up       Action = "up"
	Down     Action = "down"
	Left     Action = "left"
	Right    Action = "right"
	PageUp   Action = "page-up"
	PageDown Action = "page-down"
	HalfUp   Action = "half-up"
	HalfDown Action = "half-down"
	First    Action = "first"
	Last     Action = "last"
	NextPane Action = "next-pane"
	PrevPane Action = "previous-pane"
	Enter    Action = "open"
	Back     Action = "back"

	PrevBatch   Action = "previous-batch"
	NextBatch   Action = "next-batch"
	PrevNotable Action = "previous-notable-batch"
	NextNotable Action = "next-notable-batch"

	Filter   Action = "filter"
	FindNext Action = "find-next"
	FindPrev Action = "find-previous"
	Copy     Action = "copy"
	CopyAll  Action = "copy-rows"
	Freeze   Action = "freeze"
	Zoom     Action = "zoom"
	Look     Action = "look"

	StartStop      Action = "start-stop"
	OneBatch       Action = "one-batch"
	StopAtOnce     Action = "stop-now"
	RestartQuery   Action = "restart"
	Fresh          Action = "start-fresh"
	StartAll       Action = "start-all"
	StopAll        Action = "stop-all"
	ReloadLab      Action = "reload"
	OpenOutput     Action = "output"
	OpenBatches    Action = "batches"
	OpenPlan       Action = "plan"
	OpenCharts     Action = "charts"
	OpenModes      Action = "modes"
	OpenCheckpoint Action = "checkpoint"
	OpenBatch      Action = "batch"
	OpenReport     Action = "report"
	TraceNext      Action = "trace-next"
	Truncate       Action = "truncate"
	TraceAll       Action = "trace-all"
	ShowError      Action = "error"
	SortLeft       Action = "sort-left"
	SortRight      Action = "sort-right"
	SortFlip       Action = "sort-direction"

	ForkHere   Action = "fork"
	RewindHere Action = "rewind"
	NextState  Action = "next-operator"
	DiffBase   Action = "diff"
	VerifyHere Action = "verify"
	ExportHere Action = "export-checkpoint"
	LoseHere   Action = "accept-loss"
	DropHere   Action = "remove-checkpoint"

	EditSQL     Action = "edit"
	RunSQL      Action = "run"
	LiveSQL     Action = "live"
	HistoryPrev Action = "history-previous"
	HistoryNext Action = "history-next"
	SortResult  Action = "sort"
	SwitchDoor  Action = "door"
	SaveSQL     Action = "save-statement"
	OpenSaved   Action = "saved-statements"
	Export      Action = "export"

	EditQuery   Action = "edit-query"
	NewQuery    Action = "new-query"
	SaveFile    Action = "save"
	ApplyFix    Action = "fixes"
	NextProblem Action = "next-problem"
	External    Action = "external-editor"
	UndoEdit    Action = "undo"
	RedoEdit    Action = "redo"
	ShowVerdict Action = "verdict"

	OpenFolder    Action = "open-folder"
	ResetProgress Action = "reset"
	PlayStep      Action = "run-step"
	NextNote      Action = "next-step"
	ChangeInput   Action = "change-input"
	Predict       Action = "predict"
	Again         Action = "again"
	OpenCrash     Action = "crash"
	NewLab        Action = "new-lab"
	NextSink      Action = "next-sink"
	Twin          Action = "idempotent"

	LevelUp   Action = "level-up"
	LevelDown Action = "level-down"
	OnlyQuery Action = "only-query"
)

// A Screen is one place of the workbench. All methods are called from one goroutine. None may block:
// what takes time is a Job of an Effect.
type Screen interface {
	Scope() Scope
	// Crumb is the screen's part of the path in its title.
	Crumb() safe.Line
	// Wake is called when the screen comes to the front and when what it shows may have changed.
	Wake() Effect
	// Handle does an action. Actions a screen does not know do nothing.
	Handle(a Action) Effect
	// Disabled says in a few words why an action cannot apply now; "" if it can.
	Disabled(a Action) safe.Line
	// Draw draws the screen without line 1 and the key line.
	Draw(v canvas.View)
}

// A Typer is a screen with a text field. While Typing is true all keys go to Type; those it does not
// take (false) become actions.
type Typer interface {
	Typing() bool
	Type(k widget.Key) (Effect, bool)
}

// An Effect is what should happen outside the screen. The zero Effect is nothing.
type Effect struct {
	Jobs  []Job
	Do    *Command
	Push  Screen
	Pop   bool
	Tab   int // 1 to 5: show that tab at its root, or with Push on top of it
	Toast safe.Line
	Error *errs.Error // shown as a card
	Ask   *Question
	Input *Prompt
	View  *Viewer
	Form  *Form
	Menu  *Menu
	Edit  *Outside // another program edits a file
	Copy  *Clip
	// Statement is put into the editor of the tab SQL, which is shown, and run.
	Statement string

	Open  Workbench // the lab that is now the opened one
	Close bool      // with Open or alone: the opened lab has been closed
}

// A Job is work that may block. Only the newest job of a screen and slot counts: starting another
// cancels it, and so does leaving the screen.
type Job struct {
	Slot string
	What safe.Line // "reading checkpoint": shown when it takes long
	// Run does the work on its own goroutine and returns what to do with the answer, which runs where
	// Handle does.
	Run func(ctx context.Context) func() Effect
	// Parts is Run for work that has something to show before its end: what part is given is done like the answer,
	// unless a newer part or the answer overtakes it. With Parts, Run is not called.
	Parts func(ctx context.Context, part func(func() Effect)) func() Effect
}

// A Question is asked before something that cannot be taken back. The default is No.
type Question struct {
	Title safe.Line
	Lines []safe.Line // what will happen, to what
	Verb  safe.Line   // the answer that does it: "stop now"
	Name  safe.Line   // level 3: this must be typed instead of y; empty otherwise
	Yes   func() Effect
}

// A Prompt asks for one line.
type Prompt struct {
	Title, Label safe.Line
	Text         string
	Done         func(text string) Effect

	// Next gives the proposal that follows a text, by 1 or -1, on the arrow keys; nil: there are no proposals.
	Next func(text string, by int) string
	// About says what a text means; nil: nothing is said. Only asked where Next is set.
	About func(text string) safe.Line
}

// A Viewer shows text in an overlay.
type Viewer struct {
	Title safe.Line
	Text  string
}

// A Clip is text for the clipboard and what it is: "cell", "progress of batch 7".
type Clip struct {
	Text string
	What safe.Line
}

// Class is how much room there is.
type Class uint8

// The classes: from 60x16, from 100x30, from 160x45.
const (
	S Class = iota
	M
	L
)

// ClassOf chooses the class of a terminal size.
func ClassOf(w, h int) Class {
	switch {
	case w >= 160 && h >= 45:
		return L
	case w >= 100 && h >= 30:
		return M
	}
	return S
}

// Shared is what the root keeps for all screens: the opened lab and the newest look at it.
type Shared struct {
	Bench    Workbench // nil: no lab is open
	Gallery  Gallery   // nil: there is none
	Lab      LabInfo
	Queries  []*QuerySnapshot
	Events   EventLog
	Now      time.Time
	Zone     *time.Location
	Class    Class
	ReadOnly bool
	Plain    bool          // words instead of pictures: for screen readers
	Settle   time.Duration // how long typed text rests before it is checked; 0: not at all
	Busy     string        // what is waited for longer than 200 ms; empty if nothing
	Focus    string        // the query the user is at, across tabs
}

// Query finds a snapshot by name; nil if there is none.
func (s *Shared) Query(name string) *QuerySnapshot {
	for _, q := range s.Queries {
		if q.Name == name {
			return q
		}
	}
	return nil
}

// Clock writes a time of day.
func (s *Shared) Clock(t time.Time) safe.Line {
	if t.IsZero() {
		return "-"
	}
	return safe.Line(t.In(s.zone()).Format("15:04:05"))
}

// EventTime writes a time of the data: in UTC, as the cells of rows have it, so that a watermark can be compared with
// them by eye.
func (s *Shared) EventTime(t time.Time) safe.Line {
	if t.IsZero() {
		return "-"
	}
	return safe.Line(t.UTC().Format("15:04:05"))
}

// EventClock is EventTime for a line of its own: it says that it is UTC where the other times are not.
func (s *Shared) EventClock(t time.Time) safe.Line {
	out := s.EventTime(t)
	if t.IsZero() {
		return out
	}
	if _, off := t.In(s.zone()).Zone(); off != 0 {
		out += " UTC"
	}
	return out
}

// today is the date of now, as event times have it.
func (s *Shared) today() string { return s.Now.UTC().Format(time.DateOnly) }

// withoutToday leaves the date of today out of the times in a sentence.
func (s *Shared) withoutToday(sentence string) string {
	return strings.ReplaceAll(sentence, s.today()+" ", "")
}

// Millis writes a time of day with milliseconds.
func (s *Shared) Millis(t time.Time) safe.Line {
	if t.IsZero() {
		return "-"
	}
	return safe.Line(t.In(s.zone()).Format("15:04:05.000"))
}

func (s *Shared) zone() *time.Location {
	if s.Zone == nil {
		return time.Local
	}
	return s.Zone
}

// EventLog keeps the last events, those of the workbench itself among them. It numbers them anew.
type EventLog struct {
	events []Event
	last   int64 // newest number of the log
	Seen   int64 // newest number of the opened lab's events
}

// MaxEvents is how many events are kept.
const MaxEvents = 5000

// Add appends events, oldest first, and forgets what is too much.
func (l *EventLog) Add(evs []Event, seen int64) {
	l.append(evs)
	l.Seen = seen
}

// Note appends an event of the workbench itself.
func (l *EventLog) Note(e Event) { l.append([]Event{e}) }

func (l *EventLog) append(evs []Event) {
	for _, e := range evs {
		l.last++
		e.Seq = l.last
		l.events = append(l.events, e)
	}
	if n := len(l.events) - MaxEvents; n > 0 {
		l.events = append(l.events[:0:0], l.events[n:]...)
	}
}

// Len is the number of kept events; At gives one, oldest first.
func (l *EventLog) Len() int        { return len(l.events) }
func (l *EventLog) At(i int) *Event { return &l.events[i] }

// rule draws the line above a pane with its title and a note at the right end. A focused pane has a
// heavy line, so that focus shows without colour.
func rule(v canvas.View, x, y, w int, title, note safe.Line, focused bool) {
	line, st, tst := safe.Line("─"), canvas.Muted, canvas.Title
	if focused {
		line, st, tst = "━", canvas.Accent, canvas.Title|canvas.Bold
	}
	v.HLine(x, y, w, line, st)
	room := w - 4
	note = shorter(note, room-safe.Width(title)-3)
	nw := safe.Width(note)
	if nw > 0 && room-nw-3 < 8 && safe.Width(title) > room-nw-3 {
		nw, note = 0, "" // the title matters more
	}
	if title != "" {
		t := safe.Cut(title, max(0, room-btoi(nw > 0)*(nw+3)))
		v.Put(x+1, y, " "+t+" ", tst)
	}
	if nw > 0 {
		n := safe.Cut(note, room)
		v.Right(x+w-1, y, w, " "+n+" ", canvas.Muted)
	}
}

// shorter leaves parts between dots out from the end of a note, as long as it is wider than w: its first part is what
// matters most.
func shorter(note safe.Line, w int) safe.Line {
	for safe.Width(note) > w {
		i := strings.LastIndex(string(note), " · ")
		if i < 0 {
			return note
		}
		note = note[:i]
	}
	return note
}

// divider draws the line between two panes.
func divider(v canvas.View, x, y, h int) { v.VLine(x, y, h, "│", canvas.Muted) }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// move changes a list for the actions that move; false if a is none of them.
func move(l *widget.List, a Action, total int) bool {
	switch a {
	case Up:
		l.Move(-1, total)
	case Down:
		l.Move(1, total)
	case PageUp:
		l.Move(-l.Page(), total)
	case PageDown:
		l.Move(l.Page(), total)
	case HalfUp:
		l.Move(-max(1, l.Page()/2), total)
	case HalfDown:
		l.Move(max(1, l.Page()/2), total)
	case First:
		l.To(0, total)
	case Last:
		l.To(total-1, total)
	default:
		return false
	}
	return true
}

// empty draws the sentence of a pane that holds nothing.
func empty(v canvas.View, lines ...safe.Line) {
	y := 1
	for _, l := range lines {
		for _, w := range widget.Wrap(l, v.W-4) {
			v.Put(2, y, w, canvas.Muted)
			y++
		}
		y++
	}
}

var f = widget.Linef

func text(s string) safe.Line { return safe.Text(s, 400) }

// mark is the symbol of a state and its style.
func mark(s State) (safe.Line, canvas.Style) {
	switch s {
	case Running:
		return "▶", canvas.OK
	case Starting, Stopping:
		return "◌", canvas.Accent
	case Retrying:
		return "↻", canvas.Warn
	case Paused:
		return "‖", canvas.Warn
	case Failed:
		return "✗", canvas.Error
	}
	return "■", canvas.Muted
}
