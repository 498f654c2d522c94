package codec

import (
	"testing"

	"streamlab/sql/types"
)

// Names of all lengths are told apart, also where a record ends right behind them, and in whatever order they come.
func TestPlainNamesOfAllLengths(t *testing.T) {
	long := "abcdefghijklmnopqrstuvwxyz"
	for n := 1; n <= len(long); n++ {
		name := long[:n]
		p := NewPlainJSON([]types.Field{{Name: name, Type: types.Of(types.BigInt)}})
		for at := range n { // one letter differs
			b := []byte(name)
			b[at] = '_'
			for range 2 {
				if !p.Read([]byte(`{"`+name+`":7}`)) || p.Values[0].Null || p.Values[0].I64 != 7 {
					t.Fatalf("%s: %v", name, p.Values)
				}
				if !p.Read([]byte(`{"`+string(b)+`":8}`)) || !p.Values[0].Null {
					t.Fatalf("%s for %s: %v", b, name, p.Values)
				}
				if !p.Read([]byte(`{"`+string(b)+`":8, "`+name+`":9}`)) || p.Values[0].Null || p.Values[0].I64 != 9 {
					t.Fatalf("%s behind %s: %v", name, b, p.Values)
				}
			}
		}
	}
}
