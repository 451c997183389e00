package facts

import (
	"fmt"
	"testing"
)

// Texts about shared NVSwitches, memory regions and the subnet manager, as programs print them in each order.
func TestShareTexts(t *testing.T) {
	const sortedKeys = `   "partitionInfo" : [
      {
         "gpuInfo" : [
            {
               "physicalId" : 3,
               "uuid" : ""
            },
            {
               "physicalId" : 1,
            }
         ],
         "isActive" : 1,
         "numGpus" : 2,
         "partitionId" : 3
      },
      {
         "gpuInfo" : [
            {
               "physicalId" : 2,
            }
         ],
         "isActive" : 0,
         "numGpus" : 1,
         "partitionId" : 8
      }
`
	for name, tt := range map[string]struct {
		read func(text, host string) (string, error)
		text string
		want string // empty: an error
	}{
		"partitions":                  {share, sortedKeys, "[{3 2 true [1 3]} {8 1 false [2]}]"},
		"partitions, reversed":        {share, "\"partitionId\" : 9\n\"numGpus\" : 1,\n\"isActive\" : 1,\n\"physicalId\" : 3,\n", "[{9 1 true [3]}]"},
		"a partition without a GPU":   {share, "\"partitionId\" : 9\n\"numGpus\" : 2,\n\"isActive\" : 1,\n\"physicalId\" : 3,\n", "[{9 2 true []}]"},
		"a partition without a state": {share, "\"partitionId\" : 9\n\"numGpus\" : 1,\n\"physicalId\" : 3,\n", ""},
		"no partitions":               {share, "\"version\" : 1\n", ""},
		"modules":                     {modules, "        Module Id                         : 3\n        Module Id                         : 1\n", "[1 3]"},
		"regions":                     {regions, "$ lspci -vv -s 05:00.0 | grep Region\nRegion 0: Memory at fc000000 (32-bit)\nRegion 1: Memory at <unassigned> (64-bit, prefetchable)\n\t\tRegion 1: Memory at 0000 (64-bit)\n", "0000:05:00.0 [{0 true} {1 false}]"},
		"virtual ports of a switch":   {virtualPorts, "ib1 [standalone: master] (config) # show ib sm virt\nDisabled\n", "Disabled"},
		"virtual ports of OpenSM":     {virtualPorts, "virt_enabled 0\nvirt_enabled 2\n", "2"},
		"a word by itself":            {virtualPorts, "Enabled\n", ""},
	} {
		got, err := tt.read(tt.text, "host1")
		if (err != nil) != (tt.want == "") || err == nil && got != tt.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func share(text, host string) (string, error) {
	f, err := parseFMPM(text, host)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(f.NVShare.Partitions), nil
}

func modules(text, host string) (string, error) {
	f, err := parseModules(text, host)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(f.NVShare.Modules), nil
}

func regions(text, host string) (string, error) {
	f, err := parseRegions(text, host)
	if err != nil {
		return "", err
	}
	return f.PCI[0].Address + " " + fmt.Sprint(f.PCI[0].Regions), nil
}

func virtualPorts(text, host string) (string, error) {
	f, err := parseSMVirtual(text, host)
	return f.SMVirtual, err
}
