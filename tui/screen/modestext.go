package screen

import (
	"regexp"
	"slices"
	"strings"

	"streamlab/internal/safe"
	"streamlab/tui/widget"
)

var modeNames = [3]safe.Line{"append", "update", "complete"}

var stampText = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?`)

// A stampCutter leaves out of timestamps what is the same in all of them: the day, and seconds that are none.
type stampCutter struct {
	day     string // "" if there are several
	seconds bool
}

func cutterOf(texts [][]string) stampCutter {
	var c stampCutter
	first := true
	for _, row := range texts {
		for _, cell := range row {
			for _, t := range stampText.FindAllString(cell, -1) {
				if first {
					c.day, first = t[:10], false
				}
				if t[:10] != c.day {
					c.day = ""
				}
				c.seconds = c.seconds || t[16:] != ":00"
			}
		}
	}
	return c
}

// cut shortens the timestamps of one cell.
func (c stampCutter) cut(s string) string {
	s = stampText.ReplaceAllStringFunc(s, func(t string) string {
		if c.day != "" && t[:10] == c.day {
			t = t[11:]
		}
		if !c.seconds {
			t = strings.TrimSuffix(t, ":00")
		}
		return t
	})
	return s
}

// firstEnd is the earliest end of a window among rows of state; "" if they have none.
func firstEnd(state [][]string) (end string) {
	for _, row := range state {
		for _, cell := range row {
			for _, part := range windowsIn(cell) {
				if end == "" || part < end {
					end = part
				}
			}
		}
	}
	return end
}

var windowEnd = regexp.MustCompile(`\{\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?, (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\}`)

func windowsIn(cell string) (ends []string) {
	for _, m := range windowEnd.FindAllStringSubmatch(cell, -1) {
		ends = append(ends, m[1])
	}
	return ends
}

// groupOf is the cells of a row that name its group.
func groupOf(info *ModesInfo, row []string) string {
	var out []string
	for i, c := range row {
		if i < len(info.Group) && info.Group[i] {
			out = append(out, c)
		}
	}
	return strings.Join(out, "\x00")
}

// valueOf is the other cells.
func valueOf(info *ModesInfo, row []string) string {
	var out []string
	for i, c := range row {
		if i >= len(info.Group) || !info.Group[i] {
			out = append(out, c)
		}
	}
	return strings.Join(out, " ")
}

// marks says of every row that a step sent whether its group is new, changed, or the same as when it was sent
// before; nil if rows have no groups.
func marks(info *ModesInfo, steps []ModesStep, at, mode int) []safe.Line {
	if info.Group == nil || mode == 0 {
		return nil
	}
	sent := map[string]string{}
	var out []safe.Line
	for i := 0; i <= at; i++ {
		out = out[:0]
		for _, b := range steps[i].Columns[mode].Batches {
			for _, r := range b.Rows {
				g, v := groupOf(info, r), valueOf(info, r)
				before, was := sent[g]
				switch {
				case !was:
					out = append(out, "new")
				case before == v:
					out = append(out, "same")
				default:
					out = append(out, "changed")
				}
				sent[g] = v
			}
		}
	}
	return out
}

func sentRows(c *ModesColumn) (rows [][]string) {
	for _, b := range c.Batches {
		rows = append(rows, b.Rows...)
	}
	return rows
}

func droppedOf(c *ModesColumn) (n int64) {
	for _, b := range c.Batches {
		n += b.Dropped
	}
	return n
}

// whyColumn says in a few sentences why a mode sent what it sent.
func whyColumn(info *ModesInfo, steps []ModesStep, at, mode int, cut stampCutter) safe.Line {
	c := &steps[at].Columns[mode]
	rows := sentRows(c)
	wm := safe.Text(cut.cut(c.Watermark), 40)
	n := int64(len(rows))
	switch mode {
	case 0:
		switch {
		case c.StateRows == 0 && n == 0 && droppedOf(c) == 0:
			return "Nothing to send."
		case c.StateRows == 0 && n > 0 && info.Group == nil:
			return "There is nothing to wait for: rows leave as they come."
		case n > 0 && wm != "":
			return "The watermark " + wm + " has passed the end of " + widget.Plural(n, "group") + ": they leave, once and for ever."
		case n > 0:
			return "Sends each row once, and never again."
		}
		if end := firstEnd(c.State); end != "" {
			t := "The first open window ends at " + safe.Text(cut.cut(end), 40) + ". "
			if wm == "" {
				return t + "There is no watermark yet, so append waits."
			}
			return t + "The watermark is " + wm + ", so append waits."
		}
		return widget.Plural(c.StateRows, "row") + " of state wait until the watermark lets them go."
	case 1:
		var t safe.Line
		switch {
		case n == 0 && droppedOf(c) == 0:
			t = "Nothing changed, so nothing is sent."
		case info.Group == nil:
			t = "Without groups it sends each row once, as append does."
		case n > 0:
			t = "Sends what changed: " + widget.Plural(n, "group") + "."
		}
		if d := droppedOf(c); d > 0 {
			t += " " + tooLate(d) + "."
		} else if lateIn(info, at) && n > 0 {
			t += " The row that is out of order counts: its window was open."
		}
		return safe.Line(strings.TrimSpace(string(t)))
	}
	return "Sends the whole result every time. It drops nothing and lets no state go: " + widget.Plural(c.StateRows, "row") + " now."
}

// orderOf says of the rows of an input what their time makes of them, "" of most: a row is late when it was dropped.
// One whose window is still open under the watermark is only out of order. Where the step dropped fewer than there
// are rows behind the watermark, the oldest were dropped; of the others no more is known than where they are.
func orderOf(in *ModesInput, step ModesStep) []safe.Line {
	out := make([]safe.Line, len(in.Rows))
	dropped, mark := int64(0), ""
	for i := range step.Columns {
		c := &step.Columns[i]
		dropped = max(dropped, droppedOf(c))
		for _, b := range c.Batches {
			if b.Dropped > 0 {
				mark = max(mark, b.Watermark)
			}
		}
	}
	time := func(k int) string {
		if k < len(in.Times) {
			return in.Times[k]
		}
		return ""
	}
	var behind []int
	for k := range in.Rows {
		if !in.Late[k] {
			continue
		}
		out[k] = "out of order"
		if dropped > 0 && (mark == "" || time(k) <= mark) {
			behind = append(behind, k)
		}
	}
	slices.SortStableFunc(behind, func(a, b int) int { return strings.Compare(time(a), time(b)) })
	for i, k := range behind {
		if out[k] = "late"; int64(i) >= dropped {
			out[k] = "behind the watermark"
		}
	}
	return out
}

func lateIn(info *ModesInfo, at int) bool {
	for _, l := range info.Inputs[at].Late {
		if l {
			return true
		}
	}
	return false
}

// notice says what is worth seeing after an input: the difference between the columns, from the rows themselves.
func notice(info *ModesInfo, steps []ModesStep, at int, cut stampCutter) []safe.Line {
	var out []safe.Line
	add := func(l safe.Line) { out = append(out, l) }
	app, upd, com := &steps[at].Columns[0], &steps[at].Columns[1], &steps[at].Columns[2]
	for i, c := range steps[at].Columns {
		if c.Err != nil {
			add(modeNames[i] + " failed here: " + text(c.Err.Condition) + ".")
		}
	}
	if d := max(droppedOf(app), droppedOf(upd)); d > 0 {
		l := tooLate(d) + " by append and update: the watermark had passed before this input."
		if info.Refused[2] == nil && com.Err == nil {
			l += " Complete counts what comes, however old."
		}
		add(l)
	} else if m := marks(info, steps, at, 1); m != nil && info.Refused[1] == nil {
		// Of the groups that changed, the one with most answers shows it best.
		best, answers := "", []string(nil)
		for i, r := range sentRows(upd) {
			if m[i] != "changed" {
				continue
			}
			g := groupOf(info, r)
			var all []string
			for _, s := range steps[:at+1] {
				for _, x := range sentRows(&s.Columns[1]) {
					if groupOf(info, x) == g {
						all = append(all, valueOf(info, x))
					}
				}
			}
			if len(all) > len(answers) {
				best, answers = g, all
			}
		}
		if answers != nil {
			add("This input changed a group that update had sent already. A sink that cannot overwrite now holds " +
				widget.Plural(int64(len(answers)), "answer") + " for (" + safe.Text(cut.cut(strings.ReplaceAll(best, "\x00", ", ")), 60) + "): " +
				safe.Text(strings.Join(answers, ", "), 60) + ".")
		}
	}
	if n := int64(len(sentRows(app))); n > 0 && app.StateRows+int64(at) > 0 && info.Group != nil {
		last := &app.Batches[len(app.Batches)-1]
		if last.NoData && len(last.Rows) > 0 {
			add("Append sent " + widget.Plural(n, "row") + " in a batch without rows: the watermark had moved, and a batch more was needed to use it.")
		} else {
			add("Append sent " + widget.Plural(n, "row") + ": final, whatever comes now.")
		}
	} else if noData(app) || noData(upd) {
		add("A batch without rows ran, because the watermark had moved. Complete runs none: it has no use for a watermark.")
	}
	if len(out) == 0 {
		add("Look at what each column sent, and at what it keeps.")
	}
	return out
}

// tooLate says how many late groups or rows were dropped.
func tooLate(n int64) safe.Line {
	if n == 1 {
		return "1 was too late and dropped"
	}
	return widget.Count(n) + " were too late and dropped"
}

func noData(c *ModesColumn) bool {
	for _, b := range c.Batches {
		if b.NoData {
			return true
		}
	}
	return false
}
