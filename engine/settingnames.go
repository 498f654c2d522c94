package engine

import "strings"

// alsoRead are settings that are read where they matter and have no line in Settings: switches of Spark for
// single functions, formats and statements.
var alsoRead = []string{
	"spark.default.parallelism",
	"spark.sql.ansi.doubleQuotedIdentifiers",
	"spark.sql.ansi.enforceReservedKeywords",
	"spark.sql.catalogImplementation",
	"spark.sql.columnNameOfCorruptRecord",
	"spark.sql.crossJoin.enabled",
	"spark.sql.cteRecursionLevelLimit",
	"spark.sql.cteRecursionRowLimit",
	"spark.sql.decimalOperations.allowPrecisionLoss",
	"spark.sql.event.truncate.length",
	"spark.sql.extensions",
	"spark.sql.globalTempDatabase",
	"spark.sql.groupByAliases",
	"spark.sql.groupByOrdinal",
	"spark.sql.jsonGenerator.ignoreNullFields",
	"spark.sql.lateralColumnAlias.enableImplicitResolution",
	"spark.sql.legacy.allowParameterlessCount",
	"spark.sql.legacy.setopsPrecedence.enabled",
	"spark.sql.legacy.statisticalAggregate",
	"spark.sql.legacy.timeParserPolicy",
	"spark.sql.mapKeyDedupPolicy",
	"spark.sql.orderByOrdinal",
	"spark.sql.parquet.compression.codec",
	"spark.sql.parquet.mergeSchema",
	"spark.sql.parser.escapedStringLiterals",
	"spark.sql.queryExecutionListeners",
	"spark.sql.session.localRelationCacheThreshold",
	"spark.sql.sources.default",
	"spark.sql.sources.partitionColumnTypeInference.enabled",
	"spark.sql.sources.partitionOverwriteMode",
	"spark.sql.storeAssignmentPolicy",
	"spark.sql.streaming.fileSink.log.cleanupDelay",
	"spark.sql.streaming.fileSink.log.compactInterval",
	"spark.sql.streaming.fileSink.log.deletion",
	"spark.sql.streaming.fileStreamSink.ignoreMetadata",
	"spark.sql.streaming.flatMapGroupsWithState.skipEmittingInitialStateKeys",
	"spark.sql.streaming.realTimeMode.allowlistCheck",
	"spark.sql.streaming.realTimeMode.minBatchDuration",
	"spark.sql.streaming.streamingQueryListeners",
	"spark.sql.streaming.ui.enabled",
	"spark.sql.timeType.enabled",
	"spark.sql.timestampType",
	"spark.sql.variable.substitute",
	"spark.sql.warehouse.dir",
}

// NearestSetting says whether a setting is known, and else which known one is nearest; "" if none is near.
// Settings of Spark's own machinery (spark.driver, spark.executor and others), which mean nothing here, are known.
func NearestSetting(key string) (best string, known bool) {
	for _, prefix := range []string{"spark.driver.", "spark.executor.", "spark.jars", "spark.master", "spark.app.", "spark.ui.", "spark.serializer",
		"spark.hadoop.", "spark.sql.catalog.", "spark.delta.", "spark.databricks.delta."} {
		if strings.HasPrefix(key, prefix) {
			return key, true
		}
	}
	least := len(key)/2 + 1
	try := func(k string) {
		if k == key {
			known = true
		}
		if d := editDistance(strings.ToLower(k), strings.ToLower(key)); d < least {
			least, best = d, k
		}
	}
	for _, s := range settings {
		try(s.Key)
	}
	for _, k := range alsoRead {
		try(k)
	}
	for _, format := range []string{"json", "csv", "parquet"} {
		try("spark.sql." + format + ".filterPushdown.enabled")
	}
	return best, known
}
