package engine

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
)

// A progress is written for every micro-batch, which may take less than a third of a millisecond in all; so its JSON is
// put together by hand, which takes a tenth of what encoding/json does by looking at types. Texts of sources are escaped
// for HTML, others are not, as they have always been.

// MarshalJSON prints Spark's field order on one line.
func (p Progress) MarshalJSON() ([]byte, error) {
	j := progressJSON{b: make([]byte, 0, 1024)}
	j.text(`{"id":`, p.ID, false)
	j.text(`,"runId":`, p.RunID, false)
	if p.Name == "" {
		j.plain(`,"name":null`)
	} else {
		j.text(`,"name":`, p.Name, false)
	}
	j.plain(`,"timestamp":"`)
	j.b = p.Timestamp.UTC().AppendFormat(j.b, TimestampLayout)
	j.number(`","batchId":`, p.BatchID)
	j.number(`,"batchDuration":`, p.BatchDuration)
	j.number(`,"numInputRows":`, p.NumInputRows)
	j.rate(`,"inputRowsPerSecond":`, p.InputRate)
	j.rate(`,"processedRowsPerSecond":`, p.ProcessedRate)
	j.numbers(`,"durationMs":`, p.DurationMs)
	j.texts(`,"eventTime":`, p.EventTime, false)
	j.plain(`,"stateOperators":[`)
	for i := range p.StateOperators {
		j.operator(i, &p.StateOperators[i])
	}
	j.plain(`],"sources":[`)
	for i := range p.Sources {
		j.comma(i)
		j.source(&p.Sources[i])
	}
	j.text(`],"sink":{"description":`, p.Sink.Description, false)
	j.number(`,"numOutputRows":`, p.Sink.NumOutputRows)
	j.texts(`,"metrics":`, p.Sink.Metrics, false)
	j.plain(`}`)
	if len(p.Observed) > 0 {
		j.plain(`,"observedMetrics":`)
		for i, name := range slices.Sorted(maps.Keys(p.Observed)) {
			j.plain(string("{,"[min(i, 1)]))
			j.text("", name, false)
			j.plain(`:`)
			j.raw(p.Observed[name], false)
		}
		j.plain(`}`)
	}
	j.plain(`}`)
	return j.b, j.err
}

// MarshalJSON prints Spark's field order.
func (s SourceProgress) MarshalJSON() ([]byte, error) {
	var j progressJSON
	j.source(&s)
	return j.b, j.err
}

// progressJSON is JSON text that is being put together.
type progressJSON struct {
	b   []byte
	err error
}

func (j *progressJSON) operator(i int, o *StateOperatorProgress) {
	j.comma(i)
	j.text(`{"operatorName":`, o.OperatorName, false)
	j.number(`,"numRowsTotal":`, o.NumRowsTotal)
	j.number(`,"numRowsUpdated":`, o.NumRowsUpdated)
	j.number(`,"allUpdatesTimeMs":`, o.AllUpdatesTimeMs)
	j.number(`,"numRowsRemoved":`, o.NumRowsRemoved)
	j.number(`,"allRemovalsTimeMs":`, o.AllRemovalsTimeMs)
	j.number(`,"commitTimeMs":`, o.CommitTimeMs)
	j.number(`,"memoryUsedBytes":`, o.MemoryUsedBytes)
	j.number(`,"numRowsDroppedByWatermark":`, o.NumRowsDroppedByWatermark)
	j.number(`,"numShufflePartitions":`, o.NumShufflePartitions)
	j.number(`,"numStateStoreInstances":`, o.NumStateStoreInstances)
	j.numbers(`,"customMetrics":`, o.CustomMetrics)
	j.plain(`}`)
}

func (j *progressJSON) source(s *SourceProgress) {
	j.text(`{"description":`, s.Description, true)
	j.offset(`,"startOffset":`, s.StartOffset)
	j.offset(`,"endOffset":`, s.EndOffset)
	j.offset(`,"latestOffset":`, s.LatestOffset)
	j.number(`,"numInputRows":`, s.NumInputRows)
	j.rate(`,"inputRowsPerSecond":`, s.InputRate)
	j.rate(`,"processedRowsPerSecond":`, s.ProcessedRate)
	j.texts(`,"metrics":`, s.Metrics, true)
	j.plain(`}`)
}

func (j *progressJSON) plain(s string) { j.b = append(j.b, s...) }

func (j *progressJSON) comma(i int) {
	if i > 0 {
		j.plain(`,`)
	}
}

func (j *progressJSON) number(before string, n int64) {
	j.plain(before)
	j.b = strconv.AppendInt(j.b, n, 10)
}

// rate prints a number rounded half-up to one decimal in plain notation, as Spark 4.1 and later do; nothing if it is
// unknown.
func (j *progressJSON) rate(before string, f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return
	}
	j.plain(before)
	j.b = strconv.AppendFloat(j.b, math.Floor(f*10+0.5)/10, 'f', 1, 64)
}

// text prints a text, with html also the characters that mean something in HTML by their numbers.
func (j *progressJSON) text(before, s string, html bool) {
	j.plain(before)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || html && (c == '<' || c == '>' || c == '&') {
			j.escaped(s, html)
			return
		}
	}
	j.b = append(append(append(j.b, '"'), s...), '"')
}

func (j *progressJSON) escaped(s string, html bool) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil && j.err == nil {
		j.err = err
	}
	j.b = append(j.b, bytes.TrimRight(buf.Bytes(), "\n")...)
}

// offset prints an offset, which is JSON already unless its source is strange; "" is null.
func (j *progressJSON) offset(before, s string) {
	switch {
	case s == "":
		j.plain(before)
		j.plain(`null`)
	case json.Valid([]byte(s)):
		j.plain(before)
		j.raw([]byte(s), true)
	default:
		j.text(before, s, true)
	}
}

// raw prints JSON on one line.
func (j *progressJSON) raw(s json.RawMessage, html bool) {
	if s == nil {
		j.plain(`null`)
		return
	}
	easy := true
	for _, c := range s {
		easy = easy && c > ' ' && c <= '~' && (!html || c != '<' && c != '>' && c != '&')
	}
	if easy && html { // offset has looked at it
		j.b = append(j.b, s...)
		return
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, s); err != nil {
		if j.err == nil {
			j.err = err
		}
		return
	}
	if !html {
		j.b = append(j.b, buf.Bytes()...)
		return
	}
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, buf.Bytes())
	j.b = append(j.b, escaped.Bytes()...)
}

func (j *progressJSON) numbers(before string, m map[string]int64) {
	if len(m) == 0 {
		return
	}
	j.plain(before)
	for i, name := range slices.Sorted(maps.Keys(m)) {
		j.plain(string("{,"[min(i, 1)]))
		j.text("", name, false)
		j.number(`:`, m[name])
	}
	j.plain(`}`)
}

func (j *progressJSON) texts(before string, m map[string]string, html bool) {
	if len(m) == 0 {
		return
	}
	j.plain(before)
	for i, name := range slices.Sorted(maps.Keys(m)) {
		j.plain(string("{,"[min(i, 1)]))
		j.text("", name, html)
		j.text(`:`, m[name], html)
	}
	j.plain(`}`)
}
