package fault

import "sync"

var watching struct {
	sync.Mutex
	byName map[string][]*func()
}

// Watch calls f, in the goroutine that passes, whenever the point is passed, until stop is called. It is for
// tests that look at what a crash there would leave.
func Watch(name string, f func()) (stop func()) {
	watching.Lock()
	defer watching.Unlock()
	if watching.byName == nil {
		watching.byName = map[string][]*func(){}
	}
	watching.byName[name] = append(watching.byName[name], &f)
	active.Store(true)
	return func() {
		watching.Lock()
		defer watching.Unlock()
		for i, g := range watching.byName[name] {
			if g == &f {
				watching.byName[name] = append(watching.byName[name][:i:i], watching.byName[name][i+1:]...)
				break
			}
		}
	}
}

func watched(name string) {
	watching.Lock()
	list := watching.byName[name]
	watching.Unlock()
	for _, f := range list {
		(*f)()
	}
}
