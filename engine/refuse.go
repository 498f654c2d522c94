package engine

import (
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sql/plan"
)

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
