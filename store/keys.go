package store

import (
	"crypto/sha256"
	"encoding/binary"
)

// The first letters of keys. Batches, counters and buckets follow big-endian, so keys sort by them.
const (
	keyOffsets  = 'o' // o/<N>
	keyCommit   = 'c' // c/<N>
	keyProgress = 'p' // p/<N>
	keyDelta    = 'd' // d/<shard>/<N>/<part>
	keyRelease  = 'x' // x/<shard>/<N>/<part>
	keyBase     = 'b' // b/<shard>/<bucket>/<as of N>/<part>
	keyCovered  = 'k' // k/<shard>/<N>/<part>: deltas up to the batch inside are covered by bases
	keyLog      = 'l' // l/<source>/<n>
	keyFile     = 'f' // f/<source>/<hash of the name>
	keyMeta     = 'y' // y/<name>
)

func batchKey(letter byte, n int64) []byte {
	k := make([]byte, 0, 16)
	k = append(k, letter, '/')
	return binary.BigEndian.AppendUint64(k, uint64(n))
}

func batchOfKey(k []byte) (int64, bool) {
	if len(k) != 10 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(k[2:])), true
}

func shardPrefix(letter byte, s Shard) []byte {
	k := make([]byte, 0, 48+len(s.Store))
	k = append(k, letter, '/')
	k = binary.BigEndian.AppendUint32(k, uint32(s.Operator))
	k = binary.BigEndian.AppendUint32(k, uint32(s.Range))
	k = append(k, byte(len(s.Store)))
	return append(k, s.Store...)
}

// A group is the set of parts that one batch wrote for one shard and, if they are a base, one bucket.
type group struct {
	letter byte
	shard  Shard
	bucket int64 // bases only
	batch  int64
}

func (g group) prefix() []byte {
	k := shardPrefix(g.letter, g.shard)
	if g.letter == keyBase {
		// The sign bit is turned so that negative buckets sort first.
		k = binary.BigEndian.AppendUint64(k, uint64(g.bucket)^1<<63)
	}
	return binary.BigEndian.AppendUint64(k, uint64(g.batch))
}

func partKey(prefix []byte, part int) []byte {
	k := make([]byte, 0, len(prefix)+4)
	return binary.BigEndian.AppendUint32(append(k, prefix...), uint32(part))
}

// groupOfKey takes a segment's key apart; ok is false if it is none.
func groupOfKey(k []byte) (g group, part int, ok bool) {
	if len(k) < 11 {
		return g, 0, false
	}
	g.letter = k[0]
	g.shard.Operator = int(binary.BigEndian.Uint32(k[2:]))
	g.shard.Range = int(binary.BigEndian.Uint32(k[6:]))
	n := int(k[10])
	rest := 12
	if g.letter == keyBase {
		rest = 20
	}
	k = k[11:]
	if len(k) != n+rest {
		return g, 0, false
	}
	g.shard.Store = string(k[:n])
	k = k[n:]
	if g.letter == keyBase {
		g.bucket = int64(binary.BigEndian.Uint64(k) ^ 1<<63)
		k = k[8:]
	}
	g.batch = int64(binary.BigEndian.Uint64(k))
	return g, int(binary.BigEndian.Uint32(k[8:])), true
}

func logPrefix(letter byte, source int) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{letter, '/'}, uint32(source)), '/')
}

func logKey(source int, n int64) []byte {
	return binary.BigEndian.AppendUint64(logPrefix(keyLog, source), uint64(n))
}

// fileKey hashes the name: paths may be longer than a key may be.
func fileKey(source int, name string) []byte {
	h := sha256.Sum256([]byte(name))
	return append(logPrefix(keyFile, source), h[:20]...)
}

func metaKey(name string) []byte { return append([]byte{keyMeta, '/'}, name...) }

// version is the Badger version of a batch.
func version(batch int64) uint64 { return uint64(batch + 1) }
