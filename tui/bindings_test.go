package tui

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"streamlab/tui/screen"
)

func TestAUsersKeyBeatsDefaults(t *testing.T) {
	kt := rebind([]Rebinding{{Action: "queries.stop-now", Keys: []string{"s"}}, {Action: "help", Keys: []string{"b", "?"}}})
	if len(kt.problems) != 0 {
		t.Fatal(kt.problems)
	}
	for _, c := range []struct {
		scope screen.Scope
		key   string
		want  screen.Action
	}{
		{screen.InQueries, "s", screen.StopAtOnce},
		{screen.InBatches, "s", screen.StartStop}, // another place keeps its default
		{screen.InQueries, "b", actHelp},          // everywhere means everywhere
		{screen.InCheckpoint, "b", actHelp},
		{screen.InQueries, "?", actHelp},
	} {
		if b := kt.lookup(c.scope, c.key); b == nil || b.Action != c.want {
			t.Errorf("%s in %s means %v, want %s", c.key, c.scope, b, c.want)
		}
	}
	if kt.lookup(screen.InQueries, "K") != nil {
		t.Error("the old key still works")
	}
}

func TestBindingsThatDoNotCountAreSaid(t *testing.T) {
	for _, c := range []struct {
		over []Rebinding
		want string
	}{
		{[]Rebinding{{Action: "fly", Keys: []string{"x"}}}, "no such action"},
		{[]Rebinding{{Action: "events.start-stop", Keys: []string{"x"}}}, "no such action"},
		{[]Rebinding{{Action: "help", Keys: []string{"ctrl+enter"}}}, "no terminal sends"},
		{[]Rebinding{{Action: "help", Keys: []string{"ctrl+m"}}}, "no terminal sends"},
		{[]Rebinding{{Action: "help", Keys: []string{"esc"}}}, "always cancels"},
		{[]Rebinding{{Action: "queries.stop-now", Keys: []string{"y"}}}, "answers the question"},
		{[]Rebinding{{Action: "help", Keys: []string{"x"}}, {Action: "redraw", Keys: []string{"x"}}}, "is given to everywhere.help too"},
	} {
		kt := rebind(c.over)
		if len(kt.problems) != 1 || !strings.Contains(kt.problems[0].Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.over, kt.problems, c.want)
		}
	}
}

// Whatever is bound: a key means one action in a place, and what was accepted is what the key does.
func TestRandomBindingsKeepTheTableSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var over []Rebinding
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			b := rapid.SampledFrom(table).Draw(t, "action")
			id := string(b.Action)
			if rapid.Bool().Draw(t, "one place") {
				id = scopeID(b.Scope) + "." + id
			}
			over = append(over, Rebinding{Action: id, Keys: rapid.SliceOfN(rapid.SampledFrom([]string{"s", "x", "ctrl+t", "pgup", "?", "y", "bad+key"}), 0, 2).Draw(t, "keys")})
		}
		kt := rebind(over)
		seen := map[string]screen.Action{}
		for _, b := range kt.bindings {
			for _, k := range b.Keys {
				id := string(b.Scope) + " " + k
				if a, ok := seen[id]; ok && a != b.Action {
					t.Fatalf("%s means %s and %s after %v", id, a, b.Action, over)
				}
				seen[id] = b.Action
				if b.User {
					if got := kt.lookup(b.Scope, k); got == nil || got.Action != b.Action {
						t.Fatalf("%s was given to %s and means %v", id, b.Action, got)
					}
				}
			}
		}
	})
}
