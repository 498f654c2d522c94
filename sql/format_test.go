package sql

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// bare clears what Format does not keep: places, and texts kept as written.
func bare(n any) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				if v.Kind() == reflect.Interface && v.Elem().Kind() != reflect.Pointer {
					return
				}
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			t := v.Type()
			for i := range v.NumField() {
				switch f := t.Field(i); {
				case f.Type == reflect.TypeFor[Span](), f.Name == "QueryText",
					f.Name == "Text" && (t == reflect.TypeFor[Command]() || t == reflect.TypeFor[Constraint]()):
					v.Field(i).SetZero()
				default:
					walk(v.Field(i))
				}
			}
		}
	}
	walk(reflect.ValueOf(n))
}

// roundTrip checks that the text of a tree reads back as the tree.
func roundTrip(t *testing.T, text string, o Options) {
	t.Helper()
	first, err := o.Parse(text)
	if err != nil || o.LegacySetOps { // the old precedence has no brackets to be written
		return
	}
	for _, st := range first {
		shown := Format(st)
		again, err := ParseStatement(shown)
		if err != nil {
			t.Errorf("%s\n\tis written %s\n\t%v", text, shown, err)
			continue
		}
		bare(st)
		bare(again)
		if !reflect.DeepEqual(st, again) {
			t.Errorf("%s\n\tis written %s\n\tand then %s", text, shown, Format(again))
		}
	}
}

// TestFormatRecorded writes and reads again every recorded statement.
func TestFormatRecorded(t *testing.T) {
	recorded(t, func(family string, a *recordedAnswer, o Options) { roundTrip(t, a.text(), o) })
}

// TestFormatStatements writes and reads again the statements of testdata, one a line.
func TestFormatStatements(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.sql")
	if len(files) == 0 {
		t.Fatal("no testdata")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "--") {
				continue
			}
			if _, err := ParseStatement(line); err != nil {
				t.Errorf("%s: %s\n\t%v", file, line, err)
			}
			roundTrip(t, line, Options{})
		}
	}
}
