package term

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestThemeFor(t *testing.T) {
	for _, c := range []struct {
		wish Look
		env  map[string]string
		want string
	}{
		{Look{Theme: ""}, nil, "terminal"},
		{Look{Theme: "auto"}, map[string]string{"NO_COLOR": "1"}, "none"},
		{Look{Theme: "dark"}, map[string]string{"NO_COLOR": "1"}, "dark"},
		{Look{Theme: ""}, map[string]string{"TERM": "linux"}, "ascii"},
		{Look{Theme: ""}, map[string]string{"LANG": "C"}, "ascii"},
		{Look{Theme: ""}, map[string]string{"LANG": "de_DE.UTF-8"}, "terminal"},
		{Look{Theme: ""}, map[string]string{"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, "ascii"},
		{Look{Color: "always"}, map[string]string{"NO_COLOR": "1"}, "terminal"},
		{Look{Theme: "dark", Color: "never"}, nil, "none"},
		{Look{ASCII: true, Color: "never"}, nil, "ascii-none"},
		{Look{}, map[string]string{"TERM": "linux", "NO_COLOR": "1"}, "ascii-none"},
	} {
		if got := ThemeFor(c.wish, func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("ThemeFor(%v, %v) = %q, want %q", c.wish, c.env, got, c.want)
		}
	}
}

func TestOnlyChangedLinesAreWritten(t *testing.T) {
	term := &Terminal{}
	term.frame = []string{"a", "b", "c"}
	if got, want := term.diff(), "\x1b[1;1Ha\x1b[2;1Hb\x1b[3;1Hc"; got != want {
		t.Errorf("first frame: %q, want %q", got, want)
	}
	term.frame = []string{"a", "B", "c"}
	if got, want := term.diff(), "\x1b[2;1HB"; got != want {
		t.Errorf("second frame: %q, want %q", got, want)
	}
	term.frame = []string{"a", "B", "c"}
	if got := term.diff(); got != "" {
		t.Errorf("the same frame was written again: %q", got)
	}
	term.frame = []string{"a", "B"}
	if got, want := term.diff(), "\x1b[2J\x1b[1;1Ha\x1b[2;1HB"; got != want {
		t.Errorf("another size: %q, want %q", got, want)
	}
	term.sync, term.frame = true, []string{"x", "B"}
	if got, want := term.diff(), "\x1b[?2026h\x1b[1;1Hx\x1b[?2026l"; got != want {
		t.Errorf("synchronized: %q, want %q", got, want)
	}
}

// slowWriter takes a write only when it is told to.
type slowWriter struct {
	buf        bytes.Buffer
	gate, last chan struct{} // gate lets frames through; last is closed when the last one comes
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("frame")) {
		<-w.gate
	}
	if bytes.Contains(p, []byte("frame last")) {
		defer close(w.last)
	}
	return w.buf.Write(p)
}

func TestSlowTerminalGetsTheNewestFrame(t *testing.T) {
	w := &slowWriter{gate: make(chan struct{}), last: make(chan struct{})}
	term, err := Open(strings.NewReader(""), w)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	term.Show([]string{"frame 0"})
	for i := range 100 {
		term.Show([]string{"frame " + strings.Repeat("x", i)})
	}
	term.Show([]string{"frame last"})
	if d := time.Since(began); d > time.Second {
		t.Errorf("Show waited %v for the terminal", d)
	}
	close(w.gate)
	<-w.last
	term.Close()
	term.Close()
	out := w.buf.String()
	if !strings.Contains(out, "frame last") {
		t.Errorf("the newest frame is missing: %q", out)
	}
	if n := strings.Count(out, "frame "); n > 4 {
		t.Errorf("%d frames were written, want the first and the newest", n)
	}
	if !strings.HasSuffix(out, leave) {
		t.Errorf("the terminal was not given back: %q", out)
	}
}

// TestMain makes this binary a guard or the guarded child where the environment says so.
func TestMain(m *testing.M) {
	switch os.Getenv("GUARD_TEST") {
	case "":
		os.Exit(m.Run())
	default:
		if !Guarded() {
			os.Exit(Guard(os.Getenv("GUARD_DIR")))
		}
	}
	switch os.Getenv("GUARD_TEST") {
	case "clean":
		os.Exit(Code(0))
	case "failed":
		os.Stderr.WriteString("error: no such lab\n")
		os.Exit(Code(3))
	case "fatal":
		os.Stderr.WriteString("a library gave up\n")
		os.Exit(1)
	case "panic":
		panic("boom")
	case "kill":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
}

func TestGuard(t *testing.T) {
	for _, c := range []struct {
		how   string
		code  int
		reset bool
		says  string
	}{
		{"clean", 0, false, ""},
		{"failed", 3, false, "error: no such lab"},
		{"fatal", 1, true, "crash-"},
		{"panic", 2, true, "crash-"},
		{"kill", 137, true, "SIGKILL"},
	} {
		t.Run(c.how, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=none")
			cmd.Env = append(os.Environ(), "GUARD_TEST="+c.how, "GUARD_DIR="+dir)
			var out, errOut bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errOut
			err := cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != c.code {
				t.Errorf("exit code %d (%v), want %d", got, err, c.code)
			}
			if got := strings.Contains(out.String(), "\x1b[?1049l"); got != c.reset {
				t.Errorf("the screen was reset: %v, want %v", got, c.reset)
			}
			if !strings.Contains(errOut.String(), c.says) {
				t.Errorf("it says %q, want %q in it", errOut.String(), c.says)
			}
		})
	}
}
