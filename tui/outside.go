package tui

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/errs"
	"streamlab/tui/screen"
)

// outsideMsg says that a program that had the terminal has ended.
type outsideMsg struct {
	on   screen.Screen
	done func(error) screen.Effect
	err  error
}

// editorOf is the command line that opens a file at a line: $VISUAL, else $EDITOR, with its arguments.
// Editors of which it is known how are told the line. nil if neither is set.
func editorOf(getenv func(string) string, path string, line int) []string {
	words := strings.Fields(getenv("VISUAL"))
	if len(words) == 0 {
		words = strings.Fields(getenv("EDITOR"))
	}
	if len(words) == 0 {
		return nil
	}
	at := strconv.Itoa(max(1, line))
	switch strings.TrimSuffix(filepath.Base(words[0]), ".exe") {
	case "vi", "vim", "nvim", "view", "gvim", "nano", "pico", "emacs", "emacsclient", "joe", "jmacs", "mg", "micro", "ne", "kak", "jed", "mcedit":
		return append(words, "+"+at, path)
	case "hx", "helix", "zed", "subl":
		return append(words, path+":"+at)
	case "code", "codium", "cursor", "windsurf":
		return append(words, "--wait", "--goto", path+":"+at)
	}
	return append(words, path)
}

// outside gives the terminal to the user's editor until it ends.
func (m *model) outside(o screen.Outside, on screen.Screen) tea.Cmd {
	args := editorOf(os.Getenv, o.Path, o.Line)
	if args == nil {
		return m.say("no editor is known: set VISUAL or EDITOR, such as VISUAL=vim")
	}
	c := exec.Command(args[0], args[1:]...)
	// Bubble Tea's own output is off, so the program gets the real streams from us.
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if m.term != nil {
		m.term.Pause()
	}
	return tea.ExecProcess(c, func(err error) tea.Msg { return outsideMsg{on, o.Done, err} })
}

// inside takes the terminal back.
func (m *model) inside(msg outsideMsg) tea.Cmd {
	m.dirty = true
	if m.term != nil {
		m.term.Resume()
	}
	if msg.err != nil {
		m.push(&card{err: errs.Wrap(msg.err, "EDITOR_FAILED", "reason", msg.err.Error())})
	}
	return tea.Batch(m.apply(msg.on, msg.done(msg.err)), m.tick())
}
