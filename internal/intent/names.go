package intent

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// maxNICName is the longest name of a Linux interface in bytes: IFNAMSIZ (16) less the closing zero
// (include/uapi/linux/if.h).
const maxNICName = 15

// checkNICName returns why a name cannot be that of a network interface. Linux itself refuses names that
// are empty, too long, "." or "..", or hold '/', ':' or white space (net/core/dev.c, dev_valid_name).
// Beyond that only characters are taken that mean nothing to a shell, to YAML or to a sysctl path.
func checkNICName(name string) error {
	switch {
	case len(name) > maxNICName:
		return fmt.Errorf("NIC name %s has %d bytes: Linux allows at most %d", fabric.Quote(name), len(name), maxNICName)
	case name == "." || name == "..":
		return fmt.Errorf("NIC name %q is a directory, which Linux refuses", name)
	case slices.Contains([]string{"lo", "all", "default"}, name):
		return fmt.Errorf("NIC name %q is reserved: lo is the loopback, all and default are sysctl directories", name)
	}
	return checkCharacters("NIC", name, "._-")
}

// checkHostName returns why a name is no host name: labels of RFC 1123, 2.1, with dots between them.
func checkHostName(name string) error {
	if len(name) > fabric.MaxHostName {
		return fmt.Errorf("host name %s has %d bytes: at most %d are allowed (RFC 1123)", fabric.Quote(name), len(name), fabric.MaxHostName)
	}
	if err := checkCharacters("host", name, ".-"); err != nil {
		return err
	}
	for _, target := range []string{fabric.OnKubernetes, fabric.OnWorkstation} {
		if strings.EqualFold(name, target) { // also where a file system takes no notice of case
			return fmt.Errorf("host name %q is what rendered files for %s are filed under: use another, such as %s1", name,
				map[string]string{fabric.OnKubernetes: "the API server of Kubernetes", fabric.OnWorkstation: "your own machine"}[target], target)
		}
	}
	const longestLabel = 63 // bytes, RFC 1123 2.1 with RFC 1035 2.3.4
	for _, label := range strings.Split(name, ".") {
		switch {
		case label == "":
			return fmt.Errorf("host name %q has an empty label: each dot needs letters or digits on both sides (RFC 1123)", name)
		case len(label) > longestLabel:
			return fmt.Errorf("host name %q has a label of %d bytes: at most %d are allowed (RFC 1123)", name, len(label), longestLabel)
		case label[0] == '-' || label[len(label)-1] == '-':
			return fmt.Errorf("host name %q has a label that begins or ends with '-' (RFC 1123)", name)
		}
	}
	return nil
}

// checkCharacters takes ASCII letters, digits and the extra characters, and no '-' in front, which a
// command would read as an option.
func checkCharacters(what, name, extra string) error {
	if name == "" {
		return fmt.Errorf("%s name is empty", what)
	}
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune(extra, r) {
			return fmt.Errorf("%s name %s has the character %q: allowed are letters, digits and %s", what, fabric.Quote(name), r, quoted(extra))
		}
	}
	if name[0] == '-' {
		return fmt.Errorf("%s name %s begins with '-', which commands read as an option", what, fabric.Quote(name))
	}
	return nil
}

func quoted(characters string) string {
	words := make([]string, 0, len(characters))
	for _, r := range characters {
		words = append(words, fmt.Sprintf("%q", r))
	}
	return strings.Join(words, " ")
}

// duplicate finds the first name that stands twice; fold says that case does not matter.
func duplicate(names []string, fold bool) (string, bool) {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		key := name
		if fold {
			key = strings.ToLower(name)
		}
		if seen[key] {
			return name, true
		}
		seen[key] = true
	}
	return "", false
}
