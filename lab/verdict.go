package lab

import (
	"context"
	"path/filepath"
	"strings"

	"streamlab/engine"
	"streamlab/errs"
)

// CheckText says everything about the text of a lab that can be said without starting anything: the problems
// in file order, each with fixes that were tried, and of each query which output modes it may run in. file is
// how the lab is named in places; relative paths start at its folder. It touches no checkpoint, may be called
// for a text that was never saved, and from several goroutines at once.
func CheckText(ctx context.Context, file string, text []byte, c engine.Config) *Report {
	r := &Report{}
	l, problems := examine(ctx, file, text, c, &r.Verdicts)
	r.Lab = l
	for _, p := range problems {
		if ctx.Err() != nil {
			break
		}
		p.Fixes = fixesOf(ctx, l, file, text, c, p, problems)
		r.Problems = append(r.Problems, p)
	}
	return r
}

// examine is CheckText without fixes; verdicts may be nil.
func examine(ctx context.Context, file string, text []byte, c engine.Config, verdicts *[]Verdict) (*Lab, []Problem) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, []Problem{{Error: errs.Wrap(err, "LAB_FILE_UNREADABLE", "path", file)}}
	}
	l, err := Parse(file, abs, text)
	var out []Problem
	if err != nil {
		for _, e := range Problems(err) {
			out = append(out, Problem{Error: e, Query: l.queryAt(e.Pos.Line)})
		}
		return l, out
	}
	return l, l.examine(ctx, c, verdicts)
}

// queryAt is the name of the query that the line belongs to.
func (l *Lab) queryAt(line int) string {
	if l == nil {
		return ""
	}
	name := ""
	if q, ok := l.root.entry("queries"); ok && line >= q.pos.Line {
		for _, q := range l.Queries {
			if q.Pos.Line <= line {
				name = q.Name.Value
			}
		}
	}
	for _, e := range l.root.keys { // a section behind the queries is not part of the last one
		if q, ok := l.root.entry("queries"); ok && e.pos.Line > q.pos.Line && e.pos.Line <= line {
			return ""
		}
	}
	return name
}

// verdict says which output modes a query may run in.
func (q Query) verdict(w *engine.DataStreamWriter, err error) Verdict {
	v := Verdict{Query: q.Name.Value, Pos: q.Name.Pos, Format: q.SinkName(), Mode: strings.ToLower(q.OutputMode.Value)}
	if v.Mode == "" {
		v.Mode = "append"
	}
	if err != nil {
		return v
	}
	for _, m := range w.Modes() {
		v.Modes = append(v.Modes, Mode{Name: m.Mode, Shape: asError(m.Shape), Sink: asError(m.Sink)})
	}
	v.Why = why(v)
	return v
}

// SinkName is what a query writes to, in one word: its format, foreachBatch or foreach; delta for a table.
func (q Query) SinkName() string {
	switch {
	case q.Statements != nil:
		return "foreachBatch"
	case q.Command != nil:
		return "foreach"
	case q.Format.Value != "":
		return strings.ToLower(q.Format.Value)
	case q.ToTable.Value != "":
		return "delta"
	}
	return "parquet"
}

func asError(err error) *errs.Error {
	if err == nil {
		return nil
	}
	if e := errs.As(err); e != nil {
		return e
	}
	return errs.Wrap(err, "INTERNAL_ERROR", "message", err.Error())
}

// why is the paragraph on the mode that a query asks for.
func why(v Verdict) string {
	for _, m := range v.Modes {
		if m.Name != v.Mode {
			continue
		}
		switch {
		case m.Shape != nil:
			return reasonOf(m.Shape)
		case m.Sink != nil:
			return reasonOf(m.Sink)
		}
	}
	switch v.Mode {
	default:
		return reasonOf(errs.New("STREAMING_OUTPUT_MODE.INVALID", "outputMode", v.Mode))
	case "append":
		return "Append sends a row once and never changes it."
	case "update":
		return "Update sends the rows that a micro-batch touched; a row comes again whenever it is touched again."
	case "complete":
		return "Complete sends the whole result in every micro-batch, and keeps all of it in state for ever."
	}
}
