package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
)

// run makes the program below a function, so that README.md can show it as it is.
func run(ctx context.Context, dir string) error {
	s, err := engine.NewSession(engine.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer s.Close()

	s.ReadStream().Format("json").Schema("user STRING, page STRING").Register("clicks", "in")
	pages, err := s.SQL(ctx, "SELECT page, count(*) AS n FROM clicks GROUP BY page")
	if err != nil {
		return err
	}
	q, err := pages.WriteStream().OutputMode("complete").
		Option("checkpointLocation", "chk").
		Trigger(engine.AvailableNow()).
		ForeachBatch(func(ctx context.Context, batch *engine.DataFrame, id int64) error {
			rows, schema, err := batch.Collect(ctx)
			for _, rb := range rows {
				fmt.Println("batch", id, engine.Cells(rb, schema))
			}
			return err
		}).Start(ctx)
	if err != nil {
		return err
	}
	return q.AwaitTermination(ctx)
}

// A stream over files, a query in SQL, and a function that gets each micro-batch. The second run goes on from the
// checkpoint of the first: it reads the new file only, and the counts go on.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o755); err != nil {
		log.Fatal(err)
	}
	for file, lines := range []string{
		`{"user": "ada", "page": "/"}` + "\n" + `{"user": "bob", "page": "/"}` + "\n",
		`{"user": "ada", "page": "/"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, "in", fmt.Sprint(file, ".json")), []byte(lines), 0o644); err != nil {
			log.Fatal(err)
		}
		if err := run(context.Background(), dir); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// batch 0 [[/ 2]]
	// batch 1 [[/ 3]]
}

// The program that README.md shows is the one that runs here.
func TestReadmeShowsTheExample(t *testing.T) {
	own, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(own), "\nfunc run(")
	text, _, _ = strings.Cut(text, "\n}\n")
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\nfunc run("+text+"\n}\n```\n") {
		t.Error("README.md shows another program than run of this file")
	}
}
