package engine

import (
	"errors"
	"iter"
	"strings"
	"time"

	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// GroupStateTimeout is the clock of a group's timeouts.
type GroupStateTimeout = plan.Timing

// The clocks of timeouts.
const (
	NoTimeout             GroupStateTimeout = plan.NoTime
	ProcessingTimeTimeout GroupStateTimeout = plan.ProcessingTime
	EventTimeTimeout      GroupStateTimeout = plan.EventTime
)

// GroupStateConf says how MapGroupsWithState and FlatMapGroupsWithState work. The zero value has no timeouts,
// output mode append (update for MapGroupsWithState) and no initial state.
type GroupStateConf struct {
	Timeout GroupStateTimeout
	// OutputMode is what FlatMapGroupsWithState's function promises about its rows: append or update.
	OutputMode string
	// InitialState is the state before the first micro-batch: static, grouped by the same keys, one row a key, with
	// the columns of the state's type.
	InitialState *GroupedData
}

// GroupState is the state of one key within one call of a function. It is valid during the call, for one
// goroutine. Setters keep their first error, which ends the query even where it is not looked at.
type GroupState[S any] struct {
	s     *exec.GroupState
	codec *goValue[S]
	err   error
}

func (g *GroupState[S]) keep(err error) error {
	if g.err == nil {
		g.err = err
	}
	return err
}

// Exists reports whether the key has state.
func (g *GroupState[S]) Exists() bool {
	_, ok := g.s.Value()
	return ok
}

// Get is the state; ok is false, and v zero, if the key has none.
func (g *GroupState[S]) Get() (v S, ok bool) {
	cells, ok := g.s.Value()
	if !ok {
		return v, false
	}
	v, err := g.codec.decode(cells)
	return v, g.keep(err) == nil
}

// Update sets the state. A nil pointer, slice or map is no state: ILLEGAL_STATE_STORE_VALUE.NULL_VALUE.
func (g *GroupState[S]) Update(v S) error {
	cells := g.codec.encode(nil, &v)
	if cells[0] == 0 {
		return g.keep(errs.New("ILLEGAL_STATE_STORE_VALUE.NULL_VALUE", "stateName", "groupState"))
	}
	g.s.Update(cells)
	return nil
}

// Remove takes the state away.
func (g *GroupState[S]) Remove() { g.s.Remove() }

// HasTimedOut reports that the call is for a timeout: there are no rows. The state is still there.
func (g *GroupState[S]) HasTimedOut() bool { return g.s.TimedOut() }

// SetTimeoutDuration asks for a call when the clock of a micro-batch is past this one's by more than d. Every call clears
// the timeout first. Errors: _LEGACY_ERROR_TEMP_2203 without ProcessingTimeTimeout, INVALID_TIMEOUT.
func (g *GroupState[S]) SetTimeoutDuration(d time.Duration) error {
	return g.keep(g.s.SetTimeoutDuration(d.Milliseconds()))
}

// SetTimeoutTimestamp asks for a call when the watermark is past ms. Errors: _LEGACY_ERROR_TEMP_2205 without
// EventTimeTimeout, INVALID_TIMEOUT for a time before the watermark.
func (g *GroupState[S]) SetTimeoutTimestamp(ms int64) error {
	return g.keep(g.s.SetTimeoutTimestamp(ms))
}

// CurrentWatermarkMs is the watermark in milliseconds since 1970. Errors: _LEGACY_ERROR_TEMP_2204 without one.
func (g *GroupState[S]) CurrentWatermarkMs() (int64, error) {
	ms, err := g.s.WatermarkMs()
	return ms, g.keep(err)
}

// CurrentProcessingTimeMs is the time of the micro-batch: the same in a re-run.
func (g *GroupState[S]) CurrentProcessingTimeMs() int64 { return g.s.NowMs() }

// MapGroupsWithState calls f once per key with rows in a micro-batch, and once per timeout, and gives what it returns: Spark's
// mapGroupsWithState. K is the type of the keys: a struct with a field for each in order, or the type of the only
// one. V is the type of a row: a struct whose fields are found by name among the columns, without regard to
// case. goType says which Go types stand for which columns. The query's output mode must be update. Errors
// come from the call that ends the chain.
func MapGroupsWithState[K, V, S, U any](g *GroupedData, c GroupStateConf, f func(key K, rows iter.Seq[V], state *GroupState[S]) (U, error)) *DataFrame {
	c.OutputMode = "update"
	return groupsWithState(g, c, plan.MapGroupsKind, func(key K, rows iter.Seq[V], state *GroupState[S], emit func(U)) error {
		u, err := f(key, rows, state)
		if err == nil {
			emit(u)
		}
		return err
	})
}

// FlatMapGroupsWithState is MapGroupsWithState for any number of rows per call, which f gives to emit.
func FlatMapGroupsWithState[K, V, S, U any](g *GroupedData, c GroupStateConf, f func(key K, rows iter.Seq[V], state *GroupState[S], emit func(U)) error) *DataFrame {
	return groupsWithState(g, c, plan.FlatMapGroupsKind, f)
}

func groupsWithState[K, V, S, U any](g *GroupedData, c GroupStateConf, kind plan.GroupsKind, f func(K, iter.Seq[V], *GroupState[S], func(U)) error) *DataFrame {
	b, err := newGroupCodecs[K, V, U](g)
	if err != nil {
		return &DataFrame{s: g.d.s, err: err}
	}
	state, err := goValueOf[S]()
	if err != nil {
		return &DataFrame{s: g.d.s, err: err}
	}
	mode := strings.ToLower(c.OutputMode)
	switch mode {
	case "":
		mode = "append"
	case "append", "update":
	default:
		return &DataFrame{s: g.d.s, err: errs.New("STREAMING_OUTPUT_MODE.INVALID", "outputMode", c.OutputMode)}
	}
	quiet := g.d.s.conf.flag("spark.sql.streaming.flatMapGroupsWithState.skipEmittingInitialStateKeys")
	code := &exec.Groups{Value: state.g.t, Quiet: quiet, Function: func(s *exec.GroupState, key []byte, rows iter.Seq[[]byte], emit func([]byte)) error {
		k, err := b.key.decode(key)
		if err != nil {
			return err
		}
		h := &GroupState[S]{s: s, codec: state}
		in := &decoded[V]{from: rows, codec: b.in}
		err = safego.Call("groups with state", func() error { return f(k, in.all, h, b.emitter(emit)) })
		if err = firstOf(in.err, h.err, err); err == nil {
			return nil
		}
		return userError(err, "FLATMAPGROUPSWITHSTATE_USER_FUNCTION_ERROR")
	}}
	var initial plan.Node
	if c.InitialState != nil {
		if initial, err = b.initialState(c.InitialState, state.g.t, true); err != nil {
			return &DataFrame{s: g.d.s, err: err}
		}
	}
	return g.d.with(func(plan.Node) (plan.Node, error) {
		return &plan.MapGroups{Child: b.child, Keys: b.keys, Values: b.values, Kind: kind, Mode: mode, Time: c.Timeout,
			Code: code, Initial: initial, Out: b.out.schema}, nil
	})
}

func firstOf(list ...error) error {
	for _, e := range list {
		if e != nil {
			return e
		}
	}
	return nil
}

// userError wraps what is not one of the engine's own conditions.
func userError(err error, condition string, params ...any) error {
	var own *errs.Error
	if errors.As(err, &own) && own.Condition != "INTERNAL_ERROR" && own.Condition != "PANIC" {
		return err
	}
	return errs.Wrap(err, condition, append(params, "reason", err.Error())...)
}

// decoded yields rows as Go values and keeps the error that ended it.
type decoded[V any] struct {
	from  iter.Seq[[]byte]
	codec *goRow[V]
	err   error
}

func (d *decoded[V]) all(yield func(V) bool) {
	for cells := range d.from {
		v, err := d.codec.decode(cells)
		if err != nil {
			d.err = err
			return
		}
		if !yield(v) {
			return
		}
	}
}

// groupCodecs are the Go types of a grouped operator, and the input as they want it: keys first, then a
// row's columns, then what else is an event time.
type groupCodecs[K, V, U any] struct {
	key    *goRow[K]
	in     *goRow[V]
	out    *goRow[U]
	child  plan.Node
	keys   []int
	values []int
	buf    []byte
}

func newGroupCodecs[K, V, U any](g *GroupedData) (b *groupCodecs[K, V, U], err error) {
	if g.d.err != nil {
		return nil, g.d.err
	}
	b = &groupCodecs[K, V, U]{}
	if b.key, err = goRowOf[K](); err != nil {
		return nil, err
	}
	if b.in, err = goRowOf[V](); err != nil {
		return nil, err
	}
	if b.out, err = goRowOf[U](); err != nil {
		return nil, err
	}
	if len(b.key.schema) != len(g.keys) || len(g.keys) == 0 {
		return nil, errs.New("GROUP_KEYS_DO_NOT_FIT", "type", b.key.schema.Simple(), "have", len(b.key.schema), "want", len(g.keys))
	}
	columns, err := rowColumns(g.d.Schema(), b.in.schema, b.in.scalar)
	if err != nil {
		return nil, err
	}
	b.child, err = g.keyed(b.key.schema, columns)
	if err != nil {
		return nil, err
	}
	for i := range b.key.schema {
		b.keys = append(b.keys, i)
	}
	for i := range columns {
		b.values = append(b.values, len(b.keys)+i)
	}
	return b, nil
}

func (b *groupCodecs[K, V, U]) emitter(emit func([]byte)) func(U) {
	return func(u U) {
		b.buf = b.out.encode(b.buf[:0], &u)
		emit(b.buf)
	}
}

// rowColumns gives the SQL that makes each field of want from the columns of have. Errors:
// UNRESOLVED_COLUMN.*, CANNOT_UP_CAST_DATATYPE.
func rowColumns(have, want types.Schema, scalar bool) ([]string, error) {
	out := make([]string, len(want))
	for i, f := range want {
		at := have.Index(f.Name)
		if scalar {
			if len(have) != 1 {
				return nil, errs.New("GROUP_KEYS_DO_NOT_FIT", "type", want.Simple(), "have", 1, "want", len(have))
			}
			at = 0
		}
		if at < 0 {
			return nil, errs.New("UNRESOLVED_COLUMN.WITH_SUGGESTION", "objectName", types.Quote(f.Name), "proposal", quotedNames(have))
		}
		text, err := upCast(types.Quote(have[at].Name), have[at].Type, f.Type)
		if err != nil {
			return nil, err
		}
		out[i] = text
	}
	return out, nil
}

func quotedNames(s types.Schema) string {
	names := make([]string, len(s))
	for i, f := range s {
		names[i] = types.Quote(f.Name)
	}
	return strings.Join(names, ", ")
}

// upCast gives SQL that widens a column without loss.
func upCast(column string, from, to types.DataType) (string, error) {
	switch {
	case strings.EqualFold(from.Simple(), to.Simple()):
		return column, nil
	case from.IsIntegral() && to.IsIntegral() && from.Kind < to.Kind,
		from.IsNumeric() && to.Kind == types.Double && from.Kind != types.Decimal,
		from.IsIntegral() && to.Kind == types.Float, from.Kind == types.Null,
		from.Kind == types.Date && to.Kind == types.Timestamp:
		return "CAST(" + column + " AS " + to.SQL() + ")", nil
	}
	return "", errs.New("CANNOT_UP_CAST_DATATYPE", "expression", column, "sourceType", `"`+from.SQL()+`"`, "targetType", `"`+to.SQL()+`"`,
		"details", "Choose a Go type that holds every value of the column, or cast it with selectExpr.")
}

// keyed is the DataFrame as keys, columns, and event times that are not among them.
func (g *GroupedData) keyed(keys types.Schema, columns []string) (plan.Node, error) {
	var exprs []string
	for i, k := range g.keys {
		x := g.d.SelectExpr(k)
		if x.err != nil {
			return nil, x.err
		}
		s := x.Schema()
		if len(s) != 1 {
			return nil, errs.New("GROUP_KEYS_DO_NOT_FIT", "type", keys.Simple(), "have", len(keys), "want", len(s))
		}
		text := k
		if e, err := upCast("("+k+")", s[0].Type, keys[i].Type); err != nil {
			return nil, err
		} else if e != "("+k+")" {
			text = e
		} else if i := strings.LastIndex(strings.ToLower(k), " as "); i > 0 {
			text = k[:i]
		}
		exprs = append(exprs, text+" AS "+types.Quote(s[0].Name))
	}
	exprs = append(exprs, columns...)
	for _, f := range g.d.Schema() {
		if f.DelayMicros > 0 {
			exprs = append(exprs, types.Quote(f.Name)+" AS "+types.Quote("event time "+f.Name))
		}
	}
	x := g.d.over("SELECT " + strings.Join(exprs, ", ") + " FROM __this__")
	if x.err != nil {
		return nil, x.err
	}
	p, ok := x.node.(*plan.Project)
	if !ok {
		return x.node, nil
	}
	// Only the last columns are event times: a key or value that is one of them too would make two.
	c := *p
	c.Out = append(types.Schema{}, p.Out...)
	for i := range len(g.keys) + len(columns) {
		c.Out[i].DelayMicros = 0
	}
	return &c, nil
}

// initialState is the static relation of an initial state: the keys, then the state as one value or as the columns
// of a row.
func (b *groupCodecs[K, V, U]) initialState(g *GroupedData, state types.DataType, one bool) (plan.Node, error) {
	if g.d.err != nil {
		return nil, g.d.err
	}
	if len(g.keys) != len(b.key.schema) {
		return nil, errs.New("GROUP_KEYS_DO_NOT_FIT", "type", b.key.schema.Simple(), "have", len(b.key.schema), "want", len(g.keys))
	}
	want := types.Schema{{Name: "value", Type: state}}
	if state.Kind == types.Struct {
		want = state.Fields
	}
	columns, err := rowColumns(withoutKeys(g), want, state.Kind != types.Struct)
	if err != nil {
		return nil, err
	}
	if one && state.Kind == types.Struct {
		var parts []string
		for i, f := range want {
			parts = append(parts, "'"+strings.ReplaceAll(f.Name, "'", `\'`)+"'", columns[i])
		}
		columns = []string{"named_struct(" + strings.Join(parts, ", ") + ")"}
	}
	return g.keyed(b.key.schema, columns)
}

// withoutKeys is the columns of grouped data that are no keys, or all if none are left.
func withoutKeys(g *GroupedData) types.Schema {
	var out types.Schema
	for _, f := range g.d.Schema() {
		isKey := false
		for _, k := range g.keys {
			isKey = isKey || strings.EqualFold(strings.Trim(k, "`"), f.Name)
		}
		if !isKey {
			out = append(out, f)
		}
	}
	if out == nil {
		return g.d.Schema()
	}
	return out
}
