package engine

import (
	"context"

	"streamlab/errs"
	sinkkafka "streamlab/sinks/kafka"
)

// writeTopics is DataFrameWriter.save of the format kafka: rows are appended to topics.
func writeTopics(ctx context.Context, w TableWrite) error {
	switch w.Mode {
	case SaveOverwrite, SaveIgnore:
		mode := map[SaveMode]string{SaveOverwrite: "Overwrite", SaveIgnore: "Ignore"}[w.Mode]
		return errs.New("_LEGACY_ERROR_TEMP_3081", "mode", mode, "append", "Append", "errorIfExists", "ErrorIfExists")
	}
	return sinkkafka.Write(ctx, w.Def, w.Parts)
}
