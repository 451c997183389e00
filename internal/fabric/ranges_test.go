package fabric

import "testing"

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		list []int
		want string
	}{{nil, "none"}, {[]int{3}, "3"}, {[]int{3, 4}, "3-4"}, {[]int{0, 1, 2, 5, 7, 8}, "0-2, 5, 7-8"}} {
		if got := Ranges(c.list, "none"); got != c.want {
			t.Errorf("%v is %q, want %q", c.list, got, c.want)
		}
	}
}
