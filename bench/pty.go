package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"streamlab/internal/safego"
)

// A terminal is a program on a pseudo terminal of 200 by 50. What it writes is kept as the updates in which it
// came: the workbench writes each frame between the marks of a synchronized update.
type terminal struct {
	cmd    *exec.Cmd
	master *os.File
	reader *safego.Handle

	mu     sync.Mutex
	rest   []byte
	frames []frame
	bytes  int64
	change chan struct{} // closed and replaced when a frame has come
}

type frame struct {
	at   time.Time
	text string
}

const (
	frameBegin = "\x1b[?2026h"
	frameEnd   = "\x1b[?2026l"
)

func openTerminal(dir, program string, args ...string) (*terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*terminal, error) { return nil, errors.Join(err, master.Close()) }
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return fail(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return fail(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}); err != nil {
		return fail(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return fail(err)
	}
	t := &terminal{master: master, change: make(chan struct{})}
	t.cmd = exec.Command(program, args...)
	t.cmd.Dir = dir
	t.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = slave, slave, slave
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = t.cmd.Start()
	if e := slave.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fail(err)
	}
	t.reader = safego.Go("pseudo terminal", t.read)
	return t, nil
}

func (t *terminal) read() error {
	buf := make([]byte, 1<<16)
	for {
		n, err := t.master.Read(buf)
		now := time.Now()
		t.mu.Lock()
		t.bytes += int64(n)
		t.rest = append(t.rest, buf[:n]...)
		for {
			end := bytes.Index(t.rest, []byte(frameEnd))
			if end < 0 {
				break
			}
			begin := max(0, bytes.Index(t.rest[:end], []byte(frameBegin)))
			t.frames = append(t.frames, frame{now, string(t.rest[begin:end])})
			t.rest = append(t.rest[:0], t.rest[end+len(frameEnd):]...)
			close(t.change)
			t.change = make(chan struct{})
		}
		t.mu.Unlock()
		if err != nil {
			return nil // the program has ended
		}
	}
}

// wait gives the first frame from number n on that is wanted, and the number after it.
func (t *terminal) wait(n int, limit time.Duration, want func(text string) bool) (frame, int, error) {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		t.mu.Lock()
		list, change := t.frames, t.change
		t.mu.Unlock()
		for ; n < len(list); n++ {
			if want(list[n].text) {
				return list[n], n + 1, nil
			}
		}
		select {
		case <-change:
		case <-timeout.C:
			return frame{}, n, fmt.Errorf("no such frame came within %v", limit)
		}
	}
}

// count is the number of frames so far.
func (t *terminal) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.frames)
}

func (t *terminal) press(keys string) error {
	_, err := io.WriteString(t.master, keys)
	return err
}

// close hangs up, as a terminal window that is closed does, and waits for the program to end.
func (t *terminal) close() error {
	for _, pid := range processes(t.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGHUP)
	}
	err := t.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil // it was told to
	}
	err = errors.Join(err, t.master.Close())
	return errors.Join(err, t.reader.Wait())
}

// processes lists a process and its descendants.
func processes(pid int) []int {
	out := []int{pid}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		kids, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, k := range strings.Fields(string(kids)) {
			if n, err := strconv.Atoi(k); err == nil {
				out = append(out, processes(n)...)
			}
		}
	}
	return out
}

// treeSeconds is the CPU time of a process and its descendants that are alive.
func treeSeconds(pid int) float64 {
	total := 0.0
	for _, p := range processes(pid) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(raw[strings.LastIndexByte(string(raw), ')'):]), " ")
		f := strings.Fields(rest)
		for _, i := range []int{11, 12} {
			if i < len(f) {
				n, _ := strconv.ParseFloat(f[i], 64)
				total += n / 100
			}
		}
	}
	return total
}
