package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"streamlab/store"
)

// groupsLab runs a grouped stream as fast as it can.
const groupsLab = `lab: groups
conf: {spark.sql.streaming.minBatchesToRetain: "100000"}
sources:
  numbers: {format: rate-micro-batch, options: {rowsPerBatch: 500000}}
queries:
  - queryName: groups
    sql: SELECT mod(value, 1000) AS k, count(*) AS n, sum(value) AS s FROM numbers GROUP BY mod(value, 1000)
    format: noop
    outputMode: update
    options: {checkpointLocation: %s}
`

const (
	runFor  = 4 * time.Second
	warming = time.Second // at the start of a run, not counted
)

// probeOpen compares pairs of runs of the same lab, with the workbench on a pseudo terminal and without. Which
// comes first alternates. A pair differs by several percent for reasons of the machine's, so there are four to a
// round and it takes some rounds before the median says much; the quarters tell how much.
func probeOpen(ctx context.Context, p Probing) ([]Figure, error) {
	var ratios, open, closed []float64
	for round := range 4 * p.Rounds {
		var pair [2]float64
		for i := range 2 {
			kind := (round + i) % 2 // 0: headless
			chk := filepath.Join(p.Scratch, fmt.Sprintf("chk-%d-%d", round, kind))
			path, err := labFile(p.Scratch, fmt.Sprintf("groups-%d-%d", round, kind), fmt.Sprintf(groupsLab, chk))
			if err != nil {
				return nil, err
			}
			if kind == 0 {
				err = p.headlessFor(ctx, path, runFor)
			} else {
				err = p.openFor(path, runFor)
			}
			if err != nil {
				return nil, err
			}
			if pair[kind], err = steadyRate(chk); err != nil {
				return nil, err
			}
		}
		p.Say(fmt.Sprintf("pair %d: headless %.2f, open %.2f M rows/s", round+1, pair[0]/1e6, pair[1]/1e6))
		closed, open, ratios = append(closed, pair[0]), append(open, pair[1]), append(ratios, pair[1]/pair[0])
	}
	slices.Sort(ratios)
	return []Figure{
		{Name: "open ÷ headless", Value: middle(ratios), Target: 0.98, AtLeast: true},
		{Name: "lower quarter", Value: ratios[len(ratios)/4]},
		{Name: "upper quarter", Value: ratios[len(ratios)*3/4]},
		{Name: "headless", Value: middle(closed) / 1e6, Unit: "M rows/s", AtLeast: true},
		{Name: "open", Value: middle(open) / 1e6, Unit: "M rows/s", AtLeast: true},
	}, nil
}

// headlessFor runs a lab for a while.
func (p Probing) headlessFor(ctx context.Context, path string, d time.Duration) error {
	cmd := exec.CommandContext(ctx, p.Program, "run", path, "--for", d.String(), "--progress", "none")
	cmd.Dir = p.Scratch
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// openFor shows a lab in the workbench for a while.
func (p Probing) openFor(path string, d time.Duration) error {
	t, err := openTerminal(p.Scratch, p.Program, path)
	if err != nil {
		return err
	}
	<-time.After(d)
	if t.count() == 0 {
		return fmt.Errorf("the workbench drew nothing: %q", t.rest)
	}
	return t.close()
}

// steadyRate is the rows per second of the batches that a checkpoint tells of, without the first moments.
func steadyRate(chk string) (float64, error) {
	c, err := store.Open(chk, store.Options{MinBatchesToRetain: 1 << 30}) // fewer would hide the older ones
	if err != nil {
		return 0, err
	}
	defer c.Close()
	type batch struct {
		at   time.Time
		rows int64
	}
	var list []batch
	for e, err := range c.History() {
		if err != nil {
			return 0, err
		}
		var g struct {
			Timestamp time.Time `json:"timestamp"`
			Rows      int64     `json:"numInputRows"`
		}
		if e.Progress != nil && json.Unmarshal(e.Progress, &g) == nil {
			list = append(list, batch{g.Timestamp, g.Rows})
		}
	}
	slices.Reverse(list)
	for len(list) > 0 && list[0].at.Sub(list[len(list)-1].at) > 0 {
		list = list[1:]
	}
	first := 0
	for first < len(list) && list[first].at.Sub(list[0].at) < warming {
		first++
	}
	if len(list)-first < 10 {
		return 0, fmt.Errorf("%s: %d batches are too few", chk, len(list))
	}
	rows := int64(0)
	for _, b := range list[first : len(list)-1] {
		rows += b.rows
	}
	return float64(rows) / list[len(list)-1].at.Sub(list[first].at).Seconds(), nil
}

// flowLab lets a million rows a second flow into groups.
const flowLab = `lab: flow
sources:
  numbers: {format: rate, options: {rowsPerSecond: 1000000}}
queries:
  - queryName: flow
    sql: SELECT mod(value, 1000) AS k, count(*) AS n, sum(value) AS s FROM numbers GROUP BY mod(value, 1000)
    format: noop
    outputMode: update
    options: {checkpointLocation: %s}
    trigger: {processingTime: 1 second}
`

// probeKeys opens and closes the help and times each frame: that of the open help has a text that no other has,
// that without it rewrites the line on which it was.
func probeKeys(_ context.Context, p Probing) ([]Figure, error) {
	chk := filepath.Join(p.Scratch, "chk")
	path, err := labFile(p.Scratch, "flow", fmt.Sprintf(flowLab, chk))
	if err != nil {
		return nil, err
	}
	t, err := openTerminal(p.Scratch, p.Program, path)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if _, _, err := t.wait(0, 10*time.Second, func(s string) bool { return strings.Contains(s, "flow") }); err != nil {
		return nil, err
	}
	<-time.After(2 * time.Second)
	const mark = "Keys on this screen"
	row := "" // where the mark was, as the terminal is told
	var took []float64
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 * p.Rounds {
		for _, key := range []string{"?", "\x1b"} {
			<-time.After(time.Duration(60+rng.IntN(90)) * time.Millisecond)
			n := t.count()
			began := time.Now()
			if err := t.press(key); err != nil {
				return nil, err
			}
			f, _, err := t.wait(n, 3*time.Second, func(s string) bool {
				if key == "?" {
					return strings.Contains(s, mark)
				}
				return !strings.Contains(s, mark) && strings.Contains(s, row)
			})
			if err != nil {
				return nil, fmt.Errorf("key %q: %w", key, err)
			}
			if before, _, ok := strings.Cut(f.text, mark); ok {
				from := strings.LastIndex(before, ";1H")
				row = before[strings.LastIndex(before[:from], "\x1b"):from] + ";1H"
			}
			took = append(took, float64(f.at.Sub(began).Microseconds())/1000)
		}
	}
	return []Figure{
		{Name: "key to frame, p95", Value: percentile(took, 0.95), Unit: "ms", Target: 16},
		{Name: "key to frame, p50", Value: percentile(took, 0.5), Unit: "ms", Target: 16},
		{Name: "key to frame, max", Value: slices.Max(took), Unit: "ms", Target: 50},
	}, nil
}

// probeIdle opens a lab without starting its query.
func probeIdle(_ context.Context, p Probing) ([]Figure, error) {
	path, err := labFile(p.Scratch, "flow", fmt.Sprintf(flowLab, filepath.Join(p.Scratch, "chk")))
	if err != nil {
		return nil, err
	}
	t, err := openTerminal(p.Scratch, p.Program, path, "--no-start")
	if err != nil {
		return nil, err
	}
	defer t.close()
	if _, _, err := t.wait(0, 10*time.Second, func(string) bool { return true }); err != nil {
		return nil, err
	}
	<-time.After(5 * time.Second)
	cpu, frames, start := treeSeconds(t.cmd.Process.Pid), t.count(), time.Now()
	<-time.After(20 * time.Second)
	span := time.Since(start).Seconds()
	return []Figure{
		{Name: "CPU of one core", Value: 100 * (treeSeconds(t.cmd.Process.Pid) - cpu) / span, Unit: "%", Target: 1},
		{Name: "frames", Value: float64(t.count()-frames) / span, Unit: "/s", Target: 1.1},
	}, nil
}
