package columnar

import (
	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/sql/types"
)

// HeldRows is how many rows of a partition writers of files keep back before they decide where the rows go:
// partitions with fewer have too few for files that are cheap to make.
const HeldRows = 16384

// Held keeps copies of the first rows of a partition: whoever made them may use their memory again. The zero
// value holds nothing. It belongs to one goroutine.
type Held struct {
	Batches []arrow.RecordBatch
	Rows    int64
}

// Take keeps rows of a schema if there is room for them, and says whether there was.
func (h *Held) Take(rb arrow.RecordBatch, s types.Schema) bool {
	if h.Rows+rb.NumRows() > HeldRows {
		return false
	}
	n := int(rb.NumRows())
	vs := make([]*Vec, len(s))
	for i, f := range s {
		vs[i] = new(Vec)
		if src := FromArrow(rb.Column(i), f.Type); src.Phys == PNull || src.Const {
			Gather(vs[i], src, AllRows(n))
		} else {
			all := make([]int32, n)
			for k := range all {
				all[k] = int32(k)
			}
			GatherIdx(vs[i], src, all)
		}
	}
	h.Batches = append(h.Batches, Record(s.Arrow(), vs, AllRows(n)))
	h.Rows += int64(n)
	return true
}
