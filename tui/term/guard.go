// Package term deals with the terminal itself: whether there is one, what it can show, and leaving it
// as it was found, also after the program died in a way that no code of its own can handle.
package term

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"

	"streamlab/internal/safego"
)

// guardEnv marks the child, so that it does not start a child of its own.
const guardEnv = "STREAMLAB_GUARDED"

// reset leaves the alternate screen, shows the cursor, and switches off mouse, focus reports, bracketed
// paste, synchronized output and colours. Sent only after a child that did not end in order.
const reset = "\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l" +
	"\x1b[?1049l\x1b[?25h\x1b[0m\r\x1b[K"

// Guarded reports whether this process is the child of a guard.
func Guarded() bool { return os.Getenv(guardEnv) != "" }

// Environ is the environment for a program that the workbench starts: without the mark of the guard's child,
// which changes exit codes.
func Environ() (out []string) {
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, guardEnv+"=") {
			out = append(out, kv)
		}
	}
	return out
}

// Guard runs this program once more as a child on the same terminal and waits for it. The child is the
// workbench; the parent holds no state that could be damaged and puts the terminal right when the child
// is killed, crashes, or ends from inside a library. It returns the exit code to end with.
//
// logDir is where the child's stderr goes (crash-<time>-<pid>.log); nothing a library prints can reach
// the screen. The folder is made only if the child has something to say.
//
// Call it before anything touches the terminal, only if Guarded is false.
func Guard(logDir string) int {
	saved, terr := term.GetState(os.Stdin.Fd())
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}

	crash, err := os.CreateTemp("", "streamlab-*.log")
	if err != nil {
		fmt.Fprintln(os.Stderr, "streamlab:", err)
		return 74
	}
	defer os.Remove(crash.Name())
	defer crash.Close()

	cmd := exec.Command(exe, os.Args[1:]...)
	cmd.Env = append(os.Environ(), guardEnv+"="+strconv.Itoa(os.Getpid()))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, crash

	sigs := make(chan os.Signal, 4)
	signal.Notify(sigs, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(sigs)

	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "streamlab:", err)
		return 74
	}
	// The terminal sends ctrl+c and ctrl+\ to both processes: they are the child's to handle. Ignored
	// only now, because a child inherits what is ignored.
	signal.Ignore(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTTOU)
	// All that this process does from here on is wait: what starting left behind goes back to the system.
	debug.FreeOSMemory()
	wait := safego.Go("guard wait", cmd.Wait)
	var told syscall.Signal
	for done := false; !done; {
		select {
		case s := <-sigs:
			told, _ = s.(syscall.Signal)
			_ = cmd.Process.Signal(s) // it may just have ended
		case <-wait.Done():
			done = true
		}
	}
	err = wait.Wait()
	kept := keep(crash, logDir)
	code, how := outcome(err)
	if how == "" {
		if told != 0 {
			return 128 + int(told) // also when the end was graceful
		}
		if code != 0 {
			tail(os.Stderr, crash.Name())
		}
		return code
	}
	if terr == nil {
		_ = term.Restore(os.Stdin.Fd(), saved)
	}
	_, _ = io.WriteString(os.Stdout, reset)
	if strings.HasPrefix(how, "exit code") {
		head(os.Stderr, crash.Name())
	}
	fmt.Fprintf(os.Stderr, "streamlab: the workbench ended by %s.\n", how)
	if kept != "" {
		fmt.Fprintf(os.Stderr, "What it said last is in %s.\n", kept)
	}
	if strings.HasPrefix(how, "SIGBUS") {
		if free, ok := freeBytes(logDir); ok {
			fmt.Fprintf(os.Stderr, "The disk has %d MiB free; a full disk ends a program this way.\n", free>>20)
		}
	}
	fmt.Fprintln(os.Stderr, "Committed batches are safe; the next start goes on after them.")
	return code
}

// outcome gives the exit code of a child and, if it did not end in order, what ended it. A child that
// returned an exit code of its own has closed the terminal itself, except after a Go panic (2).
func outcome(err error) (code int, how string) {
	if err == nil {
		return 0, ""
	}
	var ee *exec.ExitError
	if !errors.As(err, &ee) {
		return 74, err.Error()
	}
	ws, ok := ee.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	switch c := ee.ExitCode(); c {
	case 129, 130, 141, 143:
		return c, ""
	default:
		if c >= exitBase && c < exitBase+96 {
			return c - exitBase, ""
		}
		if c > 2 && c < 96 {
			return c, "" // neither Go nor a library ends with these
		}
		return c, fmt.Sprintf("exit code %d", c)
	}
}

// exitBase is added to the exit code of a child that has closed the terminal itself. The sums lie apart
// from the codes that Go and libraries end with (1 of log.Fatal, 2 of a panic), which leave the terminal
// as it was, and from those of signals.
const exitBase = 160

// Code is the code to pass to os.Exit for an end in order with exit code c (0 to 95), guarded or not.
func Code(c int) int {
	if Guarded() && c >= 0 && c < 96 {
		return exitBase + c
	}
	return c
}

// keep moves the child's stderr into dir if there is any, and gives the path.
func keep(f *os.File, dir string) string {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 || dir == "" {
		return ""
	}
	data, err := os.ReadFile(f.Name())
	if err != nil || os.MkdirAll(dir, 0o755) != nil {
		return ""
	}
	path := filepath.Join(dir, fmt.Sprintf("crash-%s-%d.log", time.Now().Format("20060102-150405"), os.Getpid()))
	if os.WriteFile(path, data, 0o600) != nil {
		return ""
	}
	return path
}

// tail prints what a child that ended in order said on stderr: its error message.
func tail(w io.Writer, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	if len(data) > 4096 {
		data = data[len(data)-4096:]
	}
	_, _ = w.Write(data)
}

// head prints what a crashed child said first: what happened, without the stacks.
func head(w io.Writer, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if i == 3 || strings.TrimSpace(line) == "" {
			return
		}
		fmt.Fprintln(w, line)
	}
}

func freeBytes(dir string) (uint64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		if err := unix.Statfs(".", &st); err != nil {
			return 0, false
		}
	}
	return st.Bavail * uint64(st.Bsize), true
}

// SetCrashOutput sends the traces of a crash of this process to its stderr, which the guard keeps.
func SetCrashOutput() {
	_ = debug.SetCrashOutput(os.Stderr, debug.CrashOptions{})
}
