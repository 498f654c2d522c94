//go:build cgo

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"streamlab/errs"
	"streamlab/labs"
	"streamlab/tui/screen"
)

// A template is a lab to begin one's own with: small, whole, and running at once.
type template struct {
	name, about string
	files       map[string]string // by path below the folder; NAME stands for the name of the lab
}

var templates = []template{
	{"rate", "rows from the clock, counted per ten seconds", map[string]string{"NAME.yaml": `lab: NAME
about: Rows from the clock, counted per ten seconds.
sources:
  ticks:
    format: rate
    options: {rowsPerSecond: 10}
    withWatermark: {eventTime: timestamp, delayThreshold: 5 seconds}
queries:
  - queryName: every_row                 # o shows what the console sink prints
    sql: SELECT value, date_format(timestamp, 'HH:mm:ss') AS at FROM ticks
    format: console
    trigger: {processingTime: 2 seconds}
  - queryName: per_ten_seconds           # tab 3: SELECT * FROM per_ten_seconds
    sql: SELECT window(timestamp, '10 seconds').start AS at, count(*) AS n FROM ticks GROUP BY window(timestamp, '10 seconds')
    format: memory
    outputMode: append
`}},
	{"csv", "CSV files of a folder, counted per minute; late rows are dropped", map[string]string{"NAME.yaml": `lab: NAME
about: CSV files of a folder, counted per minute of event time.
sources:
  events:
    format: csv
    path: in                             # or a folder of yours; new files are read while it runs
    schema: ts TIMESTAMP, key STRING, value INT
    options: {header: true}
    withWatermark: {eventTime: ts, delayThreshold: 10 seconds}
queries:
  - queryName: per_minute                # a minute is sent once, when the watermark has passed it
    sql: SELECT window(ts, '1 minute').start AS minute, count(*) AS n FROM events GROUP BY window(ts, '1 minute')
    format: json
    path: out/per_minute
    outputMode: append
    start: false                         # it remembers which files it has read: start it (s) on files of yours
  - queryName: so_far                    # a minute is sent again whenever it changes; o shows it
    sql: SELECT window(ts, '1 minute').start AS minute, count(*) AS n FROM events GROUP BY window(ts, '1 minute')
    format: console
    outputMode: update
`, "in/first.csv": `ts,key,value
2026-01-01T10:00:05Z,a,1
2026-01-01T10:00:40Z,b,2
2026-01-01T10:01:10Z,a,3
2026-01-01T10:02:30Z,b,4
`}},
	{"file", "JSON files of a folder, good rows to a table, bad ones aside", map[string]string{"NAME.yaml": `lab: NAME
about: JSON files of a folder, good rows to one place and bad ones to another.
sources:
  events:
    format: json
    path: in                             # put more files here while it runs
    schema: id BIGINT, kind STRING, amount DOUBLE, at TIMESTAMP, broken STRING
    options: {columnNameOfCorruptRecord: broken}
queries:
  - queryName: good
    sql: SELECT id, kind, amount, at FROM events WHERE broken IS NULL
    format: parquet
    path: out/good
    start: false                         # it remembers which files it has read: start it (s) on files of yours
  - queryName: bad
    sql: SELECT id, broken FROM events WHERE broken IS NOT NULL
    format: json
    path: out/bad
    start: false
  - queryName: per_kind
    sql: SELECT kind, count(*) AS n, sum(amount) AS total FROM events WHERE broken IS NULL GROUP BY kind
    format: memory
    outputMode: complete
`, "in/first.json": `{"id": 1, "kind": "a", "amount": 10.5, "at": "2026-01-01T10:00:00Z"}
{"id": 2, "kind": "b", "amount": 3, "at": "2026-01-01T10:00:05Z"}
{"id": 3, "kind": "a", "amount": 
{"id": 4, "kind": "a", "amount": 1.25, "at": "2026-01-01T10:00:09Z"}
`}},
	{"kafka", "a topic of the embedded broker, parsed and written to another", map[string]string{"NAME.yaml": `lab: NAME
about: A topic of the embedded broker, parsed, and written to another topic.
sources:
  raw:
    format: kafka
    options:
      kafka.bootstrap.servers: embedded  # or host:port,… of a broker of yours
      subscribe: events
      startingOffsets: earliest
    seed:
      events:
        - {key: a, value: {id: 1, amount: 10.5}}
        - {key: b, value: {id: 2, amount: 3}}
        - {key: a, value: no JSON}
views:
  events: SELECT CAST(key AS STRING) AS key, from_json(CAST(value AS STRING), 'id BIGINT, amount DOUBLE') AS v FROM raw
queries:
  - queryName: large
    sql: SELECT key, to_json(v) AS value FROM events WHERE v.amount > 5
    format: kafka
    options: {kafka.bootstrap.servers: embedded, topic: large}
  - queryName: per_key
    sql: SELECT key, count(v.id) AS parsed, count(*) AS n FROM events GROUP BY key
    format: memory
    outputMode: complete
`}},
	{"delta", "a Delta table as source, one kept up to date by MERGE", map[string]string{"NAME.yaml": `lab: NAME
about: A Delta table read as a stream, and another one kept up to date by MERGE.
tables:
  events: {format: delta, schema: "id BIGINT, amount DOUBLE"}   # INSERT INTO events with: streamlab sql --spark
  latest: {format: delta, schema: "id BIGINT, amount DOUBLE"}
sources:
  incoming: {table: events}
queries:
  - queryName: keep_latest
    sql: SELECT id, max(amount) AS amount FROM incoming GROUP BY id
    outputMode: update
    foreachBatch:
      - MERGE INTO latest t USING batch s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
  - queryName: copy
    from: incoming
    format: delta
    path: out/copy
steps:
  - title: Rows for the table
    why: A commit of the table becomes a micro-batch of the queries.
    do: [{sql: "INSERT INTO events VALUES (1, 10.5), (2, 3), (1, 12)"}, {start: keep_latest}, {await: keep_latest}]
    see: {sql: "SELECT id, amount FROM latest ORDER BY id", rows: [[1, 12.0], [2, 3.0]]}
`}},
}

// newLab makes a lab of a template, or copies a shipped one with its data, into dir, and gives the path of its
// file. Nothing that is there is overwritten. Errors: NO_SUCH_LAB, FILE_EXISTS.
func newLab(name, dir string) (string, error) {
	i := slices.IndexFunc(templates, func(t template) bool { return t.name == name })
	if i < 0 {
		return copyLab(name, dir)
	}
	own := filepath.Base(dir)
	if own == "." || own == string(filepath.Separator) || !filepath.IsLocal(own) {
		own = name
	}
	path := filepath.Join(dir, own+".yaml")
	if exists(path) {
		return "", errs.New("FILE_EXISTS", "path", path)
	}
	for file, text := range templates[i].files {
		file = filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(file, "NAME", own)))
		if exists(file) {
			return "", errs.New("FILE_EXISTS", "path", file)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "NAME", own)), 0o644); err != nil {
			return "", err
		}
	}
	return path, nil
}

// startingPoints are the names that newLab takes: templates, then shipped labs.
func startingPoints() (out []string) {
	for _, t := range templates {
		out = append(out, t.name)
	}
	return append(out, labs.Names()...)
}

// Templates implements screen.Maker, as does New.
func (g *gallery) Templates() (out []screen.Template) {
	for _, t := range templates {
		out = append(out, screen.Template{Name: t.name, About: t.about})
	}
	return out
}

func (g *gallery) New(_ context.Context, name, folder string) (string, error) {
	return newLab(name, folder)
}
