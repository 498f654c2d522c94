package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// manyFiles is how many files probeFiles makes; someFiles is how many have been read when it times small batches.
const (
	manyFiles = 1_000_000
	someFiles = 10_000
)

// makeFiles makes n files of one line each, with times that rise. They are links to a few, so that they cost
// names and nothing else.
func makeFiles(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	const links = 20_000 // of one file; file systems have a limit
	base := ""
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("events-2026-11-30-%08d.txt", i))
		if i%links != 0 {
			if err := os.Link(base, name); err != nil {
				return err
			}
			continue
		}
		base = name
		if err := os.WriteFile(name, []byte("one line of a tiny file\n"), 0o644); err != nil {
			return err
		}
		at := time.Now().Add(time.Duration(i-n) * time.Millisecond)
		if err := os.Chtimes(name, at, at); err != nil {
			return err
		}
	}
	return nil
}

// probeFiles reads a folder of a million files, and one file after another beside ten thousand.
func probeFiles(ctx context.Context, p Probing) ([]Figure, error) {
	in := filepath.Join(p.Scratch, "in")
	p.Say(fmt.Sprintf("making %d files", manyFiles))
	if err := makeFiles(in, manyFiles); err != nil {
		return nil, err
	}
	lab := "lab: files\nsources:\n  lines: {format: text, path: in}\nqueries:\n  - {queryName: q, from: lines, format: noop, options: {checkpointLocation: chk}}\n"
	path, err := labFile(p.Scratch, "files", lab)
	if err != nil {
		return nil, err
	}
	run := func() (first, whole time.Duration, rows int64, peak float64, err error) {
		cmd := exec.CommandContext(ctx, p.Program, "run", path, "--available-now", "--progress", "text")
		cmd.Dir = p.Scratch
		said, err := cmd.StderrPipe()
		if err != nil {
			return 0, 0, 0, 0, err
		}
		began := time.Now()
		if err := cmd.Start(); err != nil {
			return 0, 0, 0, 0, err
		}
		var last string
		sc := bufio.NewScanner(said)
		for sc.Scan() {
			last = sc.Text()
			p.Say(last)
			if _, text, ok := strings.Cut(last, ": batch "); ok {
				if first == 0 {
					first = time.Since(began)
				}
				var batch, n int64
				if _, err := fmt.Sscanf(text, "%d, %d rows", &batch, &n); err == nil {
					rows += n
				}
			}
		}
		if err := cmd.Wait(); err != nil {
			return 0, 0, 0, 0, fmt.Errorf("%w: %s", err, last)
		}
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = float64(u.Maxrss) / 1024
		}
		return first, time.Since(began), rows, peak, nil
	}
	first, whole, rows, peak, err := run()
	if err != nil {
		return nil, err
	}
	_, again, more, peakAgain, err := run()
	if err != nil {
		return nil, err
	}
	out := []Figure{
		{Name: "peak of resident memory, a million files", Value: peak, Unit: "MiB", Target: 300},
		{Name: "start to the first micro-batch", Value: first.Seconds(), Unit: "s", Target: 60},
		{Name: "all of them", Value: whole.Seconds(), Unit: "s"},
		{Name: "rows", Value: float64(rows), Target: manyFiles, AtLeast: true},
		{Name: "restart that finds nothing new", Value: again.Seconds(), Unit: "s"},
		{Name: "rows read again", Value: float64(more), Target: 0},
		{Name: "peak of resident memory, restart", Value: peakAgain, Unit: "MiB", Target: 300},
	}
	small, err := oneByOne(ctx, p)
	return append(out, small...), err
}

// oneByOne gives a running query one file after another, in an empty folder and beside many that were read.
func oneByOne(ctx context.Context, p Probing) ([]Figure, error) {
	var ms []float64
	for _, n := range []int{0, someFiles} {
		dir := filepath.Join(p.Scratch, fmt.Sprint("small", n))
		in := filepath.Join(dir, "in")
		if err := makeFiles(in, n); err != nil {
			return nil, err
		}
		path, err := labFile(dir, "small", "lab: small\nsources:\n  lines: {format: text, path: in}\nqueries:\n  - {queryName: q, from: lines, format: noop, options: {checkpointLocation: chk}}\n")
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, p.Program, "run", path, "--progress", "text")
		cmd.Dir = dir
		said, err := cmd.StderrPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		sc := bufio.NewScanner(said)
		batch := func() bool {
			for sc.Scan() {
				if strings.Contains(sc.Text(), ": batch ") {
					return true
				}
			}
			return false
		}
		if n > 0 {
			batch()
		}
		var took []float64
		for i := range 50 {
			name := filepath.Join(in, fmt.Sprintf("new-%05d.txt", i))
			if err := os.WriteFile(name+"._COPYING_", []byte("one more\n"), 0o644); err != nil {
				return nil, err
			}
			began := time.Now()
			if err := os.Rename(name+"._COPYING_", name); err != nil {
				return nil, err
			}
			if !batch() {
				break
			}
			took = append(took, float64(time.Since(began).Microseconds())/1000)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return nil, err
		}
		_ = cmd.Wait() // it says how it was ended
		ms = append(ms, percentile(took, 0.5))
	}
	return []Figure{
		{Name: "one new file in an empty folder, p50", Value: ms[0], Unit: "ms"},
		{Name: fmt.Sprintf("one new file beside %d, p50", someFiles), Value: ms[1], Unit: "ms"},
	}, nil
}
