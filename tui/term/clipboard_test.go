package term

import (
	"bytes"
	"encoding/base64"
	"os"
	"strings"
	"testing"
)

func TestClipToolFollowsThePlace(t *testing.T) {
	all := func(string) bool { return true }
	only := func(names ...string) func(string) bool {
		return func(n string) bool { return strings.Contains(strings.Join(names, " ")+" ", n+" ") }
	}
	for _, c := range []struct {
		env  map[string]string
		has  func(string) bool
		want string
	}{
		{nil, all, "pbcopy"},
		{nil, only("xclip", "wl-copy"), ""},
		{map[string]string{"DISPLAY": ":0"}, only("xclip", "xsel"), "xclip"},
		{map[string]string{"DISPLAY": ":0"}, only("xsel"), "xsel"},
		{map[string]string{"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, only("xclip", "wl-copy"), "wl-copy"},
		{map[string]string{"WSL_DISTRO_NAME": "d"}, only("clip.exe"), "clip.exe"},
	} {
		tool := clipTool(func(k string) string { return c.env[k] }, c.has)
		got := ""
		if tool != nil {
			got = tool[0]
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
}

func TestCopyGoesToTheTerminalOverSSHAndToAFileWhenLong(t *testing.T) {
	t.Setenv("TMUX", "")
	var out bytes.Buffer
	c := NewClipboard(&Terminal{out: &out}, "auto", func(k string) string { return map[string]string{"SSH_TTY": "x", "DISPLAY": ":0"}[k] })
	c.dir = t.TempDir()
	where, err := c.Copy("a\x1bb")
	if err != nil || where != "the terminal's clipboard" {
		t.Fatal(where, err)
	}
	if want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte("a\x1bb")) + "\a"; out.String() != want {
		t.Errorf("sent %q, want %q", out.String(), want)
	}
	long := strings.Repeat("x", MaxClipboard+1)
	where, err = c.Copy(long)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(where); err != nil || string(data) != long {
		t.Errorf("%s holds %d bytes (%v), want %d", where, len(data), err, len(long))
	}
}
