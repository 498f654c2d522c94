// Package pty runs a program on a pseudo terminal, as a person would at a real one: its keys are typed, what it
// writes is kept with the time it came. Open works on
// Linux and says so elsewhere.
package pty

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

// A Terminal is a program on a pseudo terminal. What it writes is kept as the updates in which it
// came: the workbench writes each frame between the marks of a synchronized update.
type Terminal struct {
	Cmd    *exec.Cmd
	master *os.File
	reader *safego.Handle

	mu     sync.Mutex
	rest   []byte
	frames []Frame
	all    []byte
	change chan struct{} // closed and replaced when a frame has come
}

// A Frame is one update of the screen and when it had come whole.
type Frame struct {
	At   time.Time
	Text string
}

const (
	frameBegin = "\x1b[?2026h"
	frameEnd   = "\x1b[?2026l"
)

// Open starts a program in a folder on a terminal of w columns and h rows, as the leader of its session.
// Close ends it.
func Open(dir string, w, h uint16, program string, args ...string) (*Terminal, error) {
	master, slave, err := open()
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*Terminal, error) { return nil, errors.Join(err, master.Close()) }
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: h, Col: w}); err != nil {
		return fail(errors.Join(err, slave.Close()))
	}
	t := &Terminal{master: master, change: make(chan struct{})}
	t.Cmd = exec.Command(program, args...)
	t.Cmd.Dir = dir
	t.Cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
	t.Cmd.Stdin, t.Cmd.Stdout, t.Cmd.Stderr = slave, slave, slave
	t.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = t.Cmd.Start()
	if e := slave.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fail(err)
	}
	t.reader = safego.Go("pseudo terminal", t.read)
	return t, nil
}

func (t *Terminal) read() error {
	buf := make([]byte, 1<<16)
	for {
		n, err := t.master.Read(buf)
		now := time.Now()
		t.mu.Lock()
		t.all = append(t.all, buf[:n]...)
		close(t.change)
		t.change = make(chan struct{})
		t.rest = append(t.rest, buf[:n]...)
		for {
			end := bytes.Index(t.rest, []byte(frameEnd))
			if end < 0 {
				break
			}
			begin := max(0, bytes.Index(t.rest[:end], []byte(frameBegin)))
			t.frames = append(t.frames, Frame{now, string(t.rest[begin:end])})
			t.rest = append(t.rest[:0], t.rest[end+len(frameEnd):]...)
		}
		t.mu.Unlock()
		if err != nil {
			return nil // the program has ended
		}
	}
}

// Wait gives the first frame from number n on that is wanted, and the number after it.
func (t *Terminal) Wait(n int, limit time.Duration, want func(text string) bool) (Frame, int, error) {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		t.mu.Lock()
		list, change := t.frames, t.change
		t.mu.Unlock()
		for ; n < len(list); n++ {
			if want(list[n].Text) {
				return list[n], n + 1, nil
			}
		}
		select {
		case <-change:
		case <-timeout.C:
			return Frame{}, n, fmt.Errorf("no such frame came within %v", limit)
		}
	}
}

// Output is what came after the first n bytes, and how many bytes came in all.
func (t *Terminal) Output(n int) (string, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.all[min(n, len(t.all)):]), len(t.all)
}

// WaitText waits until text has come after the first n bytes and gives the number of bytes up to its end.
func (t *Terminal) WaitText(n int, limit time.Duration, text string) (int, error) {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for {
		t.mu.Lock()
		i, change := bytes.Index(t.all[n:], []byte(text)), t.change
		t.mu.Unlock()
		if i >= 0 {
			return n + i + len(text), nil
		}
		select {
		case <-change:
		case <-timeout.C:
			return n, fmt.Errorf("%q did not come within %v", text, limit)
		}
	}
}

// Resize gives the terminal another size; the program is told by SIGWINCH.
func (t *Terminal) Resize(w, h uint16) error {
	return unix.IoctlSetWinsize(int(t.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: h, Col: w})
}

// Count is the number of frames so far.
func (t *Terminal) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.frames)
}

// Press types keys as the terminal would send them.
func (t *Terminal) Press(keys string) error {
	_, err := io.WriteString(t.master, keys)
	return err
}

// Close hangs up, as a terminal window that is closed does, and waits for the program to end. What does not end
// within five seconds is killed, descendants too: one that lives on would hold the terminal.
func (t *Terminal) Close() error {
	all := Processes(t.Cmd.Process.Pid)
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGHUP)
		_ = syscall.Kill(pid, syscall.SIGCONT) // a suspended one hears it too
	}
	ended := safego.Go("pseudo terminal program", t.Cmd.Wait)
	select {
	case <-ended.Done():
	case <-time.After(5 * time.Second):
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	err := ended.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil // it was told to
	}
	err = errors.Join(err, t.master.Close())
	return errors.Join(err, t.reader.Wait())
}

// Processes lists a process and its descendants.
func Processes(pid int) []int {
	out := []int{pid}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		kids, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, k := range strings.Fields(string(kids)) {
			if n, err := strconv.Atoi(k); err == nil {
				out = append(out, Processes(n)...)
			}
		}
	}
	return out
}

// CPUSeconds is the CPU time of a process and its descendants that are alive.
func CPUSeconds(pid int) float64 {
	total := 0.0
	for _, p := range Processes(pid) {
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
