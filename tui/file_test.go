package tui

import (
	"errors"
	"strings"
	"testing"

	"streamlab/internal/safe"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

func TestEditorShowsWhyAndFixes(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.keys("e")
	d.has("edit lab.yaml › clicks_1m", "1 problem", "✗ 29", "append ✗   update ✓ (not by delta)   complete ✓", "nothing says when a",
		"STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "1 add a watermark", "2 use complete", "3 use update")
	d.keys("ctrl+f")
	d.has("press 1 to 3")
	d.keys("2")
	d.has("outputMode: complete", "no problems", "modified", "complete works")
	d.keys("ctrl+_")
	d.has("outputMode: append", "1 problem")
	d.hasNot("modified")
	d.keys("ctrl+y")
	d.has("outputMode: complete")
	d.keys("ctrl+_ ctrl+f 1")
	d.has("withWatermark: {eventTime: ts", "no problems")
	d.keys("ctrl+_ ctrl+f esc").text("9")
	d.has("9  - queryName")
}

func TestEditorGoesToProblems(t *testing.T) {
	b := screentest.New()
	b.Disk = strings.Replace(screentest.ShopYAML, "about: shop example", "WRONG: 1\n"+strings.Repeat("# a comment\n", 40), 1)
	d := newDriver(t, 80, 24, b)
	d.keys("e")
	d.has("2 problems", "edit lab.yaml › clicks_1m")
	d.keys("ctrl+n")
	d.has("STREAMING_OUTPUT_MODE")
	d.keys("ctrl+n")
	d.has("✗  2  WRONG: 1", "LAB_UNKNOWN_KEY", "Condition:")
	d.keys("ctrl+n")
	d.has("STREAMING_OUTPUT_MODE")
}

func TestEditorSavesAndAsksForARestart(t *testing.T) {
	b := screentest.New()
	b.Redefined = []screen.Redefined{{Query: "clicks_1m", Refused: true, Changes: []screen.PlanChange{
		{Verdict: "refused", What: "operator 0", Was: "2 keys", Now: "3 keys", Text: "Its state does not fit."}}}}
	d := newDriver(t, 120, 36, b)
	d.keys("e ctrl+f 2 ctrl+s")
	d.has("keeps running with the old plan. Its checkpoint", "refused: operator 0 was 2 keys, is 3 keys. Its state", "y start fresh")
	d.hasNot("y restart")
	if !strings.Contains(b.Disk, "outputMode: complete") || b.Adopted != b.Disk {
		t.Fatal("the file was not saved")
	}
	d.keys("enter")
	if len(b.Done) != 0 {
		t.Fatalf("enter restarted: %v", b.Done)
	}
	d.hasNot("modified")
	d.keys("ctrl+r y")
	if len(b.Done) != 1 || b.Done[0].Verb != screen.StartFresh || b.Done[0].Query != "clicks_1m" {
		t.Errorf("did %v", b.Done)
	}
	b.Redefined = nil
	d.keys("esc down down down e ctrl+r") // top_pages is stopped
	if n := len(b.Done); n != 2 || b.Done[1].Verb != screen.Start || b.Done[1].Query != "top_pages" {
		t.Errorf("did %v", b.Done)
	}
}

func TestEditorFileChangedOnDisk(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	d.keys("e").text("# mine ")
	b.Disk = "lab: theirs\n"
	d.keys("ctrl+s")
	d.has("lab.yaml has changed on disk")
	d.keys("enter")
	if b.Disk != "lab: theirs\n" {
		t.Fatal("the file of the other was lost")
	}
	d.keys("ctrl+s 3")
	d.has("lab: theirs")
	d.hasNot("modified")
	d.keys("ctrl+_")
	d.has("# mine")
	b.Disk = "lab: again\n"
	d.keys("ctrl+s 2")
	if !strings.Contains(b.Disk, "# mine") {
		t.Errorf("on disk: %s", b.Disk)
	}
}

func TestEditorKeepsDrafts(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	d.keys("e").text("# half a thought ")
	if !strings.Contains(b.Draft, "# half a thought") {
		t.Fatal("text that is typed must be kept at once: the process may be killed")
	}
	d.keys("esc")
	d.has("not saved: the text is kept")
	d.keys("e")
	d.has("There is unsaved text of lab.yaml", "go on with it")
	d.keys("2")
	d.hasNot("# half")
	d.keys("esc e 1")
	d.has("# half a thought", "modified")
	d.keys("ctrl+s esc e")
	d.hasNot("There is unsaved text")
	if b.Draft != "" {
		t.Error("a saved text is no draft")
	}
	d.text("zz").keys("backspace backspace esc e")
	d.hasNot("There is unsaved text")
	d.text("zz").keys("esc e 3 esc e")
	d.hasNot("There is unsaved text")
}

func TestEditorLongFilesAreShownOnly(t *testing.T) {
	b := screentest.New()
	b.Disk = screentest.ShopYAML + strings.Repeat("# more\n", 2001)
	d := newDriver(t, 80, 24, b)
	d.keys("e")
	d.has("read-only", "ctrl+o edits them")
	d.text("x")
	d.has("too long to edit here")
	d.keys("ctrl+s")
	if b.Disk != screentest.ShopYAML+strings.Repeat("# more\n", 2001) {
		t.Error("the file was changed")
	}
}

func TestEditorNewQuery(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 120, 36, b)
	d.keys("a")
	d.has("New query", "windows")
	d.keys("3")
	d.has("- queryName: query_1", "window(ts, '1 minute')", "FROM   clicks", "modified", "edit lab.yaml › query_1")
	d.keys("ctrl+_")
	d.hasNot("query_1")
}

func TestEditorOfABrokenLab(t *testing.T) {
	g := screentest.Broken{Bench: screentest.New()}
	g.Bench.Disk = "lab: x\nWRONG: 1\n"
	d := &driver{t, NewCamera(Options{Gallery: g}, 80, 24, screentest.Now)}
	d.keys("enter")
	d.has("edit broken.yaml", "✗  2  WRONG: 1", "LAB_UNKNOWN_KEY")
}

func TestEditorCommandLine(t *testing.T) {
	for _, x := range [][2]string{
		{"vim", "vim +7 a.yaml"}, {"/usr/bin/nano -l", "/usr/bin/nano -l +7 a.yaml"}, {"hx", "hx a.yaml:7"},
		{"code", "code --wait --goto a.yaml:7"}, {"ed", "ed a.yaml"}, {"", ""},
	} {
		got := editorOf(func(k string) string {
			if k == "EDITOR" {
				return x[0]
			}
			return ""
		}, "a.yaml", 7)
		if strings.Join(got, " ") != x[1] {
			t.Errorf("%s: got %v", x[0], got)
		}
	}
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	d.keys("e").text("# x ")
	s := d.m.front()
	out := s.Handle(screen.External).Jobs[0].Run(t.Context())().Edit
	if out == nil || out.Line != 22 || !strings.Contains(b.Scratched, "# x") || strings.Contains(b.Disk, "# x") {
		t.Fatalf("unsaved text goes to the editor as a copy: %+v", out)
	}
	b.Scratched = "lab: from outside\n"
	d.send(outsideMsg{s, out.Done, nil})
	d.has("lab: from outside", "modified")
	d.keys("ctrl+_")
	d.has("# x")
	d.send(outsideMsg{s, out.Done, errors.New("exit status 1")})
	d.has("EDITOR_FAILED", "exit status 1")
}

func TestEditorHostileText(t *testing.T) {
	b := screentest.New()
	b.Disk = "lab: \"\x1b]52;c;aGk=\x07\"\nabout: ‮evil 日本語 👍🏽⚠️ हिन्दी\n# " + strings.Repeat("長", 300) + "\nqueries:\n  - queryName: clicks_1m\n\t\ttab: 1\n"
	for _, s := range sizes {
		d := newDriver(t, s[0], s[1], b)
		d.keys("e ctrl+u")
		for range 6 {
			f := d.frame()
			checkWidth(t, f, s[0], s[1])
			if strings.ContainsAny(f, "\x1b\x07\t") || strings.Contains(f, "‮") {
				t.Fatal("a control character reached the screen")
			}
			if s[0] >= 100 {
				for _, l := range strings.Split(f, "\n")[1 : s[1]-1] {
					if i := strings.Index(l, "│"); i >= 0 && safe.Width(safe.Line(l[:i])) != min(map[int]int{120: 66, 200: 100}[s[0]], s[0]*11/20) {
						t.Fatalf("the border moved: %q", l)
					}
				}
			}
			d.keys("up end")
		}
		b.Draft = ""
	}
}

// YAML has more than one way to write a query; e opens each of them there.
func TestEditorOpensAtTheQuery(t *testing.T) {
	for _, line := range []string{"{queryName: clicks_1m, from: clicks}", `{"queryName": "clicks_1m", from: clicks}`,
		"from: clicks\n    queryName: 'clicks_1m' # once a minute", "{from: clicks, queryName: clicks_1m}"} {
		b := screentest.New()
		b.Disk = strings.Repeat("# a comment\n", 40) + "queries:\n  - {queryName: clicks_1m_too, from: clicks}\n  - " + line + "\n"
		d := newDriver(t, 80, 24, b)
		d.keys("e").text("HERE ")
		if f := d.frame(); !strings.Contains(f, "HERE ") || strings.Contains(f, "HERE #") || strings.Contains(f, "clicks_1m_too") && strings.Contains(f, "HERE   - {queryName: clicks_1m_too") {
			t.Errorf("%s: opened elsewhere:\n%s", line, f)
		}
	}
}
