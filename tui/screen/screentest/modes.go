package screentest

import (
	"context"

	"streamlab/errs"
	"streamlab/tui/screen"
)

// modesRun plays the worked example of three modes: counts by ten-minute window and key, ten minutes of delay.
type modesRun struct {
	info screen.ModesInfo
	fed  int
}

// Modes implements screen.ModesBench with fixed answers; orders_dedup cannot run in complete mode.
func (b *Bench) Modes(_ context.Context, query string, o screen.ModesOptions) (screen.ModesRun, error) {
	if query == "late_events" {
		return nil, errs.New("LAB_NO_SAMPLE", "query", query, "reason", "its sources have no rows now")
	}
	r := &modesRun{info: screen.ModesInfo{Query: query, Names: []string{"window", "key", "n"}, Group: []bool{true, true, false},
		SQL:    "SELECT window.start AS window, key, count(*) AS n\nFROM events GROUP BY window(ts, '10 minutes'), key",
		Delays: []string{"10 minutes"}}}
	if query == "orders_dedup" {
		r.info.Refused[2] = errs.New("STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "outputMode", "complete", "operation", "no streaming aggregations")
	}
	in := func(rows ...[]string) screen.ModesInput {
		x := screen.ModesInput{Rows: rows, Late: make([]bool, len(rows))}
		return x
	}
	at := func(t string) string { return "2026-01-05 " + t + ":00" }
	r.info.Inputs = []screen.ModesInput{
		in([]string{at("12:01"), "a"}, []string{at("12:02"), "a"}, []string{at("12:03"), "b"}),
		in([]string{at("12:06"), "a"}, []string{at("12:11"), "b"}),
		in([]string{at("12:19"), "b"}, []string{at("12:04"), "a"}),
		in([]string{at("12:25"), "b"}),
		in([]string{at("12:05"), "a"}),
	}
	r.info.Inputs[2].Late[1], r.info.Inputs[4].Late[0] = true, true
	if o.Late {
		r.info.Inputs = append(r.info.Inputs, in([]string{at("12:01"), "a"}))
	}
	return r, nil
}

// Info implements screen.ModesRun, as does Feed.
func (r *modesRun) Info() screen.ModesInfo { return r.info }

func (r *modesRun) Feed(context.Context) (screen.ModesStep, bool, error) {
	if r.fed >= min(5, len(r.info.Inputs)) {
		return screen.ModesStep{}, false, nil
	}
	i := r.fed
	r.fed++
	at := func(t string) string { return "2026-01-05 " + t + ":00" }
	row := func(w, k, n string) []string { return []string{at(w), k, n} }
	state := func(w, end, k, n string) []string {
		return []string{"{{" + at(w) + ", " + at(end) + "}, " + k + "}", "{" + n + "}"}
	}
	type rows = [][]string
	sent := [5][3]rows{
		{nil, {row("12:00", "a", "2"), row("12:00", "b", "1")}, {row("12:00", "a", "2"), row("12:00", "b", "1")}},
		{nil, {row("12:00", "a", "3"), row("12:10", "b", "1")}, {row("12:00", "a", "3"), row("12:00", "b", "1"), row("12:10", "b", "1")}},
		{nil, {row("12:10", "b", "2"), row("12:00", "a", "4")}, {row("12:00", "a", "4"), row("12:00", "b", "1"), row("12:10", "b", "2")}},
		{nil, {row("12:20", "b", "1")}, {row("12:00", "a", "4"), row("12:00", "b", "1"), row("12:10", "b", "2"), row("12:20", "b", "1")}},
		{nil, nil, {row("12:00", "a", "5"), row("12:00", "b", "1"), row("12:10", "b", "2"), row("12:20", "b", "1")}},
	}
	marks := [5]string{"11:53", "12:01", "12:09", "12:15", "12:15"}
	var step screen.ModesStep
	for m := range step.Columns {
		c := &step.Columns[m]
		c.Batches = []screen.ModesBatch{{Batch: int64(i), Rows: sent[i][m]}}
		if i > 0 {
			c.Batches[0].Watermark = at(marks[i-1])
		}
		c.State = rows{state("12:00", "12:10", "a", "4"), state("12:00", "12:10", "b", "1"), state("12:10", "12:20", "b", "2")}[:min(3, i+2)]
		if i >= 3 && m < 2 {
			c.State = rows{state("12:10", "12:20", "b", "2"), state("12:20", "12:30", "b", "1")}
		}
		c.StateRows, c.Watermark = int64(len(c.State)), at(marks[i])
		if i == 3 && m < 2 {
			last := screen.ModesBatch{Batch: 4, NoData: true, Watermark: at(marks[i])}
			if m == 0 {
				last.Rows = rows{row("12:00", "a", "4"), row("12:00", "b", "1")}
			}
			c.Batches = append(c.Batches, last)
		}
		if i == 4 && m < 2 {
			c.Batches[0].Dropped = 1
		}
	}
	return step, true, nil
}

// Predicted implements screen.Predictor, as does Score.
func (b *Bench) Predicted(p screen.Prediction) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Predictions = append(b.Predictions, p)
	return nil
}

func (b *Bench) Score() (right, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.Predictions {
		if !p.Open {
			total++
			if p.Right {
				right++
			}
		}
	}
	return right, total
}
