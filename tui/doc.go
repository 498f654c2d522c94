// Package tui is the workbench: the root model with its five tabs, the stack of screens of each, the
// key table, the overlays, and the feed that looks at the opened lab.
//
// There is one Bubble Tea model. Engine goroutines publish snapshots and are never asked to wait: the
// root looks at them ten times a second while something runs, compares versions, and draws only if one
// moved. Work that may block runs in a tea.Cmd; its answer comes back as a function that changes the
// screen where keys do, so no screen needs a lock.
package tui
