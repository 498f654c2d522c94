package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestPicturesAreCurrent(t *testing.T) {
	for _, s := range scripts {
		got := s.play()
		d := xml.NewDecoder(bytes.NewReader(got))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s is no XML: %v", s.name, err)
			}
		}
		if n := len(got); n > 200<<10 {
			t.Errorf("%s has %d KB", s.name, n>>10)
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "docs", "pictures", s.name+".svg"))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/pictures/%s.svg is out of date (%v): go run ./cmd/shot", s.name, err)
		}
	}
}
