//go:build cgo && linux

package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"streamlab/internal/pty"
)

// diesOn lets the workbench of a test end as no code of its own can handle: by a panic of a goroutine nobody
// watches, or by an error of the runtime.
func diesOn(how string) {
	ask := make(chan os.Signal, 1)
	signal.Notify(ask, syscall.SIGUSR1)
	go func() {
		<-ask
		if how == "panic" {
			panic("of a library")
		}
		m := map[int]int{}
		for range 4 {
			go func() {
				for {
					m[0]++ // "concurrent map writes" cannot be recovered from
				}
			}()
		}
	}()
}

// shell is bash on a pseudo terminal: it knows job control and can tell the terminal's settings.
type shell struct {
	*pty.Terminal
	t   *testing.T
	dir string
	at  int // bytes that were looked at
}

func newShell(t *testing.T) *shell {
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	t.Setenv("STREAMLAB_TEST_AS_PROGRAM", "1")
	t.Setenv("STREAMLAB_CONFIG", filepath.Join(dir, "config"))
	t.Setenv("PS1", "ready> ")
	term, err := pty.Open(dir, 80, 24, "/bin/bash", "--norc", "--noprofile", "-i")
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{term, t, dir, 0}
	t.Cleanup(func() { _ = s.Close() })
	s.see("ready> ")
	return s
}

func (s *shell) see(text string) {
	s.t.Helper()
	at, err := s.WaitText(s.at, 20*time.Second, text)
	if err != nil {
		out, _ := s.Output(s.at)
		s.t.Fatalf("%v; there is %q", err, out)
	}
	s.at = at
}

func (s *shell) press(keys string) {
	s.t.Helper()
	if err := s.Press(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shell) settings(file string) string {
	s.t.Helper()
	s.press("stty -g > " + file + "; echo saved-$((40+2))\r")
	s.see("saved-42")
	data, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil || len(data) < 10 {
		s.t.Fatalf("stty: %q %v", data, err)
	}
	return string(data)
}

// child is the process of the workbench, the last descendant of the guard.
func (s *shell) child() int {
	all := pty.Processes(s.Cmd.Process.Pid)
	return all[len(all)-1]
}

func (s *shell) guard() int { return pty.Processes(s.Cmd.Process.Pid)[1] }

const flowLab = `lab: flow
sources: {r: {format: rate, options: {rowsPerSecond: 5}}}
queries: [{queryName: flow, sql: SELECT value FROM r, format: noop}]
`

// However the workbench ends, the terminal is as it was: its settings, the screen, the cursor.
func TestTheTerminalIsLeftAsItWas(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kill := func(pid func(s *shell) int, sig syscall.Signal) func(s *shell) {
		return func(s *shell) {
			if err := syscall.Kill(pid(s), sig); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		dies string
		end  func(s *shell)
		code int
	}{
		{"quit", "", func(s *shell) { s.press("q"); s.see("Quit streamlab?"); s.press("y") }, 0},
		{"ctrl-c", "", func(s *shell) { s.press("\x03"); s.see("Quit streamlab?"); s.press("\x03") }, 0},
		{"ctrl-z", "", func(s *shell) {
			s.press("\x1a")
			s.see("Stopped")
			stopped := s.settings("stopped")
			s.press("fg\r")
			s.see("1 run")
			s.press("q")
			s.see("Quit streamlab?")
			s.press("y")
			s.t.Cleanup(func() {
				if before, _ := os.ReadFile(filepath.Join(s.dir, "before")); string(before) != stopped {
					s.t.Errorf("while it is suspended the terminal has %q, want %q", stopped, before)
				}
			})
		}, 0},
		{"panic", "panic", kill((*shell).child, syscall.SIGUSR1), 2},
		{"fatal", "fatal", kill((*shell).child, syscall.SIGUSR1), 2},
		{"SIGKILL", "", kill((*shell).child, syscall.SIGKILL), 137},
		{"SIGBUS", "", kill((*shell).child, syscall.SIGBUS), 2},
		{"SIGHUP", "", kill((*shell).guard, syscall.SIGHUP), 129},
		{"SIGTERM", "", kill((*shell).guard, syscall.SIGTERM), 143},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("STREAMLAB_TEST_DIES", c.dies)
			s := newShell(t)
			before := s.settings("before")
			if err := os.WriteFile(filepath.Join(s.dir, "flow.yaml"), []byte(flowLab), 0o644); err != nil {
				t.Fatal(err)
			}
			s.press(self + " flow.yaml\r")
			s.see("1 run")
			c.end(s)
			s.see("\x1b[?1049l")
			s.see("ready> ") // before, the program may still read the keys
			s.press("\recho code-$?-\r")
			s.see("code-" + fmt.Sprint(c.code) + "-")
			if after := s.settings("after"); after != before {
				t.Errorf("the terminal has %q, want %q", after, before)
			}
			out, _ := s.Output(0)
			if on, off := strings.LastIndex(out, "\x1b[?25l"), strings.LastIndex(out, "\x1b[?25h"); on > off {
				t.Error("the cursor stays hidden")
			}
			for _, mode := range []string{"?1049", "?2004", "?1004"} {
				if on, off := strings.LastIndex(out, "\x1b["+mode+"h"), strings.LastIndex(out, "\x1b["+mode+"l"); on > off && mode != "?2004" {
					t.Errorf("mode %s stays on", mode)
				}
			}
		})
	}
}

// A terminal that answers nothing delays nothing: no command asks it anything.
func TestNothingIsAskedOfTheTerminal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("STREAMLAB_TEST_AS_PROGRAM", "1")
	for _, args := range [][]string{{"version"}, {"--help"}, {"lab", "ls"}, {}} {
		term, err := pty.Open(t.TempDir(), 80, 24, self, args...)
		if err != nil {
			t.Fatal(err)
		}
		want := "0.1.0"
		switch {
		case len(args) == 0:
			want = "Labs"
		case args[0] == "--help":
			want = "Usage"
		case args[0] == "lab":
			want = "hello"
		}
		began := time.Now()
		if _, err := term.WaitText(0, 20*time.Second, want); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if d := time.Since(began); d > 3*time.Second { // a terminal that is asked and silent costs five
			t.Errorf("%v took %v", args, d)
		}
		out, _ := term.Output(0)
		for _, question := range []string{"\x1b]11;?", "\x1b]10;?", "\x1b[6n", "\x1b[c", "\x1b[>c", "\x1bP+q", "\x1b[?u"} {
			if strings.Contains(out, question) {
				t.Errorf("%v asks the terminal %q", args, question)
			}
		}
		if err := term.Close(); err != nil {
			t.Error(err)
		}
	}
}
