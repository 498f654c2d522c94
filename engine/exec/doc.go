// Package exec runs plans: it compiles the nodes of a logical plan into operators once per run and pushes
// the rows of every micro-batch through them.
//
// Rows travel as chunks of a few vectors and a selection, from scans upwards, by plain function calls. An
// operator that needs all of its input (an aggregation, a sort, the build side of a join) takes it when the
// batch is opened; what is above pulls the rest through when the sink reads the partitions of the result.
//
// Keyed state lives in tables of flat records that stay in memory as long as the run. A batch touches
// groups, lists them, and saves just those as segments to the checkpoint; a load replays segments. Expiry
// goes by an index of time buckets, so that a batch costs what it changes and what expires, never what is
// there.
//
// A Plan is used by one goroutine, the query's driver; the partitions it gives may be read by others.
package exec
