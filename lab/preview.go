package lab

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/engine"
	"streamlab/sql/types"
)

// A Preview is a closer look at one query of a lab's text.
type Preview struct {
	Outline []string // operators in the order that rows pass them, the sink last
	Schema  types.Schema
	Rows    []arrow.RecordBatch // the first rows of a dry run; nil without one
	Err     error               // why there are none; nil if there are
}

// PreviewQuery works out plan and schema of a query from the text of a lab; with rows > 0 it also runs the
// query over what its first micro-batch would read, as a batch and into nothing. It touches no checkpoint and
// no sink. Errors: LAB_NO_QUERY; those of the text and of the query's SQL.
func PreviewQuery(ctx context.Context, file string, text []byte, c engine.Config, query string, rows int) (*Preview, error) {
	l, err := Parse(file, file, text)
	if err != nil {
		return nil, err
	}
	q, err := (&Workbench{Lab: l}).Find(query)
	if err != nil {
		return nil, err
	}
	if l, err = l.embed(ctx); err != nil {
		return nil, err
	}
	s, broken, problems := l.build(ctx, c, true)
	if s == nil {
		return nil, errors.Join(problems...)
	}
	defer s.Close()
	df, err := s.SQL(ctx, q.SQL.Value)
	if err != nil {
		if broken.explains(err) && len(problems) > 0 {
			return nil, problems[0]
		}
		return nil, l.locateText(err, q.SQL)
	}
	p := &Preview{Schema: df.Schema()}
	var depth int
	p.Outline, depth = df.Outline()
	p.Outline = append(p.Outline, engine.Indented(depth, q.sinkLine()))
	if rows > 0 {
		p.Rows, p.Err = dryRun(ctx, s, q, rows)
	}
	return p, nil
}

// sinkLine is "sink delta out/clicks".
func (q Query) sinkLine() string {
	to := q.Path.Value
	if q.ToTable.Value != "" {
		to = q.ToTable.Value
	} else if to == "" {
		to = q.Options["path"].Value
	}
	return strings.TrimSpace("sink " + q.SinkName() + " " + to)
}

// dryRun runs a query over its first micro-batch.
func dryRun(ctx context.Context, s *engine.Session, q Query, rows int) ([]arrow.RecordBatch, error) {
	ctx, cancel := context.WithCancel(ctx) // sources that are read close with it
	defer cancel()
	first, err := s.FirstBatch()
	if err != nil {
		return nil, err
	}
	df, err := first.SQL(ctx, q.SQL.Value)
	if err != nil {
		return nil, err
	}
	list, _, err := df.Head(ctx, rows)
	return list, err
}

// Lines are the first and last line of the text that belongs to each query of a lab, by queryName.
func (l *Lab) Lines() map[string][2]int {
	out := map[string][2]int{}
	lines := strings.Split(string(l.data), "\n")
	for i, q := range l.Queries {
		last := len(lines)
		if i+1 < len(l.Queries) {
			last = l.Queries[i+1].Pos.Line - 1
		}
		for n := q.Pos.Line; n < last; n++ { // lines[n] is the line after number n
			if t := lines[n]; t != "" && t[0] != ' ' && t[0] != '#' && t[0] != '-' && t[0] != '\t' {
				last = n
				break
			}
		}
		for last > q.Pos.Line && strings.TrimSpace(lines[last-1]) == "" {
			last--
		}
		out[q.Name.Value] = [2]int{q.Pos.Line, last}
	}
	return out
}

// SinkModes is what the kinds of sinks accept.
type SinkModes struct {
	Sink  string
	Modes []string
}

// Accepts lists what each kind of sink accepts, in the order to show it.
func Accepts() []SinkModes {
	out := []SinkModes{}
	for _, name := range []string{"console", "memory", "json", "delta", "kafka"} {
		for _, f := range engine.AllFormats().Sinks {
			if f.Name != name {
				continue
			}
			m := SinkModes{Sink: name}
			if name == "json" {
				m.Sink = "file"
			}
			for _, x := range f.Modes {
				m.Modes = append(m.Modes, string(x))
			}
			out = append(out, m)
		}
	}
	return append(out, SinkModes{"foreachBatch", []string{"append", "update", "complete"}})
}
