package engine

import (
	"time"

	"streamlab/errs"
)

type triggerKind uint8

const (
	processingTime triggerKind = iota
	once
	availableNow
	continuous
	realTime
)

// Trigger says when micro-batches run. The zero value is "as fast as possible".
type Trigger struct {
	kind  triggerKind
	every time.Duration
}

// ProcessingTime runs a micro-batch at every multiple of d since the epoch; 0 is as fast as possible.
func ProcessingTime(d time.Duration) Trigger { return Trigger{every: d} }

// Once runs at most one micro-batch and ends. Deprecated in Spark: AvailableNow is the better choice.
func Once() Trigger { return Trigger{kind: once} }

// AvailableNow runs until all that was there at the start is processed, then ends.
func AvailableNow() Trigger { return Trigger{kind: availableNow} }

// Continuous reads without micro-batches: rows leave as they come, and every d an epoch is committed. For
// projections and filters of one source that can be read so.
func Continuous(d time.Duration) Trigger { return Trigger{kind: continuous, every: d} }

// RealTime delivers rows as they come in batches that last d, 0 for Spark's five minutes; the output mode is
// update, and sources and sink must be fit for it.
func RealTime(d time.Duration) Trigger {
	if d == 0 {
		d = 5 * time.Minute
	}
	return Trigger{kind: realTime, every: d}
}

// String prints the trigger as the keys of a lab file do.
func (t Trigger) String() string {
	switch t.kind {
	case once:
		return "once"
	case availableNow:
		return "availableNow"
	case continuous:
		return "continuous " + t.every.String()
	case realTime:
		return "realTime " + t.every.String()
	}
	if t.every == 0 {
		return "as fast as possible"
	}
	return "processingTime " + t.every.String()
}

// next is the boundary after now at which a processing-time trigger fires: floor(now/d)*d + d, so a trigger
// exactly on a boundary waits a full interval (ProcessingTimeExecutor.nextBatchTime).
func (t Trigger) next(now time.Time) time.Time {
	d := t.every.Milliseconds()
	if d == 0 {
		return now
	}
	ms := now.UnixMilli()
	return time.UnixMilli(ms/d*d + d)
}

// ParseTrigger reads the trigger of a lab file or flag: kind is the key as PySpark spells it.
func ParseTrigger(kind, value string) (Trigger, error) {
	switch kind {
	case "processingTime":
		d, err := ParseInterval(value)
		return ProcessingTime(d), err
	case "once", "availableNow":
		if value != "true" {
			return Trigger{}, errs.New("INVALID_PARAMETER_VALUE.TRIGGER", "trigger", kind, "value", value)
		}
		if kind == "once" {
			return Once(), nil
		}
		return AvailableNow(), nil
	case "continuous", "realTime":
		d, err := ParseInterval(value)
		if kind == "realTime" {
			if err == nil && d <= 0 {
				err = errs.New("NEGATIVE_TRIGGER_INTERVAL", "interval", value)
			}
			return Trigger{kind: realTime, every: d}, err
		}
		return Trigger{kind: continuous, every: d}, err
	}
	return Trigger{}, errs.New("INVALID_PARAMETER_VALUE.TRIGGER", "trigger", kind, "value", value)
}

// Interval is the time between two micro-batches, or of an epoch; 0 for triggers without one.
func (t Trigger) Interval() time.Duration { return t.every }
