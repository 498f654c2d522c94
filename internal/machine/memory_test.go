package machine

import (
	"errors"
	"testing"
)

func TestMemoryIsTheLesserOfMachineAndContainer(t *testing.T) {
	for _, c := range []struct {
		info, group string
		want        int64
	}{
		{"MemTotal:  1000 kB\nMemFree: 5 kB\n", "", 1_024_000}, {"MemTotal:  1000 kB\n", "max\n", 1_024_000},
		{"MemTotal:  1000 kB\n", "500000\n", 500_000}, {"", "500000\n", 500_000}, {"", "", 0},
	} {
		got := memory(func(name string) ([]byte, error) {
			text := c.info
			if name != "/proc/meminfo" {
				text = c.group
			}
			if text == "" {
				return nil, errors.New("not there")
			}
			return []byte(text), nil
		})
		if got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.info, c.group, got, c.want)
		}
	}
}
