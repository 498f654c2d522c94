package screen

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"streamlab/internal/safe"
	"streamlab/tui/widget"
)

// The formats of an export, as the form names them, and the ends of their files.
var exportFormats = []string{"CSV", "JSON", "JSON lines", "Markdown"}

var exportEnds = map[string]string{"CSV": ".csv", "JSON": ".json", "JSON lines": ".jsonl", "Markdown": ".md"}

// export asks for format, rows and place, and writes the file. A file that is there is replaced only after
// a question.
func (s *SQL) export() Effect {
	x, ok := s.sh.Bench.(Exporter)
	if !ok || s.grid == nil {
		return Effect{Toast: "there is nothing to export"}
	}
	g := s.grid
	fetched := "fetched (" + string(widget.Count(int64(len(g.res.Rows)))) + ")"
	rows := []string{fetched}
	if g.res.More {
		rows = append(rows, "all (at most "+string(widget.Count(mostRows))+")")
	}
	follow := func(vs []string) string {
		base := vs[2]
		for _, end := range exportEnds {
			if b, ok := strings.CutSuffix(base, end); ok && b != "" {
				base = b
				break
			}
		}
		return base + exportEnds[vs[0]]
	}
	return Effect{Form: &Form{Title: "Export the rows", Verb: "export", Fields: []Field{
		{Label: "format", Text: "CSV", Choices: exportFormats},
		{Label: "rows", Text: fetched, Choices: rows},
		{Label: "file", Text: "result.csv", Follow: follow},
	}, Done: func(vs []string) Effect {
		if strings.TrimSpace(vs[2]) == "" {
			return Effect{Toast: "nothing was exported: the file has no name"}
		}
		all := vs[1] != fetched
		return Effect{Jobs: []Job{s.writeJob(x, g, vs[0], vs[2], all, false)}}
	}}}
}

// writeJob writes the rows; with all they are asked for once more, without the first limit.
func (s *SQL) writeJob(x Exporter, g *Grid, format, path string, all, over bool) Job {
	bench, statement, door := s.sh.Bench, s.ran, s.ranAt
	res, order := g.res, g.order
	return Job{Slot: "export", What: "exporting", Run: func(ctx context.Context) func() Effect {
		fail := func(err error) func() Effect { return func() Effect { return Effect{Error: AsError(err)} } }
		if a, ok := bench.(Asker); ok && all {
			r, err := a.Ask(ctx, door, statement, mostRows)
			if err != nil {
				return fail(err)
			}
			res, order = r, nil
		}
		place, exists, err := x.WriteFile(ctx, path, exported(format, res, order), over)
		if err != nil {
			return fail(err)
		}
		return func() Effect {
			if exists {
				return Effect{Ask: &Question{Title: "Replace the file?", Lines: []safe.Line{text(place) + " is there already."}, Verb: "replace",
					Yes: func() Effect { return Effect{Jobs: []Job{s.writeJob(x, g, format, path, all, true)}} }}}
			}
			return Effect{Toast: widget.Plural(int64(len(res.Rows)), "row") + " written to " + text(place)}
		}
	}}
}

// exported writes a result in one of the formats, in the order shown; order is nil if that is its own.
func exported(format string, r Result, order []int) string {
	row := func(i int) []Cell {
		if order != nil {
			i = order[i]
		}
		return r.Rows[i]
	}
	switch format {
	case "JSON", "JSON lines":
		return asJSON(r, row, format == "JSON")
	case "Markdown":
		return asMarkdown(r, row)
	}
	g := &Grid{res: r, order: order}
	return g.csv()
}

// asJSON writes an object a row: as an array, or one a line. Numbers are numbers, nulls null.
func asJSON(r Result, row func(int) []Cell, array bool) string {
	var b strings.Builder
	keys := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		keys[i] = jsonText(c.Name)
	}
	if array {
		b.WriteString("[")
	}
	for i := range r.Rows {
		if array && i > 0 {
			b.WriteString(",")
		}
		if array {
			b.WriteString("\n  ")
		}
		b.WriteString("{")
		for j, c := range row(i) {
			if j >= len(keys) {
				break
			}
			if j > 0 {
				b.WriteString(", ")
			}
			b.WriteString(keys[j] + ": " + jsonCell(c, r.Columns[j]))
		}
		b.WriteString("}")
		if !array {
			b.WriteString("\n")
		}
	}
	if array {
		b.WriteString("\n]\n")
	}
	return b.String()
}

func jsonCell(c Cell, col Column) string {
	switch {
	case c.Null:
		return "null"
	case col.Right && json.Valid([]byte(c.Text)):
		if _, err := strconv.ParseFloat(c.Text, 64); err == nil {
			return c.Text
		}
	case col.Type == "boolean" && (c.Text == "true" || c.Text == "false"):
		return c.Text
	}
	return jsonText(c.Text)
}

func jsonText(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}

// asMarkdown writes a table whose cells hold no line end and no bar.
func asMarkdown(r Result, row func(int) []Cell) string {
	esc := strings.NewReplacer(`\`, `\\`, "|", `\|`, "\r\n", "<br>", "\n", "<br>", "\r", "<br>")
	var b strings.Builder
	for _, c := range r.Columns {
		b.WriteString("| " + esc.Replace(c.Name) + " ")
	}
	b.WriteString("|\n")
	for _, c := range r.Columns {
		if c.Right {
			b.WriteString("| ---: ")
		} else {
			b.WriteString("| --- ")
		}
	}
	b.WriteString("|\n")
	for i := range r.Rows {
		cells := row(i)
		for j := range r.Columns {
			t := ""
			if j < len(cells) && !cells[j].Null {
				t = esc.Replace(cells[j].Text)
			}
			b.WriteString("| " + t + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}
