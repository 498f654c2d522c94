package delta

import (
	"bytes"
	"encoding/json"
)

// Stats is what the log knows of a data file's rows. Texts of bounds are raw JSON by physical column path.
type Stats struct {
	NumRecords int64
	HasRecords bool
	Min, Max   map[string]json.RawMessage // physical names; nested columns joined by a NUL
	Nulls      map[string]int64
	Tight      bool
}

// Stats parses the statistics of a file; nil if there are none that can be read.
func (a *Add) stats() *Stats {
	if a.parsed != nil {
		return a.parsed
	}
	return parseStats(a.Stats)
}

func parseStats(text string) *Stats {
	if text == "" {
		return nil
	}
	var raw struct {
		NumRecords *json.Number    `json:"numRecords"`
		Min        json.RawMessage `json:"minValues"`
		Max        json.RawMessage `json:"maxValues"`
		Nulls      json.RawMessage `json:"nullCount"`
		Tight      *bool           `json:"tightBounds"`
	}
	if json.Unmarshal([]byte(text), &raw) != nil {
		return nil // malformed statistics never fail a read
	}
	s := &Stats{Min: map[string]json.RawMessage{}, Max: map[string]json.RawMessage{}, Nulls: map[string]int64{}, Tight: raw.Tight == nil || *raw.Tight}
	if raw.NumRecords != nil {
		n, err := raw.NumRecords.Int64()
		s.NumRecords, s.HasRecords = n, err == nil && n >= 0
	}
	flattenStats("", raw.Min, func(k string, v json.RawMessage) { s.Min[k] = v })
	flattenStats("", raw.Max, func(k string, v json.RawMessage) { s.Max[k] = v })
	flattenStats("", raw.Nulls, func(k string, v json.RawMessage) {
		var n int64
		if json.Unmarshal(v, &n) == nil {
			s.Nulls[k] = n
		}
	})
	return s
}

func flattenStats(prefix string, raw json.RawMessage, f func(string, json.RawMessage)) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	for k, v := range m {
		if prefix != "" {
			k = prefix + "\x00" + k
		}
		if len(v) > 0 && v[0] == '{' {
			flattenStats(k, v, f)
			continue
		}
		f(k, v)
	}
}

// NumRecords is the number of physical rows in the file; ok is false if it is not known.
func (a *Add) NumRecords() (n int64, ok bool) {
	s := a.stats()
	if s == nil || !s.HasRecords {
		return 0, false
	}
	return s.NumRecords, true
}

// LiveRecords is NumRecords less the deleted rows.
func (a *Add) LiveRecords() (n int64, ok bool) {
	n, ok = a.NumRecords()
	if ok && a.DV != nil {
		n -= a.DV.Cardinality
	}
	return n, ok
}
