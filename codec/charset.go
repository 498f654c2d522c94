package codec

import (
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"streamlab/errs"
)

// charsets are the encodings of files that JSON and CSV know, by their names in lower case. Nil is UTF-8, whose
// bytes are read as they are.
var charsets = map[string]func([]byte) []byte{
	"utf-8":      nil,
	"us-ascii":   nil,
	"iso-8859-1": fromLatin1,
	"utf-16":     fromUTF16,
	"utf-16be":   func(s []byte) []byte { return appendUTF16(nil, s, binary.BigEndian) },
	"utf-16le":   func(s []byte) []byte { return appendUTF16(nil, s, binary.LittleEndian) },
	"utf-32":     fromUTF32,
}

// charsetNames is the order in which an error names them.
var charsetNames = []string{"iso-8859-1", "us-ascii", "utf-16", "utf-16be", "utf-16le", "utf-32", "utf-8"}

// setCharset reads the option encoding. JSON in another encoding than UTF-8 needs to know the ends of its lines,
// because they are looked for before the bytes are understood, and so cannot stand behind a byte order mark.
func (r *Reader) setCharset() error {
	name := r.Settings.text("encoding", r.Settings.text("charset", ""))
	if name == "" {
		return nil
	}
	key := strings.ToLower(name)
	decode, ok := charsets[key]
	if !ok {
		return errs.New("INVALID_PARAMETER_VALUE.CHARSET", "functionName", "`"+strings.ToUpper(r.Format)+"Options`", "parameter", "`charset`",
			"charset", name, "charsets", strings.Join(charsetNames, ", "))
	}
	if r.Format == "json" && !r.Document && key != "utf-8" {
		if key == "utf-16" || key == "utf-32" {
			return invalid("encoding", name, "must name the order of its bytes unless multiLine is set")
		}
		if len(r.LineSep) == 0 {
			return invalid("lineSep", "", "must be given for the encoding "+name)
		}
	}
	r.charset = decode
	return nil
}

// Encoded says whether the files are in an encoding that is turned into UTF-8 before records are looked for, so that
// they can be read from their start only.
func (r *Reader) Encoded() bool { return r.charset != nil }

// decoded gives a file's text in UTF-8.
func (r *Reader) decoded(src io.Reader, path string) ([]byte, error) {
	s, err := io.ReadAll(io.LimitReader(src, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(s) > maxDocument {
		return nil, errs.New("RECORD_TOO_LARGE", "limit", maxDocument, "path", path)
	}
	return r.charset(s), nil
}

func fromLatin1(s []byte) []byte {
	out := make([]byte, 0, len(s)+len(s)/8)
	for _, c := range s {
		out = utf8.AppendRune(out, rune(c))
	}
	return out
}

// fromUTF16 goes by the mark at the start; without one the high byte comes first.
func fromUTF16(s []byte) []byte {
	if len(s) >= 2 && s[0] == 0xFF && s[1] == 0xFE {
		return appendUTF16(nil, s[2:], binary.LittleEndian)
	}
	if len(s) >= 2 && s[0] == 0xFE && s[1] == 0xFF {
		s = s[2:]
	}
	return appendUTF16(nil, s, binary.BigEndian)
}

// appendUTF16 turns lone halves of pairs, and half a unit at the end, into U+FFFD.
func appendUTF16(out, s []byte, order binary.ByteOrder) []byte {
	for ; len(s) >= 2; s = s[2:] {
		r := rune(order.Uint16(s))
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if len(s) >= 4 {
				low = rune(order.Uint16(s[2:]))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				s = s[2:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
	if len(s) > 0 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}

func fromUTF32(s []byte) (out []byte) {
	order := binary.ByteOrder(binary.BigEndian)
	if len(s) >= 4 && s[0] == 0xFF && s[1] == 0xFE && s[2] == 0 && s[3] == 0 {
		order, s = binary.LittleEndian, s[4:]
	} else if len(s) >= 4 && s[0] == 0 && s[1] == 0 && s[2] == 0xFE && s[3] == 0xFF {
		s = s[4:]
	}
	for ; len(s) >= 4; s = s[4:] {
		out = utf8.AppendRune(out, rune(order.Uint32(s)&0x1FFFFF))
	}
	if len(s) > 0 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}
