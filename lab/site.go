package lab

import (
	"context"
	"strings"

	"streamlab/engine"
	"streamlab/errs"
)

// site is a refusal in its lab: what the recipes of fixes work on.
type site struct {
	l    *Lab
	q    *Query // nil: the problem is about no query
	p    *page
	e    *errs.Error // the innermost condition that the table knows
	ctx  context.Context
	conf engine.Config

	session *engine.Session
}

// asker gives a session in which the names of the lab can be asked for their columns; nil if there is none.
// close ends it.
func (t *site) asker() *engine.Session {
	if t.session == nil {
		t.session, _, _ = t.l.build(t.ctx, t.conf, true)
	}
	return t.session
}

func (t *site) close() {
	if t.session != nil {
		t.session.Close()
	}
}

// candidate is a set of edits with the sentence that explains it.
type candidate struct {
	explain string
	edits   []Edit
}

// recipe makes candidates of a kind, best first.
type recipe struct {
	title   string
	explain string // of candidates without a sentence of their own
	make    func(t *site) []candidate
}

// one makes a recipe of a single set of edits.
func one(title, explain string, f func(t *site) []Edit) recipe {
	return recipe{title, explain, func(t *site) []candidate {
		if e := f(t); len(e) > 0 {
			return []candidate{{"", e}}
		}
		return nil
	}}
}

// refusal is a line of the table: which errors it is about, why they are raised, and ways out.
type refusal struct {
	condition string // the whole condition, or its beginning if it ends in a point
	words     string // what the message has to contain, in lower case; "": anything
	why       string // two sentences at most; "": the message of the condition says it all
	fixes     []recipe
}

// about tells whether a line of the table is about an error.
func (r refusal) about(e *errs.Error) bool {
	if e.Condition != r.condition && !(strings.HasSuffix(r.condition, ".") && strings.HasPrefix(e.Condition, r.condition)) {
		return false
	}
	return r.words == "" || strings.Contains(strings.ToLower(e.Message()), r.words)
}

// refusalOf finds the line of the table that an error, or the innermost of its causes, is about.
func refusalOf(e *errs.Error) (refusal, *errs.Error, bool) {
	var found refusal
	var at *errs.Error
	for e != nil {
		for _, r := range refusals() {
			if r.about(e) {
				found, at = r, e
				break
			}
		}
		e = errs.As(e.Err)
	}
	return found, at, at != nil
}

// reasonOf is why an error is raised, in a sentence or two.
func reasonOf(e *errs.Error) string {
	if r, _, ok := refusalOf(e); ok && r.why != "" {
		return r.why
	}
	return e.Message()
}

const mostFixes = 4

// fixesOf tries the recipes of a problem and keeps what leaves its query without problems, and no other query
// with new ones. Where nothing does, two recipes are put together: the second against the reason that the
// first has led to.
func fixesOf(ctx context.Context, l *Lab, file string, text []byte, c engine.Config, p Problem, all []Problem) []Fix {
	f := &finder{ctx: ctx, file: file, conf: c, before: map[string]bool{}, seen: map[string]bool{}, first: key(p)}
	for _, o := range all {
		f.before[key(o)] = true
	}
	fixes, open := f.try(l, text, p)
	for _, o := range open {
		if len(fixes) > 0 || ctx.Err() != nil {
			break
		}
		after, _ := f.try(o.lab, o.text, o.left)
		for _, x := range after {
			whole := Apply(o.text, x.Edits)
			fixes = append(fixes, Fix{o.fix.Title + ", " + x.Title, x.Explain, []Edit{difference(text, whole)}})
		}
	}
	return fixes
}

// finder is one search for fixes.
type finder struct {
	ctx    context.Context
	file   string
	conf   engine.Config
	before map[string]bool // problems that the lab has anyway
	seen   map[string]bool // texts that were tried
	first  string          // the problem that the search is about
}

// halfway is a candidate that has led to another reason.
type halfway struct {
	lab  *Lab
	text []byte
	left Problem
	fix  Fix
}

func key(p Problem) string { return p.Query + "\x00" + p.Condition + "\x00" + p.Message() }

func (f *finder) try(l *Lab, text []byte, p Problem) (good []Fix, open []halfway) {
	r, e, ok := refusalOf(p.Error)
	if !ok || l == nil || l.root == nil {
		return nil, nil
	}
	t := &site{l: l, p: newPage(text), e: e, ctx: f.ctx, conf: f.conf}
	defer t.close()
	for i := range l.Queries {
		if l.Queries[i].Name.Value == p.Query && p.Query != "" {
			t.q = &l.Queries[i]
		}
	}
	for _, rec := range r.fixes {
		for _, cand := range rec.make(t) {
			if f.ctx.Err() != nil || len(good) == mostFixes {
				return good, open
			}
			changed := Apply(text, cand.edits)
			if f.seen[string(changed)] || len(cand.edits) == 0 || string(changed) == string(text) {
				continue
			}
			f.seen[string(changed)] = true
			fix := Fix{rec.title, rec.explain, cand.edits}
			if cand.explain != "" {
				fix.Explain = cand.explain
			}
			after, left := examine(f.ctx, f.file, changed, f.conf, nil)
			var own, other []Problem
			for _, o := range left {
				switch {
				case key(o) == f.first || key(o) == key(p):
					other = append(other, o) // the same again: no fix
				case f.before[key(o)]:
				case o.Query == p.Query:
					own = append(own, o)
				default:
					other = append(other, o)
				}
			}
			switch {
			case len(other) > 0:
			case len(own) == 0:
				good = append(good, fix)
			case len(own) == 1 && len(open) < 2*mostFixes:
				open = append(open, halfway{after, changed, own[0], fix})
			}
			if len(own) == 0 && len(other) == 0 {
				break // the first candidate of a recipe that works is enough
			}
		}
	}
	return good, open
}

// difference is one edit that turns a text into another.
func difference(a, b []byte) Edit {
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	end := 0
	for end < len(a)-from && end < len(b)-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return Edit{from, len(a) - end, string(b[from : len(b)-end])}
}
