package columnar

import (
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"testing"

	"streamlab/sql/types"
)

func textsOf(words []string) *Vec {
	v := &Vec{Type: types.Of(types.String), Phys: PBytes, Len: len(words), Off: []int32{0}}
	for _, w := range words {
		v.Data = append(v.Data, w...)
		v.Off = append(v.Off, int32(len(v.Data)))
	}
	return v
}

// TestDictionaryNumbersTexts numbers vectors of texts of all lengths: within one dictionary a number stands for one
// text, also seen through parts of a vector and by several goroutines at once, and texts of one number are equal.
func TestDictionaryNumbersTexts(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	var words []string
	for i := range 300 {
		words = append(words, strings.Repeat("ab", i%13)+fmt.Sprint(i % 7)[:i%2]+strings.Repeat("\x00", i%3))
	}
	var d Dictionary
	seen := map[uint32]string{}
	known := map[string]uint32{}
	for range 40 {
		row := make([]string, 200)
		for i := range row {
			row[i] = words[r.Intn(len(words))]
		}
		v := textsOf(row)
		d.Code(v, new(Coded))
		from := r.Intn(100)
		part := v.View(from, from+100)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, _, ok := part.Codes(); !ok {
					t.Error("no codes")
				}
			})
		}
		all.Wait()
		codes, c, ok := v.Codes()
		if some, _, same := part.Codes(); !ok || !same || &some[0] != &codes[from] {
			t.Fatal("a part has other codes")
		}
		for i, code := range codes {
			if int(code) >= c.Values {
				t.Fatalf("number %d of %d", code, c.Values)
			}
			if was, ok := seen[code]; ok && was != row[i] {
				t.Fatalf("%d is %q and %q", code, was, row[i])
			}
			if was, ok := known[row[i]]; ok && was != code {
				t.Fatalf("%q is %d and %d", row[i], was, code)
			}
			seen[code], known[row[i]] = row[i], code
		}
	}
}

// TestDictionaryGivesUp has texts that do not repeat, texts that change slowly, and nulls.
func TestDictionaryGivesUp(t *testing.T) {
	next := 0
	fresh := func(n, each int) *Vec {
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprint("word ", next/each)
			next++
		}
		return textsOf(words)
	}
	coded := func(d *Dictionary, v *Vec) (*Coded, bool) {
		d.Code(v, new(Coded))
		_, c, ok := v.Codes()
		return c, ok
	}
	var d Dictionary
	for range 3 {
		coded(&d, fresh(2000, 1))
	}
	if _, ok := coded(&d, fresh(10, 1)); ok {
		t.Error("texts that do not repeat are numbered for ever")
	}
	d = Dictionary{}
	ids := map[uint64]bool{}
	for range 3 * mostValues * timesOften / 2000 {
		c, ok := coded(&d, fresh(2000, 2*timesOften))
		if !ok {
			t.Fatal("texts that repeat are not numbered")
		}
		ids[c.Dictionary] = true
	}
	if len(ids) != 2 {
		t.Errorf("%d dictionaries, want a second one after the first was full", len(ids))
	}
	v := fresh(10, 1)
	v.MakeValid(10)
	if _, ok := coded(new(Dictionary), v); ok {
		t.Error("rows that may be null have numbers")
	}
}
