//go:build cgo

package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"

	"streamlab/errs"
	"streamlab/internal/safe"
)

// A cellForm says what the text of a cell stands for.
type cellForm uint8

const (
	asText cellForm = iota
	asNumber
	asNull
)

// table prints rows in the form that --output asks for. kind names the objects of JSON, numbers the columns that
// hold numbers; in those "-" and "" are nulls.
func (a *app) table(kind string, columns []string, rows [][]string, numbers ...string) error {
	number := make([]bool, len(columns))
	for i, c := range columns {
		number[i] = slices.Contains(numbers, c)
	}
	return a.tableOf(kind, columns, rows, func(r, c int) cellForm {
		switch {
		case !number[c]:
			return asText
		case rows[r][c] == "-" || rows[r][c] == "":
			return asNull
		}
		return asNumber
	})
}

// tableOf is table of cells that say their form. A null is null in JSON and nothing in CSV.
func (a *app) tableOf(kind string, columns []string, rows [][]string, form func(row, column int) cellForm) error {
	chosen, err := a.chosen(columns)
	if err != nil {
		return err
	}
	switch a.output {
	case "json", "jsonl", "yaml":
		cols := make([]field, len(chosen))
		for i, c := range chosen {
			cols[i].name = columns[c]
		}
		out := &records{a: a, kind: kind, cols: cols}
		for n, r := range rows {
			values := make([]any, len(chosen))
			for i, c := range chosen {
				switch form(n, c) {
				case asText:
					values[i] = r[c]
				case asNumber:
					values[i] = r[c] // a number that JSON does not know, such as NaN, is a text
					if json.Valid([]byte(r[c])) {
						values[i] = json.Number(r[c])
					}
				}
			}
			if err := out.add(values...); err != nil {
				return err
			}
		}
		return out.end()
	case "csv":
		w := csv.NewWriter(a.out)
		row := make([]string, len(chosen))
		if !a.noHeaders {
			for i, c := range chosen {
				row[i] = columns[c]
			}
			_ = w.Write(row)
		}
		for n, r := range rows {
			for i, c := range chosen {
				row[i] = r[c]
				if form(n, c) == asNull {
					row[i] = ""
				}
			}
			_ = w.Write(row)
		}
		w.Flush()
		return w.Error()
	case "name":
		for _, r := range rows {
			fmt.Fprintln(a.out, r[chosen[0]])
		}
		return nil
	}
	shown := make([][]string, 0, len(rows)+1)
	pick := func(r []string) {
		cells := make([]string, len(chosen))
		for i, c := range chosen {
			cells[i] = oneLine(r[c])
		}
		shown = append(shown, cells)
	}
	if !a.noHeaders {
		pick(columns)
	}
	for _, r := range rows {
		pick(r)
	}
	return a.forEye(shown)
}

// forEye prints rows of cells below each other. On a terminal they are made to fit, and that something was cut is
// said; whatever goes elsewhere is whole.
func (a *app) forEye(rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], safe.Width(safe.Line(c)))
		}
	}
	cut := a.output == "table" && fit(width, a.columnsOf(a.out))
	for _, r := range rows {
		var b strings.Builder
		for i, c := range r {
			w := safe.Width(safe.Line(c))
			if w > width[i] {
				c = string(safe.Cut(safe.Line(c), width[i]))
				w = safe.Width(safe.Line(c))
			}
			b.WriteString(c)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-w+2))
			}
		}
		if _, err := fmt.Fprintln(a.out, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	if cut {
		fmt.Fprintln(a.talk(), "cut to the width of the terminal: -o wide shows all")
	}
	return nil
}

// fit makes columns with two blanks between them narrower, the widest first, until they fit; the first is the name
// and gives way only when the others have. room 0 is no end. It tells whether anything was made narrower.
func fit(width []int, room int) (cut bool) {
	total := 2 * (len(width) - 1)
	for _, w := range width {
		total += w
	}
	shrink := func(from, to, least int) {
		for total > room {
			widest := from
			for i := from; i < to; i++ {
				if width[i] >= width[widest] {
					widest = i
				}
			}
			if width[widest] <= least {
				return
			}
			width[widest]--
			total--
			cut = true
		}
	}
	if n := len(width); room > 0 && n > 1 {
		shrink(1, n, 8)
		shrink(0, 1, 12)
		shrink(0, n, 3)
	}
	return cut
}

// columnsOf is the width of the terminal that w writes to; 0: it is none.
func (a *app) columnsOf(w io.Writer) int {
	if a.cells > 0 {
		return a.cells
	}
	if p, ok := w.(*pipe); ok {
		w = p.w
	}
	t, ok := w.(terminal)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(t.file.Fd())
	if err != nil {
		return 0
	}
	return n
}

// chosen are the numbers of the columns that --columns names, in its order; all without it.
func (a *app) chosen(columns []string) ([]int, error) {
	var out []int
	for _, name := range a.columns {
		i := slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, name) })
		if i < 0 {
			return nil, errs.New("LAB_VALUE", "key", "--columns", "expected", strings.Join(columns, ", "))
		}
		out = append(out, i)
	}
	if out == nil {
		for i := range columns {
			out = append(out, i)
		}
	}
	return out, nil
}

// talk is where what is neither data nor an error goes: nowhere with --quiet.
func (a *app) talk() io.Writer {
	if a.quiet {
		return io.Discard
	}
	return a.err
}
