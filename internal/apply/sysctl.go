package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// sysctl is a line of a file of sysctl.d(5).
type sysctl struct {
	name, value string
	mayFail     bool // the line begins with -
}

// sysctlsOf reads the rendered /etc/sysctl.d files.
func sysctlsOf(artifacts []fabric.Artifact) (all []sysctl, err error) {
	for _, a := range artifacts {
		if !strings.HasPrefix(a.Path, "/etc/sysctl.d/") {
			continue
		}
		for line := range strings.Lines(string(a.Content)) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' || line[0] == ';' {
				continue
			}
			rest, mayFail := strings.CutPrefix(line, "-")
			name, value, ok := strings.Cut(rest, "=")
			if !ok {
				return nil, fmt.Errorf("%q: line %q: not of the form name = value", a.Path, line)
			}
			all = append(all, sysctl{strings.TrimSpace(name), strings.TrimSpace(value), mayFail})
		}
	}
	return all, nil
}

// setSysctls activates variables in this network namespace. What a lab host does not have is skipped; what it has and did
// not take is pending.
func setSysctls(all []sysctl) (pending, skipped []string, err error) {
	for _, s := range all {
		if reason := s.notHere(); reason != "" {
			skipped = append(skipped, s.name+": "+reason)
			continue
		}
		err := os.WriteFile(s.path(), []byte(s.value), 0)
		switch {
		case err == nil:
		case s.mayFail:
			skipped = append(skipped, fmt.Sprintf("%s: %v", s.name, err))
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			pending = append(pending, fmt.Sprintf("%s: %v", s.name, err))
		default:
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return pending, skipped, nil
}

// notHere returns why a lab host does not have a variable. One of an interface it has, if it has the interface.
func (s sysctl) notHere() string {
	if !strings.HasPrefix(s.name, "net.") {
		return "belongs to the whole machine, not to a lab host"
	}
	if _, err := os.Lstat(s.path()); errors.Is(err, fs.ErrNotExist) && !strings.Contains(s.name, ".conf.") {
		return "does not exist in this network namespace"
	}
	return ""
}

// differs compares the kernel's value with the planned one; empty: they are equal.
func (s sysctl) differs() string {
	text, err := os.ReadFile(s.path())
	if err != nil {
		return err.Error()
	}
	if is := strings.Join(strings.Fields(string(text)), " "); is != strings.Join(strings.Fields(s.value), " ") {
		return fmt.Sprintf("is %s, planned %s", is, s.value)
	}
	return ""
}

func (s sysctl) path() string { return "/proc/sys/" + sysctlPath(s.name) }

// sysctlPath swaps dots and slashes, as sysctl.d(5) says of a name whose first separator is a dot: the dot
// of a VLAN interface is written as a slash there.
func sysctlPath(name string) string { return strings.NewReplacer(".", "/", "/", ".").Replace(name) }
