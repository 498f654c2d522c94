package screen

import (
	"context"
	"time"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Checkpoints is the root of tab 2: one line per query with what its checkpoint holds.
type Checkpoints struct {
	sh    *Shared
	list  widget.List
	infos map[string]*CheckpointInfo
	errs  map[string]*errs.Error
	asked time.Time
	seen  int64
}

// NewCheckpoints makes the screen.
func NewCheckpoints(sh *Shared) *Checkpoints {
	return &Checkpoints{sh: sh, infos: map[string]*CheckpointInfo{}, errs: map[string]*errs.Error{}}
}

// Scope implements Screen, as do the methods below.
func (s *Checkpoints) Scope() Scope     { return InCheckpoints }
func (s *Checkpoints) Crumb() safe.Line { return "Checkpoints" }

// Wake implements Screen: checkpoints are read again when batches have passed, at most once a second.
func (s *Checkpoints) Wake() Effect {
	if s.sh.Bench == nil || len(s.sh.Queries) == 0 {
		return Effect{}
	}
	var sum int64
	names := make([]string, len(s.sh.Queries))
	for i, q := range s.sh.Queries {
		sum += q.BatchID + int64(q.State)<<32
		names[i] = q.Name
	}
	if sum == s.seen || s.sh.Now.Sub(s.asked) < time.Second && s.seen != 0 {
		return Effect{}
	}
	s.seen, s.asked = sum, s.sh.Now
	bench := s.sh.Bench
	return Effect{Jobs: []Job{{Slot: "list", What: "reading checkpoints", Run: func(ctx context.Context) func() Effect {
		infos, es := map[string]*CheckpointInfo{}, map[string]*errs.Error{}
		for _, n := range names {
			c, err := bench.Checkpoint(ctx, n)
			if err != nil {
				es[n] = AsError(err)
			} else if c != nil {
				infos[n] = c
			}
		}
		return func() Effect { s.infos, s.errs = infos, es; return Effect{} }
	}}}}
}

func (s *Checkpoints) at() *QuerySnapshot {
	if len(s.sh.Queries) == 0 {
		return nil
	}
	s.list.To(s.list.Cursor, len(s.sh.Queries))
	return s.sh.Queries[s.list.Cursor]
}

// Handle implements Screen.
func (s *Checkpoints) Handle(a Action) Effect {
	if move(&s.list, a, len(s.sh.Queries)) {
		return Effect{}
	}
	q := s.at()
	if q == nil {
		return Effect{}
	}
	switch a {
	case Enter, OpenCheckpoint:
		if e := s.errs[q.Name]; e != nil {
			return Effect{Error: e}
		}
		return Effect{Push: NewCheckpoint(s.sh, q.Name, -1)}
	case OpenBatches:
		return Effect{Tab: 1, Push: NewBatches(s.sh, q.Name)}
	case Copy:
		if c := s.infos[q.Name]; c != nil {
			return Effect{Copy: &Clip{c.Location, "location"}}
		}
	}
	return Effect{}
}

// Disabled implements Screen.
func (s *Checkpoints) Disabled(a Action) safe.Line { return disabled(a, s.at()) }

var checkpointCols = []widget.Col{
	{Title: "QUERY", Width: 14, Grow: true},
	{Title: "KEPT", Width: 6, Right: true, Rank: 2},
	{Title: "BATCHES", Width: 13, Right: true},
	{Title: "SIZE", Width: 8, Right: true, Rank: 1},
	{Title: "STATE KEYS", Width: 11, Right: true, Rank: 3},
	{Title: "LAST", Width: 14, Rank: 1},
	{Title: "LOCATION", Width: 30, Rank: 5},
}

// Draw implements Screen.
func (s *Checkpoints) Draw(v canvas.View) {
	n := len(s.sh.Queries)
	s.list.Window(n, v.H-9)
	rule(v, 0, 0, v.W, "Checkpoints", s.list.Shown(n), true)
	if n == 0 {
		empty(v.Sub(0, 1, v.W, v.H), "No checkpoint: no query in an opened lab.", "Press 4 to choose a lab.")
		return
	}
	cols := append([]widget.Col(nil), checkpointCols...)
	if v.W > 120 {
		cols[6].Width = v.W - 95
	}
	ws := widget.Layout(cols, v.W-4, 2)
	widget.Header(v, 3, 1, 2, cols, ws, canvas.Muted)
	foot := 7
	from, to := s.list.Window(n, v.H-2-foot)
	clickRows(v, 2, to-from, &s.list, from, nil)
	for i := from; i < to; i++ {
		q := s.sh.Queries[i]
		c := s.infos[q.Name]
		y := 2 + i - from
		m, mst := mark(q.State)
		v.Put(1, y, m, mst)
		widget.Row(v, 3, y, 2, cols, ws, func(k int) (safe.Line, canvas.Style) {
			if k == 0 {
				return text(q.Name), canvas.Text
			}
			if e := s.errs[q.Name]; e != nil && k == 5 {
				if e.Condition == "NO_CHECKPOINT" {
					return "none", canvas.Muted
				}
				return "✗ error", canvas.Error
			}
			if c == nil {
				return "-", canvas.Muted
			}
			last := BatchMark{ID: -1}
			if len(c.Batches) > 0 {
				last = c.Batches[len(c.Batches)-1]
			}
			if c.Problem != nil && c.Owner != "" && k < 5 { // another process has it: nothing is known
				return "-", canvas.Muted
			}
			switch k {
			case 1:
				return widget.Count(int64(len(c.Batches))), canvas.Text
			case 2:
				if last.ID < 0 {
					return "none", canvas.Muted
				}
				return f("%d–%d", c.Batches[0].ID, last.ID), canvas.Text
			case 3:
				return widget.Bytes(c.Bytes), canvas.Text
			case 4:
				var keys int64
				for _, o := range c.Operators {
					if o.Rows < 0 {
						return "?", canvas.Muted
					}
					keys += o.Rows
				}
				if len(c.Operators) == 0 {
					return "-", canvas.Muted
				}
				return widget.Count(keys), canvas.Text
			case 5:
				switch {
				case c.Problem != nil && c.Owner != "":
					return "◌ held", canvas.Warn
				case c.Problem != nil && c.Problem.Condition == "NO_CHECKPOINT":
					return "none", canvas.Muted
				case c.Problem != nil:
					return "✗ damaged", canvas.Error
				case last.ID < 0:
					return "empty", canvas.Muted
				case last.Commit:
					return "● committed", canvas.OK
				}
				return "◐ offsets only", canvas.Warn
			}
			return tail(text(c.Location), ws[6]), canvas.Muted
		})
		if i == s.list.Cursor {
			v.Put(0, y, "▸", canvas.Accent|canvas.Bold)
			v.Paint(3, y, v.W-3, canvas.Cursor)
		}
	}
	s.drawFoot(v.Sub(0, v.H-foot, v.W, foot))
}

func (s *Checkpoints) drawFoot(v canvas.View) {
	q := s.at()
	c := s.infos[q.Name]
	rule(v, 0, 0, v.W, text(q.Name), "enter opens", false)
	body := v.Sub(0, 1, v.W, v.H-1)
	switch {
	case s.errs[q.Name] != nil && s.errs[q.Name].Condition == "NO_CHECKPOINT":
		empty(body, text(s.errs[q.Name].Message()), text(s.errs[q.Name].Hint))
	case s.errs[q.Name] != nil:
		DrawCard(body, 0, s.errs[q.Name])
	case c == nil:
		body.Put(1, 0, "reading …", canvas.Muted)
	case c.Problem != nil:
		DrawCard(body, 0, c.Problem)
	default:
		body.Put(1, 0, "location", canvas.Muted)
		body.Fit(12, 0, v.W-13, text(c.Location), canvas.Text)
		y := 1
		if c.Temporary {
			body.Put(12, y, "temporary: it goes with the run and guarantees nothing", canvas.Warn)
			y++
		}
		if c.Owner != "" {
			body.Fit(12, y, v.W-13, "in use by "+text(c.Owner), canvas.Warn)
			y++
		}
		body.Put(1, y, "restart", canvas.Muted)
		for _, l := range widget.Wrap(text(s.sh.withoutToday(c.Restart)), v.W-14) {
			body.Put(12, y, l, canvas.Text)
			y++
		}
	}
}
