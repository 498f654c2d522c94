package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"streamlab/errs"
	"streamlab/internal/vfs"
)

// formatVersion is the newest layout of a checkpoint this program knows.
const formatVersion = 1

// A metaFile is META: a line of JSON and a line with its checksum. It is written once.
type metaFile struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	Created string `json:"created"`
	// ForkOf is the id of the query whose checkpoint this one was copied from; Batch is where.
	ForkOf string `json:"forkOf,omitempty"`
	Batch  *int64 `json:"batch,omitempty"`
}

func newMeta() metaFile {
	return metaFile{Version: formatVersion, ID: uuid.NewString(), Created: time.Now().UTC().Format(time.RFC3339)}
}

func (m metaFile) write(dir string) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s\n%08x\n", line, crc32.Checksum(line, castagnoli))
	return vfs.WriteFile(vfs.OS, filepath.Join(dir, "META"), []byte(text), 0o600)
}

// readMeta reads META; found is false if the checkpoint was never completed.
func readMeta(dir string) (m metaFile, found bool, err error) {
	text, err := vfs.ReadFile(vfs.OS, filepath.Join(dir, "META"))
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	}
	if err != nil {
		return m, false, errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	line, sum, _ := strings.Cut(string(text), "\n")
	if sum != fmt.Sprintf("%08x\n", crc32.Checksum([]byte(line), castagnoli)) {
		return m, true, corrupt(dir, "META fails its checksum", nil)
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return m, true, corrupt(dir, "META is not readable", err)
	}
	if m.Version > formatVersion {
		return m, true, errs.New("CHECKPOINT_TOO_NEW", "checkpointLocation", dir,
			"version", m.Version, "supported", formatVersion)
	}
	if _, err := uuid.Parse(m.ID); err != nil || m.Version < 1 {
		return m, true, corrupt(dir, "META has no query id or version", err)
	}
	return m, true, nil
}

func corrupt(dir, problem string, cause error) error {
	if cause == nil {
		return errs.New("CHECKPOINT_CORRUPT", "checkpointLocation", dir, "problem", problem)
	}
	return errs.Wrap(cause, "CHECKPOINT_CORRUPT", "checkpointLocation", dir, "problem", problem)
}
