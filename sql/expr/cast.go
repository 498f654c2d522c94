package expr

import (
	"streamlab/errs"
	"streamlab/sql/types"
)

// CastMode says who asked for a cast.
type CastMode uint8

// The modes of casts.
const (
	Explicit CastMode = iota // CAST(x AS t), x::t
	Try                      // TRY_CAST: null instead of an error
	Implicit                 // inserted by the analyser: not printed
)

// Cast converts a value to another type.
type Cast struct {
	Child Expr
	To    types.DataType
	Mode  CastMode
	Conf  Conf
	Pos   errs.Pos
}

// Type is the target.
func (c *Cast) Type() types.DataType { return c.To }

// Children is the one child.
func (c *Cast) Children() []Expr { return []Expr{c.Child} }

func (c *Cast) String() string {
	switch c.Mode {
	case Implicit:
		return c.Child.String()
	case Try:
		return "TRY_CAST(" + c.Child.String() + " AS " + c.To.SQL() + ")"
	}
	return "CAST(" + c.Child.String() + " AS " + c.To.SQL() + ")"
}
