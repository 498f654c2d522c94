package expr

import (
	"fmt"
	"slices"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// nameOf is the name of a struct's field made of an expression; "" if it has none.
func nameOf(e Expr) string {
	switch x := e.(type) {
	case *Alias:
		return x.Name
	case *Column:
		return x.Field.Name
	case *LambdaVar:
		return x.Name
	case *Scalar:
		if x.Name == "getfield" || x.Name == "getarraystructfields" {
			for i := len(x.Text) - 1; i >= 0; i-- {
				if x.Text[i] == '.' {
					return x.Text[i+1:]
				}
			}
			return x.Text
		}
	}
	return ""
}

func buildStruct(c *Call) (Expr, error) {
	fields := make([]types.Field, len(c.Args))
	for i, a := range c.Args {
		n := nameOf(a)
		if n == "" {
			n = fmt.Sprintf("col%d", i+1)
		}
		fields[i] = types.Field{Name: n, Type: a.Type(), Nullable: a.Nullable()}
	}
	return structExpr("struct", fields, c.Args, c.Text()), nil
}

func structExpr(name string, fields []types.Field, args []Expr, text string) Expr {
	s := NewScalar(name, types.StructOf(fields...), false, args, text, structKernel)
	s.Extra = types.Schema(fields).DDL()
	return s
}

// structKernel puts the arguments side by side, a column at a time.
func structKernel(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
	n := dst.Len
	for k, v := range args {
		kid := dst.Kids[k]
		if v.Phys == columnar.PNull || v.Const && n > 1 || v.Phys >= columnar.PList {
			a := NewAppender(kid)
			for j := range sel.N {
				i := sel.At(j)
				for a.Len() < i {
					a.AppendNull()
				}
				a.Append(v, i)
			}
			for a.Len() < n {
				a.AppendNull()
			}
			a.Finish()
			if err := a.fits(); err != nil {
				return err
			}
			continue
		}
		if v.Valid != nil {
			kid.Valid = slices.Clone(v.Valid[:columnar.Words(n)])
		}
		if err := copyRows(ctx, kid, v, sel); err != nil {
			return err
		}
	}
	return nil
}

func buildNamedStruct(c *Call) (Expr, error) {
	if len(c.Args)%2 != 0 {
		return nil, wrongArity(c.Name, "2n (n > 0)", len(c.Args))
	}
	var fields []types.Field
	var values []Expr
	var bad []string
	for i := 0; i < len(c.Args); i += 2 {
		n, ok := constText(c.Args[i], c.Conf)
		if !ok || c.Args[i].Type().Kind != types.String {
			bad = append(bad, quoted(c.Args[i].String()))
		}
		v := c.Args[i+1]
		fields = append(fields, types.Field{Name: n, Type: v.Type(), Nullable: v.Nullable()})
		values = append(values, v)
	}
	if bad != nil {
		return nil, errs.New("DATATYPE_MISMATCH.CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING", "sqlExpr", quoted(c.Text()), "inputExprs", fmt.Sprint(bad))
	}
	return structExpr("named_struct", fields, values, c.Text()), nil
}
