package engine_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"
	"time"

	"streamlab/engine"
	"streamlab/sinks"
)

// session makes a session with a stream "clicks" of three rows.
func session() (*engine.Session, *engine.DataFrame) {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	s, err := engine.NewSession(engine.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	clicks := s.ReadStream().Format("memory").Schema("user STRING, page STRING, ts TIMESTAMP").Register("clicks")
	if err := s.Feed("clicks", [][]any{
		{"ada", "/", "2026-01-01 00:00:00"},
		{"bob", "/", "2026-01-01 00:00:05"},
		{"ada", "/cart", "2026-01-01 00:00:20"},
	}); err != nil {
		log.Fatal(err)
	}
	return s, clicks
}

// show runs a query over what is there and prints its rows on the console.
func show(df *engine.DataFrame, mode string) {
	q, err := df.WriteStream().Format("console").OutputMode(mode).Trigger(engine.AvailableNow()).Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := q.AwaitTermination(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// Click is a row of the stream: fields are found by name, without regard to case.
type Click struct {
	Page string
	Ts   time.Time
}

// Visit is what is remembered of a user.
type Visit struct {
	Clicks int64
	Last   string
}

// Seen is a row of the result.
type Seen struct {
	User   string `col:"user"`
	Clicks int64  `col:"clicks"`
	Last   string `col:"last"`
}

func ExampleMapGroupsWithState() {
	s, clicks := session()
	defer s.Close()
	defer os.RemoveAll(s.Dir())
	seen := engine.MapGroupsWithState(clicks.GroupBy("user"), engine.GroupStateConf{},
		func(user string, rows iter.Seq[Click], state *engine.GroupState[Visit]) (Seen, error) {
			v, _ := state.Get()
			for c := range rows {
				v.Clicks++
				v.Last = c.Page
			}
			return Seen{user, v.Clicks, v.Last}, state.Update(v)
		})
	show(seen, "update")
	// Output:
	// -------------------------------------------
	// Batch: 0
	// -------------------------------------------
	// +----+------+-----+
	// |user|clicks| last|
	// +----+------+-----+
	// | ada|     2|/cart|
	// | bob|     1|    /|
	// +----+------+-----+
}

// A visit ends ten seconds of event time after its last click.
func ExampleFlatMapGroupsWithState() {
	s, clicks := session()
	defer s.Close()
	defer os.RemoveAll(s.Dir())
	ended := engine.FlatMapGroupsWithState(clicks.WithWatermark("ts", "1 second").GroupBy("user"),
		engine.GroupStateConf{Timeout: engine.EventTimeTimeout},
		func(user string, rows iter.Seq[Click], state *engine.GroupState[Visit], emit func(Seen)) error {
			v, _ := state.Get()
			if state.HasTimedOut() {
				emit(Seen{user, v.Clicks, v.Last})
				state.Remove()
				return nil
			}
			last := time.Time{}
			for c := range rows {
				v.Clicks++
				v.Last, last = c.Page, c.Ts
			}
			if err := state.Update(v); err != nil {
				return err
			}
			return state.SetTimeoutTimestamp(last.Add(10 * time.Second).UnixMilli())
		})
	show(ended, "append")
	// Output:
	// -------------------------------------------
	// Batch: 0
	// -------------------------------------------
	// +----+------+----+
	// |user|clicks|last|
	// +----+------+----+
	// +----+------+----+
	//
	// -------------------------------------------
	// Batch: 1
	// -------------------------------------------
	// +----+------+----+
	// |user|clicks|last|
	// +----+------+----+
	// | bob|     1|   /|
	// +----+------+----+
}

// firstPages emits every page that a user had not seen before, and remembers pages for a day.
type firstPages struct {
	pages *engine.MapState[string, bool]
}

func (p *firstPages) Init(h *engine.StatefulProcessorHandle, _ sinks.OutputMode, _ engine.TimeMode) (err error) {
	p.pages, err = engine.GetMapState[string, bool](h, "pages", 24*time.Hour)
	return err
}

func (p *firstPages) HandleInputRows(user string, rows iter.Seq[Click], _ engine.TimerValues, emit func(string)) error {
	for c := range rows {
		known, err := p.pages.ContainsKey(c.Page)
		if err != nil {
			return err
		}
		if !known {
			emit(fmt.Sprint(user, " opened ", c.Page))
		}
		if err := p.pages.UpdateValue(c.Page, true); err != nil {
			return err
		}
	}
	return nil
}

func ExampleTransformWithState() {
	s, clicks := session()
	defer s.Close()
	defer os.RemoveAll(s.Dir())
	first := engine.TransformWithState[string, Click, string](clicks.GroupBy("user"),
		engine.TransformConf{TimeMode: engine.TimeModeProcessingTime}, &firstPages{})
	show(first, "append")
	// Output:
	// -------------------------------------------
	// Batch: 0
	// -------------------------------------------
	// +----------------+
	// |           value|
	// +----------------+
	// |    ada opened /|
	// |ada opened /cart|
	// |    bob opened /|
	// +----------------+
}

// A query with the continuous trigger hands rows on as they come and commits an epoch per interval.
func ExampleContinuous() {
	s, clicks := session()
	defer s.Close()
	defer os.RemoveAll(s.Dir())
	q, err := clicks.Where("page = '/cart'").SelectExpr("user").WriteStream().Format("console").
		Trigger(engine.Continuous(200 * time.Millisecond)).MaxBatches(1).Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := q.AwaitTermination(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(q.LastProgress().NumInputRows, "rows read")
}
