package plan

import (
	"fmt"
	"strings"

	"streamlab/sql/expr"
)

// CheckContinuous says whether the continuous trigger may run the plan, which CheckStreaming has passed and
// Optimize has not seen: projections and filters over one stream, without the current time. Children are
// checked before parents. legacy says of which formats the source has no continuous form at all, as Spark's file
// sources: they are refused as an operation. Errors: _LEGACY_ERROR_TEMP_3102.
func CheckContinuous(n Node, legacy func(format string) bool) error {
	for _, k := range n.Children() {
		if err := CheckContinuous(k, legacy); err != nil {
			return err
		}
	}
	operation := ""
	switch x := n.(type) {
	case *Project, *Filter:
	case *Scan:
		switch {
		case x.Stream == nil:
			operation = "LogicalRelation"
		case legacy(x.Stream.Format):
			operation = "StreamingRelation"
		}
	case *TimeWindow:
		if x.Size != x.Slide { // a sliding window makes several rows of one
			operation = "Expand"
		}
	case *Watermark:
		operation = "EventTimeWatermark"
	case *Observe:
		operation = "CollectMetrics"
	case *Dedup:
		operation = "Deduplicate"
	case *Limit:
		operation = "LocalLimit"
	case *Aggregate:
		operation = "Aggregate"
		if len(x.Calls) == 0 {
			operation = "Distinct"
		}
	default:
		operation = strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan.")
	}
	if operation != "" {
		return refused("Continuous processing does not support " + operation + " operations.")
	}
	for _, e := range nodeExprs(n) {
		if anyExpr(e, func(x expr.Expr) bool {
			s, ok := x.(*expr.Scalar)
			return ok && s.PerBatch && s.Name != "current_timezone"
		}) {
			return refused("Continuous processing does not support current time operations.")
		}
	}
	return nil
}
