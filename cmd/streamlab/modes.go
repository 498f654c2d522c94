//go:build cgo

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"streamlab/errs"
	"streamlab/lab"
	"streamlab/tui/screen"
)

// modesRun is a comparison behind the screen of output modes.
type modesRun struct {
	c   *lab.Comparison
	dir string
}

// Modes implements screen.ModesBench.
func (b *localLab) Modes(ctx context.Context, query string, o screen.ModesOptions) (screen.ModesRun, error) {
	b.mu.Lock()
	old := b.modes
	b.modes = nil
	b.mu.Unlock()
	if old != nil {
		if err := old.close(); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "streamlab-modes-")
	if err != nil {
		return nil, err
	}
	// The runs outlive the key that started them; what they read first ends by itself.
	c, err := lab.Compare(context.WithoutCancel(ctx), b.w.Lab, query, compareOptions(o, dir, b.conf))
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	r := &modesRun{c, dir}
	b.mu.Lock()
	b.modes = r
	b.mu.Unlock()
	return r, nil
}

func compareOptions(o screen.ModesOptions, dir string, conf map[string]string) lab.CompareOptions {
	x := lab.CompareOptions{Split: o.Split, Late: o.Late, Delay: o.Delay, Sink: o.Sink, Dir: dir, Conf: conf}
	if o.Hurried {
		x.Pace = "hurried"
	}
	return x
}

func (r *modesRun) close() error {
	err := r.c.Close()
	os.RemoveAll(r.dir)
	return err
}

// Info implements screen.ModesRun, as does Feed.
func (r *modesRun) Info() screen.ModesInfo {
	c := r.c
	info := screen.ModesInfo{Query: c.Query, SQL: c.SQL, Names: c.Names, Group: c.Group, Delays: c.Delays, Sample: c.Sample()}
	for i, col := range c.Columns {
		if col.Refused != nil {
			info.Refused[i] = asError(col.Refused)
		}
	}
	for _, in := range c.Inputs {
		var x screen.ModesInput
		for _, p := range in.Pushes {
			for k, row := range p.Rows {
				if len(in.Pushes) > 1 {
					row = append([]string{p.Source + ":"}, row...)
				}
				x.Rows, x.Late = append(x.Rows, row), append(x.Late, p.Late[k])
				t := ""
				if k < len(p.Times) {
					t = p.Times[k]
				}
				x.Times = append(x.Times, t)
			}
		}
		info.Inputs = append(info.Inputs, x)
	}
	return info
}

func (r *modesRun) Feed(ctx context.Context) (screen.ModesStep, bool, error) {
	var out screen.ModesStep
	more, err := r.c.Feed(ctx)
	if err != nil || !more {
		return out, false, err
	}
	at := r.c.Fed - 1
	for i, col := range r.c.Columns {
		if col.Refused != nil || at >= len(col.Steps) {
			continue
		}
		s := col.Steps[at]
		x := &out.Columns[i]
		x.State, x.StateRows, x.Watermark = s.State, s.StateRows, stamp(s.Watermark)
		if s.Err != nil {
			x.Err = asError(s.Err)
		}
		for _, b := range s.Batches {
			x.Batches = append(x.Batches, screen.ModesBatch{Batch: b.Batch, NoData: b.NoData, Rows: b.Rows, Watermark: stamp(b.Watermark), Dropped: b.Dropped})
		}
	}
	return out, true, nil
}

// stamp prints a time as the console sink does; none is "".
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.999")
}

func newModesCommand(a *app) *cobra.Command {
	var o screen.ModesOptions
	c := &cobra.Command{
		Use:   "modes LAB [QUERY]",
		Short: "Run one query in append, update and complete mode over the same input",
		Long: "Three real runs get the same rows, input by input. Of a source that is not fed by hand a sample is taken.\n" +
			"Every line is a micro-batch; without --output json the rows stand in the last column.",
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.modes(cmd.Context(), args, o)
		},
	}
	c.Flags().BoolVar(&o.Hurried, "hurried", false, "the next input is there before a batch without rows could run")
	c.Flags().StringVar(&o.Split, "split", "", "one: all rows at once; rows: one row at a time")
	c.Flags().BoolVar(&o.Late, "late", false, "feed the first row once more at the end")
	c.Flags().StringVar(&o.Delay, "delay", "", "instead of the delays of the lab's watermarks")
	c.Flags().StringVar(&o.Sink, "sink", "", "memory, parquet, json, delta, console or noop; default memory")
	return c
}

func (a *app) modes(ctx context.Context, args []string, o screen.ModesOptions) (err error) {
	l, err := a.load(args[0])
	if err != nil {
		return err
	}
	query := ""
	switch {
	case len(args) == 2:
		query = args[1]
	case len(l.Queries) > 0:
		query = l.Queries[0].Name.Value
	default:
		return errs.New("LAB_MISSING_KEY", "key", "queries", "where", "the lab")
	}
	conf, err := a.settings()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "streamlab-modes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cmp, err := lab.CompareHeadless(ctx, l, query, compareOptions(o, dir, conf))
	if err != nil {
		return err
	}
	if a.output == "json" || a.output == "jsonl" {
		a.modesJSON(cmp)
		return nil
	}
	var rows [][]string
	for _, col := range cmp.Columns {
		if col.Refused != nil {
			rows = append(rows, []string{"", col.Mode, "", "", "", "", "refused: " + firstProblem(col.Refused)})
		}
	}
	for i := range cmp.Inputs {
		for _, col := range cmp.Columns {
			if col.Refused != nil {
				continue
			}
			for _, b := range col.Steps[i].Batches {
				var sent []string
				for _, r := range b.Rows {
					sent = append(sent, "("+strings.Join(r, ", ")+")")
				}
				if b.NoData {
					sent = append([]string{"no data:"}, sent...)
				}
				rows = append(rows, []string{strconv.Itoa(i), col.Mode, fmt.Sprint(b.Batch), stamp(b.Watermark), fmt.Sprint(b.StateRows),
					fmt.Sprint(b.Dropped), strings.Join(sent, " ")})
			}
			if e := col.Steps[i].Err; e != nil {
				rows = append(rows, []string{strconv.Itoa(i), col.Mode, "", "", "", "", "failed: " + firstProblem(e)})
			}
		}
	}
	if t := cmp.Sample(); t != "" {
		// Beside the table, so that csv and the like stay tables.
		fmt.Fprintln(a.err, "The input is a sample: "+t+", of each micro-batch the first.")
	}
	return a.table("modes", []string{"input", "mode", "batch", "watermark", "state", "dropped", "rows"}, rows, "input", "batch", "state", "dropped")
}

func firstProblem(err error) string {
	e := asError(err)
	return e.Condition + ": " + e.Message()
}

// modesJSON prints an object an input and mode.
func (a *app) modesJSON(c *lab.Comparison) {
	for i, in := range c.Inputs {
		pushes := []map[string]any{}
		for _, p := range in.Pushes {
			pushes = append(pushes, map[string]any{"source": p.Source, "columns": p.Columns, "rows": p.Rows, "late": p.Late})
		}
		a.json(a.out, map[string]any{"kind": "modesInput", "version": 1, "input": i, "pushes": pushes, "sample": c.Sampled,
			"sampleTaken": c.Taken, "sampleOf": c.Available, "sampleMore": c.More})
		for _, col := range c.Columns {
			if col.Refused != nil {
				continue
			}
			s := col.Steps[i]
			batches := []map[string]any{}
			for _, b := range s.Batches {
				rows := b.Rows
				if rows == nil {
					rows = [][]string{}
				}
				batches = append(batches, map[string]any{"batch": b.Batch, "noData": b.NoData, "rows": rows, "numInputRows": b.RowsIn,
					"watermark": jsonTime(b.Watermark), "stateRows": b.StateRows, "removed": b.Removed, "dropped": b.Dropped})
			}
			m := map[string]any{"kind": "modesStep", "version": 1, "input": i, "mode": col.Mode, "columns": c.Names, "batches": batches,
				"watermark": jsonTime(s.Watermark), "stateRows": s.StateRows}
			if s.Err != nil {
				m["error"] = problemJSON(asError(s.Err))
			}
			a.json(a.out, m)
		}
	}
	for _, col := range c.Columns {
		if col.Refused != nil {
			a.json(a.out, map[string]any{"kind": "modesRefused", "version": 1, "mode": col.Mode, "problem": problemJSON(asError(col.Refused))})
		}
	}
}

func jsonTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
