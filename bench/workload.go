package bench

import (
	"path/filepath"
	"sort"
	"strings"

	"streamlab/errs"
)

// A Workload is one query over one kind of input. Its name is that of peers/workloads.py, where the other engines'
// texts of the query are.
type Workload struct {
	Name     string
	Variants []string // of files: large, small, tiny, 1, 1000; of topics: through, consume
	Views    []View
	Query    string   // Spark SQL
	Dedup    []string // dropDuplicatesWithinWatermark on these columns of the result
	Mode     string
	Keys     int // leading result columns that identify a row of an update stream
	limit    loop
	Sink     string // format of the files that the result goes into; "" is the sink that only reads
	Topics   bool   // the rows come from a topic; the variants say whether the result goes to one
}

// A View is a set of files under a name.
type View struct {
	Name      string
	Path      string // below the data folder, with {size} for the variant
	Schema    string
	Watermark string // delay on ts; "" is none
}

const (
	eventSchema = "event_id BIGINT, user_id BIGINT, event_type STRING, price DOUBLE, ts TIMESTAMP, country STRING, ok BOOLEAN"
	keySchema   = "k BIGINT, name STRING, v BIGINT, ts TIMESTAMP"

	queryW1 = `SELECT event_id, user_id, price * 0.908D AS eur, upper(country) AS c FROM events WHERE event_type = 'purchase' AND price > 100`
	queryW3 = `SELECT country, event_type, count(*) n, sum(price) s, max(price) m FROM events GROUP BY country, event_type`
	queryW4 = `SELECT user_id, count(*) n, sum(price) s FROM events GROUP BY user_id`
	queryW5 = `SELECT k, count(*) n, sum(v) s FROM keys GROUP BY k`
	queryW6 = `SELECT window.start AS w, country, n, p FROM (SELECT window(ts, '10 seconds') AS window, country, count(*) AS n, ` +
		`avg(price) AS p FROM events GROUP BY window(ts, '10 seconds'), country)`
	queryW7 = `SELECT window.start AS w, auction, n, p FROM (SELECT window(ts, '10 seconds', '2 seconds') AS window, mod(user_id, 1000) AS auction, ` +
		`count(*) AS n, avg(price) AS p FROM events GROUP BY window(ts, '10 seconds', '2 seconds'), mod(user_id, 1000))`
	queryW8 = `SELECT event_id, user_id, event_type, price, ts, country, ok FROM events`
	queryW9 = `SELECT i.imp_id, i.ad_id, i.ts AS shown, c.ts AS clicked FROM impressions i JOIN clicks c ` +
		`ON i.imp_id = c.imp_id AND c.ts BETWEEN i.ts AND i.ts + INTERVAL 10 MINUTES`
)

// Workloads are those that are measured.
func Workloads() []Workload {
	events := func(path, watermark string) []View { return []View{{"events", path, eventSchema, watermark}} }
	ads := []View{{"impressions", "impressions/json-{size}", "imp_id BIGINT, ad_id BIGINT, ts TIMESTAMP", "10 seconds"},
		{"clicks", "clicks/json-{size}", "imp_id BIGINT, ts TIMESTAMP", "10 seconds"}}
	return []Workload{
		{"W1", []string{"large"}, events("events/json-{size}", ""), queryW1, nil, "append", 0, limitW1, "", false},
		{"W3json", []string{"large"}, events("events/json-{size}", ""), queryW3, nil, "update", 2, limitW3, "", false},
		{"W4json", []string{"large", "small"}, events("events/json-{size}", ""), queryW4, nil, "update", 1, limitW4, "", false},
		{"W5", []string{"tiny"}, []View{{"keys", "keys10000000/json-{size}", keySchema, ""}}, queryW5, nil, "update", 1, limitW5, "", false},
		{"W6", []string{"small"}, events("events/json-{size}", "5 seconds"), queryW6, nil, "append", 0, limitW6(), "", false},
		{"W7", []string{"small"}, events("events/json-{size}", "5 seconds"), queryW7, nil, "append", 0, limitW7(), "", false},
		{"W8", []string{"small"}, events("dups/json-{size}", "10 seconds"), queryW8, []string{"event_id"}, "append", 0, limitW8, "", false},
		{"W9", []string{"small"}, ads, queryW9, nil, "append", 0, limitW9, "", false},
		{"W10x1", []string{"1"}, events("drip1/json", ""), queryW3, nil, "update", 2, limitW3, "", false},
		{"W11", []string{variantOut, variantNoOut}, events("events/json-large", ""), queryW1, nil, "append", 0, nil, "", true},
		{"W12", []string{"large", "small"}, events("events/json-{size}", ""), queryW8, nil, "append", 0, limitW12, "delta", false},
		{"W10x1000", []string{"1000"}, events("drip1000/json", ""), queryW3, nil, "update", 2, limitW3, "", false},
	}
}

// Find gives a workload by name. Errors: NO_SUCH_WORKLOAD.
func Find(name string) (Workload, error) {
	var names []string
	for _, w := range Workloads() {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return Workload{}, errs.New("NO_SUCH_WORKLOAD", "name", name, "names", strings.Join(names, ", "))
}

// folder is where the files of a view lie.
func (v View) folder(data, variant string) string {
	return filepath.Join(data, strings.ReplaceAll(v.Path, "{size}", variant))
}

// files lists the files of all views. Errors: NO_BENCH_DATA.
func (w Workload) files(data, variant string) ([][]string, error) {
	var all [][]string
	for _, v := range w.Views {
		fs, err := filepath.Glob(filepath.Join(v.folder(data, variant), "part-*.json"))
		if err != nil || len(fs) == 0 {
			return nil, errs.New("NO_BENCH_DATA", "folder", v.folder(data, variant))
		}
		sort.Strings(fs)
		all = append(all, fs)
	}
	return all, nil
}
