package fabric

import "testing"

func TestNCCLVersions(t *testing.T) {
	for text, want := range map[string]NCCLVersion{
		"2.30.7": 23007, " v2.28.9-1 ": 22809, "2.28.9+cuda12.9": 22809, "22809": 22809, "2.28": 22899, "NCCL 2.27.7": 22707, "2.8.3": 2803, "2803": 2803, "2.9.6": 20906, "3.0.0": 30000,
	} {
		v, err := ParseNCCLVersion(text)
		if err != nil || v != want {
			t.Errorf("%q: %d, %v, want %d", text, v, err, want)
		}
		again, err := ParseNCCLVersion(v.String())
		if err != nil || again != v {
			t.Errorf("%q is printed as %q, which is read as %d, %v", text, v, again, err)
		}
	}
	for _, text := range []string{"", "2", "two", "2.30.7.1", "2.100.1", "-2.3", "2.-3.1", "99999999", "2..1", "2.28.x", "v", "+cuda12", "20.300"} {
		if v, err := ParseNCCLVersion(text); err == nil {
			t.Errorf("%q: read as %s", text, v)
		}
	}
	if got := NCCLVersion(0).String(); got != "unknown" {
		t.Errorf("0 is %q", got)
	}
}
