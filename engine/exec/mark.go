package exec

// inMark computes the watermark that reaches an operator from the query's watermark: both are in
// microseconds. Stream joins may hold it back; without a watermark below there is none.
type inMark struct {
	has   bool
	apply func(w int64) int64 // nil: unchanged
}

// at is never negative; 0 stands for none.
func (m inMark) at(w int64) int64 {
	if !m.has || w <= 0 {
		return 0
	}
	if m.apply != nil {
		w = m.apply(w)
	}
	return max(w, 0)
}

// lowest combines the inputs of an operator with several children.
func lowest(ms ...inMark) inMark {
	var with []inMark
	for _, m := range ms {
		if m.has {
			with = append(with, m)
		}
	}
	switch len(with) {
	case 0:
		return inMark{}
	case 1:
		return with[0]
	}
	return inMark{has: true, apply: func(w int64) int64 {
		low := with[0].at(w)
		for _, m := range with[1:] {
			low = min(low, m.at(w))
		}
		return low
	}}
}
