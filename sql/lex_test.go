package sql

import (
	"fmt"
	"strings"
	"testing"
)

// kinds shows the tokens of a text.
func kinds(text string, o Options) string {
	var out []string
	for _, t := range lexAll(text, o) {
		name := map[TokenKind]string{Word: "w", Quoted: "q", String: "s", Number: "n", Symbol: "", Comment: "c", Bad: "bad"}[t.Kind]
		if t.Kind == EOF {
			break
		}
		out = append(out, fmt.Sprintf("%s<%s>", name, t.Text))
	}
	return strings.Join(out, " ")
}

func TestLex(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"SELECT 1a, a1 FROM `x``y`", "w<SELECT> w<1a> <,> w<a1> w<FROM> q<x`y>"},
		{"1.5 .5 5. 1e3 1E-3BD 2L 300Y 1.5d 0x1F 1_000", "n<1.5> n<.5> n<5.> n<1e3> n<1E-3BD> n<2L> n<300Y> n<1.5d> w<0x1F> w<1_000>"},
		{"t.a.1", "w<t> <.> w<a> n<.1>"},
		{`'a''b' "c""d" r'a\b' R"\n" '\u0041\U0001F600\101\%\_\q\Z'`,
			"s<a'b> s<c\"d> s<a\\b> s<\\n> s<A\U0001F600A\\%\\_q\x1a>"},
		{"a -- c \\\n still\nb /* x /* y */ z */ c", "w<a> c<-- c \\\n still> w<b> c</* x /* y */ z */> w<c>"},
		{"a<=>b||c|>d::e->f=>g==h!=i<>j<=k>=l!>m!<n", "w<a> <<=>> w<b> <||> w<c> <|>> w<d> <::> w<e> <->> w<f> <=>> w<g> <==> w<h> <!=> w<i> <<>> w<j> <<=> w<k> <>=> w<l> <!>> w<m> <!<> w<n>"},
		{"a>>b", "w<a> <>> <>> w<b>"},
		{"ä größe\u00a0x\u3000y", "w<ä> w<größe> w<x> w<y>"},
		{"#a", "bad<#> w<a>"},
		{"'ab", "bad<'ab>"},
		{"'a''b", "s<a> bad<'b>"},
		{"/* a", "bad</* a>"},
		{"2*/*c*/3", "n<2> <*> c</*c*/> n<3>"},
	} {
		if got := kinds(c.text, Options{}); got != c.want {
			t.Errorf("%q\n\tgot  %s\n\twant %s", c.text, got, c.want)
		}
	}
	if got := kinds(`"a" 'b\n'`, Options{DoubleQuotedIdentifiers: true, EscapedStringLiterals: true}); got != `q<a> s<b\n>` {
		t.Error(got)
	}
}

// TestLexSpans: the spans of all tokens are ordered and inside the text, for any bytes.
func TestLexSpans(t *testing.T) {
	for _, text := range []string{"", "\xff'\xfe", "a\xffb", "'\\", "`", "1e", "1.", "--", "/*", "r'", "\\"} {
		end := 0
		for _, tok := range Lex(text) {
			if tok.Start < end || tok.End < tok.Start || tok.End > len(text) {
				t.Errorf("%q: %v", text, tok)
			}
			end = tok.End
		}
	}
}

func TestKeywords(t *testing.T) {
	for i, k := range Keywords {
		if i > 0 && Keywords[i-1] >= k {
			t.Errorf("%s is not in order", k)
		}
		if !IsKeyword(k) || IsKeyword(strings.ToLower(k)) {
			t.Error(k)
		}
	}
}
