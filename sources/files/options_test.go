package files

import (
	"path/filepath"
	"testing"
	"time"

	"streamlab/errs"
	"streamlab/sources/sourcetest"
)

// Every option of connectors.md 2.1 and 3: the values it takes, and what a wrong one says. All are found when a
// lab is checked (CO-5).
func TestFileSourceOptions(t *testing.T) {
	dir := t.TempDir()
	const bad, cannot = "INVALID_OPTION", "UNSUPPORTED_FEATURE"
	for _, x := range []struct {
		format  string
		options []string
		fails   string // condition; "": the values are good
		names   string // the option that INVALID_OPTION names; "": the first one
	}{
		{"text", []string{"maxFilesPerTrigger", "1"}, "", ""},
		{"text", []string{"maxFilesPerTrigger", "0"}, bad, ""},
		{"text", []string{"maxFilesPerTrigger", "-1"}, bad, ""},
		{"text", []string{"maxFilesPerTrigger", "10.1"}, bad, ""},
		{"text", []string{"maxFilesPerTrigger", "abc"}, bad, ""},
		{"text", []string{"maxBytesPerTrigger", "1"}, "", ""},
		{"text", []string{"maxBytesPerTrigger", "64m"}, bad, ""},
		{"text", []string{"maxBytesPerTrigger", "0"}, bad, ""},
		{"text", []string{"maxBytesPerTrigger", "64q"}, bad, ""},
		{"text", []string{"maxBytesPerTrigger", "1", "maxFilesPerTrigger", "1"}, bad, ""},
		{"text", []string{"latestFirst", "TRUE"}, "", ""},
		{"text", []string{"latestFirst", "1"}, bad, ""},
		{"text", []string{"latestFirst", ""}, bad, ""},
		{"text", []string{"maxFileAge", "90"}, "", ""},
		{"text", []string{"maxFileAge", " 7D "}, "", ""},
		{"text", []string{"maxFileAge", "1.5d"}, bad, ""},
		{"text", []string{"maxFileAge", "1 week"}, bad, ""},
		{"text", []string{"minFileAge", "5s"}, "", ""},
		{"text", []string{"minFileAge", "x"}, bad, ""},
		{"text", []string{"fileNameOnly", "false"}, "", ""},
		{"text", []string{"fileNameOnly", "yes"}, bad, ""},
		{"text", []string{"maxCachedFiles", "0"}, "", ""},
		{"text", []string{"maxCachedFiles", "-1"}, bad, ""},
		{"text", []string{"discardCachedInputRatio", "1"}, "", ""},
		{"text", []string{"discardCachedInputRatio", "1.1"}, bad, ""},
		{"text", []string{"discardCachedInputRatio", "NaN"}, bad, ""},
		{"text", []string{"discardCachedInputRatio", "x"}, bad, ""},
		{"text", []string{"cleanSource", "Delete"}, "", ""},
		{"text", []string{"cleanSource", "OFF"}, "", ""},
		{"text", []string{"cleanSource", "move"}, bad, ""},
		{"text", []string{"cleanSource", "archive"}, "MISSING_OPTION", ""},
		{"text", []string{"cleanSource", "archive", "sourceArchiveDir", filepath.Join(t.TempDir(), "a")}, "", ""},
		{"text", []string{"cleanSource", "archive", "sourceArchiveDir", filepath.Join(dir, "a")}, bad, "sourceArchiveDir"},
		{"text", []string{"pathGlobFilter", "*.txt"}, "", ""},
		{"text", []string{"recursiveFileLookup", "true"}, "", ""},
		{"text", []string{"recursiveFileLookup", "1"}, bad, ""},
		{"text", []string{"modifiedBefore", "2024-01-01"}, bad, ""},
		{"text", []string{"modifiedAfter", "2024-01-01"}, bad, ""},
		{"text", []string{"wholetext", "true"}, "", ""},
		{"text", []string{"wholetext", "1"}, bad, ""},
		{"text", []string{"maxRecordBytes", "1m"}, "", ""},
		{"text", []string{"maxRecordBytes", "1"}, bad, ""},
		{"json", []string{"mode", "DropMalformed"}, "", ""},
		{"json", []string{"mode", "failfast"}, "", ""},
		{"json", []string{"mode", "STRICT"}, bad, ""},
		{"csv", []string{"mode", "STRICT"}, bad, ""},
		{"json", []string{"multiLine", "yes"}, bad, ""},
		{"json", []string{"allowComments", "yes"}, bad, ""},
		{"json", []string{"allowUnquotedFieldNames", "yes"}, bad, ""},
		{"json", []string{"allowSingleQuotes", "yes"}, bad, ""},
		{"json", []string{"allowNumericLeadingZeros", "yes"}, bad, ""},
		{"json", []string{"allowNumericLeadingZero", "yes"}, bad, ""},
		{"json", []string{"allowBackslashEscapingAnyCharacter", "yes"}, bad, ""},
		{"json", []string{"allowUnquotedControlChars", "yes"}, bad, ""},
		{"json", []string{"allowNonNumericNumbers", "yes"}, bad, ""},
		{"json", []string{"dateFormat", "yyyy-MM-dd"}, "", ""},
		{"json", []string{"dateFormat", "bb"}, bad, ""},
		{"json", []string{"timestampFormat", "bb"}, bad, ""},
		{"json", []string{"timestampNTZFormat", "bb"}, bad, ""},
		{"json", []string{"timeZone", "Europe/Berlin"}, "", ""},
		{"json", []string{"timeZone", "+01:00"}, "", ""},
		{"json", []string{"timeZone", "Mars/Olympus"}, bad, ""},
		{"json", []string{"encoding", "UTF-8"}, "", ""},
		{"json", []string{"encoding", "UTF-16"}, bad, ""},
		{"csv", []string{"encoding", "latin-9"}, "INVALID_PARAMETER_VALUE.CHARSET", ""},
		{"csv", []string{"sep", "||"}, "", ""},
		{"csv", []string{"sep", "\\t"}, "", ""},
		{"csv", []string{"sep", ""}, bad, ""},
		{"csv", []string{"header", "1"}, bad, ""},
		{"csv", []string{"enforceSchema", "1"}, bad, ""},
		{"csv", []string{"quote", ""}, "", ""},
		{"csv", []string{"quote", "''"}, "OPTION_VALUE_EXCEEDS_ONE_CHARACTER", ""},
		{"csv", []string{"escape", "ab"}, "OPTION_VALUE_EXCEEDS_ONE_CHARACTER", ""},
		{"csv", []string{"comment", "#"}, "", ""},
		{"csv", []string{"comment", "//"}, "OPTION_VALUE_EXCEEDS_ONE_CHARACTER", ""},
		{"csv", []string{"ignoreLeadingWhiteSpace", "1"}, bad, ""},
		{"csv", []string{"ignoreTrailingWhiteSpace", "1"}, bad, ""},
		{"csv", []string{"maxColumns", "many"}, bad, ""},
		{"csv", []string{"maxCharsPerColumn", "many"}, bad, ""},
		{"csv", []string{"lineSep", "abc"}, bad, ""},
		{"csv", []string{"unescapedQuoteHandling", "stop_at_delimiter"}, "", ""},
		{"csv", []string{"unescapedQuoteHandling", "BACK_TO_DELIMITER"}, cannot, ""},
	} {
		ddl := "a STRING"
		if x.format == "text" {
			ddl = ""
		}
		err := Check(def(t, dir, x.format, ddl, nil, x.options...))
		if x.fails == "" {
			if err != nil {
				t.Errorf("%s %v: %v", x.format, x.options, err)
			}
			continue
		}
		names := x.names
		if names == "" {
			names = x.options[0]
		}
		e := errs.As(err)
		if e == nil || e.Condition != x.fails || x.fails == bad && e.Params["option"] != names {
			t.Errorf("%s %v: %v, want %s", x.format, x.options, err, x.fails)
		}
	}
}

func TestFileSourceDefaults(t *testing.T) {
	made, err := New(def(t, t.TempDir(), "text", "", sourcetest.NewLog()))
	if err != nil {
		t.Fatal(err)
	}
	s := made.(*Source)
	if s.maxFiles != 0 || s.maxBytes != 0 || s.latestFirst || s.maxAge != (7*24*time.Hour).Milliseconds() || s.minAge != 0 || s.nameOnly ||
		s.maxCached != 10000 || s.discardRatio != 0.2 || s.clean != "off" {
		t.Errorf("%+v", s)
	}
	made, err = New(def(t, t.TempDir(), "text", "", sourcetest.NewLog(), "LATESTFIRST", "true", "maxfilespertrigger", "3", "maxFileAge", "90"))
	if err != nil {
		t.Fatal(err)
	}
	if s := made.(*Source); !s.latestFirst || s.maxFiles != 3 || s.maxAge != -1 { // FS-14: age does not count then
		t.Errorf("%+v", s)
	}
}
