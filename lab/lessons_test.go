package lab_test

import (
	"testing"

	"streamlab/lab"
	"streamlab/labs"
)

// The shipped lessons are one course: each says what it is for and what is next, and who goes from one to the
// next, from hello on, meets all of them once, area by area.
func TestShippedLessonsAreOneCourse(t *testing.T) {
	all := map[string]*lab.Lab{}
	for _, n := range labs.Names() {
		text, err := labs.Read(n)
		if err != nil {
			t.Fatal(err)
		}
		if all[n], err = lab.Parse(n+".yaml", n+".yaml", text); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 20 {
		t.Errorf("only %d labs are shipped", len(all))
	}
	met, areas, area := map[string]bool{}, map[string]bool{}, ""
	for n := "hello"; n != ""; n = all[n].Lesson.Next {
		l := all[n]
		if l == nil {
			t.Fatalf("%q is no shipped lab", n)
		}
		if met[n] {
			t.Fatalf("the course comes back to %s", n)
		}
		met[n] = true
		s := l.Lesson
		if l.About == "" || s.Goal == "" || s.Trap == "" || s.Why == "" || len(l.Steps) == 0 {
			t.Errorf("%s: a lesson has about, goal, trap, why and steps", n)
		}
		if s.Area != area && areas[s.Area] {
			t.Errorf("%s: the course was in the area %q before", n, s.Area)
		}
		area, areas[s.Area] = s.Area, true
		asked := false
		for _, step := range l.Steps {
			asked = asked || step.Predict != ""
			if step.Why == "" || len(step.See) == 0 {
				t.Errorf("%s: the step %q has no why or nothing to see", n, step.Title)
			}
			if step.Answer != "" && step.Predict == "" {
				t.Errorf("%s: the step %q answers what nobody asked", n, step.Title)
			}
		}
		if !asked {
			t.Errorf("%s asks for no prediction", n)
		}
	}
	for n := range all {
		if !met[n] {
			t.Errorf("the course does not come to %s", n)
		}
	}
}
