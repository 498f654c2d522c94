package engine

import (
	"bytes"
	"encoding/json"
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

// TimestampLayout is how progress prints times: UTC, always three digits of fraction.
const TimestampLayout = "2006-01-02T15:04:05.000Z"

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
