package engine

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type ratePlain float64

func (r ratePlain) MarshalJSON() ([]byte, error) {
	return []byte(strconv.FormatFloat(math.Floor(float64(r)*10+0.5)/10, 'f', 1, 64)), nil
}

// A report put together by hand is the one that encoding/json makes of the same fields.
func TestProgressJSONIsThatOfItsFields(t *testing.T) {
	rate := func(f float64) *ratePlain {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
		r := ratePlain(f)
		return &r
	}
	offset := func(s string) json.RawMessage {
		switch {
		case s == "":
			return json.RawMessage("null")
		case json.Valid([]byte(s)):
			return json.RawMessage(s)
		}
		b, _ := json.Marshal(s)
		return b
	}
	type source struct {
		Description  string            `json:"description"`
		Start        json.RawMessage   `json:"startOffset"`
		End          json.RawMessage   `json:"endOffset"`
		Latest       json.RawMessage   `json:"latestOffset"`
		NumInputRows int64             `json:"numInputRows"`
		Input        *ratePlain        `json:"inputRowsPerSecond,omitempty"`
		Processed    *ratePlain        `json:"processedRowsPerSecond,omitempty"`
		Metrics      map[string]string `json:"metrics,omitempty"`
	}
	plain := func(p Progress) (string, error) {
		var name *string
		if p.Name != "" {
			name = &p.Name
		}
		sources := []json.RawMessage{}
		for _, s := range p.Sources {
			raw, err := json.Marshal(source{s.Description, offset(s.StartOffset), offset(s.EndOffset), offset(s.LatestOffset), s.NumInputRows,
				rate(s.InputRate), rate(s.ProcessedRate), s.Metrics})
			if err != nil {
				return "", err
			}
			sources = append(sources, raw)
		}
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		err := enc.Encode(struct {
			ID        string                     `json:"id"`
			RunID     string                     `json:"runId"`
			Name      *string                    `json:"name"`
			Timestamp string                     `json:"timestamp"`
			BatchID   int64                      `json:"batchId"`
			Duration  int64                      `json:"batchDuration"`
			Rows      int64                      `json:"numInputRows"`
			Input     *ratePlain                 `json:"inputRowsPerSecond,omitempty"`
			Processed *ratePlain                 `json:"processedRowsPerSecond,omitempty"`
			Durations map[string]int64           `json:"durationMs,omitempty"`
			EventTime map[string]string          `json:"eventTime,omitempty"`
			State     []StateOperatorProgress    `json:"stateOperators"`
			Sources   []json.RawMessage          `json:"sources"`
			Sink      SinkProgress               `json:"sink"`
			Observed  map[string]json.RawMessage `json:"observedMetrics,omitempty"`
		}{p.ID, p.RunID, name, p.Timestamp.UTC().Format(TimestampLayout), p.BatchID, p.BatchDuration, p.NumInputRows, rate(p.InputRate),
			rate(p.ProcessedRate), p.DurationMs, p.EventTime, append([]StateOperatorProgress{}, p.StateOperators...), sources, p.Sink, p.Observed})
		return string(bytes.TrimRight(buf.Bytes(), "\n")), err
	}
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "FileStreamSource[file:/a b]", `q"\`, "<&>", "\x00\x7f\n", "ä\u2028\xff", "plain"}), rapid.String())
	number := rapid.Int64()
	times := rapid.OneOf(rapid.SampledFrom([]float64{0, 0.05, 1.25, -3.75, 1e21, math.NaN(), math.Inf(1), math.Inf(-1)}), rapid.Float64Range(-1e300, 1e300))
	offsets := rapid.OneOf(rapid.SampledFrom([]string{"", `{"logOffset":3}`, "{ \"a\" : [1, 2] }", `{"a":"<&\u2028"}`, "\"\u2028\"", "12", "x-1", "null", `{`}), rapid.String())
	texts, numbers := rapid.MapOfN(text, text, 0, 4), rapid.MapOfN(text, number, 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		p := Progress{ID: text.Draw(t, "id"), RunID: text.Draw(t, "run"), Name: text.Draw(t, "name"),
			Timestamp: time.UnixMilli(rapid.Int64Range(-1<<40, 1<<44).Draw(t, "at")), BatchID: number.Draw(t, "batch"), BatchDuration: number.Draw(t, "ms"),
			NumInputRows: number.Draw(t, "rows"), InputRate: times.Draw(t, "in"), ProcessedRate: times.Draw(t, "done"),
			DurationMs: numbers.Draw(t, "durations"), EventTime: texts.Draw(t, "times"),
			Sink: SinkProgress{text.Draw(t, "sink"), number.Draw(t, "out"), texts.Draw(t, "sinks")}}
		for range rapid.IntRange(0, 2).Draw(t, "operators") {
			n := number.Draw(t, "counter")
			p.StateOperators = append(p.StateOperators, StateOperatorProgress{text.Draw(t, "operator"), n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7,
				n + 8, n + 9, numbers.Draw(t, "custom")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "sources") {
			p.Sources = append(p.Sources, SourceProgress{text.Draw(t, "source"), offsets.Draw(t, "start"), offsets.Draw(t, "end"), offsets.Draw(t, "latest"),
				number.Draw(t, "read"), times.Draw(t, "rate"), times.Draw(t, "speed"), texts.Draw(t, "metrics")})
		}
		for _, name := range rapid.SliceOfN(text, 0, 3).Draw(t, "observed") {
			if p.Observed == nil {
				p.Observed = map[string]json.RawMessage{}
			}
			p.Observed[name] = json.RawMessage(rapid.SampledFrom([]string{`{"n":1}`, `{ "a": "<ä>" }`, "null"}).Draw(t, "metrics"))
		}
		want, err := plain(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.MarshalJSON()
		if err != nil || string(got) != want {
			t.Fatalf("%v\n%s\ninstead of\n%s", err, got, want)
		}
	})
}

func BenchmarkProgressJSON(b *testing.B) {
	p := Progress{ID: "7a", RunID: "8b", Timestamp: time.UnixMilli(1), DurationMs: map[string]int64{"addBatch": 1, "getBatch": 2, "latestOffset": 3, "queryPlanning": 0},
		StateOperators: []StateOperatorProgress{{OperatorName: "stateStoreSave"}}, Sources: []SourceProgress{{StartOffset: `{"logOffset":3}`, EndOffset: `{"logOffset":4}`}}}
	for b.Loop() {
		if _, err := p.MarshalJSON(); err != nil {
			b.Fatal(err)
		}
	}
}
