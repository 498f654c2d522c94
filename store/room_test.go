package store

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"streamlab/errs"
)

// A disk that is nearly full ends the batch with a named error before anything is written; with room again
// the checkpoint is what it was.
func TestAFullDiskIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	dir := t.TempDir()
	c, err := Open(dir, Options{Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LogOffsets(0, OffsetEntry{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Begin(0).Commit(CommitEntry{}, nil); err != nil {
		t.Fatal(err)
	}
	room := int64(roomOpen)
	c.free = func(string) (int64, bool) { return room, true }
	if err := c.LogOffsets(1, OffsetEntry{}); !errs.Has(err, "DISK_FULL") || !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("with %d bytes left: %v, want DISK_FULL", room, err)
	}
	room = 1 << 40 // too late: what was to be written is lost, and the checkpoint says so until it is opened again
	if err := c.LogOffsets(1, OffsetEntry{}); !errs.Has(err, "DISK_FULL") {
		t.Fatalf("after a failed write: %v, want DISK_FULL", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err = Open(dir, Options{Durability: "process"}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if head, ok := c.Head(); head != 0 || !ok {
		t.Fatalf("head %d, %v after the disk was full, want 0", head, ok)
	}
	if err := c.LogOffsets(1, OffsetEntry{}); err != nil {
		t.Fatal(err)
	}
}

// What has been written must have room once more, for the tables that closing writes.
func TestTheRoomThatIsAskedForGrowsWithWhatIsWritten(t *testing.T) {
	c, err := Open(t.TempDir(), Options{Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.free = func(string) (int64, bool) { return roomOpen + 100_000, true }
	small := []write{{metaKey("a"), make([]byte, 10_000)}}
	asked := 0
	for err = c.roomToWrite(small); err == nil; err = c.roomToWrite(small) {
		if asked++; asked > 20 {
			t.Fatal("200 KB were let onto a disk with room for 100 KB")
		}
	}
	if asked < 3 || !errs.Has(err, "DISK_FULL") {
		t.Fatalf("after %d writes of 10 KB: %v", asked, err)
	}
}

// Closing needs room as well. Without it the checkpoint is left as a crash would leave it, and opening it
// again in the same program closes it first.
func TestACheckpointThatCannotBeClosedIsLeftWhole(t *testing.T) {
	dir := t.TempDir()
	c, err := Open(dir, Options{Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LogOffsets(0, OffsetEntry{}); err != nil {
		t.Fatal(err)
	}
	room := int64(0)
	c.free = func(string) (int64, bool) { return room, true }
	if err := c.Close(); !errs.Has(err, "DISK_FULL") {
		t.Fatalf("Close without room: %v, want DISK_FULL", err)
	}
	if _, err := Open(dir, Options{Durability: "process"}); !errs.Has(err, "DISK_FULL") {
		t.Fatalf("Open without room: %v, want DISK_FULL", err)
	}
	crashed, err := Open(copyDir(t, dir), Options{Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	defer crashed.Close()
	room = 1 << 40
	again, err := Open(dir, Options{Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for _, c := range []*Checkpoint{crashed, again} {
		if _, pending := c.Pending(); !pending {
			t.Error("the offsets of batch 0 are lost")
		}
	}
}
