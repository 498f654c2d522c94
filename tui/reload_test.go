package tui

import (
	"strings"
	"testing"

	"streamlab/errs"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

// changedOnDisk lets another program write the lab file while the lab is open.
func changedOnDisk(d *driver) *screentest.Bench {
	b := d.m.sh.Bench.(*screentest.Bench)
	b.Disk = screentest.ShopYAML + "# theirs\n"
	d.send(tickMsg(d.m.ticks))
	return b
}

// A lab file that another program writes is noticed and said, wherever one is, and u takes it over.
func TestAChangedLabFileIsOffered(t *testing.T) {
	for _, size := range sizes {
		d := newDriver(t, size[0], size[1], screentest.New()).keys("5")
		b := changedOnDisk(d)
		if size[0] >= 80 && !strings.Contains(d.frame(), "file changed") || !strings.Contains(d.frame(), "u in tab 1 reads it") {
			t.Errorf("%v: not said:\n%s", size, d.frame())
		}
		b.Redefined = []screen.Redefined{{Query: "clicks_1m"}}
		d.keys("1 u")
		if b.Adopted != b.Disk || !strings.Contains(d.frame(), "keeps running with the old plan") {
			t.Errorf("%v: not taken over:\n%s", size, d.frame())
		}
		d.keys("esc")
		d.send(tickMsg(d.m.ticks))
		if strings.Contains(d.frame(), "file changed") {
			t.Errorf("%v: still said:\n%s", size, d.frame())
		}
	}
}

// The editor says that the file under it is another, and loses no text of either.
func TestTheEditorSeesTheOtherText(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New()).keys("e")
	changedOnDisk(d)
	if !strings.Contains(d.frame(), "changed on disk, ctrl+s") {
		t.Errorf("not said:\n%s", d.frame())
	}
	if d.keys("ctrl+s"); !strings.Contains(d.frame(), "this is the text on disk now") || strings.Contains(d.frame(), "changed on disk, ") {
		t.Errorf("not taken:\n%s", d.frame())
	}
	d = newDriver(t, 120, 36, screentest.New()).keys("e").text("x")
	changedOnDisk(d)
	if d.keys("ctrl+s"); !strings.Contains(d.frame(), "write mine over it") {
		t.Errorf("not asked:\n%s", d.frame())
	}
}

// A save of a text with mistakes says that it is saved, that nothing starts, and where to look.
func TestASaveWithMistakesSaysWhere(t *testing.T) {
	for keys, want := range map[string]string{"ctrl+r": "saved, not started: 1 problem, line 16", "ctrl+s": "saved, not in use yet: 1 problem, line 16"} {
		b := screentest.New()
		b.Unfit = errs.New("LAB_UNKNOWN_KEY", "key", "x", "where", "the lab").At(errs.Pos{Line: 16, Col: 1})
		d := newDriver(t, 120, 36, b).keys("e").text("x").keys(keys)
		d.has(want)
	}
}
