package screen

import "testing"

func timesOf(texts ...string) Result {
	r := Result{Columns: []Column{{Name: "ts", Type: "timestamp"}, {Name: "s", Type: "string"}, {Name: "w", Type: "struct<start:timestamp,end:timestamp>"}}}
	for _, t := range texts {
		r.Rows = append(r.Rows, []Cell{{Text: t}, {Text: t}, {Text: "{" + t + ", " + t + "}"}})
	}
	return r
}

// A date that all times have is not shown; one of several is. Strings, copies and exports have their text.
func TestOneDayIsNotShown(t *testing.T) {
	g := NewGrid(oneDay(timesOf("2026-01-05 12:40:00", "2026-01-05 12:41:00.5")))
	for c, want := range []string{"12:40:00", "2026-01-05 12:40:00", "{12:40:00, 12:40:00}"} {
		if got := g.cell(c, g.row(0)[c], 80); string(got) != want {
			t.Errorf("column %d shows %q, want %q", c, got, want)
		}
	}
	if e := g.CopyCell(); e.Copy.Text != "2026-01-05 12:40:00" {
		t.Errorf("copied %q", e.Copy.Text)
	}
	g = NewGrid(oneDay(timesOf("2026-01-05 12:40:00", "2026-01-06 00:00:00")))
	if got := g.cell(0, g.row(0)[0], 80); got != "2026-01-05 12:40:00" {
		t.Errorf("of two days: %q", got)
	}
}

// What a group amounts to has separators on the screen only.
func TestGroupedNumbersAreForTheEye(t *testing.T) {
	g := NewGrid(Result{Columns: []Column{{Name: "n", Right: true, Grouped: true}, {Name: "id", Right: true}},
		Rows: [][]Cell{{{Text: "1204880"}, {Text: "1204880"}}, {{Text: "+2658000"}, {Text: "7"}}, {{Null: true}, {Text: "x"}}}})
	for i, want := range []string{"1,204,880", "+2,658,000", "NULL"} {
		if got := g.cell(0, g.row(i)[0], 80); string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := g.cell(1, g.row(0)[1], 80); got != "1204880" {
		t.Errorf("data is changed: %q", got)
	}
	if e := g.CopyAll(); e.Copy.Text != "n,id\n1204880,1204880\n+2658000,7\n,x\n" {
		t.Errorf("copied %q", e.Copy.Text)
	}
}

// A note that is too wide loses its last parts, and never a part of one.
func TestNotesLoseTheirLastParts(t *testing.T) {
	for w, want := range map[int]string{40: "1–6 of 412 rows · 3 ms · live off", 25: "1–6 of 412 rows · 3 ms", 18: "1–6 of 412 rows", 3: "1–6 of 412 rows"} {
		if got := shorter("1–6 of 412 rows · 3 ms · live off", w); string(got) != want {
			t.Errorf("%d cells: %q, want %q", w, got, want)
		}
	}
}
