// Interop holds streamlab against the other programs that read and write the same files: Spark with Delta,
// deltalake (delta-rs), DuckDB and pyarrow. Everything that streamlab writes is read there with equal rows,
// what they write is read here, and they write to one table in turns.
//
//	go run ./cmd/interop
//
// It makes a virtual environment in the user's cache folder (STREAMLAB_INTEROP names another place,
// STREAMLAB_PYTHON a Python that has the packages, STREAMLAB_JARS a folder with Delta's jars). What cannot be
// had here is named and left out; a row that is lost or differs makes the exit code 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"streamlab/engine"
)

func main() {
	only := flag.String("run", "", "checks whose name contains this")
	keep := flag.Bool("keep", false, "keep the tables and say where they are")
	spark := flag.Bool("spark", true, "start Spark")
	turns := flag.Int("turns", 100, "commits that are made to one table in turns")
	flag.Parse()
	if err := run(context.Background(), *only, *keep, *spark, *turns); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

// bench is what a run works with.
type bench struct {
	dir   string
	only  string
	s     *engine.Session
	o     *others
	spark bool

	checks, failed, skipped int
	last                    time.Time // of the last result
	files                   int       // of IPC
}

func run(ctx context.Context, only string, keep, spark bool, turns int) error {
	began := time.Now()
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	python, err := environment(ctx, cache)
	if errors.Is(err, errAbsent) {
		fmt.Println("skipped: all checks with Spark, deltalake, DuckDB and pyarrow:", err)
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "interop-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Println("tables are in", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	b := &bench{dir: dir, only: only, last: began}
	if b.o, err = startOthers(python, dir); err != nil {
		return err
	}
	defer b.o.close()
	have, err := b.o.call("versions", nil)
	if err != nil {
		fmt.Println("skipped: all checks with Spark, deltalake, DuckDB and pyarrow:", err)
		return nil
	}
	if b.s, err = engine.NewSession(engine.Config{Dir: dir, Conf: map[string]string{"spark.sql.session.timeZone": "UTC",
		"spark.databricks.delta.retentionDurationCheck.enabled": "false"}}); err != nil {
		return err
	}
	defer b.s.Close()
	fmt.Println("environment after", time.Since(began).Round(time.Second), string(have))
	if !spark {
		fmt.Println("skipped: all checks with Spark: not wanted")
	} else if why := b.startSpark(cache); why != nil {
		fmt.Println("skipped: all checks with Spark:", why)
	} else {
		b.spark = true
	}
	for _, c := range []func(context.Context) error{b.delta, b.streams, b.parquet, b.elsewhere, func(ctx context.Context) error { return b.turns(ctx, turns) }} {
		if err := c(ctx); err != nil {
			return err
		}
	}
	fmt.Printf("%d checks, %d failed, %d skipped, %s\n", b.checks, b.failed, b.skipped, time.Since(began).Round(time.Second))
	if b.failed > 0 {
		return fmt.Errorf("%d checks failed", b.failed)
	}
	return nil
}

func (b *bench) startSpark(cache string) error {
	if _, err := exec.LookPath("java"); err != nil && os.Getenv("JAVA_HOME") == "" {
		return fmt.Errorf("%w: Java", errAbsent)
	}
	path, err := sparkJars(cache)
	if err != nil {
		return err
	}
	_, err = b.o.call("start_spark", map[string]any{"jars": path, "scratch": b.dir})
	return err
}

// wanted says whether a check is to be made.
func (b *bench) wanted(name string) bool { return strings.Contains(name, b.only) }

// result prints what a check gave.
func (b *bench) result(name, detail string, err error) {
	b.checks++
	took := time.Since(b.last).Seconds()
	b.last = time.Now()
	if err != nil {
		b.failed++
		fmt.Printf("FAILED   %5.1fs %-72s %v\n", took, name, err)
		return
	}
	fmt.Printf("ok       %5.1fs %-72s %s\n", took, name, detail)
}

func (b *bench) skip(name, why string) {
	b.skipped++
	fmt.Printf("skipped         %-72s %s\n", name, why)
}

// statements runs statements here.
func (b *bench) statements(ctx context.Context, list []string) error {
	for _, text := range list {
		df, err := b.s.SQL(ctx, text)
		if err == nil {
			_, _, err = df.Collect(ctx)
		}
		if err != nil {
			return fmt.Errorf("%.120s: %w", text, err)
		}
	}
	return nil
}

// here reads a table or files with streamlab; what is delta, changes or parquet.
func (b *bench) here(ctx context.Context, what, path string) (rowset, error) {
	r := b.s.Read().Format(what)
	if what == "changes" {
		r = b.s.Read().Format("delta").Option("readChangeFeed", "true").Option("startingVersion", "0")
	}
	df := r.Load(ctx, path)
	if what == "changes" {
		var keep []string
		for _, f := range df.Schema() {
			if f.Name != "_commit_timestamp" {
				keep = append(keep, "`"+f.Name+"`")
			}
		}
		df = df.SelectExpr(keep...)
	}
	batches, schema, err := df.Collect(ctx)
	return rowsOf(batches, schema.Names()), err
}

// there reads a table or files with another program.
func (b *bench) there(by, what, path string) (rowset, error) {
	out := b.file()
	if _, err := b.o.call("read", map[string]any{"by": by, "what": what, "path": path, "out": out}); err != nil {
		return rowset{}, err
	}
	r, err := readIPC(out)
	return r, errors.Join(err, os.Remove(out))
}

func (b *bench) file() string {
	b.files++
	return filepath.Join(b.dir, fmt.Sprintf("rows-%d.arrow", b.files))
}

// compare reads a table with several programs and holds all against want; each is a check.
func (b *bench) compare(name, what, path string, want rowset, readers []string) {
	for _, by := range readers {
		got, err := b.there(by, what, path)
		if err == nil {
			if d := got.difference(want); d != "" {
				err = errors.New(d)
			}
		}
		b.result(name+" by "+by, fmt.Sprintf("%d rows", len(got.rows)), err)
	}
}
