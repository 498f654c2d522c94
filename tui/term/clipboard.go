package term

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// MaxClipboard is the most that is sent to the terminal's clipboard; terminals drop what is longer.
const MaxClipboard = 64 << 10

// A Clipboard copies text to where the user can paste it.
type Clipboard struct {
	term *Terminal
	tool []string // reads the text from its standard input; nil: the terminal has the clipboard
	dir  string   // for what is too long for the terminal
}

// NewClipboard chooses how to copy. way is "auto", "native" or "terminal"; auto is a tool of the system
// if the program runs on the user's own machine and there is one, else the terminal (OSC 52).
func NewClipboard(t *Terminal, way string, getenv func(string) string) *Clipboard {
	c := &Clipboard{term: t, dir: os.TempDir()}
	far := getenv("SSH_CONNECTION") != "" || getenv("SSH_TTY") != ""
	if way == "terminal" || far && way != "native" {
		return c
	}
	c.tool = clipTool(getenv, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	return c
}

// clipTool is the command that fills the system's clipboard; nil if there is none.
func clipTool(getenv func(string) string, has func(string) bool) []string {
	for _, t := range []struct {
		when string // variable that has to be set; empty: always
		cmd  []string
	}{
		{"", []string{"pbcopy"}},
		{"WSL_DISTRO_NAME", []string{"clip.exe"}},
		{"WAYLAND_DISPLAY", []string{"wl-copy"}},
		{"DISPLAY", []string{"xclip", "-selection", "clipboard"}},
		{"DISPLAY", []string{"xsel", "--clipboard", "--input"}},
	} {
		if (t.when == "" || getenv(t.when) != "") && has(t.cmd[0]) {
			return t.cmd
		}
	}
	return nil
}

// Copy puts text into the clipboard and says where it went: "the clipboard", "the terminal's clipboard",
// or a file, for text that is too long for the terminal. It may take two seconds if a tool hangs.
func (c *Clipboard) Copy(text string) (where string, err error) {
	if c.tool != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, c.tool[0], c.tool[1:]...)
		cmd.Stdin = strings.NewReader(text)
		if err := cmd.Run(); err == nil {
			return "the clipboard", nil
		}
	}
	if len(text) > MaxClipboard {
		f, err := os.CreateTemp(c.dir, "streamlab-copy-*.txt")
		if err != nil {
			return "", err
		}
		_, werr := f.WriteString(text)
		return f.Name(), errors.Join(werr, f.Close())
	}
	if c.term == nil {
		return "", fmt.Errorf("there is no terminal")
	}
	return "the terminal's clipboard", c.term.copy(text)
}

// copy sends OSC 52, through tmux where needed. The text is encoded, so nothing in it can reach the
// terminal as a command.
func (t *Terminal) copy(text string) error {
	seq := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	if os.Getenv("TMUX") != "" {
		seq = "\x1bPtmux;" + strings.ReplaceAll(seq, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	_, err := io.WriteString(t.out, seq)
	return err
}
