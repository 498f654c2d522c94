package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/errs"
	"streamlab/internal/broker"
)

// The files must have the bytes that peers/manifest-10000.json tells of: it is what all generators have to
// reproduce. Sets that there are only as Parquet there are compared by the hash of their rows as JSON.
func TestGenerateReproducesTheManifest(t *testing.T) {
	raw, err := os.ReadFile("peers/manifest-10000.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		LastTs int64 `json:"last_ts_ms"`
		Sets   map[string]struct {
			Files, Rows int
			First       struct {
				SHA     string `json:"sha256"`
				RowsSHA string `json:"rows_sha256"`
			} `json:"first_file"`
		}
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := Generate(dir, Size{Rows: 10_000, DripFiles: 10}, nil, func(string) {}); err != nil {
		t.Fatal(err)
	}
	var got manifest
	if raw, err = os.ReadFile(filepath.Join(dir, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.LastTs != want.LastTs {
		t.Errorf("last time is %d, want %d", got.LastTs, want.LastTs)
	}
	for path, n := range got.Sets {
		w, ok := want.Sets[path]
		if !ok {
			w, ok = want.Sets[strings.Replace(path, "/json-", "/parquet-", 1)]
		}
		if !ok {
			t.Errorf("%s is not in the manifest", path)
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, path, "part-00000.json"))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if h := hex.EncodeToString(sum[:]); h != w.First.RowsSHA || n.Files != w.Files || n.Rows != w.Rows {
			t.Errorf("%s: %d files, %d rows, %s; want %d, %d, %s", path, n.Files, n.Rows, h, w.Files, w.Rows, w.First.RowsSHA)
		}
	}
}

// The engine and the hand-written loop must agree on every workload.
func TestWorkloadsAgreeWithTheirLimits(t *testing.T) {
	if os.Getenv("STREAMLAB_KAFKA") == "" { // else a process of its own would be the broker
		b, err := broker.Start()
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		t.Setenv("STREAMLAB_KAFKA", b.Addr())
	}
	dir := t.TempDir()
	if err := Generate(dir, Size{Rows: 20_000, DripFiles: 3}, nil, func(string) {}); err != nil {
		t.Fatal(err)
	}
	for _, w := range Workloads() {
		for _, v := range w.Variants {
			got, err := Run(t.Context(), w, v, dir, t.TempDir(), true)
			if err != nil {
				t.Fatalf("%s %s: %v", w.Name, v, err)
			}
			want, err := RunLimit(t.Context(), w, v, dir, true)
			if err != nil {
				t.Fatalf("%s %s: %v", w.Name, v, err)
			}
			if got.CheckN != want.CheckN || got.Checksum != want.Checksum || got.CheckN == 0 || got.Rows != want.Rows {
				t.Errorf("%s %s: %d rows %s of %d, want %d rows %s of %d", w.Name, v, got.CheckN, got.Checksum, got.Rows,
					want.CheckN, want.Checksum, want.Rows)
			}
		}
	}
}

func TestPeersThatAreNotThereAreNamed(t *testing.T) {
	t.Setenv("STREAMLAB_PYTHON", filepath.Join(t.TempDir(), "nopython"))
	for _, name := range []string{"duckdb", "nothing", "base"} {
		if _, err := OpenPeer(name, t.TempDir()); !errs.Has(err, "PEER_NOT_INSTALLED") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
