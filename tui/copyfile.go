package tui

import (
	"context"
	"errors"
	"io/fs"
	"os"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/internal/safe"
	"streamlab/tui/screen"
	"streamlab/tui/widget"
)

// copyToFile writes the newest copy into a file that the user names: where no clipboard is reached, that always
// works. A file that is there is left alone.
func (m *model) copyToFile() tea.Cmd {
	text, on := m.copied, m.front()
	if text == "" {
		return m.say("paste copy to file: nothing was copied")
	}
	return m.apply(on, screen.Effect{Input: &screen.Prompt{Title: "Paste the copy to a file", Label: widget.Bytes(int64(len(text))) + " into the new file",
		Text: "copy.txt", Done: func(path string) screen.Effect {
			if path == "" {
				return screen.Effect{}
			}
			return screen.Effect{Jobs: []screen.Job{{Slot: "copy", What: "writing", Run: func(context.Context) func() screen.Effect {
				err := writeNew(path, text)
				return func() screen.Effect {
					switch {
					case errors.Is(err, fs.ErrExist):
						return screen.Effect{Toast: safe.Text(path, 60) + " is there already: nothing was written"}
					case err != nil:
						return screen.Effect{Error: screen.AsError(err)}
					}
					return screen.Effect{Toast: "wrote " + safe.Text(path, 60)}
				}
			}}}}
		}}})
}

// writeNew writes a file that must not be there.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
