package expr

import (
	"streamlab/errs"
	"streamlab/sql/types"
)

func operatorFunctions() []Function    { return nil }
func logicFunctions() []Function       { return nil }
func conditionalFunctions() []Function { return nil }
func castFunctions() []Function        { return nil }
func aggregateFunctions() []Function   { return nil }

// Branch is WHEN Cond THEN Value.
type Branch struct{ Cond, Value Expr }

// NewCase makes CASE WHEN; els is nil without ELSE.
func NewCase(branches []Branch, els Expr, c Conf) (Expr, error) {
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "case")
}

// NewGetField is base.name of a struct, an array of structs or a map.
func NewGetField(base Expr, name string, c Conf) (Expr, error) {
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "field")
}

// NewGetItem is base[index] of an array, a map or a struct.
func NewGetItem(base, index Expr, c Conf) (Expr, error) {
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "item")
}
