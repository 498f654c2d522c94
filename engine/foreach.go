package engine

import (
	"streamlab/errs"
	"streamlab/sinks/foreach"
)

// Foreach gives the rows to a fresh writer for every partition of every micro-batch: at least once. Errors
// of a writer that are no conditions arrive as FOREACH_USER_FUNCTION_ERROR.
func (w *DataStreamWriter) Foreach(make func() foreach.Writer) *DataStreamWriter {
	if make == nil {
		w.err = errs.New("NULL_FUNCTION", "name", "foreach")
		return w
	}
	return w.Sink(foreach.New(make), "ForeachWriterTable")
}

// ForeachCommand is Foreach with a process for every partition, see foreach.Command. What the processes
// print goes to the session's output.
func (w *DataStreamWriter) ForeachCommand(argv ...string) *DataStreamWriter {
	if len(argv) == 0 || w.d.err != nil {
		w.err = errs.New("NULL_FUNCTION", "name", "foreach")
		return w
	}
	return w.Foreach(foreach.Command(argv, w.d.s.dir, w.d.node.Schema(), w.d.s.console(w.name)))
}
