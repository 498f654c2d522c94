package codec

import (
	"io"
	"sort"
)

// bzip2Writer compresses as bzip2 does. The standard library only reads that format.
//
// A block is run-length coded, sorted by rotations (Burrows-Wheeler), moved to front, and written with
// Huffman codes. One table of codes serves a whole block, written twice because the format wants two.
type bzip2Writer struct {
	dst   io.Writer
	bits  uint64
	nbits uint
	out   []byte
	err   error

	block    []byte // run-length coded
	run      int    // equal bytes at the end of the input
	last     byte
	crc      uint32 // of the block's text
	combined uint32
	started  bool
}

// bzip2Block is the length of a block before sorting, for level 9 with room for the last run.
const bzip2Block = 900_000 - 20

func newBzip2Writer(dst io.Writer) *bzip2Writer { return &bzip2Writer{dst: dst, crc: ^uint32(0)} }

var bzip2Table = func() (t [256]uint32) {
	for i := range t {
		c := uint32(i) << 24
		for range 8 {
			if c&0x80000000 != 0 {
				c = c<<1 ^ 0x04c11db7
			} else {
				c <<= 1
			}
		}
		t[i] = c
	}
	return
}()

func (w *bzip2Writer) put(n uint, v uint64) {
	if n > 32 {
		w.put(n-32, v>>32)
		n, v = 32, v&0xffffffff
	}
	w.bits = w.bits<<n | v&(1<<n-1)
	w.nbits += n
	for w.nbits >= 8 {
		w.nbits -= 8
		w.out = append(w.out, byte(w.bits>>w.nbits))
	}
	if len(w.out) >= 64<<10 {
		w.drain()
	}
}

func (w *bzip2Writer) drain() {
	if w.err == nil {
		_, w.err = w.dst.Write(w.out)
	}
	w.out = w.out[:0]
}

func (w *bzip2Writer) start() {
	if !w.started {
		w.started = true
		w.out = append(w.out, "BZh9"...)
	}
}

func (w *bzip2Writer) Write(p []byte) (int, error) {
	for _, c := range p {
		if w.run > 0 && c == w.last && w.run < 255 {
			w.run++
		} else {
			w.endRun()
			if len(w.block) >= bzip2Block {
				w.flushBlock()
			}
			w.last, w.run = c, 1
		}
		w.crc = w.crc<<8 ^ bzip2Table[byte(w.crc>>24)^c]
	}
	return len(p), w.err
}

// endRun writes a run: four or more equal bytes are four of them and a count of the others.
func (w *bzip2Writer) endRun() {
	n := w.run
	for range min(n, 4) {
		w.block = append(w.block, w.last)
	}
	if n >= 4 {
		w.block = append(w.block, byte(n-4))
	}
	w.run = 0
}

func (w *bzip2Writer) Close() error {
	w.start()
	w.endRun()
	w.flushBlock()
	w.put(48, 0x177245385090)
	w.put(32, uint64(w.combined))
	if w.nbits > 0 {
		w.put(8-w.nbits, 0)
	}
	w.drain()
	return w.err
}

func (w *bzip2Writer) flushBlock() {
	if len(w.block) == 0 {
		return
	}
	w.start()
	crc := ^w.crc
	w.combined = (w.combined<<1 | w.combined>>31) ^ crc
	w.crc = ^uint32(0)
	order := rotations(w.block)
	n := len(w.block)
	last := make([]byte, n)
	origin := 0
	var used [256]bool
	for i, at := range order {
		if at == 0 {
			origin = i
			at = int32(n)
		}
		last[i] = w.block[at-1]
		used[last[i]] = true
	}
	w.put(48, 0x314159265359)
	w.put(32, uint64(crc))
	w.put(1, 0)
	w.put(24, uint64(origin))
	var symbols []byte
	groups := uint64(0)
	for g := range 16 {
		groups <<= 1
		for i := range 16 {
			if used[g*16+i] {
				groups |= 1
			}
			if used[g*16+i] {
				symbols = append(symbols, byte(g*16+i))
			}
		}
	}
	w.put(16, groups)
	for g := range 16 {
		if groups>>(15-g)&1 == 0 {
			continue
		}
		mask := uint64(0)
		for i := range 16 {
			mask <<= 1
			if used[g*16+i] {
				mask |= 1
			}
		}
		w.put(16, mask)
	}
	codes := moveToFront(last, symbols)
	w.huffman(codes, len(symbols)+2)
	w.block = w.block[:0]
}

// moveToFront codes bytes by their place in a list whose used members come to the front. Runs of zeros are
// numbers in bijective base 2 with the digits 0 and 1; other places are one higher. The last code ends the
// block.
func moveToFront(s, symbols []byte) []uint16 {
	list := append([]byte{}, symbols...)
	out := make([]uint16, 0, len(s)/2+1)
	zeros := 0
	flush := func() {
		for zeros > 0 {
			if zeros&1 == 1 {
				out = append(out, 0)
				zeros = (zeros - 1) / 2
			} else {
				out = append(out, 1)
				zeros = (zeros - 2) / 2
			}
		}
	}
	for _, c := range s {
		if list[0] == c {
			zeros++
			continue
		}
		flush()
		prev := list[0]
		i := 1
		for ; list[i] != c; i++ {
			list[i], prev = prev, list[i]
		}
		list[i] = prev
		list[0] = c
		out = append(out, uint16(i+1))
	}
	flush()
	return append(out, uint16(len(symbols)+1))
}

// huffman writes the tables and the codes of a block.
func (w *bzip2Writer) huffman(codes []uint16, alphabet int) {
	counts := make([]int, alphabet)
	for _, c := range codes {
		counts[c]++
	}
	lengths := codeLengths(counts, 17)
	selectors := (len(codes) + 49) / 50
	w.put(3, 2)
	w.put(15, uint64(selectors))
	for range selectors { // always the first table
		w.put(1, 0)
	}
	for range 2 {
		at := lengths[0]
		w.put(5, uint64(at))
		for _, n := range lengths {
			for ; at < n; at++ {
				w.put(2, 2)
			}
			for ; at > n; at-- {
				w.put(2, 3)
			}
			w.put(1, 0)
		}
	}
	words := make([]uint32, alphabet)
	code := uint32(0)
	for n := 1; n <= 17; n++ {
		for i, l := range lengths {
			if l == n {
				words[i] = code
				code++
			}
		}
		code <<= 1
	}
	for _, c := range codes {
		w.put(uint(lengths[c]), uint64(words[c]))
	}
}

// codeLengths makes Huffman code lengths of at most most bits: counts are flattened until they fit. Every
// symbol gets a code.
func codeLengths(counts []int, most int) []int {
	n := len(counts)
	weights := make([]int, n)
	for i, c := range counts {
		weights[i] = max(c, 1)
	}
	for {
		lengths, deepest := huffmanLengths(weights)
		if deepest <= most {
			return lengths
		}
		for i := range weights {
			weights[i] = weights[i]/2 + 1
		}
	}
}

func huffmanLengths(weights []int) (lengths []int, deepest int) {
	n := len(weights)
	parent := make([]int, 2*n-1)
	weight := append(make([]int, 0, 2*n-1), weights...)
	leaves := make([]int, n)
	for i := range leaves {
		leaves[i] = i
	}
	sort.SliceStable(leaves, func(a, b int) bool { return weights[leaves[a]] < weights[leaves[b]] })
	// Two queues: the leaves by weight, and the joined nodes, which come out by weight too.
	joined := make([]int, 0, n)
	li, ji := 0, 0
	next := func() int {
		if ji == len(joined) || li < n && weight[leaves[li]] <= weight[joined[ji]] {
			li++
			return leaves[li-1]
		}
		ji++
		return joined[ji-1]
	}
	for k := n; k < 2*n-1; k++ {
		a, b := next(), next()
		weight = append(weight, weight[a]+weight[b])
		parent[a], parent[b] = k, k
		joined = append(joined, k)
	}
	depth := make([]int, 2*n-1)
	for k := 2*n - 3; k >= 0; k-- {
		depth[k] = depth[parent[k]] + 1
		if k < n {
			deepest = max(deepest, depth[k])
		}
	}
	return depth[:n], deepest
}

// rotations sorts the rotations of s by doubling: ranks by the first k bytes give the order by the first 2k.
func rotations(s []byte) []int32 {
	n := len(s)
	order, rank := make([]int32, n), make([]int32, n)
	var starts [257]int32
	for _, c := range s {
		starts[int(c)+1]++
	}
	for i := 1; i < 257; i++ {
		starts[i] += starts[i-1]
	}
	first := starts
	for i, c := range s {
		order[starts[c]] = int32(i)
		starts[c]++
		rank[i] = first[c]
	}
	other, heads, fresh := make([]int32, n), make([]int32, n), make([]int32, n)
	for k := 1; k < n; k *= 2 {
		// In the order of the second halves; then a stable counting sort by the first ones.
		for i, at := range order {
			at -= int32(k)
			if at < 0 {
				at += int32(n)
			}
			other[i] = at
		}
		next := fresh // how many members a group, named by the place of its first one, has got
		clear(next)
		for _, at := range other {
			r := rank[at]
			order[r+next[r]] = at
			next[r]++
		}
		distinct := true
		for i := 0; i < n; i++ {
			at := order[i]
			if i == 0 {
				heads[at] = 0
				continue
			}
			before := order[i-1]
			if rank[at] == rank[before] && rank[(int(at)+k)%n] == rank[(int(before)+k)%n] {
				heads[at] = heads[before]
				distinct = false
			} else {
				heads[at] = int32(i)
			}
		}
		rank, heads = heads, rank
		if distinct {
			break
		}
	}
	return order
}
