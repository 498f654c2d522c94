package lab

import (
	"strings"

	"strconv"

	"streamlab/errs"
)

// Step is one step of a lesson: what is done, what is seen then, and why it is worth seeing.
type Step struct {
	Title   string
	Why     string
	Predict string // the question before the step is played
	Answer  string // what the step showed, said after it
	Do      []Action
	See     []Expectation
	Pos     errs.Pos
}

// Lesson is what a lab says of itself as a lesson; the zero value is no lesson.
type Lesson struct {
	Area string // group in the gallery, such as "event time"
	Goal string
	Trap string // what sounds right
	Why  string // why it is wrong
	Next string // what to read or play next
}

// Action is one entry of `do`. Kind is its key; of the other fields those are set that the kind has.
type Action struct {
	Kind   string // start, stop, restart, await, step, feed, sql, crash, advanceClock, deleteCheckpoint, copyCheckpoint, write, remove
	Query  string // start, stop, restart, await, step, crash, deleteCheckpoint; copyCheckpoint: the one that gets the copy
	From   string // copyCheckpoint: the query whose checkpoint is copied
	Source string // feed
	Rows   [][]any
	SQL    Text
	At     string // crash: a crash point, with @k for its k-th passing
	By     string // advanceClock: an interval
	Path   string // write: a file below the lab's folder
	Text   string // write: its text
	Pos    errs.Pos
}

// Expectation is one entry of `see`.
type Expectation struct {
	Kind    string // sql, batch, error, progress, state, files
	SQL     Text
	Query   string  // batch, error, progress, state
	Rows    [][]any // nil, of batch: any rows will do
	Ordered bool    // rows come in this order
	Matches string
	Field   string // progress: a path such as stateOperators.0.numRowsTotal
	Is      string
	Path    string // files: a pattern below the lab's folder
	Count   int
	Pos     errs.Pos
}

func (d *decoder) lesson(l *Lab, v *value) {
	d.fields("lesson", v, map[string]func(*value){
		"area": d.line("area", &l.Lesson.Area), "goal": d.line("goal", &l.Lesson.Goal), "trap": d.line("trap", &l.Lesson.Trap),
		"why": d.line("why", &l.Lesson.Why), "next": d.line("next", &l.Lesson.Next),
	})
}

func (d *decoder) line(key string, s *string) func(*value) {
	return func(v *value) { *s = d.text(key, v).Value }
}

func (d *decoder) steps(l *Lab, v *value) {
	if v.kind != listKind && !v.isNull {
		d.fail(v.pos, "LAB_VALUE", "key", "steps", "expected", "a list")
		return
	}
	for _, e := range v.list {
		s := Step{Pos: e.pos}
		d.fields("step", e, map[string]func(*value){
			"title": d.line("title", &s.Title), "why": d.line("why", &s.Why),
			"predict": d.line("predict", &s.Predict), "answer": d.line("answer", &s.Answer),
			"do": func(v *value) {
				for _, a := range either(v) {
					s.Do = append(s.Do, d.action(a))
				}
			},
			"see": func(v *value) {
				for _, x := range either(v) {
					s.See = append(s.See, d.expectation(x))
				}
			},
		})
		if s.Title == "" {
			d.fail(e.pos, "LAB_MISSING_KEY", "key", "title", "where", "step")
		}
		l.Steps = append(l.Steps, s)
	}
}

// either reads a list, or one entry that stands for a list of it.
func either(v *value) []*value {
	if v.kind == listKind {
		return v.list
	}
	if v.isNull {
		return nil
	}
	return []*value{v}
}

func (d *decoder) action(v *value) Action {
	a := Action{Pos: v.pos}
	if v.kind != mapKind || len(v.keys) != 1 {
		d.fail(v.pos, "LAB_VALUE", "key", "do", "expected", "a mapping with one key, such as `start: NAME`")
		return a
	}
	a.Kind = v.keys[0].key
	set := map[string]func(*value){
		"feed": func(v *value) {
			d.fields("feed", v, map[string]func(*value){"source": d.line("source", &a.Source), "rows": d.rows(&a.Rows)})
		},
		"sql": d.set("sql", &a.SQL),
		"crash": func(v *value) {
			d.fields("crash", v, map[string]func(*value){"query": d.line("query", &a.Query), "at": d.line("at", &a.At)})
			if a.At == "" {
				d.fail(v.pos, "LAB_MISSING_KEY", "key", "at", "where", "crash")
			}
		},
		"copyCheckpoint": func(v *value) {
			d.fields("copyCheckpoint", v, map[string]func(*value){"from": d.line("from", &a.From), "query": d.line("query", &a.Query)})
		},
		"advanceClock": d.line("advanceClock", &a.By),
		"remove":       d.line("remove", &a.Path),
		"write": func(v *value) {
			d.fields("write", v, map[string]func(*value){"path": d.line("path", &a.Path), "text": d.line("text", &a.Text)})
		},
	}
	for _, k := range []string{"start", "stop", "restart", "await", "step", "deleteCheckpoint"} {
		set[k] = d.line(k, &a.Query)
	}
	d.fields("do", v, set)
	return a
}

func (d *decoder) rows(rows *[][]any) func(*value) {
	return func(v *value) {
		*rows = [][]any{}
		if v.kind != listKind {
			d.fail(v.pos, "LAB_VALUE", "key", "rows", "expected", "a list of rows")
			return
		}
		for _, r := range v.list {
			*rows = append(*rows, d.row(r))
		}
	}
}

func (d *decoder) expectation(v *value) Expectation {
	x := Expectation{Pos: v.pos}
	if v.kind != mapKind || len(v.keys) == 0 {
		d.fail(v.pos, "LAB_VALUE", "key", "see", "expected", "a mapping, such as `sql:` and `rows:`")
		return x
	}
	kind := func(name string, set func(*value)) func(*value) {
		return func(v *value) { x.Kind = name; set(v) }
	}
	d.fields("see", v, map[string]func(*value){
		"sql":     kind("sql", d.set("sql", &x.SQL)),
		"rows":    d.rows(&x.Rows),
		"ordered": d.flag("ordered", &x.Ordered),
		"batch":   kind("batch", d.line("batch", &x.Query)),
		"error":   kind("error", d.line("error", &x.Query)),
		"matches": d.line("matches", &x.Matches),
		"progress": kind("progress", func(v *value) {
			d.fields("progress", v, map[string]func(*value){"query": d.line("query", &x.Query), "field": d.line("field", &x.Field), "is": d.line("is", &x.Is)})
		}),
		"state": kind("state", func(v *value) {
			d.fields("state", v, map[string]func(*value){"query": d.line("query", &x.Query), "rows": d.rows(&x.Rows)})
		}),
		"files": kind("files", func(v *value) {
			d.fields("files", v, map[string]func(*value){"path": d.line("path", &x.Path), "count": func(v *value) {
				n, err := strconv.Atoi(v.scalar)
				if err != nil || n < 0 {
					d.fail(v.pos, "LAB_VALUE", "key", "count", "expected", "a number from 0 on")
				}
				x.Count = n
			}})
		}),
	})
	if x.Kind == "" {
		d.fail(v.pos, "LAB_MISSING_KEY", "key", "sql, batch, error, progress, state or files", "where", "see")
	}
	return x
}

// checkSteps finds names in steps that the lab does not have.
func (l *Lab) checkSteps(report func(error, errs.Pos)) {
	var queries, sources []string
	for _, q := range l.Queries {
		queries = append(queries, q.Name.Value)
	}
	for _, s := range l.Sources {
		sources = append(sources, s.Name.Value)
	}
	find := func(condition, name string, in []string, pos errs.Pos) {
		for _, n := range in {
			if n == name {
				return
			}
		}
		e := errs.New(condition, "name", name)
		if n := nearest(name, in); n != "" {
			e = e.WithHint("Did you mean `" + n + "`?")
		}
		report(e, pos)
	}
	for _, s := range l.Steps {
		for _, a := range s.Do {
			switch a.Kind {
			case "start", "stop", "restart", "await", "step", "deleteCheckpoint", "copyCheckpoint", "crash":
				if a.Kind == "copyCheckpoint" {
					find("LAB_NO_QUERY", a.From, queries, a.Pos)
				}
				find("LAB_NO_QUERY", a.Query, queries, a.Pos)
				if endless := l.endless(a.Query); a.Kind == "await" && endless != "" {
					report(errs.New("LAB_AWAITS_ENDLESS", "name", a.Query, "source", endless), a.Pos)
				}
			case "feed":
				find("LAB_NO_SOURCE", a.Source, sources, a.Pos)
			}
		}
		for _, x := range s.See {
			switch x.Kind {
			case "batch", "error", "progress", "state":
				find("LAB_NO_QUERY", x.Query, queries, x.Pos)
			}
		}
	}
}

// endless is the source because of which a query, once started, always has something left to do: one that has
// rows for every micro-batch. "" if there is none, or the query ends by its trigger.
func (l *Lab) endless(query string) string {
	for i := range l.Queries {
		if q := &l.Queries[i]; q.Name.Value == query && q.TriggerKind != "once" && q.TriggerKind != "availableNow" {
			return l.Reads(query, "rate-micro-batch")
		}
	}
	return ""
}

// Reads is the first source of a format that a query reads, through views too; "" if there is none.
func (l *Lab) Reads(query, format string) string {
	for i := range l.Queries {
		q := &l.Queries[i]
		if q.Name.Value != query {
			continue
		}
		t := &site{l: l, q: q}
		for _, name := range t.reads() {
			if s := t.source(name); s != nil && strings.EqualFold(s.Format.Value, format) {
				return name
			}
		}
	}
	return ""
}

func (l *Lab) movesClock() bool {
	for _, s := range l.Steps {
		for _, a := range s.Do {
			if a.Kind == "advanceClock" {
				return true
			}
		}
	}
	return false
}

// showsRefusal tells whether a step wants to see that the query fails: then its refusal is no mistake.
func (l *Lab) showsRefusal(query string) bool {
	for _, s := range l.Steps {
		for _, x := range s.See {
			if x.Kind == "error" && x.Query == query {
				return true
			}
		}
	}
	return false
}
