package tui

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
	"streamlab/tui/term"
)

// sink keeps what the terminal is sent and tells when text has come.
type sink struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	wait chan struct{} // closed and replaced at each write
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.Write(p)
	close(s.wait)
	s.wait = make(chan struct{})
	return len(p), nil
}

// await waits until text has been written after position from and returns the position behind it.
func (s *sink) await(t *testing.T, from int, text string) int {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		s.mu.Lock()
		i := strings.Index(s.buf.String()[from:], text)
		w := s.wait
		s.mu.Unlock()
		if i >= 0 {
			return from + i + len(text)
		}
		select {
		case <-w:
		case <-late:
			t.Fatalf("%q did not come; there is %q", text, s.buf.String()[from:])
		}
	}
}

func (s *sink) text(from int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()[from:]
}

// runOn runs the whole program with its output into out; the test's end ends it.
func runOn(t *testing.T, out io.Writer, bench screen.Workbench) (context.CancelFunc, io.Writer) {
	in, keys := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- RunContext(ctx, Options{Gallery: screentest.Gallery{}, Workbench: bench, Look: term.Look{Theme: "terminal"},
			In: in, Out: out, clock: func() time.Time { return screentest.Now }, zone: time.UTC})
	}()
	t.Cleanup(func() {
		cancel()
		keys.Close()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Error("it did not end")
		}
	})
	return cancel, keys
}

// The whole program on pipes: first frame, keys one by one and in bursts, quitting with the question.
func TestRun(t *testing.T) {
	b := screentest.New()
	in, keys := io.Pipe()
	out := &sink{wait: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		ended <- RunContext(context.Background(), Options{Gallery: screentest.Gallery{}, Workbench: b, Look: term.Look{Theme: "none"},
			In: in, Out: out, clock: func() time.Time { return screentest.Now }, zone: time.UTC})
	}()
	at := out.await(t, 0, "clicks_1m")
	began := time.Now()
	io.WriteString(keys, "5")
	at = out.await(t, at, "Events")
	if d := time.Since(began); d > 500*time.Millisecond {
		t.Errorf("a key took %v to its frame", d)
	}
	io.WriteString(keys, "1jjb")
	at = out.await(t, at, "rides_join")
	io.WriteString(keys, "\x1b") // a lone esc goes back
	at = out.await(t, at, "last batches")
	io.WriteString(keys, "q")
	at = out.await(t, at, "Quit streamlab?")
	io.WriteString(keys, "y")
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it did not end")
	}
	if !b.Closed {
		t.Error("the lab was not closed")
	}
	out.await(t, at, "\x1b[?1049l")
}

func TestOpenFromTheCommandLine(t *testing.T) {
	for _, c := range []struct {
		path string
		want string
	}{
		{"shop", "clicks_1m"},
		{"event-time", "send 3 rows in order"}, // a guided lab begins with its steps
		{"missing", "PATH_NOT_FOUND"},
	} {
		m := newModel(context.Background(), Options{Gallery: screentest.Gallery{}, Open: c.path, timer: noTimer,
			clock: func() time.Time { return screentest.Now }, zone: time.UTC})
		d := &driver{t, &Camera{m}}
		d.run(m.Init())
		d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		if f := d.frame(); !strings.Contains(f, c.want) {
			t.Errorf("%s: %q is not on the screen:\n%s", c.path, c.want, f)
		}
	}
}

// A signal that comes while the program ends by itself does not keep it: whichever is first, it ends.
func TestASignalAtTheEndDoesNotHoldTheProgram(t *testing.T) {
	mine := make(chan os.Signal, 100) // one that comes late must not end the tests
	signal.Notify(mine, syscall.SIGTERM)
	defer signal.Stop(mine)
	for round := range 60 {
		in, keys := io.Pipe()
		out := &sink{wait: make(chan struct{})}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			ended <- RunContext(ctx, Options{Gallery: screentest.Gallery{}, Workbench: screentest.New(), In: in, Out: out})
		}()
		out.await(t, 0, "clicks_1m")
		go cancel()
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatalf("round %d did not end", round)
		}
		cancel()
		keys.Close()
	}
}
