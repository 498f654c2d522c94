package store

// Footprint is an estimate of the memory that an open checkpoint's database takes, from its options: memtables that
// are written to and out, and the one that takes over meanwhile.
func Footprint() int64 { return (memtables + 1) * memtable }

// Bytes is the size of the segments that the batch has collected so far.
func (b *Batch) Bytes() (n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, segments := range b.groups {
		for _, s := range *segments {
			n += int64(cap(s))
		}
	}
	return n
}
