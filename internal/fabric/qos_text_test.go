package fabric

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestDSCPPriorities(t *testing.T) {
	all := DSCPPriorities{}
	for v := range 64 {
		all[v] = v / 8
	}
	for want, d := range map[string]DSCPPriorities{
		`"26:3 48:7"`:    {26: 3, 48: 7},
		`"0-25:0 26:3"`:  ranges(0, 25, 0, 26, 26, 3),
		`"24-25:3 26:4"`: {24: 3, 25: 3, 26: 4},
		`"1:0 3:0"`:      {1: 0, 3: 0},
		`""`:             {},
		`"0-7:0 8-15:1 16-23:2 24-31:3 32-39:4 40-47:5 48-55:6 56-63:7"`: all,
	} {
		have, err := json.Marshal(d)
		if err != nil || string(have) != want {
			t.Errorf("%v: %s, %v; want %s", d, have, err, want)
		}
		var back DSCPPriorities
		if err := json.Unmarshal(have, &back); err != nil || !maps.Equal(back, d) {
			t.Errorf("%s: read back as %v, %v", have, back, err)
		}
	}
	for _, bad := range []string{"64:0", "26:8", "26", "26:", ":3", "7-0:1", "-1:0", "0-64:1", "26:3,48:7", "0-999999999999:1", "a:b"} {
		if err := new(DSCPPriorities).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// ranges takes the first and the last DSCP value and their priority, and so on.
func ranges(of ...int) DSCPPriorities {
	d := DSCPPriorities{}
	for i := 0; i < len(of); i += 3 {
		for v := of[i]; v <= of[i+1]; v++ {
			d[v] = of[i+2]
		}
	}
	return d
}
