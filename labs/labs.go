// Package labs holds the labs that come with the program, with the data they read. Every one of them is run
// by the tests.
package labs

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

//go:embed *.yaml data
var files embed.FS

// Names lists the shipped labs, sorted, without ".yaml".
func Names() []string {
	entries, _ := files.ReadDir(".")
	var out []string
	for _, e := range entries {
		if n, ok := strings.CutSuffix(e.Name(), ".yaml"); ok {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
}

// Read gives the text of a shipped lab.
func Read(name string) ([]byte, error) { return files.ReadFile(name + ".yaml") }

// Unpack writes a shipped lab and the data it reads below dir and gives the path of its file. Files that are
// there already are left alone: they may have been edited.
func Unpack(name, dir string) (string, error) {
	text, err := Read(name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name+".yaml")
	if err := write(path, text); err != nil {
		return "", err
	}
	return path, fs.WalkDir(files, "data", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(string(text), folder(p)) {
			return err
		}
		data, err := files.ReadFile(p)
		if err != nil {
			return err
		}
		return write(filepath.Join(dir, filepath.FromSlash(p)), data)
	})
}

// folder is the folder of data that a file belongs to, however deep it lies.
func folder(p string) string {
	parts := strings.SplitN(p, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

func write(path string, data []byte) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
