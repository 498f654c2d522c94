package canvas

// A Spot is a rectangle of the screen that a pointer can be at: the pane it lies in, and what a click there means.
// Screens leave spots while they draw, so a click always meets what is shown.
type Spot struct {
	// Focus makes the keys act on the pane of the spot, as they do after a click; nil: it has the keys anyway.
	Focus func()
	// Pick chooses what stands in a cell of the spot, counted from its left upper corner. It reports whether just
	// that had been chosen before: a second click opens. nil: there is nothing to choose.
	Pick func(x, y int) (again bool)

	x, y, w, h int
}

// Spot leaves a spot on w by h cells, clipped to v. Where spots overlap the later one counts.
func (v View) Spot(x, y, w, h int, s Spot) {
	if v.c == nil {
		return
	}
	s.x, s.y = v.x+max(x, 0), v.y+max(y, 0)
	s.w, s.h = min(w, v.W-max(x, 0)), min(h, v.H-max(y, 0))
	if s.w > 0 && s.h > 0 {
		v.c.spots = append(v.c.spots, s)
	}
}

// SpotAt is the spot at a cell of the canvas and the place within it; nil if there is none.
func (c *Canvas) SpotAt(x, y int) (s *Spot, dx, dy int) {
	for i := len(c.spots) - 1; i >= 0; i-- {
		s := &c.spots[i]
		if x >= s.x && x < s.x+s.w && y >= s.y && y < s.y+s.h {
			return s, x - s.x, y - s.y
		}
	}
	return nil, 0, 0
}
