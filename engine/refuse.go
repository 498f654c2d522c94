package engine

import (
	"fmt"
	"strings"

	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sql/plan"
)

// refuse finds what Spark notices only when it plans a micro-batch, and so ends the query instead of refusing
// its start. watermark is that of the batch, in ms.
func refuse(n plan.Node, mode sinks.OutputMode, watermark int64) error {
	for _, c := range n.Children() {
		if err := refuse(c, mode, watermark); err != nil {
			return err
		}
	}
	if !n.Streaming() {
		return nil
	}
	switch x := n.(type) {
	case *plan.Join:
		if x.Left.Streaming() && x.Right.Streaming() && len(x.LeftKeys) == 0 {
			return errs.New("_LEGACY_ERROR_TEMP_1181")
		}
	case *plan.Aggregate:
		if x.Session >= 0 && len(x.Keys) == 1 {
			return errs.New("_LEGACY_ERROR_TEMP_3068")
		}
		var times []string
		for _, f := range x.Out[:len(x.Keys)] {
			if f.DelayMicros > 0 {
				times = append(times, fmt.Sprintf("%s-T%dms", f.Name, (f.DelayMicros-1)/1000))
			}
		}
		if len(times) > 1 {
			return errs.New("_LEGACY_ERROR_TEMP_3077", "eventTimeCols", "("+strings.Join(times, ",")+")")
		}
		if len(times) == 0 && mode == sinks.Append {
			return errs.New("UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK", "outputMode", "Append", "statefulOperator", "aggregations")
		}
	case *plan.Watermark:
		if watermark > 0 && hasWatermark(x.Child) {
			return errs.New("_LEGACY_ERROR_TEMP_3076", "config", "spark.sql.streaming.statefulOperator.allowMultiple")
		}
	}
	return nil
}

func hasWatermark(n plan.Node) bool {
	if _, ok := n.(*plan.Watermark); ok {
		return true
	}
	for _, c := range n.Children() {
		if hasWatermark(c) {
			return true
		}
	}
	return false
}

// refuseTrigger says why a continuous or real-time trigger cannot run this query: Spark's reasons first, then
// that these triggers are not built.
func (p *prepared) refuseTrigger() error {
	t := p.w.trigger
	switch t.kind {
	case continuous:
		if p.w.sink != nil {
			return errs.New("_LEGACY_ERROR_TEMP_1195", "source", "foreachBatch")
		}
		if err := refuseContinuous(p.w.d.node); err != nil {
			return err
		}
		return errs.New("UNSUPPORTED_FEATURE", "feature", "The trigger `continuous`")
	case realTime:
		if least := int64(5000); t.every.Milliseconds() < least {
			return errs.New("INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL", "interval", t.every.Milliseconds(), "minBatchDuration", least)
		}
		if p.mode != sinks.Update {
			return errs.New("STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED", "outputMode", p.mode.String())
		}
		return errs.New("UNSUPPORTED_FEATURE", "feature", "The trigger `realTime`")
	}
	return nil
}

func refuseContinuous(n plan.Node) error {
	operation := ""
	switch x := n.(type) {
	case *plan.Scan:
		if x.Stream == nil {
			break
		}
		switch x.Stream.Format {
		case "text", "json", "csv", "parquet":
			operation = "StreamingRelation"
		case "rate-micro-batch", "memory":
			return errs.New("_LEGACY_ERROR_TEMP_2253", "sourceName", x.Stream.Format)
		}
	case *plan.Aggregate:
		operation = "Aggregate"
	case *plan.Dedup:
		operation = "Deduplicate"
	case *plan.Join:
		operation = "Join"
	case *plan.Sort:
		operation = "Sort"
	case *plan.Limit:
		operation = "GlobalLimit"
	case *plan.Union:
		operation = "Union"
	}
	if operation != "" {
		return errs.New("_LEGACY_ERROR_TEMP_3102", "msg", "Continuous processing does not support "+operation+" operations.")
	}
	for _, c := range n.Children() {
		if err := refuseContinuous(c); err != nil {
			return err
		}
	}
	return nil
}
