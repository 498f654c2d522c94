package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/broker"
	"streamlab/sql/types"
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
		if strings.HasPrefix(path, "bids/") || strings.HasPrefix(path, "auctions/") || strings.HasPrefix(path, "persons/") {
			continue // not of these formulas
		}
		w, ok := want.Sets[path]
		if !ok {
			w, ok = want.Sets[strings.Replace(path, "/json-", "/parquet-", 1)]
		}
		if !ok {
			t.Errorf("%s is not in the manifest", path)
			continue
		}
		file := filepath.Join(dir, path, "part-00000."+formatOf(path))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		hash := w.First.SHA
		if formatOf(path) == "parquet" {
			data, hash = jsonOf(t, file, path), w.First.RowsSHA
		} else if hash == "" || strings.Contains(path, "/json-") {
			hash = w.First.RowsSHA
		}
		sum := sha256.Sum256(data)
		if h := hex.EncodeToString(sum[:]); h != hash || n.Files != w.Files || n.Rows != w.Rows {
			t.Errorf("%s: %d files, %d rows, %s; want %d, %d, %s", path, n.Files, n.Rows, h, w.Files, w.Rows, hash)
		}
	}
}

// jsonOf reads a Parquet file of events or keys back as the lines that they are in JSON.
func jsonOf(t *testing.T, file, path string) []byte {
	t.Helper()
	ddl := eventSchema
	if strings.HasPrefix(path, "keys") {
		ddl = keySchema
	}
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	if _, err := eachTable(file, schema, 1, func(_ int, c []*columnar.Vec, n int) {
		for i := range n {
			if len(c) == 4 {
				b = fmt.Appendf(b, `{"k":%d,"name":"%s","v":%d,"ts":"%s"}`+"\n", c[0].I64[i], c[1].Bytes(i), c[2].I64[i], time.UnixMicro(c[3].I64[i]).UTC().Format("2006-01-02T15:04:05.000Z"))
				continue
			}
			b = fmt.Appendf(b, `{"event_id":%d,"user_id":%d,"event_type":"%s","price":%.2f,"ts":"%s","country":"%s","ok":%t}`+"\n", c[0].I64[i], c[1].I64[i],
				c[2].Bytes(i), c[3].F64[i], time.UnixMicro(c[4].I64[i]).UTC().Format("2006-01-02T15:04:05.000Z"), c[5].Bytes(i), c[6].Bool(i))
		}
	}); err != nil {
		t.Fatal(err)
	}
	return b
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
	bids := t.TempDir() // of which a second has ten thousand events, and windows are ten seconds long
	if err := Generate(bids, Size{Rows: 200_000}, []string{"nexmark"}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	events := dir
	for _, w := range Workloads() {
		dir := events
		if w.Views[0].format() == "parquet" && w.Views[0].Time != "" {
			dir = bids
		}
		for _, v := range w.Variants {
			got, err := Run(t.Context(), w, v, dir, t.TempDir(), true)
			if err != nil {
				t.Fatalf("%s %s: %v", w.Name, v, err)
			}
			want, err := RunLimit(t.Context(), w, v, dir, t.TempDir(), true)
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

func TestANumberStandsForAllItsWorkloads(t *testing.T) {
	for name, want := range map[string]string{
		"W3": "W3json W3parquet", "w3": "W3json W3parquet", "W1": "W1", "W4zipf": "W4zipf", "W12": "W12 W12country W12csv", "W10": "W10x1 W10x1000",
	} {
		ws, err := Select([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range ws {
			got = append(got, w.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
	for _, name := range []string{"W", "W99", "json", ""} {
		if _, err := Select([]string{name}); !errs.Has(err, "NO_SUCH_WORKLOAD") {
			t.Errorf("%q: %v", name, err)
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
