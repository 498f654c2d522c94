package plan

import (
	"strconv"
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// filledText is a text whose parameters are replaced by their values. Spark replaces them before it reads a
// statement, so the places of its errors are places in that text.
type filledText struct {
	source, text string
	marks        []sql.Param
	grown        []int // by how much the text up to and with a marker is longer than the source
}

// placed is sql.Place in the text that Spark reads: parameters are replaced by their values.
func (a *analyzer) placed(s sql.Span) (errs.Pos, string) {
	if len(a.conf.Params) == 0 && len(a.conf.Positional) == 0 {
		return sql.Place(a.text, s)
	}
	if a.bound == nil || a.bound.source != a.text {
		a.bound = a.bind(a.text)
	}
	return sql.Place(a.bound.text, sql.Span{Start: a.bound.moved(s.Start, false), End: a.bound.moved(s.End, true)})
}

func (a *analyzer) bind(text string) *filledText {
	b := &filledText{source: text}
	var out strings.Builder
	end := 0
	for _, m := range a.conf.Parser().Markers(text) {
		v := a.conf.Params[m.Name]
		if m.Name == "" && m.Index < len(a.conf.Positional) {
			v = a.conf.Positional[m.Index]
		}
		l, ok := v.(*expr.Literal)
		if !ok {
			continue
		}
		out.WriteString(text[end:m.Start])
		out.WriteString(literalSQL(l))
		end = m.End
		b.marks = append(b.marks, m)
		b.grown = append(b.grown, out.Len()-end)
	}
	out.WriteString(text[end:])
	b.text = out.String()
	return b
}

// moved is where an offset of the source is. Offsets inside of a marker are its start, or its end.
func (b *filledText) moved(at int, end bool) int {
	grown := 0
	for i, m := range b.marks {
		switch {
		case at >= m.End:
			grown = b.grown[i]
			continue
		case at > m.Start && end:
			return m.End + b.grown[i]
		case at > m.Start:
			return m.Start + grown
		}
		break
	}
	return at + grown
}

// literalSQL is a value as it is written in SQL.
func literalSQL(l *expr.Literal) string {
	if l.Value.IsNull(0) {
		return "NULL"
	}
	switch l.Type().Kind {
	case types.String:
		return "'" + strings.ReplaceAll(strings.ReplaceAll(string(l.Value.Bytes(0)), `\`, `\\`), "'", `\'`) + "'"
	case types.BigInt:
		return l.String() + "L"
	case types.Double:
		return strconv.FormatFloat(l.Value.F64[0], 'f', -1, 64) + "D"
	}
	return l.String()
}
