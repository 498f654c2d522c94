package delta

import (
	"errors"

	"streamlab/internal/vfs"
)

// finishFile closes a file that was written, synced if durable; err is what the writing met. An error of
// Sync or Close is an error of the write.
func finishFile(f vfs.File, err error, durable bool) error {
	if err == nil && durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
