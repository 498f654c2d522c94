package bench

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
)

// A Cost is the CPU time of one part of the engine.
type Cost struct {
	Part    string // type or package, as engine/exec.(*stateAggregate)
	Seconds float64
}

// Profiled runs f with profiles in folder: cpu.pprof of one run, and heap.pprof, block.pprof and trace.out of another, since
// these cost time themselves. It gives the parts of the engine by their CPU time in the first one, and what the first gave.
func Profiled[T any](folder string, f func() (T, error)) (first T, costs []Cost, err error) {
	if err = os.MkdirAll(folder, 0o755); err != nil {
		return first, nil, err
	}
	var cpu bytes.Buffer
	if err = pprof.StartCPUProfile(&cpu); err != nil {
		return first, nil, err
	}
	first, err = f()
	pprof.StopCPUProfile()
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "cpu.pprof"), cpu.Bytes(), 0o644)
	}
	if err == nil {
		costs, err = costsOf(cpu.Bytes())
	}
	if err != nil {
		return first, nil, err
	}
	return first, costs, traced(folder, func() error { _, err := f(); return err })
}

func traced(folder string, f func() error) (err error) {
	var files []*os.File
	create := func(name string) *os.File {
		if err != nil {
			return nil
		}
		var file *os.File
		if file, err = os.Create(filepath.Join(folder, name)); err == nil {
			files = append(files, file)
		}
		return file
	}
	defer func() {
		for _, file := range files {
			if e := file.Close(); err == nil {
				err = e
			}
		}
	}()
	tr, block, heap := create("trace.out"), create("block.pprof"), create("heap.pprof")
	if err != nil {
		return err
	}
	runtime.SetBlockProfileRate(10_000) // ns: one sample for so long a wait
	defer runtime.SetBlockProfileRate(0)
	if err := trace.Start(tr); err != nil {
		return err
	}
	err = f()
	trace.Stop()
	runtime.GC() // the profile of allocations ends with the last collection
	for file, name := range map[*os.File]string{block: "block", heap: "allocs"} {
		if err == nil {
			err = pprof.Lookup(name).WriteTo(file, 0)
		}
	}
	return err
}

// costsOf reads a CPU profile: a sample belongs to the innermost method or package of the engine on its stack, and what
// has none to the runtime.
func costsOf(profile []byte) ([]Cost, error) {
	z, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	var texts []string
	names := map[uint64]uint64{}       // function → text
	functions := map[uint64][]uint64{} // location → functions, innermost first
	type sample struct {
		stack []uint64
		ns    int64
	}
	var samples []sample
	err = fields(raw, func(field int, n uint64, b []byte) error {
		switch field {
		case 2: // a sample: 1 locations, 2 values, of which the second is time
			var s sample
			var values []uint64
			err := fields(b, func(field int, n uint64, b []byte) error {
				switch field {
				case 1:
					s.stack = append(s.stack, packed(n, b)...)
				case 2:
					values = append(values, packed(n, b)...)
				}
				return nil
			})
			if len(values) > 1 {
				s.ns = int64(values[1])
			}
			samples = append(samples, s)
			return err
		case 4: // a location: 1 its number, 4 lines with 1 the function
			id, list := uint64(0), []uint64(nil)
			err := fields(b, func(field int, n uint64, b []byte) error {
				switch field {
				case 1:
					id = n
				case 4:
					return fields(b, func(field int, n uint64, _ []byte) error {
						if field == 1 {
							list = append(list, n)
						}
						return nil
					})
				}
				return nil
			})
			functions[id] = list
			return err
		case 5: // a function: 1 its number, 2 the name
			id, name := uint64(0), uint64(0)
			err := fields(b, func(field int, n uint64, _ []byte) error {
				switch field {
				case 1:
					id = n
				case 2:
					name = n
				}
				return nil
			})
			names[id] = name
			return err
		case 6:
			texts = append(texts, string(b))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sum := map[string]int64{}
	for _, s := range samples {
		sum[func() string {
			for _, l := range s.stack {
				for _, f := range functions[l] {
					if n := names[f]; n < uint64(len(texts)) {
						if part, ok := partOf(texts[n]); ok {
							return part
						}
					}
				}
			}
			return "runtime"
		}()] += s.ns
	}
	var out []Cost
	for part, ns := range sum {
		out = append(out, Cost{part, float64(ns) / 1e9})
	}
	slices.SortFunc(out, func(a, b Cost) int { return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Part, b.Part)) })
	return out, nil
}

// partOf gives the part of the engine that a function belongs to: its type if it is a method, else its package.
func partOf(function string) (part string, ok bool) {
	part, ok = strings.CutPrefix(function, "streamlab/")
	if !ok || strings.HasPrefix(part, "internal/safego") || strings.HasPrefix(part, "bench") {
		return "", false
	}
	if i := strings.IndexByte(part, '['); i >= 0 { // of a generic type
		part = part[:i]
	}
	dot := strings.IndexByte(part[strings.LastIndexByte(part, '/')+1:], '.') + strings.LastIndexByte(part, '/') + 1
	if rest := part[dot+1:]; strings.HasPrefix(rest, "(") {
		if end := strings.IndexByte(rest, ')'); end >= 0 {
			return part[:dot+1] + rest[:end+1], true
		}
	}
	return part[:dot], true
}

// fields calls each for the fields of a protocol buffer: n is a number's value, b the bytes of others.
func fields(b []byte, each func(field int, n uint64, b []byte) error) error {
	for len(b) > 0 {
		key, k := binary.Uvarint(b)
		if k <= 0 {
			return fmt.Errorf("a profile that is none: %d bytes are left", len(b))
		}
		b = b[k:]
		n, k := binary.Uvarint(b)
		if k <= 0 || key&7 == 2 && n > uint64(len(b)-k) || key&7 != 0 && key&7 != 2 {
			return fmt.Errorf("a profile that is none: field %d", key>>3)
		}
		b = b[k:]
		var part []byte
		if key&7 == 2 {
			part, b = b[:n], b[n:]
		}
		if err := each(int(key>>3), n, part); err != nil {
			return err
		}
	}
	return nil
}

// packed gives the values of a repeated number, which may come one by one or together.
func packed(n uint64, b []byte) (list []uint64) {
	if b == nil {
		return []uint64{n}
	}
	for len(b) > 0 {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			return list
		}
		list, b = append(list, v), b[k:]
	}
	return list
}
