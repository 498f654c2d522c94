package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/engine"
	"streamlab/sinks"
	"streamlab/sinks/foreach"
	"streamlab/sql/types"
)

// foreachCase is a recorded case of a row writer.
type foreachCase struct {
	Name        string   `json:"name"`
	Methods     []string `json:"methods"` // of the Python object; absent: all
	Query       string   `json:"query"`
	Refuse      []int    `json:"refuse"` // partitions for which open says false
	Fail        string   `json:"fail"`   // the method that raises
	Partitions  int      `json:"partitions"`
	OutputMode  string   `json:"outputMode"`
	Shuffle     int      `json:"shuffle"`
	PartitionBy []string `json:"partitionBy"`
	Runs        []struct {
		Fail  string           `json:"fail"`
		Calls map[string][]any `json:"calls"`
		Error map[string]any   `json:"error"`
	} `json:"runs"`
}

// rowWriter notes its calls by partition.
type rowWriter struct {
	c         *foreachCase
	fail      string
	schema    types.Schema
	calls     map[string][]any
	partition string
}

func (w *rowWriter) note(call map[string]any) {
	w.calls[w.partition] = append(w.calls[w.partition], call)
}

func (w *rowWriter) Open(partition int, epoch int64) (bool, error) {
	w.partition = fmt.Sprint(partition)
	w.note(map[string]any{"call": "open", "partitionId": float64(partition), "epochId": float64(epoch)})
	if w.fail == "open" {
		return false, errors.New("asked for in open")
	}
	for _, p := range w.c.Refuse {
		if p == partition {
			return false, nil
		}
	}
	return true, nil
}

func (w *rowWriter) Process(rb arrow.RecordBatch) error {
	for _, row := range rowsOf([]arrow.RecordBatch{rb}, w.schema) {
		m := map[string]any{}
		for i, f := range w.schema {
			m[f.Name] = row[i]
		}
		w.note(map[string]any{"call": "process", "row": m})
		if v, ok := number(m["value"]); ok && w.fail == "process" && int64(v)%4 == 2 {
			return errors.New("asked for in process")
		}
	}
	return nil
}

func (w *rowWriter) Close(err error) error {
	var what any
	if err != nil {
		what = "error"
	}
	w.note(map[string]any{"call": "close", "error": what})
	if w.fail == "close" {
		return errors.New("asked for in close")
	}
	return nil
}

// TestForeach holds the calls on a row writer against those that Spark makes. Cases about methods that a
// Python object lacks do not exist in Go.
func TestForeach(t *testing.T) {
	if *dirFlag != "" || *exprFlag != "" {
		t.Skip("only a folder is asked for")
	}
	files, err := filepath.Glob("text/foreach/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	sort.Strings(files)
	listed := exceptions(t)
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c foreachCase
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		if c.Methods != nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			name := "text/foreach/" + c.Name
			diff := playForeach(t, &c)
			switch {
			case diff != "" && listed[name] == "":
				t.Error(diff)
			case diff == "" && listed[name] != "":
				t.Errorf("passes, but exceptions.txt lists it: %s", listed[name])
			}
		})
	}
}

func playForeach(t *testing.T, c *foreachCase) string {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	shuffle, partitions, query := max(c.Shuffle, 1), c.Partitions, c.Query
	if c.Shuffle == 0 {
		shuffle = 2
	}
	if partitions == 0 {
		partitions = 2
	}
	if query == "" {
		query = "SELECT value FROM r"
	}
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir(), Conf: map[string]string{"streamlab.durability": "process",
		"spark.sql.shuffle.partitions": fmt.Sprint(shuffle)}})
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	for i, run := range c.Runs {
		df := s.ReadStream().Format("rate-micro-batch").Option("rowsPerBatch", 4).Option("numPartitions", partitions).Load()
		if err := df.CreateOrReplaceTempView("r"); err != nil {
			return err.Error()
		}
		if df, err = s.SQL(ctx, query); err != nil {
			return err.Error()
		}
		fail := run.Fail
		if fail == "" {
			fail = c.Fail
		}
		calls, schema := map[string][]any{}, df.Schema()
		var sink sinks.Sink = foreach.New(func() foreach.Writer {
			return &rowWriter{c: c, fail: fail, schema: schema, calls: calls}
		})
		w := df.WriteStream().OutputMode(c.OutputMode).Option("checkpointLocation", filepath.Join(s.Dir(), "chk")).
			Trigger(engine.AvailableNow()).Sink(sink, "foreach")
		if c.PartitionBy != nil {
			w = w.PartitionBy(c.PartitionBy...)
		}
		q, err := w.Start(ctx)
		if err == nil {
			err = q.AwaitTermination(ctx)
		}
		if (err != nil) != (run.Error != nil) {
			return fmt.Sprintf("run %d: error %v, want %v", i+1, err, run.Error)
		}
		if err != nil {
			if class := str(run.Error["class"]); !gap(class) && (len(chain(err)) == 0 || chain(err)[0] != class) {
				return fmt.Sprintf("run %d: error %v, want %s", i+1, err, class)
			}
		}
		if got, want := anonymous(calls), anonymous(run.Calls); got != want {
			return fmt.Sprintf("run %d\n  got  %s\n  want %s", i+1, got, want)
		}
	}
	return ""
}

// anonymous prints calls; of an error it matters only that there was one.
func anonymous(calls map[string][]any) string {
	var names []string
	for k := range calls {
		names = append(names, k)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, k := range names {
		b.WriteString(k + ":")
		for _, c := range calls[k] {
			m := asObject(c)
			if m["call"] == "close" && m["error"] != nil {
				m["error"] = "error"
			}
			b.WriteString(" " + show(m))
		}
		b.WriteString("\n")
	}
	return b.String()
}
