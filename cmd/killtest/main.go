// Killtest kills streamlab again and again and counts what its sinks got. A child process runs a shipped lab;
// it is killed at a random moment or at a named point of the batch protocol, then started again. At the end it
// may drain, and every row must be there exactly once.
//
// The sinks lab has one query for each kind of sink, with a workspace of its own; the broker that the Kafka sink
// writes to lives in this process, which is not killed, or is the one that -kafka names.
//
//	go run ./cmd/killtest -lab sinks -kills 200
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"streamlab/internal/broker"
	"streamlab/labs"
	"streamlab/sinks/memory"
)

// points are where the child kills itself; an empty one is killed from outside at a random time.
var points = []string{"", "plan.begin", "", "plan.before_wal", "plan.after_wal", "", "exec.begin", "exec.first_row", "", "exec.end",
	"sink.stage.begin", "", "sink.stage.mid", "sink.stage.synced", "", "sink.commit.before", "sink.commit.after", "", "state.mid", "state.end",
	"commit.before", "", "commit.after", "anchor.before", "anchor.after", "", "cleanup.before", "cleanup.mid", "", "compact.mid", "purge.mid"}

func main() {
	name := flag.String("lab", "numbers", "numbers, flights or sinks")
	kills := flag.Int("kills", 100, "how many times the child is killed")
	seed := flag.Uint64("seed", 1, "of the random times")
	sink := flag.String("sink", "", "only this sink of the sinks lab")
	server := flag.String("kafka", "", "host:port of a broker for the Kafka sink, instead of one in this process")
	flag.Parse()
	if err := run(*name, *sink, *server, *kills, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "killtest:", err)
		os.Exit(1)
	}
}

type loop struct {
	bin, lab, dir string
	broker        string // address
	topic         string // of the Kafka sink
	rng           *rand.Rand
	out           *os.File // takes what the child prints; may be nil
	hits          map[string]int
	first         int // numbers that are there before the first start
	// feed adds numbers to the input; nil writes files.
	feed func(first, last int) error
}

// places says how often the child was killed where.
func (l *loop) places() string {
	var list []string
	for _, p := range slices.Sorted(maps.Keys(l.hits)) {
		where := p
		if p == "" {
			where = "at random"
		}
		list = append(list, fmt.Sprint(where, " ", l.hits[p]))
	}
	return strings.Join(list, ", ")
}

func run(name, sink, server string, kills int, seed uint64) error {
	dir, err := os.MkdirTemp("", "killtest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l := &loop{bin: filepath.Join(dir, "streamlab"), dir: dir, rng: rand.New(rand.NewPCG(seed, 0))}
	if out, err := exec.Command("go", "build", "-o", l.bin, "./cmd/streamlab").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %v\n%s", err, out)
	}
	l.broker = server
	l.hits = map[string]int{}
	if name == "sinks" {
		return l.sinks(sink, kills)
	}
	if l.lab, err = labs.Unpack(name, dir); err != nil {
		return err
	}
	switch name {
	case "numbers":
		return l.numbers(kills)
	case "flights":
		return l.flights(kills)
	}
	return fmt.Errorf("no kill loop for %q", name)
}

// kill starts the child and has it killed once; it reports whether a kill happened (a point that the run
// does not pass ends by itself).
func (l *loop) kill(k int, args ...string) (bool, error) {
	point := points[k%len(points)]
	cmd := exec.Command(l.bin, append([]string{"run", l.lab, "--progress", "none"}, args...)...)
	cmd.Dir, cmd.Env = l.dir, l.environment()
	if l.out != nil {
		cmd.Stdout = l.out
	}
	if point != "" {
		cmd.Env = append(cmd.Env, "STREAMLAB_UNSAFE_FAULTS=1", fmt.Sprintf("STREAMLAB_FAULT=%s@%d=kill", point, 1+l.rng.IntN(3)))
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return false, err
	}
	if point == "" {
		t := time.AfterFunc(time.Duration(5+l.rng.IntN(250))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		defer t.Stop()
	} else {
		t := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
		defer t.Stop()
	}
	err := cmd.Wait()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
		l.hits[point]++
		return true, nil
	}
	if err != nil && cmd.ProcessState.ExitCode() != 143 {
		return false, fmt.Errorf("kill %d at %q: %v\n%s", k, point, err, stderr.String())
	}
	return false, nil
}

func (l *loop) environment() []string {
	if l.broker == "" {
		return os.Environ()
	}
	return append(os.Environ(), broker.Parent+"="+l.broker)
}

func (l *loop) drain(flags ...string) error {
	cmd := exec.Command(l.bin, append([]string{"run", l.lab, "--available-now"}, flags...)...)
	cmd.Dir, cmd.Env = l.dir, l.environment()
	if l.out != nil {
		cmd.Stdout = l.out
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("drain: %v\n%s", err, stderr.String())
	}
	return nil
}

// grow adds fifteen numbers, in three files or by feed, and starts the lab, again and again, until it was killed so many times. last
// is the largest number there is.
func (l *loop) grow(kills int, flags ...string) (last, starts int, err error) {
	last = l.first
	for killed := 0; killed < kills; starts++ {
		if starts > 20*kills {
			return last, starts, fmt.Errorf("%d starts and only %d kills", starts, killed)
		}
		if l.feed != nil {
			if err := l.feed(last+1, last+15); err != nil {
				return last, starts, err
			}
			last += 15
		}
		for k := 0; k < 3 && l.feed == nil; k++ {
			f := filepath.Join(l.dir, "data", "numbers", fmt.Sprintf("more-%05d-%d.txt", starts, k))
			var b strings.Builder
			for range 5 {
				last++
				fmt.Fprintln(&b, last)
			}
			if err := os.WriteFile(f+".tmp", []byte(b.String()), 0o644); err != nil {
				return last, starts, err
			}
			if err := os.Rename(f+".tmp", f); err != nil {
				return last, starts, err
			}
		}
		hit, err := l.kill(starts, append([]string{"--available-now"}, flags...)...)
		if err != nil {
			return last, starts, err
		}
		if hit {
			killed++
		}
	}
	return last, starts, nil
}

func (l *loop) numbers(kills int) error {
	l.first = 30
	last, starts, err := l.grow(kills)
	if err != nil {
		return err
	}
	next := last + 1
	if err := l.drain(); err != nil {
		return err
	}
	bad := 0
	for _, q := range []struct {
		name, field string
		by          int
	}{{"doubled", "twice", 2}, {"tripled", "thrice", 3}} {
		lost, doubled, err := l.count(filepath.Join(l.dir, "out", q.name), q.field, q.by, next)
		if err != nil {
			return err
		}
		fmt.Printf("numbers/%s: %d starts, %d killed, %d rows, %d lost, %d doubled\n", q.name, starts, kills, last, lost, doubled)
		bad += lost + doubled
	}
	if bad > 0 {
		return fmt.Errorf("%d rows lost or doubled", bad)
	}
	return nil
}

// count reads the folder as a naive reader does: every file that is not hidden.
func (l *loop) count(dir, field string, by, next int) (lost, doubled int, err error) {
	seen := map[int]int{}
	files, err := filepath.Glob(filepath.Join(dir, "[^._]*"))
	if err != nil {
		return 0, 0, err
	}
	for _, f := range files {
		r, err := os.Open(f)
		if err != nil {
			return 0, 0, err
		}
		sc := bufio.NewScanner(r)
		for sc.Scan() {
			var row map[string]int
			if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
				r.Close()
				return 0, 0, fmt.Errorf("%s: %w", f, err)
			}
			if row[field] != row["n"]*by {
				r.Close()
				return 0, 0, fmt.Errorf("%s: wrong row %s", f, sc.Text())
			}
			seen[row["n"]]++
		}
		r.Close()
	}
	for n := 1; n < next; n++ {
		switch c := seen[n]; {
		case c == 0:
			lost++
		case c > 1:
			doubled += c - 1
		}
	}
	return lost, doubled, nil
}

// firstDifference shows lines that only one of the texts has, at most five of each.
func firstDifference(want, got string) string {
	in := func(list, other, sign string) string {
		var b strings.Builder
		n := 0
		for _, l := range strings.SplitAfter(list, "\n") {
			if l != "" && strings.Count(other, l) < strings.Count(list, l) && n < 5 {
				b.WriteString(sign + l)
				n++
			}
		}
		return b.String()
	}
	return in(want, got, "- ") + in(got, want, "+ ")
}

// flights kills a query with state and a memory sink and compares with a run that was never killed.
func (l *loop) flights(kills int) error {
	rows := func() (string, error) {
		a, err := memory.Door(filepath.Join(l.dir, ".streamlab")).Query(context.Background(), "SELECT hour, origin, departures FROM per_hour ORDER BY 1, 2, 3", 0)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		for _, r := range a.Rows {
			for _, c := range r {
				b.WriteString(c.Text + "|")
			}
			b.WriteByte('\n')
		}
		return b.String(), nil
	}
	reset := func() {
		os.RemoveAll(filepath.Join(l.dir, ".streamlab"))
		os.RemoveAll(filepath.Join(l.dir, "chk"))
		os.Remove(filepath.Join(l.dir, "data", "flights", "2013-01-99.csv"))
	}
	// A restart runs no batch without data, as in Spark: what the watermark of the last batch lets go leaves with
	// the next data. So the end is a file whose only row lies behind all others.
	end := filepath.Join(l.dir, "data", "flights", "2013-01-99.csv")
	finish := func() error {
		if err := l.drain(); err != nil {
			return err
		}
		row := "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin," +
			"dest,air_time,distance,hour,minute,time_hour\n2013,1,9,1,1,0,1,1,0,UA,1,N1,EWR,IAH,1,1,1,1,2013-01-09T12:00:00Z\n"
		if err := os.WriteFile(end+".tmp", []byte(row), 0o644); err != nil {
			return err
		}
		if err := os.Rename(end+".tmp", end); err != nil {
			return err
		}
		return l.drain()
	}
	if err := finish(); err != nil {
		return err
	}
	want, err := rows()
	if err != nil {
		return err
	}
	killed, wrong, k := 0, 0, 0
	for killed < kills && k < 10*kills {
		reset()
		var history []string
		for round := 0; round < 6 && killed < kills; round++ {
			hit, err := l.kill(k, "per_hour", "--available-now")
			if err != nil {
				return err
			}
			history = append(history, fmt.Sprintf("%s %v", points[k%len(points)], hit))
			k++
			if hit {
				killed++
			}
		}
		if err := finish(); err != nil {
			return err
		}
		got, err := rows()
		if err != nil {
			return err
		}
		if got != want {
			wrong++
			fmt.Printf("flights/per_hour: wrong after kills at %q:\n%s", history, firstDifference(want, got))
		}
	}
	fmt.Printf("flights/per_hour: %d starts, %d killed, %d windows, %d runs with a wrong result\n", k, killed, strings.Count(want, "\n"), wrong)
	if wrong > 0 {
		return fmt.Errorf("%d wrong results", wrong)
	}
	return nil
}
