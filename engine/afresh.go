package engine

import (
	"fmt"

	"streamlab/codec"
	"streamlab/internal/vfs"
)

// Afresh says what becomes of the rows at the sink if the query begins with a new checkpoint, for sinks that
// keep the numbers of batches without the checkpoint they are of: the log of a file sink belongs to its
// folder, so that the batches of the new run that have the same numbers are not written (as in Spark). It is
// "" if nothing stands in the way: the sink then gets all rows. Errors are those of the query's plan and of
// reading the log; nothing is written.
func (w *DataStreamWriter) Afresh(path ...string) (string, error) {
	p, err := w.prepareUnnamed(path...)
	if err != nil || !fileSink(p.format.Name) {
		return "", err
	}
	ids, _, err := codec.SinkLogIDs(vfs.OS, p.path)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	newest := ids[len(ids)-1]
	if compat, err := w.options.Bool("sparkCompat", true); err == nil && !compat {
		return fmt.Sprintf("The new run is refused: %s has %s of the old one. Use a new folder, or remove it.", p.path, upTo(newest)), nil
	}
	return fmt.Sprintf("Rows are lost: %s has %s, so those of the new run will NOT be written there. Use a new folder, or remove it.",
		p.path, upTo(newest)), nil
}

// fileSink says whether a format writes files with a log of batches in their folder.
func fileSink(format string) bool {
	switch format {
	case "json", "csv", "text", "parquet", "orc":
		return true
	}
	return false
}

func upTo(newest int64) string {
	if newest == 0 {
		return "batch 0"
	}
	return fmt.Sprintf("batches 0 to %d", newest)
}
