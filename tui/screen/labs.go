package screen

import (
	"context"
	"slices"
	"strings"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Labs is the root of tab 4 and the first screen of a start without a lab: what can be opened, what
// each teaches.
type Labs struct {
	sh      *Shared
	list    widget.List
	entries []LabEntry
	err     *errs.Error
	asked   bool
	filter  string
	opening string
	listed  bool        // the gallery was read
	steps   bool        // the next lab that opens is shown at its steps
	view    widget.List // of lines: entries and the titles of their groups
	seen    int         // steps of the opened lab that were seen when the gallery was read
}

// NewLabs makes the screen.
func NewLabs(sh *Shared) *Labs { return &Labs{sh: sh} }

// Scope implements Screen, as do the methods below.
func (s *Labs) Scope() Scope     { return InLabs }
func (s *Labs) Crumb() safe.Line { return "Labs" }

// Wake implements Screen: the gallery is read once, and again when a step of the opened lab was seen.
func (s *Labs) Wake() Effect {
	seen := 0
	for _, st := range s.sh.Lab.Steps {
		seen += btoi(st.State == StepSeen)
	}
	if s.asked && s.seen == seen || s.sh.Gallery == nil {
		return Effect{}
	}
	s.asked, s.seen = true, seen
	return Effect{Jobs: []Job{s.load()}}
}

func (s *Labs) load() Job {
	g := s.sh.Gallery
	return Job{Slot: "gallery", What: "reading labs", Run: func(ctx context.Context) func() Effect {
		es, err := g.Labs(ctx)
		return func() Effect {
			s.entries, s.err, s.listed = es, AsError(err), true
			return Effect{}
		}
	}}
}

func (s *Labs) shown() []LabEntry {
	if s.filter == "" {
		return s.entries
	}
	var out []LabEntry
	fl := strings.ToLower(s.filter)
	for _, e := range s.entries {
		if strings.Contains(strings.ToLower(e.Title+" "+e.Teaches), fl) {
			out = append(out, e)
		}
	}
	return out
}

func (s *Labs) at() *LabEntry {
	es := s.shown()
	if len(es) == 0 {
		return nil
	}
	s.list.To(s.list.Cursor, len(es))
	return &es[s.list.Cursor]
}

// Handle implements Screen.
func (s *Labs) Handle(a Action) Effect {
	if move(&s.list, a, len(s.shown())) {
		return Effect{}
	}
	switch a {
	case Filter:
		return Effect{Input: &Prompt{Title: "Find a lab", Label: "text in title or subject", Text: s.filter,
			Done: func(t string) Effect { s.filter = t; return Effect{} }}}
	case Back:
		s.filter = ""
	case OpenFolder:
		return Effect{Input: &Prompt{Title: "Open a lab", Label: "file or folder", Done: func(t string) Effect {
			if strings.TrimSpace(t) == "" {
				return Effect{}
			}
			return s.open(t, safe.Text(t, 40))
		}}}
	case OpenCrash:
		return Effect{Push: NewCrashLab(s.sh)}
	case NewLab:
		return s.newLab()
	}
	e := s.at()
	if e == nil {
		return Effect{}
	}
	switch a {
	case PlayStep:
		if s.isOpen(e) {
			return Effect{Push: NewSteps(s.sh)}
		}
		s.steps = true
		return s.open(e.Path, text(e.Title))
	case Enter:
		if e.Problem != nil {
			if s.sh.wright() == nil {
				return Effect{Error: e.Problem}
			}
			return Effect{Push: NewFile(s.sh, e.Path, "", e.Problem.Pos)}
		}
		if s.isOpen(e) {
			if len(s.sh.Lab.Steps) > 0 {
				return Effect{Push: NewSteps(s.sh)}
			}
			return Effect{Tab: 1}
		}
		return s.open(e.Path, text(e.Title))
	case ResetProgress:
		path := e.Path
		lines := []safe.Line{"Its copy is removed, with what its queries wrote and what you changed in it.", "It starts from the first step again."}
		if e.Own {
			lines[0] = "Its checkpoints, outputs and managed tables are removed. The file and its data stay."
		}
		var open Workbench
		if s.isOpen(e) {
			open = s.sh.Bench
			lines = append(lines, "It is open: its queries stop after their batches, and it is closed.")
		}
		return Effect{Ask: &Question{Title: "Forget the progress of " + text(e.Title) + "?", Lines: lines,
			Verb: "forget", Yes: func() Effect {
				g := s.sh.Gallery
				return Effect{Jobs: []Job{{Slot: "reset", What: "resetting", Run: func(ctx context.Context) func() Effect {
					var err error
					if open != nil {
						err = open.Close(ctx)
					}
					if err == nil {
						err = g.Reset(ctx, path)
					}
					return func() Effect {
						return Effect{Error: AsError(err), Close: open != nil, Jobs: []Job{s.load()}}
					}
				}}}}
			}}}
	case Copy:
		return Effect{Copy: &Clip{e.Path, "path"}}
	}
	return Effect{}
}

// newLab asks for a template and a folder, makes the lab and opens it.
func (s *Labs) newLab() Effect {
	m, ok := s.sh.Gallery.(Maker)
	if !ok {
		return Effect{Toast: "no labs can be made here"}
	}
	list := m.Templates()
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	return Effect{Input: &Prompt{Title: "New lab", Label: "from " + safe.Text(strings.Join(names, ", "), 60) +
		", or a lab of the list; a folder may follow. Enter makes it and opens it; its queries start unless the file says start: false.",
		Text: names[0] + " my-" + names[0], Next: func(t string, by int) string { return nextTemplate(names, t, by) },
		About: func(t string) safe.Line {
			for i, w := 0, strings.Fields(t); i < len(list) && len(w) > 0; i++ {
				if list[i].Name == w[0] {
					return text(list[i].About)
				}
			}
			return ""
		},
		Done: func(t string) Effect {
			words := strings.Fields(t)
			if len(words) == 0 || len(words) > 2 {
				return Effect{Toast: "a template, and a folder if you like"}
			}
			folder := words[len(words)-1]
			return Effect{Jobs: []Job{{Slot: "new", What: "making the lab", Run: func(ctx context.Context) func() Effect {
				path, err := m.New(ctx, words[0], folder)
				return func() Effect {
					if err != nil {
						return Effect{Error: AsError(err)}
					}
					return s.open(path, safe.Text(path, 40))
				}
			}}}}
		}}}
}

// nextTemplate puts the template that follows that of t, in a circle, in its place. The folder follows the template
// unless the user has named another.
func nextTemplate(names []string, t string, by int) string {
	w := strings.Fields(t)
	at := -1
	if len(w) > 0 {
		at = slices.Index(names, w[0])
	}
	if at < 0 && by < 0 {
		at = 0
	}
	name := names[(at+by+len(names))%len(names)]
	if len(w) == 2 && w[1] != "my-"+w[0] {
		return name + " " + w[1]
	}
	return name + " my-" + name
}

// isOpen reports whether e is the opened lab. A shipped lab goes by its name, since it runs in a copy.
func (s *Labs) isOpen(e *LabEntry) bool {
	l := &s.sh.Lab
	return s.sh.Bench != nil && e.Path != "" && (e.Path == l.Path || !e.Own && e.Title == l.Name)
}

// open opens a lab. If another is open and runs, it asks first: one lab at a time.
func (s *Labs) open(path string, title safe.Line) Effect {
	running := 0
	for _, q := range s.sh.Queries {
		if q.State.Active() {
			running++
		}
	}
	if running == 0 {
		return s.reallyOpen(path)
	}
	return Effect{Ask: &Question{Title: "Open " + title + "?",
		Lines: []safe.Line{widget.Plural(int64(running), "query") + " of " + text(s.sh.Lab.Name) + " will stop after the batch.",
			WhatStays(s.sh.Queries)},
		Verb: "open", Yes: func() Effect { return s.reallyOpen(path) }}}
}

// WhatStays says of queries that are about to be stopped where they go on when they are started again.
func WhatStays(queries []*QuerySnapshot) safe.Line {
	running, gone := 0, []string(nil)
	for i := range queries {
		if q := queries[i]; q.State.Active() {
			running++
			if q.Temporary {
				gone = append(gone, q.Name)
			}
		}
	}
	switch len(gone) {
	case 0:
		return "Their checkpoints stay: the next start goes on after those batches."
	case running:
		return "With temporary checkpoints, which go with the run: the next start begins anew."
	}
	verb := " begins anew: its checkpoint is temporary."
	if len(gone) > 1 {
		verb = " begin anew: their checkpoints are temporary."
	}
	return "The next start goes on after those batches; " + safe.Text(strings.Join(gone, ", "), 200) + safe.Line(verb)
}

// OpenPath opens a lab without a question, as the command line asks for it; with steps it is shown at its steps
// although its queries run.
func (s *Labs) OpenPath(path string, steps bool) Effect {
	s.steps = steps
	return s.reallyOpen(path)
}

func (s *Labs) reallyOpen(path string) Effect {
	g, old := s.sh.Gallery, s.sh.Bench
	if g == nil {
		return Effect{Toast: "this program has no gallery"}
	}
	s.opening = path
	steps := s.steps
	s.steps = false
	return Effect{Jobs: []Job{{Slot: "open", What: "opening lab", Run: func(ctx context.Context) func() Effect {
		if old != nil {
			if err := old.Close(ctx); err != nil {
				return func() Effect { s.opening = ""; return Effect{Error: AsError(err), Close: true} }
			}
		}
		w, err := g.Open(context.WithoutCancel(ctx), path) // the lab outlives the opening of it
		return func() Effect {
			s.opening = ""
			if err != nil {
				r := Effect{Error: AsError(err), Close: old != nil}
				if p := r.Error.Pos; p.File != "" && s.sh.wright() != nil { // a mistake in the file: to its place
					r.Push = NewFile(s.sh, path, "", p)
				}
				return r
			}
			e := Effect{Open: w, Tab: 1, Jobs: []Job{s.load()}}
			if l := w.Lab(); len(l.Steps) > 0 && (!l.Started || steps) { // rows that flow come first; the steps are a key away
				e.Tab, e.Push = 4, NewSteps(s.sh)
			}
			return e
		}
	}}}}
}

// Disabled implements Screen.
func (s *Labs) Disabled(a Action) safe.Line {
	switch a {
	case Enter, ResetProgress:
		if s.at() == nil {
			return "no lab is chosen"
		}
	case PlayStep:
		e := s.at()
		switch {
		case e == nil:
			return "no lab is chosen"
		case len(e.Steps) == 0, e.Problem != nil:
			return "this lab has no steps"
		}
	}
	return ""
}

// Draw implements Screen.
func (s *Labs) Draw(v canvas.View) {
	e := s.at()
	switch s.sh.Class {
	case S:
		foot := 3
		if e != nil && v.H >= 18 {
			about := len(widget.Wrap(safe.Text(e.About, 1000), v.W-2))
			foot = max(4, min(1+about, v.H-len(s.shown())-7))
			if len(groupLines(s.shown())) > len(s.shown()) { // a long course: the list needs the room
				foot = 4
			}
		}
		s.drawList(v.Sub(0, 0, v.W, v.H-foot))
		d := v.Sub(0, v.H-foot, v.W, foot)
		d.Clear()
		if e != nil {
			rule(d, 0, 0, v.W, text(e.Title), progressWord(e), false)
			if e.Problem != nil {
				DrawCard(d.Sub(0, 1, v.W, foot-1), 0, e.Problem)
				return
			}
			about := e.About
			if about == "" {
				about = e.Teaches
			}
			lines := widget.Wrap(safe.Text(about, 1000), v.W-2)
			for i, l := range lines {
				if i == foot-2 && i < len(lines)-1 {
					l = safe.Cut(l, v.W-4) + " …" // enter, or a larger window, says the rest
				}
				d.Put(1, 1+i, l, canvas.Text)
			}
		}
	default:
		w := v.W / 2
		if s.sh.Class == M {
			w = v.W * 62 / 100 // what a lab teaches is one line; the other side can wrap
		}
		s.drawList(v.Sub(0, 0, w, v.H))
		divider(v, w, 0, v.H)
		s.drawEntry(v.Sub(w+1, 0, v.W-w-1, v.H), e)
	}
}

// groupOfEntry is the title of the group that an entry stands in.
func groupOfEntry(e *LabEntry) string {
	if e.Own {
		return "your own"
	}
	return e.Lesson.Area
}

// groupLines is what the list shows line by line: the number of an entry, or -1 for the title of the group that
// begins below it. Entries of no group have no title.
func groupLines(es []LabEntry) []int {
	out := make([]int, 0, len(es)+10)
	last := ""
	for i := range es {
		if g := groupOfEntry(&es[i]); g != last {
			if last = g; g != "" {
				out = append(out, -1)
			}
		}
		out = append(out, i)
	}
	return out
}

func progressWord(e *LabEntry) safe.Line {
	switch {
	case e.Problem != nil:
		return "broken"
	case e.Done:
		return "done"
	case e.Started:
		return "started"
	}
	return "not started"
}

func (s *Labs) drawList(v canvas.View) {
	es := s.shown()
	done := 0
	for _, e := range s.entries {
		done += btoi(e.Done)
	}
	note := widget.Plural(int64(len(s.entries)), "lab")
	title := func(shown safe.Line) {
		if shown != "" {
			note = shown + " of " + note
		}
		note += f(" · %d done", done)
		switch {
		case s.opening != "":
			note = "opening …"
		case s.filter != "":
			note = "/" + safe.Text(s.filter, 16) + " · " + note
		}
		rule(v, 0, 0, v.W, "Labs", note, true)
	}
	if s.err != nil {
		title("")
		DrawCard(v.Sub(0, 1, v.W, v.H-1), 1, s.err)
		return
	}
	y := 1
	foot := 5
	if v.H < 18 {
		foot = 0
	} else {
		y = 2
	}
	h := max(1, v.H-y-foot)
	lines := groupLines(es)
	for i, l := range lines {
		if l == s.list.Cursor {
			s.view.To(i, len(lines))
			if s.list.Cursor == 0 {
				s.view.To(0, len(lines)) // the title of the first group is worth seeing
			}
		}
	}
	from, to := s.view.Window(len(lines), h)
	s.list.Window(len(es), h) // what a page is
	first, last, seen := 0, 0, 0
	for n := from; n < to; n++ {
		if lines[n] >= 0 {
			if seen++; seen == 1 {
				first = lines[n] + 1
			}
			last = lines[n] + 1
		}
	}
	switch {
	case seen < len(es):
		title(f("%d–%d", first, last))
	case len(es) < len(s.entries):
		title(f("%d", len(es)))
	default:
		title("")
	}
	titleW := 12
	for i := range es {
		titleW = max(titleW, min(28, safe.Width(text(es[i].Title))+1))
	}
	teach := v.W-titleW-15 >= 16
	if !teach {
		titleW = v.W - 16
	}
	if len(s.entries) == 0 {
		word := safe.Line("no labs found")
		if !s.listed {
			word = "reading the labs"
		}
		v.Put(2, y, word, canvas.Muted)
	}
	clickLines(v, y, to-from, nil, func(_, line int) bool {
		i := lines[from+line]
		if i < 0 {
			return false
		}
		again := s.list.Cursor == i
		s.list.Cursor = i
		return again
	})
	for n := from; n < to; n++ {
		i, yy := lines[n], y+n-from
		if i < 0 {
			v.Fit(1, yy, v.W-2, text(groupOfEntry(&es[lines[n+1]])), canvas.Title|canvas.Bold)
			continue
		}
		e := &es[i]
		open := s.isOpen(e)
		switch {
		case e.Problem != nil:
			v.Put(1, yy, "✗", canvas.Error)
		case open:
			v.Put(1, yy, "▶", canvas.OK)
		case e.Done:
			v.Put(1, yy, "✓", canvas.OK)
		}
		st := canvas.Text
		if e.Own {
			st = canvas.Title
		}
		v.Fit(3, yy, titleW, text(e.Title), st)
		min := safe.Line("free")
		if e.Minutes > 0 {
			min = f("%d min", e.Minutes)
		}
		v.Right(3+titleW+8, yy, 7, min, canvas.Muted)
		if teach {
			v.Fit(titleW+14, yy, v.W-titleW-15, text(e.Teaches), canvas.Muted)
		}
		if i == s.list.Cursor {
			v.Put(0, yy, "▸", canvas.Accent|canvas.Bold)
			v.Paint(3, yy, v.W-3, canvas.Cursor)
		}
	}
	if foot == 0 {
		return
	}
	y = min(y+max(len(lines), 1)+1, v.H-foot)
	rule(v, 0, y, v.W, "or start from your own data", "", false)
	v.Put(1, y+1, "a", canvas.Key|canvas.Bold)
	v.Fit(4, y+1, v.W-5, "new lab from a template: rate, CSV, file, Kafka, Delta", canvas.Text)
	v.Put(1, y+2, "o", canvas.Key|canvas.Bold)
	v.Fit(4, y+2, v.W-5, "open a folder or a lab file", canvas.Text)
	run := 0
	for _, q := range s.sh.Queries {
		run += btoi(q.State.Active())
	}
	l := safe.Line("No query is running.")
	if run > 0 {
		l = widget.Plural(int64(run), "query") + " of " + text(s.sh.Lab.Name) + " running."
	}
	folder := s.sh.Lab.Folder
	if folder == "" {
		v.Fit(1, y+3, v.W-2, l, canvas.Muted)
		return
	}
	// Outputs go where the paths of sinks lead, and what a user has learned is kept for all labs together.
	const written, more = "Written: ", " and the paths of sinks."
	v.Fit(1, y+3, v.W-2, l+" Progress: your config folder.", canvas.Muted)
	v.Put(1, y+4, written+tail(text(folder), v.W-2-len(written)-len(more))+more, canvas.Muted)
}

// tail is the end of a path on w cells: the end tells places apart, the beginning does not.
func tail(path safe.Line, w int) safe.Line {
	if safe.Width(path) <= w {
		return path
	}
	rest := []rune(string(path))
	for len(rest) > 0 && safe.Width(safe.Line(rest))+1 > w {
		rest = rest[1:]
	}
	return safe.Ellipsis + safe.Line(rest)
}

func (s *Labs) drawEntry(v canvas.View, e *LabEntry) {
	if e == nil {
		rule(v, 0, 0, v.W, "", "", false)
		return
	}
	rule(v, 0, 0, v.W, text(e.Title), progressWord(e), false)
	y := 2
	if e.Problem != nil {
		DrawCard(v.Sub(0, 1, v.W, v.H-1), 1, e.Problem)
		return
	}
	about := safe.Text(e.About, 2000)
	if about == "" {
		about = text(e.Teaches)
	}
	for _, l := range widget.Wrap(about, v.W-3) {
		v.Put(2, y, l, canvas.Text)
		y++
	}
	part := func(title safe.Line, items []string, numbered bool) {
		if len(items) == 0 {
			return
		}
		y++
		v.Put(2, y, title, canvas.Title|canvas.Bold)
		y++
		for i, it := range items {
			if y >= v.H {
				return
			}
			x := 4
			if numbered {
				v.Right(6, y, 3, f("%d", i+1), canvas.Muted)
				x = 8
			}
			for _, l := range widget.Wrap(text(it), v.W-x-1) {
				v.Put(x, y, l, canvas.Text)
				y++
			}
		}
	}
	if e.Lesson.Goal != "" {
		y++
		v.Put(2, y, "Goal", canvas.Title|canvas.Bold)
		y++
		for _, l := range widget.Wrap(safe.Text(e.Lesson.Goal, 400), v.W-5) {
			v.Put(4, y, l, canvas.Text)
			y++
		}
	}
	part("Steps", e.Steps, true)
	part("Uses", e.Uses, false)
	y++
	v.Fit(2, y, v.W-3, "enter opens it in a folder of yours", canvas.Muted)
}

// Steps plays a guided lab: what to do, why, and what was seen.
type Steps struct {
	sh   *Shared
	list widget.List
	auto bool // the cursor is on the first open step
	ran  int  // the step that was run last: it stays in sight until another key moves on; -1: none
	text stepText
}

// NewSteps makes the screen for the opened lab.
func NewSteps(sh *Shared) *Steps { return &Steps{sh: sh, auto: true, ran: -1} }

// Scope implements Screen, as do the methods below.
func (s *Steps) Scope() Scope     { return InSteps }
func (s *Steps) Crumb() safe.Line { return text(s.title()) }
func (s *Steps) Wake() Effect     { return Effect{} }

func (s *Steps) title() string {
	if t := s.sh.Lab.Title; t != "" && (len(t) <= 40 || s.sh.Lab.Name == "") {
		return s.sh.Lab.Title
	}
	return s.sh.Lab.Name
}

func (s *Steps) place() {
	if !s.auto {
		return
	}
	if s.ran >= 0 { // what was just seen is read first; enter goes on
		s.list.To(s.ran, len(s.sh.Lab.Steps))
		return
	}
	for i, st := range s.sh.Lab.Steps {
		if st.State != StepSeen {
			s.list.To(i, len(s.sh.Lab.Steps))
			return
		}
	}
}

// next is the step after the one that was just seen; -1 if there is none.
func (s *Steps) next() int {
	steps := s.sh.Lab.Steps
	if s.ran < 0 || s.ran >= len(steps) || steps[s.ran].State != StepSeen {
		return -1
	}
	for i := s.ran + 1; i < len(steps); i++ {
		if steps[i].State != StepSeen {
			return i
		}
	}
	return -1
}

// done says that every step was seen.
func (s *Steps) done() bool {
	for _, st := range s.sh.Lab.Steps {
		if st.State != StepSeen {
			return false
		}
	}
	return len(s.sh.Lab.Steps) > 0
}

// Handle implements Screen.
func (s *Steps) Handle(a Action) Effect {
	s.place()
	n := len(s.sh.Lab.Steps)
	switch a { // a lesson has few steps, and a step may have much to say
	case PageUp, PageDown, HalfUp, HalfDown:
		s.text.move(a)
		return Effect{}
	}
	if move(&s.list, a, n) {
		s.auto, s.ran = false, -1
		return Effect{}
	}
	switch a {
	case Back:
		return Effect{Pop: true}
	case Enter, PlayStep, OneBatch:
		if i := s.next(); i >= 0 && s.list.Cursor == s.ran { // read what comes, then run it
			s.auto, s.ran = false, -1
			s.list.To(i, n)
			return Effect{}
		}
	}
	switch a {
	case Enter, PlayStep, OneBatch:
		if n == 0 {
			return Effect{}
		}
		s.list.To(s.list.Cursor, n)
		i := s.list.Cursor
		st := s.sh.Lab.Steps[i]
		run := func(said string) Effect {
			s.auto, s.ran = true, i
			return Effect{Do: &Command{Verb: RunStep, Step: i, Arg: strings.TrimSpace(said)}}
		}
		if st.Predict == "" || st.Said != "" || st.State == StepSeen {
			return run(st.Said)
		}
		return Effect{Input: &Prompt{Title: "Before you see it", Label: safe.Text(st.Predict, 400) + " (enter alone shows it)", Done: run}}
	case NextNote:
		next := s.sh.Lab.Lesson.Next
		if next == "" {
			return Effect{Toast: "this was the last lesson of the course"}
		}
		l := NewLabs(s.sh)
		l.steps = true // who goes through the course wants its steps, also where rows flow by themselves
		return l.open(next, text(next))
	case OpenBatches, OpenOutput, OpenCheckpoint:
		return Effect{Tab: 1}
	case OpenCrash:
		return Effect{Push: NewCrashLab(s.sh)}
	case OpenModes:
		if q := s.sh.Query(s.sh.Focus); q != nil {
			return Effect{Push: NewModesLab(s.sh, q.Name)}
		}
		if len(s.sh.Queries) > 0 {
			return Effect{Push: NewModesLab(s.sh, s.sh.Queries[0].Name)}
		}
	}
	return Effect{}
}

// Disabled implements Screen.
func (s *Steps) Disabled(a Action) safe.Line {
	if (a == PlayStep || a == OneBatch) && len(s.sh.Lab.Steps) == 0 {
		return "the opened lab has no steps"
	}
	if a == NextNote && s.sh.Lab.Lesson.Next == "" {
		return "no lesson follows"
	}
	return ""
}

// Draw implements Screen.
func (s *Steps) Draw(v canvas.View) {
	s.place()
	steps := s.sh.Lab.Steps
	n := len(steps)
	seen := 0
	for _, st := range steps {
		seen += btoi(st.State == StepSeen)
	}
	rule(v, 0, 0, v.W, "Labs › "+s.Crumb(), f("%d of %d steps", seen, n), true)
	if n == 0 {
		empty(v.Sub(0, 1, v.W, v.H), "The opened lab has no steps. 1 shows its queries.")
		return
	}
	top := 1
	if g := s.sh.Lab.Lesson.Goal; g != "" {
		for _, l := range widget.Wrap("Goal: "+safe.Text(g, 300), v.W-2) {
			v.Put(1, top, l, canvas.Text)
			top++
		}
	}
	list := v.Sub(0, top+btoi(v.H >= 20), v.W, min(n, max(3, v.H/3)))
	var det canvas.View
	if s.sh.Class == S {
		top += btoi(v.H >= 20) + list.H + btoi(v.H >= 20)
		det = v.Sub(0, top, v.W, v.H-top)
	} else {
		w := v.W * 2 / 5
		list = v.Sub(0, top+1, w, v.H-top-1)
		divider(v, w, top, v.H-top)
		det = v.Sub(w+1, top, v.W-w-1, v.H-top)
	}
	from, to := s.list.Window(n, list.H)
	clickLines(list, 0, to-from, nil, func(_, line int) bool {
		again := s.list.Cursor == from+line
		if !again {
			s.auto, s.ran, s.list.Cursor = false, -1, from+line
		}
		return again
	})
	for i := from; i < to; i++ {
		st := steps[i]
		y := i - from
		switch st.State {
		case StepSeen:
			m, ms := safe.Line("✓"), canvas.OK
			if st.Said != "" { // seen, and nobody judged what was said
				m, ms = "•", canvas.Muted
			}
			list.Put(1, y, m, ms)
		case StepRunning:
			list.Put(1, y, "◌", canvas.Accent)
		case StepFailed:
			list.Put(1, y, "✗", canvas.Error)
		}
		list.Right(5, y, 3, f("%d", i+1), canvas.Muted)
		list.Fit(7, y, list.W-8, text(st.Title), canvas.Text)
		if i == s.list.Cursor {
			list.Put(0, y, "▸", canvas.Accent|canvas.Bold)
			list.Paint(7, y, list.W-7, canvas.Cursor)
		}
	}
	s.drawStep(det, steps[s.list.Cursor])
}

// drawQueries is what the lab's queries do meanwhile: one line each.
func (s *Steps) drawQueries(v canvas.View) {
	rule(v, 0, 0, v.W, "queries", "1 all", false)
	for i, q := range s.sh.Queries {
		y := 1 + i
		if y >= v.H {
			return
		}
		m, st := mark(q.State)
		v.Put(1, y, m, st)
		v.Fit(3, y, 18, text(q.Name), canvas.Text)
		t := safe.Line(q.State.String())
		if p := q.Last(); p.BatchID >= 0 {
			t += f("  batch %d  ", p.BatchID) + widget.Count(p.RowsIn) + " in"
			if p.RowsOut >= 0 {
				t += "  " + widget.Count(p.RowsOut) + " out"
			}
			if p.Late() > 0 {
				t += "  " + widget.Count(p.Late()) + " late"
			}
		}
		if q.Error != nil {
			t = text(q.Error.Condition)
			st = canvas.Error
		} else {
			st = canvas.Muted
		}
		v.Fit(22, y, v.W-23, t, st)
	}
}
