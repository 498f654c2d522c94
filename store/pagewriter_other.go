//go:build !linux

package store

import "errors"

// A pageWriter is to be had on Linux only. Elsewhere the anchor is written by a goroutine.
type pageWriter struct{}

// errNoQueue says that the file, or this machine, cannot be written this way.
var errNoQueue = errors.New("no asynchronous writes")

func openPageWriter(string) (*pageWriter, error) { return nil, errNoQueue }

func (w *pageWriter) start([]byte, int64) error { return errNoQueue }

func (w *pageWriter) pages() []byte { return nil }

func (w *pageWriter) wait() error { return errNoQueue }

func (w *pageWriter) close() error { return nil }
