package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/sinks"
	"streamlab/store"
)

// runFiles runs the files of a folder one a batch, and says what each batch had in it.
func runFiles(t *testing.T, dir string, limit int, each func(id int64) error) ([]string, error) {
	t.Helper()
	s, err := NewSession(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("text").Option("maxFilesPerTrigger", 1).Load(filepath.Join(dir, "in"))
	var got []string
	q, err := df.WriteStream().Trigger(AvailableNow()).MaxBatches(limit).Option("checkpointLocation", filepath.Join(dir, "chk")).
		EachBatch(func(ctx context.Context, b sinks.Batch) error {
			if err := each(b.ID); err != nil {
				return err
			}
			n := int64(0)
			for _, p := range b.Parts {
				for rb, err := range p.Rows(ctx) {
					if err != nil {
						return err
					}
					n += rb.NumRows()
				}
			}
			got = append(got, fmt.Sprintf("%d:%d:%v", b.ID, n, b.Replay))
			return nil
		}).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got, q.AwaitTermination(t.Context())
}

// A batch that is planned with the commit of the one before survives the end of the run as one whose offsets were
// logged alone, and none is planned past the last batch that the run may have.
func TestBatchesPlannedAhead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		text := strings.Repeat("x\n", i+1)
		if err := os.WriteFile(filepath.Join(dir, "in", fmt.Sprintf("%d.txt", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fine := func(int64) error { return nil }
	got, err := runFiles(t, dir, 2, fine)
	if err != nil || fmt.Sprint(got) != "[0:1:false 1:2:false]" {
		t.Fatalf("%v %v", got, err)
	}
	look := func(pending bool, head int64) {
		t.Helper()
		c, err := store.Open(filepath.Join(dir, "chk"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, ok := c.Pending(); ok != pending {
			t.Errorf("pending is %v, want %v", ok, pending)
		}
		if h, _ := c.Head(); h != head {
			t.Errorf("head is %d, want %d", h, head)
		}
		before := int64(0)
		for n := range head + 1 {
			e, ok, err := c.Offsets(n)
			if err != nil || !ok || e.Offsets[0] != fmt.Sprintf(`{"logOffset":%d}`, n) || e.BatchTimestampMs < before {
				t.Errorf("batch %d: %v %v %v", n, e, ok, err)
			}
			before = e.BatchTimestampMs
		}
	}
	look(false, 1)
	got, err = runFiles(t, dir, 0, func(id int64) error {
		if id == 3 {
			return errors.New("no")
		}
		return nil
	})
	if err == nil || fmt.Sprint(got) != "[2:3:false]" {
		t.Fatalf("%v %v", got, err)
	}
	look(true, 2)
	got, err = runFiles(t, dir, 0, fine)
	if err != nil || fmt.Sprint(got) != "[3:4:true 4:5:false]" {
		t.Fatalf("%v %v", got, err)
	}
	look(false, 4)
}
