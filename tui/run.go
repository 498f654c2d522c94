package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/errs"
	"streamlab/tui/screen"
	"streamlab/tui/term"
)

// Options are what Run needs.
type Options struct {
	// Gallery lists the labs of tab 4; nil shows none.
	Gallery screen.Gallery
	// Workbench is the lab that is open at the start; nil starts at the gallery. Run closes it.
	Workbench screen.Workbench
	// Open is the path of a lab the gallery opens after the first frame; empty opens none.
	Open string
	// Steps shows the lab of Open at its steps, if it has some, although its queries run.
	Steps bool
	// Notice is shown as a card at the start: what a crash left, a lab file with mistakes. May be nil.
	Notice *errs.Error

	Look     term.Look
	Plain    bool   // no lines and charts, one pane, one redraw a second: for screen readers
	Calm     bool   // nothing flashes or spins, two redraws a second
	Mouse    bool   // take the mouse at the start
	Copy     string // "auto", "native" or "terminal"; "" is auto
	ReadOnly bool   // nothing stored is changed
	UTC      bool   // times in UTC
	Version  string
	// Keys are the user's own key bindings; those that do not count are said at the start.
	Keys []Rebinding

	In  io.Reader // nil: standard input
	Out io.Writer // nil: standard output

	theme string           // as canvas.Named; "" is the terminal's own colours
	clock func() time.Time // tests
	zone  *time.Location   // nil: local
	slow  func() bool
	timer func(time.Duration, func(time.Time) tea.Msg) tea.Cmd
}

// Run shows the workbench until the user quits. It owns the terminal meanwhile: nothing else may write
// to it. The lab that is open at the end has been closed when Run returns.
func Run(opts Options) error { return RunContext(context.Background(), opts) }

// RunContext is Run that also ends when ctx does: queries then stop after their batches.
func RunContext(ctx context.Context, opts Options) error {
	if opts.In == nil {
		opts.In = os.Stdin
	}
	if opts.Out == nil {
		opts.Out = os.Stdout
	}
	opts.theme = term.ThemeFor(opts.Look, os.Getenv)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGTERM, os.Interrupt)
	defer stop()
	t, err := term.Open(opts.In, opts.Out)
	if err != nil {
		return err
	}
	defer t.Close()
	opts.slow = t.Slow
	m := newModel(ctx, opts)
	m.clip, m.term = term.NewClipboard(t, opts.Copy, os.Getenv).Copy, t
	if opts.Mouse {
		t.Mouse(true)
	}
	// Signals end ctx. Bubble Tea's own handler would send a message to a loop that ctx may have ended already,
	// and Run would wait for that handler for ever.
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(opts.In), tea.WithOutput(io.Discard), tea.WithoutRenderer(),
		tea.WithoutSignalHandler())
	t.Watch(func(w, h int) { p.Send(tea.WindowSizeMsg{Width: w, Height: h}) })
	m.times = newTimes(os.Getenv("STREAMLAB_SCREEN_TIMES"))
	_, err = p.Run()
	t.Close()
	err = errors.Join(err, m.times.write())
	if w := m.sh.Bench; w != nil && !m.quits {
		c, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if cerr := w.Close(c); err == nil {
			err = cerr
		}
	}
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
