package safe

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  Line
	}{
		{"plain", 0, "plain"},
		{"plain", 4, "pla…"},
		{"plain", 5, "plain"},
		{"a\x1b[31mred\x1b[0m", 0, "a␛[31mred␛[0m"},
		{"\x1b]52;c;aGk=\a", 0, "␛]52;c;aGk=␇"},
		{"two\nlines\r", 0, "two␊lines␍"},
		{"a\tb", 0, "a    b"},
		{"\u009b31m", 0, "⟨009B⟩31m"},
		{"abc\u202edef", 0, "abc⟨202E⟩def"},
		{"zero\u200bwidth\u200d", 0, "zero⟨200B⟩width⟨200D⟩"},
		{"bad\xff\xfe", 0, "bad��"},
		{"tag\U000e0041", 0, "tag⟨E0041⟩"},
		{"日本語", 5, "日本…"},
		{"日本語", 6, "日本語"},
		{"é" + strings.Repeat("\u0301", 40), 0, Line("é" + strings.Repeat("\u0301", 6))},
		{strings.Repeat("x", 100000), 10, "xxxxxxxxx…"},
		{strings.Repeat("日", 100000), 10, "日日日日…"},
	} {
		if got := Text(c.in, c.limit); got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	got := Lines("a\r\nb\x1b\n\nc\n")
	want := []Line{"a", "b␛", "", "c"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzSafeText(f *testing.F) {
	for _, s := range []string{"", "a\x1b[6n", "\u009d52;c;x\u009c", "हिन्दी", "👍🏽⚠️", "\x90q\x9c", "a\u2066b\xe2\x80"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit %= 200
		l := Text(s, limit)
		if !utf8.ValidString(string(l)) {
			t.Fatalf("%q gave invalid UTF-8 %q", s, l)
		}
		for _, r := range string(l) {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("%q gave %q, which holds %U", s, l, r)
			}
		}
		if limit > 0 && ansi.StringWidth(string(l)) > limit {
			t.Fatalf("Text(%q, %d) = %q is wider", s, limit, l)
		}
		if ansi.Strip(string(l)) != string(l) {
			t.Fatalf("%q gave %q, in which a parser finds a sequence", s, l)
		}
	})
}

func TestSecret(t *testing.T) {
	s := NewSecret("hunter2")
	j, _ := json.Marshal(map[string]Secret{"p": s})
	for _, got := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s", s, s, s, s), string(j)} {
		if strings.Contains(got, "hunter2") {
			t.Errorf("the secret shows in %q", got)
		}
	}
	if Redact("kafka.sasl.jaas.config", "x") != "****" || Redact("topic", "x") != "x" {
		t.Error("Redact hides the wrong options")
	}
}
