package bench

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"streamlab/engine"
)

// recovered is what a restart took and how many groups there were to bring back.
type recovered struct {
	seconds float64
	groups  int64
}

// recoverOwn is P4 as a peer runs it (recover in peers/engines): W5 over all of its files but the last, and after the
// end of that query the time from the start of a new one to its commit of the last file.
func recoverOwn(ctx context.Context, data, scratch string) (out recovered, err error) {
	const filesPerBatch = 100 // as the peers have
	w, err := Find("W5")
	if err != nil {
		return out, err
	}
	files, err := w.files(data, w.Variants[0])
	if err != nil {
		return out, err
	}
	dir, err := os.MkdirTemp(scratch, "bench-recover-")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o755); err != nil {
		return out, err
	}
	add := func(file string) error {
		whole, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		return os.Symlink(whole, filepath.Join(in, filepath.Base(file)))
	}
	keys := files[0]
	for _, f := range keys[:len(keys)-1] {
		if err := add(f); err != nil {
			return out, err
		}
	}
	query := func() (took time.Duration, groups int64, err error) {
		began := time.Now()
		s, err := engine.NewSession(engine.Config{Dir: dir})
		if err != nil {
			return 0, 0, err
		}
		defer s.Close()
		v := w.Views[0]
		df := s.ReadStream().Format(v.format()).Schema(v.Schema).Option("maxFilesPerTrigger", filesPerBatch).Load(in)
		if err := df.CreateOrReplaceTempView(v.Name); err != nil {
			return 0, 0, err
		}
		q, err := s.SQL(ctx, w.Query)
		if err != nil {
			return 0, 0, err
		}
		run, err := q.WriteStream().OutputMode(w.Mode).Trigger(engine.AvailableNow()).Format("noop").
			Option("checkpointLocation", filepath.Join(dir, "chk")).Start(ctx)
		if err != nil {
			return 0, 0, err
		}
		if err := run.AwaitTermination(ctx); err != nil {
			return 0, 0, err
		}
		took = time.Since(began)
		if last := run.LastProgress(); last != nil && len(last.StateOperators) > 0 {
			groups = last.StateOperators[0].NumRowsTotal
		}
		return took, groups, nil
	}
	if _, out.groups, err = query(); err != nil {
		return out, err
	}
	if err := add(keys[len(keys)-1]); err != nil {
		return out, err
	}
	took, _, err := query()
	out.seconds = took.Seconds()
	return out, err
}
