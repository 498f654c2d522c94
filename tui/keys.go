package tui

import (
	"streamlab/internal/safe"
	"streamlab/tui/screen"
)

// Actions of the root itself.
const (
	actTab1    screen.Action = "tab-queries"
	actTab2    screen.Action = "tab-checkpoints"
	actTab3    screen.Action = "tab-sql"
	actTab4    screen.Action = "tab-labs"
	actTab5    screen.Action = "tab-events"
	actPalette screen.Action = "commands"
	actHelp    screen.Action = "help"
	actQuit    screen.Action = "quit"
	actCancel  screen.Action = "cancel"
	actMouse   screen.Action = "mouse"
	actRedraw  screen.Action = "redraw"
	actSuspend screen.Action = "suspend"
	actUTC     screen.Action = "utc"
	actTheme   screen.Action = "theme"
	actToFile  screen.Action = "copy-to-file"
	actShip    screen.Action = "ship"
)

// A Binding is one line of the key table: which keys ask for which action where, and how it is called
// in the key line, the help and the palette. Dispatcher, help, key line and palette are made from this
// table, so they cannot disagree.
type Binding struct {
	Scope  screen.Scope
	Action screen.Action
	Keys   []string     // names as Bubble Tea gives them; none: palette only
	Short  safe.Line    // in the key line; empty: not there
	Long   safe.Line    // in help and palette
	Level  int          // 0 harmless; 1 to 3 change stored data or lose work and ask
	Class  screen.Class // smallest class in which the key line shows it
	User   bool         // the keys are the user's
}

func keys(ks ...string) []string { return ks }

// table is the one key table. In a scope the order is that of the key line.
var table = bindings([]entry{
	{screen.InQueries, screen.StartStop, keys("s"), "start/stop", "start or stop", 0, screen.S},
	{screen.InQueries, screen.NewQuery, keys("a"), "new", "new query from a template", 0, screen.S},
	{screen.InQueries, screen.EditQuery, keys("e"), "edit", "edit it in the lab file", 0, screen.S},
	{screen.InQueries, screen.OpenOutput, keys("o"), "output", "its output", 0, screen.S},
	{screen.InQueries, screen.OpenBatches, keys("b"), "batches", "its batches with charts", 0, screen.S},
	{screen.InQueries, screen.OpenCheckpoint, keys("c"), "checkpoint", "its checkpoint", 0, screen.S},
	{screen.InQueries, screen.OpenModes, keys("m"), "modes", "its output modes beside each other", 0, screen.S},
	{screen.InQueries, screen.OneBatch, keys("."), "one batch", "run one batch", 0, screen.M},
	{screen.InQueries, screen.OpenPlan, keys("p"), "plan", "its plan and identity", 0, screen.M},
	{screen.InQueries, screen.OpenCharts, keys("v"), "charts", "its charts", 0, screen.M},
	{screen.InQueries, screen.Filter, keys("/"), "filter", "filter the list", 0, screen.M},
	{screen.InQueries, screen.Copy, keys("y"), "copy", "copy progress or error", 0, screen.M},
	{screen.InQueries, screen.RestartQuery, keys("r"), "restart", "restart", 0, screen.L},
	{screen.InQueries, screen.StopAtOnce, keys("K"), "", "stop at once (asks)", 2, screen.L},
	{screen.InQueries, screen.Fresh, keys("X"), "", "start fresh (asks)", 2, screen.L},
	{screen.InQueries, screen.ShowError, keys("!"), "", "show its error", 0, screen.L},
	{screen.InQueries, screen.SortLeft, keys("<"), "", "sort by column to the left", 0, screen.L},
	{screen.InQueries, screen.SortRight, keys(">"), "sort", "sort by column to the right", 0, screen.L},
	{screen.InQueries, screen.SortFlip, keys("="), "", "turn the order round", 0, screen.L},
	{screen.InQueries, screen.StartAll, nil, "", "start all queries", 0, screen.L},
	{screen.InQueries, screen.StopAll, nil, "", "stop all queries after their batches", 0, screen.L},
	{screen.InQueries, screen.ReloadLab, keys("u"), "", "read the lab file again", 0, screen.L},

	{screen.InBatches, screen.Enter, keys("enter"), "open batch", "look into the batch", 0, screen.S},
	{screen.InBatches, screen.PrevNotable, keys("{"), "{ } notable", "previous notable batch", 0, screen.S},
	{screen.InBatches, screen.NextNotable, keys("}"), "", "next notable batch", 0, screen.S},
	{screen.InBatches, screen.StartStop, keys("s"), "start/stop", "start or stop", 0, screen.S},
	{screen.InBatches, screen.OneBatch, keys("."), "one batch", "run one batch", 0, screen.S},
	{screen.InBatches, screen.OpenCheckpoint, keys("c"), "checkpoint", "checkpoint at this batch", 0, screen.S},
	{screen.InBatches, screen.OpenOutput, keys("o"), "output", "its output", 0, screen.M},
	{screen.InBatches, screen.OpenPlan, keys("p"), "plan", "its plan and identity", 0, screen.M},
	{screen.InBatches, screen.OpenCharts, keys("v"), "charts", "its charts", 0, screen.S},
	{screen.InBatches, screen.Copy, keys("y"), "copy", "copy its progress", 0, screen.M},
	{screen.InBatches, screen.StopAtOnce, keys("K"), "", "stop at once (asks)", 2, screen.L},

	{screen.InCharts, screen.PrevBatch, keys("["), "[ ] batch", "previous batch", 0, screen.S},
	{screen.InCharts, screen.NextBatch, keys("]"), "", "next batch", 0, screen.S},
	{screen.InCharts, screen.PrevNotable, keys("{"), "{ } notable", "previous notable batch", 0, screen.S},
	{screen.InCharts, screen.NextNotable, keys("}"), "", "next notable batch", 0, screen.S},
	{screen.InCharts, screen.Enter, keys("enter"), "open batch", "look into the batch", 0, screen.S},
	{screen.InCharts, screen.Zoom, keys("z"), "one chart", "show this chart alone, or all", 0, screen.S},
	{screen.InCharts, screen.Copy, keys("y"), "copy", "copy the charts in numbers", 0, screen.S},
	{screen.InCharts, screen.OpenCheckpoint, keys("c"), "checkpoint", "checkpoint at this batch", 0, screen.M},
	{screen.InCharts, screen.StartStop, keys("s"), "start/stop", "start or stop", 0, screen.M},
	{screen.InCharts, screen.OneBatch, keys("."), "one batch", "run one batch", 0, screen.M},

	{screen.InBatch, screen.PrevBatch, keys("["), "[ ] batch", "previous batch", 0, screen.S},
	{screen.InBatch, screen.NextBatch, keys("]"), "", "next batch", 0, screen.S},
	{screen.InBatch, screen.PrevNotable, keys("{"), "{ } notable", "previous notable batch", 0, screen.S},
	{screen.InBatch, screen.NextNotable, keys("}"), "", "next notable batch", 0, screen.S},
	{screen.InBatch, screen.Enter, keys("enter"), "cell", "look at the whole value", 0, screen.S},
	{screen.InBatch, screen.SortResult, keys("S"), "", "sort by this column", 0, screen.L},
	{screen.InBatch, screen.Filter, keys("/"), "find", "find a row", 0, screen.S},
	{screen.InBatch, screen.Copy, keys("y"), "copy", "copy the cell", 0, screen.S},
	{screen.InBatch, screen.OpenCheckpoint, keys("c"), "checkpoint", "checkpoint at this batch", 0, screen.S},
	{screen.InBatch, screen.OneBatch, keys("."), "one batch", "run one batch", 0, screen.M},

	{screen.InTrace, screen.PrevBatch, keys("["), "[ ] batch", "previous batch", 0, screen.S},
	{screen.InTrace, screen.NextBatch, keys("]"), "", "next batch", 0, screen.S},
	{screen.InTrace, screen.PrevNotable, keys("{"), "{ } notable", "previous notable batch", 0, screen.S},
	{screen.InTrace, screen.NextNotable, keys("}"), "", "next notable batch", 0, screen.S},
	{screen.InTrace, screen.NextPane, keys("tab"), "pane", "stages or rows", 0, screen.S},
	{screen.InTrace, screen.Enter, keys("enter"), "follow row", "follow the row through the stages, or stop", 0, screen.S},
	{screen.InTrace, screen.TraceNext, keys("t"), "trace next", "record the next batch and show it", 0, screen.S},
	{screen.InTrace, screen.Filter, keys("/"), "find", "find a row", 0, screen.M},
	{screen.InTrace, screen.Look, keys("space"), "cell", "the whole value, and why", 0, screen.M},
	{screen.InTrace, screen.Copy, keys("y"), "copy", "copy why the row is there", 0, screen.M},
	{screen.InTrace, screen.OpenReport, keys("v"), "report", "where the batch's time went", 0, screen.M},
	{screen.InTrace, screen.OpenCheckpoint, keys("c"), "checkpoint", "checkpoint at this batch", 0, screen.L},
	{screen.InTrace, screen.TraceAll, keys("a"), "all rows", "keep up to 100,000 rows of each stage", 0, screen.L},
	{screen.InTrace, screen.SortResult, keys("S"), "", "sort by this column", 0, screen.L},
	{screen.InTrace, screen.OneBatch, keys("."), "", "run one batch", 0, screen.L},

	{screen.InOutput, screen.PrevBatch, keys("["), "[ ] batch", "previous batch", 0, screen.S},
	{screen.InOutput, screen.NextBatch, keys("]"), "", "next batch", 0, screen.S},
	{screen.InOutput, screen.Freeze, keys("f"), "freeze", "hold or follow", 0, screen.S},
	{screen.InOutput, screen.Filter, keys("/"), "find", "find text", 0, screen.S},
	{screen.InOutput, screen.Truncate, keys("t"), "truncation", "cells cut or whole", 0, screen.S},
	{screen.InOutput, screen.Copy, keys("y"), "copy", "copy the batch, or the cell", 0, screen.S},
	{screen.InOutput, screen.Enter, keys("enter"), "", "the failed batch, the table in SQL, or the cell", 0, screen.L},
	{screen.InOutput, screen.OneBatch, keys("."), "one batch", "run one batch", 0, screen.S},
	{screen.InOutput, screen.StartStop, keys("s"), "start/stop", "start or stop", 0, screen.S},
	{screen.InOutput, screen.ShowError, keys("!"), "", "show its error", 0, screen.L},
	{screen.InOutput, screen.OpenCheckpoint, keys("c"), "checkpoint", "its checkpoint", 0, screen.M},

	{screen.InPlan, screen.Copy, keys("y"), "copy", "copy the plan", 0, screen.S},
	{screen.InPlan, screen.StartStop, keys("s"), "start/stop", "start or stop", 0, screen.S},
	{screen.InPlan, screen.OpenOutput, keys("o"), "output", "its output", 0, screen.S},
	{screen.InPlan, screen.OpenCheckpoint, keys("c"), "checkpoint", "its checkpoint", 0, screen.S},

	{screen.InCheckpoints, screen.Enter, keys("enter", "c"), "open", "look into the checkpoint", 0, screen.S},
	{screen.InCheckpoints, screen.OpenBatches, keys("b"), "batches", "the batches of the query", 0, screen.S},
	{screen.InCheckpoints, screen.Copy, keys("y"), "copy location", "copy the location", 0, screen.S},

	{screen.InCheckpoint, screen.PrevBatch, keys("["), "[ ] batch", "previous batch", 0, screen.S},
	{screen.InCheckpoint, screen.NextBatch, keys("]"), "", "next batch", 0, screen.S},
	{screen.InCheckpoint, screen.PrevNotable, keys("{"), "{ } notable", "previous notable batch", 0, screen.S},
	{screen.InCheckpoint, screen.NextNotable, keys("}"), "", "next notable batch", 0, screen.S},
	{screen.InCheckpoint, screen.NextPane, keys("tab"), "pane", "records, state, history", 0, screen.S},
	{screen.InCheckpoint, screen.Filter, keys("/"), "key", "find keys of the state", 0, screen.S},
	{screen.InCheckpoint, screen.Enter, keys("enter"), "history", "history of the key", 0, screen.S},
	{screen.InCheckpoint, screen.DiffBase, keys("d"), "diff", "compare other batches with this", 0, screen.S},
	{screen.InCheckpoint, screen.ForkHere, keys("F"), "fork here", "fork up to this batch", 1, screen.S},
	{screen.InCheckpoint, screen.RewindHere, keys("R"), "rewind here", "rewind to batch (asks)", 3, screen.M},
	{screen.InCheckpoint, screen.VerifyHere, keys("v"), "verify", "read all and check it", 0, screen.M},
	{screen.InCheckpoint, screen.ExportHere, keys("w"), "export", "write it in Spark's layout", 0, screen.L},
	{screen.InCheckpoint, screen.Look, keys("space"), "", "records as text, or the row", 0, screen.L},
	{screen.InCheckpoint, screen.NextState, keys("O"), "", "the next store of the state", 0, screen.L},
	{screen.InCheckpoint, screen.OpenBatches, keys("b"), "open batch", "look into the batch", 0, screen.L},
	{screen.InCheckpoint, screen.Copy, keys("y"), "", "copy the offsets, or the key", 0, screen.L},
	{screen.InCheckpoint, screen.LoseHere, nil, "", "accept the loss of batches (asks)", 3, screen.L},
	{screen.InCheckpoint, screen.DropHere, nil, "", "remove the checkpoint (asks)", 3, screen.L},

	{screen.InEditor, screen.RunSQL, keys("ctrl+r", "ctrl+j"), "run", "run (or ; and enter)", 0, screen.S},
	{screen.InEditor, screen.Back, keys("esc"), "leave editor", "leave the editor", 0, screen.S},
	{screen.InEditor, screen.HistoryPrev, keys("ctrl+p"), "ctrl+p ctrl+n history", "previous statement", 0, screen.S},
	{screen.InEditor, screen.HistoryNext, keys("ctrl+n"), "", "next statement", 0, screen.S},
	{screen.InEditor, screen.LiveSQL, keys("ctrl+t"), "live", "run again after each batch", 0, screen.M},
	{screen.InEditor, screen.SwitchDoor, keys("ctrl+x"), "door", "SQLite or Spark SQL", 0, screen.S},
	{screen.InEditor, screen.SaveSQL, keys("ctrl+s"), "save", "save the statement", 0, screen.M},
	{screen.InEditor, screen.OpenSaved, keys("ctrl+f"), "saved", "saved statements", 0, screen.M},

	{screen.InSQL, screen.EditSQL, keys("i"), "edit", "type a statement", 0, screen.S},
	{screen.InSQL, screen.RunSQL, keys("ctrl+r", "ctrl+j"), "run", "run the statement", 0, screen.S},
	{screen.InSQL, screen.LiveSQL, keys("ctrl+t"), "live", "run again after each batch", 0, screen.S},
	{screen.InSQL, screen.HistoryPrev, keys("ctrl+p"), "history", "previous statement", 0, screen.S},
	{screen.InSQL, screen.HistoryNext, keys("ctrl+n"), "", "next statement", 0, screen.L},
	{screen.InSQL, screen.Enter, keys("enter"), "cell", "look at the whole value", 0, screen.S},
	{screen.InSQL, screen.SortResult, keys("s"), "sort", "sort by this column", 0, screen.S},
	{screen.InSQL, screen.Filter, keys("/"), "find", "find a row", 0, screen.S},
	{screen.InSQL, screen.SwitchDoor, keys("d", "ctrl+x"), "door", "SQLite or Spark SQL", 0, screen.M},
	{screen.InSQL, screen.Copy, keys("y"), "copy", "copy the cell", 0, screen.M},
	{screen.InSQL, screen.Export, keys("w"), "export", "export the rows", 0, screen.M},
	{screen.InSQL, screen.OpenSaved, keys("o", "ctrl+f"), "saved", "saved statements", 0, screen.L},
	{screen.InSQL, screen.SaveSQL, keys("ctrl+s"), "", "save the statement", 0, screen.L},

	{screen.InFile, screen.SaveFile, keys("ctrl+s"), "save", "save the lab file", 0, screen.S},
	{screen.InFile, screen.RunSQL, keys("ctrl+r", "ctrl+j"), "run", "save, then start the query", 0, screen.S},
	{screen.InFile, screen.ApplyFix, keys("ctrl+f"), "fixes", "apply a fix (then its digit)", 0, screen.S},
	{screen.InFile, screen.External, keys("ctrl+o"), "$EDITOR", "edit with $VISUAL or $EDITOR", 0, screen.S},
	{screen.InFile, screen.NextProblem, keys("ctrl+n"), "next problem", "go to the next problem", 0, screen.S},
	{screen.InFile, screen.UndoEdit, keys("ctrl+_"), "undo", "take the last change back", 0, screen.M},
	{screen.InFile, screen.RedoEdit, keys("ctrl+y"), "", "do it again", 0, screen.L},
	{screen.InFile, screen.ShowVerdict, keys("ctrl+t"), "", "plan, schema and dry run", 0, screen.L},
	{screen.InFile, screen.Back, keys("esc"), "close", "close; unsaved text is kept", 0, screen.M},

	{screen.InLabs, screen.Enter, keys("enter"), "open lab", "open and start the lab", 0, screen.S},
	{screen.InLabs, screen.NewLab, keys("a"), "new lab", "make a lab from a template", 0, screen.S},
	{screen.InLabs, screen.OpenFolder, keys("o"), "open file", "open a folder or a lab file", 0, screen.S},
	{screen.InLabs, screen.PlayStep, keys("s"), "steps", "the lab at its steps", 0, screen.S},
	{screen.InLabs, screen.OpenCrash, keys("x"), "crash lab", "crash a query and restart it", 0, screen.S},
	{screen.InLabs, screen.Filter, keys("/"), "find", "find a lab", 0, screen.S},
	{screen.InLabs, screen.ResetProgress, keys("R"), "reset progress", "reset the lab (asks)", 1, screen.S},

	{screen.InSteps, screen.Enter, keys("enter", "."), "run step", "run this step", 0, screen.S},
	{screen.InSteps, screen.NextNote, keys(">"), "next lesson", "open the next lesson", 0, screen.S},
	{screen.InSteps, screen.OpenModes, keys("m"), "modes", "a query in all output modes", 0, screen.M},
	{screen.InSteps, screen.OpenCrash, keys("x"), "crash lab", "crash a query and restart it", 0, screen.M},
	{screen.InSteps, screen.OpenBatches, keys("b"), "queries", "the queries of the lab", 0, screen.S},
	{screen.InSteps, screen.Back, keys("esc"), "all labs", "back to the list of labs", 0, screen.S},

	{screen.InModes, screen.OneBatch, keys("."), "feed next", "feed the next input", 0, screen.S},
	{screen.InModes, screen.PrevBatch, keys("["), "[ ] input", "the input before", 0, screen.S},
	{screen.InModes, screen.NextBatch, keys("]"), "", "the next input that was fed", 0, screen.S},
	{screen.InModes, screen.NextNote, keys(">"), "next step", "the next step of the lab", 0, screen.S},
	{screen.InModes, screen.ChangeInput, keys("e"), "change input", "change input, delay or sink", 0, screen.S},
	{screen.InModes, screen.Predict, keys("p"), "predict", "predict what the next input does", 0, screen.S},
	{screen.InModes, screen.Zoom, keys("z"), "one column", "one column alone, or all", 0, screen.M},
	{screen.InModes, screen.Again, keys("r"), "restart", "start again with nothing fed", 0, screen.M},
	{screen.InModes, screen.Copy, keys("y"), "copy", "copy the columns", 0, screen.L},

	{screen.InCrash, screen.Left, keys("left", "h"), "← → crash point", "the crash point before", 0, screen.S},
	{screen.InCrash, screen.Right, keys("right", "l"), "", "the next crash point", 0, screen.S},
	{screen.InCrash, screen.NextSink, keys("s"), "sink", "the next sink", 0, screen.S},
	{screen.InCrash, screen.Enter, keys("enter"), "run it", "run, kill, restart, count", 0, screen.S},
	{screen.InCrash, screen.Twin, keys("i"), "idempotent", "the same sink, idempotent or not", 0, screen.S},
	{screen.InCrash, screen.Predict, keys("space", "p"), "predict", "choose what will happen", 0, screen.S},
	{screen.InCrash, screen.OpenCheckpoint, keys("c"), "checkpoint", "the checkpoint as it was at the crash", 0, screen.M},
	{screen.InCrash, screen.Copy, keys("y"), "copy", "copy what happened", 0, screen.L},

	{screen.InEvents, screen.Freeze, keys("f"), "follow", "hold or follow", 0, screen.S},
	{screen.InEvents, screen.Filter, keys("/"), "filter", "filter the list", 0, screen.S},
	{screen.InEvents, screen.LevelUp, keys("+"), "+ - level", "only more important events", 0, screen.S},
	{screen.InEvents, screen.LevelDown, keys("-"), "", "less important events", 0, screen.S},
	{screen.InEvents, screen.OnlyQuery, keys("o"), "only query", "only this query, or all", 0, screen.S},
	{screen.InEvents, screen.Enter, keys("enter"), "open", "go to what it is about", 0, screen.S},
	{screen.InEvents, screen.EditQuery, keys("e"), "edit", "edit its query in the lab file", 0, screen.M},
	{screen.InEvents, screen.OpenBatches, keys("b"), "batch", "its batch", 0, screen.M},
	{screen.InEvents, screen.OpenCheckpoint, keys("c"), "checkpoint", "checkpoint of its query", 0, screen.M},
	{screen.InEvents, screen.ShowError, keys("!"), "", "show the whole error", 0, screen.L},
	{screen.InEvents, screen.Copy, keys("y"), "copy", "copy the event", 0, screen.S},

	{screen.Everywhere, screen.Up, keys("up", "k"), "", "one row up", 0, screen.L},
	{screen.Everywhere, screen.Down, keys("down", "j"), "", "one row down", 0, screen.L},
	{screen.Everywhere, screen.Left, keys("left", "h"), "", "to the left", 0, screen.L},
	{screen.Everywhere, screen.Right, keys("right", "l"), "", "to the right", 0, screen.L},
	{screen.Everywhere, screen.PageUp, keys("pgup"), "", "one page up", 0, screen.L},
	{screen.Everywhere, screen.PageDown, keys("pgdown"), "", "one page down", 0, screen.L},
	{screen.Everywhere, screen.HalfUp, keys("ctrl+u"), "", "half a page up", 0, screen.L},
	{screen.Everywhere, screen.HalfDown, keys("ctrl+d"), "", "half a page down", 0, screen.L},
	{screen.Everywhere, screen.First, keys("g", "home"), "", "first", 0, screen.L},
	{screen.Everywhere, screen.Last, keys("G", "end"), "", "last", 0, screen.L},
	{screen.Everywhere, screen.NextPane, keys("tab"), "", "next pane", 0, screen.L},
	{screen.Everywhere, screen.PrevPane, keys("shift+tab"), "", "previous pane", 0, screen.L},
	{screen.Everywhere, screen.Enter, keys("enter"), "", "open", 0, screen.L},
	{screen.Everywhere, screen.Look, keys("space"), "", "look at the whole value", 0, screen.L},
	{screen.Everywhere, screen.PrevBatch, keys("["), "", "previous batch", 0, screen.L},
	{screen.Everywhere, screen.NextBatch, keys("]"), "", "next batch", 0, screen.L},
	{screen.Everywhere, screen.Filter, keys("/"), "", "filter or find", 0, screen.L},
	{screen.Everywhere, screen.FindNext, keys("n"), "", "find the next", 0, screen.L},
	{screen.Everywhere, screen.FindPrev, keys("N"), "", "find the previous", 0, screen.L},
	{screen.Everywhere, screen.Copy, keys("y"), "", "copy", 0, screen.L},
	{screen.Everywhere, screen.CopyAll, keys("Y"), "", "copy all rows as CSV", 0, screen.L},
	{screen.Everywhere, screen.Zoom, keys("z"), "", "zoom the pane", 0, screen.L},
	{screen.Everywhere, screen.Back, keys("esc"), "", "back; never quits", 0, screen.L},
	{screen.Everywhere, actTab1, keys("1"), "", "Queries", 0, screen.L},
	{screen.Everywhere, actTab2, keys("2"), "", "Checkpoints", 0, screen.L},
	{screen.Everywhere, actTab3, keys("3"), "", "SQL", 0, screen.L},
	{screen.Everywhere, actTab4, keys("4"), "", "Labs", 0, screen.L},
	{screen.Everywhere, actTab5, keys("5"), "", "Events", 0, screen.L},
	{screen.Everywhere, actPalette, keys(":", "ctrl+g"), "", "commands", 0, screen.L},
	{screen.Everywhere, actHelp, keys("?"), "", "help", 0, screen.L},
	{screen.Everywhere, actMouse, keys("%"), "", "mouse on or off", 0, screen.L},
	{screen.Everywhere, actRedraw, keys("ctrl+l"), "", "draw all again", 0, screen.L},
	{screen.Everywhere, actSuspend, keys("ctrl+z"), "", "suspend, queries too", 0, screen.L},
	{screen.Everywhere, actCancel, keys("ctrl+c"), "", "cancel, or quit", 0, screen.L},
	{screen.Everywhere, actQuit, keys("q"), "", "back, quit at the root", 0, screen.L},
	{screen.Everywhere, actUTC, nil, "", "times in UTC or local", 0, screen.L},
	{screen.Everywhere, actTheme, nil, "", "next colour theme", 0, screen.L},
	{screen.Everywhere, actToFile, nil, "", "paste copy to file", 0, screen.L},
	{screen.Everywhere, actShip, nil, "", "ship: the lab as a program for Spark", 0, screen.L},
})

// entry is a line of the table as it is written.
type entry struct {
	scope  screen.Scope
	action screen.Action
	keys   []string
	short  safe.Line
	long   safe.Line
	level  int
	class  screen.Class
}

func bindings(es []entry) []Binding {
	out := make([]Binding, len(es))
	for i, e := range es {
		out[i] = Binding{Scope: e.scope, Action: e.action, Keys: e.keys, Short: e.short, Long: e.long, Level: e.level, Class: e.class}
	}
	return out
}

// Keys is a copy of the key table, for the manual.
func Keys() []Binding { return append([]Binding(nil), table...) }

// keyNames writes the keys of a binding for people.
func keyNames(b *Binding) safe.Line {
	var out safe.Line
	for i, k := range b.Keys {
		if i > 0 {
			out += " "
		}
		switch k {
		case "up":
			k = "↑"
		case "down":
			k = "↓"
		case "left":
			k = "←"
		case "right":
			k = "→"
		case "pgdown":
			k = "pgdn"
		}
		out += safe.Text(k, 0)
	}
	return out
}
