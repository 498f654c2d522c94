package engine

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Progress is what one micro-batch (or one idle report) did, under the field names of Spark's
// StreamingQueryProgress. It is immutable once published. Rates are rows per second; NaN and infinities
// stand for "unknown" and are left out of the JSON.
type Progress struct {
	ID             string
	RunID          string
	Name           string // "" prints null
	Timestamp      time.Time
	BatchID        int64
	BatchDuration  int64 // ms
	NumInputRows   int64
	InputRate      float64
	ProcessedRate  float64
	DurationMs     map[string]int64
	EventTime      map[string]string // avg, max, min, watermark; nil without a watermark operator
	StateOperators []StateOperatorProgress
	Sources        []SourceProgress
	Sink           SinkProgress
	Observed       map[string]json.RawMessage // name of DataFrame.Observe → object; nil if nothing is observed
	Sent           int64                      // rows the sink was handed, whether or not it tells of them; not in the JSON
	Memory         QueryMemory                // at the end of the batch; not in the JSON, which is Spark's
	Replayed       bool                       // an earlier run had logged its offsets; not in the JSON
	trigger        time.Duration
}

// TriggerMs is the time of the whole trigger in ms, with fractions that the JSON does not show.
func (p *Progress) TriggerMs() float64 { return float64(p.trigger.Microseconds()) / 1000 }

// StateOperatorProgress is one stateful operator's part; times are in ms.
type StateOperatorProgress struct {
	OperatorName              string           `json:"operatorName"`
	NumRowsTotal              int64            `json:"numRowsTotal"`
	NumRowsUpdated            int64            `json:"numRowsUpdated"`
	AllUpdatesTimeMs          int64            `json:"allUpdatesTimeMs"`
	NumRowsRemoved            int64            `json:"numRowsRemoved"`
	AllRemovalsTimeMs         int64            `json:"allRemovalsTimeMs"`
	CommitTimeMs              int64            `json:"commitTimeMs"`
	MemoryUsedBytes           int64            `json:"memoryUsedBytes"`
	NumRowsDroppedByWatermark int64            `json:"numRowsDroppedByWatermark"`
	NumShufflePartitions      int64            `json:"numShufflePartitions"`
	NumStateStoreInstances    int64            `json:"numStateStoreInstances"`
	CustomMetrics             map[string]int64 `json:"customMetrics,omitempty"`
}

// SourceProgress is one source's part. Offsets are JSON texts; "" prints null.
type SourceProgress struct {
	Description   string
	StartOffset   string
	EndOffset     string
	LatestOffset  string
	NumInputRows  int64
	InputRate     float64
	ProcessedRate float64
	Metrics       map[string]string
}

// SinkProgress is the sink's part; NumOutputRows -1 is unknown.
type SinkProgress struct {
	Description   string            `json:"description"`
	NumOutputRows int64             `json:"numOutputRows"`
	Metrics       map[string]string `json:"metrics,omitempty"`
}

// perSecond is a number rounded half-up to one decimal in plain notation, as Spark 4.1 and later print it.
type perSecond float64

func (r perSecond) MarshalJSON() ([]byte, error) {
	return []byte(strconv.FormatFloat(math.Floor(float64(r)*10+0.5)/10, 'f', 1, 64)), nil
}

func rateOf(f float64) *perSecond {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	r := perSecond(f)
	return &r
}

func offsetJSON(s string) json.RawMessage {
	switch {
	case s == "":
		return json.RawMessage("null")
	case json.Valid([]byte(s)):
		return json.RawMessage(s)
	}
	b, _ := json.Marshal(s)
	return b
}

// MarshalJSON prints Spark's field order.
func (s SourceProgress) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Description  string            `json:"description"`
		Start        json.RawMessage   `json:"startOffset"`
		End          json.RawMessage   `json:"endOffset"`
		Latest       json.RawMessage   `json:"latestOffset"`
		NumInputRows int64             `json:"numInputRows"`
		Input        *perSecond        `json:"inputRowsPerSecond,omitempty"`
		Processed    *perSecond        `json:"processedRowsPerSecond,omitempty"`
		Metrics      map[string]string `json:"metrics,omitempty"`
	}{s.Description, offsetJSON(s.StartOffset), offsetJSON(s.EndOffset), offsetJSON(s.LatestOffset),
		s.NumInputRows, rateOf(s.InputRate), rateOf(s.ProcessedRate), s.Metrics})
}

// TimestampLayout is how progress prints times: UTC, always three digits of fraction.
const TimestampLayout = "2006-01-02T15:04:05.000Z"

// MarshalJSON prints Spark's field order on one line.
func (p Progress) MarshalJSON() ([]byte, error) {
	var name *string
	if p.Name != "" {
		name = &p.Name
	}
	ops := p.StateOperators
	if ops == nil {
		ops = []StateOperatorProgress{}
	}
	srcs := p.Sources
	if srcs == nil {
		srcs = []SourceProgress{}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		ID        string                  `json:"id"`
		RunID     string                  `json:"runId"`
		Name      *string                 `json:"name"`
		Timestamp string                  `json:"timestamp"`
		BatchID   int64                   `json:"batchId"`
		Duration  int64                   `json:"batchDuration"`
		Rows      int64                   `json:"numInputRows"`
		Input     *perSecond              `json:"inputRowsPerSecond,omitempty"`
		Processed *perSecond              `json:"processedRowsPerSecond,omitempty"`
		Durations map[string]int64        `json:"durationMs,omitempty"`
		EventTime map[string]string       `json:"eventTime,omitempty"`
		State     []StateOperatorProgress `json:"stateOperators"`
		Sources   []SourceProgress        `json:"sources"`
		Sink      SinkProgress            `json:"sink"`

		Observed map[string]json.RawMessage `json:"observedMetrics,omitempty"`
	}{p.ID, p.RunID, name, p.Timestamp.UTC().Format(TimestampLayout), p.BatchID, p.BatchDuration, p.NumInputRows,
		rateOf(p.InputRate), rateOf(p.ProcessedRate), p.DurationMs, p.EventTime, ops, srcs, p.Sink, p.Observed})
	return bytes.TrimRight(buf.Bytes(), "\n"), err
}

// Pretty prints the progress over several lines as Spark's prettyJson does: two spaces, " : ".
func (p Progress) Pretty() string {
	raw, err := p.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	var b bytes.Buffer
	prettyJSON(&b, raw)
	return b.String()
}

// prettyJSON re-prints compact JSON in the style of Spark's json4s: arrays of objects open as "[ {".
func prettyJSON(b *bytes.Buffer, raw []byte) {
	indent := 0
	nl := func() {
		b.WriteByte('\n')
		for range indent {
			b.WriteString("  ")
		}
	}
	type level struct{ array bool }
	var stack []level
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch c {
		case '{', '[':
			closing := byte('}')
			if c == '[' {
				closing = ']'
			}
			if raw[i+1] == closing {
				b.WriteByte(c)
				b.WriteByte(' ')
				b.WriteByte(closing)
				i++
				continue
			}
			b.WriteByte(c)
			stack = append(stack, level{c == '['})
			if c == '[' {
				b.WriteByte(' ')
			} else {
				indent++
				nl()
			}
		case '}':
			indent--
			nl()
			b.WriteByte(c)
			stack = stack[:len(stack)-1]
		case ']':
			b.WriteString(" ]")
			stack = stack[:len(stack)-1]
		case ',':
			b.WriteByte(c)
			if stack[len(stack)-1].array {
				b.WriteByte(' ')
			} else {
				nl()
			}
		case ':':
			b.WriteString(" : ")
		case '"':
			j := i + 1
			for raw[j] != '"' {
				if raw[j] == '\\' {
					j++
				}
				j++
			}
			b.Write(raw[i : j+1])
			i = j
		default:
			b.WriteByte(c)
		}
	}
}

// Status is Spark's StreamingQueryStatus.
type Status struct {
	Message         string `json:"message"`
	IsDataAvailable bool   `json:"isDataAvailable"`
	IsTriggerActive bool   `json:"isTriggerActive"`
}
