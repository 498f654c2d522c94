package bench

import (
	"bytes"
	"os"
	"runtime"
	"sync/atomic"

	"streamlab/internal/safego"
)

// The limits know the bytes: fields in fixed order, no spaces, no escapes. They read each file as one batch
// with one goroutine per core, keep groups in the best structure for the query, and persist nothing.

// event is a row as a limit sees it.
type event struct {
	id, user      int64
	kind, country []byte
	price         float64
}

// eachEvent calls fold(worker, row) for every line of a file, chunks of it on different workers.
func eachEvent(file string, workers int, fold func(w int, e *event)) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var rows atomic.Int64
	if len(data) < 1<<16 {
		workers = 1
	}
	hs := make([]*safego.Handle, workers)
	from := 0
	for w := range hs {
		to := len(data) * (w + 1) / workers
		if to < len(data) {
			to += bytes.IndexByte(data[to:], '\n') + 1
		}
		part := data[from:to]
		from = to
		hs[w] = safego.Go("limit", func() error {
			var e event
			n := int64(0)
			for len(part) > 0 {
				part = e.read(part)
				fold(w, &e)
				n++
			}
			rows.Add(n)
			return nil
		})
	}
	for _, h := range hs {
		if err := h.Wait(); err != nil {
			return 0, err
		}
	}
	return rows.Load(), nil
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
	b = rest[3+len(`,"ts":"2023-11-14T22:13:20.000Z","country":"`):]
	e.country = b[:2]
	return b[bytes.IndexByte(b, '\n')+1:]
}

func digits(b []byte) (int64, []byte) {
	n := int64(0)
	for i, c := range b {
		if c < '0' || c > '9' {
			return n, b[i:]
		}
		n = n*10 + int64(c-'0')
	}
	return n, nil
}

func limitW1(files []string) (*Table, error) {
	workers := runtime.GOMAXPROCS(0)
	t := &Table{}
	parts := make([][]byte, workers)
	purchase := []byte("purchase")
	for _, f := range files {
		n, err := eachEvent(f, workers, func(w int, e *event) {
			if e.price > 100 && bytes.Equal(e.kind, purchase) {
				b := parts[w]
				b = appendInt(b, e.id)
				b = appendInt(append(b, 0x1f), e.user)
				b = appendDouble(append(b, 0x1f), e.price*0.908)
				b = append(append(b, 0x1f), e.country...)
				parts[w] = append(b, '\n')
			}
		})
		if err != nil {
			return nil, err
		}
		t.In += n
	}
	for _, p := range parts {
		for len(p) > 0 {
			i := bytes.IndexByte(p, '\n')
			t.put("", string(p[:i]))
			p = p[i+1:]
		}
	}
	return t, nil
}

type fold struct {
	n      int64
	s, max float64
}

func limitW3(files []string) (*Table, error) {
	workers := runtime.GOMAXPROCS(0)
	t := &Table{Keys: 2}
	parts := make([][30]fold, workers)
	for _, f := range files {
		n, err := eachEvent(f, workers, func(w int, e *event) {
			g := &parts[w][kindOf(e.kind)*6+countryOf(e.country)]
			g.n++
			g.s += e.price
			if e.price > g.max {
				g.max = e.price
			}
		})
		if err != nil {
			return nil, err
		}
		t.In += n
	}
	for i := range 30 {
		var g fold
		for w := range parts {
			p := &parts[w][i]
			g.n += p.n
			g.s += p.s
			g.max = max(g.max, p.max)
		}
		if g.n == 0 {
			continue
		}
		key := countries[i%6] + "\x1f" + eventTypes[i/6]
		b := appendInt(append([]byte(key), 0x1f), g.n)
		b = appendDouble(append(b, 0x1f), g.s)
		b = appendDouble(append(b, 0x1f), g.max)
		t.put(key, string(b))
	}
	return t, nil
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

func limitW4(files []string) (*Table, error) {
	workers := runtime.GOMAXPROCS(0)
	t := &Table{Keys: 1}
	parts := make([][]fold, workers)
	for w := range parts {
		parts[w] = make([]fold, users)
	}
	for _, f := range files {
		n, err := eachEvent(f, workers, func(w int, e *event) {
			g := &parts[w][e.user]
			g.n++
			g.s += e.price
		})
		if err != nil {
			return nil, err
		}
		t.In += n
	}
	for i := range users {
		var g fold
		for w := range parts {
			g.n += parts[w][i].n
			g.s += parts[w][i].s
		}
		if g.n == 0 {
			continue
		}
		b := appendInt(nil, int64(i))
		key := string(b)
		b = appendInt(append(b, 0x1f), g.n)
		t.put(key, string(appendDouble(append(b, 0x1f), g.s)))
	}
	return t, nil
}
