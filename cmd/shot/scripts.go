package main

import (
	"streamlab/tui"
	"streamlab/tui/screen/screentest"
	"streamlab/tui/term"
)

// A script is one picture: a size, and the keys to each of its frames. One frame is a still.
type script struct {
	name   string
	w, h   int
	about  string // for those who do not see it
	lab    bool
	dark   bool
	frames []frame
}

// A frame is what is typed before it is shown, and for how long it stays.
type frame struct {
	keys    string // names of keys, separated by blanks
	text    string // typed after the keys
	seconds float64
}

var scripts = []script{
	{name: "queries", w: 120, h: 36, about: "The list of queries with the detail of one of them", lab: true, dark: true, frames: []frame{{}}},
	{name: "batch", w: 120, h: 36, about: "One batch through its operators, a row followed", lab: true, dark: true, frames: []frame{{keys: "b enter tab enter"}}},
	{name: "checkpoint", w: 120, h: 36, about: "A checkpoint: offsets, commit, watermark, state, and what a restart would do", lab: true, dark: true, frames: []frame{{keys: "c"}}},
	{name: "modes", w: 80, h: 24, about: "The same rows in append, update and complete mode beside each other", lab: true, dark: true, frames: []frame{{keys: "m . . ."}}},
	{name: "refused", w: 80, h: 24, about: "A refused output mode, the reason and three fixes", lab: true, dark: true, frames: []frame{{keys: "e"}}},
	{name: "crash", w: 80, h: 24, about: "A crash between sink and commit, the restart, and what the sink got", lab: true, dark: true, frames: []frame{
		{keys: "4 x", seconds: 3}, {keys: "left", seconds: 1}, {keys: "right", seconds: 1}, {keys: "space", seconds: 1}, {keys: "space space", seconds: 2}, {keys: "enter", seconds: 6}}},
	{name: "tour", w: 80, h: 24, about: "From the queries to a batch, a checkpoint and SQL", lab: true, dark: true, frames: []frame{
		{seconds: 3}, {keys: "b", seconds: 2}, {keys: "enter", seconds: 3}, {keys: "c", seconds: 3}, {keys: "3", text: "SELECT page, sum(count) AS n FROM top_pages;", seconds: 1}, {keys: "enter", seconds: 3}}},
}

// play gives the picture.
func (s script) play() []byte {
	opts := tui.Options{Gallery: screentest.Gallery{}, Look: term.Look{Theme: "dark"}}
	if s.lab {
		opts.Workbench = screentest.New()
	}
	c := tui.NewCamera(opts, s.w, s.h, screentest.Now)
	var pics []picture
	for _, f := range s.frames {
		c.Keys(f.keys)
		c.Type(f.text)
		cv, theme := c.Frame()
		pics = append(pics, take(cv, theme, s.dark, f.seconds))
	}
	return svg(s, pics)
}
