package store

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"
)

// BenchmarkCommit runs one-row batches: with the offsets of the next batch inside the commit record (one
// sync), and with an offset record of their own (two).
func BenchmarkCommit(b *testing.B) {
	for _, durability := range []string{"power", "process"} {
		for _, syncs := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/records=%d", durability, syncs), func(b *testing.B) {
				benchCommit(b, Options{Durability: durability}, syncs == 1, 1)
			})
		}
	}
	b.Run("power/records=1/rows=1000", func(b *testing.B) { benchCommit(b, Options{}, true, 1000) })
}

func benchCommit(b *testing.B, o Options, travel bool, rows int) {
	c, err := Open(b.TempDir(), o)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	offsets := func(n int64) OffsetEntry {
		return OffsetEntry{Offsets: []string{fmt.Sprintf(`{"events":{"0":%d}}`, n)}, BatchTimestampMs: n,
			Conf: map[string]string{"spark.sql.shuffle.partitions": "200"}}
	}
	if err := c.LogOffsets(0, offsets(0)); err != nil {
		b.Fatal(err)
	}
	took := make([]time.Duration, 0, b.N)
	n := int64(0)
	b.ResetTimer()
	for b.Loop() {
		start := time.Now()
		if _, ok := c.Pending(); !ok {
			if err := c.LogOffsets(n, offsets(n)); err != nil {
				b.Fatal(err)
			}
		}
		batch := c.Begin(n)
		seg := make(Segment, rows*20)
		binary.LittleEndian.PutUint64(seg, uint64(n))
		batch.Delta(Shard{Range: int(n % 8)}, seg)
		var next *OffsetEntry
		if travel {
			e := offsets(n + 1)
			next = &e
		}
		// What an operator with bases would do, so that the history does not grow.
		if n > 0 && n%512 == 0 {
			for r := range 8 {
				if err := batch.Base(Shard{Range: r}, 0, Segment{1}); err != nil {
					b.Fatal(err)
				}
				batch.Covered(Shard{Range: r}, n-1)
			}
		}
		if err := batch.Commit(CommitEntry{Rows: map[string]int64{"0": n}}, next); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
		n++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "batches/s")
}

// BenchmarkFloor is one synced record without anything around it: what the disk allows.
func BenchmarkFloor(b *testing.B) {
	dir := b.TempDir()
	db, err := openBadger(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	wal, err := followWAL(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer wal.close()
	value := make([]byte, 400)
	n := int64(0)
	for b.Loop() {
		if err := put(db, wal, true, version(n), []write{{batchKey(keyCommit, n), value}}, nil); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}
