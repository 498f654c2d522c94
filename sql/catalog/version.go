package catalog

import (
	"context"
	"strconv"
)

// Versioned is implemented by tables that can tell, for less than a scan costs, whether a scan would give the
// rows of an earlier one: equal versions mean equal rows. What is built from a table once may then serve many
// micro-batches.
type Versioned interface {
	Version(ctx context.Context) (string, error)
}

// Version of rows in memory: they are only ever added to.
func (m *Memory) Version(context.Context) (string, error) {
	n := int64(0)
	for _, rb := range m.List.List {
		n += rb.NumRows()
	}
	return strconv.Itoa(len(m.List.List)) + "/" + strconv.FormatInt(n, 10), nil
}
