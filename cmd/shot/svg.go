package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"streamlab/tui/canvas"
)

// The cell of the pictures, in pixels, and their margin.
const (
	cellW, cellH = 8.4, 18
	size         = 14 // of the letters
	margin       = 12
)

// picture is the body of one frame.
type picture struct {
	body    string
	seconds float64
}

// take draws a canvas: a rectangle for each run that has a background, a text for each run.
func take(c *canvas.Canvas, t *canvas.Theme, dark bool, seconds float64) picture {
	var b strings.Builder
	_, h := c.Size()
	for y := range h {
		for _, r := range c.Runs(y) {
			p := t.Paint(r.Style, dark)
			x := margin + float64(r.X)*cellW
			if p.Back != "" {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, margin+y*cellH, float64(r.Width)*cellW, cellH, p.Back)
			}
			if strings.TrimSpace(r.Text) == "" {
				continue
			}
			var attr string
			if p.Bold {
				attr += ` font-weight="bold"`
			}
			if p.Faint {
				attr += ` opacity="0.7"`
			}
			if p.Underline {
				attr += ` text-decoration="underline"`
			}
			var text bytes.Buffer
			_ = xml.EscapeText(&text, []byte(r.Text)) // a buffer takes everything
			// textLength keeps columns in place whatever font there is.
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f" fill="%s"%s xml:space="preserve">%s</text>`+"\n",
				x, margin+y*cellH+size, float64(r.Width)*cellW, p.Front, attr, text.String())
		}
	}
	return picture{b.String(), seconds}
}

// svg puts frames together; more than one are shown in turn by CSS key frames.
func svg(s script, pics []picture) []byte {
	var b bytes.Buffer
	w, h := 2*margin+float64(s.w)*cellW, 2*margin+s.h*cellH
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img" aria-label="%s" font-family="'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d">`+"\n",
		w, h, w, h, s.about, size)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"%s\"/>\n", s.about, canvas.Ground(s.dark))
	if len(pics) == 1 {
		b.WriteString(pics[0].body)
		b.WriteString("</svg>\n")
		return b.Bytes()
	}
	total := 0.0
	for _, p := range pics {
		total += p.seconds
	}
	b.WriteString("<style>\n")
	from := 0.0
	for i, p := range pics {
		to := from + p.seconds
		a, z := 100*from/total, 100*to/total
		fmt.Fprintf(&b, ".f%d{animation:k%d %.1fs steps(1,end) infinite;visibility:hidden}\n", i, i, total)
		fmt.Fprintf(&b, "@keyframes k%d{0%%{visibility:%s}%.2f%%{visibility:visible}%.2f%%{visibility:%s}}\n", i, shown(from == 0), a, z, shown(i == len(pics)-1))
		from = to
	}
	b.WriteString("@media (prefers-reduced-motion: reduce){")
	for i := range pics {
		fmt.Fprintf(&b, ".f%d{animation:none;visibility:%s}", i, shown(i == 0))
	}
	b.WriteString("}\n</style>\n")
	for i, p := range pics {
		fmt.Fprintf(&b, "<g class=\"f%d\">\n%s</g>\n", i, p.body)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func shown(yes bool) string {
	if yes {
		return "visible"
	}
	return "hidden"
}
