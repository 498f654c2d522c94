package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"streamlab/errs"
)

// takeLock locks the folder for this process and this open. The text in LOCK is for messages only: what
// counts is the flock, which the kernel drops with the process.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, "LOCK")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		pid, host, since := readOwner(path)
		f.Close()
		return nil, errs.New("CHECKPOINT_IN_USE", "checkpointLocation", dir, "pid", pid, "host", host, "since", since)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	text := fmt.Sprintf("%d %s %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readOwner(path string) (pid, host, since string) {
	text, _ := os.ReadFile(path)
	parts := strings.Fields(string(text))
	if len(parts) == 3 {
		if _, err := strconv.Atoi(parts[0]); err == nil {
			return parts[0], parts[1], parts[2]
		}
	}
	return "unknown", "unknown", "unknown" // the owner has only just taken the lock
}

// Hold locks a checkpoint without opening it, for whoever is going to move its folder. Errors:
// CHECKPOINT_IN_USE.
func Hold(dir string) (release func() error, err error) {
	f, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}
