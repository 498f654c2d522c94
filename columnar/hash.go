package columnar

import "github.com/zeebo/xxh3"

// HashBytes is a 64-bit hash of b that is the same in every process, so it may be stored.
func HashBytes(b []byte) uint64 { return xxh3.Hash(b) }
