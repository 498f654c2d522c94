package canvas

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// A Style is what a cell means (its role) and how it stands out (attributes). Combine with |:
// canvas.Error | canvas.Bold.
type Style uint16

// The roles. Code names roles, themes name colours.
const (
	Text   Style = iota
	Muted        // units, rules, what is not read first
	Title        // names of panes
	Accent       // what leads the eye
	OK
	Warn
	Error
	Add
	Remove
	Change
	Key   // a key to press
	Match // found text
	roles

	roleMask Style = 31
)

// The attributes.
const (
	Bold Style = 1 << (5 + iota)
	Faint
	Underline
	Reverse
	styleEnd
)

// Cursor marks the row or cell the keys act on.
const Cursor = Reverse

func (s Style) role() Style { return s & roleMask }

// A Theme says how roles look. Immutable.
type Theme struct {
	Name  string
	ASCII bool // symbols of the chrome are plain ASCII
	sgrs  [styleEnd]string
}

func (t *Theme) sgr(s Style) string {
	if s >= styleEnd {
		return ""
	}
	return t.sgrs[s]
}

// A Paint is how a style looks outside a terminal. Colours are "#rrggbb".
type Paint struct {
	Front, Back            string // Back is empty where nothing is painted behind
	Bold, Faint, Underline bool
}

// Paint gives the colours of a style for a picture on a dark or light ground. Themes that leave colours to
// the terminal are shown in those of Dark or Light.
func (t *Theme) Paint(s Style, dark bool) Paint {
	looks, back := lightLooks, lightBack
	if dark {
		looks, back = darkLooks, darkBack
	}
	role := s.role()
	if t.Name == "none" || t.Name == "ascii-none" {
		role = Text
	}
	p := Paint{Front: looks[role].hex(), Bold: s&Bold != 0, Faint: s&Faint != 0, Underline: s&Underline != 0 || role == Match}
	if s&Reverse != 0 {
		p.Front, p.Back = back.hex(), p.Front
	}
	return p
}

// Ground is the colour of a picture's dark or light ground.
func Ground(dark bool) string {
	if dark {
		return darkBack.hex()
	}
	return lightBack.hex()
}

func (c rgb) hex() string { return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b) }

// flat reports whether a blank in style s looks like an untouched cell.
func (t *Theme) flat(s Style) bool { return s&(Underline|Reverse) == 0 }

// look is the SGR parameters of one role ("36", "38;2;1;2;3") and attributes that come with it.
type look struct {
	color string
	attr  Style
}

func build(name string, looks [roles]look) *Theme {
	t := &Theme{Name: name}
	for s := range styleEnd {
		r := s.role()
		if r >= roles {
			continue
		}
		a := s | looks[r].attr
		var b strings.Builder
		for _, p := range []struct {
			bit  Style
			code string
		}{{Bold, "1"}, {Faint, "2"}, {Underline, "4"}, {Reverse, "7"}} {
			if a&p.bit != 0 {
				b.WriteString(";" + p.code)
			}
		}
		if c := looks[r].color; c != "" {
			b.WriteString(";" + c)
		}
		t.sgrs[s] = b.String()
	}
	return t
}

// Terminal uses the terminal's own colours: default foreground and background and six of the sixteen
// palette entries. Right in light and dark without asking the terminal anything.
func Terminal() *Theme {
	return build("terminal", [roles]look{
		Muted: {"", Faint}, Title: {"", 0}, Accent: {"36", 0}, OK: {"32", 0}, Warn: {"33", 0},
		Error: {"31", 0}, Add: {"32", 0}, Remove: {"31", 0}, Change: {"33", 0}, Key: {"36", 0},
		Match: {"33", Underline},
	})
}

// None has no colours, only bold, faint, underline and reverse.
func None() *Theme {
	return build("none", [roles]look{
		Muted: {"", Faint}, Accent: {"", 0}, Error: {"", Bold}, Key: {"", Underline},
		Match: {"", Underline},
	})
}

type rgb struct{ r, g, b uint8 }

func (c rgb) sgr() string { return fmt.Sprintf("38;2;%d;%d;%d", c.r, c.g, c.b) }

var (
	darkBack, lightBack = rgb{0x16, 0x18, 0x1d}, rgb{0xff, 0xff, 0xff}
	darkLooks           = map[Style]rgb{
		Text: {0xd8, 0xdc, 0xe3}, Muted: {0x8b, 0x93, 0xa1}, Title: {0xec, 0xef, 0xf4},
		Accent: {0x7d, 0xc4, 0xe4}, OK: {0x8f, 0xcf, 0x8a}, Warn: {0xe5, 0xc0, 0x7b},
		Error: {0xf0, 0x7a, 0x7a}, Add: {0x8f, 0xcf, 0x8a}, Remove: {0xf0, 0x7a, 0x7a},
		Change: {0xe5, 0xc0, 0x7b}, Key: {0x7d, 0xc4, 0xe4}, Match: {0xf2, 0xd4, 0x6f},
	}
	lightLooks = map[Style]rgb{
		Text: {0x24, 0x29, 0x2f}, Muted: {0x5c, 0x64, 0x70}, Title: {0x10, 0x14, 0x1a},
		Accent: {0x05, 0x5d, 0x8c}, OK: {0x1a, 0x6b, 0x2b}, Warn: {0x80, 0x55, 0x00},
		Error: {0xb0, 0x1e, 0x1e}, Add: {0x1a, 0x6b, 0x2b}, Remove: {0xb0, 0x1e, 0x1e},
		Change: {0x80, 0x55, 0x00}, Key: {0x05, 0x5d, 0x8c}, Match: {0x7a, 0x50, 0x00},
	}
)

func exact(name string, looks map[Style]rgb) *Theme {
	var ls [roles]look
	for s, c := range looks {
		ls[s].color = c.sgr()
	}
	ls[Match].attr = Underline
	return build(name, ls)
}

// Dark and Light use 24-bit colours with a contrast of at least 4.5 to 1.
func Dark() *Theme  { return exact("dark", darkLooks) }
func Light() *Theme { return exact("light", lightLooks) }

var themes = map[string]func() *Theme{
	"terminal": Terminal, "none": None, "dark": Dark, "light": Light,
	"ascii":      func() *Theme { t := Terminal(); t.Name, t.ASCII = "ascii", true; return t },
	"ascii-none": func() *Theme { t := None(); t.Name, t.ASCII = "ascii-none", true; return t },
}

// ThemeNames lists what Named knows.
func ThemeNames() []string {
	var ns []string
	for n := range themes {
		ns = append(ns, n)
	}
	sort.Strings(ns)
	return ns
}

// Named gives a theme by name; "" is terminal. ok is false for a name that is none.
func Named(name string) (t *Theme, ok bool) {
	if name == "" {
		name = "terminal"
	}
	f, ok := themes[name]
	if !ok {
		return nil, false
	}
	return f(), true
}

// contrast is the ratio of the relative luminances of two colours, 1 to 21.
func contrast(a, b rgb) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(c rgb) float64 {
	lin := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.03928 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(c.r) + 0.7152*lin(c.g) + 0.0722*lin(c.b)
}
