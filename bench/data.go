// Package bench measures the engine: workloads over files that are a pure function of a row number, each
// beside a hand-written loop for the same query, the limit. Results are checked before a time is printed. The
// same workloads run on DuckDB, Spark and others in peers/, over the same bytes.
package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	golden = 0x9E3779B97F4A7C15
	baseMs = 1_700_000_000_000 // 2023-11-14T22:13:20.000Z
	users  = 1_000_000
)

var (
	eventTypes = [...]string{"view", "click", "purchase", "add_to_cart", "scroll"}
	countries  = [...]string{"DE", "US", "FR", "BR", "JP", "IN"}
)

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// random is stream s at row i.
func random(s, i uint64) uint64 { return mix(golden*(i+1) + s) }

// eventMs is the event time of row i: 3 ms a row, one row in a hundred up to 2 s late.
func eventMs(i uint64) int64 {
	late := int64(0)
	if random(4, i)%100 == 0 {
		late = int64(random(5, i) % 2000)
	}
	return baseMs + 3*int64(i) - late
}

func appendEvent(b []byte, i uint64) []byte {
	b = append(b, `{"event_id":`...)
	b = strconv.AppendUint(b, i, 10)
	b = append(b, `,"user_id":`...)
	b = strconv.AppendUint(b, random(1, i)%users, 10)
	b = append(b, `,"event_type":"`...)
	b = append(b, eventTypes[random(2, i)%5]...)
	b = append(b, `","price":`...)
	cents := random(3, i) % 100_000
	b = strconv.AppendUint(b, cents/100, 10)
	b = append(b, '.', byte('0'+cents/10%10), byte('0'+cents%10))
	b = append(b, `,"ts":"`...)
	b = time.UnixMilli(eventMs(i)).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, `","country":"`...)
	b = append(b, countries[random(6, i)%6]...)
	b = append(b, `","ok":`...)
	b = strconv.AppendBool(b, random(7, i)&1 == 1)
	return append(b, "}\n"...)
}

// Generate writes the JSON sets of the events workloads below dir: large and small files, and a drip of files
// of 1 and of 1,000 rows. A set that is there with the right number of files is left alone.
func Generate(dir string, rows, dripFiles int, say func(string)) error {
	sets := []struct {
		path       string
		cut, total int
	}{
		{"events/json-large", min(1_000_000, (rows+1)/2), rows},
		{"events/json-small", min(200_000, (rows+9)/10), rows},
		{"drip/json-1", 1, dripFiles},
		{"drip/json-1000", 1000, dripFiles * 1000},
	}
	for _, s := range sets {
		folder := filepath.Join(dir, s.path)
		files := (s.total + s.cut - 1) / s.cut
		if have, _ := filepath.Glob(filepath.Join(folder, "part-*.json")); len(have) == files {
			say(fmt.Sprintf("%s: %d files are there", s.path, files))
			continue
		}
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		for f := range files {
			path := filepath.Join(folder, fmt.Sprintf("part-%05d.json", f))
			if err := writeEvents(path, uint64(f*s.cut), uint64(min((f+1)*s.cut, s.total))); err != nil {
				return err
			}
			t := time.Unix(baseMs/1000+int64(f), 0)
			if err := os.Chtimes(path, t, t); err != nil {
				return err
			}
		}
		say(fmt.Sprintf("%s: %d rows, %d files", s.path, s.total, files))
	}
	return nil
}

func writeEvents(path string, from, to uint64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var b []byte
	for i := from; i < to; i++ {
		b = appendEvent(b[:0], i)
		if _, err := w.Write(b); err != nil {
			f.Close()
			return err
		}
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
