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
	"More: streamlab --help\n"

// A Look is what the user wants to see, from flags and settings; the zero Look leaves all to the terminal.
type Look struct {
	Theme string // as canvas.Named; "" and "auto" choose
	Color string // "always", "never"; "" and "auto" ask NO_COLOR
	ASCII bool   // plain symbols
}

// ThemeFor chooses the theme. Colour: the user's wish, then NO_COLOR, then yes.
// Symbols: ASCII where it is asked for, on the Linux console, and where the locale is not UTF-8.
func ThemeFor(wish Look, getenv func(string) string) string {
	ascii := wish.ASCII || getenv("TERM") == "linux" || !utf8Locale(getenv)
	color := true
	switch {
	case wish.Color == "always":
	case wish.Color == "never":
		color = false
	case getenv("NO_COLOR") != "":
		color = false
	}
	named := wish.Theme != "" && wish.Theme != "auto"
	switch {
	case named && wish.Color != "never" && !wish.ASCII:
		return wish.Theme // named with nothing else said: that one, NO_COLOR or not
	case ascii && !color:
		return "ascii-none"
	case !color:
		return "none"
	case ascii:
		return "ascii"
	case named:
		return wish.Theme
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
