package widget

import (
	"math"
	"time"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
)

var eighths = [...]safe.Line{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// Spark draws the last w values as one row of eighth blocks, newest right. top is the value of a full
// block; 0 takes the largest. Values below zero are gaps.
func Spark(v canvas.View, x, y, w int, values []float64, top float64, st canvas.Style) {
	if len(values) > w {
		values = values[len(values)-w:]
	}
	if v.Plain() {
		v.Fit(x, y, w, inWords(values, w), st)
		return
	}
	top = ceiling(values, top)
	for i, f := range values {
		if !(f >= 0) { // NaN too
			continue
		}
		n := 0
		if top > 0 {
			n = int(min(f/top*8, 7))
		}
		v.Put(x+i, y, eighths[n], st)
	}
}

// Bars draws the last v.W values as columns over the whole height of v, newest right.
func Bars(v canvas.View, values []float64, top float64, st canvas.Style) {
	if len(values) > v.W {
		values = values[len(values)-v.W:]
	}
	if v.Plain() {
		v.Fit(0, 0, v.W, inWords(values, v.W), st)
		return
	}
	top = ceiling(values, top)
	x0 := v.W - len(values)
	for i, f := range values {
		if !(f >= 0) || top <= 0 {
			continue
		}
		n := int(min(f/top*float64(8*v.H)+0.5, float64(8*v.H)))
		if n == 0 {
			n = 1
		}
		for y := v.H - 1; y >= 0 && n > 0; y-- {
			v.Put(x0+i, y, eighths[min(n, 8)-1], st)
			n -= 8
		}
	}
}

// inWords says in numbers what a chart shows, in at most w cells where that can be.
func inWords(values []float64, w int) safe.Line {
	n, first, low, high := 0, 0.0, math.Inf(1), math.Inf(-1)
	for _, f := range values {
		if !(f >= 0) {
			continue
		}
		if n == 0 {
			first = f
		}
		n++
		low, high = min(low, f), max(high, f)
	}
	if n == 0 {
		return "no values"
	}
	if t := "first " + Rate(first) + " least " + Rate(low) + " most " + Rate(high); safe.Width(t) <= w {
		return t // the last stands beside the chart
	}
	return Rate(low) + " to " + Rate(high)
}

func ceiling(values []float64, top float64) float64 {
	if top <= 0 {
		for _, f := range values {
			if f > top && !math.IsInf(f, 0) {
				top = f
			}
		}
	}
	return top
}

// A Part is one part of a PhaseBar.
type Part struct {
	Name  safe.Line
	Shade safe.Line // "░", "▒", "▓" or "█"
	Took  time.Duration
}

// PhaseBar draws parts of a whole side by side on w cells. A part that took any time gets a cell.
func PhaseBar(v canvas.View, x, y, w int, parts []Part, st canvas.Style) {
	var total time.Duration
	for _, p := range parts {
		total += p.Took
	}
	if total <= 0 || w <= 0 || v.Plain() { // the legend has the numbers
		return
	}
	cells := make([]int, len(parts))
	sum, big := 0, 0
	for i, p := range parts {
		cells[i] = int(float64(p.Took)/float64(total)*float64(w) + 0.5)
		if cells[i] == 0 && p.Took > 0 {
			cells[i] = 1
		}
		sum += cells[i]
		if cells[i] > cells[big] {
			big = i
		}
	}
	cells[big] = max(0, cells[big]+w-sum)
	for i, p := range parts {
		v.HLine(x, y, cells[i], p.Shade, st)
		x += cells[i]
	}
}
