package widget

import (
	"math"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
)

// A Layer is one part of a stacked column and the shade it is drawn with.
type Layer struct {
	Shade safe.Line // "░", "▒", "▓" or "█"
	Value float64
}

// Stack draws the last v.W columns over the height of v, newest right, the layers of a column on top of each
// other from the bottom. top is the value of a full column; 0 takes the largest sum. Only whole cells are
// drawn: the shades tell the layers apart without colour. A column with any value gets a cell.
func Stack(v canvas.View, columns [][]Layer, top float64, st canvas.Style) {
	if len(columns) > v.W {
		columns = columns[len(columns)-v.W:]
	}
	if top <= 0 {
		for _, c := range columns {
			top = max(top, height(c))
		}
	}
	if top <= 0 {
		return
	}
	x0 := v.W - len(columns)
	for i, c := range columns {
		cells := min(int(height(c)/top*float64(v.H)+0.5), v.H)
		if cells == 0 && height(c) > 0 {
			cells = 1
		}
		for k := range cells {
			// The layer that reaches the middle of the cell has it.
			at, sum := (float64(k)+0.5)/float64(cells)*height(c), 0.0
			for _, l := range c {
				if sum += l.Value; sum >= at {
					v.Put(x0+i, v.H-1-k, l.Shade, st)
					break
				}
			}
		}
	}
}

func height(c []Layer) (sum float64) {
	for _, l := range c {
		sum += l.Value
	}
	return sum
}

// Against draws one series as an area from the bottom and another as marks over it, the last v.W values of
// each, newest right: a watermark and the time it follows. bottom and top are the values at the edges of v.
// NaN is a gap.
func Against(v canvas.View, area, marks []float64, bottom, top float64, mark safe.Line, areaStyle, markStyle canvas.Style) {
	if n := len(area); n > v.W {
		area = area[n-v.W:]
	}
	if n := len(marks); n > v.W {
		marks = marks[n-v.W:]
	}
	if !(top > bottom) {
		top = bottom + 1
	}
	level := func(f float64) int { // in eighths of a cell, at least one
		return max(1, min(int((f-bottom)/(top-bottom)*float64(8*v.H)+0.5), 8*v.H))
	}
	for i, f := range area {
		if math.IsNaN(f) {
			continue
		}
		n := level(f)
		for y := v.H - 1; y >= 0 && n > 0; y-- {
			v.Put(v.W-len(area)+i, y, eighths[min(n, 8)-1], areaStyle)
			n -= 8
		}
	}
	for i, f := range marks {
		if math.IsNaN(f) {
			continue
		}
		v.Put(v.W-len(marks)+i, v.H-1-(level(f)-1)/8, mark, markStyle)
	}
}
