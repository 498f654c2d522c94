package files_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"streamlab/errs"
	sink "streamlab/sinks/files"
	"streamlab/sinks/sinktest"
)

// Every option of connectors.md 10 and the write side of 3: the values it takes, what a wrong one says, and the
// names of files that a codec gives.
func TestFileSinkOptions(t *testing.T) {
	for _, x := range []struct {
		format, name, value string
		fails               string // condition, of the sink or of its first micro-batch; "": the value is good
		ends                string // how the name of the file ends; "" is not looked at
	}{
		{"json", "", "", "", "-c000.json"},
		{"json", "compression", "none", "", "-c000.json"},
		{"json", "compression", "uncompressed", "", "-c000.json"},
		{"json", "compression", "GZip", "", "-c000.json.gz"},
		{"json", "compression", "bzip2", "", "-c000.json.bz2"},
		{"json", "compression", "deflate", "", "-c000.json.deflate"},
		{"json", "compression", "snappy", "", "-c000.json.snappy"},
		{"json", "compression", "lz4", "", "-c000.json.lz4"},
		{"json", "compression", "zstd", "", "-c000.json.zst"},
		{"json", "compression", "rar", "CODEC_NOT_AVAILABLE", ""},
		{"csv", "", "", "", "-c000.csv"},
		{"csv", "extension", "tsv", "", "-c000.tsv"},
		{"parquet", "", "", "", "-c000.snappy.parquet"},
		{"parquet", "compression", "none", "", "-c000.parquet"},
		{"parquet", "compression", "uncompressed", "", "-c000.parquet"},
		{"parquet", "compression", "gzip", "", "-c000.gz.parquet"},
		{"parquet", "compression", "zstd", "", "-c000.zstd.parquet"},
		{"parquet", "compression", "lz4_raw", "", "-c000.lz4raw.parquet"},
		{"parquet", "compression", "rar", "CODEC_NOT_AVAILABLE", ""},
		{"json", "maxRecordsPerFile", "0", "", ""},
		{"json", "maxRecordsPerFile", "x", "INVALID_OPTION", ""},
		{"json", "retention", "1h", "", ""},
		{"json", "retention", "an hour", "INVALID_OPTION", ""},
		{"json", "ignoreNullFields", "false", "", ""},
		{"json", "ignoreNullFields", "no", "INVALID_OPTION", ""},
		{"json", "timeZone", "Mars/Olympus", "INVALID_OPTION", ""},
		{"json", "dateFormat", "bb", "INVALID_OPTION", ""},
		{"csv", "timestampFormat", "bb", "INVALID_OPTION", ""},
		{"csv", "quoteAll", "yes", "INVALID_OPTION", ""},
		{"csv", "escapeQuotes", "yes", "INVALID_OPTION", ""},
		{"csv", "header", "yes", "INVALID_OPTION", ""},
		{"csv", "ignoreLeadingWhiteSpace", "yes", "INVALID_OPTION", ""},
		{"csv", "ignoreTrailingWhiteSpace", "yes", "INVALID_OPTION", ""},
	} {
		dir := t.TempDir()
		var options []string
		if x.name != "" {
			options = []string{x.name, x.value}
		}
		d := def(t, dir, x.format, "a INT, b STRING", options...)
		s, err := sink.New(d)
		if err == nil {
			err = s.AddBatch(context.Background(), sinktest.Batch(t, 0, "a INT, b STRING", `{"a":1,"b":"x"}`))
		}
		if x.fails != "" {
			e := errs.As(err)
			if e == nil || !strings.HasPrefix(e.Condition, x.fails) || x.fails == "INVALID_OPTION" && e.Params["option"] != x.name {
				t.Errorf("%s %s = %q: %v", x.format, x.name, x.value, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s = %q: %v", x.format, x.name, x.value, err)
			continue
		}
		if x.ends == "" {
			continue
		}
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range list {
			found = found || strings.HasSuffix(f.Name(), x.ends)
		}
		if !found {
			t.Errorf("%s %s = %q: no file ends with %s among %v", x.format, x.name, x.value, x.ends, list)
		}
	}
}
