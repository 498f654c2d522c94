//go:build cgo

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"streamlab/engine"
	"streamlab/store"
	"streamlab/tui/screen"
)

// progressFacts is what is read of a stored progress report.
type progressFacts struct {
	RunID     string    `json:"runId"`
	Timestamp time.Time `json:"timestamp"`
	Duration  int64     `json:"batchDuration"`
	Durations map[string]int64
	Sources   []struct {
		Rows int64 `json:"numInputRows"`
	} `json:"sources"`
	Operators []struct {
		Name string `json:"operatorName"`
		Rows int64  `json:"numRowsTotal"`
	} `json:"stateOperators"`
}

func progressAt(cp *store.Checkpoint, n int64) (p progressFacts, ok bool) {
	raw, ok := cp.Progress(n)
	return p, ok && json.Unmarshal(raw, &p) == nil
}

// retried says that a batch was run again by a later run than the one that logged it: the run of its report
// began after its offsets were written, and it is the first batch of that run.
func retried(cp *store.Checkpoint, n int64) bool {
	p, ok := progressAt(cp, n)
	if !ok {
		return false
	}
	o, ok, err := cp.Offsets(n)
	if err != nil || !ok || o.BatchTimestampMs >= p.Timestamp.UnixMilli() {
		return false
	}
	before, ok := progressAt(cp, n-1)
	return n == 0 || ok && before.RunID != p.RunID
}

// batchMarksAfter are the batches of a checkpoint as its strip shows them. known are those that were told
// before, of which the committed ones are not read again.
func batchMarksAfter(cp *store.Checkpoint, known []screen.BatchMark) (marks []screen.BatchMark, err error) {
	first, last := cp.Retained()
	have := map[int64]screen.BatchMark{}
	for _, m := range known {
		if m.Commit && m.ID < last { // the report of the newest may be missing still
			have[m.ID] = m
		}
	}
	for n := max(first, 0); n <= last; n++ {
		m, ok := have[n]
		if !ok {
			w, committed, err := cp.Written(n)
			if err != nil {
				return nil, err
			}
			m = screen.BatchMark{ID: n, Offsets: true, Commit: committed, Bases: w.Bases > 0, Retried: retried(cp, n)}
		}
		marks = append(marks, m)
	}
	if _, pending := cp.Pending(); pending {
		marks = append(marks, screen.BatchMark{ID: newest(cp), Offsets: true})
	}
	return marks, nil
}

// batchFacts is what a checkpoint holds of a batch. sources name the occurrences of sources in the query;
// they are numbered where there is no name.
func batchFacts(cp *store.Checkpoint, sources []string, n int64) (*screen.CheckpointBatch, error) {
	o, ok, err := cp.Offsets(n)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, noBatch(cp, n)
	}
	x := &screen.CheckpointBatch{ID: n, Written: timeOf(o.BatchTimestampMs), OffsetsText: o.Text(), StateVersion: -1}
	var before []string
	if prev, ok, err := cp.Offsets(n - 1); err == nil && ok {
		before = prev.Offsets
		if prev.BatchWatermarkMs > 0 {
			x.LateBefore = timeOf(prev.BatchWatermarkMs)
		}
	}
	if o.BatchWatermarkMs > 0 {
		x.ClosesUpTo = timeOf(o.BatchWatermarkMs)
	}
	p, reported := progressAt(cp, n)
	if plan, err := planOf(cp); len(sources) == 0 && err == nil && len(plan.Sources) == len(o.Offsets) {
		sources = plan.Sources
	}
	for i, end := range o.Offsets {
		s := screen.SourceOffset{Source: fmt.Sprintf("source %d", i), End: end, Rows: -1}
		if i < len(sources) {
			s.Source = sources[i]
		}
		if i < len(before) {
			s.Start = before[i]
		}
		if reported && len(p.Sources) == len(o.Offsets) { // a report tells of relations, the log of their occurrences
			s.Rows = p.Sources[i].Rows
		}
		x.Sources = append(x.Sources, s)
	}
	for k, v := range o.Conf {
		x.Conf = append(x.Conf, screen.KeyValue{Key: k, Value: v})
	}
	slices.SortFunc(x.Conf, func(a, b screen.KeyValue) int { return strings.Compare(a.Key, b.Key) })
	if c, ok, err := cp.Commits(n); err != nil {
		return nil, err
	} else if ok {
		x.HasCommit, x.CommitText, x.StateVersion = true, c.Text(), n+1
		if reported && p.Duration > 0 {
			x.Committed = p.Timestamp.Add(time.Duration(p.Duration) * time.Millisecond)
		}
	}
	return x, nil
}

// timeJSON is a time as JSON has it; nil for none.
func timeJSON(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(engine.TimestampLayout)
}

// partWords are the numbers of an offset and by how much a batch moved them: "p0 4,675,028 (+124,780)". The
// name of a topic is left out where there is but one.
func partWords(before, after string) (words []string) {
	parts := engine.OffsetParts(before, after)
	topics := map[string]bool{}
	for _, p := range parts {
		topic, partition, ok := strings.Cut(p.Name, " ")
		if _, err := strconv.Atoi(partition); !ok || err != nil {
			topic = p.Name
		}
		topics[topic] = true
	}
	for _, p := range parts {
		w := grouped(p.After)
		if _, partition, ok := strings.Cut(p.Name, " "); ok && len(topics) == 1 {
			w = "p" + partition + " " + w
		} else if p.Name != "" {
			w = p.Name + " " + w
		}
		words = append(words, fmt.Sprintf("%s (%s)", w, signed(p.After-p.Before)))
	}
	return words
}

// showTable prints a batch for the eye.
func (x *looking) showTable(b *screen.CheckpointBatch, f *engine.Forecast) error {
	a := x.a
	line := func(label, format string, args ...any) {
		fmt.Fprintf(a.out, "%-10s %s\n", label, oneLine(fmt.Sprintf(format, args...)))
	}
	clock := func(t time.Time) string { return a.clock(t) }
	line("batch", "%d of %s", b.ID, x.query)
	line("offsets", "written %s", clock(b.Written))
	for _, s := range b.Sources {
		start := s.Start
		if start == "" {
			start = "the beginning"
		}
		rows := ""
		if s.Rows >= 0 {
			rows = fmt.Sprintf(", %s rows", grouped(s.Rows))
		}
		line("", "%s: %s to %s%s", s.Source, start, s.End, rows)
	}
	switch {
	case b.ClosesUpTo.IsZero():
		line("watermark", "none")
	case b.LateBefore.IsZero():
		line("watermark", "closes up to %s, no row is late", clock(b.ClosesUpTo))
	default:
		line("watermark", "closes up to %s, late before %s", clock(b.ClosesUpTo), clock(b.LateBefore))
	}
	switch {
	case !b.HasCommit:
		line("commit", "not written")
	case b.Committed.IsZero():
		line("commit", "written")
	default:
		line("commit", "written %s", clock(b.Committed))
	}
	if _, last := x.cp.Retained(); b.StateVersion >= 0 {
		line("state", "version %d", b.StateVersion)
	} else {
		line("state", "none of batch %d, newest is version %d", b.ID, last+1)
	}
	if a.output == "wide" {
		for _, kv := range b.Conf {
			line("setting", "%s = %s", kv.Key, kv.Value)
		}
	}
	list, err := x.cp.Audits()
	if err != nil {
		return err
	}
	for _, n := range list {
		line(n.Action, "%s to batch %d; batches %d to %d were given up; the folder as it was: %s", clock(n.Time), n.Batch, n.From, n.To, n.Kept)
	}
	if f != nil {
		for i, l := range f.Lines {
			label := ""
			if i == 0 {
				label = "restart"
			}
			line(label, "%s", l)
		}
	}
	return nil
}

// clock writes a time for the eye, local unless --time says otherwise.
func (a *app) clock(t time.Time) string {
	if a.time == "utc" {
		return t.UTC().Format("2006-01-02 15:04:05.000Z")
	}
	return t.Local().Format("2006-01-02 15:04:05.000")
}

// grouped writes a number with thousands separators.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func signed(n int64) string {
	if n < 0 {
		return grouped(n)
	}
	return "+" + grouped(n)
}
