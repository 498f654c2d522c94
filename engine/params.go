package engine

import (
	"fmt"
	"math"

	"streamlab/errs"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// literal is a parameter's value as PySpark types it: whole numbers are INT if they fit, else BIGINT.
func literal(v any) (expr.Expr, error) {
	switch x := v.(type) {
	case nil:
		return expr.NullLit(types.Of(types.Null)), nil
	case bool:
		return expr.BoolLit(x), nil
	case int:
		return literal(int64(x))
	case int64:
		if x >= math.MinInt32 && x <= math.MaxInt32 {
			return expr.IntLit(int32(x)), nil
		}
		return expr.IntegralLit(x, types.BigInt), nil
	case float64:
		return expr.DoubleLit(x), nil
	case string:
		return expr.StringLit(x), nil
	}
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", fmt.Sprintf("A parameter of type %T", v))
}
