package console

// table lays cells out in a frame. Cells are added row by row.
type table struct {
	cut    bool
	header []string
	cells  []string
	rows   int
}

func newTable(names []string, cut bool) *table {
	t := &table{cut: cut}
	for _, n := range names {
		t.header = append(t.header, escape([]byte(n)))
	}
	return t
}

func (t *table) cell(text []byte) {
	s := escape(text)
	if t.cut {
		s = truncate(s)
	}
	t.cells = append(t.cells, s)
}

// escape writes control characters that would break the frame as two characters.
func escape(s []byte) string {
	const from, to = "\n\r\t\f\b\v\a", "nrtfbva"
	out := make([]byte, 0, len(s))
	for _, c := range s {
		k := -1
		if c < 0x20 {
			for i := range from {
				if from[i] == c {
					k = i
				}
			}
		}
		if k >= 0 {
			out = append(out, '\\', to[k])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// units is the length in UTF-16, which is what the JVM counts.
func units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// truncate cuts texts longer than 20 UTF-16 units to 17 and three dots. Half a surrogate pair prints as '?'.
func truncate(s string) string {
	n := 0
	for _, r := range s {
		n += units(r)
	}
	if n <= 20 {
		return s
	}
	n = 0
	for i, r := range s {
		switch u := units(r); {
		case n == 17:
			return s[:i] + "..."
		case n+u > 17:
			return s[:i] + "?..."
		default:
			n += u
		}
	}
	return s
}

// width is the number of half-width cells a text takes, as Spark counts them.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += units(r)
		if wide(r) {
			n++
		}
	}
	return n
}

func wide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115F || r >= 0x2E80 && r <= 0xA4CF || r >= 0xAC00 && r <= 0xD7A3 || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0xFE10 && r <= 0xFE19 || r >= 0xFE30 && r <= 0xFE6F || r >= 0xFF00 && r <= 0xFF60 || r >= 0xFFE0 && r <= 0xFFE6)
}

// print appends the frame with all rows.
func (t *table) print(out []byte) []byte {
	n := len(t.header)
	widths := make([]int, n)
	for i, h := range t.header {
		widths[i] = max(3, width(h))
	}
	for k, c := range t.cells {
		widths[k%n] = max(widths[k%n], width(c))
	}
	rule := []byte{'+'}
	for _, w := range widths {
		for range w {
			rule = append(rule, '-')
		}
		rule = append(rule, '+')
	}
	rule = append(rule, '\n')
	row := func(cells []string) {
		out = append(out, '|')
		for i, c := range cells {
			pad := widths[i] - width(c)
			if t.cut {
				out = spaces(out, pad)
			}
			out = append(out, c...)
			if !t.cut {
				out = spaces(out, pad)
			}
			out = append(out, '|')
		}
		out = append(out, '\n')
	}
	out = append(out, rule...)
	row(t.header)
	out = append(out, rule...)
	for r := range t.rows {
		row(t.cells[r*n : (r+1)*n])
	}
	return append(out, rule...)
}

func spaces(out []byte, n int) []byte {
	for range n {
		out = append(out, ' ')
	}
	return out
}
