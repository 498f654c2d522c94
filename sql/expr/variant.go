package expr

// normalVariant writes a JSON value as VARIANT keeps it.
func normalVariant(dst []byte, sc *jsonScanner, i, end int) ([]byte, bool) {
	return sc.appendCompact(dst, i, end), true
}
