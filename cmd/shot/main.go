// Shot makes the pictures of the manual from the program's own screens: it plays a script of keys against the
// fake lab that the tests of the screens use and writes SVG straight from the canvas. Same input, same bytes, so
// a test says when a picture is out of date. `go run ./cmd/shot` writes all of them into docs/pictures.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := flag.String("o", filepath.Join("docs", "pictures"), "folder of the pictures")
	only := flag.String("only", "", "write one picture")
	flag.Parse()
	if err := run(*dir, *only); err != nil {
		fmt.Fprintln(os.Stderr, "shot:", err)
		os.Exit(1)
	}
}

func run(dir, only string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	found := false
	for _, s := range scripts {
		if only != "" && s.name != only {
			continue
		}
		found = true
		svg := s.play()
		path := filepath.Join(dir, s.name+".svg")
		if err := os.WriteFile(path, svg, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s %d KB\n", path, (len(svg)+1023)>>10)
	}
	if !found {
		return fmt.Errorf("no picture is called %q", only)
	}
	return nil
}
