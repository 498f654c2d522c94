package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"streamlab/engine"
	"streamlab/internal/pty"
	"streamlab/lab"
)

// Names of figures that peers are compared with.
const (
	coldName     = "process start to first row, p50"
	recoveryName = "restart to next commit at 10 S"
	oneRowName   = "restart to next commit at 10 S, of one row"
	flowName     = "row → sink at half of W6's rate, p99"
)

const (
	sizeSmall = 800_000 // groups; the large state has ten times as many
	sizeRows  = 10_000  // of a batch
)

// probeSize runs equal batches over a state of some groups and over one of ten times as many, in turn. The time of
// a batch must not depend on the state. Each turn starts from disk, which gives the time of recovery too.
func probeSize(ctx context.Context, p Probing) ([]Figure, error) {
	groups := [2]int64{sizeSmall, 10 * sizeSmall}
	dirs := [2]string{filepath.Join(p.Scratch, "small"), filepath.Join(p.Scratch, "large")}
	for i, s := range groups {
		began := time.Now()
		if _, _, _, err := p.grow(ctx, dirs[i], s, 400_000, int(s/400_000)); err != nil {
			return nil, err
		}
		p.Say(fmt.Sprintf("%d groups: made in %.1f s, %.1f bytes a group on disk", s, time.Since(began).Seconds(), float64(diskBytes(dirs[i]))/float64(s)))
	}
	var times [2][]float64
	var ratios, recovery, memory []float64
	for round := range p.Rounds {
		var mid [2]float64
		for i := range 2 {
			k := (round + i) % 2
			ms, first, bytes, err := p.grow(ctx, dirs[k], groups[k], sizeRows, 150)
			if err != nil {
				return nil, err
			}
			ms = ms[10:]
			mid[k] = percentile(ms, 0.5)
			times[k] = append(times[k], ms...)
			if k == 1 {
				recovery = append(recovery, first.Seconds())
				memory = append(memory, bytes)
			}
		}
		ratios = append(ratios, mid[1]/mid[0])
		p.Say(fmt.Sprintf("round %d: p50 %.2f and %.2f ms", round+1, mid[0], mid[1]))
	}
	var oneRow []float64 // a batch that touches one bucket of the state needs only that
	for range 2*p.Rounds + 1 {
		_, first, _, err := p.grow(ctx, dirs[1], groups[1], 1, 1)
		if err != nil {
			return nil, err
		}
		oneRow = append(oneRow, first.Seconds())
	}
	return []Figure{
		{Name: fmt.Sprintf("p50 at %d groups ÷ at %d", groups[1], groups[0]), Value: middle(ratios), Target: 1.3},
		{Name: "mean at 10 S ÷ at S", Value: mean(times[1]) / mean(times[0]), Target: 1.3},
		{Name: "p50 at S", Value: percentile(times[0], 0.5), Unit: "ms", Target: 3},
		{Name: "p50 at 10 S", Value: percentile(times[1], 0.5), Unit: "ms", Target: 3},
		{Name: "p99 at S", Value: percentile(times[0], 0.99), Unit: "ms"},
		{Name: "p99 at 10 S", Value: percentile(times[1], 0.99), Unit: "ms"},
		{Name: recoveryName, Value: middle(recovery), Unit: "s", Target: 1},
		{Name: oneRowName, Value: middle(oneRow), Unit: "s", Target: 0.05},
		{Name: "memory at 10 S, as the operator counts", Value: middle(memory), Unit: "B/group", Target: 64},
		{Name: "disk at 10 S", Value: float64(diskBytes(dirs[1])) / float64(groups[1]), Unit: "B/group", Target: 25},
	}, nil
}

func mean(fs []float64) float64 {
	sum := 0.0
	for _, f := range fs {
		sum += f
	}
	return sum / float64(len(fs))
}

// grow runs batches of rows over a state of at most the given number of groups, whose order in the input is not
// theirs, and gives the time of each batch, that from the start to the first commit, and the bytes of memory of a group.
func (p Probing) grow(ctx context.Context, dir string, groups, rows int64, batches int) ([]float64, time.Duration, float64, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, 0, 0, err
	}
	s, err := engine.NewSession(engine.Config{Dir: dir})
	if err != nil {
		return nil, 0, 0, err
	}
	defer s.Close()
	if err := s.Conf().Set("spark.sql.streaming.numRecentProgressUpdates", "100000"); err != nil {
		return nil, 0, 0, err
	}
	df := s.ReadStream().Format("rate-micro-batch").Option("rowsPerBatch", rows).Load()
	if err := df.CreateOrReplaceTempView("numbers"); err != nil {
		return nil, 0, 0, err
	}
	// 7919 has no factor in common with the numbers of groups, so a run of that many rows meets each group once.
	q, err := s.SQL(ctx, fmt.Sprintf(`SELECT mod(value * 7919, %d) AS k, count(*) AS n, sum(value) AS s FROM numbers GROUP BY mod(value * 7919, %d)`, groups, groups))
	if err != nil {
		return nil, 0, 0, err
	}
	began := time.Now()
	run, err := q.WriteStream().OutputMode("update").Format("noop").MaxBatches(batches).
		Option("checkpointLocation", filepath.Join(dir, "chk")).Start(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	if err := run.AwaitTermination(ctx); err != nil {
		return nil, 0, 0, err
	}
	var ms []float64
	first := time.Duration(0)
	for i, g := range run.RecentProgress() {
		if i == 0 {
			first = g.Timestamp.Sub(began) + time.Duration(g.TriggerMs()*1e6)
		}
		ms = append(ms, g.TriggerMs())
	}
	bytes := 0.0
	if last := run.LastProgress(); last != nil && len(last.StateOperators) > 0 {
		o := last.StateOperators[0]
		bytes = float64(o.MemoryUsedBytes) / float64(max(1, o.NumRowsTotal))
	}
	return ms, first, bytes, nil
}

func diskBytes(dir string) int64 {
	total := int64(0)
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".mem") || strings.HasSuffix(path, ".vlog") {
			return nil // maps of fixed size, mostly holes
		}
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

// probeCold is P1: from the start of a process to the first bytes of W3's result over 1,000 rows.
func probeCold(ctx context.Context, p Probing) ([]Figure, error) {
	in, err := filepath.Abs(filepath.Join(p.Data, "first", "json"))
	if err != nil {
		return nil, err
	}
	var took []float64
	for round := range 10 * p.Rounds {
		dir := filepath.Join(p.Scratch, fmt.Sprint(round))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		path, err := labFile(dir, "cold", fmt.Sprintf("lab: cold\nsources:\n  events: {format: json, path: %s, schema: %q}\n"+
			"queries:\n  - {queryName: q, sql: %q, format: console, outputMode: update, options: {checkpointLocation: chk}}\n", in, eventSchema, queryW3))
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, p.Program, "run", path, "--available-now", "--progress", "none")
		cmd.Dir = dir
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		var said strings.Builder
		cmd.Stderr = &said
		began := time.Now()
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		var b [1 << 12]byte
		n, _ := out.Read(b[:])
		took = append(took, float64(time.Since(began).Microseconds())/1000)
		for err == nil {
			_, err = out.Read(b[:])
		}
		if err := cmd.Wait(); err != nil || n == 0 {
			return nil, fmt.Errorf("%w: %s", err, said.String())
		}
	}
	return []Figure{{Name: coldName, Value: percentile(took, 0.5), Unit: "ms", Target: 50},
		{Name: "fastest", Value: slices.Min(took), Unit: "ms"}}, nil
}

// probeTen is P2: ten queries over one JSON source that they share, as the queries of a lab do, against one of
// them.
func probeTen(ctx context.Context, p Probing) ([]Figure, error) {
	w, err := Find("W3json")
	if err != nil {
		return nil, err
	}
	run := func(queries int) (float64, error) {
		dir, err := os.MkdirTemp(p.Scratch, "ten-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		s, err := engine.NewSession(engine.Config{Dir: dir})
		if err != nil {
			return 0, err
		}
		defer s.Close()
		q, err := w.open(ctx, s, nil, "small", p.Data)
		if err != nil {
			return 0, err
		}
		s.ShareReads(slices.Repeat([]*engine.DataFrame{q}, queries), nil)
		began := time.Now()
		var runs []*engine.StreamingQuery
		for i := range queries {
			r, err := q.WriteStream().OutputMode(w.Mode).Trigger(engine.AvailableNow()).Format("noop").QueryName(fmt.Sprint("q", i)).
				Option("checkpointLocation", filepath.Join(dir, fmt.Sprint("chk", i))).Start(ctx)
			if err != nil {
				return 0, err
			}
			runs = append(runs, r)
		}
		for _, r := range runs {
			if err := r.AwaitTermination(ctx); err != nil {
				return 0, err
			}
		}
		return time.Since(began).Seconds(), nil
	}
	var ratios []float64
	for range p.Rounds {
		one, err := run(1)
		if err != nil {
			return nil, err
		}
		ten, err := run(10)
		if err != nil {
			return nil, err
		}
		ratios = append(ratios, ten/one)
	}
	return []Figure{{Name: "ten queries ÷ one", Value: middle(ratios), Target: 2}}, nil
}

// probeResting is P3: a process with ten queries that wait for files.
func probeResting(ctx context.Context, p Probing) ([]Figure, error) {
	in := filepath.Join(p.Scratch, "in")
	if err := os.Mkdir(in, 0o755); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("lab: resting\nsources:\n  events: {format: json, path: %s, schema: %q}\nqueries:\n", in, eventSchema)
	for i := range 10 {
		text += fmt.Sprintf("  - {queryName: q%d, sql: %q, format: noop, outputMode: update, options: {checkpointLocation: chk%d}}\n", i, queryW3, i)
	}
	path, err := labFile(p.Scratch, "resting", text)
	if err != nil {
		return nil, err
	}
	if _, err := lab.Load(path); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, p.Program, "run", path, "--for", "24s", "--progress", "none")
	cmd.Dir = p.Scratch
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	<-time.After(7 * time.Second) // queries rest after three
	cpu, began := pty.CPUSeconds(cmd.Process.Pid), time.Now()
	<-time.After(12 * time.Second)
	share := 100 * (pty.CPUSeconds(cmd.Process.Pid) - cpu) / time.Since(began).Seconds()
	memory := residentBytes(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return nil, err
	}
	return []Figure{{Name: "CPU of one core, ten idle queries", Value: share, Unit: "%", Target: 1},
		{Name: "resident memory", Value: float64(memory) / (1 << 20), Unit: "MiB"}}, nil
}

func residentBytes(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(raw), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// proportionalBytes is the memory of a process, in which a page that n processes share counts as an n-th of one: the
// sum over processes of one program is what they hold together. 0 where the system does not tell.
func proportionalBytes(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
