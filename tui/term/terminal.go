package term

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"

	"streamlab/internal/safego"
)

// What the workbench asks of a terminal while it owns it, and taking it back: the title saved, the
// alternate screen, no cursor, bracketed paste, focus reports, no wrapping at the right border (a text
// that terminal and program measure differently must not push the screen up by a line).
const (
	enter = "\x1b[22;2t\x1b]2;streamlab\a\x1b[?1049h\x1b[2J\x1b[?25l\x1b[?2004h\x1b[?1004h\x1b[?7l"
	leave = "\x1b[?1002l\x1b[?1006l\x1b[?7h\x1b[?1004l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l\x1b[23;2t"
)

// A Terminal is the terminal while the workbench owns it: raw mode, alternate screen, and a painter.
//
// Bubble Tea reads keys and runs the loop, but its renderer is not used: that one wakes 60 or 120 times
// a second for as long as the program runs, writes frames while holding what the loop needs, and knows
// no synchronized output. Here a goroutine sleeps until there is a frame, writes only the lines that
// differ, inside one synchronized update, and if frames come faster than the line takes them the newest
// one wins. A key's frame leaves as soon as it is drawn and an idle program does nothing at all.
//
// All methods are safe for concurrent use.
type Terminal struct {
	in    *os.File // nil: not a terminal (tests)
	file  *os.File // nil: as in
	out   io.Writer
	sync  bool
	state *term.State

	writing sync.Mutex // held while writing to out; taken before mu
	mu      sync.Mutex // guards everything below; never held while writing, so Show never waits
	frame   []string   // newest; nil when painted
	row     int        // where the terminal's own cursor stands, from 1; 0: hidden
	painted []string   // what the terminal shows; nil: unknown
	mouse   bool       // guarded by writing
	paused  bool
	closed  bool

	wake chan struct{} // capacity 1: there is a frame
	done chan struct{}
	bg   []*safego.Handle
	avg  atomic.Int64 // moving average of a write, in nanoseconds
}

// Open takes the terminal. in and out that are not terminals are used as they are, with no raw mode.
// STREAMLAB_NO_SYNC=1 turns synchronized updates off.
func Open(in io.Reader, out io.Writer) (*Terminal, error) {
	t := &Terminal{out: out, sync: os.Getenv("STREAMLAB_NO_SYNC") == "",
		wake: make(chan struct{}, 1), done: make(chan struct{})}
	if f, ok := in.(*os.File); ok && term.IsTerminal(f.Fd()) {
		t.in = f
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(f.Fd()) {
		t.file = f
	}
	if err := t.take(); err != nil {
		return nil, err
	}
	t.bg = append(t.bg, safego.Go("terminal painter", t.paint))
	return t, nil
}

// take sets raw mode and enters the screen.
func (t *Terminal) take() error {
	if t.in != nil {
		st, err := term.MakeRaw(t.in.Fd())
		if err != nil {
			return fmt.Errorf("terminal: %w", err)
		}
		if t.state == nil {
			t.state = st
		}
	}
	_, err := io.WriteString(t.out, enter)
	return err
}

// release leaves the screen and puts the mode back.
func (t *Terminal) release() {
	_, _ = io.WriteString(t.out, leave)
	if t.in != nil && t.state != nil {
		_ = term.Restore(t.in.Fd(), t.state)
	}
}

// Show makes lines the frame to be on the screen, as soon as the terminal takes it.
func (t *Terminal) Show(lines []string) {
	t.mu.Lock()
	t.frame = lines
	t.mu.Unlock()
	t.poke()
}

// ShowCursor lets the terminal's own cursor stand at the beginning of a row (from 0) from the next frame
// on: screen readers and braille displays follow it. A negative row hides it.
func (t *Terminal) ShowCursor(row int) {
	t.mu.Lock()
	t.row = row + 1
	t.mu.Unlock()
}

func (t *Terminal) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Redraw forgets what the terminal shows: the next frame is written in full.
func (t *Terminal) Redraw() {
	t.mu.Lock()
	if t.frame == nil {
		t.frame = t.painted
	}
	t.painted = nil
	t.mu.Unlock()
	t.poke()
}

// Mouse turns reports of the mouse on or off.
func (t *Terminal) Mouse(on bool) {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mouse = on
	t.setMouse()
}

func (t *Terminal) setMouse() {
	if t.mouse {
		_, _ = io.WriteString(t.out, "\x1b[?1002h\x1b[?1006h")
	} else {
		_, _ = io.WriteString(t.out, "\x1b[?1002l\x1b[?1006l")
	}
}

// Pause gives the terminal back, before the process is suspended or another program runs on it.
func (t *Terminal) Pause() {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	was := t.paused || t.closed
	t.paused = true
	t.mu.Unlock()
	if !was {
		t.release()
	}
}

// Resume takes the terminal again after Pause and draws everything.
func (t *Terminal) Resume() {
	t.writing.Lock()
	t.mu.Lock()
	again := t.paused && !t.closed
	t.mu.Unlock()
	if again {
		_ = t.take() // it worked at the start; if it does not now, keys still come
		t.setMouse()
		t.mu.Lock()
		t.paused = false
		if t.frame == nil {
			t.frame = t.painted
		}
		t.painted = nil
		t.mu.Unlock()
	}
	t.writing.Unlock()
	t.poke()
}

// Close gives the terminal back for good. Later calls do nothing.
func (t *Terminal) Close() {
	t.writing.Lock()
	t.mu.Lock()
	was, paused := t.closed, t.paused
	t.closed = true
	t.mu.Unlock()
	if !was && !paused {
		t.release()
	}
	t.writing.Unlock()
	if was {
		return
	}
	close(t.done)
	for _, h := range t.bg {
		_ = h.Wait() // a panic of the painter is of no use to anybody now
	}
}

// Size is the size of the terminal; of an output that is none its own Size, else 80x24.
func (t *Terminal) Size() (w, h int) {
	if s, ok := t.out.(interface{ Size() (w, h int) }); ok {
		return s.Size()
	}
	if t.file != nil {
		if w, h, err := term.GetSize(t.file.Fd()); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}

// Watch calls f with the size now and whenever it changes, on a goroutine of its own, until Close.
func (t *Terminal) Watch(f func(w, h int)) {
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, syscall.SIGWINCH, syscall.SIGCONT)
	t.bg = append(t.bg, safego.Go("terminal size", func() error {
		defer signal.Stop(sig)
		for {
			f(t.Size())
			select {
			case <-sig:
			case <-t.done:
				return nil
			}
		}
	}))
}

// paint is the painter's goroutine.
func (t *Terminal) paint() error {
	for {
		select {
		case <-t.done:
			return nil
		case <-t.wake:
		}
		t.writing.Lock()
		t.mu.Lock()
		out := ""
		if t.frame != nil && !t.paused && !t.closed {
			out = t.diff()
		}
		t.mu.Unlock()
		if out == "" {
			t.writing.Unlock()
			continue
		}
		began := time.Now()
		_, err := io.WriteString(t.out, out)
		t.writing.Unlock()
		t.avg.Store((t.avg.Load()*7 + int64(time.Since(began))) / 8)
		if err != nil {
			return err
		}
	}
}

// diff makes the text that turns what is painted into the newest frame, and counts it as painted.
func (t *Terminal) diff() string {
	var b strings.Builder
	whole := len(t.painted) != len(t.frame)
	if whole && t.painted != nil {
		b.WriteString("\x1b[2J")
	}
	for y, l := range t.frame {
		if !whole && t.painted[y] == l {
			continue
		}
		b.WriteString("\x1b[")
		b.WriteString(strconv.Itoa(y + 1))
		b.WriteString(";1H")
		b.WriteString(l)
	}
	t.painted, t.frame = t.frame, nil
	if t.row > 0 {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[?25h", t.row)
	}
	if b.Len() == 0 || !t.sync {
		return b.String()
	}
	return "\x1b[?2026h" + b.String() + "\x1b[?2026l"
}

// Slow reports whether writes take over 40 ms on average.
func (t *Terminal) Slow() bool { return t.avg.Load() > int64(40*time.Millisecond) }
