// Package screen holds the screens of the workbench, one file each: a struct with the screen's own
// state, Handle for an action, Draw onto a canvas. A screen is not a Bubble Tea model. Handle changes
// only the screen and may return work to be done elsewhere; Draw is pure: it reads the snapshots the
// root has fetched, calls nothing and takes no lock, so a slow engine never delays a key.
//
// What screens need of a lab is the Workbench interface, in plain structs owned by this package.
package screen
