// Package engine is streamlab's streaming engine and its Go API: sessions, readers and writers of streams,
// streaming queries, and the micro-batch driver that runs them by the rules of Spark Structured Streaming.
//
// A Session holds settings, a catalog of names and the running queries. ReadStream gives a DataFrame over a
// source; SQL gives one over names of the catalog; WriteStream starts a StreamingQuery. Each query has one
// driver goroutine, which owns sources, sink, watermark and checkpoint: everything about its progress is
// sequential there. A micro-batch lives like this:
//
//  1. plan the end offsets of all sources
//  2. log them, durably: from here on the batch is what these offsets say, however often it is run
//  3. run the plan over (start, end] while the sink pulls the rows
//  4. move the watermark
//  5. write what the batch changed in the state, and then, alone and last, the commit record
//
// The engine publishes immutable snapshots and a bounded ring of events; whoever watches looks at them at
// its own pace and can neither block nor slow a query.
package engine
