package engine

import (
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"streamlab/errs"
)

// Setting describes one session setting.
type Setting struct {
	Key, Default, Doc string
	Kind              string // bool, int, text, ms, zone, memory
	Pinned            bool   // fixed in a checkpoint at a query's first start
}

// Settings is the table of all session settings, sorted by key.
func Settings() []Setting { return settings }

const (
	keyZone          = "spark.sql.session.timeZone"
	keyANSI          = "spark.sql.ansi.enabled"
	keyPartitions    = "spark.sql.shuffle.partitions"
	keyPolicy        = "spark.sql.streaming.multipleWatermarkPolicy"
	keyRetain        = "spark.sql.streaming.minBatchesToRetain"
	keyNoData        = "spark.sql.streaming.noDataMicroBatches.enabled"
	keyIdleInterval  = "spark.sql.streaming.noDataProgressEventInterval"
	keyRecent        = "spark.sql.streaming.numRecentProgressUpdates"
	keyPolling       = "spark.sql.streaming.pollingDelay"
	keyCheckpoint    = "spark.sql.streaming.checkpointLocation"
	keyForceDelete   = "spark.sql.streaming.forceDeleteTempCheckpointLocation"
	keyStopActive    = "spark.sql.streaming.stopActiveRunOnRestart"
	keyStopTimeout   = "spark.sql.streaming.stopTimeout"
	keyOperatorCheck = "spark.sql.streaming.unsupportedOperationCheck"
	keyDurability    = "streamlab.durability"
	keySchemaCheck   = "spark.sql.streaming.stateStore.stateSchemaCheck"
	keyMemoryResume  = "streamlab.memory.resume"
	keyMemory        = "streamlab.memory.budget"
)

var settings = []Setting{
	{"spark.sql.adaptive.enabled", "true", "Accepted for labs that set it; has no effect here.", "bool", false},
	{keyANSI, "true", "Overflow, bad casts and division by zero are errors; false gives null or wraps.", "bool", false},
	{"spark.sql.caseSensitive", "false", "Names are compared without case.", "bool", false},
	{"spark.sql.files.ignoreCorruptFiles", "false", "Skip files that cannot be read.", "bool", false},
	{"spark.sql.files.ignoreMissingFiles", "false", "Skip files that vanished after they were planned.", "bool", false},
	{keyZone, "UTC", "Zone in which timestamps are shown and read.", "zone", false},
	{keyPartitions, "4", "Number of partitions that stateful operators show; hash ranges are an inner matter.", "int", true},
	{keyCheckpoint, "", "Folder under which queries without checkpointLocation keep theirs.", "text", false},
	{keyForceDelete, "true", "Delete a temporary checkpoint although its query failed; Spark keeps it.", "bool", false},
	{keyRetain, "100", "Batches that stay readable in a checkpoint.", "int", false},
	{keyPolicy, "min", "How several watermarks become one: min or max.", "text", true},
	{keyNoData, "true", "Run a batch without data when the watermark would release state.", "bool", false},
	{keyIdleInterval, "10000", "Time between two idle reports.", "ms", false},
	{keyRecent, "100", "Progress reports kept in memory.", "int", false},
	{keyPolling, "10", "Pause of an idle query between two looks at its sources.", "ms", false},
	{keyRealTimeAllow, "true", "Refuse sinks and operators that real-time mode is not known to suit.", "bool", false},
	{keyRealTimeLeast, "5000", "Least interval of the real-time trigger.", "ms", false},
	{"spark.sql.streaming.schemaInference", "false", "Let file sources find their schema out.", "bool", false},
	{"spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider", "Accepted for labs that set it; state is kept in the checkpoint's own store.", "text", false},
	{keySchemaCheck, "true", "Refuse a restart whose state has other types.", "bool", false},
	{"spark.sql.streaming.statefulOperator.allowMultiple", "true", "Several stateful operators in one query.", "bool", false},
	{"spark.sql.streaming.statefulOperator.checkCorrectness.enabled", "true", "Refuse chains that may lose rows.", "bool", false},
	{keyStopActive, "true", "A second start on a checkpoint stops the first run.", "bool", false},
	{keyStopTimeout, "0", "How long stop waits; 0 is for ever.", "ms", false},
	{keyOperatorCheck, "true", "Refuse what Spark cannot run as a stream.", "bool", false},
	{keyMemory, "60%", "Memory of all queries together: a share of the machine's, or bytes (512m, 4g); 0 is no limit. A query at 80 % of its part reads less at a time.", "memory", false},
	{keyMemoryResume, "false", "Let memory sinks go on from a checkpoint when their table is there, which Spark cannot; true in labs.", "bool", false},
	{keyDurability, "power", "power: commits survive a power cut; process: they survive a kill.", "text", false},
}

// Conf is the settings of a session. Safe for concurrent use.
type Conf struct {
	mu sync.RWMutex
	m  map[string]string
	// initial is what the session began with: RESET goes back to it.
	initial map[string]string
}

func newConf(set map[string]string) (*Conf, error) {
	c := &Conf{m: map[string]string{}}
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if err := c.Set(k, set[k]); err != nil {
			return nil, err
		}
	}
	c.initial = c.All()
	return c, nil
}

func settingOf(key string) (Setting, bool) {
	for _, s := range settings {
		if s.Key == key {
			return s, true
		}
	}
	return Setting{}, false
}

// Set changes a setting. Errors: INVALID_CONF_VALUE.*; UNKNOWN_SETTING for a streamlab.* key that is not in
// the table. Keys of Spark that we do not know are kept and shown, as Spark does.
func (c *Conf) Set(key, value string) error {
	s, ok := settingOf(key)
	if !ok && strings.HasPrefix(key, "streamlab.") {
		return errs.New("UNKNOWN_SETTING", "key", key)
	}
	if ok {
		bad := func(kind string) error {
			return errs.New("INVALID_CONF_VALUE.TYPE_MISMATCH", "confName", key, "confValue", value, "confType", kind)
		}
		switch s.Kind {
		case "bool":
			if _, err := strconv.ParseBool(strings.ToLower(value)); err != nil {
				return bad("boolean")
			}
		case "int":
			if n, err := strconv.Atoi(value); err != nil {
				return bad("int")
			} else if n <= 0 {
				return errs.New("INVALID_CONF_VALUE.REQUIREMENT", "confName", key, "confValue", value,
					"confRequirement", "The value must be positive.")
			}
		case "ms":
			if _, err := parseMs(value); err != nil {
				return bad("time in ms")
			}
		case "memory":
			if _, ok := parseMemory(value); !ok {
				return bad("bytes or a share of memory")
			}
		case "zone":
			if _, err := ParseZone(value); err != nil {
				return errs.New("INVALID_CONF_VALUE.TIME_ZONE", "confName", key, "confValue", value)
			}
		}
		if key == keyPolicy && !strings.EqualFold(value, "min") && !strings.EqualFold(value, "max") {
			return errs.New("INVALID_CONF_VALUE.REQUIREMENT", "confName", key, "confValue", value, "confRequirement",
				"Invalid value for '"+key+"'. Valid values are 'min' and 'max'")
		}
	}
	c.mu.Lock()
	c.m[key] = value
	c.mu.Unlock()
	return nil
}

// Unset takes a setting back to its default.
func (c *Conf) Unset(key string) {
	c.mu.Lock()
	delete(c.m, key)
	c.mu.Unlock()
}

// Reset takes a setting back to what the session began with.
func (c *Conf) Reset(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.initial[key]; ok {
		c.m[key] = v
		return
	}
	delete(c.m, key)
}

// Get is the value of a setting, its default if it is not set, "" if it is unknown.
func (c *Conf) Get(key string) string {
	c.mu.RLock()
	v, ok := c.m[key]
	c.mu.RUnlock()
	if ok {
		return v
	}
	s, _ := settingOf(key)
	return s.Default
}

// All gives every setting that was set.
func (c *Conf) All() map[string]string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	m := make(map[string]string, len(c.m))
	for k, v := range c.m {
		m[k] = v
	}
	return m
}

func (c *Conf) clone() *Conf { return &Conf{m: c.All(), initial: c.initial} }

func (c *Conf) flag(key string) bool {
	b, _ := strconv.ParseBool(strings.ToLower(c.Get(key)))
	return b
}

func (c *Conf) number(key string) int {
	n, _ := strconv.Atoi(c.Get(key))
	return n
}

func (c *Conf) duration(key string) time.Duration {
	d, _ := parseMs(c.Get(key))
	return d
}

func (c *Conf) zone() *time.Location {
	z, err := ParseZone(c.Get(keyZone))
	if err != nil {
		return time.UTC
	}
	return z
}

// parseMs reads a time in ms, with Spark's suffixes s, m, min, h, d, ms.
func parseMs(s string) (time.Duration, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.Duration(n) * time.Millisecond, nil
	}
	if d, ok := strings.CutSuffix(s, "min"); ok {
		s = d + "m"
	}
	return time.ParseDuration(s)
}

// ParseZone reads a session time zone: a region ("Europe/Berlin"), UTC, Z, or an offset ("+02:00").
func ParseZone(s string) (*time.Location, error) {
	t := strings.TrimPrefix(strings.TrimPrefix(s, "UTC"), "GMT")
	if t == "" || t == "Z" {
		return time.UTC, nil
	}
	if t[0] == '+' || t[0] == '-' {
		h, m, _ := strings.Cut(t[1:], ":")
		hh, err := strconv.Atoi(h)
		mm := 0
		if err == nil && m != "" {
			mm, err = strconv.Atoi(m)
		}
		if err != nil || hh > 18 || mm > 59 {
			return nil, errs.New("INVALID_TIMEZONE", "timeZone", s)
		}
		sec := hh*3600 + mm*60
		if t[0] == '-' {
			sec = -sec
		}
		return time.FixedZone(s, sec), nil
	}
	z, err := time.LoadLocation(s)
	if err != nil {
		return nil, errs.New("INVALID_TIMEZONE", "timeZone", s)
	}
	return z, nil
}
