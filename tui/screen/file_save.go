package screen

import (
	"context"
	"path/filepath"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/widget"
)

// save writes the file; with run the query at the cursor is then started with its new definition.
func (s *File) save(run bool) Effect {
	if s.onDisk() != "" && !run {
		return s.otherText()
	}
	if !s.modified() && !run {
		return Effect{Toast: "nothing has changed"}
	}
	return Effect{Jobs: []Job{s.write(s.stamp, run)}}
}

// write writes the text unless the file on disk is another than that of stamp.
func (s *File) write(stamp string, run bool) Job {
	w, path, t, bench := s.sh.wright(), s.path, s.ed.Text(), s.sh.Bench
	open := bench != nil && s.sh.Lab.Path == path
	same := !s.modified() && stamp != ""
	return Job{Slot: "save", What: "saving", Run: func(ctx context.Context) func() Effect {
		ctx = context.WithoutCancel(ctx) // a file is written as a whole, also when the screen is left
		now, changed, err := stamp, false, error(nil)
		if !same {
			now, changed, err = w.SaveLab(ctx, path, t, stamp)
		}
		if err != nil {
			return func() Effect { return Effect{Error: AsError(err)} }
		}
		if changed {
			disk, err := w.ReadLab(ctx, path)
			return func() Effect {
				if err != nil {
					return Effect{Error: AsError(err)}
				}
				return Effect{Menu: s.conflict(disk, run)}
			}
		}
		var redefined []Redefined
		if a, ok := bench.(Adopter); ok && open {
			if redefined, err = a.Adopt(ctx, t); err != nil {
				return func() Effect {
					s.written(t, now)
					return Effect{Toast: s.notAdopted(AsError(err), run)}
				}
			}
		}
		return func() Effect {
			s.written(t, now)
			return s.after(redefined, run, open)
		}
	}}
}

// onDisk tells apart what another program has written into the file since it was read here; empty: nothing.
func (s *File) onDisk() string {
	if c := s.sh.Lab.Changed; s.loaded && s.sh.Lab.Path == s.path && c != s.stamp {
		return c
	}
	return ""
}

// otherText reads what another program has written and asks what to do, or takes it where nothing is lost by that.
func (s *File) otherText() Effect {
	w, path := s.sh.wright(), s.path
	return Effect{Jobs: []Job{{Slot: "save", What: "reading", Run: func(ctx context.Context) func() Effect {
		disk, err := w.ReadLab(ctx, path)
		return func() Effect {
			switch {
			case err != nil:
				return Effect{Error: AsError(err)}
			case s.modified():
				return Effect{Menu: s.conflict(disk, false)}
			}
			s.swap(disk.Text)
			s.written(s.ed.Text(), disk.Stamp)
			e := s.check()
			e.Toast = "this is the text on disk now; u in tab 1 puts it to use"
			return e
		}
	}}}}
}

// notAdopted says why a saved text is not in use yet, and what would bring it there. Mistakes are counted and their
// place comes first: a status line has no room for all that is to be said, and the editor shows the rest.
func (s *File) notAdopted(e *errs.Error, run bool) safe.Line {
	t := safe.Line("saved, not in use yet: ")
	if run {
		t = "saved, not started: "
	}
	if e.Pos.Line > 0 {
		n := 1
		if s.checked == s.ed.Version() {
			n = max(n, len(s.verdict.Problems))
		}
		t += widget.Plural(int64(n), "problem") + widget.Linef(", line %d: ", e.Pos.Line)
	}
	t += text(firstLines(e.Message(), 1))
	if h := e.Hint; h != "" {
		t += " " + text(h)
	}
	return t
}

func (s *File) written(t, stamp string) { s.saved, s.stamp, s.drafted = t, stamp, 0 }

// conflict asks what to do when somebody else has written the file meanwhile.
func (s *File) conflict(disk FileText, run bool) *Menu {
	return &Menu{Title: text(filepath.Base(s.path)) + " has changed on disk", Items: []MenuItem{
		{"go on editing", "nothing is written"},
		{"write mine over it", "what the other wrote is lost"},
		{"take the text on disk", "ctrl+_ brings mine back"}},
		Done: func(i int) Effect {
			switch i {
			case 1:
				return Effect{Jobs: []Job{s.write("", run)}}
			case 2:
				s.swap(disk.Text)
				s.written(s.ed.Text(), disk.Stamp)
				return s.check()
			}
			return Effect{}
		}}
}

// after says what became of a save: queries that run keep their plan until they are started again.
func (s *File) after(redefined []Redefined, run, open bool) Effect {
	q := s.at()
	if run {
		if q == "" && len(s.verdict.Queries) == 1 {
			q = s.verdict.Queries[0].Query // wherever the cursor is, no other can be meant
		}
		switch {
		case !open:
			if n := len(s.verdict.Problems); n > 0 {
				return Effect{Toast: "saved; " + widget.Plural(int64(n), "problem") + " left: the lab is not opened"}
			}
			return NewLabs(s.sh).open(s.path, text(filepath.Base(s.path)))
		case q == "":
			return Effect{Toast: "saved; the cursor is in no query, so none was started"}
		}
		snap := s.sh.Query(q)
		if snap == nil || !snap.State.Active() {
			return Effect{Toast: "saved; " + text(q) + " starts", Do: &Command{Verb: Start, Query: q}}
		}
		for _, r := range redefined {
			if r.Query == q {
				return askRestart(s.sh, []Redefined{r})
			}
		}
		return Effect{Toast: "saved; " + text(q) + " runs with this plan already"}
	}
	if len(redefined) > 0 {
		return askRestart(s.sh, redefined)
	}
	return Effect{Toast: "saved " + text(filepath.Base(s.path))}
}

// external opens the text in the user's editor. Text that is not saved goes there as a copy, so that the
// lab file is written by a save and by nothing else.
func (s *File) external() Effect {
	w := s.sh.wright()
	line := s.ed.Cursor().Line + 1
	path, t := s.path, s.ed.Text()
	back := func(file string) func(error) Effect {
		return func(err error) Effect {
			if err != nil {
				return Effect{}
			}
			return Effect{Jobs: []Job{s.reread(file)}}
		}
	}
	if !s.modified() {
		return Effect{Edit: &Outside{Path: path, Line: line, Done: back(path)}}
	}
	return Effect{Jobs: []Job{{Slot: "external", What: "copying", Run: func(ctx context.Context) func() Effect {
		file, err := w.Scratch(ctx, path, t)
		return func() Effect {
			if err != nil {
				return Effect{Error: AsError(err)}
			}
			return Effect{Edit: &Outside{Path: file, Line: line, Done: back(file)}}
		}
	}}}}
}

// reread takes in what the user's editor wrote.
func (s *File) reread(file string) Job {
	w, path := s.sh.wright(), s.path
	return Job{Slot: "reread", What: "reading back", Run: func(ctx context.Context) func() Effect {
		if file == path {
			t, err := w.ReadLab(ctx, path)
			return func() Effect {
				if err != nil {
					return Effect{Error: AsError(err)}
				}
				if t.Text != s.ed.Text() {
					s.swap(t.Text)
				}
				s.tooLong = s.ed.Len() > longestFile
				s.ed.ReadOnly = s.tooLong
				s.written(s.ed.Text(), t.Stamp)
				return s.check()
			}
		}
		t, err := w.Reread(ctx, file)
		return func() Effect {
			if err != nil {
				return Effect{Error: AsError(err)}
			}
			if t != s.ed.Text() {
				s.swap(t)
			}
			return s.check()
		}
	}}
}
