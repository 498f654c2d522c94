package screen

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/widget"
)

// File edits a lab file: the text with line numbers and problems at the left edge, and beside or below it
// what can be said of the query at the cursor. Everything that is said is worked out from the text, off the
// loop, a moment after the last key; nothing is started. Unsaved text is never lost: it is kept as a draft.
type File struct {
	sh    *Shared
	path  string
	query string   // where to go first; empty: nowhere
	first errs.Pos // where to go first if there is no query; zero: the start
	add   string   // template of a new query, put in after reading

	ed       widget.Code
	loaded   bool
	reading  bool
	err      *errs.Error // it cannot be read
	stamp    string
	saved    string // text on disk as last seen
	tooLong  bool
	drafted  int64 // version of the text that was kept as a draft
	checked  int64 // version of the text that verdict is of; 0: none
	checking bool
	verdict  TextVerdict
	plan     QueryPlan
	planOf   string // query
	planAt   int64  // version
	planErr  *errs.Error
	fixing   bool // a digit applies a fix
}

// longestFile is how many lines are edited here; a longer file is for the user's own editor.
const longestFile = 2000

// NewFile makes the screen for a lab file, at a query if it is not empty, else at a place if it has one.
func NewFile(sh *Shared, path, query string, at errs.Pos) *File {
	s := &File{sh: sh, path: path, query: query, first: at}
	s.ed.Indent = true
	s.ed.Highlight(highlightLab)
	return s
}

// NewFileWith is NewFile that adds a query made from a template; it is not saved yet.
func NewFileWith(sh *Shared, path, template string) *File {
	s := NewFile(sh, path, "", errs.Pos{})
	s.add = template
	return s
}

// wright is who edits lab files: the opened lab, else the gallery; nil if neither does.
func (sh *Shared) wright() Labwright {
	if w, ok := sh.Bench.(Labwright); ok {
		return w
	}
	w, _ := sh.Gallery.(Labwright)
	return w
}

// Scope implements Screen, as do the methods below.
func (s *File) Scope() Scope { return InFile }
func (s *File) Crumb() safe.Line {
	c := "edit " + text(filepath.Base(s.path))
	if q := s.at(); q != "" {
		c += " › " + text(q)
	}
	return c
}

// Typing implements Typer.
func (s *File) Typing() bool { return s.loaded }

func (s *File) modified() bool { return s.loaded && s.ed.Text() != s.saved }

// Wake implements Screen: the file is read once.
func (s *File) Wake() Effect {
	if s.loaded || s.reading {
		if s.loaded && s.sh.Class != S && s.planAt != s.checked && s.checked == s.ed.Version() {
			return Effect{Jobs: s.look()}
		}
		return Effect{}
	}
	w := s.sh.wright()
	if w == nil {
		s.err = errs.New("UNSUPPORTED_FEATURE", "feature", "Editing the file of this lab")
		return Effect{}
	}
	s.reading = true
	path := s.path
	return Effect{Jobs: []Job{{Slot: "read", What: "reading " + text(filepath.Base(path)), Run: func(ctx context.Context) func() Effect {
		t, err := w.ReadLab(ctx, path)
		return func() Effect { return s.read(t, AsError(err)) }
	}}}}
}

// read takes the file in.
func (s *File) read(t FileText, err *errs.Error) Effect {
	s.reading = false
	if err != nil {
		s.err = err
		return Effect{}
	}
	s.loaded, s.err = true, nil
	s.path, s.stamp, s.saved = t.Path, t.Stamp, t.Text
	s.ed.Set(t.Text)
	s.saved = s.ed.Text() // line ends of other systems are ours now
	s.tooLong = s.ed.Len() > longestFile
	s.ed.ReadOnly = s.tooLong
	switch {
	case s.query != "":
		s.goTo(s.query)
	case !s.first.IsZero():
		s.place(s.first)
	}
	e := s.check()
	if s.add != "" && !s.tooLong {
		s.insert(s.add)
		s.add = ""
		e = s.check()
	}
	if t.Draft != "" && t.Draft != s.saved && !s.tooLong {
		e.Menu = s.offer(t)
	}
	if s.tooLong {
		e.Toast = f("more than %d lines are shown only: ctrl+o edits them in your editor", longestFile)
	}
	return e
}

// offer asks what to do with a draft.
func (s *File) offer(t FileText) *Menu {
	note := "typed " + s.sh.Clock(t.DraftAt)
	if t.DraftOld {
		note += ", the file changed since"
	}
	return &Menu{Title: "There is unsaved text of " + text(filepath.Base(s.path)), Items: []MenuItem{
		{"go on with it", note}, {"leave it for another time", "the file as it is on disk"}, {"throw it away", ""}},
		Done: func(i int) Effect {
			switch i {
			case 0:
				s.swap(t.Draft)
				return s.check()
			case 2:
				return Effect{Jobs: []Job{s.draft("")}}
			}
			return Effect{}
		}}
}

// swap makes t the text, as an edit that undo takes back; the cursor stays at its line.
func (s *File) swap(t string) {
	p := s.ed.Cursor()
	s.ed.Together(func() { s.ed.Replace(widget.Place{}, widget.Place{Line: 1 << 30}, t) })
	s.ed.Go(p)
}

// place goes to where a problem is.
func (s *File) place(p errs.Pos) { s.ed.Go(s.ed.Column(p.Line-1, max(0, p.Col-1))) }

// goTo goes to a query, so that its first line stands near the top.
func (s *File) goTo(query string) {
	name := regexp.MustCompile(`(^|[\s{,-])["']?queryName["']?\s*:\s*["']?` + regexp.QuoteMeta(query) + `["']?\s*($|[,}#])`)
	for i := range s.ed.Len() {
		if l := s.ed.Line(i); strings.Contains(l, query) && name.MatchString(l) {
			s.ed.Go(widget.Place{Line: i})
			s.ed.ShowAt(max(0, i-1))
			return
		}
	}
}

// at is the query that the cursor is in; empty if it is in none.
func (s *File) at() string {
	if v := s.queryVerdict(); v != nil {
		return v.Query
	}
	return ""
}

func (s *File) queryVerdict() *QueryVerdict {
	line := s.ed.Cursor().Line + 1
	for i := range s.verdict.Queries {
		if q := &s.verdict.Queries[i]; q.Line <= line && line <= q.Last {
			return q
		}
	}
	return nil
}

// settle waits until nothing has been typed for a moment; false if something was.
func settle(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// check works out what is wrong with the text, and keeps it as a draft. Only the newest check counts.
func (s *File) check() Effect {
	w := s.sh.wright()
	if w == nil {
		return Effect{}
	}
	t, v, path, wait := s.ed.Text(), s.ed.Version(), s.path, s.sh.Settle
	s.checking = true
	e := Effect{Jobs: []Job{{Slot: "check", Run: func(ctx context.Context) func() Effect {
		if !settle(ctx, wait) {
			return nil
		}
		verdict, err := w.CheckLab(ctx, path, t)
		if ctx.Err() != nil {
			return nil
		}
		return func() Effect { return s.judge(verdict, AsError(err), v) }
	}}}}
	if s.modified() || s.drafted != 0 {
		e.Jobs = append(e.Jobs, s.draft(t))
	}
	return e
}

// draft keeps the text; of text that is on disk nothing needs to be kept.
func (s *File) draft(t string) Job {
	w, path, stamp, wait := s.sh.wright(), s.path, s.stamp, s.sh.Settle
	if t == s.saved {
		t = ""
	}
	s.drafted = s.ed.Version()
	return Job{Slot: "draft", Run: func(ctx context.Context) func() Effect {
		if !settle(ctx, wait) {
			return nil
		}
		if err := w.KeepDraft(ctx, path, t, stamp); err != nil {
			return func() Effect { return Effect{Toast: "the draft is not kept: " + text(err.Error())} }
		}
		return nil
	}}
}

// judge takes the answer of a check of version v.
func (s *File) judge(t TextVerdict, err *errs.Error, v int64) Effect {
	if v != s.ed.Version() {
		return Effect{}
	}
	s.checking, s.checked, s.fixing = false, v, false
	if err != nil {
		s.verdict = TextVerdict{Problems: []TextProblem{{Err: err}}}
		return Effect{}
	}
	s.verdict = t
	if s.sh.Class == S {
		return Effect{}
	}
	return Effect{Jobs: s.look()}
}

// look asks for the plan of the query at the cursor, and on large screens for a dry run.
func (s *File) look() []Job {
	w, q := s.sh.wright(), s.at()
	if w == nil || q == "" || s.planAt == s.ed.Version() && s.planOf == q {
		return nil
	}
	t, v, path, dry := s.ed.Text(), s.ed.Version(), s.path, s.sh.Class == L
	if s.planOf != q {
		s.plan, s.planErr = QueryPlan{}, nil
	}
	s.planOf, s.planAt = q, v
	return []Job{{Slot: "plan", Run: func(ctx context.Context) func() Effect {
		p, err := w.PlanQuery(ctx, path, t, q, dry)
		if ctx.Err() != nil {
			return nil
		}
		return func() Effect {
			if s.planOf == q && s.planAt == v {
				s.plan, s.planErr = p, AsError(err)
			}
			return Effect{}
		}
	}}}
}

// Type implements Typer.
func (s *File) Type(k widget.Key) (Effect, bool) {
	if s.fixing {
		s.fixing = false
		if len(k.Name) == 1 && k.Name[0] >= '1' && k.Name[0] <= '9' {
			return s.fix(int(k.Name[0] - '1')), true
		}
		if k.Name == "esc" {
			return Effect{}, true
		}
	}
	if s.tooLong && k.Text != "" {
		return Effect{Toast: "this file is too long to edit here: ctrl+o edits it in your editor"}, true
	}
	before, was := s.ed.Version(), s.at()
	if k.Name == "esc" || !s.ed.Handle(k) {
		return Effect{}, false
	}
	if s.ed.Version() != before {
		return s.check(), true
	}
	if s.sh.Class != S && s.at() != was && s.checked == s.ed.Version() {
		return Effect{Jobs: s.look()}, true
	}
	return Effect{}, true
}

// current is the problem that the pane speaks of: that of the cursor's line, else of its query, else the
// first; nil if there is none.
func (s *File) current() *TextProblem {
	line, q := s.ed.Cursor().Line+1, s.at()
	var found *TextProblem
	rank := 0
	for i := range s.verdict.Problems {
		p := &s.verdict.Problems[i]
		r := 1
		switch {
		case p.Err.Pos.Line == line:
			r = 3
		case q != "" && p.Query == q:
			r = 2
		}
		if r > rank {
			found, rank = p, r
		}
	}
	if rank == 1 && q != "" { // this query is sound: that counts here
		return nil
	}
	return found
}

// fix applies a fix of the current problem as one edit.
func (s *File) fix(i int) Effect {
	p := s.current()
	switch {
	case s.checked != s.ed.Version():
		return Effect{Toast: "the text is still being checked"}
	case p == nil || i >= len(p.Fixes):
		return Effect{Toast: "there is no such fix"}
	}
	x := p.Fixes[i]
	t := s.ed.Text()
	at := offsetOf(t, s.ed.Cursor()) // the cursor stays with its text
	moved := at
	s.ed.Together(func() {
		for k := len(x.Edits) - 1; k >= 0; k-- {
			e := x.Edits[k]
			s.ed.Replace(placeOf(t, e.From), placeOf(t, e.To), e.Text)
			if e.To <= at {
				moved += len(e.Text) - (e.To - e.From)
			}
		}
	})
	s.ed.Go(placeOf(s.ed.Text(), moved))
	r := s.check()
	r.Toast = text(x.Title) + ": done, ctrl+_ takes it back"
	return r
}

// placeOf turns an offset of a text into a place.
func placeOf(t string, off int) widget.Place {
	off = max(0, min(off, len(t)))
	return widget.Place{Line: strings.Count(t[:off], "\n"), Byte: off - strings.LastIndexByte(t[:off], '\n') - 1}
}

// offsetOf is the offset of a place.
func offsetOf(t string, p widget.Place) int {
	off := 0
	for range p.Line {
		i := strings.IndexByte(t[off:], '\n')
		if i < 0 {
			break
		}
		off += i + 1
	}
	return min(len(t), off+p.Byte)
}

// Handle implements Screen.
func (s *File) Handle(a Action) Effect {
	switch a {
	case Back:
		if !s.modified() {
			return Effect{Pop: true}
		}
		return Effect{Pop: true, Jobs: []Job{s.draft(s.ed.Text())}, Toast: "not saved: the text is kept and offered next time"}
	case SaveFile:
		return s.save(false)
	case RunSQL:
		return s.save(true)
	case ApplyFix:
		p := s.current()
		if p == nil || len(p.Fixes) == 0 {
			return Effect{Toast: "there is no fix to apply here: ctrl+n goes to the next problem"}
		}
		s.fixing = true
		return Effect{Toast: f("press 1 to %d to apply a fix, esc for none", min(9, len(p.Fixes)))}
	case NextProblem:
		return s.nextProblem()
	case External:
		return s.external()
	case UndoEdit, RedoEdit:
		k := widget.Key{Name: "ctrl+_"}
		if a == RedoEdit {
			k.Name = "ctrl+y"
		}
		e, _ := s.Type(k)
		return e
	case ShowVerdict:
		return s.showPlan()
	}
	return Effect{}
}

func (s *File) nextProblem() Effect {
	n := len(s.verdict.Problems)
	if n == 0 {
		return Effect{Toast: "no problems"}
	}
	p := s.ed.Cursor()
	for _, x := range s.verdict.Problems {
		at := s.ed.Column(x.Err.Pos.Line-1, max(0, x.Err.Pos.Col-1))
		if at.Line > p.Line || at.Line == p.Line && at.Byte > p.Byte {
			s.ed.Go(at)
			return Effect{Jobs: s.look()}
		}
	}
	s.place(s.verdict.Problems[0].Err.Pos)
	return Effect{Jobs: s.look()}
}

// Disabled implements Screen.
func (s *File) Disabled(a Action) safe.Line {
	switch a {
	case SaveFile, RunSQL, ApplyFix, UndoEdit, RedoEdit:
		switch {
		case !s.loaded:
			return "the file is not read"
		case s.tooLong:
			return "the file is too long to edit here"
		case s.sh.ReadOnly && (a == SaveFile || a == RunSQL):
			return "read-only: stored data is not changed"
		}
	case External:
		if s.sh.wright() == nil {
			return "this lab has no file here"
		}
	}
	return ""
}
