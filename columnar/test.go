package columnar

// A Test is a condition on one column that can be decided from the least and the greatest value of many
// rows. Readers use tests to leave out parts in which no row can pass; rows that do not pass may still come.
type Test struct {
	Column int    // position in the full schema of the relation
	Op     TestOp //
	Values []*Vec // one-row vectors of the column's type, not null: one for comparisons, any number for In
}

// TestOp is what a Test asks.
type TestOp uint8

// The questions.
const (
	Equal TestOp = iota
	Less
	AtMost
	Greater
	AtLeast
	In
	IsNull
	IsNotNull
)
