package screen

import (
	"errors"
	"strings"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// A CardLine is one line of an error card.
type CardLine struct {
	Label safe.Line // "cause", "try"; may be empty
	Text  safe.Line
	Style canvas.Style
}

// AsError makes an *errs.Error of any error; nil stays nil.
func AsError(err error) *errs.Error {
	if err == nil {
		return nil
	}
	if e := errs.As(err); e != nil {
		return e
	}
	return errs.Wrap(err, "INTERNAL_ERROR", "message", err.Error())
}

// Card lays out an error on w cells: condition and SQLSTATE, the sentence, the place with the line of
// text it points into, the chain of causes, and what to do. Everything in it passes safe.Text.
func Card(e *errs.Error, w int) []CardLine {
	if e == nil {
		return nil
	}
	if inner := causeOfEnd(e); inner != nil {
		out := Card(inner, w)
		ends := []safe.Line{safe.Text("query "+e.Params["id"]+", run "+e.Params["runId"], 200)}
		if safe.Width(ends[0]) > w-10 {
			ends = []safe.Line{safe.Text("query "+e.Params["id"], w-10), safe.Text("run "+e.Params["runId"], w-10)}
		}
		for i, l := range ends {
			end := CardLine{Text: l, Style: canvas.Muted}
			if i == 0 {
				end.Label = "ended"
			}
			out = append(out, end)
		}
		return out
	}
	var out []CardLine
	head := safe.Text(e.Condition, w-4)
	if e.SQLState != "" {
		head += safe.Text("  SQLSTATE "+e.SQLState, 24)
	}
	out = append(out, CardLine{Label: "✗", Text: head, Style: canvas.Error | canvas.Bold})
	para := func(label safe.Line, s string, st canvas.Style, most int) {
		first := true
		for _, l := range safe.Lines(s) {
			for _, part := range widget.Wrap(l, w-10) {
				if most--; most < 0 {
					return
				}
				c := CardLine{Text: part, Style: st}
				if first {
					c.Label = label
				}
				first = false
				out = append(out, c)
			}
		}
	}
	para("", firstLines(e.Message(), 8), canvas.Text, 8)
	if !e.Pos.IsZero() || e.Pos.File != "" {
		out = append(out, CardLine{"at", safe.Text(e.Pos.String(), w-10), canvas.Text})
	}
	if e.Excerpt != "" {
		l := safe.Text(e.Excerpt, w-10)
		out = append(out, CardLine{"", l, canvas.Muted})
		if e.Pos.Col > 0 {
			runes := []rune(e.Excerpt)
			at := safe.Width(safe.Text(string(runes[:min(e.Pos.Col-1, len(runes))]), 0))
			n := max(1, e.Pos.Length)
			if at+n <= w-10 {
				caret := strings.Repeat(" ", at) + strings.Repeat("^", n)
				out = append(out, CardLine{"", safe.Text(caret, w-10), canvas.Error})
			}
		}
	}
	last := e.Message()
	for err, n := e.Err, 0; err != nil && n < 3; err, n = errors.Unwrap(err), n+1 {
		s := err.Error()
		var ee *errs.Error
		if errors.As(err, &ee) && error(ee) == err {
			s = "[" + ee.Condition + "] " + ee.Message()
		}
		if strings.Contains(last, s) {
			continue // said already
		}
		last = s
		para("cause", firstLines(s, 4), canvas.Text, 4)
	}
	if e.Hint != "" {
		para("try", e.Hint, canvas.Text, 6)
	}
	return out
}

// causeOfEnd is the error that ended a query, which says what happened; STREAM_FAILED around it says only that it did.
// Nil of other errors.
func causeOfEnd(e *errs.Error) *errs.Error {
	if e.Condition != "STREAM_FAILED" {
		return nil
	}
	return errs.As(e.Err)
}

func firstLines(s string, n int) string {
	for i := range s {
		if s[i] == '\n' {
			if n--; n == 0 {
				return s[:i]
			}
		}
	}
	return s
}

// DrawCard draws an error from line y and returns the line after it.
func DrawCard(v canvas.View, y int, e *errs.Error) int {
	lines := Card(e, v.W)
	if y+len(lines) > v.H {
		// Where there is no room the quoted line goes before cause and hint do.
		kept := lines[:0]
		for _, l := range lines {
			if l.Label != "" || l.Style == canvas.Text {
				kept = append(kept, l)
			}
		}
		lines = kept
	}
	for _, l := range lines {
		switch l.Label {
		case "✗":
			v.Put(1, y, "✗", canvas.Error|canvas.Bold)
			v.Fit(3, y, v.W-4, l.Text, l.Style)
		default:
			v.Put(1, y, l.Label, canvas.Muted)
			v.Fit(9, y, v.W-10, l.Text, l.Style)
		}
		y++
	}
	return y
}

// CardText is an error card as plain text, for the clipboard.
func CardText(e *errs.Error) string {
	var b strings.Builder
	for _, l := range Card(e, 120) {
		b.WriteString(string(l.Label))
		if l.Label != "" {
			b.WriteByte(' ')
		}
		b.WriteString(string(l.Text))
		b.WriteByte('\n')
	}
	return b.String()
}
