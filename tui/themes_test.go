package tui

import (
	"fmt"
	"strings"
	"testing"

	"streamlab/tui/canvas"
	"streamlab/tui/screen/screentest"
)

// Two screens in every theme, as the terminal gets them: words and the sequences around them. So a colour that changes
// its role, or a symbol without an ASCII twin, shows in a review.
func TestThemes(t *testing.T) {
	plays := map[string]string{"queries": "G", "batch-late": "b enter"}
	for _, theme := range canvas.ThemeNames() {
		for screen, keys := range plays {
			for _, s := range sizes[:3] {
				name := fmt.Sprintf("theme-%s-%s-%dx%d", theme, screen, s[0], s[1])
				t.Run(name, func(t *testing.T) {
					d := &driver{t, NewCamera(Options{Gallery: screentest.Gallery{}, Workbench: screentest.New(), theme: theme}, s[0], s[1], screentest.Now)}
					got := strings.ReplaceAll(d.keys(keys).encoded(), "\x1b", "␛") + "\n"
					compare(t, name, got)
					text := d.frame()
					for _, r := range text {
						if d.m.theme.ASCII && r > 126 {
							t.Fatalf("%q is in the frame of %s:\n%s", r, theme, text)
						}
					}
					if bare := strings.Contains(got, "38;"); bare != (theme == "dark" || theme == "light") {
						t.Errorf("colours beside the terminal's own: %v", bare)
					}
					if theme == "none" && colours(got) {
						t.Error("a frame without colours has some")
					}
				})
			}
		}
	}
}

// colours tells whether an encoded frame sets a foreground or a background.
func colours(frame string) bool {
	for _, part := range strings.Split(frame, "␛[")[1:] {
		codes, _, ok := strings.Cut(part, "m")
		if !ok || strings.Trim(codes, "0123456789;") != "" {
			continue
		}
		for _, c := range strings.Split(codes, ";") {
			if len(c) == 2 && (c[0] == '3' || c[0] == '4') || len(c) > 2 {
				return true
			}
		}
	}
	return false
}
