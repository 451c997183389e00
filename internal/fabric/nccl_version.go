package fabric

import (
	"fmt"
	"strconv"
	"strings"
)

// NCCLVersion is a version of NCCL as the library numbers it: 23007 is 2.30.7, 2803 is 2.8.3 (nccl.h, NCCL_VERSION).
// 0 is unknown. A version without its last number, such as 2.28, stands for the newest of its series.
type NCCLVersion int

// anyPatch is the last number of a version that was written without it.
const anyPatch = 99

// ParseNCCLVersion reads a version as people and programs write it: 2.30.7, 2.30, v2.30.7-1, NCCL 2.28.9+cuda12.9, or
// the library's own number, 23007.
func ParseNCCLVersion(text string) (NCCLVersion, error) {
	plain := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(text), "NCCL "), "v")
	plain, _, _ = strings.Cut(plain, "+")
	plain, _, _ = strings.Cut(plain, "-")
	parts := strings.Split(plain, ".")
	numbers := make([]int, len(parts))
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || len(parts) > 1 && n >= 100 {
			return 0, unreadVersion(text)
		}
		numbers[i] = n
	}
	switch len(numbers) {
	case 1:
		const least, most = 2000, 100 * 10000 // from 2.0 on; below version 100
		if numbers[0] < least || numbers[0] >= most {
			return 0, unreadVersion(text)
		}
		return NCCLVersion(numbers[0]), nil
	case 2:
		return numbered(numbers[0], numbers[1], anyPatch), nil
	case 3:
		return numbered(numbers[0], numbers[1], numbers[2]), nil
	}
	return 0, unreadVersion(text)
}

func unreadVersion(text string) error {
	return fmt.Errorf("NCCL version %s: not a version such as 2.30.7", Quote(text))
}

// numbered is nccl.h's NCCL_VERSION: up to 2.8 its first number counts thousands.
func numbered(major, minor, patch int) NCCLVersion {
	if major <= 2 && minor <= 8 {
		return NCCLVersion(major*1000 + minor*100 + patch)
	}
	return NCCLVersion(major*10000 + minor*100 + patch)
}

// String is the version as NCCL prints it: 2.30.7.
func (v NCCLVersion) String() string {
	if v <= 0 {
		return "unknown"
	}
	major, rest := int(v)/10000, int(v)%10000
	if v < 10000 {
		major, rest = int(v)/1000, int(v)%1000
	}
	if rest%100 == anyPatch {
		return fmt.Sprintf("%d.%d", major, rest/100)
	}
	return fmt.Sprintf("%d.%d.%d", major, rest/100, rest%100)
}

// Minor is the middle number of a version: 30 of 2.30.7; 0 of one that is unknown.
func (v NCCLVersion) Minor() int {
	if v < 10000 { // up to 2.8 the first number counts thousands
		return int(v) % 1000 / 100
	}
	return int(v) % 10000 / 100
}
