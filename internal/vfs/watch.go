package vfs

import "errors"

// A Watch tells which names have come up in folders, or what is behind them has changed, without reading the
// folders. It tells of what happens on this machine; so it takes only folders of file systems on which nothing
// happens elsewhere. For one goroutine.
type Watch interface {
	// Add begins to watch a folder; one that is watched already stays so. Of a name that comes up after Add has
	// returned, Changes will tell. Errors: ErrNotWatched.
	Add(dir string) error
	// Changes gives what has come up since it was called last, in the order in which it did and perhaps several
	// times over; name is valid during the call. If whole is false, something was missed, or a folder is not
	// what it was: then the folders have to be read, after Add was called for them again.
	Changes(each func(dir string, name []byte, folder bool)) (whole bool)
	Close() error
}

// ErrNotWatched says that changes of a folder are not told: the file system may be changed from elsewhere, the
// system has no such thing, or no more of it.
var ErrNotWatched = errors.New("the folder cannot be watched")

// watchOS is set where there are watches.
var watchOS func() (Watch, error)

// NewWatch makes a watch without folders. Errors: ErrNotWatched.
func NewWatch(fsys FS) (Watch, error) {
	if _, ok := fsys.(osFS); !ok || watchOS == nil {
		return nil, ErrNotWatched
	}
	return watchOS()
}
