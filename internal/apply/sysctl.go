package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// setSysctls activates the rendered /etc/sysctl.d files in this network namespace. A variable that
// belongs to the whole machine, or that a namespace does not have, is left alone and reported.
func setSysctls(artifacts []fabric.Artifact) (pending []string, err error) {
	for _, a := range artifacts {
		if !strings.HasPrefix(a.Path, "/etc/sysctl.d/") {
			continue
		}
		for line := range strings.Lines(string(a.Content)) {
			left, err := setSysctl(line)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", a.Path, err)
			}
			if left != "" {
				pending = append(pending, left)
			}
		}
	}
	return pending, nil
}

// setSysctl reads a line as sysctl.d(5) says: comments, `name = value`, and a leading `-` for one that may fail.
func setSysctl(line string) (pending string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' || line[0] == ';' {
		return "", nil
	}
	line, mayFail := strings.CutPrefix(line, "-")
	name, value, ok := strings.Cut(line, "=")
	if !ok {
		return "", fmt.Errorf("line %q: not of the form name = value", line)
	}
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !strings.HasPrefix(name, "net.") {
		return name + ": belongs to the whole machine, not to a lab host", nil
	}
	err = os.WriteFile("/proc/sys/"+sysctlPath(name), []byte(value), 0)
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, fs.ErrNotExist):
		return name + ": does not exist in this network namespace", nil
	case errors.Is(err, fs.ErrPermission), mayFail:
		return fmt.Sprintf("%s: %v", name, err), nil
	default:
		return "", err
	}
}

// sysctlPath swaps dots and slashes, as sysctl.d(5) says of a name whose first separator is a dot: the dot
// of a VLAN interface is written as a slash there.
func sysctlPath(name string) string { return strings.NewReplacer(".", "/", "/", ".").Replace(name) }
