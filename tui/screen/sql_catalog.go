package screen

import (
	"context"
	"strings"

	"streamlab/internal/safe"
	"streamlab/sql"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// catalogRow is a line of the catalog pane.
type catalogRow struct {
	head   safe.Line // a heading; everything else is empty then
	table  *Table
	column *Column
	saved  *Saved
}

// rows of the catalog: per kind the tables with their columns, then saved statements.
func (s *SQL) catalogRows() []catalogRow {
	var out []catalogRow
	kind := ""
	list := s.tables[s.door]
	named := map[string]bool{}
	if s.door == SQLiteDoor {
		named = s.named()
	}
	for i := range list {
		t := &list[i]
		if t.Kind != kind {
			kind = t.Kind
			out = append(out, catalogRow{head: headings(kind)})
		}
		out = append(out, catalogRow{table: t})
		if s.door == SQLiteDoor && t.Kind == "view" && !named[strings.ToLower(t.Name)] {
			continue // the views have many columns, which would hide what is saved; naming one shows its own
		}
		for j := range t.Columns {
			out = append(out, catalogRow{table: t, column: &t.Columns[j]})
		}
	}
	if len(s.saved) > 0 {
		out = append(out, catalogRow{head: "saved"})
		for i := range s.saved {
			out = append(out, catalogRow{saved: &s.saved[i]})
		}
	}
	return out
}

func headings(kind string) safe.Line {
	switch kind {
	case "memory":
		return "memory tables"
	case "stream":
		return "streams"
	}
	return safe.Text(kind, 20) + "s"
}

func (s *SQL) handleCatalog(a Action) Effect {
	rows := s.catalogRows()
	if move(&s.cat, a, len(rows)) {
		return Effect{}
	}
	if len(rows) == 0 {
		return s.handleResult(a)
	}
	s.cat.To(s.cat.Cursor, len(rows))
	r := rows[s.cat.Cursor]
	switch a {
	case Enter, Look:
		return s.take(r)
	case Copy:
		switch {
		case r.column != nil:
			return Effect{Copy: &Clip{r.column.Name, "name"}}
		case r.table != nil:
			return Effect{Copy: &Clip{r.table.Name, "name"}}
		case r.saved != nil:
			return Effect{Copy: &Clip{r.saved.SQL, "statement"}}
		}
		return Effect{}
	}
	return s.handleResult(a)
}

// take brings a row of the catalog into the editor: a table as a statement if there is none yet.
func (s *SQL) take(r catalogRow) Effect {
	insert := func(name string) {
		p := s.ed.Cursor()
		s.ed.Replace(p, p, name)
	}
	switch {
	case r.saved != nil:
		return s.load(*r.saved)
	case r.column != nil:
		insert(s.quoted(r.column.Name))
	case r.table != nil && strings.TrimSpace(s.ed.Text()) == "":
		s.ed.Replace(widget.Place{}, widget.Place{Line: 1 << 30}, "SELECT * FROM "+s.quoted(r.table.Name)+";")
	case r.table != nil:
		insert(s.quoted(r.table.Name))
	default:
		return Effect{}
	}
	s.focus(editorPane)
	return Effect{}
}

// quoted is a name as the door wants it.
func (s *SQL) quoted(name string) string {
	ts := sql.Lex(name)
	if len(ts) == 2 && ts[0].Kind == sql.Word && !sql.IsKeyword(ts[0].Upper) {
		return name
	}
	if s.door == SparkDoor {
		return sql.QuoteName(name)
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func (s *SQL) load(x Saved) Effect {
	s.door = x.Door
	s.ed.Replace(widget.Place{}, widget.Place{Line: 1 << 30}, x.SQL)
	s.focus(editorPane)
	return s.Wake()
}

// save asks for a name and keeps the statement under it.
func (s *SQL) save() Effect {
	r, ok := s.sh.Bench.(Rememberer)
	t := strings.TrimSpace(s.ed.Text())
	if !ok || t == "" {
		return Effect{Toast: "nothing to save: write a statement first"}
	}
	door := s.door
	return Effect{Input: &Prompt{Title: "Save the statement", Label: "name", Done: func(name string) Effect {
		name = strings.TrimSpace(name)
		if name == "" {
			return Effect{}
		}
		x := Saved{Name: name, SQL: t, Door: door}
		do := func() Effect { return Effect{Jobs: []Job{s.store(r, x, "saved as "+text(name))}} }
		for _, old := range s.saved {
			if old.Name == name && old.SQL != t {
				return Effect{Ask: &Question{Title: "Replace the saved statement?", Lines: []safe.Line{text(name) + " is there already."},
					Verb: "replace", Yes: do}}
			}
		}
		return do()
	}}}
}

// store writes a saved statement, or takes it away if its SQL is empty.
func (s *SQL) store(r Rememberer, x Saved, say safe.Line) Job {
	return Job{Slot: "save", What: "saving", Run: func(ctx context.Context) func() Effect {
		err := r.SaveStatement(ctx, x)
		_, list, rerr := r.Statements(ctx)
		return func() Effect {
			if err != nil {
				return Effect{Error: AsError(err)}
			}
			if rerr == nil {
				s.saved = list
			}
			return Effect{Toast: say}
		}
	}}
}

func (s *SQL) openSaved() Effect {
	r, ok := s.sh.Bench.(Rememberer)
	if !ok || len(s.saved) == 0 {
		return Effect{Toast: "no statement is saved: ctrl+s saves one"}
	}
	list := s.saved
	m := &Menu{Title: "Saved statements"}
	for _, x := range list {
		m.Items = append(m.Items, MenuItem{text(x.Name), text(x.Door.String() + "  " + flat(x.SQL))})
	}
	m.Done = func(i int) Effect { return s.load(list[i]) }
	m.Remove = func(i int) Effect {
		x := list[i]
		x.SQL = ""
		return Effect{Ask: &Question{Title: "Remove the saved statement?", Lines: []safe.Line{text(x.Name), text(flat(list[i].SQL))},
			Verb: "remove", Yes: func() Effect { return Effect{Jobs: []Job{s.store(r, x, "removed "+text(x.Name))}} }}}
	}
	return Effect{Menu: m}
}

// flat is a statement on one line.
func flat(sql string) string { return strings.Join(strings.Fields(sql), " ") }

func (s *SQL) drawCatalog(v canvas.View) {
	focused := s.pane == catalogPane
	hh := 0
	if n := len(s.history); n > 0 && (s.sh.Class == L || v.H > 30) {
		hh = min(n+1, max(4, v.H/3))
	}
	end := v.H - hh
	rows := s.catalogRows()
	from, to := s.cat.Window(len(rows), max(1, end-1))
	note := safe.Line("")
	if to-from < len(rows) {
		note = s.cat.Shown(len(rows))
	}
	rule(v, 0, 0, v.W, "catalog", note, focused)
	focusable(v, s.takes(catalogPane))
	clickRows(v, 1, to-from, &s.cat, from, s.takes(catalogPane))
	for i := from; i < to; i++ {
		y := 1 + i - from
		r := rows[i]
		switch {
		case r.head != "":
			v.Fit(1, y, v.W-2, r.head, canvas.Muted)
		case r.saved != nil:
			v.Fit(3, y, v.W-4, text(r.saved.Name), canvas.Text)
		case r.column != nil:
			at := max(19, v.W-9)
			v.Fit(5, y, at-6, text(r.column.Name), canvas.Muted)
			v.Fit(at, y, v.W-at-1, text(r.column.Type), canvas.Muted)
		default:
			n := widget.Count(r.table.Rows)
			if r.table.Rows < 0 {
				n = ""
				switch {
				case s.door == SQLiteDoor && r.table.Kind == "view":
					n = "all"
				case r.table.Kind == "memory":
					n = "per key"
				}
			}
			v.Fit(3, y, v.W-6-safe.Width(n), text(r.table.Name), canvas.Text)
			v.Right(v.W-3, y, 10, n, canvas.Muted)
		}
		if focused && i == s.cat.Cursor {
			v.Put(0, y, "▸", canvas.Accent|canvas.Bold)
			v.Paint(1, y, v.W-1, canvas.Cursor)
		}
	}
	if e := s.tablesE[s.door]; e != nil && 1+to-from+3 < end {
		DrawCard(v.Sub(0, 1+to-from, v.W, end-1-to+from), 0, e)
	}
	if hh > 0 {
		s.drawHistory(v.Sub(0, end, v.W, hh))
	}
}

func (s *SQL) drawHistory(h canvas.View) {
	rule(h, 0, 0, h.W, "history", "ctrl+p", false)
	for i := range min(h.H-1, len(s.history)) {
		p := s.history[len(s.history)-1-i]
		n := widget.Count(p.Rows)
		if p.Failed {
			n = "error"
		}
		h.Put(1, i+1, s.sh.Clock(p.At)[:min(5, len(s.sh.Clock(p.At)))], canvas.Muted)
		h.Fit(7, i+1, h.W-17, text(flat(p.SQL)), canvas.Text)
		h.Right(h.W-2, i+1, 8, n, canvas.Muted)
	}
}
