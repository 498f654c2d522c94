package engine

// watermarkTracker turns the event times that watermark operators saw into the global watermark
// (Spark's WatermarkTracker). Values are epoch milliseconds; 0 is none yet. It belongs to the driver.
type watermarkTracker struct {
	global int64
	useMax bool           // spark.sql.streaming.multipleWatermarkPolicy
	values []operatorMark // per watermark operator, in plan order
}

type operatorMark struct {
	value int64
	set   bool
}

func newWatermarkTracker(operators int, start int64, useMax bool) *watermarkTracker {
	return &watermarkTracker{global: start, useMax: useMax, values: make([]operatorMark, operators)}
}

// observe takes the greatest event time, in ms, that operator op saw in the batch, and its delay.
func (w *watermarkTracker) observe(op int, maxMs, delayMs int64) {
	if v := maxMs - delayMs; !w.values[op].set || v > w.values[op].value {
		w.values[op] = operatorMark{v, true}
	}
}

// advance combines the operators' values at the end of a batch. The watermark never goes back; an operator
// that has seen nothing in this run counts as 0.
func (w *watermarkTracker) advance() int64 {
	if len(w.values) == 0 {
		return w.global
	}
	g := w.values[0].value
	for _, v := range w.values[1:] {
		if w.useMax {
			g = max(g, v.value)
		} else {
			g = min(g, v.value)
		}
	}
	w.global = max(w.global, g)
	return w.global
}
