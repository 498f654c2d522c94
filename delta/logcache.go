package delta

import (
	"path/filepath"
	"sync"
	"time"
)

// maxLogs bounds how many logs a cache keeps.
const maxLogs = 64

// logCache keeps logs by folder, the most recently used ones.
type logCache struct {
	mu   sync.Mutex
	logs map[string]*Log
	used []string // oldest first
}

func (c *logCache) get(root string, p *Provider) *Log {
	root = filepath.Clean(root)
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.logs[root]; l != nil {
		for i, r := range c.used {
			if r == root {
				c.used = append(append(c.used[:i:i], c.used[i+1:]...), root)
				break
			}
		}
		return l
	}
	l := Open(root)
	if p.Now != nil {
		l.Now = p.Now
	}
	if p.Zone != nil {
		l.Zone = p.Zone()
	}
	if l.Zone == nil {
		l.Zone = time.UTC
	}
	if p.Durable != nil {
		l.Durable = p.Durable()
	}
	if c.logs == nil {
		c.logs = map[string]*Log{}
	}
	if len(c.used) >= maxLogs {
		delete(c.logs, c.used[0])
		c.used = c.used[1:]
	}
	c.logs[root] = l
	c.used = append(c.used, root)
	return l
}
