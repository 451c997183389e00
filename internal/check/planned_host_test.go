package check

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestBelowFloors: of a firmware that one use finds too old the floor is named, that of its own train first.
func TestBelowFloors(t *testing.T) {
	floors := []fabric.FirmwareFloor{{Least: "235.2.86.0"}, {Least: "237.1.137.0"}}
	for have, want := range map[string]string{
		"231.2.63.0": "235.2.86.0", "234.1.124.0/pkg 234.1.124.0": "235.2.86.0", "235.2.85.9": "235.2.86.0", "235.2.86.0": "", "235.3.0.0": "",
		"236.1.0.0": "", "237.1.99.0": "237.1.137.0", "237.1.137.0": "", "238.1.138.0": "",
	} {
		floor, below := belowFloors(versionNumbers(have), floors)
		if below != (want != "") || below && floor.Least != want {
			t.Errorf("%s: below %s: %t, want %q", have, floor.Least, below, want)
		}
	}
	if floor, below := belowFloors([]int{1, 2}, nil); below {
		t.Errorf("below no floor: %v", floor)
	}
}
