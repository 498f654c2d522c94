package foreach

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sinks/sinktest"
)

type recorder struct {
	log     *[]string
	skip    bool
	failing string
}

func (r recorder) Open(p int, epoch int64) (bool, error) {
	*r.log = append(*r.log, fmt.Sprintf("open %d %d", p, epoch))
	if r.failing == "open" {
		return false, errors.New("no open")
	}
	return !r.skip, nil
}

func (r recorder) Process(rb arrow.RecordBatch) error {
	*r.log = append(*r.log, fmt.Sprintf("process %d", rb.NumRows()))
	if r.failing == "process" {
		return errors.New("no process")
	}
	return nil
}

func (r recorder) Close(err error) error {
	*r.log = append(*r.log, fmt.Sprintf("close %v", err != nil))
	return nil
}

func TestWriterCalls(t *testing.T) {
	for _, c := range []struct {
		w    recorder
		want string
		err  string
	}{
		{recorder{}, "open 0 3/process 2/close false/open 1 3/close false", ""},
		{recorder{skip: true}, "open 0 3/close false/open 1 3/close false", ""},
		{recorder{failing: "open"}, "open 0 3", "FOREACH_USER_FUNCTION_ERROR"},
		{recorder{failing: "process"}, "open 0 3/process 2/close true", "FOREACH_USER_FUNCTION_ERROR"},
	} {
		var log []string
		c.w.log = &log
		err := New(func() Writer { return c.w }).AddBatch(context.Background(), sinktest.Batch(t, 3, "a INT", "{\"a\":1}\n{\"a\":2}", ""))
		if got := strings.Join(log, "/"); got != c.want || c.err == "" && err != nil || c.err != "" && !errs.Has(err, c.err) {
			t.Errorf("%s %v", got, err)
		}
	}
}

func TestBatchReadsTwice(t *testing.T) {
	n := 0
	s := Batch(func(ctx context.Context, b sinks.Batch) error {
		for range 2 {
			if err := sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error { n += int(rb.NumRows()); return nil }); err != nil {
				return err
			}
		}
		panic("later")
	})
	err := s.AddBatch(context.Background(), sinktest.Batch(t, 0, "a INT", "{\"a\":1}"))
	if n != 2 || !errs.Has(err, "FOREACH_BATCH_USER_FUNCTION_ERROR") {
		t.Error(n, err)
	}
}
