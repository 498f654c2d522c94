package screen

import (
	"context"
	"strings"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// CrashLab kills a query at a point of the batch protocol and shows what the restart makes of it: predict, run,
// check. Processes are really killed; the table is read from checkpoint and sink.
type CrashLab struct {
	sh    *Shared
	sink  int
	point int
	guess int // 0 none; 1 once, 2 lost, 3 twice
	urged bool

	last  *CrashResult
	right bool
	said  bool // the last run was predicted
	busy  bool
	err   *errs.Error

	top, rest, room int // first line of the check's text that is shown, how far it can move, lines that are shown
}

// NewCrashLab makes the screen; it begins with a foreachBatch that dies after the sink wrote.
func NewCrashLab(sh *Shared) *CrashLab {
	s := &CrashLab{sh: sh}
	if b := s.bench(); b != nil {
		p := b.CrashPlan()
		for i, k := range p.Sinks {
			if k.Key == "foreachBatch" {
				s.sink = i
			}
		}
		for i, k := range p.Points {
			if k.Name == "sink.commit.after" {
				s.point = i
			}
		}
	}
	return s
}

func (s *CrashLab) bench() CrashBench {
	if b, ok := s.sh.Bench.(CrashBench); ok {
		return b
	}
	b, _ := s.sh.Gallery.(CrashBench)
	return b
}

// Scope implements Screen, as do the methods below.
func (s *CrashLab) Scope() Scope     { return InCrash }
func (s *CrashLab) Crumb() safe.Line { return "crash and restart" }
func (s *CrashLab) Wake() Effect     { return Effect{} }

// Disabled implements Screen.
func (s *CrashLab) Disabled(a Action) safe.Line {
	switch a {
	case Enter, NextSink, Predict, Twin:
		if s.bench() == nil {
			return "nothing can be crashed here"
		}
		if a == Twin && s.bench().CrashPlan().Sinks[s.sink].Twin == "" {
			return "this sink has no twin: s chooses foreachBatch"
		}
	case OpenCheckpoint:
		switch {
		case s.last == nil || s.last.Checkpoint == "":
			return "nothing has crashed yet"
		case s.sh.Bench == nil:
			return "open a lab first: the tab Checkpoints is one of a lab"
		}
	}
	return ""
}

// Handle implements Screen.
func (s *CrashLab) Handle(a Action) Effect {
	b := s.bench()
	if a == Back {
		return Effect{Pop: true}
	}
	if b == nil {
		return Effect{}
	}
	plan := b.CrashPlan()
	clear := func() { s.last, s.err, s.guess, s.urged, s.top = nil, nil, 0, false, 0 }
	switch a {
	case Left, Up, PrevPane:
		s.point = (s.point + len(plan.Points) - 1) % len(plan.Points)
		clear()
	case Right, Down, NextPane:
		s.point = (s.point + 1) % len(plan.Points)
		clear()
	case First:
		s.point = 0
		clear()
	case Last:
		s.point = len(plan.Points) - 1
		clear()
	case PageDown, HalfDown:
		s.top = min(s.rest, s.top+max(1, s.room-1))
	case PageUp, HalfUp:
		s.top = max(0, s.top-max(1, s.room-1))
	case NextSink:
		s.sink = (s.sink + 1) % len(plan.Sinks)
		clear()
	case Twin:
		for i, k := range plan.Sinks {
			if k.Key == plan.Sinks[s.sink].Twin {
				s.sink = i
				clear()
				break
			}
		}
	case Predict, Look:
		if s.last != nil {
			clear()
		}
		s.guess = s.guess%3 + 1
	case Enter, OneBatch:
		return s.try(b, plan)
	case OpenCheckpoint:
		return Effect{Tab: 2, Push: NewCheckpoint(s.sh, s.last.Checkpoint, s.last.Batch)}
	case Copy:
		if s.last != nil {
			return Effect{Copy: &Clip{s.asText(plan), "what happened"}}
		}
	}
	return Effect{}
}

var guessWords = [...]string{"", "once", "lost", "twice"}

func (s *CrashLab) try(b CrashBench, plan CrashPlan) Effect {
	if s.busy {
		return Effect{Toast: "a query is being crashed"}
	}
	if s.guess == 0 && !s.urged {
		s.urged = true
		return Effect{Toast: "what do you expect? space chooses; enter once more runs it all the same"}
	}
	sink, point, guess := plan.Sinks[s.sink].Key, plan.Points[s.point].Name, s.guess
	s.busy, s.err, s.last = true, nil, nil
	return Effect{Jobs: []Job{{Slot: "crash", What: "running, killing, restarting", Run: func(ctx context.Context) func() Effect {
		r, err := b.Crash(ctx, sink, point)
		return func() Effect {
			s.busy = false
			if s.err = AsError(err); err != nil {
				return Effect{}
			}
			s.last, s.said = r, guess > 0
			s.right = guessWords[guess] == r.Verdict()
			p, ok := s.sh.Bench.(Predictor)
			if !ok {
				p, ok = s.sh.Gallery.(Predictor)
			}
			if !ok || guess == 0 || r.NotPassed {
				return Effect{}
			}
			pr := Prediction{Lab: "crash", Place: sink + " at " + point, Said: guessWords[guess], Was: r.Verdict(), Right: s.right}
			return Effect{Jobs: []Job{{Slot: "prediction", Run: func(context.Context) func() Effect {
				err := p.Predicted(pr)
				return func() Effect { return Effect{Error: AsError(err)} }
			}}}}
		}
	}}}}
}

var stageWords = [...]safe.Line{"1 ask sources", "2 write offsets", "3 run", "4 sink", "5 commit"}

// Draw implements Screen.
func (s *CrashLab) Draw(v canvas.View) {
	b := s.bench()
	if b == nil {
		rule(v, 0, 0, v.W, "Labs › "+s.Crumb(), "", true)
		empty(v.Sub(0, 1, v.W, v.H), "This workbench cannot crash a query of its own.")
		return
	}
	plan := b.CrashPlan()
	sink, point := plan.Sinks[s.sink], plan.Points[s.point]
	rule(v, 0, 0, v.W, "Labs › "+s.Crumb(), "sink "+text(sink.Title), true)
	tight := v.H < 20
	y := 2 - btoi(tight)
	y = s.drawProtocol(v, y, plan, point)
	y += 1 - btoi(tight)
	rule(v, 0, y, v.W, "your prediction", s.score(), false)
	y++
	x := 1
	for i, w := range [...]safe.Line{"exactly once", "a batch is lost", "some rows are there twice"} {
		m := safe.Line("( ) ")
		st := canvas.Text
		if s.guess == i+1 {
			m, st = "(•) ", canvas.Accent|canvas.Bold
		}
		x = v.Put(x, y, m+w, st) + 3
	}
	y += 2 - btoi(tight)
	note := safe.Line("")
	switch {
	case s.busy:
		note = "at work …"
	case s.last != nil && !s.last.NotPassed:
		note = f("run %d of 3", 3)
	}
	rule(v, 0, y, v.W, "what happened", note, false)
	y++
	switch {
	case s.err != nil:
		DrawCard(v.Sub(0, y, v.W, v.H-y), 0, s.err)
		return
	case s.busy:
		v.Put(1, y, "One run goes well, one is killed, one restarts.", canvas.Muted)
		y++
	case s.last == nil:
		v.Put(1, y, "Nothing yet. space predicts, enter runs it.", canvas.Muted)
		y++
	case s.last.NotPassed:
		v.Fit(1, y, v.W-2, "This sink does not pass "+text(point.Name)+": the query ran through. ← → chooses another point.", canvas.Text)
		y++
	default:
		if !s.folded(v) {
			y = s.drawRuns(v, y)
		}
		if y+3 < v.H {
			y++
		}
		y = s.drawCheck(v, y, sink)
	}
	left := v.H - y - 1
	if left < 5 {
		return
	}
	low := v.Sub(0, y+1, v.W, left)
	if s.sh.Class == L && s.last != nil && !s.last.NotPassed {
		w := v.W / 2
		s.drawDoubled(low.Sub(w+1, 0, v.W-w-1, low.H))
		divider(low, w, 0, low.H)
		low = low.Sub(0, 0, w, low.H)
	}
	if s.last != nil && len(s.last.Records) > 0 && low.H >= len(s.last.Records)+4 {
		h := len(s.last.Records) + 1
		rule(low, 0, 0, low.W, "checkpoint on disk at the moment of the crash", "", false)
		for i, l := range s.last.Records {
			low.Fit(1, 1+i, low.W-2, text(l), canvas.Text)
		}
		low = low.Sub(0, h, low.W, low.H-h)
	}
	s.drawTried(low, plan)
}

func (s *CrashLab) score() safe.Line {
	p, ok := s.sh.Bench.(Predictor)
	if !ok {
		if p, ok = s.sh.Gallery.(Predictor); !ok {
			return ""
		}
	}
	right, total := p.Score()
	if total == 0 {
		return ""
	}
	return f("%d of %d right so far, in all labs", right, total)
}

// drawProtocol is the life of a batch with a mark at the crash point.
func (s *CrashLab) drawProtocol(v canvas.View, y int, plan CrashPlan, point CrashPoint) int {
	arrow := safe.Line(" ──▶ ")
	if v.W < 78 {
		arrow = " > "
	}
	x, at := 3, 3
	if v.W < 78 {
		x = 1
	}
	for i, w := range stageWords {
		st := canvas.Text
		if i+1 == point.Stage {
			st = canvas.Accent | canvas.Bold
			in, k := 0, 0
			for _, p := range plan.Points {
				if p.Stage == point.Stage {
					if p.Name == point.Name {
						k = in
					}
					in++
				}
			}
			at = x
			if in > 1 {
				at += (safe.Width(w) - 1) * k / (in - 1)
			}
		}
		x = v.Put(x, y, w, st)
		if i < len(stageWords)-1 {
			x = v.Put(x, y, arrow, canvas.Muted)
		}
	}
	v.Put(at, y+1, "▲", canvas.Error|canvas.Bold)
	t := "crash here: " + text(point.Where)
	name := text(point.Name)
	w := safe.Width(t) + 3 + safe.Width(name)
	lx := max(1, min(at-w/2, v.W-w-1))
	lx = v.Put(lx, y+2, t, canvas.Text)
	v.Put(lx+3, y+2, name, canvas.Muted)
	return y + 3
}

var crashCols = []widget.Col{
	{Title: "run", Width: 4},
	{Title: "batch", Width: 6},
	{Title: "offsets", Width: 11},
	{Title: "in log", Width: 8},
	{Title: "sink rows", Width: 10},
	{Title: "state and commit", Width: 16, Grow: true},
}

func (s *CrashLab) drawRuns(v canvas.View, y int) int {
	ws := widget.Layout(crashCols, v.W-2, 1)
	widget.Header(v, 1, y, 1, crashCols, ws, canvas.Muted)
	y++
	for i := range s.last.Rows {
		r := &s.last.Rows[i]
		widget.Row(v, 1, y, 1, crashCols, ws, func(c int) (safe.Line, canvas.Style) {
			switch c {
			case 0:
				return f("%d", r.Run), canvas.Text
			case 1:
				return f("%d", r.Batch), canvas.Text
			case 2:
				if r.From < 0 {
					return "-", canvas.Muted
				}
				return widget.Count(r.From) + " → " + widget.Count(r.To), canvas.Text
			case 3:
				if r.Log == "reused" {
					return "reused", canvas.Accent
				}
				return text(r.Log), canvas.Text
			case 4:
				return widget.Count(r.SinkRows), canvas.Text
			}
			if r.Commit == "yes" {
				return "yes", canvas.Text
			}
			return text(r.Commit), canvas.Error
		})
		y++
	}
	return y
}

func (s *CrashLab) drawCheck(v canvas.View, y int, sink CrashSink) int {
	r := s.last
	note := safe.Line("")
	if s.said {
		note = "it was otherwise"
		if s.right {
			note = "you were right"
		}
	}
	kept := safe.Line("kept")
	if !r.Kept {
		kept = "BROKEN"
	}
	lines := widget.Wrap("Promise of the sink: "+text(r.Promise)+", "+kept+". "+safe.Text(r.Why, 600), v.W-3)
	s.room = max(0, v.H-y-2)
	from, over := s.top, max(0, len(lines)-s.room)
	if s.rest = over; s.folded(v) { // the table is away, which was the first step
		from, s.rest = from-1, over+1
	} else if v.H < 20 && over > 0 {
		s.rest = over + 1
	}
	s.top = min(s.top, s.rest)
	from = min(from, over)
	if s.rest > 0 {
		if note != "" {
			note += " · "
		}
		if last := min(from+s.room, len(lines)); last > 0 {
			note += f("lines %d–%d of %d, pgup pgdn", max(from, 0)+1, last, len(lines))
		} else {
			note += f("%d lines, pgup pgdn", len(lines))
		}
	}
	rule(v, 0, y, v.W, "check", note, false)
	y++
	st := canvas.OK
	if r.Duplicates > 0 || r.Lost > 0 {
		st = canvas.Warn
	}
	v.Put(1, y, "source rows "+widget.Count(r.SourceRows)+"   sink rows "+widget.Count(r.SinkRows)+"   duplicates "+
		widget.Count(r.Duplicates)+"   lost "+widget.Count(r.Lost), st)
	y++
	for _, l := range lines[from:min(len(lines), from+s.room)] {
		v.Put(1, y, l, canvas.Text)
		y++
	}
	_ = sink
	return y
}

// folded says that the table of the runs makes room for the text below it, as it must on the smallest screens.
func (s *CrashLab) folded(v canvas.View) bool { return v.H < 20 && s.top > 0 }

// drawDoubled lists rows that the sink holds more than once.
func (s *CrashLab) drawDoubled(v canvas.View) {
	r := s.last
	rule(v, 0, 0, v.W, "rows that are in the sink more than once", widget.Count(r.Duplicates), false)
	if len(r.Doubled) == 0 {
		v.Put(1, 1, "(none)", canvas.Muted)
		return
	}
	x, y := 1, 1
	for i, d := range r.Doubled {
		t := "= " + f("%d", d)
		if y >= v.H-1 {
			x, y = x+10, 1
		}
		if x+10 > v.W {
			v.Put(1, v.H-1, f("… %d more", r.Duplicates-int64(i)), canvas.Muted)
			return
		}
		v.Put(x, y, t, canvas.Warn)
		y++
	}
	if left := r.Duplicates - int64(len(r.Doubled)); left > 0 {
		v.Put(1, v.H-1, f("… %d more", left), canvas.Muted)
	}
}

// drawTried is the summary of all points and sinks, filled as they are tried.
func (s *CrashLab) drawTried(v canvas.View, plan CrashPlan) {
	if v.H < 4 {
		return
	}
	rule(v, 0, 0, v.W, "all crash points and sinks, as tried", f("%d of %d", len(distinct(plan.Tried)), len(plan.Points)*len(plan.Sinks)), false)
	tried := distinct(plan.Tried)
	x := 24
	w := max(9, (v.W-x-1)/len(plan.Sinks))
	v.Put(1, 1, "crash at", canvas.Muted)
	for i, k := range plan.Sinks {
		st := canvas.Muted
		if i == s.sink {
			st = canvas.Accent
		}
		v.Fit(x+i*w, 1, w-1, text(k.Key), st)
	}
	room := v.H - 2
	from := max(0, min(s.point-room/2, len(plan.Points)-room))
	for i := from; i < len(plan.Points) && i-from < room; i++ {
		y := 2 + i - from
		p := plan.Points[i]
		st := canvas.Text
		if i == s.point {
			v.Put(0, y, "▸", canvas.Accent|canvas.Bold)
			st = canvas.Accent
		}
		v.Fit(1, y, x-2, f("%d ", p.Stage)+text(p.Name), st)
		for j, k := range plan.Sinks {
			r, ok := tried[k.Key+"\x00"+p.Name]
			word, st := safe.Line("·"), canvas.Muted
			switch {
			case ok && r.NotPassed:
				word = "none"
			case ok:
				word, st = safe.Line(r.Verdict()), canvas.OK
				if r.Verdict() == "twice" {
					st = canvas.Warn
					if r.Duplicates < 100 {
						word = "part twice"
					}
				}
				if !r.Kept {
					word, st = "BROKEN", canvas.Error
				}
			}
			v.Fit(x+j*w, y, w-1, word, st)
		}
	}
}

// distinct is the newest result of each sink and point.
func distinct(rs []CrashResult) map[string]*CrashResult {
	m := map[string]*CrashResult{}
	for i := range rs {
		m[rs[i].Sink+"\x00"+rs[i].Point] = &rs[i]
	}
	return m
}

func (s *CrashLab) asText(plan CrashPlan) string {
	r := s.last
	var b strings.Builder
	b.WriteString(string(f("sink %s, crash at %s\n", r.Sink, r.Point)))
	for _, x := range r.Rows {
		b.WriteString(string(f("run %d batch %d offsets %d to %d in log %s sink rows %d commit %s\n", x.Run, x.Batch, x.From, x.To, x.Log, x.SinkRows, x.Commit)))
	}
	b.WriteString(string(f("source rows %d sink rows %d duplicates %d lost %d\n", r.SourceRows, r.SinkRows, r.Duplicates, r.Lost)))
	b.WriteString(r.Why + "\n")
	return b.String()
}
