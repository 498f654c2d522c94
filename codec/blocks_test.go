package codec

import (
	"bytes"
	"io"
	"math/rand"
	"strings"
	"testing"
)

func TestCodecsRoundTrip(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	random := make([]byte, 300_000)
	r.Read(random)
	texts := map[string][]byte{"empty": {}, "one": []byte("a"), "words": []byte(strings.Repeat("the quick brown fox\n", 60_000)),
		"equal": bytes.Repeat([]byte{'x'}, 1_000_003), "two": bytes.Repeat([]byte("ab"), 300_000), "random": random,
		"runs": bytes.Repeat([]byte("aaaabbbbbbbbbbcd"), 40)}
	for _, name := range []string{"none", "gzip", "deflate", "zstd", "bzip2", "snappy", "lz4"} {
		c, err := FindCodec(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range texts {
			var b bytes.Buffer
			w, err := c.NewWriter(&b)
			if err != nil {
				t.Fatal(err)
			}
			for from := 0; from < len(text); from += 70_001 {
				if _, err := w.Write(text[from:min(len(text), from+70_001)]); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			rd, stop, err := decompress("x"+c.Extension, &b)
			if err != nil {
				t.Fatalf("%s %s: %v", name, what, err)
			}
			got, err := io.ReadAll(rd)
			stop()
			if err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s %s: %d bytes, want %d; %v", name, what, len(got), len(text), err)
			}
		}
	}
}

func TestBrokenBlocksAreErrors(t *testing.T) {
	for _, in := range []string{"\x00", "\xff\xff\xff\xff", "\x00\x00\x00\x05\x00\x00\x00\x02ab", "\x00\x00\x00\x05\x00\x00\x00\x00"} {
		for _, ext := range []string{".snappy", ".lz4"} {
			rd, _, err := decompress("x"+ext, strings.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(rd); err == nil {
				t.Errorf("%q%s gives %q", in, ext, got)
			}
		}
	}
}
