package conformance

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"
)

const epoch2026 = 1_767_225_600

// writeRows puts one file a step into the source's folder, with modification times in the order of steps.
func (p *player) writeRows(name string, source doc, rows any, step int) error {
	folder := filepath.Join(p.work, "in", name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if files := asList(get(rows, "files")); files != nil {
		for i, f := range files {
			data, err := os.ReadFile(filepath.Join(p.data, str(f)))
			if err != nil {
				return harness("%v", err)
			}
			if err := publish(filepath.Join(folder, filepath.Base(str(f))), data, int64(epoch2026+step*10_000+i*10)); err != nil {
				return err
			}
		}
		return nil
	}
	format := str(get(source, "format"))
	if format == "" {
		format = "json"
	}
	columns := columnsOf(str(get(source, "schema")))
	var b bytes.Buffer
	for _, r := range asList(rows) {
		if format == "json" {
			b.WriteString(rowJSON(r, columns))
		} else {
			b.WriteString(str(r))
		}
		b.WriteByte('\n')
	}
	return publish(filepath.Join(folder, fmt.Sprintf("part-%04d.%s", step, format)), b.Bytes(), int64(epoch2026+step*10))
}

// columnsOf gives the column names of a DDL text.
func columnsOf(ddl string) (names []string) {
	depth, from := 0, 0
	add := func(part string) {
		f := strings.Fields(part)
		if len(f) > 0 {
			name, _, _ := strings.Cut(f[0], ":")
			names = append(names, strings.Trim(name, "`"))
		}
	}
	for i := range len(ddl) {
		switch ddl[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ',':
			if depth == 0 {
				add(ddl[from:i])
				from = i + 1
			}
		}
	}
	add(ddl[from:])
	return names
}

func publish(path string, data []byte, stamp int64) error {
	tmp := filepath.Join(filepath.Dir(filepath.Dir(path)), filepath.Base(path)+".tmp")
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	t := time.Unix(stamp, 0)
	if err := os.Chtimes(tmp, t, t); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func rowJSON(r any, columns []string) string {
	if l, ok := r.([]any); ok {
		var b strings.Builder
		b.WriteByte('{')
		for i, v := range l {
			if i >= len(columns) {
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteJSON(columns[i]) + ": " + jsonOf(v))
		}
		return b.String() + "}"
	}
	return jsonOf(r)
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)
	return strings.TrimSpace(b.String())
}

func jsonOf(v any) string {
	switch x := v.(type) {
	case doc:
		var parts []string
		for _, e := range x {
			parts = append(parts, quoteJSON(fmt.Sprint(e.Key))+": "+jsonOf(e.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range x {
			parts = append(parts, jsonOf(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return quoteJSON(x)
	case nil:
		return "null"
	case float64:
		b, err := json.Marshal(x)
		if err != nil {
			return map[string]string{"+Inf": "Infinity", "-Inf": "-Infinity", "NaN": "NaN"}[fmt.Sprint(x)]
		}
		if !bytes.ContainsAny(b, ".eE") {
			return string(b) + ".0"
		}
		return string(b)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// putFiles puts files as they are, with modification times in the order given.
func (p *player) putFiles(files doc, step int) error {
	for place, e := range files {
		target := filepath.Join(p.work, p.here(fmt.Sprint(e.Key)))
		if e.Value == nil {
			if err := os.RemoveAll(target); err != nil {
				return err
			}
			continue
		}
		content := asMap(e.Value)
		if t, ok := e.Value.(string); ok {
			content = doc{{Key: "text", Value: t}}
		}
		if get(content, "dir") == true {
			if err := os.MkdirAll(target, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		var data []byte
		var err error
		switch {
		case has(content, "copy"):
			data, err = os.ReadFile(filepath.Join(p.home, str(get(content, "copy"))))
		case has(content, "hex"):
			data, err = decodeHex(str(get(content, "hex")))
		default:
			data = []byte(p.here(str(get(content, "text"))))
		}
		if err != nil {
			return harness("%v", err)
		}
		data = bytes.Repeat(data, int(whole(get(content, "times"), 1)))
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
		t := time.Unix(epoch2026+whole(get(content, "at"), int64(step*10+place)), 0)
		if err := os.Chtimes(target, t, t); err != nil {
			return err
		}
	}
	return nil
}

// disturb does what happens to files between two runs: mtime, edit, delete.
func (p *player) disturb(step doc) error {
	for _, e := range asMap(get(step, "mtime")) {
		t, err := time.Parse(time.RFC3339Nano, strings.Replace(str(e.Value), " ", "T", 1))
		if err != nil {
			return harness("mtime %v: %v", e.Value, err)
		}
		for _, f := range p.glob(p.here(str(e.Key))) {
			if err := os.Chtimes(f, t, t); err != nil {
				return err
			}
		}
	}
	for _, e := range asMap(get(step, "edit")) {
		pair := texts(e.Value)
		if len(pair) != 2 {
			return harness("edit wants a pattern and a replacement")
		}
		re, err := regexp.Compile(pair[0])
		if err != nil {
			return harness("edit: %v", err)
		}
		for _, f := range p.glob(p.here(str(e.Key))) {
			data, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			// Python writes groups as \1
			with := regexp.MustCompile(`\\(\d)`).ReplaceAllString(strings.ReplaceAll(p.here(pair[1]), "$", "$$"), "${$1}")
			if err := os.WriteFile(f, re.ReplaceAll(data, []byte(with)), 0o644); err != nil {
				return err
			}
			_ = os.Remove(filepath.Join(filepath.Dir(f), "."+filepath.Base(f)+".crc"))
		}
	}
	for _, g := range texts(get(step, "delete")) {
		for _, f := range p.glob(p.here(g)) {
			if err := os.RemoveAll(f); err != nil {
				return err
			}
			_ = os.Remove(filepath.Join(filepath.Dir(f), "."+filepath.Base(f)+".crc"))
		}
	}
	return nil
}

// glob lists the paths below the scenario's folder that match, sorted; ** is any folders.
func (p *player) glob(pattern string) (found []string) {
	parts := strings.Split(filepath.ToSlash(pattern), "/")
	_ = filepath.WalkDir(p.work, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		rel, _ := filepath.Rel(p.work, path)
		if rel != "." && globbed(parts, strings.Split(filepath.ToSlash(rel), "/")) {
			found = append(found, path)
		}
		return nil
	})
	sort.Strings(found)
	return found
}

func globbed(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		return globbed(pattern[1:], path) || len(path) > 0 && path[0][0] != '.' && globbed(pattern, path[1:])
	case len(path) == 0 || path[0][0] == '.' && pattern[0][0] != '.':
		return false
	}
	ok, err := filepath.Match(pattern[0], path[0])
	return err == nil && ok && globbed(pattern[1:], path[1:])
}

// tree lists the files below a folder of the scenario's, UUIDs masked, checksums left out.
func (p *player) tree(folder string) (found []string) {
	_ = filepath.WalkDir(filepath.Join(p.work, folder), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".crc") {
			rel, _ := filepath.Rel(p.work, path)
			found = append(found, uuids.ReplaceAllString(strings.ReplaceAll(rel, p.work, "$WORK"), "UUID"))
		}
		return nil
	})
	sort.Strings(found)
	return found
}

var modificationTimes = regexp.MustCompile(`("modificationTime":)\d+`)

// textsOf gives names and texts of the files that match, as pairs sorted by both.
func (p *player) textsOf(patterns []string) []any {
	seen := map[string]bool{}
	var pairs [][2]string
	for _, g := range patterns {
		for _, f := range p.glob(g) {
			st, err := os.Stat(f)
			if err != nil || st.IsDir() || seen[f] {
				continue
			}
			seen[f] = true
			data, err := os.ReadFile(f)
			if err != nil {
				continue
			}
			text := modificationTimes.ReplaceAllString(uuids.ReplaceAllString(backslashed(data), "UUID"), "${1}0")
			rel, _ := filepath.Rel(p.work, f)
			pairs = append(pairs, [2]string{uuids.ReplaceAllString(rel, "UUID"), p.away(text)})
		}
	}
	sort.Slice(pairs, func(i, j int) bool {
		a, b := pairs[i], pairs[j]
		return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
	})
	out := make([]any, len(pairs))
	for i, x := range pairs {
		out[i] = []any{x[0], x[1]}
	}
	return out
}

// backslashed is text with bytes that are no UTF-8 written as \xNN.
func backslashed(data []byte) string {
	var b strings.Builder
	for len(data) > 0 {
		r := []rune(string(data[:1]))
		n := 1
		if data[0] >= 0x80 {
			for n = 2; n <= 4 && n <= len(data); n++ {
				if s := []rune(string(data[:n])); len(s) == 1 && s[0] != 0xfffd {
					r = s
					break
				}
			}
			if len(r) != 1 || r[0] == 0xfffd {
				fmt.Fprintf(&b, `\x%02x`, data[0])
				data = data[1:]
				continue
			}
		}
		b.WriteRune(r[0])
		data = data[n:]
	}
	return b.String()
}

// decodeHex reads hex digits; blanks between them do not matter.
func decodeHex(s string) ([]byte, error) {
	return hex.DecodeString(strings.Join(strings.Fields(s), ""))
}
