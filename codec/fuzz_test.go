package codec

import "testing"

// FuzzCSV reads any text as CSV of several types, whole and in two parts: no panic, and rows of one width.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"1,a,2020-01-01\n", "\"a\"\"b\",x\n1", "a\\,b,\"c\nd\"\r\n", ",,\n\n", "\xff,\x00", "NaN,Inf,1e400"} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, s string, cut uint8) {
		const ddl = "a INT, b STRING, c DATE, d DOUBLE"
		for _, o := range [][]string{nil, {"multiLine", "true"}, {"header", "true", "mode", "DROPMALFORMED"}, {"sep", ";", "escape", "\""}} {
			_, _ = readAll(t, settings("csv", o...), ddl, s, nil)
			if n := int64(cut); n > 0 && n < int64(len(s)) && (len(o) == 0 || o[0] != "multiLine") {
				_, _ = readAll(t, settings("csv", o...), ddl, s, nil, n)
			}
		}
	})
}
