// Package widget holds the parts screens are made of: lists that scroll, tables, charts, a line to type
// in, numbers written for people. They know nothing of streams and nothing of Bubble Tea.
package widget

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"streamlab/internal/safe"
)

// Linef is fmt.Sprintf made fit for the terminal.
func Linef(format string, args ...any) safe.Line { return safe.Text(fmt.Sprintf(format, args...), 0) }

// Count writes n with thousands separators: 1,204,880. Negative numbers mean unknown: "-".
func Count(n int64) safe.Line {
	if n < 0 {
		return "-"
	}
	s := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, c := range []byte(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(c)
	}
	return safe.Line(b.String())
}

// Plural writes a count and what is counted: "1 key", "3 keys"; "query" becomes "queries".
func Plural(n int64, word safe.Line) safe.Line {
	switch {
	case n == 1:
	case word[len(word)-1] == 'y' && word != "key":
		word = word[:len(word)-1] + "ies"
	case word[len(word)-1] == 'h':
		word += "es"
	default:
		word += "s"
	}
	return Count(n) + " " + word
}

// Signed writes a change: +412, −3, 0 as "+0".
func Signed(n int64) safe.Line {
	if n < 0 {
		return "−" + Count(-n)
	}
	return "+" + Count(n)
}

// Rate writes rows per second with three digits: 840, 9.7k, 998.2k, 1.02M. NaN and negative are "-".
func Rate(r float64) safe.Line {
	switch {
	case math.IsNaN(r) || r < 0 || math.IsInf(r, 0):
		return "-"
	case r == 0:
		return "0"
	case r < 10:
		return safe.Line(strings.TrimSuffix(strconv.FormatFloat(r, 'f', 1, 64), ".0"))
	case r < 999.5:
		return safe.Line(strconv.FormatFloat(r, 'f', 0, 64))
	case r < 999_950:
		return safe.Line(strconv.FormatFloat(r/1e3, 'f', 1, 64) + "k")
	case r < 999_500_000:
		return safe.Line(strconv.FormatFloat(r/1e6, 'f', 2, 64) + "M")
	}
	return safe.Line(strconv.FormatFloat(r/1e9, 'f', 2, 64) + "G")
}

// Short writes a duration in a few cells: 94ms, 1.2s, 32s, 10m, 2h, 3d. Negative is "-".
func Short(d time.Duration) safe.Line {
	switch {
	case d < 0:
		return "-"
	case d < time.Second:
		return safe.Line(strconv.FormatInt(d.Milliseconds(), 10) + "ms")
	case d < 10*time.Second:
		return safe.Line(strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + "s")
	case d < 2*time.Minute:
		return safe.Line(strconv.Itoa(int(d.Seconds())) + "s")
	case d < 2*time.Hour:
		return safe.Line(strconv.Itoa(int(d.Minutes())) + "m")
	case d < 48*time.Hour:
		return safe.Line(strconv.Itoa(int(d.Hours())) + "h")
	}
	return safe.Line(strconv.Itoa(int(d.Hours()/24)) + "d")
}

// Words writes a span of time for a sentence: 500 ms, 11 s, 10 min, 2 h, 3 days.
func Words(d time.Duration) safe.Line {
	switch {
	case d < time.Second:
		return Linef("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return safe.Line(strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', btoi(d < 10*time.Second), 64), ".0")) + " s"
	case d < 2*time.Hour:
		return Linef("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return Linef("%d h", int(d.Hours()))
	}
	return Linef("%d days", int(d.Hours()/24))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Took writes the time something took: 182 ms, 1.24 s, 3m05s.
func Took(d time.Duration) safe.Line {
	switch {
	case d < 0:
		return "-"
	case d < time.Millisecond && d > 0:
		return "<1 ms"
	case d < time.Second:
		return safe.Line(strconv.FormatInt(d.Milliseconds(), 10) + " ms")
	case d < time.Minute:
		return safe.Line(strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s")
	}
	return Clock(d)
}

// Clock writes how long something has been going on: 9s, 12m04s, 3h07m.
func Clock(d time.Duration) safe.Line {
	s := int(d.Seconds())
	switch {
	case s < 0:
		return "0s"
	case s < 60:
		return Linef("%ds", s)
	case s < 3600:
		return Linef("%dm%02ds", s/60, s%60)
	case s < 86400:
		return Linef("%dh%02dm", s/3600, s/60%60)
	}
	return Linef("%dd%02dh", s/86400, s/3600%24)
}

// Bytes writes a size: 41 B, 14 KiB, 212 MiB.
func Bytes(n int64) safe.Line {
	switch {
	case n < 0:
		return "-"
	case n < 1<<10:
		return Linef("%d B", n)
	case n < 1<<20:
		return Linef("%d KiB", n>>10)
	case n < 10<<30:
		return Linef("%d MiB", n>>20)
	}
	return Linef("%d GiB", n>>30)
}

// Wrap breaks text into lines of at most w cells at blanks; longer words are cut.
func Wrap(text safe.Line, w int) []safe.Line {
	if w < 1 {
		return nil
	}
	var out []safe.Line
	var cur safe.Line
	for _, word := range strings.Fields(string(text)) {
		l := safe.Cut(safe.Line(word), w)
		switch {
		case cur == "":
			cur = l
		case safe.Width(cur)+1+safe.Width(l) <= w:
			cur += " " + l
		default:
			out = append(out, cur)
			cur = l
		}
	}
	if cur != "" {
		out = append(out, cur)
	}
	return out
}
