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
)

// probeLatency measures all budgets of the screens (tui.md 10) on the built program, on a pseudo terminal of 200 by
// 50. The last two are the probes "idle" and "open".
func probeLatency(ctx context.Context, p Probing) ([]Figure, error) {
	var out []Figure
	var failed error
	for _, part := range []func(context.Context, Probing) ([]Figure, error){latencyFlow, latencyStart, latencyPages, latencyReplay, latencyTen, probeIdle, probeOpen} {
		dir, err := os.MkdirTemp(p.Scratch, "part-")
		if err != nil {
			return out, err
		}
		q := p
		q.Scratch = dir
		fs, err := part(ctx, q)
		out = append(out, fs...)
		if err != nil { // one that cannot be measured does not hide the others
			failed = errors.Join(failed, err)
		}
	}
	return out, failed
}

// screenOf opens a lab in the workbench and waits for a text.
func (p Probing) screenOf(text, until string, args ...string) (*pty.Terminal, error) {
	path, err := labFile(p.Scratch, "lab", text)
	if err != nil {
		return nil, err
	}
	t, err := pty.Open(p.Scratch, 200, 50, p.Program, append([]string{path}, args...)...)
	if err != nil {
		return nil, err
	}
	if _, _, err := t.Wait(0, 20*time.Second, func(s string) bool { return strings.Contains(s, until) }); err != nil {
		return nil, fmt.Errorf("%w (%w)", err, t.Close())
	}
	return t, nil
}

// took presses keys and gives the milliseconds until a frame has a text.
func took(t *pty.Terminal, keys, text string) (float64, error) {
	n, began := t.Count(), time.Now()
	if err := t.Press(keys); err != nil {
		return 0, err
	}
	f, _, err := t.Wait(n, 20*time.Second, func(s string) bool { return strings.Contains(s, text) })
	if err != nil {
		all, _ := t.Output(0)
		return 0, fmt.Errorf("keys %q: %w; last came %q", keys, err, all[max(0, len(all)-600):])
	}
	return float64(f.At.Sub(began).Microseconds()) / 1000, nil
}

// latencyFlow types 60 keys at 43 a second while a million rows a second flow.
func latencyFlow(_ context.Context, p Probing) ([]Figure, error) {
	file := filepath.Join(p.Scratch, "times.json")
	if err := os.Setenv("STREAMLAB_SCREEN_TIMES", file); err != nil {
		return nil, err
	}
	t, err := p.screenOf(fmt.Sprintf(flowLab, filepath.Join(p.Scratch, "chk")), "1 run")
	os.Unsetenv("STREAMLAB_SCREEN_TIMES")
	if err != nil {
		return nil, err
	}
	<-time.After(2 * time.Second)
	rng := rand.New(rand.NewPCG(1, 1))
	type key struct{ press, see string }
	keys := []key{{"5", "[5 Events]"}, {"1", "[1 Queries]"}, {"?", "Keys on this screen"}, {"\x1b", "last batches"}, {"2", "[2 Checkpoints]"}, {"1", "[1 Queries]"}}
	var ms []float64
	for i := range 60 * p.Rounds {
		k := keys[i%len(keys)]
		<-time.After(time.Duration(15+rng.IntN(16)) * time.Millisecond)
		d, err := took(t, k.press, k.see)
		if err != nil {
			return nil, err
		}
		ms = append(ms, d)
	}
	_, from := t.Output(0)
	began := time.Now()
	<-time.After(5 * time.Second)
	_, to := t.Output(0)
	rate := float64(to-from) / time.Since(began).Seconds() / 1000
	if err := t.Close(); err != nil {
		return nil, err
	}
	var loop map[string]struct {
		N        int
		P99, Max float64
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &loop)
	}
	if err != nil {
		return nil, err
	}
	return []Figure{
		{Name: "key to frame, p95, 1 M rows/s flowing", Value: percentile(ms, 0.95), Unit: "ms", Target: 16},
		{Name: "key to frame, max", Value: slices.Max(ms), Unit: "ms", Target: 50},
		{Name: fmt.Sprintf("Update, p99 of %d", loop["update"].N), Value: loop["update"].P99, Unit: "ms", Target: 1},
		{Name: fmt.Sprintf("Draw and encode, p99 of %d", loop["draw"].N), Value: loop["draw"].P99, Unit: "ms", Target: 2},
		{Name: "to the terminal", Value: rate, Unit: "KB/s", Target: 60},
	}, nil
}

// tenLab has ten running queries.
func tenLab(dir string) string {
	text := "lab: ten\nsources:\n  r: {format: rate, options: {rowsPerSecond: 1000}}\nqueries:\n"
	for i := range 10 {
		text += fmt.Sprintf("  - {queryName: q%d, sql: 'SELECT mod(value, %d) AS k, count(*) AS n FROM r GROUP BY mod(value, %d)', format: noop, outputMode: update, trigger: {processingTime: 500 milliseconds}, options: {checkpointLocation: %s/chk%d}}\n",
			i, 10+i, 10+i, dir, i)
	}
	return text
}

// latencyStart times the first frame with a lab of ten queries.
func latencyStart(_ context.Context, p Probing) ([]Figure, error) {
	path, err := labFile(p.Scratch, "ten", tenLab(p.Scratch))
	if err != nil {
		return nil, err
	}
	var ms []float64
	for range 3 * p.Rounds {
		began := time.Now()
		t, err := pty.Open(p.Scratch, 200, 50, p.Program, path, "--no-start")
		if err != nil {
			return nil, err
		}
		f, _, err := t.Wait(0, 20*time.Second, func(string) bool { return true })
		if err != nil {
			return nil, fmt.Errorf("%w (%w)", err, t.Close())
		}
		ms = append(ms, float64(f.At.Sub(began).Microseconds())/1000)
		if err := t.Close(); err != nil {
			return nil, err
		}
	}
	return []Figure{{Name: "start to first frame, lab of ten queries", Value: middle(ms), Unit: "ms", Target: 150}}, nil
}

// twoBatches runs two batches of each query of a lab and gives the path of its file.
func (p Probing) twoBatches(ctx context.Context, text string) (path string, err error) {
	if path, err = labFile(p.Scratch, "lab", text); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, p.Program, "run", path, "--batches", "2", "--progress", "none")
	cmd.Dir = p.Scratch
	if raw, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, raw)
	}
	return path, nil
}

// latencyPages times the first page of a large state, of an SQL result and of the batches.
func latencyPages(ctx context.Context, p Probing) ([]Figure, error) {
	text := fmt.Sprintf(`lab: pages
sources:
  r: {format: rate-micro-batch, options: {rowsPerBatch: 600000, startTimestamp: 0}}
queries:
  - {queryName: keys, sql: 'SELECT value AS k, count(*) AS n FROM r GROUP BY value', format: noop, outputMode: update, options: {checkpointLocation: %[1]s/keys}}
  - {queryName: rows, sql: 'SELECT value FROM r WHERE mod(value, 20) = 0', format: memory, outputMode: append, options: {checkpointLocation: %[1]s/rows}}
`, p.Scratch)
	if _, err := p.twoBatches(ctx, text); err != nil {
		return nil, err
	}
	var list, state, last, find, result, batches []float64
	for range p.Rounds {
		t, err := p.screenOf(text, "keys", "--no-start")
		if err != nil {
			return nil, err
		}
		more := func(list *[]float64, keys, see string) {
			if err != nil {
				return
			}
			var d float64
			if d, err = took(t, keys, see); err == nil {
				*list = append(*list, d)
			}
		}
		more(&batches, "b", "batches")
		more(&list, "2", "[2 Checkpoints]")
		if err == nil { // the list is told what checkpoints hold
			_, _, err = t.Wait(0, 20*time.Second, func(s string) bool { return strings.Contains(s, "1,200,000") })
		}
		more(&state, "\r", " of 1,200,000")
		more(&last, "G", "1199999") // the place is told before its rows
		if err == nil {
			err = t.Press("/")
		}
		for _, c := range "[777777]" {
			if err == nil {
				err = t.Press(string(c))
			}
			<-time.After(2 * time.Millisecond)
		}
		more(&find, "\r", "matching")
		var tab []float64
		more(&tab, "3", "[3 SQL]")
		for _, c := range "SELECT * FROM rows" {
			if err == nil {
				err = t.Press(string(c))
			}
			<-time.After(2 * time.Millisecond)
		}
		more(&result, ";\r", "ms · ")
		if e := t.Close(); err == nil {
			err = e
		}
		if err != nil {
			return nil, err
		}
	}
	return []Figure{
		{Name: "list of checkpoints", Value: middle(list), Unit: "ms", Target: 100},
		{Name: "first page of 1,200,000 state keys", Value: middle(state), Unit: "ms", Target: 100},
		{Name: "their last page, asked for at once", Value: middle(last), Unit: "ms"},
		{Name: "one of them found by key", Value: middle(find), Unit: "ms", Target: 100},
		{Name: "first page of an SQL result", Value: middle(result), Unit: "ms", Target: 100},
		{Name: "list of batches", Value: middle(batches), Unit: "ms", Target: 100},
	}, nil
}

// latencyReplay times the trace of one batch of 500,000 rows.
func latencyReplay(ctx context.Context, p Probing) ([]Figure, error) {
	text := fmt.Sprintf(`lab: replay
sources:
  r: {format: rate-micro-batch, options: {rowsPerBatch: 500000, startTimestamp: 0}}
queries:
  - {queryName: groups, sql: 'SELECT mod(value, 1000) AS k, count(*) AS n FROM r GROUP BY mod(value, 1000)', format: noop, outputMode: update, options: {checkpointLocation: %s/chk}}
`, p.Scratch)
	path, err := p.twoBatches(ctx, text)
	if err != nil {
		return nil, err
	}
	var ms []float64
	for range p.Rounds {
		began := time.Now()
		cmd := exec.CommandContext(ctx, p.Program, "trace", path, "groups", "--batch", "1", "-o", "jsonl")
		cmd.Dir = p.Scratch
		if raw, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %.300s", err, raw)
		}
		ms = append(ms, float64(time.Since(began).Microseconds())/1000)
	}
	return []Figure{{Name: "replay of a batch of 500,000 rows", Value: middle(ms), Unit: "ms", Target: 3000}}, nil
}

// latencyTen compares a process that runs ten queries with and without the screen. The guard and its child run the
// same program: pages that both have mapped are in memory once, and are counted once.
func latencyTen(ctx context.Context, p Probing) ([]Figure, error) {
	path, err := labFile(p.Scratch, "ten", tenLab(p.Scratch))
	if err != nil {
		return nil, err
	}
	measure := func(pid int) (cpu, mib float64) {
		<-time.After(3 * time.Second)
		from, began := pty.CPUSeconds(pid), time.Now()
		var held []float64 // it grows between collections: the middle of some looks
		for range 8 {
			<-time.After(time.Second)
			sum := 0.0
			for _, q := range pty.Processes(pid) {
				sum += float64(proportionalBytes(q)) / (1 << 20)
			}
			held = append(held, sum)
		}
		cpu = 100 * (pty.CPUSeconds(pid) - from) / time.Since(began).Seconds()
		return cpu, middle(held)
	}
	cmd := exec.CommandContext(ctx, p.Program, "run", path, "--progress", "none")
	cmd.Dir = p.Scratch
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	cpu0, mem0 := measure(cmd.Process.Pid)
	signal(cmd.Process.Pid, syscall.SIGTERM)
	_ = cmd.Wait() // it was told to end
	t, err := pty.Open(p.Scratch, 200, 50, p.Program, path)
	if err != nil {
		return nil, err
	}
	if _, _, err := t.Wait(0, 20*time.Second, func(s string) bool { return strings.Contains(s, "10 run") }); err != nil {
		return nil, fmt.Errorf("%w (%w)", err, t.Close())
	}
	cpu1, mem1 := measure(t.Cmd.Process.Pid)
	return []Figure{
		{Name: "the screen's CPU beside ten running queries", Value: cpu1 - cpu0, Unit: "%", Target: 5},
		{Name: "the screen's memory beside the engine, guard too", Value: mem1 - mem0, Unit: "MiB", Target: 64},
	}, t.Close()
}
