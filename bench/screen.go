package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"streamlab/internal/pty"
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
	slice   = 1000 * time.Millisecond
	turns   = 12              // of both together, in a round
	fewest  = 50              // batches of each in a round: with fewer the round goes on, for longest at most
	longest = 8 * turns       // turns
	warming = 1 * time.Second // of each process, not counted
)

// A share is what one of two processes that have the machine in turn did in its turns.
type share struct {
	ran  time.Duration
	cpu  float64 // seconds, its children's too
	rows int64
}

func (s share) rate() float64 { return float64(s.rows) / s.ran.Seconds() }

// probeOpen runs the same lab twice at once, with the workbench on a pseudo terminal and without, and lets the two
// have the machine in turn, a second each: one is stopped while the other runs. So both see the same
// machine, whose speed differs by more than what is to be measured when they run one after the other. Two processes
// of the same program differ by some hundredths all the same, by where their memory lies; so there are five times as many
// rounds as are asked for, each with new ones, and the middle ratio counts. A turn may not be short: whenever the
// workbench goes on after a stop it takes the terminal and paints the whole screen, some ten milliseconds that a stream
// in an open workbench does not pay. Between which ratios half of the rounds lie,
// and what a row costs on the CPU, which waits do not change, says how far to trust it.
func probeOpen(ctx context.Context, p Probing) ([]Figure, error) {
	var ratios, costs, open, closed []float64
	var failed error
	for round := range 5 * p.Rounds {
		both, err := p.inTurn(ctx, round)
		if err != nil { // the others count
			p.Say(fmt.Sprintf("round %d: %v", round+1, err))
			failed = err
			continue
		}
		cost := both[1].cpu / float64(both[1].rows) / (both[0].cpu / float64(both[0].rows))
		p.Say(fmt.Sprintf("round %d: headless %.2f, open %.2f M rows/s; CPU a row, open ÷ headless %.3f", round+1,
			both[0].rate()/1e6, both[1].rate()/1e6, cost))
		closed, open = append(closed, both[0].rate()), append(open, both[1].rate())
		ratios, costs = append(ratios, both[1].rate()/both[0].rate()), append(costs, cost)
	}
	if len(ratios) == 0 {
		return nil, failed
	}
	slices.Sort(ratios)
	return []Figure{
		{Name: "open ÷ headless", Value: middle(ratios), Target: 0.98, AtLeast: true},
		{Name: "pairs of which it is the median", Value: float64(len(ratios))},
		{Name: "a quarter of the pairs is below", Value: ratios[len(ratios)/4]},
		{Name: "a quarter is above", Value: ratios[len(ratios)-1-len(ratios)/4]},
		{Name: "CPU seconds a row, open ÷ headless", Value: middle(costs)},
		{Name: "headless", Value: middle(closed) / 1e6, Unit: "M rows/s"},
		{Name: "open", Value: middle(open) / 1e6, Unit: "M rows/s"},
	}, nil
}

// inTurn gives what both did while it was their turn, headless first.
func (p Probing) inTurn(ctx context.Context, round int) (both [2]share, err error) {
	var chk, path [2]string
	for k := range 2 {
		chk[k] = filepath.Join(p.Scratch, fmt.Sprintf("chk-%d-%d", round, k))
		if path[k], err = labFile(p.Scratch, fmt.Sprintf("groups-%d-%d", round, k), fmt.Sprintf(groupsLab, chk[k])); err != nil {
			return both, err
		}
	}
	cmd := exec.CommandContext(ctx, p.Program, "run", path[0], "--progress", "none")
	cmd.Dir = p.Scratch
	if err := cmd.Start(); err != nil {
		return both, err
	}
	defer func() {
		signal(cmd.Process.Pid, syscall.SIGCONT)
		signal(cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait() // it was told to end
	}()
	<-time.After(warming)
	signal(cmd.Process.Pid, syscall.SIGSTOP)
	t, err := pty.Open(p.Scratch, 200, 50, p.Program, path[1])
	if err != nil {
		return both, err
	}
	defer t.Close()
	defer signal(t.Cmd.Process.Pid, syscall.SIGCONT)
	if _, _, err := t.Wait(0, 10*time.Second, func(s string) bool { return strings.Contains(s, "groups") }); err != nil {
		return both, err
	}
	<-time.After(warming)
	signal(t.Cmd.Process.Pid, syscall.SIGSTOP)
	pids := [2]int{cmd.Process.Pid, t.Cmd.Process.Pid}
	began := time.Now()
	turn := func(k int, s *share) {
		from, cpu := time.Now(), pty.CPUSeconds(pids[k])
		signal(pids[k], syscall.SIGCONT)
		<-time.After(slice)
		signal(pids[k], syscall.SIGSTOP)
		s.ran += time.Since(from)
		s.cpu += pty.CPUSeconds(pids[k]) - cpu
	}
	for done := 0; ; {
		for range turns {
			k := (done + done/2) % 2 // 0 1 1 0
			turn(k, &both[k])
			done++
		}
		ended := time.Now()
		least := fewest
		var after [2]share
		for k := range 2 {
			turn(k, &after[k]) // so that what was cut short is reported: it began before
			batches := 0
			if both[k].rows, batches, err = rowsBetween(chk[k], began, ended); err != nil {
				return both, err
			}
			least = min(least, batches)
		}
		switch {
		case least >= fewest || done >= longest && least > 0:
			return both, nil
		case done >= longest:
			return both, errors.New("no batch ended")
		}
		for k := range 2 { // these turns are within what is counted from now on
			both[k].ran += after[k].ran
			both[k].cpu += after[k].cpu
		}
	}
}

// signal tells a process and its descendants something.
func signal(pid int, s syscall.Signal) {
	for _, p := range pty.Processes(pid) {
		_ = syscall.Kill(p, s)
	}
}

// rowsBetween counts the batches that began in a span and their rows, as a copy of the checkpoint tells: its owner
// has it open.
func rowsBetween(chk string, from, to time.Time) (rows int64, batches int, err error) {
	dir := chk + "-copy"
	if err := os.RemoveAll(dir); err != nil {
		return 0, 0, err
	}
	if err := os.CopyFS(dir, os.DirFS(chk)); err != nil {
		return 0, 0, err
	}
	c, err := store.Open(dir, store.Options{MinBatchesToRetain: 1 << 30}) // fewer would hide the older ones
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	for e, err := range c.History() {
		if err != nil {
			return 0, 0, err
		}
		var g struct {
			Timestamp time.Time `json:"timestamp"`
			Rows      int64     `json:"numInputRows"`
		}
		if e.Progress == nil || json.Unmarshal(e.Progress, &g) != nil || g.Timestamp.Before(from) || g.Timestamp.After(to) {
			continue
		}
		rows, batches = rows+g.Rows, batches+1
	}
	return rows, batches, nil
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
	t, err := pty.Open(p.Scratch, 200, 50, p.Program, path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if _, _, err := t.Wait(0, 10*time.Second, func(s string) bool { return strings.Contains(s, "flow") }); err != nil {
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
			n := t.Count()
			began := time.Now()
			if err := t.Press(key); err != nil {
				return nil, err
			}
			f, _, err := t.Wait(n, 3*time.Second, func(s string) bool {
				if key == "?" {
					return strings.Contains(s, mark)
				}
				return !strings.Contains(s, mark) && strings.Contains(s, row)
			})
			if err != nil {
				return nil, fmt.Errorf("key %q: %w", key, err)
			}
			if before, _, ok := strings.Cut(f.Text, mark); ok {
				from := strings.LastIndex(before, ";1H")
				row = before[strings.LastIndex(before[:from], "\x1b"):from] + ";1H"
			}
			took = append(took, float64(f.At.Sub(began).Microseconds())/1000)
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
	t, err := pty.Open(p.Scratch, 200, 50, p.Program, path, "--no-start")
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if _, _, err := t.Wait(0, 10*time.Second, func(string) bool { return true }); err != nil {
		return nil, err
	}
	<-time.After(5 * time.Second)
	cpu, frames, start := pty.CPUSeconds(t.Cmd.Process.Pid), t.Count(), time.Now()
	<-time.After(20 * time.Second)
	span := time.Since(start).Seconds()
	return []Figure{
		{Name: "CPU of one core", Value: 100 * (pty.CPUSeconds(t.Cmd.Process.Pid) - cpu) / span, Unit: "%", Target: 1},
		{Name: "frames", Value: float64(t.Count()-frames) / span, Unit: "/s", Target: 1.1},
	}, nil
}
