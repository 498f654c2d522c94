// Package bench measures the engine: workloads over files that are a pure function of a row number, each
// beside a hand-written loop for the same query, the limit. Results are checked before a time is printed. The
// same workloads run on DuckDB, Spark and others in peers/, over the same bytes.
package bench

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"
)

const (
	golden = 0x9E3779B97F4A7C15
	baseMs = 1_700_000_000_000 // 2023-11-14T22:13:20.000Z
	users  = 1_000_000
	adIDs  = 10_000
)

var (
	eventTypes = [...]string{"view", "click", "purchase", "add_to_cart", "scroll"}
	countries  = [...]string{"DE", "US", "FR", "BR", "JP", "IN"}
)

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// random is stream s at row i.
func random(s, i uint64) uint64 { return mix(golden*(i+1) + s) }

// eventMs is the event time of row i: 3 ms a row, one row in a hundred up to 2 s late.
func eventMs(i uint64) int64 {
	late := int64(0)
	if random(4, i)%100 == 0 {
		late = int64(random(5, i) % 2000)
	}
	return baseMs + 3*int64(i) - late
}

func appendEvent(b []byte, i uint64) []byte { return appendEventOf(b, i, random(1, i)%users) }

// appendEventCSV is an event as a line without names, texts without quotes.
func appendEventCSV(b []byte, i uint64) []byte {
	b = append(strconv.AppendUint(b, i, 10), ',')
	b = append(strconv.AppendUint(b, random(1, i)%users, 10), ',')
	b = append(append(b, eventTypes[random(2, i)%5]...), ',')
	b = append(appendCents(b, random(3, i)%100_000), ',')
	b = append(time.UnixMilli(eventMs(i)).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z"), ',')
	b = append(append(b, countries[random(6, i)%6]...), ',')
	return append(strconv.AppendBool(b, random(7, i)&1 == 1), '\n')
}

func appendCents(b []byte, cents uint64) []byte {
	b = strconv.AppendUint(b, cents/100, 10)
	return append(b, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}

// zipfShares are the cumulative shares of the users by their ranks, whose weights are rank to the power of -1.1.
var zipfShares = sync.OnceValue(func() []float64 {
	share := make([]float64, users)
	sum := 0.0
	for i := range share {
		sum += math.Pow(float64(i+1), -1.1)
		share[i] = sum
	}
	for i := range share {
		share[i] /= sum
	}
	return share
})

// zipfUser is the user of row i where a few users do most: the first whose cumulative share is over a random number.
func zipfUser(i uint64) uint64 {
	share, u := zipfShares(), float64(random(1, i)>>11)*0x1p-53
	return uint64(sort.Search(len(share), func(k int) bool { return share[k] > u }))
}

// appendEventOf is an event with a user of the caller's choice.
func appendEventOf(b []byte, i, user uint64) []byte {
	b = append(b, `{"event_id":`...)
	b = strconv.AppendUint(b, i, 10)
	b = append(b, `,"user_id":`...)
	b = strconv.AppendUint(b, user, 10)
	b = append(b, `,"event_type":"`...)
	b = append(b, eventTypes[random(2, i)%5]...)
	b = append(b, `","price":`...)
	b = appendCents(b, random(3, i)%100_000)
	b = append(b, `,"ts":"`...)
	b = time.UnixMilli(eventMs(i)).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, `","country":"`...)
	b = append(b, countries[random(6, i)%6]...)
	b = append(b, `","ok":`...)
	b = strconv.AppendBool(b, random(7, i)&1 == 1)
	return append(b, "}\n"...)
}

// duplicated gives the row numbers 0 to n-1 with one in ten repeated up to 2,000 rows later: row i has a copy if
// stream 13 says so, right after row i + 1 + stream 14 mod 2,000, or after the last; copies that meet there are in
// the order of their numbers.
func duplicated(n uint64) []uint64 {
	const reach = 2001
	out := make([]uint64, 0, n+n/9)
	var late [reach + 1][]uint64 // copies that come after row i, at i mod len
	var atEnd []uint64
	for i := range n {
		if random(13, i)%10 == 0 {
			if at := i + 1 + random(14, i)%2000; at < n-1 {
				late[at%(reach+1)] = append(late[at%(reach+1)], i)
			} else {
				atEnd = append(atEnd, i)
			}
		}
		out = append(out, i)
		here := &late[i%(reach+1)]
		out, *here = append(out, *here...), (*here)[:0]
	}
	return append(out, atEnd...)
}

func appendTime(b []byte, ms int64) []byte {
	b = append(b, `,"ts":"`...)
	return append(time.UnixMilli(ms).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z"), '"')
}

func impressionMs(i uint64) int64 { return baseMs + 2*int64(i) }

func appendImpression(b []byte, i uint64) []byte {
	b = strconv.AppendUint(append(b, `{"imp_id":`...), i, 10)
	b = strconv.AppendUint(append(b, `,"ad_id":`...), random(10, i)%adIDs, 10)
	return append(appendTime(b, impressionMs(i)), "}\n"...)
}

// clicks lists the impressions 0 to n-1 that are clicked on, in order of the time of the click, then of their
// numbers, and those times.
func clicks(n uint64) (imp []uint64, ms []int64) {
	type click struct {
		imp uint64
		ms  int64
	}
	var all []click
	for i := range n {
		if random(11, i)%10 < 3 {
			all = append(all, click{i, impressionMs(i) + int64(random(12, i)%600_000)})
		}
	}
	slices.SortFunc(all, func(a, b click) int { return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.imp, b.imp)) })
	for _, c := range all {
		imp, ms = append(imp, c.imp), append(ms, c.ms)
	}
	return imp, ms
}

func appendClick(b []byte, imp uint64, ms int64) []byte {
	b = strconv.AppendUint(append(b, `{"imp_id":`...), imp, 10)
	return append(appendTime(b, ms), "}\n"...)
}

// appendKey is row i of the set of keys with k values.
func appendKey(b []byte, i, k uint64) []byte {
	key := random(8, i) % k
	b = strconv.AppendUint(append(b, `{"k":`...), key, 10)
	b = append(b, `,"name":"user_`...)
	name := strconv.FormatUint(key, 10)
	b = append(append(b, "00000000000"[:11-len(name)]...), name...)
	b = strconv.AppendUint(append(b, `","v":`...), random(9, i)%1000, 10)
	return append(appendTime(b, eventMs(i)), "}\n"...)
}
