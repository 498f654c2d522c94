package bench

import (
	"bytes"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// A nexmarkQuery is one of W2: a query without state over the bids.
type nexmarkQuery struct {
	name, text string
	limit      loop
}

// The texts are Nexmark's, with what Spark has where Nexmark has functions of its own.
var nexmarkQueries = []nexmarkQuery{
	{"q0", `SELECT auction, bidder, price, dateTime, extra FROM bids`,
		eachBid("auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, extra STRING", func(o *output, c []*columnar.Vec, i int) {
			o.i64(c[0].I64[i])
			o.i64(c[1].I64[i])
			o.i64(c[2].I64[i])
			o.i64(c[3].I64[i])
			o.text(c[4].Bytes(i))
			o.end()
		})},
	{"q1", `SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bids`,
		eachBid("auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, extra STRING", func(o *output, c []*columnar.Vec, i int) {
			o.i64(c[0].I64[i])
			o.i64(c[1].I64[i])
			o.thousandths(c[2].I64[i] * 908)
			o.i64(c[3].I64[i])
			o.text(c[4].Bytes(i))
			o.end()
		})},
	{"q2", `SELECT auction, price FROM bids WHERE mod(auction, 123) = 0`,
		eachBid("auction BIGINT, price BIGINT", func(o *output, c []*columnar.Vec, i int) {
			if c[0].I64[i]%123 == 0 {
				o.i64(c[0].I64[i])
				o.i64(c[1].I64[i])
				o.end()
			}
		})},
	{"q14", `SELECT auction, bidder, 0.908 * price AS price, CASE WHEN hour(dateTime) >= 8 AND hour(dateTime) <= 18 THEN 'dayTime' ` +
		`WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bidTimeType, dateTime, extra, ` +
		`length(extra) - length(replace(extra, 'c', '')) AS c_counts FROM bids WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000`,
		eachBid("auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, extra STRING", func(o *output, c []*columnar.Vec, i int) {
			price := c[2].I64[i] * 908
			if price <= 1_000_000_000 || price >= 50_000_000_000 {
				return
			}
			o.i64(c[0].I64[i])
			o.i64(c[1].I64[i])
			o.thousandths(price)
			word := "otherTime"
			switch h := c[3].I64[i] / 3_600_000_000 % 24; {
			case h >= 8 && h <= 18:
				word = "dayTime"
			case h <= 6 || h >= 20:
				word = "nightTime"
			}
			o.text([]byte(word))
			o.i64(c[3].I64[i])
			extra := c[4].Bytes(i)
			o.text(extra)
			o.i64(int64(bytes.Count(extra, []byte{'c'})))
			o.end()
		})},
	{"q21", `SELECT auction, bidder, price, channel, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1' ` +
		`WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3' ` +
		`ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id FROM bids ` +
		`WHERE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu')`,
		eachBid("auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING", func(o *output, c []*columnar.Vec, i int) {
			o.i64(c[0].I64[i])
			o.i64(c[1].I64[i])
			o.i64(c[2].I64[i])
			channel := c[3].Bytes(i)
			o.text(channel)
			o.text(channelID(channel, c[4].Bytes(i)))
			o.end()
		})},
	{"q22", `SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2, ` +
		`split_part(url, '/', 6) AS dir3 FROM bids`,
		eachBid("auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING", func(o *output, c []*columnar.Vec, i int) {
			o.i64(c[0].I64[i])
			o.i64(c[1].I64[i])
			o.i64(c[2].I64[i])
			o.text(c[3].Bytes(i))
			rest := c[4].Bytes(i)
			for k := range 6 {
				part, after, _ := bytes.Cut(rest, []byte{'/'})
				if rest = after; k >= 3 {
					o.text(part)
				}
			}
			o.end()
		})},
}

// channelID is what q21 makes of a bid.
func channelID(channel, url []byte) []byte {
	for i, name := range [...]string{"apple", "google", "facebook", "baidu"} {
		if len(channel) == len(name) && bytes.EqualFold(channel, []byte(name)) {
			return []byte{'0' + byte(i)}
		}
	}
	_, id, found := bytes.Cut(url, []byte("&channel_id="))
	if !found {
		return nil
	}
	id, _, _ = bytes.Cut(id, []byte{'&'})
	return id
}

// thousandths gives out a decimal with three digits after the point.
func (o *output) thousandths(v int64) { o.f64(float64(v) / 1000) }

// eachBid calls row for every row of the files of bids.
func eachBid(columns string, row func(o *output, cols []*columnar.Vec, i int)) loop {
	return func(files [][]string, outs []output) (int64, error) {
		schema, err := types.ParseDDL(columns)
		if err != nil {
			return 0, err
		}
		in := int64(0)
		for _, f := range files[0] {
			n, err := eachTable(f, schema, len(outs), func(w int, cols []*columnar.Vec, n int) {
				for i := range n {
					row(&outs[w], cols, i)
				}
			})
			if err != nil {
				return 0, err
			}
			in += n
		}
		return in, nil
	}
}

// limitW4strings knows that a name is a number with leading zeros.
func limitW4strings(files [][]string, outs []output) (int64, error) {
	type key struct {
		n, s  int64
		batch int
	}
	schema, err := types.ParseDDL("name STRING, v BIGINT")
	if err != nil {
		return 0, err
	}
	parts := make([][]key, len(outs))
	for w := range parts {
		parts[w] = make([]key, 1_000_000)
	}
	emit := func(batch int) error { // 0: all
		return parallel(len(outs), func(w int) func() error {
			return func() error {
				o := &outs[w]
				var name [16]byte
				copy(name[:], "user_00000000000")
				for i := len(parts[0]) * w / len(outs); i < len(parts[0])*(w+1)/len(outs); i++ {
					var k key
					for p := range parts {
						x := &parts[p][i]
						k.n, k.s, k.batch = k.n+x.n, k.s+x.s, max(k.batch, x.batch)
					}
					if k.n == 0 || batch > 0 && k.batch != batch {
						continue
					}
					for at, rest := 15, i; at > 4; at, rest = at-1, rest/10 {
						name[at] = '0' + byte(rest%10)
					}
					o.text(name[:])
					o.i64(k.n)
					o.i64(k.s)
					o.end()
				}
				return nil
			}
		})
	}
	in := int64(0)
	for b, f := range files[0] {
		n, err := eachTable(f, schema, len(outs), func(w int, cols []*columnar.Vec, n int) {
			for i := range n {
				number, _ := digits(cols[0].Bytes(i)[5:])
				k := &parts[w][number]
				k.n++
				k.s += cols[1].I64[i]
				k.batch = b + 1
			}
		})
		if err != nil {
			return 0, err
		}
		in += n
		if !outs[0].check {
			if err := emit(b + 1); err != nil {
				return 0, err
			}
		}
	}
	if outs[0].check {
		return in, emit(0)
	}
	return in, nil
}
