package expr

import (
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// maxVector is how many bytes of values one function may make for the rows of one evaluation. A few characters
// of SQL can ask for more than any machine has (repeat, sequence, replace of long texts in long texts); offsets
// of texts and lists end at 2 GiB in any case. It is a variable so that tests need not fill it.
var maxVector int64 = 1 << 30

// tooLarge is the error of a result beyond maxVector.
func tooLarge() error { return errs.New("VECTOR_SIZE_LIMIT_EXCEEDED", "limit", maxVector) }

// fitsText refuses to make a vector whose texts have n bytes, or more bytes than an int64 counts.
func fitsText(n int64) error {
	if n > maxVector || n < 0 {
		return tooLarge()
	}
	return nil
}

// fitsArray refuses arrays that have more elements than Spark's may have: n is an unsigned count.
func fitsArray(function string, n uint64) error {
	if n > maxArray {
		return errs.New("COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER", "numberOfElements", n, "functionName", types.Quote(function),
			"maxRoundedArrayLength", maxArray, "parameter", "`count`")
	}
	return nil
}

// fits refuses a vector that has grown beyond maxVector.
func (a *Appender) fits() error {
	if a.size() > maxVector {
		return tooLarge()
	}
	return nil
}

// size is about how many bytes the values so far take.
func (a *Appender) size() int64 {
	n := int64(a.n)
	switch a.v.Phys {
	case columnar.PNull, columnar.PBool:
		return n / 8
	case columnar.PI8:
		return n
	case columnar.PI16:
		return n * 2
	case columnar.PI32, columnar.PF32:
		return n * 4
	case columnar.PDec:
		return n * 16
	case columnar.PBytes:
		return n*4 + int64(len(a.v.Data))
	case columnar.PList, columnar.PMap:
		n *= 4
	case columnar.PStruct:
		n = 0
	default:
		return n * 8
	}
	for _, k := range a.kids {
		n += k.size()
	}
	return n
}

// width is the bytes of one value whose kind has a fixed number of them, else 1.
func (a *Appender) width() int64 { return int64(max(fixedWidth(a.v.Phys), 1)) }

// checkEvery is how many elements a loop adds between two looks at the size.
const checkEvery = 4096
