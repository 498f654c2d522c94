package bench

import (
	"bytes"
	"sync/atomic"
)

// limitWindows is W6 and W7: count and mean per sliding window and key, by panes as long as the slide. A window is
// given out when the watermark has passed its end.
func limitWindows(size, slide, late int64, keys int, keyOf func(e *event) int, put func(o *output, key int)) loop {
	type cell struct {
		n int64
		s float64
	}
	return func(files [][]string, outs []output) (int64, error) {
		const origin = baseMs / 1000 / 60 * 60_000 // a multiple of all slides
		workers := len(outs)
		in := int64(0)
		parts := make([][]cell, workers) // pane by pane
		top := make([]int64, 8*workers)  // greatest time seen
		next := int64(-1)                // first pane whose window is still open; windows are named by their last pane
		emit := func() error {
			mark := int64(0)
			for w := range workers {
				mark = max(mark, top[w*8])
			}
			from, to := next, (mark-late-origin)/slide // windows that end at or before the mark
			if next < 0 {
				from = 0
			}
			next = to
			n := size / slide
			return parallel(workers, func(w int) func() error {
				return func() error {
					o := &outs[w]
					for k := keys * w / workers; k < keys*(w+1)/workers; k++ {
						for last := from; last < to; last++ {
							var c cell
							for p := max(0, last-n+1); p <= last; p++ {
								for q := range parts {
									if at := p*int64(keys) + int64(k); at < int64(len(parts[q])) {
										c.n, c.s = c.n+parts[q][at].n, c.s+parts[q][at].s
									}
								}
							}
							if c.n > 0 {
								o.i64((origin + (last+1)*slide - size) * 1000)
								put(o, k)
								o.i64(c.n)
								o.f64(c.s / float64(c.n))
								o.end()
							}
						}
					}
					return nil
				}
			})
		}
		for _, f := range files[0] {
			n, err := eachEvent(f, "", workers, func(w int, e *event) {
				t := millis(e.ts)
				top[w*8] = max(top[w*8], t)
				at := int((t-origin)/slide)*keys + keyOf(e)
				if at >= len(parts[w]) {
					parts[w] = append(parts[w], make([]cell, at+1-len(parts[w])+64*keys)...)
				}
				parts[w][at].n++
				parts[w][at].s += e.price
			})
			if err != nil {
				return 0, err
			}
			in += n
			if err := emit(); err != nil {
				return 0, err
			}
		}
		return in, nil
	}
}

func limitW6() loop {
	return limitWindows(10_000, 10_000, 5_000, 6, func(e *event) int { return countryOf(e.country) },
		func(o *output, k int) { o.text([]byte(countries[k])) })
}

func limitW7() loop {
	return limitWindows(10_000, 2_000, 5_000, 1000, func(e *event) int { return int(e.user % 1000) },
		func(o *output, k int) { o.i64(int64(k)) })
}

// limitW8 keeps a bit per id: ids are dense. No copy is late, nor later than the watermark's delay.
func limitW8(files [][]string, outs []output) (int64, error) {
	seen := make([]atomic.Uint64, 1<<20)
	in := int64(0)
	for _, f := range files[0] {
		n, err := eachEvent(f, "", len(outs), func(w int, e *event) {
			bit := uint64(1) << (e.id & 63)
			if seen[e.id>>6].Or(bit)&bit != 0 {
				return
			}
			outs[w].event(e)
		})
		if err != nil {
			return 0, err
		}
		in += n
	}
	return in, nil
}

// limitW9 keeps impressions by number, which is dense, and clicks that came before their impression. Both inputs
// are in order of time, so no row is late, and a click is within ten minutes by construction.
func limitW9(files [][]string, outs []output) (int64, error) { return limitAds(files, outs, false) }

// limitW9left gives out the impressions too that nobody can click on in time any more.
func limitW9left(files [][]string, outs []output) (int64, error) { return limitAds(files, outs, true) }

func limitAds(files [][]string, outs []output, left bool) (int64, error) {
	type ad struct {
		ms int64 // 0: not there
		id int64
	}
	clicked := make([]atomic.Uint64, 1<<16)
	top := make([][2]int64, 8*len(outs)) // greatest times seen, of impressions and clicks
	type click struct{ imp, ms int64 }
	imps := make([]ad, 1<<22)
	waiting := make([][]click, len(outs))
	in := int64(0)
	join := func(o *output, c click) {
		a := &imps[c.imp]
		if left {
			clicked[c.imp>>6].Or(1 << (c.imp & 63))
		}
		o.i64(c.imp)
		o.i64(a.id)
		o.i64(a.ms * 1000)
		o.i64(c.ms * 1000)
		o.end()
	}
	for b := range max(len(files[0]), len(files[1])) {
		if b < len(files[0]) {
			n, err := eachLine(files[0][b], len(outs), func(w int, b []byte) []byte {
				imp, b := digits(b[len(`{"imp_id":`):])
				id, b := digits(b[len(`,"ad_id":`):])
				b = b[len(`,"ts":"`):]
				imps[imp] = ad{millis(b[:24]), id}
				top[w*8][0] = max(top[w*8][0], imps[imp].ms)
				return b[bytes.IndexByte(b, '\n')+1:]
			})
			if err != nil {
				return 0, err
			}
			in += n
		}
		for w := range waiting {
			kept := waiting[w][:0]
			for _, c := range waiting[w] {
				if imps[c.imp].ms == 0 {
					kept = append(kept, c)
				} else {
					join(&outs[w], c)
				}
			}
			waiting[w] = kept
		}
		if b < len(files[1]) {
			n, err := eachLine(files[1][b], len(outs), func(w int, b []byte) []byte {
				imp, b := digits(b[len(`{"imp_id":`):])
				b = b[len(`,"ts":"`):]
				c := click{imp, millis(b[:24])}
				top[w*8][1] = max(top[w*8][1], c.ms)
				if imps[imp].ms == 0 {
					waiting[w] = append(waiting[w], c)
				} else {
					join(&outs[w], c)
				}
				return b[bytes.IndexByte(b, '\n')+1:]
			})
			if err != nil {
				return 0, err
			}
			in += n
		}
	}
	if left {
		var seen [2]int64
		for w := range outs {
			seen[0], seen[1] = max(seen[0], top[w*8][0]), max(seen[1], top[w*8][1])
		}
		until := min(seen[0], seen[1]) - 10_000 - 600_000 // the watermark has passed the last time of a click
		for i := range imps {
			if a := &imps[i]; a.ms != 0 && a.ms < until && clicked[i>>6].Load()>>(i&63)&1 == 0 {
				o := &outs[0]
				o.i64(int64(i))
				o.i64(a.id)
				o.i64(a.ms * 1000)
				o.null()
				o.end()
			}
		}
	}
	return in, nil
}

// event gives out every column of an event as one row.
func (o *output) event(e *event) {
	o.i64(e.id)
	o.i64(e.user)
	o.text(e.kind)
	o.f64(e.price)
	o.i64(millis(e.ts) * 1000)
	o.text(e.country)
	o.bool(e.ok)
	o.end()
}
