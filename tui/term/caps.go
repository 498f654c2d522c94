package term

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/term"
)

// Usable says whether the workbench can run here: both ends are terminals and TERM is not dumb.
func Usable(in, out *os.File) bool {
	return os.Getenv("TERM") != "dumb" && term.IsTerminal(in.Fd()) && term.IsTerminal(out.Fd())
}

// NoTerminal is what to print, with exit code 2, where Usable says no.
const NoTerminal = "streamlab: the workbench needs a terminal.\n" +
	"Use: streamlab run LAB, streamlab status, streamlab sql -c \"…\"\n" +
	"More: streamlab help headless\n"

// ThemeFor chooses the theme: the user's wish if any, then NO_COLOR, then what the locale can show.
func ThemeFor(wish string, getenv func(string) string) string {
	if wish != "" && wish != "auto" {
		return wish
	}
	if getenv("NO_COLOR") != "" {
		return "none"
	}
	if getenv("TERM") == "linux" || !utf8Locale(getenv) {
		return "ascii"
	}
	return "terminal"
}

func utf8Locale(getenv func(string) string) bool {
	for _, k := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(k); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true // nothing said: the terminals of today
}

// An Output wraps the terminal's writer: each frame is written inside a synchronized update, so that
// no terminal shows half a frame, and the time writes take is measured, so that a slow line can be
// given fewer frames. Safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	w    io.Writer
	sync bool
	avg  atomic.Int64 // moving average of a write, in nanoseconds
}

// NewOutput wraps w. STREAMLAB_NO_SYNC=1 turns synchronized updates off.
func NewOutput(w io.Writer) *Output {
	return &Output{w: w, sync: os.Getenv("STREAMLAB_NO_SYNC") == ""}
}

// Write writes p as one update.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	began := time.Now()
	var err error
	if o.sync && len(p) > 64 {
		buf := make([]byte, 0, len(p)+16)
		buf = append(buf, "\x1b[?2026h"...)
		buf = append(buf, p...)
		buf = append(buf, "\x1b[?2026l"...)
		_, err = o.w.Write(buf)
	} else {
		_, err = o.w.Write(p)
	}
	took := int64(time.Since(began))
	o.avg.Store((o.avg.Load()*7 + took) / 8)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Slow reports whether writes take over 40 ms on average.
func (o *Output) Slow() bool { return o.avg.Load() > int64(40*time.Millisecond) }

// MaxClipboard is the most that is sent to the terminal's clipboard.
const MaxClipboard = 64 << 10

// Copy puts text into the terminal's clipboard (OSC 52, through tmux where needed). It fails for more
// than MaxClipboard bytes. The text is encoded, so nothing in it can reach the terminal as a command.
func (o *Output) Copy(text string) error {
	if len(text) > MaxClipboard {
		return fmt.Errorf("%d KiB are too much for the terminal's clipboard (64 KiB)", len(text)>>10)
	}
	seq := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	if os.Getenv("TMUX") != "" {
		seq = "\x1bPtmux;" + strings.ReplaceAll(seq, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := io.WriteString(o.w, seq)
	return err
}

// Fd, Read and Close make an Output of a file look like that file, so that its size can be asked and
// raw mode set. Close does nothing: the file is not ours.
func (o *Output) Fd() uintptr {
	if f, ok := o.w.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// Read reads from the file that is written to.
func (o *Output) Read(p []byte) (int, error) {
	if f, ok := o.w.(*os.File); ok {
		return f.Read(p)
	}
	return 0, io.EOF
}

// Close does nothing.
func (o *Output) Close() error { return nil }
