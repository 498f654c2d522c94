package nexmark

import (
	"context"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// The benchmark's proportions: of fifty events one is a person, three are auctions, the others bids.
const (
	cycle       = 50
	personPart  = 1
	auctionPart = 3
	firstID     = 1000 // ids of people and auctions begin here
	hotAuctions = 2    // of so many bids one goes to a hot auction's neighbour, the others to the hot one
	lookBack    = 100  // auctions that are still bid for
	active      = 1000 // people who still bid
	categories  = 5    // from 10
)

const (
	person = iota
	auction
	bid
)

// generator makes events from their numbers.
type generator struct {
	seed  int64
	start int64   // µs of the first event
	gap   float64 // µs between events
}

func kindOf(n int64) int {
	switch r := n % cycle; {
	case r < personPart:
		return person
	case r < personPart+auctionPart:
		return auction
	}
	return bid
}

// people and auctions count those that exist after event n.
func people(n int64) int64 { return n/cycle*personPart + min(n%cycle+1, personPart) }

func auctions(n int64) int64 {
	return n/cycle*auctionPart + max(0, min(n%cycle+1-personPart, auctionPart))
}

func (g generator) at(n int64) int64 { return g.start + int64(float64(n)*g.gap) }

// dice is a stream of random numbers that belongs to one event.
type dice uint64

func (g generator) dice(n int64) dice {
	return dice(uint64(g.seed)*0x9e3779b97f4a7c15 + uint64(n)*0xd1342543de82ef95)
}

// next is a step of SplitMix64.
func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *dice) below(n int64) int64 { return int64(d.next() % uint64(n)) }

var (
	firstNames = []string{"Ada", "Ben", "Cleo", "Dan", "Eva", "Fred", "Gina", "Hugo", "Ines", "Jon", "Kay", "Leo"}
	lastNames  = []string{"Abel", "Brook", "Cruz", "Dorn", "Engel", "Frost", "Grau", "Hale", "Ito"}
	cities     = []string{"Phoenix", "Portland", "Boise", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne"}
	states     = []string{"AZ", "OR", "ID", "OR", "WA", "WA", "WA", "WY"}
	channels   = []string{"Google", "Facebook", "Baidu", "Apple"}
	things     = []string{"chair", "lamp", "globe", "radio", "kettle", "violin", "atlas", "clock"}
)

// price is spread over six orders of magnitude, evenly in their logarithms.
func (d *dice) price() int64 {
	p := int64(1)
	for range d.below(7) {
		p *= 10
	}
	return 100 * (p + d.below(9*p))
}

func (d *dice) letters(b []byte, n int64) []byte {
	for range n {
		b = append(b, 'a'+byte(d.below(26)))
	}
	return b
}

type part struct {
	g           generator
	from, until int64
	columns     []int
}

func (p *part) String() string         { return fmt.Sprintf("nexmark[%d,%d)", p.from, p.until) }
func (p *part) NumRows() (int64, bool) { return p.until - p.from, true }

func (p *part) Rows(ctx context.Context) columnar.Rows {
	var s types.Schema
	for _, c := range p.columns {
		s = append(s, schema[c])
	}
	form := s.Arrow()
	return func(yield func(arrow.RecordBatch, error) bool) {
		for from := p.from; from < p.until; {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			n := min(p.until-from, 16384)
			vs := make([]*columnar.Vec, len(p.columns))
			for i, c := range p.columns {
				vs[i] = p.g.column(c, from, int(n))
			}
			if !yield(columnar.Record(form, vs, columnar.AllRows(int(n))), nil) {
				return
			}
			from += n
		}
	}
}

// column makes one column of n events from the event from on.
func (g generator) column(c int, from int64, n int) *columnar.Vec {
	v := columnar.NewVec(schema[c].Type, n)
	switch c {
	case 0:
		for i := range n {
			v.I32[i] = int32(kindOf(from + int64(i)))
		}
	case 4:
		for i := range n {
			v.I64[i] = g.at(from + int64(i))
		}
	default:
		v.MakeValid(n)
		for i := range n {
			k := from + int64(i)
			if kindOf(k) == c-1 {
				switch c - 1 {
				case person:
					g.person(v, i, k)
				case auction:
					g.auction(v, i, k)
				default:
					g.bid(v, i, k)
				}
				continue
			}
			columnar.ClearBit(v.Valid, i)
			for _, kid := range v.Kids {
				if kid.Phys == columnar.PBytes {
					put(kid, i, nil)
				}
			}
		}
	}
	return v
}

func put(v *columnar.Vec, i int, b []byte) {
	v.Data = append(v.Data, b...)
	v.Off[i+1] = int32(len(v.Data))
}

func puts(v *columnar.Vec, i int, s string) {
	v.Data = append(v.Data, s...)
	v.Off[i+1] = int32(len(v.Data))
}

func (g generator) person(v *columnar.Vec, i int, n int64) {
	d := g.dice(n)
	k := v.Kids
	first, last := firstNames[d.below(int64(len(firstNames)))], lastNames[d.below(int64(len(lastNames)))]
	k[0].I64[i] = firstID + people(n) - 1
	puts(k[1], i, first+" "+last)
	puts(k[2], i, string(d.letters(nil, 7))+"@"+string(d.letters(nil, 5))+".com")
	puts(k[3], i, fmt.Sprintf("%04d %04d %04d %04d", d.below(10_000), d.below(10_000), d.below(10_000), d.below(10_000)))
	town := d.below(int64(len(cities)))
	puts(k[4], i, cities[town])
	puts(k[5], i, states[town])
	k[6].I64[i] = g.at(n)
	put(k[7], i, d.letters(nil, 20+d.below(40)))
}

func (g generator) auction(v *columnar.Vec, i int, n int64) {
	d := g.dice(n)
	k := v.Kids
	k[0].I64[i] = firstID + auctions(n) - 1
	puts(k[1], i, things[d.below(int64(len(things)))])
	put(k[2], i, d.letters(nil, 20+d.below(60)))
	initial := d.price()
	k[3].I64[i] = initial
	k[4].I64[i] = initial + d.price()
	k[5].I64[i] = g.at(n)
	k[6].I64[i] = g.at(n + cycle*(1+d.below(2*lookBack/auctionPart)))
	k[7].I64[i] = firstID + g.recent(&d, people(n), active)
	k[8].I64[i] = 10 + d.below(categories)
	put(k[9], i, d.letters(nil, 20+d.below(40)))
}

// recent picks one of the newest of count: the newest ones are hot.
func (g generator) recent(d *dice, count, window int64) int64 {
	if d.below(hotAuctions) > 0 {
		return (count - 1) / 100 * 100
	}
	return count - 1 - d.below(min(window, count))
}

func (g generator) bid(v *columnar.Vec, i int, n int64) {
	d := g.dice(n)
	k := v.Kids
	k[0].I64[i] = firstID + g.recent(&d, auctions(n), lookBack)
	k[1].I64[i] = firstID + g.recent(&d, people(n), active)
	k[2].I64[i] = d.price()
	id := d.below(10_000)
	if d.below(2) == 0 {
		c := d.below(int64(len(channels)))
		puts(k[3], i, channels[c])
		id = c
	} else {
		puts(k[3], i, "channel-"+strconv.FormatInt(id, 10))
	}
	b := append(k[4].Data, "https://www.nexmark.com/"...)
	b = append(d.letters(b, 5), "/item.htm?query=1&channel_id="...)
	k[4].Data = strconv.AppendInt(b, id, 10)
	k[4].Off[i+1] = int32(len(k[4].Data))
	k[5].I64[i] = g.at(n)
	put(k[6], i, d.letters(nil, 10+d.below(20)))
}
