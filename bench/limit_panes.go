package bench

import (
	"cmp"
	"slices"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// limitBids is W7's windows over the bids: counts per auction by panes as long as the slide. The counts of the windows
// that end with a pane are those of the ones before, with the new pane and without the oldest. Auctions that are bid for
// at a time have numbers that are close together, so a pane is an array.
func limitBids(size, slide int64) loop {
	const late = 4_000
	type pane struct {
		first int64 // auction
		n     []int32
	}
	return func(files [][]string, outs []output) (int64, error) {
		schema, err := types.ParseDDL("auction BIGINT, dateTime TIMESTAMP")
		if err != nil {
			return 0, err
		}
		var panes []pane
		var total []int32 // of the window that was given out last
		origin, top, in, next := int64(-1), int64(0), int64(0), 0
		width := int(size / slide)
		apply := func(p *pane, sign int32) {
			if need := int(p.first) + len(p.n); need > len(total) {
				total = append(total, make([]int32, need-len(total))...)
			}
			for i, n := range p.n {
				total[int(p.first)+i] += sign * n
			}
		}
		emit := func() error {
			for ; next < int((top-late-origin)/slide); next++ {
				if next < len(panes) {
					apply(&panes[next], 1)
				}
				from := 0
				if old := next - width; old >= 0 && old < len(panes) {
					apply(&panes[old], -1)
					from = int(panes[old].first)
				}
				start := (origin + int64(next+1)*slide - size) * 1000
				err := parallel(len(outs), func(w int) func() error {
					return func() error {
						o, span := &outs[w], len(total)-from
						for i := from + span*w/len(outs); i < from+span*(w+1)/len(outs); i++ {
							if total[i] > 0 {
								o.i64(start)
								o.i64(int64(i))
								o.i64(int64(total[i]))
								o.end()
							}
						}
						return nil
					}
				})
				if err != nil {
					return err
				}
			}
			return nil
		}
		for _, f := range files[0] {
			n, err := eachTable(f, schema, 1, func(_ int, cols []*columnar.Vec, n int) {
				for i, t := range cols[1].I64[:n] {
					ms := t / 1000
					if top = max(top, ms); origin < 0 {
						origin = ms / slide * slide
					}
					at, auction := int((ms-origin)/slide), cols[0].I64[i]
					for at >= len(panes) {
						panes = append(panes, pane{first: max(0, auction-200)})
					}
					p := &panes[at]
					if auction < p.first {
						p.n = append(make([]int32, p.first-auction), p.n...)
						p.first = auction
					}
					k := int(auction - p.first)
					if k >= len(p.n) {
						p.n = append(p.n, make([]int32, k+1-len(p.n))...)
					}
					p.n[k]++
				}
			})
			if err != nil {
				return 0, err
			}
			in += n
			if err := emit(); err != nil {
				return 0, err
			}
		}
		return in, nil
	}
}

// limitW6users keeps the users of a window in a map: few of them are in any one.
func limitW6users(files [][]string, outs []output) (int64, error) {
	const late, size = 5_000, 10_000
	const origin = (baseMs/size - 1) * size // before the latest of the first events
	type cell struct {
		user, n int64
		s       float64
	}
	type window struct {
		at    map[int64]int
		cells []cell
	}
	parts := make([]map[int64]*window, len(outs))
	for w := range parts {
		parts[w] = map[int64]*window{}
	}
	top := make([]int64, 8*len(outs))
	add := func(x *window, user, n int64, s float64) {
		k, ok := x.at[user]
		if !ok {
			k = len(x.cells)
			x.at[user] = k
			x.cells = append(x.cells, cell{user: user})
		}
		x.cells[k].n += n
		x.cells[k].s += s
	}
	emit := func(until int64) {
		o := &outs[0]
		var closed []int64
		for w := range parts {
			for k := range parts[w] {
				if (k+1)*size+origin <= until {
					closed = append(closed, k)
				}
			}
		}
		slices.Sort(closed)
		for _, k := range slices.Compact(closed) {
			var all *window
			for w := range parts {
				x := parts[w][k]
				delete(parts[w], k)
				switch {
				case all == nil:
					all = x
				case x != nil:
					for _, c := range x.cells {
						add(all, c.user, c.n, c.s)
					}
				}
			}
			for _, c := range all.cells {
				o.i64((origin + k*size) * 1000)
				o.i64(c.user)
				o.i64(c.n)
				o.f64(c.s / float64(c.n))
				o.end()
			}
		}
	}
	in := int64(0)
	for _, f := range files[0] {
		n, err := eachEvent(f, "", len(outs), func(w int, e *event) {
			t := millis(e.ts)
			top[w*8] = max(top[w*8], t)
			k := (t - origin) / size
			x := parts[w][k]
			if x == nil {
				x = &window{at: map[int64]int{}}
				parts[w][k] = x
			}
			add(x, e.user, 1, e.price)
		})
		if err != nil {
			return 0, err
		}
		in += n
		mark := int64(0)
		for w := range outs {
			mark = max(mark, top[w*8])
		}
		emit(mark - late)
	}
	return in, nil
}

const (
	queryQ8 = `SELECT p.id, p.name, p.window.start AS w FROM ` +
		`(SELECT id, name, window(dateTime, '10 seconds') AS window FROM persons GROUP BY id, name, window(dateTime, '10 seconds')) p JOIN ` +
		`(SELECT seller, window(dateTime, '10 seconds') AS window FROM auctions GROUP BY seller, window(dateTime, '10 seconds')) a ` +
		`ON p.id = a.seller AND p.window = a.window`
	queryQ20 = `SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime AS bidTime, b.extra AS bidExtra, a.itemName, a.description, ` +
		`a.initialBid, a.reserve, a.dateTime AS auctionTime, a.expires, a.seller, a.category, a.extra AS auctionExtra ` +
		`FROM bids b JOIN auctions a ON b.auction = a.id WHERE a.category = 10`
)

// limitQ8 keeps the people and the sellers of each window of ten seconds.
func limitQ8(files [][]string, outs []output) (int64, error) {
	const late, size = 4_000_000, 10_000_000
	type someone struct {
		id   int64
		name []byte
	}
	people, err := types.ParseDDL("id BIGINT, name STRING, dateTime TIMESTAMP")
	if err != nil {
		return 0, err
	}
	selling, err := types.ParseDDL("seller BIGINT, dateTime TIMESTAMP")
	if err != nil {
		return 0, err
	}
	persons, sellers := map[int64][]someone{}, map[int64]map[int64]bool{}
	var top [2]int64
	in := int64(0)
	for b := range max(len(files[0]), len(files[1])) {
		if b < len(files[0]) {
			n, err := eachTable(files[0][b], people, 1, func(_ int, c []*columnar.Vec, n int) {
				for i := range n {
					w := c[2].I64[i] / size
					persons[w] = append(persons[w], someone{c[0].I64[i], c[1].Bytes(i)})
					top[0] = max(top[0], c[2].I64[i])
				}
			})
			if err != nil {
				return 0, err
			}
			in += n
		}
		if b < len(files[1]) {
			n, err := eachTable(files[1][b], selling, 1, func(_ int, c []*columnar.Vec, n int) {
				for i := range n {
					w := c[1].I64[i] / size
					if sellers[w] == nil {
						sellers[w] = map[int64]bool{}
					}
					sellers[w][c[0].I64[i]] = true
					top[1] = max(top[1], c[1].I64[i])
				}
			})
			if err != nil {
				return 0, err
			}
			in += n
		}
		for w, list := range persons {
			if (w+1)*size > min(top[0], top[1])-late {
				continue
			}
			slices.SortFunc(list, func(a, b someone) int { return cmp.Compare(a.id, b.id) })
			for _, p := range list {
				if sellers[w][p.id] {
					outs[0].i64(p.id)
					outs[0].text(p.name)
					outs[0].i64(w * size)
					outs[0].end()
				}
			}
			delete(persons, w)
			delete(sellers, w)
		}
	}
	return in, nil
}

// limitQ20 keeps the auctions of the category by number, and bids that came before their auction.
func limitQ20(files [][]string, outs []output) (int64, error) {
	type place struct {
		cols []*columnar.Vec
		i    int
	}
	bids, err := types.ParseDDL(bidSchema)
	if err != nil {
		return 0, err
	}
	all, err := types.ParseDDL(auctionSchema)
	if err != nil {
		return 0, err
	}
	var auctions []place
	newest, in := int64(-1), int64(0)
	var waiting []place
	join := func(b place) {
		id := b.cols[0].I64[b.i]
		a := auctions[id]
		if a.cols == nil {
			return // of another category
		}
		o := &outs[0]
		for k := range 3 {
			o.i64(b.cols[k].I64[b.i])
		}
		o.text(b.cols[3].Bytes(b.i))
		o.text(b.cols[4].Bytes(b.i))
		o.i64(b.cols[5].I64[b.i])
		o.text(b.cols[6].Bytes(b.i))
		o.text(a.cols[1].Bytes(a.i))
		o.text(a.cols[2].Bytes(a.i))
		for k := 3; k < 9; k++ {
			o.i64(a.cols[k].I64[a.i])
		}
		o.text(a.cols[9].Bytes(a.i))
		o.end()
	}
	for b := range max(len(files[0]), len(files[1])) {
		if b < len(files[1]) {
			n, err := eachTable(files[1][b], all, 1, func(_ int, c []*columnar.Vec, n int) {
				for i := range n {
					id := c[0].I64[i]
					newest = max(newest, id)
					for int64(len(auctions)) <= id {
						auctions = append(auctions, place{})
					}
					if c[8].I64[i] == 10 {
						auctions[id] = place{c, i}
					}
				}
			})
			if err != nil {
				return 0, err
			}
			in += n
		}
		kept := waiting[:0]
		for _, w := range waiting {
			if w.cols[0].I64[w.i] > newest {
				kept = append(kept, w)
			} else {
				join(w)
			}
		}
		waiting = kept
		if b < len(files[0]) {
			n, err := eachTable(files[0][b], bids, 1, func(_ int, c []*columnar.Vec, n int) {
				for i := range n {
					if c[0].I64[i] > newest {
						waiting = append(waiting, place{c, i})
					} else {
						join(place{c, i})
					}
				}
			})
			if err != nil {
				return 0, err
			}
			in += n
		}
	}
	return in, nil
}
