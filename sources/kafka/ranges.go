package kafka

import (
	"fmt"
	"math"
	"math/big"
	"sort"

	"streamlab/columnar"
	"streamlab/internal/wire"
)

// A span is a range of one partition: from <= offset < until.
type span struct {
	tp          wire.TopicPartition
	from, until int64
}

func (r span) size() int64 { return r.until - r.from }

func (r span) String() string { return fmt.Sprintf("%s[%d,%d)", r.tp, r.from, r.until) }

func addCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// sparkShares is Spark's division: in proportion, rounded down, but one where less than one comes out. Their
// sum may miss the limit on either side.
func sparkShares(limit int64, sizes []int64) []int64 {
	var total float64
	for _, n := range sizes {
		total += float64(n)
	}
	out := make([]int64, len(sizes))
	for i, n := range sizes {
		q := float64(limit) * (float64(n) / total)
		if q < 1 {
			q = math.Ceil(q)
		}
		out[i] = min(n, int64(math.Floor(q)))
	}
	return out
}

// shares divides limit in proportion to sizes so that the sum is min(limit, total), with one for each that
// has any while the limit allows. What rounding leaves goes to the largest remainders, then to the first.
func shares(limit int64, sizes []int64) []int64 {
	out := make([]int64, len(sizes))
	var total int64
	for _, n := range sizes {
		total = addCapped(total, n)
	}
	if limit >= total {
		copy(out, sizes)
		return out
	}
	if limit < int64(len(sizes)) {
		return out // rotate gives one each to some
	}
	type remainder struct {
		i    int
		part *big.Int
	}
	rest := make([]remainder, len(sizes))
	left := limit
	for i, n := range sizes {
		q, m := new(big.Int).QuoRem(new(big.Int).Mul(big.NewInt(limit), big.NewInt(n)), big.NewInt(total), new(big.Int))
		out[i] = max(1, q.Int64())
		left -= out[i]
		rest[i] = remainder{i, m}
	}
	sort.SliceStable(rest, func(a, b int) bool { return rest[a].part.Cmp(rest[b].part) > 0 })
	for k := 0; left > 0; k = (k + 1) % len(rest) {
		if i := rest[k].i; out[i] < sizes[i] {
			out[i]++
			left--
		}
	}
	for left < 0 { // the ones that were raised to 1 are paid for by the largest
		big := 0
		for i := range out {
			if out[i] > out[big] {
				big = i
			}
		}
		out[big]--
		left++
	}
	return out
}

// rotate serves a limit below the number of partitions: one record from limit of them, beginning at another
// one each time; turn grows from batch to batch by what was read.
func rotate(takes, sizes []int64, limit, turn int64) {
	n := int64(len(sizes))
	if n == 0 || limit >= n {
		return
	}
	for k := int64(0); k < limit; k++ {
		takes[(turn+k)%n] = 1
	}
}

// cut divides ranges into the parts that are read apart: none above maxRecordsPerPartition, at least
// minPartitions in all, large ranges into more parts than small ones (KS-21 to KS-23).
func (s *settings) cut(ranges []span) []span {
	var list []span
	for _, r := range ranges {
		if r.size() > 0 {
			list = append(list, r)
		}
	}
	if s.maxRecords > 0 {
		var cut []span
		for _, r := range list {
			cut = append(cut, pieces(r, (r.size()+s.maxRecords-1)/s.maxRecords)...)
		}
		list = cut
	}
	if s.minParts == 0 || len(list) >= s.minParts {
		return list
	}
	count := func(size, total int64, parts int) int64 {
		return max(int64(math.Floor(float64(size)/float64(total)*float64(parts)+0.5)), 1)
	}
	var total, large int64
	for _, r := range list {
		total += r.size()
	}
	whole := 0
	for _, r := range list {
		if count(r.size(), total, s.minParts) == 1 {
			whole++
		} else {
			large += r.size()
		}
	}
	var out []span
	for _, r := range list {
		n := int64(1)
		if count(r.size(), total, s.minParts) > 1 {
			n = count(r.size(), large, max(s.minParts-whole, 1))
		}
		out = append(out, pieces(r, n)...)
	}
	return out
}

// pieces cuts a range into n; the last takes what division leaves.
func pieces(r span, n int64) []span {
	var out []span
	left, at := r.size(), r.from
	for i := int64(0); i < n; i++ {
		take := left / (n - i)
		left -= take
		if take > 0 {
			out = append(out, span{r.tp, at, at + take})
		}
		at += take
	}
	return out
}

func (r *reader) parts(ranges []span, columns []int) []columnar.Partition {
	var out []columnar.Partition
	for _, x := range r.cut(ranges) {
		out = append(out, &part{reader: r, span: x, columns: columns})
	}
	return out
}
