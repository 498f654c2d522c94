package screen

import (
	"context"
	"fmt"
	"strings"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/widget"
)

// planJob works out plan, schema and dry run of a query and shows them in a viewer.
func planJob(w Labwright, path, t, q string) Job {
	return Job{Slot: "show", What: "planning", Run: func(ctx context.Context) func() Effect {
		p, err := w.PlanQuery(ctx, path, t, q, true)
		return func() Effect {
			if err != nil {
				return Effect{Error: AsError(err)}
			}
			var b strings.Builder
			for _, l := range p.Tree {
				b.WriteString(l + "\n")
			}
			b.WriteString("\nschema of the result\n")
			for i, c := range p.Schema {
				b.WriteString("  " + c.Name + "  " + c.Type)
				if i < len(p.Filled) && p.Filled[i] {
					b.WriteString("  not null")
				}
				b.WriteByte('\n')
			}
			b.WriteString("\nfirst rows if it ran now (dry run, 1 batch)\n")
			if p.RowErr != nil {
				b.WriteString("  " + p.RowErr.Error() + "\n")
			} else {
				for _, l := range inColumns(p.Rows) {
					b.WriteString("  " + l + "\n")
				}
			}
			return Effect{View: &Viewer{Title: "plan of " + text(q), Text: b.String()}}
		}
	}}
}

// A template is a new query to begin with. {source}, {column} and {name} are filled in from the lab.
type template struct {
	title, note safe.Line
	text        string
}

var templates = []template{
	{"rows as they come", "console sink, append", `- queryName: {name}
  sql: |
    SELECT * FROM {source}
  format: console
  outputMode: append
  trigger: {processingTime: 1 second}
`},
	{"count", "memory sink, complete: the whole result in every batch", `- queryName: {name}
  sql: |
    SELECT count(*) AS n FROM {source}
  format: memory
  outputMode: complete
`},
	{"windows", "count per minute, update mode", `- queryName: {name}
  sql: |
    SELECT window({column}, '1 minute') AS w, count(*) AS n
    FROM   {source}
    GROUP  BY window({column}, '1 minute')
  format: memory
  outputMode: update
`},
	{"distinct rows", "every row once, kept in state", `- queryName: {name}
  sql: |
    SELECT DISTINCT * FROM {source}
  format: memory
  outputMode: append
`},
	{"into files", "JSON files, exactly once", `- queryName: {name}
  sql: |
    SELECT * FROM {source}
  format: json
  path: out/{name}
  outputMode: append
`},
	{"foreachBatch", "statements over each batch", `- queryName: {name}
  sql: |
    SELECT * FROM {source}
  foreachBatch:
    - write: {sql: SELECT * FROM batch, format: json, mode: append, path: out/{name}}
`},
}

// editQuery opens the lab file at a query, at its error if the file is to blame.
func editQuery(sh *Shared, q *QuerySnapshot) Effect {
	if sh.wright() == nil {
		return Effect{Toast: "this lab has no file here"}
	}
	return Effect{Push: NewFile(sh, sh.Lab.Path, q.Name, errs.Pos{})}
}

// chooseTemplate asks which query to begin with and opens the editor with it.
func chooseTemplate(sh *Shared) Effect {
	if sh.wright() == nil || sh.Bench == nil {
		return Effect{Toast: "no lab is open that can be edited"}
	}
	m := &Menu{Title: "New query"}
	for _, t := range templates {
		m.Items = append(m.Items, MenuItem{t.title, t.note})
	}
	path := sh.Lab.Path
	m.Done = func(i int) Effect { return Effect{Push: NewFileWith(sh, path, templates[i].text)} }
	return Effect{Menu: m}
}

// insert puts a query behind those of the file, with a name that is free and a source that is there.
func (s *File) insert(t string) {
	end, indent := -1, ""
	inQueries := false
	for i := range s.ed.Len() {
		l := s.ed.Line(i)
		trimmed := strings.TrimLeft(l, " ")
		switch {
		case strings.HasPrefix(l, "queries:"):
			inQueries, end = true, i+1
		case inQueries && l == trimmed && trimmed != "" && !strings.HasPrefix(trimmed, "-") && !strings.HasPrefix(trimmed, "#"):
			inQueries = false // the next section
		case inQueries && trimmed != "":
			if indent == "" && strings.HasPrefix(trimmed, "- ") {
				indent = l[:len(l)-len(trimmed)]
			}
			if !strings.HasPrefix(trimmed, "#") {
				end = i + 1
			}
		}
	}
	source, column := s.source()
	body := strings.NewReplacer("{source}", source, "{name}", s.freeName(), "{column}", column).Replace(t)
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	if end < 0 {
		lines = append([]string{"queries:"}, lines...)
		end = s.ed.Len()
		if s.ed.Line(end-1) == "" {
			end--
		}
	} else {
		if indent == "" {
			indent = "  "
		}
		for i := range lines {
			lines[i] = indent + lines[i]
		}
	}
	text := strings.Join(lines, "\n") + "\n"
	at := widget.Place{Line: end}
	if end >= s.ed.Len() {
		at = widget.Place{Line: s.ed.Len() - 1, Byte: 1 << 30}
		text = "\n" + strings.TrimSuffix(text, "\n")
		end++
	}
	s.ed.Together(func() { s.ed.Replace(at, at, text) })
	s.ed.Go(widget.Place{Line: end})
	s.ed.ShowAt(max(0, end-3))
}

// source is the first source of the file, and a column of it that may be an event time.
func (s *File) source() (name, column string) {
	name, column = "source", "ts"
	in := false
	for i := range s.ed.Len() {
		l := s.ed.Line(i)
		trimmed := strings.TrimLeft(l, " ")
		switch {
		case strings.HasPrefix(l, "sources:"):
			in = true
		case in && l == trimmed && trimmed != "" && !strings.HasPrefix(trimmed, "#"):
			return name, column
		case in && name == "source" && keyEnd(trimmed) > 0 && l != trimmed:
			name = strings.Trim(trimmed[:keyEnd(trimmed)], `"'`)
		case in && strings.HasPrefix(trimmed, "format: rate"):
			return name, "timestamp"
		case in && strings.Contains(strings.ToUpper(trimmed), " TIMESTAMP"):
			fields := strings.Fields(strings.TrimLeft(trimmed[:strings.Index(strings.ToUpper(trimmed), " TIMESTAMP")], " "))
			return name, strings.Trim(fields[len(fields)-1], `"',`)
		case in && strings.Contains(trimmed, "format: rate"):
			return name, "timestamp"
		}
	}
	return name, column
}

// freeName is a name that no query of the file has.
func (s *File) freeName() string {
	t := s.ed.Text()
	for n := 1; ; n++ {
		name := fmt.Sprintf("query_%d", n)
		if !strings.Contains(t, name) {
			return name
		}
	}
}

// inColumns is a result as lines of text, its columns under each other: for an overlay that shows text.
func inColumns(r Result) (out []string) {
	g := NewGrid(r)
	g.plain = true
	line := func(cell func(c int) safe.Line) {
		l := safe.Line("")
		for c, w := range g.widths {
			t := safe.Cut(cell(c), w)
			pad := safe.Line(strings.Repeat(" ", w-safe.Width(t)))
			if r.Columns[c].Right {
				t = pad + t
			} else {
				t += pad
			}
			l += t + "  "
		}
		out = append(out, strings.TrimRight(string(l), " "))
	}
	line(func(c int) safe.Line { return text(r.Columns[c].Name) })
	for _, row := range r.Rows {
		line(func(c int) safe.Line {
			if c >= len(row) {
				return ""
			}
			return g.cell(c, row[c], g.widths[c])
		})
	}
	return out
}
