package expr

import (
	"strings"
	"unicode/utf8"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// StoredCast casts a value to the type of the table column that takes it. Where the value does not fit the
// error is the one of writing: CAST_OVERFLOW_IN_TABLE_INSERT names the column. Others are placed
// at pos.
func StoredCast(e Expr, t types.DataType, column string, pos errs.Pos, c Conf) Expr {
	x, ok := CastTo(e, t, c).(*Cast)
	if !ok {
		return e
	}
	s := x.scalar()
	from := e.Type()
	s.Text = x.String()
	s.Extra += "|stored " + column
	kernel := s.Kernel
	s.Kernel = func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		err := kernel(ctx, dst, args, sel)
		if err == nil {
			return nil
		}
		if k := errs.As(err); k != nil && (k.Condition == "CAST_OVERFLOW" || k.Condition == "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION") {
			return errs.New("CAST_OVERFLOW_IN_TABLE_INSERT", "sourceType", quoted(from.SQL()), "targetType", quoted(t.SQL()), "columnName", column)
		}
		if k := errs.As(err); k != nil {
			return k.At(pos)
		}
		return err
	}
	return s
}

// NotNull gives e, and fails at a row where it is NULL with the error that null makes.
func NotNull(e Expr, null func() error) Expr {
	s := NewScalar("assertnotnull", e.Type(), false, []Expr{e}, "assertnotnull("+e.String()+")",
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			v := args[0]
			for k := 0; k < sel.N; k++ {
				if v.IsNull(sel.At(k)) {
					return null()
				}
			}
			*dst = *v
			return nil
		})
	s.Alias, s.Nondeterministic, s.Effect = true, true, true
	return s
}

// CheckRow is true for rows where cond is true, and fails at any other row with the error that violated
// makes of the row's values: texts like " - name : value", one a line, of columns.
func CheckRow(cond Expr, columns []Expr, violated func(values string) error) Expr {
	s := NewScalar("checkrow", types.Of(types.Boolean), false, append([]Expr{cond}, columns...), "check("+cond.String()+")",
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			for k := 0; k < sel.N; k++ {
				i := sel.At(k)
				if c := args[0]; !c.IsNull(i) && c.Bool(c.Row(i)) {
					columnar.SetBit(dst.Bits, i)
					continue
				}
				var lines []string
				for j, v := range args[1:] {
					text := []byte("null")
					if !v.IsNull(i) {
						text = AppendText(nil, v, v.Row(i), ctx.Conf.Zone, CastStyle)
					}
					lines = append(lines, " - "+columns[j].String()+" : "+string(text))
				}
				return violated(strings.Join(lines, "\n"))
			}
			return nil
		})
	s.Nondeterministic, s.Effect = true, true
	return s
}

// FixedText makes a text fit CHAR(n) or VARCHAR(n): spaces behind the limit are cut, CHAR is padded. Longer
// texts are EXCEED_LIMIT_LENGTH.
func FixedText(e Expr, t types.DataType) Expr {
	limit := int(t.Length)
	s := Strict("fixedtext", types.Of(types.String), []Expr{e}, e.String(), bytesRows(func(r *row, dst []byte) ([]byte, error) {
		text := r.bytes(0)
		n := utf8.RuneCount(text)
		for n > limit && text[len(text)-1] == ' ' {
			text, n = text[:len(text)-1], n-1
		}
		if n > limit {
			return nil, errs.New("EXCEED_LIMIT_LENGTH", "limit", limit)
		}
		dst = append(dst, text...)
		for ; t.Fixed && n < limit; n++ {
			dst = append(dst, ' ')
		}
		return dst, nil
	}))
	s.Extra = t.SQL()
	return s
}
