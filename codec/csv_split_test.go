package codec

import (
	"math/rand/v2"
	"testing"
)

// Taking a record apart eight bytes at a time gives the fields that the byte by byte way gives, or leaves it to it.
func TestCSVRecordsApartInWords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	plain := 0
	for range 20_000 {
		d := &csvDecoder{rowsOf: rowsOf{r: &Reader{csv: csvOptions{sep: []byte{",;\xac\x00"[r.IntN(4)]}, quote: '"', escape: '\\'}}}}
		if r.IntN(4) == 0 {
			d.r.csv.quote = -1
		}
		sep := d.r.csv.sep[0]
		letters := []byte{sep, sep, 'a', 'b', ' ', '\\', sep + 1, sep ^ 0x80, sep ^ 1}
		if r.IntN(2) == 0 {
			letters = append(letters, '"')
		}
		s := make([]byte, 1+r.IntN(40))
		for i := range s {
			s[i] = letters[r.IntN(len(letters))]
		}
		if !d.splitPlain(s) {
			continue
		}
		plain++
		got := d.tokens
		d.tokens = nil
		d.split(s, 0, false)
		if len(got) != len(d.tokens) {
			t.Fatalf("%q by %q: %d fields, not %d", s, sep, len(got), len(d.tokens))
		}
		for i, x := range d.tokens {
			if string(x.text) != string(got[i].text) || x.quoted {
				t.Fatalf("%q by %q: field %d is %q, not %q", s, sep, i, got[i].text, x.text)
			}
		}
	}
	if plain < 5000 {
		t.Errorf("only %d records were plain", plain)
	}
}

// Texts that are found without hashing have the numbers that they have with it, whatever their lengths.
func TestNumbersOfTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	d := textDictionary{numbers: map[string]int32{}, offs: []int32{0}}
	for range 50_000 {
		text := make([]byte, r.IntN(19))
		for i := range text {
			text[i] = "\x00ab"[r.IntN(3)]
			if i > 2 && i < len(text)-2 {
				text[i] = 'x'
			}
		}
		n := d.number(text)
		if got := string(d.data[d.offs[n]:d.offs[n+1]]); got != string(text) || len(d.offs) != len(d.numbers)+1 {
			t.Fatalf("%q has the number of %q", text, got)
		}
	}
}
