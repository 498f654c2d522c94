package store

import (
	"maps"
	"strconv"
)

// keySkipped is what a query that records only some of its batches says in ReaderState: how many before this
// one have no record. The records themselves stand in line without a gap.
const keySkipped = "skippedBatches"

// Skipped is how many batches before that of the entry were never recorded: the number of the entry's batch is
// this much higher than the place of its record. 0 for queries that record every batch.
func (e OffsetEntry) Skipped() int64 {
	n, err := strconv.ParseInt(e.ReaderState[keySkipped], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// WithSkipped is a copy of the entry that says so.
func (e OffsetEntry) WithSkipped(n int64) OffsetEntry {
	if n == 0 {
		return e
	}
	m := maps.Clone(e.ReaderState)
	if m == nil {
		m = map[string]string{}
	}
	m[keySkipped] = strconv.FormatInt(n, 10)
	e.ReaderState = m
	return e
}
