package delta

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// CHAR(n) and VARCHAR(n) are STRING in the log, with their declaration in the column's metadata. Files hold the
// texts as they were given; a longer one is refused, and readers fill CHAR up with blanks.

// declaredLength is the kind, char or varchar, and the length of a column that was declared so; "" if it was
// not.
func declaredLength(f types.Field) (kind string, n int) {
	text := strings.ToLower(f.Metadata[keyCharVarchar])
	kind, rest, ok := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	if !ok || f.Type.Kind != types.String || kind != "char" && kind != "varchar" {
		return "", 0
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return "", 0
	}
	return kind, n
}

// charLength is the length of a CHAR column, 0 for every other.
func charLength(f types.Field) int {
	if kind, n := declaredLength(f); kind == "char" {
		return n
	}
	return 0
}

// padded is a vector of texts with blanks behind those that are shorter than n characters.
func padded(v *columnar.Vec, n int) *columnar.Vec {
	if v.Phys != columnar.PBytes {
		return v
	}
	short := false
	for i := 0; i < v.Len && !short; i++ {
		short = !v.IsNull(i) && utf8.RuneCount(v.Bytes(i)) < n
	}
	if !short {
		return v
	}
	w := *v
	w.Off = make([]int32, v.Len+1)
	w.Data = make([]byte, 0, len(v.Data)+v.Len*n)
	for i := 0; i < v.Len; i++ {
		if !v.IsNull(i) {
			b := v.Bytes(i)
			w.Data = append(w.Data, b...)
			for k := utf8.RuneCount(b); k < n; k++ {
				w.Data = append(w.Data, ' ')
			}
		}
		w.Off[i+1] = int32(len(w.Data))
	}
	return &w
}

// checkLengths refuses texts that are longer than their column. Error: DELTA_EXCEED_CHAR_VARCHAR_LIMIT.
func checkLengths(s types.Schema, vs []*columnar.Vec) error {
	for c, f := range s {
		kind, n := declaredLength(f)
		if kind == "" || vs[c].Phys != columnar.PBytes {
			continue
		}
		v := vs[c]
		rows := v.Len
		for i := 0; i < rows; i++ {
			if v.IsNull(i) || len(v.Bytes(i)) <= n || utf8.RuneCount(v.Bytes(i)) <= n {
				continue
			}
			return errs.New("DELTA_EXCEED_CHAR_VARCHAR_LIMIT", "value", string(v.Bytes(i)),
				"expr", fmt.Sprintf("((%s IS NULL) OR (length(%s) <= %d))", f.Name, f.Name, n))
		}
	}
	return nil
}
