package engine

import (
	"bytes"
	"encoding/json"
)

// JSON is a listener event in the form of Spark's event classes, on one line; nil for a notice, which Spark
// does not have.
func (e Event) JSON() []byte {
	var name, exception, condition *string
	if e.Name != "" {
		name = &e.Name
	}
	if e.Exception != "" {
		exception = &e.Exception
	}
	if e.Condition != "" {
		condition = &e.Condition
	}
	at := e.Time.UTC().Format(TimestampLayout)
	var v any
	switch e.Kind {
	case QueryStarted:
		v = struct {
			ID        string   `json:"id"`
			RunID     string   `json:"runId"`
			Name      *string  `json:"name"`
			Timestamp string   `json:"timestamp"`
			Tags      []string `json:"jobTags"`
		}{e.ID, e.RunID, name, at, []string{}}
	case QueryProgress:
		v = struct {
			Progress *Progress `json:"progress"`
		}{e.Progress}
	case QueryIdle:
		v = struct {
			ID        string `json:"id"`
			RunID     string `json:"runId"`
			Timestamp string `json:"timestamp"`
		}{e.ID, e.RunID, at}
	case QueryTerminated:
		v = struct {
			ID        string  `json:"id"`
			RunID     string  `json:"runId"`
			Exception *string `json:"exception"`
			Condition *string `json:"errorClassOnException"`
		}{e.ID, e.RunID, exception, condition}
	default:
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
