// Package errs holds the one error type that a user may see, in the form Spark users know: a named
// condition, its SQLSTATE, parameters that fill a message template, a place, a cause and a hint.
//
// Conditions live in conditions.d, one file a room of the house, embedded and merged here in the order of
// the files' names; a_states.json, first, has the SQLSTATE of every condition that Spark has. Names, SQLSTATEs and parameters of conditions that
// Spark has are Spark's; the texts are ours. An error whose condition is not in the table is a bug and
// says so in its message instead of panicking: a wrong message must never hide the failure behind it.
package errs

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// Pos is a place in a text that the user wrote. Line and Col count from 1, in characters; zero means the
// error has no place. Length is the number of characters the caret underlines, at least 1 when set.
type Pos struct {
	File   string
	Line   int
	Col    int
	Length int
}

// IsZero reports whether p names no place.
func (p Pos) IsZero() bool { return p.Line == 0 }

func (p Pos) String() string {
	if p.IsZero() {
		return p.File
	}
	if p.File == "" {
		return fmt.Sprintf("%d:%d", p.Line, p.Col)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Error is everything a user may see of a failure. It is immutable once returned; the With methods give
// changed copies, so one error may be shown by several readers at once.
type Error struct {
	Condition string            // "UNRESOLVED_COLUMN.WITH_SUGGESTION"
	SQLState  string            // "42703"
	Params    map[string]string // what fills the template; may be nil
	Pos       Pos               // zero if it has no place
	Excerpt   string            // the line of text that Pos points into; may be empty
	Hint      string            // what to do; may be empty
	Err       error             // cause; errors.Is and errors.As see through it
}

// New makes an error of a condition. params alternate names and values; a value is printed with %v.
func New(condition string, params ...any) *Error {
	e := &Error{Condition: condition}
	if len(params) > 0 {
		e.Params = make(map[string]string, len(params)/2)
		for i := 0; i+1 < len(params); i += 2 {
			e.Params[fmt.Sprint(params[i])] = fmt.Sprint(params[i+1])
		}
	}
	c, _ := lookup(condition)
	e.SQLState = c.SQLState
	if c.Hint != "" {
		e.Hint = fill(c.Hint, e.Params)
	}
	return e
}

// Wrap is New with a cause.
func Wrap(err error, condition string, params ...any) *Error {
	e := New(condition, params...)
	e.Err = err
	return e
}

// At returns a copy of e placed at p, unless e already has a place.
func (e *Error) At(p Pos) *Error {
	if !e.Pos.IsZero() {
		return e
	}
	c := *e
	c.Pos = p
	return &c
}

// WithHint returns a copy of e with another hint.
func (e *Error) WithHint(hint string) *Error {
	c := *e
	c.Hint = hint
	return &c
}

// WithExcerpt returns a copy of e that shows the line of text it points into.
func (e *Error) WithExcerpt(line string) *Error {
	c := *e
	c.Excerpt = line
	return &c
}

// Message is the filled template without condition name, place or hint.
func (e *Error) Message() string {
	c, ok := lookup(e.Condition)
	if !ok || c.Message == "" {
		var b strings.Builder
		for i, k := range sortedKeys(e.Params) {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s = %s", k, e.Params[k])
		}
		if b.Len() == 0 && e.Err != nil {
			return e.Err.Error()
		}
		return b.String()
	}
	return fill(c.Message, e.Params)
}

// Error prints "[CONDITION] message SQLSTATE: state", as Spark does, with the cause behind it.
func (e *Error) Error() string {
	var b strings.Builder
	if !e.Pos.IsZero() {
		b.WriteString(e.Pos.String())
		b.WriteString(": ")
	}
	b.WriteString("[" + e.Condition + "] " + e.Message())
	if e.SQLState != "" {
		b.WriteString(" SQLSTATE: " + e.SQLState)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error of the same condition, so that errors.Is(err, errs.New("X")) asks
// for a condition.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Condition == e.Condition
}

// As finds the outermost *Error in err's chain; nil if there is none.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Has reports whether any error in err's chain is of the condition, or of one of its sub-conditions
// ("A" has "A.B" below it).
func Has(err error, condition string) bool {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return false
		}
		if e.Condition == condition || strings.HasPrefix(e.Condition, condition+".") {
			return true
		}
		err = e.Err
	}
	return false
}

// condition is one entry of the table.
type condition struct {
	SQLState string `json:"sqlState"`
	Message  string `json:"message"` // <name> stands for a parameter
	Hint     string `json:"hint,omitempty"`
}

//go:embed conditions.d/*.json
var conditionFiles embed.FS

// conditionTexts are the files of the table, in the order of their names.
var conditionTexts = sync.OnceValue(func() (texts [][]byte) {
	files, _ := conditionFiles.ReadDir("conditions.d")
	for _, f := range files {
		data, err := conditionFiles.ReadFile("conditions.d/" + f.Name())
		if err != nil {
			panic("errs: " + f.Name() + ": " + err.Error())
		}
		texts = append(texts, data)
	}
	return texts
})

var conditions = sync.OnceValue(func() map[string]condition {
	m := map[string]condition{}
	for _, data := range conditionTexts() {
		if err := json.Unmarshal(data, &m); err != nil {
			panic("errs: " + err.Error())
		}
	}
	return m
})

// singly is how many conditions are looked for in the text of the table before all of it is taken apart, which takes four
// milliseconds: most processes start and end without an error but for the few that packages keep at hand.
const singly = 24

var looked atomic.Int32

func lookup(name string) (condition, bool) {
	if looked.Load() < singly {
		looked.Add(1)
		if c, ok := find(name); ok {
			return c, true
		}
	}
	c, ok := conditions()[name]
	return c, ok
}

// find takes one condition out of the text of the table; of several the last one counts, as in conditions. Texts in the
// table cannot be mistaken for its name, since their quotes are escaped.
func find(name string) (c condition, ok bool) {
	key := []byte(`"` + name + `":`)
	texts := conditionTexts()
	for i := len(texts) - 1; i >= 0; i-- {
		if at := bytes.LastIndex(texts[i], key); at >= 0 {
			return c, json.NewDecoder(bytes.NewReader(texts[i][at+len(key):])).Decode(&c) == nil
		}
	}
	return c, false
}

// fill replaces every <name> that params has; others stay as they are.
func fill(template string, params map[string]string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(template, '<')
		if i < 0 {
			break
		}
		j := strings.IndexByte(template[i:], '>')
		if j < 0 {
			break
		}
		b.WriteString(template[:i])
		if v, ok := params[template[i+1:i+j]]; ok {
			b.WriteString(v)
		} else {
			b.WriteString(template[i : i+j+1])
		}
		template = template[i+j+1:]
	}
	b.WriteString(template)
	return b.String()
}

func sortedKeys(m map[string]string) []string {
	ks := make([]string, 0, len(m))
	for k := range m {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	return ks
}
