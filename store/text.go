package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
)

// Text is the entry in the form of Spark's offset log, version 1.
func (o OffsetEntry) Text() string {
	var b bytes.Buffer
	b.WriteString("v1\n")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	conf := o.Conf
	if conf == nil {
		conf = map[string]string{}
	}
	err := enc.Encode(struct {
		Watermark int64             `json:"batchWatermarkMs"`
		Timestamp int64             `json:"batchTimestampMs"`
		Conf      map[string]string `json:"conf"`
	}{o.BatchWatermarkMs, o.BatchTimestampMs, conf})
	if err != nil {
		return err.Error()
	}
	text := string(bytes.TrimRight(b.Bytes(), "\n"))
	for _, x := range o.Offsets {
		if x == "" {
			x = "-"
		}
		text += "\n" + x
	}
	return text
}

// Text is the entry in the form of Spark's commit log, version 1.
func (c CommitEntry) Text() string {
	return fmt.Sprintf("v1\n{\"nextBatchWatermarkMs\":%d}", c.NextBatchWatermarkMs)
}

// Files yields the records under the names and in the texts of Spark's checkpoint folder: metadata,
// offsets/N, commits/N of the retained batches, and the logs of the first sources, which are numbered from 0.
// Offsets of a batch that is pending come too.
func (c *Checkpoint) Files(sources int) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if !yield("metadata", `{"id":"`+c.ID()+`"}`) {
			return
		}
		for e, err := range c.History() {
			if err != nil || e.Batch < c.planned-c.retain { // records that a later batch takes away
				break
			}
			batch := e.Batch + e.Offsets.Skipped()
			if !yield(fmt.Sprintf("offsets/%d", batch), e.Offsets.Text()) {
				return
			}
			if e.Commit != nil && !yield(fmt.Sprintf("commits/%d", batch), e.Commit.Text()) {
				return
			}
		}
		for k := range sources {
			for n, entry := range c.SourceLog(k).From(0) {
				if !yield(fmt.Sprintf("sources/%d/%d", k, n), string(entry)) {
					return
				}
			}
		}
	}
}
