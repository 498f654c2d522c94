package screen

import (
	"context"
	"strings"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/widget"
)

// ModesLab shows one query in the three output modes: one input, three columns that share time. What it shows
// are real runs; steps back show what was recorded.
type ModesLab struct {
	sh    *Shared
	query string
	opts  ModesOptions

	run    ModesRun
	info   ModesInfo
	steps  []ModesStep
	at     int // step that is shown; -1 before the first
	err    *errs.Error
	asked  bool
	busy   bool
	cut    stampCutter
	col    int
	zoom   bool
	scroll int
	note   int // 0: what was noticed; n: step n of the lab
	said   map[int]string
	menu   []modesChoice // nil: closed
	list   widget.List
}

// NewModesLab makes the screen for a query of the opened lab.
func NewModesLab(sh *Shared, query string) *ModesLab {
	return &ModesLab{sh: sh, query: query, at: -1, said: map[int]string{}}
}

// Scope implements Screen, as do the methods below.
func (s *ModesLab) Scope() Scope     { return InModes }
func (s *ModesLab) Crumb() safe.Line { return text(s.query) + " › output modes" }

// Wake implements Screen: the runs are made when it is first seen.
func (s *ModesLab) Wake() Effect {
	s.sh.Focus = s.query
	if s.asked {
		return Effect{}
	}
	s.asked = true
	return s.start()
}

func (s *ModesLab) start() Effect {
	b, ok := s.sh.Bench.(ModesBench)
	if !ok {
		s.err = errs.New("UNSUPPORTED_FEATURE", "feature", "Output modes beside each other in this workbench")
		return Effect{}
	}
	query, o := s.query, s.opts
	s.run, s.steps, s.at, s.err, s.scroll, s.note, s.busy = nil, nil, -1, nil, 0, 0, true
	s.said = map[int]string{}
	return Effect{Jobs: []Job{{Slot: "modes", What: "starting three queries", Run: func(ctx context.Context) func() Effect {
		r, err := b.Modes(ctx, query, o)
		return func() Effect {
			s.busy = false
			if s.err = AsError(err); err != nil {
				return Effect{}
			}
			s.run, s.info = r, r.Info()
			var all [][]string
			for _, in := range s.info.Inputs {
				all = append(all, in.Rows...)
			}
			s.cut = cutterOf(all)
			return Effect{}
		}
	}}}}
}

// feed gives the next input, or shows the next recorded one.
func (s *ModesLab) feed() Effect {
	if s.at+1 < len(s.steps) {
		s.at++
		s.scroll = 0
		return Effect{}
	}
	switch {
	case s.busy:
		return Effect{Toast: "the queries are at work"}
	case s.run == nil:
		return Effect{}
	case len(s.steps) >= len(s.info.Inputs):
		return Effect{Toast: "all input was fed: r starts again, e changes the input"}
	}
	s.busy = true
	run := s.run
	return Effect{Jobs: []Job{{Slot: "feed", What: "feeding", Run: func(ctx context.Context) func() Effect {
		step, more, err := run.Feed(context.WithoutCancel(ctx)) // half a step would leave the columns apart
		return func() Effect {
			s.busy = false
			if run != s.run {
				return Effect{}
			}
			if err != nil {
				s.err = AsError(err)
				return Effect{}
			}
			if more {
				s.steps = append(s.steps, step)
				s.at, s.scroll, s.note = len(s.steps)-1, 0, 0
				return s.judge(s.at)
			}
			return Effect{}
		}
	}}}}
}

// counts is how many rows each mode sent at a step, with blanks between; "-" stands for a mode that is refused.
func (s *ModesLab) counts(at int) string {
	var out []string
	for i := range modeNames {
		if s.info.Refused[i] != nil {
			out = append(out, "-")
			continue
		}
		out = append(out, string(f("%d", len(sentRows(&s.steps[at].Columns[i])))))
	}
	return strings.Join(out, " ")
}

// judge compares a prediction with what came, and stores it.
func (s *ModesLab) judge(at int) Effect {
	said, ok := s.said[at]
	if !ok {
		return Effect{}
	}
	p, _ := s.sh.Bench.(Predictor)
	if p == nil {
		return Effect{}
	}
	was := s.counts(at)
	pr := Prediction{Lab: s.sh.Lab.Name, Place: "input " + string(f("%d", at)) + " of " + s.query, Said: said, Was: was, Right: said == was}
	return Effect{Jobs: []Job{{Slot: "prediction", Run: func(context.Context) func() Effect {
		err := p.Predicted(pr)
		return func() Effect { return Effect{Error: AsError(err)} }
	}}}}
}

// predict asks for the rows that the next input will make each mode send.
func (s *ModesLab) predict() Effect {
	next := len(s.steps)
	if s.run == nil || next >= len(s.info.Inputs) {
		return Effect{Toast: "there is no input left to predict"}
	}
	s.at = next - 1
	label := safe.Line("rows that")
	for i, m := range modeNames {
		if s.info.Refused[i] == nil {
			label += " " + m
		}
	}
	return Effect{Input: &Prompt{Title: "Before it is fed: what will input " + f("%d", next) + " do?",
		Label: label + " send, as: 0 2 3", Text: s.said[next], Done: func(t string) Effect {
			said, ok := s.tidy(t)
			if !ok {
				return Effect{Toast: "one number for each mode that runs, with blanks between"}
			}
			if s.said[next] = said; said == "" {
				delete(s.said, next)
			}
			return Effect{}
		}}}
}

// tidy brings a prediction into the form of counts; a refused mode may be left out.
func (s *ModesLab) tidy(t string) (string, bool) {
	in := strings.FieldsFunc(t, func(r rune) bool { return r == ' ' || r == ',' || r == '/' })
	if len(in) == 0 {
		return "", true
	}
	var out []string
	for i := range modeNames {
		switch {
		case s.info.Refused[i] != nil:
			if len(in) > 0 && in[0] == "-" {
				in = in[1:]
			}
			out = append(out, "-")
		case len(in) == 0 || strings.Trim(in[0], "0123456789") != "":
			return "", false
		default:
			n := strings.TrimLeft(in[0], "0")
			if n == "" {
				n = "0"
			}
			out, in = append(out, n), in[1:]
		}
	}
	return strings.Join(out, " "), len(in) == 0
}

// Handle implements Screen.
func (s *ModesLab) Handle(a Action) Effect {
	if s.menu != nil {
		return s.choose(a)
	}
	switch a {
	case Back:
		return Effect{Pop: true}
	case OneBatch, Enter:
		return s.feed()
	case NextBatch, Last:
		if a == Last {
			s.at = len(s.steps) - 1
		} else if s.at+1 < len(s.steps) {
			s.at++
		} else {
			return Effect{Toast: ". feeds the next input"}
		}
		s.scroll = 0
	case PrevBatch:
		s.at, s.scroll = max(min(0, len(s.steps)-1), s.at-1), 0
	case First:
		s.at, s.scroll = min(0, len(s.steps)-1), 0
	case NextNote:
		if s.note++; s.note > len(s.sh.Lab.Steps) {
			s.note = 0
		}
	case ChangeInput:
		s.menu, s.list = s.choices(), widget.List{}
	case Predict:
		return s.predict()
	case Again:
		return s.start()
	case Zoom:
		s.zoom = !s.zoom
	case Left, PrevPane:
		s.col = max(0, s.col-1)
	case Right, NextPane:
		s.col = min(2, s.col+1)
	case Up:
		s.scroll = max(0, s.scroll-1)
	case Down:
		s.scroll++
	case OpenBatches:
		return Effect{Tab: 1}
	case Copy:
		return Effect{Copy: &Clip{s.asText(), "the columns"}}
	}
	return Effect{}
}

// Disabled implements Screen.
func (s *ModesLab) Disabled(a Action) safe.Line {
	switch a {
	case NextNote:
		if len(s.sh.Lab.Steps) == 0 {
			return "the lab has no steps"
		}
	case OneBatch, Predict:
		if s.run == nil {
			return "the queries do not run"
		}
	}
	return ""
}

// A modesChoice is one line of the list of changes.
type modesChoice struct {
	label safe.Line
	on    bool
	set   func(o *ModesOptions)
}

func (s *ModesLab) choices() []modesChoice {
	o := s.opts
	out := []modesChoice{
		{"input: the micro-batches of the lab", o.Split == "", func(o *ModesOptions) { o.Split = "" }},
		{"input: all rows at once", o.Split == "one", func(o *ModesOptions) { o.Split = "one" }},
		{"input: one row at a time", o.Split == "rows", func(o *ModesOptions) { o.Split = "rows" }},
		{"late row: the first row once more at the end", o.Late, func(o *ModesOptions) { o.Late = !o.Late }},
		{"pauses: none, the next input is there at once", o.Hurried, func(o *ModesOptions) { o.Hurried = !o.Hurried }},
	}
	if len(s.info.Delays) > 0 {
		out = append(out, modesChoice{"delay: " + safe.Text(strings.Join(s.info.Delays, ", "), 30) + ", as in the lab", o.Delay == "",
			func(o *ModesOptions) { o.Delay = "" }})
		for _, d := range []string{"0 seconds", "10 seconds", "1 minute", "1 hour"} {
			out = append(out, modesChoice{"delay: " + safe.Line(d), o.Delay == d, func(o *ModesOptions) { o.Delay = d }})
		}
	}
	for _, k := range []string{"", "parquet", "delta", "console"} {
		name := k
		if k == "" {
			name = "memory"
		}
		out = append(out, modesChoice{"sink: " + safe.Line(name), o.Sink == k, func(o *ModesOptions) { o.Sink = k }})
	}
	return out
}

// choose handles a key while the list of changes is open.
func (s *ModesLab) choose(a Action) Effect {
	if move(&s.list, a, len(s.menu)) {
		return Effect{}
	}
	switch a {
	case Back, ChangeInput:
		s.menu = nil
	case Enter, OneBatch:
		s.menu[s.list.Cursor].set(&s.opts)
		s.menu = nil
		return s.start()
	}
	return Effect{}
}
