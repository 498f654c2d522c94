package delta

import (
	"path/filepath"
	"strings"
	"time"
)

// logRetention is how long versions are kept.
func (s *Snapshot) logRetention() time.Duration {
	if d, ok := parseInterval(s.Property("delta.logRetentionDuration")); ok {
		return d
	}
	return 30 * 24 * time.Hour
}

// cleansLog says whether old versions may go: the table says so, or it says nothing and this program made the
// oldest version that is there. Other programs may count on the log of a table of theirs.
func (l *Log) cleansLog(s *Snapshot, g *listing) bool {
	if s.Protocol.Supports("checkpointProtection") || len(g.commits) == 0 {
		return false
	}
	switch said := s.Property("delta.enableExpiredLogCleanup"); {
	case strings.EqualFold(said, "true"):
		return true
	case said != "":
		return false
	}
	c, err := l.commitInfo(g.commits[0])
	return err == nil && c != nil && c.EngineInfo == engineVersion
}

// cleanLog removes the commits, checkpoints and checksums of versions that are older than the table keeps them,
// counted in whole days of UTC. The newest checkpoint that is not younger than the oldest version kept stays, and
// with it all that later versions are read from. It gives the number of files that went.
func (l *Log) cleanLog(s *Snapshot) (int, error) {
	g, err := l.list()
	if err != nil || !l.cleansLog(s, g) {
		return 0, err
	}
	cutoff := l.Now().Add(-s.logRetention()).UTC().Truncate(24 * time.Hour).UnixMilli()
	times, err := l.Timestamps(g.commits[0], s.Version)
	if err != nil {
		return 0, err
	}
	expired := int64(-1)
	for _, v := range g.commits {
		if t, ok := times[v]; !ok || t >= cutoff {
			break
		}
		expired = v
	}
	keep := int64(-1) // versions before it go
	for i := range g.checkpoints {
		if c := &g.checkpoints[i]; c.version <= expired+1 && c.version > keep {
			keep = c.version
		}
	}
	entries, err := l.FS.ReadDir(l.dir())
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range entries {
		m := logNames.FindStringSubmatch(strings.TrimSuffix(strings.TrimPrefix(e.Name(), "."), ".crc"))
		if hidden := strings.HasPrefix(e.Name(), "."); !hidden {
			m = logNames.FindStringSubmatch(e.Name())
		}
		if m == nil || e.IsDir() || m[1] >= strings.TrimSuffix(commitName(max(keep, 0)), ".json") {
			continue
		}
		if err := l.removeFile(filepath.Join(l.dir(), e.Name())); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
