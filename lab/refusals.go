package lab

import "strings"

// refusals is the table of what is refused and of the ways out, best first (operators.md 2 and 13, engine.md 12).
// A line is found by condition and, where a condition has several reasons, by words of its message. Order
// matters: the first line that fits is taken.
func refusals() []refusal {
	const (
		mode  = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
		plain = "_LEGACY_ERROR_TEMP_3102"
	)
	pairs := joinKind("keep only pairs", "rows without a partner do not come out", "", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")
	batch := perBatch("foreachBatch: sees the rows of one micro-batch at a time")
	promise := useTrigger("processingTime", "5 seconds", "runs in micro-batches")
	return []refusal{
		// Output modes.
		{mode, "no streaming aggregations",
			"Complete sends the whole result of an aggregation in every micro-batch. This query aggregates nothing: its result would be every row that ever came, and nothing keeps them.",
			[]recipe{useMode("append"), useMode("update")}},
		{mode, "without watermark",
			"Append sends a row once and never changes it. These groups can still grow, because nothing says when one is finished.",
			[]recipe{addWatermark(), windowKey(), useMode("complete"), useMode("update"), upsert(), useSink("write a Delta table in complete mode", "delta", "complete", "rewrites the whole table every batch")}},
		{mode, "session window",
			"A late row may join two sessions that update mode has sent already, and no row could take them back.",
			[]recipe{useMode("append"), useMode("complete"), addWatermark()}},
		{mode, "", "", []recipe{useMode("append"), useMode("update"), useMode("complete")}},
		{"STREAMING_OUTPUT_MODE.INVALID", "", "There are three output modes: append, update and complete.",
			[]recipe{useMode("append"), useMode("update"), useMode("complete")}},
		{"STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE", "",
			"Files are only ever added: the sink cannot take back rows that it has written, as this mode asks for.",
			[]recipe{useMode("append"), useSink("write a Delta table in complete mode", "delta", "complete", "rewrites the whole table every batch"), upsert(),
				useSink("print it", "console", "", "to look at it; nothing is kept")}},
		{"DELTA_UNSUPPORTED_OUTPUT_MODE", "",
			"A Delta table is appended to or replaced as a whole; it does not know which row an updated one takes the place of. MERGE does, because it is told the key.",
			[]recipe{upsert(), useMode("complete"), useMode("append"), useSink("print it", "console", "", "to look at it; nothing is kept")}},

		// Groups whose end nothing tells.
		{"UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK", "",
			"In append mode a group comes out when it is finished. Of this one inside the query nothing says when that is.",
			[]recipe{addWatermark(), windowKey(), useMode("complete"), useMode("update"), batch, firstPart()}},
		{"_LEGACY_ERROR_TEMP_3068", "", "Sessions need a key of whom they are sessions of; a session window alone is none.",
			[]recipe{moreKeys(), batch}},
		{"_LEGACY_ERROR_TEMP_3076", "", "A watermark above another would be late by the one below. One query has one event time at a place.",
			[]recipe{dropWatermark()}},
		{"_LEGACY_ERROR_TEMP_3077", "", "The operator sees two event times and cannot tell which of them says that a row is late.",
			[]recipe{dropWatermark(), useMode("complete")}},
		{"EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE", "", "An event time is a moment: its column is a TIMESTAMP.",
			[]recipe{makeTimestamp(), dropWatermark(), dropAnyWatermark()}},

		// Joins.
		{"_LEGACY_ERROR_TEMP_1181", "", "Two streams are joined by keys: state is kept by them. This condition has no equality between the two sides.",
			[]recipe{joinByColumn(), readAsTable()}},
		{plain, "join between two streaming", "This join sends a row without a partner when the watermark says that none can come any more: only append waits for that.",
			[]recipe{useMode("append"), pairs, boundTimes("bound the times and use append", "-", "LEFT", "RIGHT", "FULL", "SEMI"), readAsTable()}},
		{plain, "without a watermark in the join keys", "The join has to know when a row has waited long enough for a partner. Nothing bounds how far the times of the two sides lie apart.",
			[]recipe{boundTimes("bound the times", "-", "LEFT", "RIGHT", "FULL", "SEMI"), addWatermark(), pairs, readAsTable()}},
		{plain, "leftanti", "Whether a row of a stream has no partner in another stream is never settled without bounds.",
			[]recipe{boundTimes("bound the times, and keep rows whose partner is null", "LEFT", "ANTI"), readAsTable(), pairs}},
		{plain, "existencejoin", "Whether a row of a stream has no partner in another stream is never settled without bounds.",
			[]recipe{readAsTable(), batch}},
		{plain, "join", "The side that is filled with nulls, or asked for absence, has to be the static one: a stream may still bring the partner.",
			[]recipe{joinKind("keep every row of the stream instead", "the other side is filled with nulls", "RIGHT", "LEFT", "FULL"),
				joinKind("keep every row of the stream instead", "the other side is filled with nulls", "LEFT", "RIGHT", "FULL"), pairs, readAsTable()}},

		// Sorting, limits, sets.
		{plain, "sorting", "A stream has no end at which it could be in order. The whole result of an aggregation in complete mode can be sorted, every batch anew.",
			[]recipe{useMode("complete"), dropPart("rows come in any order", "ORDER", "BY"), dropPart("rows come in any order", "SORT", "BY"), batch}},
		{plain, "limits", "A limit counts rows that came once. In update mode rows come again and again.",
			[]recipe{useMode("append"), dropPart("all rows come", "LIMIT"), dropSample(), useMode("complete"), batch, windowKey()}},
		{plain, "offset", "To leave out the first rows they would have to have an order, and a stream has none.",
			[]recipe{dropPart("all rows come", "OFFSET"), batch}},
		{plain, "union", "A stream and a finite table cannot be put one behind the other: the table would come again with every micro-batch.",
			[]recipe{firstPart(), batch}},
		{plain, "except", "Rows of the right side that are still to come could take back what came out.",
			[]recipe{readAsTable(), firstPart(), batch}},
		{plain, "intersect", "INTERSECT removes duplicates over all rows of both sides, also those still to come.",
			[]recipe{batch, firstPart()}},
		{plain, "sampling", "A sample of a stream would be another one whenever a micro-batch is run again.",
			[]recipe{dropSample(), batch}},
		{"NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING", "", "OVER (…) looks at the rows before and behind a row, and behind it rows are still to come. Windows of time are grouped by: window(ts, '1 minute').",
			[]recipe{batch}},

		// Functions.
		{plain, "distinct aggregations", "To count distinct values every value that ever came would have to be kept for every group.",
			[]recipe{distinctFree(), batch}},
		{plain, "monotonically_increasing_id", "The ids would begin anew in every micro-batch.",
			[]recipe{otherFunction("monotonically_increasing_id", "uuid", "a text that no other row has"), batch}},
		{plain, "dropduplicateswithinwatermark", "It forgets a value when the watermark has passed it, and there is no watermark.",
			[]recipe{addWatermark(), dropViewKey("dropDuplicatesWithinWatermark"), batch}},

		// Chains.
		{plain, "operator below may emit rows", "The operator below sends rows that are older than the watermark; the one above would drop them as late.",
			[]recipe{useMode("append"), addWatermark(), setConf("accept that rows may be lost", "spark.sql.streaming.statefulOperator.checkCorrectness.enabled", "false",
				"conf: checkCorrectness.enabled: false"), batch, windowKey()}},

		// What is a stream, and what is not.
		{"WRITE_STREAM_NOT_ALLOWED", "", "The query reads finite tables only: it has one answer, not a stream of them.",
			[]recipe{readAsStream()}},
		{plain, "without streaming sources", "The query reads finite tables only: it has one answer, not a stream of them.",
			[]recipe{readAsStream()}},
		{"INVALID_SUBQUERY_EXPRESSION.STREAMING_QUERY", "", "A subquery is answered before the row that asks; a stream is never answered to the end.",
			[]recipe{readAsTable(), batch}},

		// Triggers.
		{"UNKNOWN_TRIGGER_TYPE", "", "The sink takes whole micro-batches; this trigger has none.", []recipe{promise, useSink("print it", "console", "", "rows one by one")}},
		{"_LEGACY_ERROR_TEMP_1195", "", "foreachBatch gets micro-batches; the trigger `continuous` has none.", []recipe{promise}},
		{"_LEGACY_ERROR_TEMP_2253", "", "This source gives micro-batches only.", []recipe{promise}},
		{plain, "continuous processing", "The trigger `continuous` runs projections and filters only.", []recipe{promise}},
		{"INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL", "", "A batch in real time lasts at least five seconds; rows do not wait for its end.",
			[]recipe{sameTrigger("5 seconds", "how long one batch lasts; rows come at once"), promise}},
		{"STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED", "", "In real time rows are sent when they come: that is update mode.",
			[]recipe{useMode("update"), promise}},
		{"STREAMING_REAL_TIME_MODE.", "", "", []recipe{promise, useSink("print it", "console", "", "rows one by one"), dropOption("records every batch", "asyncProgressTrackingEnabled", "asyncProgressTrackingCheckpointIntervalMs")}},
		{"INVALID_INTERVAL_FORMAT.", "", "An interval is a number and a unit: 10 seconds, 5 minutes.",
			[]recipe{sameTrigger("10 seconds", "a number and a unit")}},
		{"_LEGACY_ERROR_TEMP_3262", "", "Months and years have no fixed length.", []recipe{sameTrigger("30 days", "a length that is fixed")}},
		{"NEGATIVE_TRIGGER_INTERVAL", "", "", []recipe{sameTrigger("10 seconds", "a length above zero")}},
		{"ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED", "", "Batches that are recorded now and then come again after a crash, which this query could not bear or the trigger makes pointless.",
			[]recipe{dropOption("records every batch", "asyncProgressTrackingEnabled", "asyncProgressTrackingCheckpointIntervalMs"), promise}},

		// Sinks.
		{"_LEGACY_ERROR_TEMP_1197", "", "The sink has no folders to divide rows into.", []recipe{dropQueryKey("partitionBy", "rows are not divided")}},
		{"_LEGACY_ERROR_TEMP_1196", "", "The query has no such column.", []recipe{nearestPartition(), dropQueryKey("partitionBy", "rows are not divided")}},
		{"_LEGACY_ERROR_TEMP_2047", "", "Files need a folder.", []recipe{setQueryKey("say where", "path", func(t *site) string { return "out/" + slug(t.q.Name.Value) }, "path: below the lab's folder")}},
		{"_LEGACY_ERROR_TEMP_2049", "", "The format cannot be streamed in this direction.", []recipe{nearestFormat()}},
		{"DATA_SOURCE_NOT_FOUND", "", "", []recipe{nearestFormat()}},
		{"UNSUPPORTED_FEATURE", "format", "", []recipe{nearestFormat()}},
		{"UNKNOWN_OPTION", "", "", []recipe{nearestKey()}},

		// The lab file.
		{"LAB_UNKNOWN_KEY", "", "", []recipe{nearestKey()}},
		{"LAB_CHECKPOINT_SHARED", "", "A checkpoint belongs to one query.", []recipe{dropOption("each query keeps its own", "checkpointLocation"),
			one("give it a checkpoint of its own", "checkpointLocation: chk/…", func(t *site) []Edit {
				if t.q == nil {
					return nil
				}
				return t.p.setIn(t.q.node, "options", "checkpointLocation", "chk/"+slug(t.q.Name.Value))
			})}},

		// Names.
		{"UNRESOLVED_COLUMN.WITH_SUGGESTION", "", "", []recipe{suggestName("proposal")}},
		{"TABLE_OR_VIEW_NOT_FOUND", "", "", []recipe{suggestName("")}},
		{"UNRESOLVED_ROUTINE", "", "", []recipe{suggestName("proposal")}},
	}
}

var modeText = map[string]string{
	"append":   "sends a row once, when it cannot change any more",
	"update":   "sends the rows that a micro-batch touched, again and again",
	"complete": "sends the whole result in every micro-batch",
}

func useMode(mode string) recipe {
	return one("use "+mode, modeText[mode], func(t *site) []Edit {
		if t.q == nil {
			return nil
		}
		return t.p.setKey(t.q.node, "outputMode", mode)
	})
}

// dropViewKey takes a key of a view that the query reads away.
func dropViewKey(key string) recipe {
	return recipe{"leave " + key + " out", "duplicates stay", func(t *site) (out []candidate) {
		for _, name := range t.reads() {
			if v := t.view(name); v != nil {
				out = append(out, candidate{"", t.p.dropKey(v.node, key)})
			}
		}
		return out
	}}
}

// dropAnyWatermark takes watermarks away that belong to what no sound query reads.
func dropAnyWatermark() recipe {
	return recipe{"leave the watermark out", "nothing is late, and no group is finished", func(t *site) (out []candidate) {
		for i := range t.l.Sources {
			out = append(out, candidate{"", t.p.dropKey(t.l.Sources[i].node, "withWatermark")})
		}
		for i := range t.l.Views {
			out = append(out, candidate{"", t.p.dropKey(t.l.Views[i].node, "withWatermark")})
		}
		return out
	}}
}

// nearestPartition divides by the column whose name is nearest.
func nearestPartition() recipe {
	return one("divide by the column that there is", "its name is nearest", func(t *site) []Edit {
		if t.q == nil {
			return nil
		}
		names := strings.Split(t.e.Params["validColumnNames"], ", ")
		n := nearest(t.e.Params["columnName"], names)
		if n == "" {
			return nil
		}
		return t.p.setKey(t.q.node, "partitionBy", "["+yamlText(n)+"]")
	})
}

// readAsStream makes a table that the query reads a streaming source.
func readAsStream() recipe {
	return recipe{"read it as a stream", "", func(t *site) (out []candidate) {
		for _, name := range t.reads() {
			tb := t.table(name)
			if tb == nil {
				continue
			}
			text := sourceOf(tb)
			if text == "" {
				continue
			}
			put := func(t *site) []Edit { return t.put("sources", tb.Name.Value, text) }
			drop := func(t *site) []Edit {
				if len(t.l.Tables) == 1 {
					return t.p.dropKey(t.l.root, "tables")
				}
				tables, _ := t.l.root.entry("tables")
				return t.p.dropKey(tables.val, tb.Name.Value)
			}
			out = append(out, candidate{tb.Name.Value + " as a source: its rows come once", t.sequence(drop, put)})
		}
		return out
	}}
}

// sourceOf is a table as an entry of `sources`; "" where there is no such source.
func sourceOf(tb *Table) string {
	if tb.Rows != nil {
		var rows []string
		for _, r := range tb.Rows {
			rows = append(rows, inlineYAML(any(r)))
		}
		return "{format: memory, schema: " + yamlText(tb.Schema.Value) + ", rows: [[" + strings.Join(rows, ", ") + "]]}"
	}
	text := "{format: " + yamlText(tb.Format.Value)
	switch strings.ToLower(tb.Format.Value) {
	case "json", "csv", "text", "parquet", "delta", "kafka":
	default:
		return ""
	}
	if tb.Path.Value == "" {
		return ""
	}
	if tb.Schema.Value != "" && !strings.EqualFold(tb.Format.Value, "delta") {
		text += ", schema: " + yamlText(tb.Schema.Value)
	}
	text += ", path: " + yamlText(tb.Path.Value)
	options := ""
	for k, v := range tb.Options {
		options += ", " + yamlText(k) + ": " + yamlText(v.Value)
	}
	if options != "" {
		text += ", options: {" + options[2:] + "}"
	}
	return text + "}"
}
