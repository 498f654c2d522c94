//go:build cgo

package main

import (
	"regexp"
	"strings"

	"streamlab/errs"
	"streamlab/lab"
)

var noSuchTable = regexp.MustCompile(`no such table: (?:main\.)?(.+)$`)

// whereItIs says of a table that SQLite does not have what the lab knows by that name, and who can read it. Other
// errors come back as they are; l may be nil.
func whereItIs(err error, l *lab.Lab) error {
	e := errs.As(err)
	if e == nil || e.Condition != "SQLITE_ERROR" || l == nil {
		return err
	}
	m := noSuchTable.FindStringSubmatch(e.Params["message"])
	if m == nil {
		return err
	}
	if hint := tableHint(l, m[1]); hint != "" {
		return e.WithHint(hint)
	}
	return err
}

// otherDoor names the ways to the Spark door.
const otherDoor = "the Spark door (--door spark; ctrl+x in tab SQL)"

func tableHint(l *lab.Lab, name string) string {
	base := name
	if i := len(name) - len("_latest"); i > 0 && strings.EqualFold(name[i:], "_latest") {
		base = name[:i]
	}
	for _, q := range l.Queries {
		n := q.Name.Value
		if !strings.EqualFold(n, name) && !strings.EqualFold(n, base) {
			continue
		}
		if q.Format.Value == "memory" {
			return "The table of " + n + " comes with its first batch, and it has written none yet."
		}
		return "Only queries with format: memory are tables at this door, and " + n + " " + goesTo(&q) + ". The lab's sources, as they are now, are read at " +
			otherDoor + "."
	}
	known := func(t lab.Text) bool { return strings.EqualFold(t.Value, name) }
	what := ""
	for _, s := range l.Sources {
		if known(s.Name) {
			what = "a source"
		}
	}
	for _, v := range l.Views {
		if known(v.Name) {
			what = "a view"
		}
	}
	for _, t := range l.Tables {
		if known(t.Name) {
			what = "a table of the catalog"
		}
	}
	if what == "" {
		return "Tables at this door are the queries with format: memory; sources, views and other tables are read at " + otherDoor + "."
	}
	return "Only queries with format: memory are tables at this door. " + name + " is " + what + ", which is read at " + otherDoor + "."
}

// goesTo says what a query does with its rows.
func goesTo(q *lab.Query) string {
	switch {
	case q.ToTable.Value != "":
		return "writes to the table " + q.ToTable.Value
	case len(q.Statements) > 0 || q.Format.Value == "":
		return "hands its rows to its own code"
	}
	t := "writes " + q.Format.Value
	path := q.Path.Value
	if path == "" {
		path = q.Options["path"].Value
	}
	if path != "" {
		t += " to " + path
	}
	return t
}
