package apply

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// uptime returns the seconds since the machine was started, which no setting of the clock changes (proc_uptime(5)).
func uptime() (float64, error) {
	const file = "/proc/uptime"
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", file, err)
	}
	return seconds, nil
}
