package tui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"streamlab/tui/canvas"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
	"streamlab/tui/term"
)

// emulated is a terminal in memory: what the program writes is drawn as a terminal draws it.
type emulated struct {
	mu   sync.Mutex
	em   *vt.Emulator
	w, h int
	wait chan struct{} // closed and replaced at each write
}

func newEmulated(w, h int) *emulated {
	e := &emulated{em: vt.NewEmulator(w, h), w: w, h: h, wait: make(chan struct{})}
	go io.Copy(io.Discard, e.em) // what a terminal would answer; ends with Close
	return e
}

func (e *emulated) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.em.Write(p)
	close(e.wait)
	e.wait = make(chan struct{})
	return n, err
}

// rows is what the terminal shows, one string a row.
func (e *emulated) rows() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]string, e.h)
	for y := range out {
		var b strings.Builder
		for x := 0; x < e.w; x++ {
			c := e.em.CellAt(x, y)
			if c == nil || c.Content == "" {
				if c == nil || c.Width != 0 {
					b.WriteByte(' ')
				}
				continue
			}
			b.WriteString(c.Content)
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// await waits until the screen holds what ok wants.
func (e *emulated) await(t *testing.T, what string, ok func(rows []string) bool) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		e.mu.Lock()
		w := e.wait
		e.mu.Unlock()
		if ok(e.rows()) {
			return
		}
		select {
		case <-w:
		case <-late:
			t.Fatalf("%s did not come; the screen is\n%s", what, strings.Join(e.rows(), "\n"))
		}
	}
}

// A run of the whole program on an emulated terminal.
func newRun(t *testing.T, w, h int, bench screen.Workbench) (*emulated, io.Writer) {
	e := newEmulated(w, h)
	t.Cleanup(func() { e.em.Close() })
	_, keys := runOn(t, sized{e}, bench)
	return e, keys
}

// sized is an output that knows how large it is, as a terminal does.
type sized struct{ *emulated }

func (s sized) Size() (w, h int) { return s.w, s.h }

// An emulator shows what the canvas holds, whichever way the keys come: one by one, or in one read.
func TestEmulatorShowsTheCanvas(t *testing.T) {
	for _, c := range []struct{ keys, raw string }{
		{"b enter", "b\r"}, {"down down b", "jjb"}, {"5 down down", "5jj"}, {"2 enter", "2\r"}, {"?", "?"}, {"p", "p"}, {"K", "K"},
	} {
		for _, size := range sizes[:3] {
			for _, burst := range []bool{false, true} {
				t.Run(fmt.Sprint(c.keys, size, burst), func(t *testing.T) {
					cam := NewCamera(Options{Gallery: screentest.Gallery{}, Workbench: screentest.New()}, size[0], size[1], screentest.Now)
					cam.Keys(c.keys)
					cv, _ := cam.Frame()
					want := strings.Split(strings.TrimSuffix(cv.Text(), "\n"), "\n")
					e, keys := newRun(t, size[0], size[1], screentest.New())
					e.await(t, "the first frame", func(rows []string) bool { return strings.Contains(rows[0], "Queries") })
					if burst {
						io.WriteString(keys, c.raw)
					} else {
						for _, k := range c.raw {
							io.WriteString(keys, string(k))
						}
					}
					e.await(t, "the frame", func(rows []string) bool { return strings.Join(rows, "\n") == strings.Join(want, "\n") })
				})
			}
		}
	}
}

// Whatever the data holds, every line and border that the program drew stands in its column: what may look
// odd is only the odd text itself.
func TestLinesStayInTheEmulator(t *testing.T) {
	for _, s := range hostile {
		for _, keys := range []string{"", "b enter", "b enter enter", "2 enter", "5", "K", "!"} {
			cam := NewCamera(Options{Gallery: screentest.Gallery{}, Workbench: hostileBench{screentest.New(), s}}, 120, 36, screentest.Now)
			cam.Keys(keys)
			cv, theme := cam.Frame()
			e := newEmulated(120, 36)
			tm, err := term.Open(strings.NewReader(""), e)
			if err != nil {
				t.Fatal(err)
			}
			tm.Show(cv.Encode(theme))
			last := 0
			for y := range 36 {
				if len(cv.Runs(y)) > 0 {
					last = y
				}
			}
			e.await(t, "the frame", func(rows []string) bool { return rows[last] != "" })
			if err := linesStand(cv, e); err != nil {
				t.Errorf("%.40q after %q: %v", s, keys, err)
			}
			tm.Close()
			e.em.Close()
		}
	}
}

// linesStand compares the cells of the program's own lines.
func linesStand(cv *canvas.Canvas, e *emulated) error {
	w, h := cv.Size()
	e.mu.Lock()
	defer e.mu.Unlock()
	for y := range h {
		for x := range w {
			want := cv.At(x, y)
			if !strings.Contains("│┃━─┏┓┗┛", want) || want == "" {
				continue
			}
			if c := e.em.CellAt(x, y); c == nil || c.Content != want {
				got := "nothing"
				if c != nil {
					got = c.Content
				}
				return fmt.Errorf("row %d column %d has %q, want %q", y, x, got, want)
			}
		}
	}
	return nil
}
