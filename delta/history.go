package delta

import (
	"errors"
	"io/fs"
	"strconv"
	"time"

	"streamlab/errs"
)

// Timestamp is the time of a version in milliseconds: the one inside the commit where the table keeps such,
// else the modification time of its file, moved so that times rise.
func (l *Log) Timestamp(v int64) (int64, error) {
	times, err := l.Timestamps(v, v)
	if err != nil {
		return 0, err
	}
	if t, ok := times[v]; ok {
		return t, nil
	}
	return 0, l.versionNotFound(v)
}

// Timestamps gives the times of the versions from..to that are kept. Times rise with the versions.
func (l *Log) Timestamps(from, to int64) (map[int64]int64, error) {
	g, err := l.list()
	if err != nil {
		return nil, err
	}
	out := map[int64]int64{}
	last := int64(-1 << 62)
	ict := l.inCommitFrom()
	for _, v := range g.commits {
		if v > to {
			break
		}
		t := g.times[v]
		if v >= ict && v >= from {
			if c, err := l.commitInfo(v); err == nil && c != nil && c.InCommitTimestamp != nil {
				t = *c.InCommitTimestamp
			}
		}
		if t <= last {
			t = last + 1
		}
		last = t
		if v >= from {
			out[v] = t
		}
	}
	return out, nil
}

// inCommitFrom is the first version whose commit holds its time; beyond all versions if there is none.
func (l *Log) inCommitFrom() int64 {
	s := l.Known()
	if s == nil || !s.On("delta.enableInCommitTimestamps") {
		return 1<<63 - 1
	}
	n, err := strconv.ParseInt(s.Property("delta.inCommitTimestampEnablementVersion"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// commitInfo is the first commitInfo of a commit; nil if it has none.
func (l *Log) commitInfo(v int64) (*CommitInfo, error) {
	acts, err := l.readCommit(v)
	if err != nil {
		return nil, err
	}
	for _, a := range acts {
		if a.CommitInfo != nil {
			return a.CommitInfo, nil
		}
	}
	return nil, nil
}

// HistoryEntry is a version as DESCRIBE HISTORY shows it. Info is nil for a commit that says nothing.
type HistoryEntry struct {
	Version   int64
	Timestamp int64 // milliseconds
	Info      *CommitInfo
}

// History lists the versions that are kept, newest first.
func (l *Log) History() ([]HistoryEntry, error) {
	g, err := l.list()
	if err != nil {
		return nil, err
	}
	if g.latest() < 0 {
		return nil, l.NoTable()
	}
	times, err := l.Timestamps(0, g.latest())
	if err != nil {
		return nil, err
	}
	var out []HistoryEntry
	for i := len(g.commits) - 1; i >= 0; i-- {
		v := g.commits[i]
		c, err := l.commitInfo(v)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, HistoryEntry{v, times[v], c})
	}
	return out, nil
}

// stamp prints milliseconds as Java's Timestamp.toString does, in zone.
func javaStamp(ms int64, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	t := time.UnixMilli(ms).In(zone)
	s := t.Format("2006-01-02 15:04:05")
	frac := "0"
	if n := t.Nanosecond() / 1e6; n > 0 {
		frac = strconv.Itoa(n + 1000)[1:]
		for frac[len(frac)-1] == '0' {
			frac = frac[:len(frac)-1]
		}
	}
	return s + "." + frac
}

func plainStamp(ms int64, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	return time.UnixMilli(ms).In(zone).Format("2006-01-02 15:04:05")
}

// VersionAt is the last version not younger than an instant in microseconds. Errors:
// DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION, DELTA_TIMESTAMP_GREATER_THAN_COMMIT.
func (l *Log) VersionAt(micros int64) (int64, error) {
	first, last, times, err := l.allTimes()
	if err != nil {
		return 0, err
	}
	ms := floorDiv(micros, 1000)
	if ms < times[first] {
		return 0, errs.New("DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION", "userTimestamp", javaStamp(ms, l.Zone),
			"commitTs", javaStamp(times[first], l.Zone), "timestampString", plainStamp(times[first], l.Zone))
	}
	if ms > times[last] {
		return 0, l.afterLast(ms, times[last])
	}
	best := first
	for v, t := range times {
		if t <= ms && v > best {
			best = v
		}
	}
	return best, nil
}

func (l *Log) afterLast(ms, last int64) error {
	return errs.New("DELTA_TIMESTAMP_GREATER_THAN_COMMIT", "providedTimestamp", javaStamp(ms, l.Zone),
		"lastCommitTimestamp", javaStamp(last, l.Zone), "maximumTimestamp", plainStamp(last, l.Zone))
}

// FirstVersionFrom is the first version at or after an instant; the earliest one kept if the instant lies
// before all. Error: DELTA_TIMESTAMP_GREATER_THAN_COMMIT.
func (l *Log) FirstVersionFrom(micros int64) (int64, error) {
	first, last, times, err := l.allTimes()
	if err != nil {
		return 0, err
	}
	ms := -floorDiv(-micros, 1000)
	for v := first; v <= last; v++ {
		if t, ok := times[v]; ok && t >= ms {
			return v, nil
		}
	}
	return 0, l.afterLast(floorDiv(micros, 1000), times[last])
}

func (l *Log) allTimes() (first, last int64, times map[int64]int64, err error) {
	if _, err := l.Snapshot(); err != nil {
		return 0, 0, nil, err
	}
	g, err := l.list()
	if err != nil {
		return 0, 0, nil, err
	}
	if len(g.commits) == 0 {
		return 0, 0, nil, l.NoTable()
	}
	first, last = g.commits[0], g.commits[len(g.commits)-1]
	times, err = l.Timestamps(first, last)
	return first, last, times, err
}
