package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// The sinks lab writes every number to each kind of sink. What is exactly once must hold every number once;
// foreach may hold one twice, but only within the micro-batch that was interrupted.
const sinksLab = `
tables:
  appended: {format: delta, schema: "n BIGINT"}
  counted: {format: delta, schema: "k BIGINT, c BIGINT"}
  merged: {format: delta, schema: "n BIGINT, batch BIGINT"}
  inserted: {format: delta, schema: "n BIGINT"}
sources:
  lines: {format: text, path: data/numbers, options: {maxFilesPerTrigger: 2}}
views:
  numbers: SELECT CAST(value AS BIGINT) AS n FROM lines
queries:
  - {queryName: append, from: numbers, toTable: appended}
  - {queryName: complete, sql: "SELECT n % 10 AS k, count(*) AS c FROM numbers GROUP BY n % 10", outputMode: complete, toTable: counted}
  - queryName: merge
    from: numbers
    foreachBatch:
      - INSERT INTO inserted SELECT n FROM batch
      - MERGE INTO merged t USING batch s ON t.n = s.n
        WHEN MATCHED THEN UPDATE SET batch = -1 WHEN NOT MATCHED THEN INSERT (n, batch) VALUES (s.n, :batch_id)
  - {queryName: each, from: numbers, foreach: {command: [sh, -c, "sed \"s/^/$STREAMLAB_EPOCH /\" >> out/each.txt"]}}
`

// sinks kills queries that write Delta tables in every way, and foreach, and counts rows.
func (l *loop) sinks(kills int) error {
	if err := os.WriteFile(l.lab, []byte(sinksLab), 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(l.dir, "out"), 0o755); err != nil {
		return err
	}
	last, starts, err := l.grow(kills, "--trust")
	if err != nil {
		return err
	}
	if err := l.drain("--trust"); err != nil {
		return err
	}
	bad := 0
	report := func(name string, lost, doubled int) {
		fmt.Printf("sinks/%s: %d starts, %d killed, %d rows, %d lost, %d doubled\n", name, starts, kills, last, lost, doubled)
		bad += lost + doubled
	}
	for _, t := range []string{"appended", "inserted", "merged"} {
		rows, err := l.ask("SELECT count(*), count(DISTINCT n), coalesce(sum(CASE WHEN n BETWEEN 1 AND " + strconv.Itoa(last) + " THEN 0 ELSE 1 END), 0) FROM " + t)
		if err != nil {
			return err
		}
		all, distinct := number(rows[0][0]), number(rows[0][1])
		report(t, last-distinct+number(rows[0][2]), all-distinct)
	}
	rows, err := l.ask("SELECT count(*) FROM merged WHERE batch = -1")
	if err != nil {
		return err
	}
	report("merged again", 0, number(rows[0][0]))
	if rows, err = l.ask("SELECT k, c FROM counted"); err != nil {
		return err
	}
	counts := map[int]int{}
	for _, r := range rows {
		counts[number(r[0])] += number(r[1])
	}
	lost, doubled := 0, 0
	for n := 1; n <= last; n++ {
		counts[n%10]--
	}
	for _, c := range counts {
		lost, doubled = lost+max(0, -c), doubled+max(0, c)
	}
	report("counted", lost, doubled)
	lost, outside, twice, err := l.each(last)
	if err != nil {
		return err
	}
	fmt.Printf("sinks/foreach: %d starts, %d killed, %d rows, %d lost, %d twice within their micro-batch, %d in another\n", starts, kills, last, lost, twice, outside)
	if bad += lost + outside; bad > 0 {
		return fmt.Errorf("%d rows lost or doubled", bad)
	}
	return nil
}

// each reads what foreach got: lines of a micro-batch and a row. A row may come again with the same number.
// A line that the kill cut short is counted by the copy of it that follows.
func (l *loop) each(last int) (lost, outside, twice int, err error) {
	raw, err := os.ReadFile(filepath.Join(l.dir, "out", "each.txt"))
	if err != nil {
		return 0, 0, 0, err
	}
	epoch := map[int]int{}
	for _, line := range strings.Split(string(raw), "\n") {
		var e, n int
		if _, err := fmt.Sscanf(line, `%d {"n":%d}`, &e, &n); err != nil {
			continue
		}
		switch was, ok := epoch[n]; {
		case !ok:
			epoch[n] = e
		case was == e:
			twice++
		default:
			outside++
		}
	}
	return last - len(epoch), outside, twice, nil
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
