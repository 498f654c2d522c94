package term

import (
	"os"
	"strings"

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
