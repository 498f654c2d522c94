package screen

import (
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// stepText is where the text of a step stands. Of a step that has been run the end is shown first: what came before
// was read before it was run.
type stepText struct {
	whyView
	of    int
	state StepState
	done  bool
}

// stepLine is a line of the text of a step; a rule if it has a title.
type stepLine struct {
	label, text safe.Line
	title, note safe.Line
	st          canvas.Style
}

// stepLines lays out on w cells what is to be said of a step.
func (s *Steps) stepLines(st Step, w int) (out []stepLine) {
	para := func(label safe.Line, t string, style canvas.Style) {
		if t == "" {
			return
		}
		first := true
		for _, line := range safe.Lines(t) {
			for _, l := range widget.Wrap(line, w-13) {
				x := stepLine{text: l, st: style}
				if first {
					x.label, first = label, false
				}
				out = append(out, x)
			}
		}
		out = append(out, stepLine{})
	}
	hint := func(t safe.Line, style canvas.Style) { out = append(out, stepLine{text: t, st: style}) }
	if s.sh.Class != S { // else it stands in the list right above
		para("", st.Title, canvas.Title|canvas.Bold)
	}
	para("why", st.Why, canvas.Text)
	para("do", st.Do, canvas.Text)
	para("predict", st.Predict, canvas.Accent)
	para("you said", st.Said, canvas.Text)
	found := canvas.OK
	if st.State == StepFailed {
		found = canvas.Error
	}
	para("seen", st.Found, found)
	if st.State == StepSeen {
		para("answer", st.Answer, canvas.Title|canvas.Bold)
		if st.Said != "" && st.Answer != "" {
			out = out[:len(out)-1]
			para("", "You compare it with what you said: an open question is not judged.", canvas.Muted)
		}
	}
	switch {
	case st.State == StepRunning:
	case s.ends():
		l := s.sh.Lab.Lesson
		if l.Trap != "" {
			out = append(out, stepLine{title: "what sounds right", note: "and is wrong"})
			para("", l.Trap, canvas.Warn)
			out = out[:len(out)-1]
			para("but", l.Why, canvas.Text)
		}
		if l.Next != "" {
			hint("> opens the next lesson: "+text(l.Next), canvas.Accent)
		} else {
			hint("This is the end of the course.", canvas.Muted)
		}
	case s.next() >= 0 && s.list.Cursor == s.ran:
		hint("enter goes on", canvas.Muted)
	case st.Predict != "" && st.Said == "" && st.State != StepSeen:
		hint("enter asks you first, then runs this step", canvas.Muted)
	default:
		hint("enter runs this step", canvas.Muted)
	}
	return out
}

// ends says that the lesson is through and its last word is to be read.
func (s *Steps) ends() bool {
	return s.done() && (s.ran >= 0 || s.list.Cursor == len(s.sh.Lab.Steps)-1)
}

// drawStep draws the text of the chosen step, and below it, where there is room, what the queries do.
func (s *Steps) drawStep(v canvas.View, st Step) {
	lines := s.stepLines(st, v.W)
	t := &s.text
	t.lines, t.room = len(lines), v.H-1
	last := max(0, len(lines)-t.room)
	if t.of != s.list.Cursor || t.state != st.State || t.done != s.ends() {
		t.of, t.state, t.done, t.top = s.list.Cursor, st.State, s.ends(), 0
		if st.State == StepSeen || st.State == StepFailed {
			t.top = last
		}
	}
	t.top = min(t.top, last)
	note := [...]safe.Line{"not run", "running", "seen", "something else was seen"}[min(int(st.State), 3)]
	if last > 0 {
		note += f(" · lines %d–%d of %d, pgup pgdn", t.top+1, t.top+t.room, len(lines))
	}
	rule(v, 0, 0, v.W, f("step %d", s.list.Cursor+1), note, false)
	y := 1
	for _, l := range lines[t.top:min(len(lines), t.top+t.room)] {
		if l.title != "" {
			rule(v, 0, y, v.W, l.title, l.note, false)
		} else {
			v.Put(1, y, l.label, canvas.Muted)
			v.Put(11, y, l.text, l.st)
		}
		y++
	}
	y++
	if left := v.H - y; left >= 4 {
		s.drawQueries(v.Sub(0, y, v.W, left))
	}
}
