package engine

import "syscall"

// lowPriority makes the calling thread give way to others. It is the thread alone on Linux.
func lowPriority() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), 10) // without it a replay is only less polite
}
