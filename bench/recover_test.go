package bench

import (
	"strings"
	"testing"
)

// A restart brings back the groups of all files but the last: nearly all rows have a key of their own.
func TestRecoverOwnCountsTheGroupsThatCameBack(t *testing.T) {
	dir := t.TempDir()
	if err := Generate(dir, Size{Rows: 40_000}, []string{"keys"}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	r, err := recoverOwn(t.Context(), dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if r.groups < 37_000 || r.groups > 38_000 || r.seconds <= 0 {
		t.Errorf("%d groups of 38,000 rows, %v s", r.groups, r.seconds)
	}
	if _, err := recoverOwn(t.Context(), t.TempDir(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "NO_BENCH_DATA") {
		t.Errorf("without files: %v", err)
	}
}
