package tui

import (
	"slices"
	"strings"

	"streamlab/errs"
	"streamlab/tui/screen"
)

// A Rebinding gives an action other keys: Action alone ("start-stop") in every place that has it, or in
// one place ("queries.start-stop"). No keys takes the keys away; the palette still has the action.
type Rebinding struct {
	Action string
	Keys   []string // names as in the key table: "s", "ctrl+t", "pgup", "space"
	Pos    errs.Pos // where it was written; may be zero
}

// A keyTable is the key table of one run: the program's own with the user's bindings over it.
type keyTable struct {
	bindings []Binding
	problems []*errs.Error // rebindings that do not count, in their order
}

// scopeID is the name of a place in keys.yaml: the scope without blanks.
func scopeID(s screen.Scope) string { return strings.ReplaceAll(string(s), " ", "-") }

// Rebind checks rebindings against the key table and gives the table that results, and what does not
// count: unknown actions and keys, keys given twice, keys the program needs.
//
// A user's binding always beats a default: the key leaves every default that has it in the same place.
// A binding of an action that is everywhere takes the key from all places.
func Rebind(over []Rebinding) ([]Binding, []*errs.Error) {
	t := rebind(over)
	return t.bindings, t.problems
}

func rebind(over []Rebinding) *keyTable {
	t := &keyTable{bindings: slices.Clone(table)}
	for i := range t.bindings {
		t.bindings[i].Keys = slices.Clone(t.bindings[i].Keys)
	}
	own := make([]map[string]bool, len(t.bindings)) // keys that the user gave
	bad := func(r Rebinding, reason string) {
		e := errs.New("KEY_BINDING", "action", r.Action, "reason", reason)
		if !r.Pos.IsZero() {
			e = e.At(r.Pos)
		}
		t.problems = append(t.problems, e)
	}
next:
	for _, r := range over {
		place, action, inOne := strings.Cut(r.Action, ".")
		if !inOne {
			place, action = "", r.Action
		}
		var meant []int
		for i := range t.bindings {
			b := &t.bindings[i]
			if string(b.Action) == action && (place == "" || scopeID(b.Scope) == place) {
				meant = append(meant, i)
			}
		}
		if len(meant) == 0 {
			bad(r, "there is no such action")
			continue
		}
		for _, k := range r.Keys {
			switch {
			case !keyExists(k):
				bad(r, "no terminal sends the key "+k)
				continue next
			case k == "ctrl+c" || k == "esc":
				bad(r, k+" always cancels or goes back")
				continue next
			case (k == "y" || k == "n") && t.bindings[meant[0]].Level > 0:
				bad(r, k+" answers the question that this action asks")
				continue next
			}
			for _, i := range meant {
				for j := range t.bindings {
					b, c := &t.bindings[i], &t.bindings[j]
					if own[j][k] && b.Action != c.Action && overlap(b.Scope, c.Scope) {
						bad(r, k+" is given to "+scopeID(c.Scope)+"."+string(c.Action)+" too")
						continue next
					}
				}
			}
		}
		for _, i := range meant {
			b := &t.bindings[i]
			b.Keys, b.User = slices.Clone(r.Keys), true
			own[i] = map[string]bool{}
			for _, k := range r.Keys {
				own[i][k] = true
				for j := range t.bindings {
					if c := &t.bindings[j]; c.Action != b.Action && !own[j][k] && overlap(b.Scope, c.Scope) {
						c.Keys = slices.DeleteFunc(c.Keys, func(x string) bool { return x == k })
					}
				}
			}
		}
	}
	for i := range t.bindings {
		if len(t.bindings[i].Keys) == 0 {
			t.bindings[i].Short = "" // the key line shows keys
		}
	}
	return t
}

// overlap reports whether a key of one scope and a key of another can be pressed in the same place with
// the first one winning.
func overlap(user, other screen.Scope) bool { return user == other || user == screen.Everywhere }

// keyExists reports whether Bubble Tea can report a key of this name on every terminal: one character, a
// control letter that is not another key's code, or one of the named keys.
func keyExists(k string) bool {
	if r := []rune(k); len(r) == 1 {
		return r[0] > ' ' && r[0] != 0x7f
	}
	if c, ok := strings.CutPrefix(k, "ctrl+"); ok {
		return len(c) == 1 && strings.Contains("abcdefgjklnopqrstuvwxyz_", c)
	}
	return slices.Contains([]string{"space", "enter", "tab", "shift+tab", "up", "down", "left", "right", "home", "end",
		"pgup", "pgdown", "backspace", "delete", "insert", "esc"}, k)
}

// lookup finds what a key means in a scope; the scope's own meaning goes before the general one, a
// user's general one before the scope's default.
func (t *keyTable) lookup(scope screen.Scope, key string) *Binding {
	for _, s := range [...]screen.Scope{scope, screen.Everywhere} {
		for i := range t.bindings {
			if t.bindings[i].Scope == s && slices.Contains(t.bindings[i].Keys, key) {
				return &t.bindings[i]
			}
		}
	}
	return nil
}
