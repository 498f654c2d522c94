package bench

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"streamlab/columnar"
	"streamlab/internal/safego"
	"streamlab/sql/types"
)

// The limits know the bytes: fields in fixed order, no spaces, no escapes. They read each file as one batch
// with one goroutine per core, keep groups in the best structure for the query, give out after each batch what
// the query would, and persist nothing.

// A loop runs a query over the files of its views, and gives the number of rows read. There is an output for each
// worker.
type loop func(files [][]string, outs []output) (int64, error)

// event is a row as a limit sees it.
type event struct {
	id, user      int64
	kind, country []byte
	price         float64
	ts            []byte
	ok            bool
}

// eachLine calls fold(worker, rest of the part) for every line of a file, chunks of it on different workers; fold
// returns what follows the line.
func eachLine(file string, workers int, fold func(w int, b []byte) []byte) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var rows atomic.Int64
	if len(data) < 1<<16 {
		n := int64(0)
		for len(data) > 0 {
			data = fold(0, data)
			n++
		}
		return n, nil
	}
	from := 0
	err = parallel(workers, func(w int) func() error {
		to := len(data) * (w + 1) / workers
		if to < len(data) {
			to += bytes.IndexByte(data[to:], '\n') + 1
		}
		part := data[from:to]
		from = to
		return func() error {
			n := int64(0)
			for len(part) > 0 {
				part = fold(w, part)
				n++
			}
			rows.Add(n)
			return nil
		}
	})
	return rows.Load(), err
}

// parallel runs what prepare makes for each worker.
func parallel(workers int, prepare func(w int) func() error) error {
	hs := make([]*safego.Handle, workers)
	for w := range hs {
		hs[w] = safego.Go("limit", prepare(w))
	}
	for _, h := range hs {
		if err := h.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// eachEvent calls fold(worker, row) for every event of a file. Of a Parquet file the columns are read.
func eachEvent(file, columns string, workers int, fold func(w int, e *event)) (int64, error) {
	es := make([]event, workers*8) // a cache line or more apart
	if strings.HasSuffix(file, ".parquet") {
		return eachParquetEvent(file, columns, workers, func(w int, e event) {
			es[w*8] = e
			fold(w, &es[w*8])
		})
	}
	if strings.HasSuffix(file, ".csv") {
		return eachLine(file, workers, func(w int, b []byte) []byte {
			b = es[w*8].readCSV(b)
			fold(w, &es[w*8])
			return b
		})
	}
	return eachLine(file, workers, func(w int, b []byte) []byte {
		b = es[w*8].read(b)
		fold(w, &es[w*8])
		return b
	})
}

// read parses one line and returns what follows it.
func (e *event) read(b []byte) []byte {
	b = b[len(`{"event_id":`):]
	e.id, b = digits(b)
	b = b[len(`,"user_id":`):]
	e.user, b = digits(b)
	b = b[len(`,"event_type":"`):]
	i := bytes.IndexByte(b, '"')
	e.kind, b = b[:i], b[i+len(`","price":`):]
	whole, rest := digits(b)
	e.price = float64(whole*100+int64(rest[1]-'0')*10+int64(rest[2]-'0')) / 100
	b = rest[3+len(`,"ts":"`):]
	e.ts, b = b[:24], b[24+len(`","country":"`):]
	e.country = b[:2]
	b = b[2+len(`","ok":`):]
	e.ok = b[0] == 't'
	return b[bytes.IndexByte(b, '\n')+1:]
}

// readCSV parses one line of comma-separated values and returns what follows it.
func (e *event) readCSV(b []byte) []byte {
	e.id, b = digits(b)
	e.user, b = digits(b[1:])
	b = b[1:]
	i := bytes.IndexByte(b, ',')
	e.kind, b = b[:i], b[i+1:]
	whole, b := digits(b)
	e.price = float64(whole*100+int64(b[1]-'0')*10+int64(b[2]-'0')) / 100
	e.ts, b = b[4:28], b[29:]
	e.country, e.ok = b[:2], b[3] == 't'
	return b[bytes.IndexByte(b, '\n')+1:]
}

// eachParquetEvent is eachEvent of a Parquet file. Times are not read.
func eachParquetEvent(file, columns string, workers int, fold func(w int, e event)) (int64, error) {
	schema, err := types.ParseDDL(columns)
	if err != nil {
		return 0, err
	}
	at := map[string]int{"user_id": -1, "event_type": -1, "price": -1, "country": -1}
	for i, f := range schema {
		at[f.Name] = i
	}
	user, kind, price, country := at["user_id"], at["event_type"], at["price"], at["country"]
	return eachTable(file, schema, workers, func(w int, cols []*columnar.Vec, n int) {
		var e event
		for i := range n {
			if user >= 0 {
				e.user = cols[user].I64[i]
			}
			if kind >= 0 {
				e.kind = cols[kind].Bytes(i)
			}
			if price >= 0 {
				e.price = cols[price].F64[i]
			}
			if country >= 0 {
				e.country = cols[country].Bytes(i)
			}
			fold(w, e)
		}
	})
}

func digits(b []byte) (int64, []byte) {
	n := int64(0)
	for i, c := range b {
		if c < '0' || c > '9' {
			return n, b[i:]
		}
		n = n*10 + int64(c-'0')
	}
	return n, nil // nothing follows
}

// millis reads a time of the data, whose days are those of November and December 2023.
func millis(ts []byte) int64 {
	two := func(i int) int64 { return int64(ts[i]-'0')*10 + int64(ts[i+1]-'0') }
	day := two(8) - 14
	if ts[6] == '2' {
		day += 30
	}
	s := day*86_400 + two(11)*3_600 + two(14)*60 + two(17) - (22*3_600 + 13*60 + 20)
	return baseMs + s*1000 + int64(ts[20]-'0')*100 + int64(ts[21]-'0')*10 + int64(ts[22]-'0')
}

func limitW1(files [][]string, outs []output) (int64, error) {
	in := int64(0)
	purchase := []byte("purchase")
	for _, f := range files[0] {
		n, err := eachEvent(f, "", len(outs), func(w int, e *event) {
			if e.price > 100 && bytes.Equal(e.kind, purchase) {
				o := &outs[w]
				o.i64(e.id)
				o.i64(e.user)
				o.f64(e.price * 0.908)
				o.text(e.country)
				o.end()
			}
		})
		if err != nil {
			return 0, err
		}
		in += n
	}
	return in, nil
}

type fold struct {
	n      int64
	s, max float64
}

func limitW3(files [][]string, outs []output) (int64, error) {
	in := int64(0)
	parts := make([][32]fold, len(outs))
	before := make([]int64, 30)
	emit := func(changed bool) {
		for i := range 30 {
			var g fold
			for w := range parts {
				p := &parts[w][i]
				g.n += p.n
				g.s += p.s
				g.max = max(g.max, p.max)
			}
			if g.n == 0 || changed && g.n == before[i] {
				continue
			}
			before[i] = g.n
			o := &outs[0]
			o.text([]byte(countries[i%6]))
			o.text([]byte(eventTypes[i/6]))
			o.i64(g.n)
			o.f64(g.s)
			o.f64(g.max)
			o.end()
		}
	}
	for _, f := range files[0] {
		n, err := eachEvent(f, "country STRING, event_type STRING, price DOUBLE", len(outs), func(w int, e *event) {
			g := &parts[w][kindOf(e.kind)*6+countryOf(e.country)]
			g.n++
			g.s += e.price
			if e.price > g.max {
				g.max = e.price
			}
		})
		if err != nil {
			return 0, err
		}
		in += n
		if !outs[0].check {
			emit(true)
		}
	}
	if outs[0].check {
		emit(false)
	}
	return in, nil
}

func kindOf(b []byte) int {
	switch b[0] {
	case 'v':
		return 0
	case 'c':
		return 1
	case 'p':
		return 2
	case 'a':
		return 3
	}
	return 4
}

func countryOf(b []byte) int {
	switch b[0] {
	case 'D':
		return 0
	case 'U':
		return 1
	case 'F':
		return 2
	case 'B':
		return 3
	case 'J':
		return 4
	}
	return 5
}

func limitW4(files [][]string, outs []output) (int64, error) {
	type user struct {
		s float64
		n int32
		b int32 // batch that changed it last, from 1
	}
	workers := len(outs)
	in := int64(0)
	parts := make([][]user, workers)
	for w := range parts {
		parts[w] = make([]user, users)
	}
	emit := func(batch int32) error { // 0: all
		return parallel(workers, func(w int) func() error {
			return func() error {
				o := &outs[w]
				for i := users * w / workers; i < users*(w+1)/workers; i++ {
					n, s, changed := int32(0), 0.0, false
					for p := range parts {
						u := &parts[p][i]
						n, s, changed = n+u.n, s+u.s, changed || u.b == batch
					}
					if n == 0 || batch > 0 && !changed {
						continue
					}
					o.i64(int64(i))
					o.i64(int64(n))
					o.f64(s)
					o.end()
				}
				return nil
			}
		})
	}
	for b, f := range files[0] {
		n, err := eachEvent(f, "user_id BIGINT, price DOUBLE", workers, func(w int, e *event) {
			g := &parts[w][e.user]
			g.n++
			g.s += e.price
			g.b = int32(b + 1)
		})
		if err != nil {
			return 0, err
		}
		in += n
		if !outs[0].check {
			if err := emit(int32(b + 1)); err != nil {
				return 0, err
			}
		}
	}
	if outs[0].check {
		return in, emit(0)
	}
	return in, nil
}

// limitW5 keeps the keys in a table by number, as W4 does with users: as many as there can be.
func limitW5(files [][]string, outs []output) (int64, error) {
	type key struct {
		s int64
		n int32
		b int32
	}
	in := int64(0)
	all := make([]key, 10_000_000)
	var dirty []uint32
	one := func(i uint32) {
		o := &outs[0]
		o.i64(int64(i))
		o.i64(int64(all[i].n))
		o.i64(all[i].s)
		o.end()
	}
	for b, f := range files[0] {
		dirty = dirty[:0]
		n, err := eachLine(f, 1, func(_ int, line []byte) []byte {
			k, line := digits(line[len(`{"k":`):])
			v, line := digits(line[len(`,"name":"user_00000000000","v":`):])
			x := &all[k]
			if x.b != int32(b+1) {
				x.b = int32(b + 1)
				dirty = append(dirty, uint32(k))
			}
			x.n++
			x.s += v
			return line[bytes.IndexByte(line, '\n')+1:]
		})
		if err != nil {
			return 0, err
		}
		in += n
		if !outs[0].check {
			for _, i := range dirty {
				one(i)
			}
		}
	}
	for i := range all {
		if outs[0].check && all[i].n > 0 {
			one(uint32(i))
		}
	}
	return in, nil
}

// workers is how many goroutines a limit has.
func workers() int { return runtime.GOMAXPROCS(0) }
