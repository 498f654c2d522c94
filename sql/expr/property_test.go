package expr

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"streamlab/sql/types"
)

// Every value of these types, cast to STRING and back, is itself.
func TestCastsThroughStringReturn(t *testing.T) {
	zones := []*time.Location{time.UTC, time.FixedZone("", 19800)}
	if z, err := time.LoadLocation("America/New_York"); err == nil {
		zones = append(zones, z)
	}
	cases := 0
	for cases < 1000 { // a run of rapid is 100 cases, or what -rapid.checks and -short leave of them
		rapid.Check(t, func(r *rapid.T) {
			cases++
			c := Conf{ANSI: true, Zone: rapid.SampledFrom(zones).Draw(r, "zone")}
			typ, text := drawValue(r)
			first := castText(t, text, typ, "STRING", Explicit, c)
			again := castText(t, first, typ, "STRING", Explicit, c)
			if first != again || first == "CAST_INVALID_INPUT" {
				r.Fatalf("%s of %s in %v: %s, then %s", text, typ, c.Zone, first, again)
			}
			if got := castText(t, first, typ, "STRING", Try, c); got != first {
				r.Fatalf("try_cast gives %s for %s", got, first)
			}
		})
	}
}

func drawValue(r *rapid.T) (typ, text string) {
	day := func() string {
		return fmt.Sprintf("%04d-%02d-%02d", rapid.IntRange(1, 9999).Draw(r, "y"), rapid.IntRange(1, 12).Draw(r, "m"), rapid.IntRange(1, 28).Draw(r, "d"))
	}
	clock := func() string {
		return fmt.Sprintf("%02d:%02d:%02d.%06d", rapid.IntRange(0, 23).Draw(r, "h"), rapid.IntRange(0, 59).Draw(r, "mi"),
			rapid.IntRange(0, 59).Draw(r, "s"), rapid.IntRange(0, 999999).Draw(r, "us"))
	}
	switch rapid.IntRange(0, 11).Draw(r, "type") {
	case 0:
		return "TINYINT", fmt.Sprint(rapid.Int8().Draw(r, "v"))
	case 1:
		return "INT", fmt.Sprint(rapid.Int32().Draw(r, "v"))
	case 2:
		return "BIGINT", fmt.Sprint(rapid.Int64().Draw(r, "v"))
	case 3:
		return "DOUBLE", fmt.Sprint(rapid.Float64().Draw(r, "v"))
	case 4:
		return "FLOAT", fmt.Sprint(rapid.Float32().Draw(r, "v"))
	case 5:
		return "DECIMAL(38,10)", fmt.Sprintf("%d.%d", rapid.Int64().Draw(r, "v"), rapid.IntRange(0, 999999999).Draw(r, "f"))
	case 6:
		return "BOOLEAN", fmt.Sprint(rapid.Bool().Draw(r, "v"))
	case 7:
		return "DATE", day()
	case 8:
		return "TIMESTAMP", day() + " " + clock() + "Z"
	case 9:
		return "TIMESTAMP_NTZ", day() + " " + clock()
	case 10:
		return "INTERVAL DAY TO SECOND", fmt.Sprintf("%d %s", rapid.IntRange(-10000, 10000).Draw(r, "days"), clock())
	}
	return "INTERVAL YEAR TO MONTH", fmt.Sprintf("%d-%d", rapid.IntRange(-1000, 1000).Draw(r, "years"), rapid.IntRange(0, 11).Draw(r, "months"))
}

// FuzzIntervals reads any text as an interval: no panic, and what is read is in range.
func FuzzIntervals(f *testing.F) {
	for _, s := range []string{"1 day", "interval -1 year 2 months", "1 02:03:04.5", "INTERVAL '1-2' YEAR TO MONTH", "- 3 hours", "1.5 seconds", "99999999999999 days"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, _, _, _ = ParseCalendarInterval(s)
		for _, typ := range []string{"INTERVAL DAY TO SECOND", "INTERVAL HOUR", "INTERVAL YEAR TO MONTH", "INTERVAL MINUTE TO SECOND"} {
			it, err := types.ParseType(typ)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = ParseInterval([]byte(s), it)
			_, _ = ParseIntervalLiteral(s, it)
		}
	})
}

// FuzzTimestamps reads any text as a date, timestamp or time: no panic.
func FuzzTimestamps(f *testing.F) {
	for _, s := range []string{"2020-01-02 03:04:05.123456+01:00", "2020-1-2T3:4", "+12345-06-07", "10:20", "2020-02-30", "-0044-03-15", "2020-01-01 10:20:30 Europe/Paris", "epoch"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := []byte(s)
		ParseDate(b)
		if us, ok := ParseTimestamp(b, time.UTC, 0); ok {
			_ = time.UnixMicro(us)
		}
		ParseTimestampNTZ(b, false)
		if n, ok := ParseTimeOfDay(b); ok && (n < 0 || n >= 86400e9) {
			t.Errorf("%q is the time %d", s, n)
		}
	})
}
