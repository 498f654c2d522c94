package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// A scenario file as it stands: ordered maps, because sources and views apply in order.
type doc = yaml.MapSlice

// readScenario loads a scenario and its answer.
func readScenario(path string) (doc, map[string]any, error) {
	s, err := readDocument(path)
	if err != nil {
		return nil, nil, err
	}
	golden, err := os.ReadFile(strings.TrimSuffix(path, ".yaml") + ".golden.json")
	if err != nil {
		return nil, nil, err
	}
	var g map[string]any
	dec := json.NewDecoder(bytes.NewReader(golden))
	dec.UseNumber()
	return s, g, dec.Decode(&g)
}

func readDocument(path string) (doc, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var s doc
	return s, yaml.UnmarshalWithOptions(raw, &s, yaml.UseOrderedMap())
}

func get(m any, key string) any {
	v, _ := lookup(m, key)
	return v
}

// lookup tells a key that is null from one that is not there.
func lookup(m any, key string) (any, bool) {
	for _, e := range asMap(m) {
		if fmt.Sprint(e.Key) == key {
			return e.Value, true
		}
	}
	return nil, false
}

func has(m any, key string) bool {
	_, ok := lookup(m, key)
	return ok
}

func asMap(v any) doc {
	m, _ := v.(doc)
	return m
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

// str is a value as Python's str gives it: settings and options of the recordings went through that.
func str(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case bool:
		if x {
			return "True"
		}
		return "False"
	}
	return fmt.Sprint(v)
}

func texts(v any) (out []string) {
	for _, x := range asList(v) {
		out = append(out, str(x))
	}
	return
}

// whole is an integer of a scenario, or otherwise if there is none.
func whole(v any, otherwise int64) int64 {
	switch x := v.(type) {
	case int:
		return int64(x)
	case int64:
		return x
	case uint64:
		return int64(x)
	case float64:
		return int64(x)
	}
	return otherwise
}
