package files

import "streamlab/sources"

// Options describes the options of a format.
func Options(format string) []sources.OptionDoc {
	out := []sources.OptionDoc{
		{Name: "path", Doc: "Folder or glob to read."},
		{Name: "maxFilesPerTrigger", Doc: "Most files of a micro-batch; without a limit it takes 50,000."},
		{Name: "maxBytesPerTrigger", Doc: "Most bytes of a micro-batch; its first file is always read."},
		{Name: "latestFirst", Default: "false", Doc: "Read the newest files first."},
		{Name: "maxFileAge", Default: "7d", Doc: "Files older than the newest one read by more than this are ignored."},
		{Name: "minFileAge", Default: "0s", Doc: "Leave files younger than this for a later trigger."},
		{Name: "fileNameOnly", Default: "false", Doc: "Files of one name are the same file, whatever their folder."},
		{Name: "maxCachedFiles", Default: "10000", Doc: "Files of a listing that are kept for the next triggers."},
		{Name: "discardCachedInputRatio", Default: "0.2", Doc: "List anew if fewer files than this part of a batch are kept."},
		{Name: "cleanSource", Default: "off", Doc: "What becomes of files that were read: archive, delete or off."},
		{Name: "sourceArchiveDir", Doc: "Where cleanSource = archive moves files."},
		{Name: "pathGlobFilter", Doc: "Read only files whose name matches."},
		{Name: "recursiveFileLookup", Default: "false", Doc: "Read all files below the path; no partition columns."},
		{Name: "basePath", Doc: "Partition columns are the folders below this one."},
		{Name: "modifiedBefore", Doc: "Not for streams."}, {Name: "modifiedAfter", Doc: "Not for streams."},
		{Name: "ignoreMissingFiles", Doc: "Leave files out that are gone; default the setting spark.sql.files.ignoreMissingFiles."},
		{Name: "ignoreCorruptFiles", Doc: "Leave files out that cannot be read; default the setting spark.sql.files.ignoreCorruptFiles."},
	}
	switch format {
	case "binaryFile":
		return out
	case "parquet":
		return append(out, sources.OptionDoc{Name: "mergeSchema", Doc: "Infer the columns of all files and not of the first; default the setting spark.sql.parquet.mergeSchema."},
			sources.OptionDoc{Name: "datetimeRebaseMode", Doc: "CORRECTED: dates are read as they are."}, sources.OptionDoc{Name: "int96RebaseMode", Doc: "CORRECTED."})
	}
	out = append(out, sources.OptionDoc{Name: "lineSep", Doc: "What ends a record; default any line end."},
		sources.OptionDoc{Name: "maxRecordBytes", Default: "16m", Doc: "A longer record is not read: it counts as malformed; of text it is an error."})
	if format == "text" {
		return append(out, sources.OptionDoc{Name: "wholetext", Default: "false", Doc: "Each file is one row."})
	}
	out = append(out, []sources.OptionDoc{
		{Name: "mode", Default: "PERMISSIVE", Doc: "What becomes of malformed records: PERMISSIVE, DROPMALFORMED, FAILFAST."},
		{Name: "columnNameOfCorruptRecord", Default: "_corrupt_record", Doc: "Column that takes malformed records."},
		{Name: "multiLine", Default: "false", Doc: "Records may span lines."},
		{Name: "dateFormat", Doc: "Pattern of dates."}, {Name: "timestampFormat", Doc: "Pattern of timestamps."},
		{Name: "timestampNTZFormat", Doc: "Pattern of timestamps without zone."},
		{Name: "timeZone", Doc: "Zone of timestamps without one; default the session's."}, {Name: "locale", Default: "en-US", Doc: "Language of names of months and days; only English is known."},
		{Name: "encoding", Default: "UTF-8", Doc: "Encoding of the text."}, {Name: "charset", Doc: "The same as encoding."}, {Name: "samplingRatio", Default: "1.0", Doc: "All records are looked at."},
	}...)
	flags := map[string][]string{
		"json": {"primitivesAsString", "prefersDecimal", "dropFieldIfAllNull", "allowComments", "allowUnquotedFieldNames",
			"allowSingleQuotes", "allowNumericLeadingZeros", "allowNumericLeadingZero", "allowBackslashEscapingAnyCharacter",
			"allowUnquotedControlChars", "allowNonNumericNumbers"},
		"csv": {"sep", "delimiter", "header", "enforceSchema", "quote", "escape", "comment", "charToEscapeQuoteEscaping", "nullValue",
			"nanValue", "positiveInf", "negativeInf", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "maxColumns",
			"maxCharsPerColumn", "unescapedQuoteHandling", "inferSchema", "preferDate", "emptyValue"},
	}
	for _, name := range flags[format] {
		out = append(out, sources.OptionDoc{Name: name, Doc: "As in Spark."})
	}
	return out
}
