package engine

import "streamlab/sources"

// WriterOptions are the options that a streaming query takes whatever its sink is.
func WriterOptions() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "checkpointLocation", Doc: "Folder of the query's checkpoint; console, memory and noop may do without and get a temporary one."},
		{Name: "path", Doc: "Folder that a sink of files or a Delta table is written to."},
		{Name: optionAsync, Default: "false", Doc: "Record offsets and commits only now and then; for queries without state into kafka, console, memory, noop and foreach."},
		{Name: optionAsyncInterval, Default: "1000", Doc: "How often they are recorded, in ms; 0 is every batch."},
		{Name: "sparkCompat", Default: "false", Doc: "Do as Spark does where this program does better by choice."},
	}
}
