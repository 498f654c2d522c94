// Package config reads what a user has set for every lab: config.yaml and keys.yaml in one folder
// ($STREAMLAB_CONFIG, else streamlab below the system's folder for configuration). Both files may be
// missing. A key that nobody knows is an error with its line, never silently ignored.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"streamlab/errs"
	"streamlab/internal/vfs"
)

// A Setting is one key of config.yaml.
type Setting struct {
	Key     string
	Default string
	Values  []string // allowed; nil allows any text
	Doc     string
}

var yesNo = []string{"true", "false"}

// Known lists the settings, in the order of the manual. The caller must not change it.
func Known() []Setting { return known }

var known = []Setting{
	{"theme", "auto", []string{"auto", "terminal", "dark", "light", "ascii", "none"}, "colours and symbols of the workbench"},
	{"color", "auto", []string{"auto", "always", "never"}, "whether the workbench uses colours; NO_COLOR means never"},
	{"ascii", "false", yesNo, "plain ASCII instead of blocks, arrows and lines"},
	{"ambiguous", "narrow", []string{"narrow", "wide"}, "width of ambiguous characters; wide means ASCII symbols"},
	{"plain", "false", yesNo, "no lines, no charts, one pane, one redraw a second: for screen readers"},
	{"reducedMotion", "false", yesNo, "nothing flashes or spins, two redraws a second"},
	{"readOnly", "false", yesNo, "nothing stored is changed from the workbench"},
	{"time", "local", []string{"local", "utc"}, "which clock times are shown in"},
	{"mouse", "off", []string{"off", "on"}, "whether the workbench takes the mouse at its start"},
	{"clipboard", "auto", []string{"auto", "terminal", "native"}, "where a copy goes: the terminal (OSC 52) or a tool of the system"},
}

// Find gives a setting by its key.
func Find(key string) (Setting, bool) {
	i := slices.IndexFunc(known, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return Setting{}, false
	}
	return known[i], true
}

// Folder is where the files are. It need not exist.
func Folder() (string, error) {
	if d := os.Getenv("STREAMLAB_CONFIG"); d != "" {
		return d, nil
	}
	d, err := os.UserConfigDir()
	if err != nil {
		return "", errs.Wrap(err, "CONFIG_UNREADABLE", "path", "streamlab/config.yaml")
	}
	return filepath.Join(d, "streamlab"), nil
}

// Values are the settings of config.yaml in dir, with defaults for what is not set.
//
// Errors: CONFIG_UNREADABLE; CONFIG_KEY and CONFIG_VALUE with the line.
func Values(dir string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range known {
		out[s.Key] = s.Default
	}
	path := filepath.Join(dir, "config.yaml")
	entries, err := read(path)
	if err != nil {
		return out, err
	}
	var all []error
	for _, e := range entries {
		v := strings.Join(e.values, ",")
		if err := check(e.key, v); err != nil {
			all = append(all, at(err, path, e.line))
			continue
		}
		out[e.key] = v
	}
	return out, errors.Join(all...)
}

func check(key, value string) error {
	s, ok := Find(key)
	if !ok {
		var names []string
		for _, s := range known {
			names = append(names, s.Key)
		}
		return errs.New("CONFIG_KEY", "key", key, "names", strings.Join(names, ", "))
	}
	if s.Values != nil && !slices.Contains(s.Values, value) {
		return errs.New("CONFIG_VALUE", "key", key, "value", value, "values", strings.Join(s.Values, ", "))
	}
	return nil
}

// Set changes one setting in dir's config.yaml and leaves all other lines, comments too, as they are.
//
// Errors: CONFIG_KEY, CONFIG_VALUE, CONFIG_UNREADABLE.
func Set(dir, key, value string) error {
	if err := check(key, value); err != nil {
		return err
	}
	path := filepath.Join(dir, "config.yaml")
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errs.Wrap(err, "CONFIG_UNREADABLE", "path", path)
	}
	line := key + ": " + value
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+":") })
	switch {
	case i >= 0:
		lines[i] = line
	case len(data) == 0:
		lines = []string{line}
	default:
		lines = append(lines, line)
	}
	err = os.MkdirAll(dir, 0o755)
	if err == nil {
		err = vfs.WriteFile(vfs.OS, path+".new", []byte(strings.Join(lines, "\n")+"\n"), 0o644)
	}
	if err == nil {
		err = vfs.OS.Rename(path+".new", path)
	}
	if err != nil {
		return errs.Wrap(err, "CONFIG_UNREADABLE", "path", path)
	}
	return nil
}

// A Keys entry of keys.yaml: an action, alone or behind its place ("queries.start-stop"), and the keys
// that ask for it; none takes its keys away.
type Keys struct {
	Action string
	Keys   []string
	Line   int
}

// Bindings are the entries of keys.yaml in dir, in file order.
//
// Errors: CONFIG_UNREADABLE.
func Bindings(dir string) ([]Keys, error) {
	entries, err := read(filepath.Join(dir, "keys.yaml"))
	if err != nil {
		return nil, err
	}
	var out []Keys
	for _, e := range entries {
		out = append(out, Keys{e.key, e.values, e.line})
	}
	return out, nil
}

type entry struct {
	key    string
	values []string
	line   int
}

// read reads a file that is one mapping of scalars and lists of scalars; a missing file is empty.
func read(path string) ([]entry, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errs.Wrap(err, "CONFIG_UNREADABLE", "path", path)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, errs.Wrap(errors.New(yaml.FormatError(err, false, false)), "CONFIG_UNREADABLE", "path", path)
	}
	var out []entry
	for _, doc := range file.Docs {
		var pairs []*ast.MappingValueNode
		switch n := doc.Body.(type) {
		case nil:
			continue
		case *ast.MappingNode:
			pairs = n.Values
		case *ast.MappingValueNode:
			pairs = []*ast.MappingValueNode{n}
		case *ast.CommentGroupNode:
			continue
		default:
			return nil, errs.Wrap(fmt.Errorf("line %d: keys with values are expected", n.GetToken().Position.Line), "CONFIG_UNREADABLE", "path", path)
		}
		for _, p := range pairs {
			e := entry{key: p.Key.GetToken().Value, line: p.Key.GetToken().Position.Line}
			switch v := p.Value.(type) {
			case *ast.SequenceNode:
				for _, x := range v.Values {
					e.values = append(e.values, x.GetToken().Value)
				}
			case *ast.NullNode:
			case ast.ScalarNode:
				e.values = []string{v.GetToken().Value}
			default:
				return nil, errs.Wrap(fmt.Errorf("line %d: %s needs one value or a list", e.line, e.key), "CONFIG_UNREADABLE", "path", path)
			}
			out = append(out, e)
		}
	}
	return out, nil
}

func at(err error, path string, line int) error {
	if e := errs.As(err); e != nil {
		return e.At(errs.Pos{File: path, Line: line, Col: 1, Length: 1})
	}
	return err
}
