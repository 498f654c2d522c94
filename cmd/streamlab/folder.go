//go:build cgo

package main

import (
	"path/filepath"
	"strings"

	"streamlab/errs"
)

// labIn is the lab file of a folder: its only YAML file, or the one named like the folder, which is how
// `lab new` lays them out. Errors: LAB_FOLDER with the names to choose from.
func labIn(dir string) (string, error) {
	var found []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		list, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		found = append(found, list...)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	var names []string
	for _, f := range found {
		if strings.TrimSuffix(filepath.Base(f), filepath.Ext(f)) == filepath.Base(abs) {
			return f, nil
		}
		names = append(names, filepath.Base(f))
	}
	held := "no lab file"
	if len(names) > 0 {
		held = strings.Join(names[:min(5, len(names))], ", ")
		if len(names) > 5 {
			held += ", …"
		}
	}
	return "", errs.New("LAB_FOLDER", "path", dir, "held", held)
}
