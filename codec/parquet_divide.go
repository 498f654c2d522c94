package codec

import (
	"io"

	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// leastDivided is how many rows a row group has that is divided among parts.
const leastDivided = 2 * parquetRows

// rowsOfPart says which rows of a row group a part of the file reads, [from, to). A row group whose columns can
// be begun anywhere is divided where pages of its largest column begin, so that few pages are read by two parts: a
// page belongs to the part in which its rows would lie if all rows took the same space. Every other row group
// belongs as a whole to the part in which its middle lies.
func rowsOfPart(f io.ReaderAt, m *metadata.RowGroupMetaData, leaves []*parquetLeaf, in Input) (from, to int64, err error) {
	rows := m.NumRows()
	if in.From == 0 && in.To == 0 || m.NumColumns() == 0 {
		return 0, rows, nil
	}
	c, err := m.ColumnChunk(0)
	if err != nil {
		return 0, 0, err
	}
	at, _ := chunkBounds(c)
	size := m.TotalCompressedSize()
	if size == 0 {
		size = m.TotalByteSize()
	}
	mine := func(at int64) bool { return at >= in.From && (in.To == 0 || at < in.To) }
	lead := leadOf(m, leaves)
	if rows < leastDivided || lead == nil || size < 0 || at < 0 {
		if mine(at + size/2) {
			return 0, rows, nil
		}
		return 0, 0, nil
	}
	if at >= in.From && in.To == 0 || at >= in.From && at+size <= in.To {
		return 0, rows, nil
	}
	if at+size <= in.From || in.To > 0 && at >= in.To {
		return 0, 0, nil
	}
	begin, end := chunkBounds(lead)
	w := pageWalk{f: f, at: begin, end: end}
	from, to = -1, -1
	for row := int64(0); row < rows; {
		if mine(at + int64(float64(size)*float64(row)/float64(rows))) {
			if from < 0 {
				from = row
			}
		} else if from >= 0 {
			to = row
			break
		}
		// Where no page can be found the rest belongs together, and whoever reads it finds out why.
		n := int64(0)
		for n == 0 {
			h, _, err := w.next()
			if err != nil {
				n = rows - row
			} else if h.kind == pageData || h.kind == pageData2 {
				n = int64(h.values)
			}
		}
		row += n
	}
	if from < 0 {
		return 0, 0, nil
	}
	if to < 0 {
		to = rows
	}
	return from, to, nil
}

// leadOf is the chunk by whose pages a row group is divided: the one with the most bytes. It is nil if a column
// cannot be begun anywhere, or if there is none.
func leadOf(m *metadata.RowGroupMetaData, leaves []*parquetLeaf) *metadata.ColumnChunkMetaData {
	var lead *metadata.ColumnChunkMetaData
	for _, l := range leaves {
		if l.index >= m.NumColumns() {
			return nil
		}
		c, err := m.ColumnChunk(l.index)
		if err != nil || !flatReadable(c, l) {
			return nil
		}
		if lead == nil || c.TotalUncompressedSize() > lead.TotalUncompressedSize() {
			lead = c
		}
	}
	return lead
}
