package screen

import (
	"strings"
	"testing"

	"streamlab/tui/canvas"
)

// On the smallest screens the answer of a step, and the last word of a lesson, are what is in sight when it was run,
// and all of its text can be reached.
func TestTheAnswerOfAStepIsInSight(t *testing.T) {
	long := strings.Repeat("A sentence that is as long as those of a lesson are. ", 5)
	sh := &Shared{Class: S, Lab: LabInfo{Name: "l", Steps: []Step{
		{Title: "one", Why: "Begin. " + long, Do: long, Predict: long, Found: "[1]", Answer: "Forty-two.", State: StepSeen},
		{Title: "two", Why: "Begin. " + long, Do: long, Predict: long + "And what then?"}}}}
	s := NewSteps(sh)
	frame := func() string {
		c := canvas.New(80, 22)
		c.Reset(80, 22)
		s.Draw(c.View())
		return c.Text()
	}
	s.Handle(First)
	if f := frame(); !strings.Contains(f, "Forty-two.") || strings.Contains(f, "Begin.") || !strings.Contains(f, "pgup pgdn") {
		t.Errorf("the answer is out of sight:\n%s", f)
	}
	if strings.Contains(frame(), "not judged") || !strings.Contains(frame(), "✓") {
		t.Errorf("nothing was said, and all the same it is weighed:\n%s", frame())
	}
	sh.Lab.Steps[0].Said = "forty"
	frame()
	s.Handle(PageDown)
	if f := frame(); !strings.Contains(f, "You compare it") || strings.Contains(f, "✓") {
		t.Errorf("an open answer looks like a right one:\n%s", f)
	}
	sh.Lab.Steps[0].Said = ""
	s.Handle(PageUp)
	s.Handle(PageUp)
	s.Handle(PageUp)
	if f := frame(); !strings.Contains(f, "Begin.") {
		t.Errorf("the beginning is out of reach:\n%s", f)
	}
	s.Handle(Down)
	if f := frame(); !strings.Contains(f, "Begin.") {
		t.Errorf("a step that was not run does not begin at its beginning:\n%s", f)
	}
	s.Handle(PageDown)
	s.Handle(PageDown)
	if f := frame(); !strings.Contains(f, "enter asks you first") {
		t.Errorf("the end is out of reach:\n%s", f)
	}
	sh.Lab.Steps[1].State = StepSeen
	sh.Lab.Lesson = Lesson{Trap: long, Why: long, Next: "another"}
	if f := frame(); !strings.Contains(f, "> opens the next lesson: another") {
		t.Errorf("the last word is out of sight:\n%s", f)
	}
}
