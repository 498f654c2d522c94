package screen

import (
	"slices"
	"strings"

	"streamlab/internal/safe"
	"streamlab/sql"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// completion is the popup of names that fit the word before the cursor.
type completion struct {
	items []word
	list  widget.List
	typed int  // letters of the word that is completed
	whole bool // the word is a name as it stands, and no other was chosen: enter is for the text
}

type word struct {
	text, kind string
	after      string // goes behind: "(" of functions
}

func (c *completion) open() bool { return len(c.items) > 0 }
func (c *completion) close()     { c.items = nil }

const (
	mostWords  = 200 // more would not be read
	shownWords = 8
)

// complete looks for names that begin with the word before the cursor, if it has at least n letters.
// Everything it looks at is in memory: it never waits.
func (s *SQL) complete(n int) {
	c := &s.comp
	c.items, c.whole = nil, false
	c.list = widget.List{}
	w := s.ed.Word()
	c.typed = len(w)
	owner, dotted := s.owner(len(w))
	if len([]rune(w)) < n && !dotted {
		return
	}
	low := strings.ToLower(w)
	seen := map[string]bool{}
	add := func(text, kind, after string) {
		k := strings.ToLower(text)
		c.whole = c.whole || k == low && after == ""
		if len(c.items) >= mostWords || !strings.HasPrefix(k, low) || k == low && after == "" || seen[k+after] {
			return
		}
		seen[k+after] = true
		c.items = append(c.items, word{text, kind, after})
	}
	columns := func(t Table) {
		for _, x := range t.Columns {
			k := x.Type
			if k == "" {
				k = "column"
			}
			add(x.Name, k, "")
		}
	}
	if dotted {
		if t := s.table(s.alias(owner)); t != nil {
			columns(*t)
		}
		return
	}
	tables := func() {
		for _, t := range s.tables[s.door] {
			add(t.Name, tableKind(t.Kind), "")
		}
	}
	before := s.wordBefore(len(w))
	named := s.named()
	switch before {
	case "FROM", "JOIN", "TABLE", "INTO", "DESCRIBE", "DESC":
		tables()
	default:
		for _, t := range s.tables[s.door] { // columns of what the statement reads go first
			if named[strings.ToLower(t.Name)] {
				columns(t)
			}
		}
		for _, t := range s.tables[s.door] {
			columns(t)
		}
		tables()
	}
	for _, f := range s.functions() {
		add(f, "function", "(")
	}
	for _, k := range s.keywords() {
		if w != "" && w == low { // in the writer's own case
			k = strings.ToLower(k)
		}
		add(k, "keyword", "")
	}
}

func tableKind(kind string) string {
	if kind == "memory" {
		return "table"
	}
	return kind
}

// functions and keywords of the door.
func (s *SQL) functions() []string {
	if a, ok := s.sh.Bench.(Asker); ok {
		return a.Functions(s.door)
	}
	return nil
}

func (s *SQL) keywords() []string {
	if s.door == SparkDoor {
		return sql.Keywords
	}
	return sqliteWords
}

// tokensBefore are the tokens of the text up to n bytes before the cursor.
func (s *SQL) tokensBefore(n int) []sql.Token {
	p := s.ed.Cursor()
	var b strings.Builder
	for i := range p.Line {
		b.WriteString(s.ed.Line(i))
		b.WriteByte('\n')
	}
	b.WriteString(s.ed.Line(p.Line)[:max(0, p.Byte-n)])
	ts := sql.Lex(b.String())
	return ts[:len(ts)-1]
}

// owner is the name before a dot that stands directly before the word.
func (s *SQL) owner(n int) (string, bool) {
	p := s.ed.Cursor()
	head := s.ed.Line(p.Line)[:max(0, p.Byte-n)]
	if !strings.HasSuffix(head, ".") {
		return "", false
	}
	ts := s.tokensBefore(n)
	if len(ts) < 2 || ts[len(ts)-1].Text != "." {
		return "", false
	}
	t := ts[len(ts)-2]
	return t.Text, t.Kind == sql.Word || t.Kind == sql.Quoted
}

// wordBefore is the keyword before the word.
func (s *SQL) wordBefore(n int) string {
	ts := s.tokensBefore(n)
	if len(ts) == 0 {
		return ""
	}
	return ts[len(ts)-1].Upper
}

// named are the names that stand in the text, in lower case.
func (s *SQL) named() map[string]bool {
	m := map[string]bool{}
	for _, t := range sql.Lex(s.ed.Text()) {
		if t.Kind == sql.Word || t.Kind == sql.Quoted {
			m[strings.ToLower(t.Text)] = true
		}
	}
	return m
}

// alias is the table that a name stands for: FROM table name, FROM table AS name.
func (s *SQL) alias(name string) string {
	ts := sql.Lex(s.ed.Text())
	for i, t := range ts {
		if (t.Upper != "FROM" && t.Upper != "JOIN" && t.Text != ",") || i+2 >= len(ts) {
			continue
		}
		at := i + 2
		if ts[at].Upper == "AS" {
			at++
		}
		if at < len(ts) && strings.EqualFold(ts[at].Text, name) && s.table(ts[i+1].Text) != nil {
			return ts[i+1].Text
		}
	}
	return name
}

func (s *SQL) table(name string) *Table {
	list := s.tables[s.door]
	if i := slices.IndexFunc(list, func(t Table) bool { return strings.EqualFold(t.Name, name) }); i >= 0 {
		return &list[i]
	}
	return nil
}

// accept puts the chosen word into the text.
func (s *SQL) accept() {
	c := &s.comp
	if c.list.Cursor < len(c.items) {
		w := c.items[c.list.Cursor]
		s.ed.Complete(w.text + w.after)
	}
	c.close()
}

// completionKey does a key while the popup is open; false if it means nothing to it.
func (s *SQL) completionKey(name string) bool {
	c := &s.comp
	n := len(c.items)
	if name == "enter" && c.whole {
		c.close()
		return false
	}
	switch name {
	case "down", "up", "pgdown", "pgup":
		c.whole = false
	}
	switch name {
	case "tab", "enter":
		s.accept()
	case "esc":
		c.close()
	case "down":
		c.list.To((c.list.Cursor+1)%n, n)
	case "up":
		c.list.To((c.list.Cursor+n-1)%n, n)
	case "pgdown":
		c.list.Move(shownWords, n)
	case "pgup":
		c.list.Move(-shownWords, n)
	default:
		return false
	}
	return true
}

// drawCompletion draws the popup below the word, or above it where there is no room, and never beyond the
// right or the bottom edge of v. x and y are of the cursor.
func (s *SQL) drawCompletion(v canvas.View, x, y int) {
	c := &s.comp
	if !c.open() {
		return
	}
	name, kind := 8, 0
	for _, it := range c.items {
		name = max(name, min(32, safe.Width(text(it.text))))
		kind = max(kind, min(14, safe.Width(text(it.kind))))
	}
	w := min(v.W, max(24, name+kind+6))
	name = w - kind - 6
	h := min(len(c.items), shownWords)
	at := y + 1
	if at+h+2 > v.H && y >= h+2 {
		at = y - h - 2
	}
	h = max(1, min(h, v.H-at-2))
	left := max(0, min(x-c.typed-2, v.W-w))
	box := v.Sub(left, at, w, h+2)
	box.Clear()
	box.Put(0, 0, "┌ complete ", canvas.Muted)
	box.HLine(11, 0, w-12, "─", canvas.Muted)
	box.Put(w-1, 0, "┐", canvas.Muted)
	from, to := c.list.Window(len(c.items), h)
	for i := from; i < to; i++ {
		y := i - from + 1
		box.Put(0, y, "│", canvas.Muted)
		box.Fit(2, y, name, text(c.items[i].text), canvas.Text)
		box.Fit(name+4, y, kind, text(c.items[i].kind), canvas.Muted)
		box.Put(w-1, y, "│", canvas.Muted)
		if i == c.list.Cursor {
			box.Paint(1, y, w-2, canvas.Cursor)
		}
	}
	box.Put(0, h+1, "└", canvas.Muted)
	box.HLine(1, h+1, w-2, "─", canvas.Muted)
	box.Put(w-1, h+1, "┘", canvas.Muted)
	if len(c.items) > h {
		box.Right(w-2, h+1, w-4, " "+c.list.Shown(len(c.items))+" ", canvas.Muted)
	}
}

// sqliteWords are SQLite's keywords that look.
var sqliteWords = strings.Fields(`ALL AND AS ASC BETWEEN BY CASE CAST COLLATE CROSS CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DESC
	DISTINCT ELSE END ESCAPE EXCEPT EXISTS EXPLAIN FILTER FIRST FOLLOWING FROM FULL GLOB GROUP HAVING IN INNER INTERSECT IS ISNULL
	JOIN LAST LEFT LIKE LIMIT MATERIALIZED NATURAL NOT NOTNULL NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PLAN PRAGMA
	PRECEDING QUERY RANGE RECURSIVE REGEXP RIGHT ROW ROWS SELECT THEN UNBOUNDED UNION USING VALUES WHEN WHERE WINDOW WITH`)
