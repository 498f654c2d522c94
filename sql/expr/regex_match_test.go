package expr

import (
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// somePattern makes a pattern of depth at most d out of few characters, so that texts of the same match often.
func somePattern(r *rand.Rand, d int) string {
	atoms := []string{"a", "b", "ab", "ba", "c", "é", "日", "\U0001F600", ".", "[ab]", "[^a]", "[^é]", "[b-é]", `\w`, `\d`, `\s`, `\b`, `\B`, "^", "$",
		`\A`, `\z`, "(?i)k", "(?i:É)", "(?s:.)", "(?m:^)", "(?m:$)", "", `\x{fffd}`, "[^b]*", "a+", "ab=", "(?i:ab)", `\pL`, "[[:alpha:]]", "\n"}
	if d == 0 {
		return atoms[r.Intn(len(atoms))]
	}
	sub := func() string { return somePattern(r, d-1) }
	many := []string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}"}
	switch r.Intn(8) {
	case 0:
		return sub() + sub()
	case 1:
		return sub() + sub() + sub()
	case 2:
		return "(" + sub() + "|" + sub() + ")"
	case 3:
		return "(?:" + sub() + "|" + sub() + ")" + sub()
	case 4:
		return "(?:" + sub() + ")" + many[r.Intn(len(many))]
	case 5:
		return "(" + sub() + ")" + many[r.Intn(len(many))] + sub()
	case 6:
		return "(" + sub() + ")"
	}
	return sub()
}

func someText(r *rand.Rand) []byte {
	parts := []string{"a", "b", "ab", "ab", "ba", "c", "é", "É", "日", "\U0001F600", " ", "\n", "1", "k", "K", "\u212a", "AB", "=", "ab=", "\xff", "\xe6\x97",
		"\x80", "\ufffd", "_"}
	var b strings.Builder
	for range r.Intn(14) {
		b.WriteString(parts[r.Intn(len(parts))])
	}
	return []byte(b.String())
}

// sameMatches compares a matcher with Go's engine on one text.
func sameMatches(m *matcher, re *regexp.Regexp, text []byte) error {
	if got, want := m.find(text, 0, true), re.FindSubmatchIndex(text); !slices.Equal(got, want) {
		return fmt.Errorf("%q in %q: first match %v, want %v", re, text, got, want)
	}
	if got, want := m.find(text, 0, false) != nil, re.Match(text); got != want {
		return fmt.Errorf("%q in %q: match %v, want %v", re, text, got, want)
	}
	var got [][]int
	ended := -1
	if err := m.each(text, func(loc []int) error {
		// Java finds an empty match right behind another one, where Go's engine finds none.
		if loc[0] != loc[1] || loc[0] != ended {
			got = append(got, slices.Clone(loc))
		}
		ended = loc[1]
		return nil
	}); err != nil {
		return err
	}
	if want := re.FindAllSubmatchIndex(text, -1); !slices.EqualFunc(got, want, slices.Equal[[]int]) {
		return fmt.Errorf("%q in %q: matches %v, want %v", re, text, got, want)
	}
	return nil
}

// TestMatcherIsTheEngine makes patterns and texts at random: every match and every group must be the engine's.
func TestMatcherIsTheEngine(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	tried, withText, found := 0, 0, 0
	for range 6000 {
		pattern := somePattern(r, 1+r.Intn(4))
		re, err := regexp.Compile(pattern)
		if err != nil {
			continue
		}
		m := newMatcher(pattern)
		if m == nil {
			t.Fatalf("no matcher for %q", pattern)
		}
		if m.lit != nil {
			withText++
		}
		for range 12 {
			text := someText(r)
			if tried++; re.Match(text) {
				found++
			}
			if err := sameMatches(m, re, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if withText < 1000 || found < tried/5 || found > tried*19/20 {
		t.Errorf("of %d texts %d match, %d patterns have a text: the patterns say little", tried, found, withText)
	}
}

func FuzzMatcher(f *testing.F) {
	f.Add(`(&|^)channel_id=([^&]*)`, []byte("https://x/y?query=1&channel_id=77&z"))
	f.Add(`(a*b?)*c`, []byte("aaaaaaab"))
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 60 || len(text) > 200 {
			return
		}
		if m := newMatcher(pattern); m != nil && m.takes(text) {
			if err := sameMatches(m, re, text); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestMatcherEndsSoon runs what a backtracking engine without marks would not end with.
func TestMatcherEndsSoon(t *testing.T) {
	text := []byte(strings.Repeat("a", 2000))
	for _, pattern := range []string{`(a*)*c`, `(a|aa)+$b`, `(a+)+b`, `(?:a?){30}a{30}b`, `(.*)(.*)(.*)x`} {
		m := newMatcher(pattern)
		if !m.takes(text) {
			m.marks = 0
			text = text[:500]
			m = newMatcher(pattern)
		}
		if m.takes(text) && m.find(text, 0, true) != nil {
			t.Errorf("%q matches", pattern)
		}
	}
}

func TestLiteralOfPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		min, max      int
	}{
		{`(&|^)channel_id=([^&]*)`, "channel_id=", 0, 1},
		{`abc`, "abc", 0, 0},
		{`x.?abcd`, "abcd", 1, 5},
		{`.*abcd`, "abcd", 0, -1},
		{`k.*abcd`, "k", 0, 0},
		{`(ab)+c`, "ab", 0, 0},
		{`(ab)*c`, "c", 0, -1},
		{`(?i)abc`, "", 0, 0},
		{`abc|abd`, "ab", 0, 0},
		{`\x{fffd}`, "", 0, 0},
	} {
		m := newMatcher(c.pattern)
		if string(m.lit) != c.text || m.lit != nil && (m.min != c.min || m.max != c.max) {
			t.Errorf("%q: %q, %d to %d bytes behind the beginning", c.pattern, m.lit, m.min, m.max)
		}
	}
}

func BenchmarkMatcher(b *testing.B) {
	pattern := `(&|^)channel_id=([^&]*)`
	texts := [][]byte{[]byte("https://www.nexmark.com/abc/def/ghi/item.htm?query=1&channel_id=877232"), []byte("https://www.nexmark.com/abc/def/ghi/item.htm?query=1")}
	m, re := newMatcher(pattern), regexp.MustCompile(pattern)
	for i, text := range texts {
		b.Run(fmt.Sprintf("matcher %d", i), func(b *testing.B) {
			for range b.N {
				m.find(text, 0, true)
			}
		})
		b.Run(fmt.Sprintf("engine %d", i), func(b *testing.B) {
			for range b.N {
				re.FindSubmatchIndex(text)
			}
		})
	}
}
