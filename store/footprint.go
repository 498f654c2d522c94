package store

// Footprint is an estimate of the memory that an open checkpoint's database takes, from its options: memtables that
// are written to and out, and the one that takes over meanwhile.
func Footprint() int64 { return (memtables + 1) * memtable }

// Ahead is how much memory an open checkpoint's database takes before anything is written to it: room for a memtable
// and for the largest write.
func Ahead() int64 { return memtable + memtable/3 }

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
