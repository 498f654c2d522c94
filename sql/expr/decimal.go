package expr

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
)

var decZero decimal128.Num

func decValues(v *columnar.Vec) []decimal128.Num { return v.Dec }
