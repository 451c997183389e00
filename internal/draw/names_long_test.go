package draw

import (
	"fmt"
	"testing"
)

// A list of numbers of which none follow each other is cut where terms are limited.
func TestManyRuns(t *testing.T) {
	var ports []string
	for i := range 20 {
		ports = append(ports, fmt.Sprintf("Ethernet%d", 4*i))
	}
	const first = "Ethernet[0,4,8,12,16,20,24,28,32,36,40,44,48,52,56,60"
	for _, c := range []struct {
		names []string
		limit int
		want  string
	}{
		{ports[:16], 4, first + "]"},
		{ports, 4, first + "] and 4 more"},
		{append(ports[:20:20], "Ethernet1", "leaf1"), 4, "Ethernet[0-1,4,8,12,16,20,24,28,32,36,40,44,48,52,56,60] and 5 more"},
		{ports, 0, first + ",64,68,72,76]"},
	} {
		if have := Names(c.names, c.limit); have != c.want {
			t.Errorf("%v, %d: %s; want %s", c.names, c.limit, have, c.want)
		}
	}
}
