package catalog

import "testing"

func TestNamesFindWhatTheyMean(t *testing.T) {
	c := New(nil)
	c.PutDatabase(Database{Name: "Lab"})
	table := func() Relation { return Relation{Table: &Memory{}} }
	c.Put("default", "t", table())
	c.Put("lab", "T", table())
	c.RegisterView("v", &View{SQL: "SELECT 1"})
	c.Put("global_temp", "g", Relation{View: &View{SQL: "SELECT 2"}})
	for _, x := range []struct {
		parts []string
		db    string
		ok    bool
	}{
		{[]string{"T"}, "default", true},
		{[]string{"lab", "t"}, "Lab", true},
		{[]string{"spark_catalog", "LAB", "t"}, "Lab", true},
		{[]string{"v"}, "", true},
		{[]string{"session", "v"}, "", true},
		{[]string{"system", "session", "V"}, "", true},
		{[]string{"default", "v"}, "", false},
		{[]string{"g"}, "", false},
		{[]string{"global_temp", "G"}, "global_temp", true},
		{[]string{"other", "lab", "t"}, "", false},
		{[]string{"nowhere", "t"}, "", false},
	} {
		r, ok := c.Find(x.parts)
		if ok != x.ok || ok && r.Database != x.db {
			t.Errorf("%v: %q, %v", x.parts, r.Database, ok)
		}
	}
	if !c.Use("lab") || c.Current() != "Lab" || c.Use("nowhere") {
		t.Error("USE: ", c.Current())
	}
	if r, _ := c.Find([]string{"t"}); r.Database != "Lab" {
		t.Error("the current database is not asked first: ", r.Database)
	}
}

func TestTemporaryViewsHideTablesAndChildrenHideParents(t *testing.T) {
	c := New(nil)
	c.Put("default", "x", Relation{Table: &Memory{}})
	child := Overlay(c)
	child.RegisterView("x", &View{SQL: "SELECT 1"})
	if r, _ := child.Find([]string{"x"}); r.View == nil {
		t.Error("the child's view is not found first")
	}
	if r, _ := c.Find([]string{"x"}); r.View != nil {
		t.Error("the child's view leaked into its parent")
	}
	if !child.Remove([]string{"x"}) {
		t.Error("the view was not removed")
	}
	if r, ok := child.Find([]string{"x"}); !ok || r.Table == nil {
		t.Error("removing the view took the table along")
	}
}

func TestSplitReadsQuotedParts(t *testing.T) {
	for text, want := range map[string]int{"a.b": 2, "`a.b`": 1, "a.`b``.c`.d": 3, "a": 1} {
		if got := Split(text); len(got) != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
