package expr

import (
	"streamlab/errs"
	"streamlab/sql/types"
)

// castFunctions are types as functions: int(x) is CAST(x AS INT).
func castFunctions() []Function {
	var fs []Function
	for _, c := range []struct {
		name string
		t    types.DataType
	}{
		{"boolean", types.Of(types.Boolean)}, {"tinyint", types.Of(types.TinyInt)}, {"smallint", types.Of(types.SmallInt)},
		{"int", types.Of(types.Int)}, {"bigint", types.Of(types.BigInt)}, {"float", types.Of(types.Float)},
		{"double", types.Of(types.Double)}, {"decimal", types.DecimalOf(10, 0)}, {"date", types.Of(types.Date)},
		{"timestamp", types.Of(types.Timestamp)}, {"binary", types.Of(types.Binary)}, {"string", types.Of(types.String)},
		{"time", types.Of(types.Time)},
	} {
		fs = append(fs, Function{Name: c.name, Signature: c.name + "(expr)", Doc: "CAST(expr AS " + c.t.SQL() + ").",
			Portable: true, Build: func(call *Call) (Expr, error) {
				if err := call.Arity(1, 1); err != nil {
					return nil, err
				}
				e, err := NewCast(call.Args[0], c.t, Explicit, call.Conf)
				if x, ok := e.(*Cast); ok {
					x.Function = true
				}
				if bad := errs.As(err); bad != nil && bad.Params["sqlExpr"] != "" { // Spark shows what is cast
					bad.Params["sqlExpr"] = quoted(call.Args[0].String())
				}
				return e, err
			}})
	}
	return fs
}
