package safe

import (
	"io"
	"sync"
	"unicode/utf8"
)

// Writer gives a writer that passes text on to w with everything replaced that a terminal would obey, as Text
// does, except that line ends and tabs stay. It is for output that goes to a terminal as it comes; what goes to
// a file or a pipe belongs to the reader and is left alone. A character that is cut between two writes waits for
// its rest. Write reports the bytes it was given as written unless w fails. Writes from several
// goroutines go through one after the other.
func Writer(w io.Writer) io.Writer { return &writer{w: w} }

type writer struct {
	mu   sync.Mutex
	w    io.Writer
	rest []byte // the beginning of a character, or a carriage return of which the next byte is not known yet
	out  []byte
}

func (s *writer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := p
	if len(s.rest) > 0 {
		text = append(s.rest, p...)
	}
	s.out, s.rest = s.out[:0], nil
	for len(text) > 0 {
		c := text[0]
		switch {
		case c == '\r' && len(text) > 1 && text[1] == '\n', c == '\n', c == '\t', c >= 0x20 && c < 0x7f:
			s.out, text = append(s.out, c), text[1:]
			continue
		case c == '\r' && len(text) == 1, !utf8.FullRune(text):
			s.rest = append([]byte(nil), text...)
			text = nil
			continue
		}
		_, n := utf8.DecodeRune(text)
		s.out, text = append(s.out, clean(string(text[:n]))...), text[n:]
	}
	if _, err := s.w.Write(s.out); err != nil {
		return 0, err
	}
	return len(p), nil
}
