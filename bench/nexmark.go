package bench

import (
	"context"
	"strconv"

	"streamlab/columnar"
	"streamlab/sources"
	"streamlab/sources/nexmark"
)

// The events of Nexmark are those of the source of that name with its usual seed: of fifty, the first is a person,
// three are auctions, the others bids. There is a set of Parquet files for each kind.
const (
	bidSchema = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING"

	auctionSchema = "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP, " +
		"expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING"

	personSchema = "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, dateTime TIMESTAMP, extra STRING"
)

// nexmarkSets are the sets of so many events. Files of one number hold the same events whatever their kind, so that
// streams that are joined advance together.
func nexmarkSets(events, large, small int) []set {
	kind := func(name, cut, schema string, column, first, of, rows int) set {
		n := events / 50 * of
		return set{"nexmark", name + "/parquet-" + cut, rows, n, nil, schema, func(from, to int) ([]*columnar.Vec, error) {
			return nexmarkRows(column, first, of, from, to)
		}}
	}
	return []set{
		kind("bids", "large", bidSchema, 3, 4, 46, large),
		kind("bids", "small", bidSchema, 3, 4, 46, small),
		kind("auctions", "small", auctionSchema, 2, 1, 3, max(small*3/46, 1)),
		kind("persons", "small", personSchema, 1, 0, 1, max(small/46, 1)),
	}
}

// nexmarkRows makes rows [from, to) of a kind: column of the source, of which a cycle of fifty events has so many after
// the first events.
func nexmarkRows(column, first, of, from, to int) ([]*columnar.Vec, error) {
	event := func(k int) int { return k/of*50 + first + k%of }
	src, err := nexmark.New(sources.Def{Format: "nexmark", Options: sources.Options{"numPartitions": "1", "rowsPerBatch": "1"}})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	src.(interface{ Prune(columns []int) bool }).Prune([]int{column})
	ctx := context.Background()
	offset := func(n int) sources.Offset { return sources.Offset(strconv.Itoa(n)) }
	parts, err := src.PlanPartitions(ctx, offset(event(from)), offset(event(to-1)+1))
	if err != nil {
		return nil, err
	}
	whole := src.Schema()[column]
	var out []*columnar.Vec
	for _, f := range whole.Type.Fields {
		out = append(out, columnar.NewVec(f.Type, to-from))
	}
	at := 0
	for _, p := range parts {
		for rb, err := range p.Rows(ctx) {
			if err != nil {
				return nil, err
			}
			v := columnar.FromArrow(rb.Column(0), whole.Type)
			var there []int32
			for i := range int(rb.NumRows()) {
				if !v.IsNull(i) {
					there = append(there, int32(i))
				}
			}
			for k, kid := range v.Kids {
				appendRows(out[k], at, kid, there)
			}
			at += len(there)
		}
	}
	return out, nil
}

// appendRows copies the rows idx of a vector of numbers or texts to the rows of another from at on.
func appendRows(dst *columnar.Vec, at int, src *columnar.Vec, idx []int32) {
	for k, i := range idx {
		if dst.Phys == columnar.PBytes {
			dst.Data = append(dst.Data, src.Bytes(int(i))...)
			dst.Off[at+k+1] = int32(len(dst.Data))
			continue
		}
		dst.I64[at+k] = src.I64[i]
	}
}
