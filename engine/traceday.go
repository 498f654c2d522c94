package engine

import (
	"strings"
	"time"

	"streamlab/sql/types"
)

// Day is the date that all times of a trace have, "2026-01-05": those of its kept rows and windows, and its
// watermarks. "" if there is none, or more than one.
func (t *Trace) Day() string {
	day := ""
	same := func(d string) bool {
		if day == "" {
			day = d
		}
		return day == d
	}
	for _, ms := range [...]int64{t.LateMs, t.EvictMs, t.NextMs} {
		if ms > 0 && !same(time.UnixMilli(ms).UTC().Format(time.DateOnly)) {
			return ""
		}
	}
	for i := range t.Stages {
		s := &t.Stages[i]
		var timed []int
		for c, f := range s.Schema {
			if isTime(f.Type) || isWindow(f.Type) {
				timed = append(timed, c)
			}
		}
		if len(timed) == 0 {
			continue
		}
		for _, row := range t.Cells(i) {
			for _, c := range timed {
				for _, part := range strings.Split(strings.Trim(row[c], "{}"), ", ") {
					if d, _, ok := strings.Cut(part, " "); ok && !same(d) {
						return ""
					}
				}
			}
		}
	}
	return day
}

func isTime(t types.DataType) bool {
	return t.Kind == types.Timestamp || t.Kind == types.TimestampNTZ
}

// DayIn is the date that Cell leaves out of cells of a type; "" if none.
func (t *Trace) DayIn(typ types.DataType) string {
	if isTime(typ) || isWindow(typ) {
		return t.HideDay
	}
	return ""
}

// Cell is a cell of a row for the eye: ShortCell, without the date HideDay.
func (t *Trace) Cell(typ types.DataType, text string) string {
	text = ShortCell(typ, text)
	if day := t.DayIn(typ); day != "" {
		text = strings.ReplaceAll(text, day+" ", "")
	}
	return text
}
