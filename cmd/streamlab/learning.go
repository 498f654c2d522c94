//go:build cgo

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"streamlab/internal/config"
	"streamlab/labs"
	"streamlab/tui/screen"
)

// learning is what a user has learned: which steps of which lesson were seen, and what was predicted. It is one
// file of the user, beside no lab, so that it lasts when a lab's folder goes.
type learning struct {
	mu   sync.Mutex
	file string // "": nothing is kept

	counted      bool // right and total are those of the file
	right, total int
}

// learned is the file's content. Fields are only added.
type learned struct {
	Version     int              `json:"version"`
	Steps       map[string][]int `json:"steps"` // seen steps by lesson
	Predictions []predicted      `json:"predictions"`
	Opened      []string         `json:"opened,omitempty"` // files of the user's own labs, the last one first
}

// keptOpened bounds Opened.
const keptOpened = 20

// opened notes that a lab of the user's own was opened. A list that cannot be written is shorter, no more.
func (l *learning) opened(file string) {
	file, err := filepath.Abs(file)
	if err != nil || shippedFile(file) {
		return
	}
	if list := l.read().Opened; len(list) > 0 && list[0] == file {
		return
	}
	_ = l.change(func(x *learned) {
		list := slices.DeleteFunc(x.Opened, func(f string) bool { return f == file })
		x.Opened = append([]string{file}, list[:min(len(list), keptOpened-1)]...)
	})
}

// shippedFile says whether a file is a shipped lab, or the copy that one runs in.
func shippedFile(file string) bool {
	name := strings.TrimSuffix(filepath.Base(file), ".yaml")
	in := filepath.Base(filepath.Dir(file))
	return slices.Contains(labs.Names(), name) && (in == name || in == "labs")
}

type predicted struct {
	Lab   string    `json:"lab"`
	Place string    `json:"place"`
	Said  string    `json:"said"`
	Was   string    `json:"was,omitempty"`
	Right bool      `json:"right"`
	Open  bool      `json:"open,omitempty"` // nobody judged it
	Time  time.Time `json:"time"`
}

// keptPredictions bounds the file.
const keptPredictions = 1000

// newLearning keeps what was learned in the user's configuration folder; without one it keeps nothing.
func newLearning() *learning {
	dir, err := config.Folder()
	if err != nil {
		return &learning{}
	}
	return &learning{file: filepath.Join(dir, "learning.json")}
}

// read gives the content; a file that is missing or damaged counts as empty.
func (l *learning) read() learned {
	x := learned{Version: 1, Steps: map[string][]int{}}
	if l.file == "" {
		return x
	}
	raw, err := os.ReadFile(l.file)
	if err != nil || json.Unmarshal(raw, &x) != nil || x.Steps == nil {
		x.Version, x.Steps = 1, map[string][]int{}
	}
	return x
}

// change rewrites the file as a whole, so that a crash leaves the old or the new one.
func (l *learning) change(f func(x *learned)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == "" {
		return nil
	}
	x := l.read()
	f(&x)
	raw, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(l.file), ".learning-*")
	if err != nil {
		return err
	}
	_, err = t.Write(raw)
	if e := t.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(t.Name(), l.file)
	}
	if err != nil {
		os.Remove(t.Name())
	}
	return err
}

// seen gives the steps of a lesson that were seen.
func (l *learning) seen(lesson string) map[int]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := map[int]bool{}
	for _, i := range l.read().Steps[lesson] {
		m[i] = true
	}
	return m
}

// see remembers a step of a lesson.
func (l *learning) see(lesson string, step int) error {
	return l.change(func(x *learned) {
		if !slices.Contains(x.Steps[lesson], step) {
			x.Steps[lesson] = append(x.Steps[lesson], step)
			slices.Sort(x.Steps[lesson])
		}
	})
}

// forget drops the steps of a lesson; predictions stay, since they were made.
func (l *learning) forget(lesson string) error {
	return l.change(func(x *learned) { delete(x.Steps, lesson) })
}

// predict stores a prediction.
func (l *learning) predict(p screen.Prediction) error {
	return l.change(func(x *learned) {
		x.Predictions = append(x.Predictions, predicted{p.Lab, p.Place, p.Said, p.Was, p.Right, p.Open, time.Now().UTC()})
		if n := len(x.Predictions) - keptPredictions; n > 0 {
			x.Predictions = x.Predictions[n:]
		}
	})
}

// Predicted implements screen.Predictor, as does Score.
func (l *learning) Predicted(p screen.Prediction) error {
	if err := l.predict(p); err != nil {
		return err
	}
	l.mu.Lock()
	l.counted = false
	l.mu.Unlock()
	return nil
}

// Score counts the predictions of the user that were judged, of all labs. It is asked while drawing: the file
// is read once.
func (l *learning) Score() (right, total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.counted {
		l.right, l.total, l.counted = 0, 0, true
		for _, p := range l.read().Predictions {
			if !p.Open {
				l.total++
				if p.Right {
					l.right++
				}
			}
		}
	}
	return l.right, l.total
}
