package lab

import (
	"context"
	"fmt"
	"reflect"
	"sort"
	"strings"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sql"
)

// A Redefinition is a running query that the lab defines otherwise than it was started.
type Redefinition struct {
	Query   string
	Changes []engine.Change // against its checkpoint, worst first; nil: it fits
	Err     error           // the new definition would be refused before its checkpoint is looked at; nil: it would not
}

// Adopt makes a text the definition of the lab while its queries run. Sources, views, tables and settings that
// changed are defined anew; queries that run keep their plan and their source until they are started again,
// and the answer names those whose definition is another now. Nothing is adopted of a text with problems in
// what queries share, or without a query that runs. Errors: the problems, joined; LAB_QUERY_RUNS.
func (w *Workbench) Adopt(ctx context.Context, text []byte, c engine.Config) ([]Redefinition, error) {
	old := w.Current()
	l, problems := examine(ctx, old.File, text, c, nil)
	if l == nil || l.root == nil {
		return nil, joined(problems)
	}
	for _, p := range problems {
		if p.Query == "" {
			return nil, p.Error
		}
	}
	for _, name := range w.Running() {
		if _, err := (&Workbench{Lab: l}).Find(name); err != nil {
			return nil, errs.New("LAB_QUERY_RUNS", "name", name)
		}
	}
	l, err := l.embed(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	changed, err := w.redefine(ctx, old, l)
	w.adopted.Store(l)
	if err != nil {
		return nil, err
	}
	return w.redefinitions(ctx, old, l, changed), nil
}

func joined(problems []Problem) error {
	if len(problems) == 0 {
		return errs.New("LAB_SYNTAX", "problem", "this is no lab")
	}
	return problems[0].Error
}

// redefine defines what changed in the session and gives the names that mean something else now.
func (w *Workbench) redefine(ctx context.Context, old, l *Lab) (map[string]bool, error) {
	for _, e := range l.conf {
		if old.Conf[e.key] != l.Conf[e.key] {
			if err := w.s.Conf().Set(e.key, l.Conf[e.key]); err != nil {
				return nil, l.locate(err, e.pos)
			}
		}
	}
	changed := map[string]bool{}
	was := map[string]string{}
	for _, t := range old.Tables {
		was[t.Name.Value] = meaning(t)
	}
	for _, t := range l.Tables {
		if was[t.Name.Value] == meaning(t) {
			continue
		}
		changed[strings.ToLower(t.Name.Value)] = true
		made, err := l.makeTable(ctx, w.s, t, false)
		if err == nil && !made && !t.keepsItself() {
			err = l.addTable(ctx, w.s, t)
		}
		if err != nil {
			return nil, l.locate(err, t.Name.Pos)
		}
	}
	for _, s := range old.Sources {
		was[s.Name.Value] = meaning(s)
	}
	for _, s := range l.Sources {
		if was[s.Name.Value] == meaning(s) {
			continue
		}
		changed[strings.ToLower(s.Name.Value)] = true
		if err := l.addSource(w.s, s, false); err != nil {
			return nil, l.locate(err, s.Name.Pos)
		}
	}
	for _, v := range old.Views {
		was[v.Name.Value] = meaning(v)
	}
	for _, v := range l.Views { // in file order: a view may be made of those before it
		if was[v.Name.Value] == meaning(v) && !names(v.SQL.Value, changed) {
			continue
		}
		changed[strings.ToLower(v.Name.Value)] = true
		if err := l.addView(ctx, w.s, v); err != nil {
			return nil, l.locate(err, v.SQL.Pos)
		}
	}
	return changed, nil
}

// names tells whether a text of SQL has one of the names in it.
func names(text string, set map[string]bool) bool {
	for _, t := range sql.Lex(text) {
		if (t.Kind == sql.Word || t.Kind == sql.Quoted) && set[strings.ToLower(t.Text)] {
			return true
		}
	}
	return false
}

// redefinitions compares the queries that run with their definitions. The caller holds mu.
func (w *Workbench) redefinitions(ctx context.Context, old, l *Lab, changed map[string]bool) []Redefinition {
	was := map[string]string{}
	for _, q := range old.Queries {
		was[q.Name.Value] = meaning(q)
	}
	var out []Redefinition
	for _, q := range l.Queries {
		run := w.runs[q.Name.Value]
		if run == nil || !run.IsActive() {
			continue
		}
		if was[q.Name.Value] == meaning(q) && !names(q.SQL.Value, changed) {
			if !w.stale[q.Name.Value] {
				continue // it runs as it stands there; what an earlier text changed still counts
			}
		}
		if w.stale == nil {
			w.stale = map[string]bool{}
		}
		w.stale[q.Name.Value] = true
		r := Redefinition{Query: q.Name.Value}
		dw, path, err := l.writer(ctx, w.s, q)
		if err == nil {
			if q.ToTable.Value != "" {
				path = q.ToTable.Value
			}
			r.Changes, err = dw.RestartOf(run, pathOf(path)...)
		}
		if err != nil {
			r.Err = l.locate(err, l.blame(q, err))
		}
		out = append(out, r)
	}
	return out
}

// meaning writes a part of a lab without its places, so that equal text means an equal definition.
func meaning(v any) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(v))
	return b.String()
}

var posType = reflect.TypeOf(errs.Pos{})

func write(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil ")
			return
		}
		write(b, v.Elem())
	case reflect.Struct:
		b.WriteString("{")
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && f.Type != posType {
				b.WriteString(f.Name + ":")
				write(b, v.Field(i))
			}
		}
		b.WriteString("}")
	case reflect.Slice, reflect.Array:
		b.WriteString("[")
		for i := range v.Len() {
			write(b, v.Index(i))
		}
		b.WriteString("]")
	case reflect.Map:
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
		for _, k := range keys {
			fmt.Fprintf(b, "%q=", k.String())
			write(b, v.MapIndex(k))
		}
	default:
		fmt.Fprintf(b, "%#v ", v.Interface())
	}
}
