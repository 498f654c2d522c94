package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"streamlab/engine/exec"
)

// TimeText prints a time, epoch microseconds.
type TimeText func(us int64) string

// UTC is the one for outputs that machines read: RFC 3339.
func UTC(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02T15:04:05.999999Z") }

// A Reason is one thing to say of a row: a word and a sentence.
type Reason struct{ About, Text string }

// stageName is how a reason names a stage.
func (t *Trace) stageName(i int) string {
	if i < 0 {
		return "the sink"
	}
	s := &t.Stages[i]
	if s.Kind == "sink" {
		return "the sink"
	}
	return fmt.Sprintf("%d %s", i+1, s.Kind)
}

// moved says which batch moved a watermark.
func moved(batch int64) string {
	if batch < 0 {
		return ""
	}
	return fmt.Sprintf(", where batch %d moved it", batch)
}

// Fate says what became of a kept row; i is its place among those of its stage.
func (t *Trace) Fate(stage, i int, clock TimeText) string {
	s := &t.Stages[stage]
	r := &s.Rows[i]
	next := t.Next(stage)
	name := t.stageName(next)
	until := func() string {
		if r.Until == exec.Never || r.Until == 0 {
			return ""
		}
		return " until the watermark passes " + clock(r.Until) + t.now(stage, clock)
	}
	switch r.Fate {
	case exec.FatePassed:
		return "goes on to " + name
	case exec.FateSent:
		return "sent to the sink"
	case exec.FateFiltered:
		return "left out: " + strings.TrimPrefix(t.Stages[next].Detail, "Filter ") + " is not true"
	case exec.FateLate:
		b := &t.Stages[next]
		by := t.LateMovedBy
		if b.Late != t.LateMs*1000 {
			by = -1 // the bound of a stage behind a join follows it at a distance
		}
		if by < 0 {
			return fmt.Sprintf("dropped as late by %s: %s is not after the late bound %s", name, clock(r.Time), clock(b.Late))
		}
		return fmt.Sprintf("dropped as late by %s: %s is not after the late bound %s, where batch %d moved it", name, clock(r.Time), clock(b.Late), by)
	case exec.FateDuplicate:
		if r.Into.Stage < 0 {
			return "duplicate: " + name + " has seen its key in an earlier batch"
		}
		return fmt.Sprintf("duplicate: row %d of this batch came first with its key", r.Into.N+1)
	case exec.FateMerged:
		if g := t.group(r.Into); g != "" {
			return "merged into " + g
		}
		return fmt.Sprintf("merged into group %d of %s", r.Into.N+1, name)
	case exec.FateMatched:
		return "matched by " + name
	case exec.FateWaiting:
		if u := until(); u != "" {
			return "no partner yet: " + name + " keeps it" + u
		}
		return "no partner yet: " + name + " keeps it, for no watermark ends its time"
	case exec.FateUnmatched:
		return "no partner in " + name
	case exec.FateNullKey:
		return "left out by " + name + ": a null key matches nothing"
	case exec.FateHeld:
		if u := until(); u != "" {
			return "held back" + u
		}
		return "held back: it has no event time, so no watermark closes it"
	case exec.FateBeyond:
		return "left out: behind the limit"
	case exec.FateNoTime:
		return "left out: without a time it is in no " + t.Stages[next].Kind
	case exec.FateEmpty:
		return "left out: it gives no row to " + name
	case exec.FateGiven:
		return "given to the code of its key"
	case exec.FateRead:
		return "read by " + name
	}
	return ""
}

// now says where the watermark that closes a stage's groups stands, and how far it has to go is for the reader.
func (t *Trace) now(stage int, clock TimeText) string {
	if t.EvictMs == 0 {
		return " (there is none yet)"
	}
	return " (now " + clock(t.EvictMs*1000) + ")"
}

// group prints a kept group with what it was and is; "" if it is not kept.
func (t *Trace) group(r Ref) string {
	i := t.Row(r)
	if i < 0 {
		return ""
	}
	text := t.key(r.Stage, t.Cells(r.Stage)[i])
	if change := t.Change(r.Stage, i); change != "" {
		text += "  " + change
	}
	return text
}

// key prints the key of a group of a stage.
func (t *Trace) key(stage int, cells []string) string {
	s := &t.Stages[stage]
	out := make([]string, s.Keys)
	for i := range out {
		out[i] = t.Cell(s.Schema[i].Type, cells[i])
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// Change prints the results of a group before and after the batch: "18064 → 18221", or "new → 1". "" for rows
// that are no groups, and for groups without results.
func (t *Trace) Change(stage, i int) string {
	s := &t.Stages[stage]
	if s.Keys == 0 || s.Before == nil {
		return ""
	}
	after := t.Cells(stage)[i][s.Keys:]
	if len(after) == 0 {
		return ""
	}
	was := "?"
	switch {
	case s.Rows[i].New:
		was = "new"
	case s.Rows[i].Known:
		was = t.results(stage, t.Before(stage)[i])
	}
	return was + " → " + t.results(stage, t.Cells(stage)[i])
}

// results prints what a group amounts to: "18,221", or with their names "count(1) 23, sum(value) 2,425,626" if there
// is more than one result.
func (t *Trace) results(stage int, cells []string) string {
	s := &t.Stages[stage]
	out := make([]string, 0, len(cells)-s.Keys)
	for c := s.Keys; c < len(cells); c++ {
		text := t.Cell(s.Schema[c].Type, cells[c])
		if s.Schema[c].Type.IsNumeric() {
			text = grouped(text)
		}
		if len(cells)-s.Keys > 1 {
			text = s.Schema[c].Name + " " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// grouped puts separators between the thousands of a number's text; other texts stay.
func grouped(text string) string {
	whole, rest := text, ""
	if i := strings.IndexByte(text, '.'); i >= 0 {
		whole, rest = text[:i], text[i:]
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || whole != strconv.FormatInt(n, 10) {
		return text
	}
	return thousands(n) + rest
}

// Why explains a kept row of a stage: how it came, what became of it and why now or when.
func (t *Trace) Why(stage, i int, clock TimeText) []Reason {
	s := &t.Stages[stage]
	r := &s.Rows[i]
	var out []Reason
	say := func(about, format string, args ...any) {
		out = append(out, Reason{about, fmt.Sprintf(format, args...)})
	}
	if s.Keys > 0 {
		cells := t.Cells(stage)[i]
		say("state key", "%s", t.key(stage, cells))
		if len(cells) > s.Keys {
			switch {
			case r.New:
				say("before", "none: the group is new")
			case r.Known:
				say("before", "%s", t.results(stage, t.Before(stage)[i]))
			}
			say("after", "%s", t.results(stage, cells))
		}
	}
	if r.FromAll > 0 {
		say("came from", "%s", t.origins(r))
	} else if s.Keys > 0 {
		say("came from", "no row of this batch")
	}
	if s.Keys > 0 && s.Operator >= 0 {
		out = append(out, t.emission(s, r, clock)...)
	}
	say("then", "%s", t.Fate(stage, i, clock))
	if len(s.Below) > 0 && s.Evict > 0 {
		if r.Fate == exec.FateHeld || r.Fate == exec.FateLate {
			say("watermark", "late at or before %s, closed up to %s%s", clock(s.Late), clock(s.Evict), moved(t.EvictMovedBy))
		}
	}
	return out
}

// origins names the rows that a row was made of: each of a few, else how many of which stage.
func (t *Trace) origins(r *exec.TraceRow) string {
	var parts []string
	if r.FromAll <= 2 {
		for _, f := range r.From {
			if f.Stage < 0 {
				parts = append(parts, "a row stored by an earlier batch")
			} else {
				parts = append(parts, fmt.Sprintf("row %d of %s", f.N+1, t.stageName(f.Stage)))
			}
		}
		return strings.Join(parts, " and ")
	}
	count := map[int]int64{}
	var order []int
	for _, f := range r.From {
		if count[f.Stage] == 0 {
			order = append(order, f.Stage)
		}
		count[f.Stage]++
	}
	if len(order) == 1 {
		count[order[0]] = r.FromAll // more than were listed
	}
	for _, stage := range order {
		if stage < 0 {
			parts = append(parts, plural(count[stage], "row")+" stored by an earlier batch")
		} else {
			parts = append(parts, plural(count[stage], "row")+" of "+t.stageName(stage))
		}
	}
	return strings.Join(parts, " and ")
}

// emission says why a group of state was emitted, or was not.
func (t *Trace) emission(s *exec.TraceStage, r *exec.TraceRow, clock TimeText) (out []Reason) {
	say := func(about, format string, args ...any) {
		out = append(out, Reason{about, fmt.Sprintf(format, args...)})
	}
	timed := r.Until != 0 && r.Until != exec.Never
	session := s.Kind == "aggregate" && t.Mode == "update" && !r.Emitted
	switch {
	case !r.Emitted:
		if timed {
			say("emitted", "not yet: %s the watermark passes %s%s", map[bool]string{true: "a session waits until", false: "append mode waits until"}[session],
				clock(r.Until), t.now(s.Number, clock))
		} else {
			say("emitted", "no: append mode needs an event time that a watermark can pass")
		}
	case t.Mode == "complete":
		say("emitted", "yes: complete mode sends every group in every batch")
	case t.Mode == "update":
		say("emitted", "yes: update mode sends every group that changed in this batch")
		if timed && r.Until > s.Evict {
			say("in append", "not yet: it waits until the watermark passes %s%s", clock(r.Until), t.now(s.Number, clock))
		} else if timed {
			say("in append", "now: the watermark has passed %s", clock(r.Until))
		}
	default:
		say("emitted", "yes: the watermark is at %s%s, so the group is complete", clock(s.Evict), moved(t.EvictMovedBy))
	}
	return out
}

func plural(n int64, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", thousands(n), what)
}

func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// sameDay is to without its date where from has the same one, so that a move of the watermark fits a column.
func sameDay(from, to string) string {
	const date = len("2006-01-02 ")
	if len(from) > date && len(to) > date && from[:date] == to[:date] {
		return to[date:]
	}
	return to
}

// Note says the most notable thing of a stage in few words; "" if there is nothing to say.
func (t *Trace) Note(stage int, clock TimeText) string {
	s := &t.Stages[stage]
	var parts []string
	lost := func(f exec.Fate, one, many string) {
		n := int64(0)
		for _, b := range s.Below {
			n += t.Stages[b].Fates[f]
		}
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, thousands(n)+" "+many)
		}
	}
	switch s.Kind {
	case "source":
		k := 0
		for i := range stage {
			if t.Stages[i].Kind == "source" {
				k++
			}
		}
		if k < len(t.Offsets) {
			from, to := t.Offsets[k][0], t.Offsets[k][1]
			if from == "" {
				from = "the beginning"
			}
			parts = append(parts, "offsets "+bareOffset(from)+" → "+bareOffset(to))
		}
		if s.Skipped {
			parts = append(parts, "with the rows that are filtered while it reads, which Spark does not count")
		}
	case "event time":
		if t.NextMs > 0 {
			from, to := clock(t.EvictMs*1000), clock(t.NextMs*1000)
			parts = append(parts, "watermark "+from+" → "+sameDay(from, to))
			if t.EvictMs == 0 {
				parts = []string{"watermark → " + clock(t.NextMs*1000)}
			} else if t.NextMs == t.EvictMs {
				parts = []string{"watermark stays at " + clock(t.NextMs*1000)}
			}
		}
	}
	lost(exec.FateLate, "late row dropped", "late rows dropped")
	lost(exec.FateDuplicate, "duplicate", "duplicates")
	lost(exec.FateNullKey, "null key", "null keys")
	lost(exec.FateWaiting, "row waits for a partner", "rows wait for a partner")
	lost(exec.FateBeyond, "behind the limit", "behind the limit")
	lost(exec.FateNoTime, "without a time", "without a time")
	if n := s.Fates[exec.FateHeld]; n > 0 {
		parts = append(parts, thousands(n)+" held back")
	}
	if s.StateHad >= 0 && s.State >= 0 && s.Operator >= 0 {
		what := "keys"
		if s.Kind == "join" {
			what = "stored rows"
		}
		parts = append(parts, fmt.Sprintf("%s → %s %s", thousands(s.StateHad), thousands(s.State), what))
	}
	return strings.Join(parts, ", ")
}

// bareOffset is an offset for the eye: of a file source its number alone, without the JSON around it.
func bareOffset(o string) string {
	if n, ok := strings.CutPrefix(o, `{"logOffset":`); ok {
		return strings.TrimSuffix(n, "}")
	}
	return o
}
