package bench

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"streamlab/errs"
)

// A Workload is one query over one kind of input. Its name is that of peers/workloads.py, where the other engines'
// texts of the query are.
type Workload struct {
	Name      string
	Variants  []string // of files: large, small, tiny, 1, 1000; of topics: through, consume
	Views     []View
	Query     string   // Spark SQL
	Dedup     []string // dropDuplicatesWithinWatermark on these columns of the result
	Mode      string
	Keys      int // leading result columns that identify a row of an update stream
	limit     loop
	Sink      string // format of the files that the result goes into; "" is the sink that only reads
	Topics    bool   // the rows come from a topic; the variants say whether the result goes to one
	Partition string // column that the files are partitioned by; "" is none
	// Whole says that results are compared on the data that is measured, since less of it shows too little.
	Whole bool
	// Skip says why a peer does not run it, by the peer's name.
	Skip map[string]string
	// Part is how many files of each view a slow peer reads, by the peer's name: its rows per second count. None: all.
	Part map[string]int
}

// A View is a set of files under a name.
type View struct {
	Name      string
	Path      string // below the data folder, with {size} for the variant; it names the format
	Schema    string
	Watermark string // delay on the column Time; "" is none
	Time      string // "" is ts
}

const (
	eventSchema = "event_id BIGINT, user_id BIGINT, event_type STRING, price DOUBLE, ts TIMESTAMP, country STRING, ok BOOLEAN"
	keySchema   = "k BIGINT, name STRING, v BIGINT, ts TIMESTAMP"

	queryW1 = `SELECT event_id, user_id, price * 0.908D AS eur, upper(country) AS c FROM events WHERE event_type = 'purchase' AND price > 100`
	queryW3 = `SELECT country, event_type, count(*) n, sum(price) s, max(price) m FROM events GROUP BY country, event_type`
	queryW4 = `SELECT user_id, count(*) n, sum(price) s FROM events GROUP BY user_id`
	// of names with as many characters as a name often has
	queryW4strings = `SELECT name, count(*) n, sum(v) s FROM keys GROUP BY name`
	queryW5        = `SELECT k, count(*) n, sum(v) s FROM keys GROUP BY k`
	queryW6        = `SELECT window.start AS w, country, n, p FROM (SELECT window(ts, '10 seconds') AS window, country, count(*) AS n, ` +
		`avg(price) AS p FROM events GROUP BY window(ts, '10 seconds'), country)`
	queryW6users = `SELECT window.start AS w, user_id, n, p FROM (SELECT window(ts, '10 seconds') AS window, user_id, count(*) AS n, ` +
		`avg(price) AS p FROM events GROUP BY window(ts, '10 seconds'), user_id)`
	queryW7 = `SELECT window.start AS w, auction, n, p FROM (SELECT window(ts, '10 seconds', '2 seconds') AS window, mod(user_id, 1000) AS auction, ` +
		`count(*) AS n, avg(price) AS p FROM events GROUP BY window(ts, '10 seconds', '2 seconds'), mod(user_id, 1000))`
	queryW8 = `SELECT event_id, user_id, event_type, price, ts, country, ok FROM events`
	queryW9 = `SELECT i.imp_id, i.ad_id, i.ts AS shown, c.ts AS clicked FROM impressions i JOIN clicks c ` +
		`ON i.imp_id = c.imp_id AND c.ts BETWEEN i.ts AND i.ts + INTERVAL 10 MINUTES`
)

// bidWindows is the inner query of Nexmark's q5: bids per auction in sliding windows.
func bidWindows(size, slide string) string {
	window := "window(dateTime, '" + size + "', '" + slide + "')"
	return "SELECT window.start AS w, auction, n FROM (SELECT " + window + " AS window, auction, count(*) AS n FROM bids GROUP BY " +
		window + ", auction)"
}

// Workloads are those that are measured.
func Workloads() []Workload {
	events := func(path, watermark string) []View { return []View{{"events", path, eventSchema, watermark, ""}} }
	ads := []View{{"impressions", "impressions/json-{size}", "imp_id BIGINT, ad_id BIGINT, ts TIMESTAMP", "10 seconds", ""},
		{"clicks", "clicks/json-{size}", "imp_id BIGINT, ts TIMESTAMP", "10 seconds", ""}}
	bids := func(watermark string) View {
		return View{"bids", "bids/parquet-{size}", bidSchema, watermark, "dateTime"}
	}
	auctions := func(watermark string) View {
		return View{"auctions", "auctions/parquet-{size}", auctionSchema, watermark, "dateTime"}
	}
	names := []View{{"keys", "keys1000000/parquet-{size}", keySchema, "", ""}}
	large, small := []string{"large"}, []string{"small"}
	plain := func(name string, variants []string, views []View, query string, l loop) Workload {
		return Workload{Name: name, Variants: variants, Views: views, Query: query, Mode: "append", limit: l}
	}
	update := func(name string, variants []string, views []View, query string, keys int, l loop) Workload {
		return Workload{Name: name, Variants: variants, Views: views, Query: query, Mode: "update", Keys: keys, limit: l}
	}
	out := []Workload{plain("W1", large, events("events/json-{size}", ""), queryW1, limitW1)}
	for _, q := range nexmarkQueries {
		out = append(out, plain("W2"+q.name, large, []View{bids("")}, q.text, q.limit))
	}
	sliding := func(name, size, slide string, l loop) Workload {
		return plain(name, small, []View{bids("4 seconds")}, bidWindows(size, slide), l)
	}
	expanded := "60 and 600 rows for each of the input take minutes and more memory than there is"
	w8 := plain("W8", small, events("dups/json-{size}", "10 seconds"), queryW8, limitW8)
	w8.Dedup = []string{"event_id"}
	w9left := plain("W9left", small, ads, strings.Replace(queryW9, "JOIN", "LEFT JOIN", 1), limitW9left)
	w9left.Whole = true
	w7x60, w7x600 := sliding("W7x60", "60 seconds", "1 second", limitBids(60_000, 1_000)), sliding("W7x600", "600 seconds", "1 second", limitBids(600_000, 1_000))
	w7x60.Skip = map[string]string{"spark": expanded}
	w7x600.Skip = map[string]string{"spark": expanded, "duckdb": expanded}
	w10 := func(name, variant, path string) Workload {
		w := update(name, []string{variant}, events(path, ""), queryW3, 2, limitW3)
		w.Part = map[string]int{"spark": 40}
		return w
	}
	w5 := update("W5", []string{"tiny"}, []View{{"keys", "keys10000000/json-{size}", keySchema, "", ""}}, queryW5, 1, limitW5)
	w5.Part = map[string]int{"spark": 40}
	w11 := plain("W11", []string{variantOut, variantNoOut}, events("events/json-large", ""), queryW1, nil)
	w11.Topics = true
	w12 := func(name string, variants []string, path, sink, partition string) Workload {
		w := plain(name, variants, events(path, ""), queryW8, limitW12)
		w.Sink, w.Partition = sink, partition
		return w
	}
	return append(out,
		update("W3json", large, events("events/json-{size}", ""), queryW3, 2, limitW3),
		update("W3parquet", large, events("events/parquet-{size}", ""), queryW3, 2, limitW3),
		update("W4json", []string{"large", "small"}, events("events/json-{size}", ""), queryW4, 1, limitW4),
		update("W4parquet", []string{"large", "small"}, events("events/parquet-{size}", ""), queryW4, 1, limitW4),
		update("W4zipf", []string{"large", "small"}, events("zipf/json-{size}", ""), queryW4, 1, limitW4),
		update("W4strings", []string{"large", "small"}, names, queryW4strings, 1, limitW4strings),
		w5,
		plain("W6", small, events("events/json-{size}", "5 seconds"), queryW6, limitW6()),
		plain("W6users", small, events("events/json-{size}", "5 seconds"), queryW6users, limitW6users),
		plain("W7", small, events("events/json-{size}", "5 seconds"), queryW7, limitW7()),
		sliding("W7bids", "10 seconds", "2 seconds", limitBids(10_000, 2_000)), w7x60, w7x600,
		w8,
		plain("W9", small, ads, queryW9, limitW9), w9left,
		plain("W9q8", small, []View{{"persons", "persons/parquet-{size}", personSchema, "4 seconds", "dateTime"}, auctions("4 seconds")}, queryQ8, limitQ8),
		plain("W9q20", small, []View{bids(""), auctions("")}, queryQ20, limitQ20),
		w10("W10x1", "1", "drip1/json"), w10("W10x1000", "1000", "drip1000/json"),
		w11,
		w12("W12", []string{"large", "small"}, "events/json-{size}", "delta", ""),
		w12("W12country", large, "events/json-{size}", "delta", "country"),
		w12("W12csv", large, "events/csv-{size}", "parquet", ""),
	)
}

// family is the number of a workload, without what tells variants of its input apart: W3 of W3json.
func family(name string) string {
	n := 1
	for n < len(name) && name[n] >= '0' && name[n] <= '9' {
		n++
	}
	return name[:min(n, len(name))]
}

// Find gives a workload by its exact name. Errors: NO_SUCH_WORKLOAD.
func Find(name string) (Workload, error) {
	for _, w := range Workloads() {
		if w.Name == name {
			return w, nil
		}
	}
	return Workload{}, noSuch(name)
}

func noSuch(name string) error {
	var names []string
	for _, w := range Workloads() {
		names = append(names, w.Name)
	}
	return errs.New("NO_SUCH_WORKLOAD", "name", name, "names", strings.Join(names, ", "))
}

// Select gives the workloads that names stand for, in their usual order; none stand for all. A number alone, W3,
// stands for all of that number. Errors: NO_SUCH_WORKLOAD.
func Select(names []string) ([]Workload, error) {
	all := Workloads()
	if len(names) == 0 {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		found := false
		for _, w := range all {
			if strings.EqualFold(w.Name, name) || strings.EqualFold(family(w.Name), name) {
				wanted[w.Name], found = true, true
			}
		}
		if !found {
			return nil, noSuch(name)
		}
	}
	return slices.DeleteFunc(all, func(w Workload) bool { return !wanted[w.Name] }), nil
}

// format is that of the files.
func (v View) format() string { return formatOf(v.Path) }

// time is the column of event times.
func (v View) time() string {
	if v.Time == "" {
		return "ts"
	}
	return v.Time
}

// folder is where the files of a view lie.
func (v View) folder(data, variant string) string {
	return filepath.Join(data, strings.ReplaceAll(v.Path, "{size}", variant))
}

// files lists the files of all views. Errors: NO_BENCH_DATA.
func (w Workload) files(data, variant string) ([][]string, error) {
	var all [][]string
	for _, v := range w.Views {
		fs, err := filepath.Glob(filepath.Join(v.folder(data, variant), "part-*"))
		if err != nil || len(fs) == 0 {
			return nil, errs.New("NO_BENCH_DATA", "folder", v.folder(data, variant))
		}
		sort.Strings(fs)
		all = append(all, fs)
	}
	return all, nil
}
