package delta

import (
	"context"
	"strconv"
	"strings"
	"time"

	"streamlab/codec"
	delta "streamlab/delta"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/catalog"
)

// TableOptions documents the options of batch reads.
func TableOptions() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "path", Doc: "folder of the table"},
		{Name: "versionAsOf", Doc: "the table as it was in a version"},
		{Name: "timestampAsOf", Doc: "the table as it was at a time"},
		{Name: "readChangeFeed", Default: "false", Doc: "give changes with _change_type, _commit_version, _commit_timestamp"},
		{Name: "readChangeData", Default: "false", Doc: "an old name of readChangeFeed"},
		{Name: "startingVersion", Doc: "first version of the changes"}, {Name: "startingTimestamp", Doc: "time of the first changes"},
		{Name: "endingVersion", Doc: "last version of the changes"}, {Name: "endingTimestamp", Doc: "time of the last changes"},
		{Name: "mergeSchema", Doc: "no effect"},
	}
}

// Travel gives a table as reader options want it: at a version or a time, or its changes. Errors:
// DELTA_ONEOF_IN_TIMETRAVEL, DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE, DELTA_TIMESTAMP_INVALID, those of the
// change data feed.
func Travel(t *delta.Table, o sources.Options, zone *time.Location) (catalog.Table, error) {
	for _, name := range []string{"readChangeFeed", "readChangeData"} {
		if v, ok := o.Get(name); ok && strings.EqualFold(v, "true") {
			return changes(t, o, zone)
		}
	}
	version, byVersion := o.Get("versionAsOf")
	stamp, byTime := o.Get("timestampAsOf")
	switch {
	case byVersion && byTime:
		return nil, errs.New("DELTA_ONEOF_IN_TIMETRAVEL")
	case byVersion:
		n, err := strconv.ParseInt(strings.TrimSpace(version), 10, 64)
		if err != nil {
			return nil, errs.New("DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE", "timeTravelKey", "versionAsOf")
		}
		return t.AsOfVersion(n)
	case byTime:
		at, err := instant(stamp, zone)
		if err != nil {
			return nil, errs.New("DELTA_TIMESTAMP_INVALID", "expr", stamp)
		}
		return t.AsOfTimestamp(at)
	}
	return t, nil
}

func instant(text string, zone *time.Location) (int64, error) {
	at, ok := codec.NewClock(zone, time.Now).ParseTimestamp([]byte(text))
	if !ok {
		return 0, errs.New("DELTA_TIMESTAMP_INVALID", "expr", text)
	}
	return at, nil
}

// changes reads the options of a batch read of the change data feed.
func changes(t *delta.Table, o sources.Options, zone *time.Location) (catalog.Table, error) {
	bound := func(which string) (int64, bool, error) {
		v, hasV := o.Get(which + "Version")
		s, hasS := o.Get(which + "Timestamp")
		switch {
		case hasV && hasS:
			return 0, false, errs.New("DELTA_MULTIPLE_CDC_BOUNDARY", "startingOrEnding", which)
		case hasV:
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			if err != nil || n < 0 {
				return 0, false, errs.New("DELTA_ILLEGAL_OPTION", "name", which+"Version", "input", v, "explain", "must be greater than or equal to zero")
			}
			return n, true, nil
		case hasS:
			at, err := instant(s, zone)
			if err != nil {
				return 0, false, err
			}
			if which == "starting" {
				n, err := t.Log().FirstVersionFrom(at)
				return n, true, err
			}
			n, err := t.Log().VersionAt(at)
			if errs.Has(err, "DELTA_TIMESTAMP_GREATER_THAN_COMMIT") {
				return -1, false, nil
			}
			return n, true, err
		}
		return 0, false, nil
	}
	from, ok, err := bound("starting")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errs.New("DELTA_NO_START_FOR_CDC_READ")
	}
	to, ok, err := bound("ending")
	if err != nil {
		return nil, err
	}
	if !ok {
		to = -1
	}
	return t.Changes(from, to)
}

// NewTable opens the table at a path for a batch read; path@v12 and path@yyyyMMddHHmmssSSS are old versions.
func NewTable(_ context.Context, def sources.Def) (catalog.Table, error) {
	t, err := OpenPath(def.Path, def.Zone, nil)
	if err != nil {
		return nil, err
	}
	d, ok := t.(*delta.Table)
	if !ok {
		return t, nil
	}
	return Travel(d, def.Options, def.Zone)
}

// OpenPath opens the table at a path, which may name a version behind an @. open makes the table of a
// folder; nil: a log of its own.
func OpenPath(path string, zone *time.Location, open func(root string) (*delta.Table, error)) (catalog.Table, error) {
	if open == nil {
		open = func(root string) (*delta.Table, error) {
			l := delta.Open(root)
			l.Zone = zone
			return delta.OpenTable(l, catalog.Definition{Location: root, External: true})
		}
	}
	t, err := open(path)
	if err == nil {
		return t, nil
	}
	i := strings.LastIndexByte(path, '@')
	if i < 0 || strings.Contains(path[i:], "/") || !errs.Has(err, "DELTA_PATH_DOES_NOT_EXIST") {
		return nil, err
	}
	root, at := path[:i], path[i+1:]
	old, err2 := open(root)
	if err2 != nil {
		return nil, err
	}
	if v, ok := strings.CutPrefix(at, "v"); ok {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, errs.New("DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE", "timeTravelKey", "versionAsOf")
		}
		return old.AsOfVersion(n)
	}
	if len(at) != len("yyyyMMddHHmmssSSS") {
		return nil, err
	}
	if zone == nil {
		zone = time.UTC
	}
	when, err3 := time.ParseInLocation("20060102150405.000", at[:14]+"."+at[14:], zone)
	if err3 != nil {
		return nil, err
	}
	return old.AsOfTimestamp(when.UnixMicro())
}
