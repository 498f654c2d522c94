package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"streamlab/internal/broker"
	"streamlab/internal/wire"
	"streamlab/sinks/memory"
)

// A target is a query that writes the numbers 1, 2, 3, … to one kind of sink, and the way to count what the
// sink got. count gets the largest number.
type target struct {
	name  string
	query string // of a lab, in YAML; ends the lab
	table string // of a lab
	input string // sources and views of the lab; "" is numbersSource
	// feed adds the numbers from first to last to the input; nil writes files.
	feed  func(l *loop, first, last int) error
	count func(l *loop, last int) ([]tally, error)
}

// A tally is what one place holds. Within are rows that came again in the micro-batch that had been
// interrupted, which only sinks that promise at least once may show; doubled is every other repetition.
type tally struct {
	place                 string
	lost, doubled, within int
}

const numbersSource = `
sources:
  lines: {format: text, path: data/numbers, options: {maxFilesPerTrigger: 1, cleanSource: archive, sourceArchiveDir: archived}}
views:
  numbers: SELECT CAST(value AS BIGINT) AS n FROM lines
`

var targets = []target{
	{
		name:  "file",
		query: `- {queryName: file, sql: "SELECT n, n * 2 AS twice FROM numbers", format: json, path: out/file, options: {checkpointLocation: chk}}`,
		count: func(l *loop, last int) ([]tally, error) {
			lost, doubled, err := l.count(filepath.Join(l.dir, "out", "file"), "twice", 2, last+1)
			return []tally{{place: "naive reader", lost: lost, doubled: doubled}}, err
		},
	},
	{
		name:  "delta-append",
		table: `appended: {format: delta, schema: "n BIGINT"}`,
		query: `- {queryName: append, from: numbers, toTable: appended}`,
		count: func(l *loop, last int) ([]tally, error) { return l.rows(last, "appended") },
	},
	{
		name:  "delta-complete",
		table: `counted: {format: delta, schema: "k BIGINT, c BIGINT"}`,
		query: `- {queryName: complete, sql: "SELECT n % 10 AS k, count(*) AS c FROM numbers GROUP BY n % 10", outputMode: complete, toTable: counted}`,
		count: (*loop).counted,
	},
	{
		name: "merge",
		table: `merged: {format: delta, schema: "n BIGINT, batch BIGINT"}
  inserted: {format: delta, schema: "n BIGINT"}`,
		query: `- queryName: merge
    from: numbers
    foreachBatch:
      - INSERT INTO inserted SELECT n FROM batch
      - MERGE INTO merged t USING batch s ON t.n = s.n
        WHEN MATCHED THEN UPDATE SET batch = -1 WHEN NOT MATCHED THEN INSERT (n, batch) VALUES (s.n, :batch_id)`,
		count: func(l *loop, last int) ([]tally, error) {
			out, err := l.rows(last, "inserted", "merged")
			if err != nil {
				return nil, err
			}
			rows, err := l.ask("SELECT count(*) FROM merged WHERE batch = -1")
			if err != nil {
				return nil, err
			}
			return append(out, tally{place: "merged twice", doubled: number(rows[0][0])}), nil
		},
	},
	{
		name:  "memory",
		query: `- {queryName: kept, from: numbers, format: memory, options: {checkpointLocation: chk}}`,
		count: func(l *loop, last int) ([]tally, error) {
			a, err := memory.Door(filepath.Join(l.dir, ".streamlab")).Query(context.Background(), "SELECT count(*), count(DISTINCT n) FROM kept WHERE n BETWEEN 1 AND "+strconv.Itoa(last), 0)
			if err != nil {
				return nil, err
			}
			all, distinct := number(a.Rows[0][0].Text), number(a.Rows[0][1].Text)
			return []tally{{place: "kept", lost: last - distinct, doubled: all - distinct}}, nil
		},
	},
	{
		name: "kafka",
		query: `- queryName: kafka
    sql: SELECT CAST(n AS STRING) AS value FROM numbers
    format: kafka
    options: {kafka.bootstrap.servers: embedded, topic: '{topic}', dedupHeader: true, checkpointLocation: chk/kafka}`,
		count: (*loop).records,
	},
	{
		name:  "kafka-kafka",
		input: topicSource,
		feed:  (*loop).produce,
		query: `- queryName: kafka
    sql: SELECT CAST(n AS STRING) AS value FROM numbers
    format: kafka
    options: {kafka.bootstrap.servers: embedded, topic: '{topic}', dedupHeader: true, checkpointLocation: chk/kafka}`,
		count: (*loop).records,
	},
	{
		name:  "foreach",
		query: `- {queryName: each, from: numbers, foreach: {command: [sh, -c, "sed \"s/^/$STREAMLAB_EPOCH /\" >> out/each.txt"]}, options: {checkpointLocation: chk}}`,
		count: (*loop).each,
	},
	{
		name:  "console",
		query: `- {queryName: console, from: numbers, format: console, options: {numRows: 1000000, truncate: false, checkpointLocation: chk}}`,
		count: (*loop).printed,
	},
}

// topicSource reads what produce writes. One answer of the broker serves several micro-batches.
const topicSource = `
sources:
  lines:
    format: kafka
    options: {kafka.bootstrap.servers: embedded, subscribe: '{topic}-in', startingOffsets: earliest, maxOffsetsPerTrigger: 5}
views:
  numbers: SELECT CAST(CAST(value AS STRING) AS BIGINT) AS n FROM lines
`

// produce writes numbers to the partitions of the input topic in turn, a record batch each.
func (l *loop) produce(first, last int) error {
	c := wire.New(wire.Config{Servers: []string{l.broker}})
	defer c.Close()
	for p := range inputParts {
		var b wire.Builder
		for n := first; n <= last; n++ {
			if n%inputParts == p {
				b.Add(nil, strconv.AppendInt(nil, int64(n), 10), nil, time.Now().UnixMilli())
			}
		}
		raw, err := b.Finish(0)
		if err == nil {
			_, err = c.Produce(context.Background(), wire.TopicPartition{Topic: l.topic + "-in", Partition: int32(p)}, raw, -1, time.Minute)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const inputParts = 3

// sinks kills a query of every kind of sink, or of the one that is named, and counts.
func (l *loop) sinks(only string, kills int) error {
	var failed []string
	known := false
	for _, t := range targets {
		if only != "" && only != t.name {
			continue
		}
		known = true
		if err := l.sink(t, kills); err != nil {
			fmt.Printf("sinks/%s: %v\n", t.name, err)
			failed = append(failed, t.name)
		}
	}
	if !known {
		return fmt.Errorf("no sink %q", only)
	}
	if failed != nil {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	return nil
}

func (l *loop) sink(t target, kills int) error {
	dir := filepath.Join(l.dir, t.name)
	for _, d := range []string{"out", "archived", "data/numbers"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	s := &loop{bin: l.bin, dir: dir, lab: filepath.Join(dir, "sink.yaml"), rng: l.rng, hits: map[string]int{}}
	text := numbersSource
	if t.input != "" {
		text = t.input
	}
	if t.feed != nil {
		s.feed = func(first, last int) error { return t.feed(s, first, last) }
	}
	if t.table != "" {
		text += "tables:\n  " + t.table + "\n"
	}
	s.topic = fmt.Sprintf("numbers-%d-%d", os.Getpid(), time.Now().Unix())
	text = strings.ReplaceAll(text+"queries:\n  "+t.query+"\n", "{topic}", s.topic)
	if err := os.WriteFile(s.lab, []byte(text), 0o644); err != nil {
		return err
	}
	var err error
	if s.out, err = os.OpenFile(filepath.Join(dir, "stdout"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	defer s.out.Close()
	if strings.HasPrefix(t.name, "kafka") {
		// The broker outlives the child that is killed. Its topic is new, so that one loop does not count another's
		// records, and has one partition, whose order tells which micro-batch came when.
		if s.broker = l.broker; s.broker == "" {
			b, err := broker.Start(broker.CreateTopics())
			if err != nil {
				return err
			}
			defer b.Close()
			s.broker = b.Addr()
		}
		if err := s.createTopic(); err != nil {
			return err
		}
	}
	last, starts, err := s.grow(kills, "--trust")
	if err != nil {
		return err
	}
	if err := s.drain("--trust"); err != nil {
		return err
	}
	tallies, err := t.count(s, last)
	if err != nil {
		return err
	}
	bad := 0
	for _, x := range tallies {
		fmt.Printf("sinks/%s: %s: %d starts, %d killed, %d rows, %d lost, %d doubled", t.name, x.place, starts, kills, last, x.lost, x.doubled)
		if x.within > 0 {
			fmt.Printf(", %d again with their interrupted micro-batch", x.within)
		}
		fmt.Println()
		bad += x.lost + x.doubled
	}
	fmt.Printf("sinks/%s: killed %s\n", t.name, s.places())
	if bad > 0 {
		return fmt.Errorf("%d rows lost or doubled", bad)
	}
	return nil
}

// rows counts the numbers of Delta tables.
func (l *loop) rows(last int, tables ...string) ([]tally, error) {
	var out []tally
	for _, t := range tables {
		rows, err := l.ask("SELECT count(*), count(DISTINCT n), coalesce(sum(CASE WHEN n BETWEEN 1 AND " + strconv.Itoa(last) + " THEN 0 ELSE 1 END), 0) FROM " + t)
		if err != nil {
			return nil, err
		}
		all, distinct := number(rows[0][0]), number(rows[0][1])
		out = append(out, tally{place: t, lost: last - distinct + number(rows[0][2]), doubled: all - distinct})
	}
	return out, nil
}

func (l *loop) counted(last int) ([]tally, error) {
	rows, err := l.ask("SELECT k, c FROM counted")
	if err != nil {
		return nil, err
	}
	counts := map[int]int{}
	for _, r := range rows {
		counts[number(r[0])] += number(r[1])
	}
	x := tally{place: "counted"}
	for n := 1; n <= last; n++ {
		counts[n%10]--
	}
	for _, c := range counts {
		x.lost, x.doubled = x.lost+max(0, -c), x.doubled+max(0, c)
	}
	return []tally{x}, nil
}

// An audit takes the rows of a sink that promises at least once, in the order they arrived. A row may come again
// only in its own micro-batch, and only as long as no later micro-batch has begun: once there is one, those
// before it are committed.
type audit struct {
	batch  map[int]int
	newest int
	tally
}

func (a *audit) row(batch, n int) {
	was, again := a.batch[n]
	switch {
	case !again && batch >= a.newest:
		a.batch[n] = batch
	case again && was == batch && batch == a.newest:
		a.within++
	default:
		a.doubled++
	}
	a.newest = max(a.newest, batch)
}

func newAudit(place string) *audit {
	return &audit{batch: map[int]int{}, newest: -1, tally: tally{place: place}}
}

func (a *audit) end(last int) ([]tally, error) {
	for n := 1; n <= last; n++ {
		if _, ok := a.batch[n]; !ok {
			a.lost++
		}
	}
	return []tally{a.tally}, nil
}

// each reads what foreach got: lines of a micro-batch and a row. A line that the kill cut short is counted by
// the copy of it that follows.
func (l *loop) each(last int) ([]tally, error) {
	raw, err := os.ReadFile(filepath.Join(l.dir, "out", "each.txt"))
	if err != nil {
		return nil, err
	}
	a := newAudit("command")
	for _, line := range strings.Split(string(raw), "\n") {
		var batch, n int
		if _, err := fmt.Sscanf(line, `%d {"n":%d}`, &batch, &n); err == nil {
			a.row(batch, n)
		}
	}
	return a.end(last)
}

// printed reads what the console sink printed.
func (l *loop) printed(last int) ([]tally, error) {
	raw, err := os.ReadFile(filepath.Join(l.dir, "stdout"))
	if err != nil {
		return nil, err
	}
	a, batch := newAudit("output"), -1
	for _, line := range strings.Split(string(raw), "\n") {
		var n int
		if _, err := fmt.Sscanf(line, "Batch: %d", &n); err == nil {
			batch = n
		} else if _, err := fmt.Sscanf(line, "|%d", &n); err == nil {
			a.row(batch, n)
		}
	}
	return a.end(last)
}

// createTopic makes the topics of the Kafka sink and source.
func (l *loop) createTopic() error {
	c := wire.New(wire.Config{Servers: []string{l.broker}})
	defer c.Close()
	if err := c.CreateTopic(context.Background(), l.topic+"-in", inputParts); err != nil {
		return err
	}
	return c.CreateTopic(context.Background(), l.topic, 1)
}

// records reads the topic.
func (l *loop) records(last int) ([]tally, error) {
	ctx := context.Background()
	c := wire.New(wire.Config{Servers: []string{l.broker}})
	defer c.Close()
	a := newAudit("topic")
	q := wire.FetchRequest{Partition: wire.TopicPartition{Topic: l.topic}, MaxBytes: 8 << 20}
	for {
		f, err := c.Fetch(ctx, q, nil)
		if err == nil {
			err = f.Err
		}
		if err != nil {
			return nil, err
		}
		if len(f.Records) == 0 {
			return a.end(last)
		}
		var space []byte
		for rest := f.Records; ; {
			b, after, ok, err := wire.NextBatch(rest, &space)
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			rest = after
			var r wire.Record
			for {
				ok, err := b.Next(&r)
				if err != nil {
					return nil, err
				}
				if !ok {
					break
				}
				if r.Offset < q.Offset {
					continue
				}
				q.Offset = r.Offset + 1
				batch := -1
				for range r.Headers {
					k, v, err := r.Header()
					if err != nil {
						return nil, err
					}
					if string(k) == "streamlab-batch" {
						batch = number(string(v))
					}
				}
				a.row(batch, number(string(r.Value)))
			}
		}
	}
}

func number(s string) int { n, _ := strconv.Atoi(s); return n }

// ask puts a question in Spark SQL to the lab's tables.
func (l *loop) ask(question string) ([][]string, error) {
	cmd := exec.Command(l.bin, "sql", "--spark", l.lab, "-o", "csv", "--no-headers", "-c", question)
	cmd.Dir = l.dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %v", question, err)
	}
	return csv.NewReader(strings.NewReader(string(out))).ReadAll()
}
