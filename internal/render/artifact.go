// Package render turns parts of a plan into the files that a machine reads: one Go file per artifact
// format, each taking only the part that it needs. It is pure, and the same part gives the same bytes.
package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Permission bits of what is rendered.
const (
	modePublic  = 0o644
	modePrivate = 0o600 // netplan warns of every file that others can read; NetworkManager passes over it
	modeProgram = 0o755
)

func newArtifact(target, path string, mode uint32, content []byte) fabric.Artifact {
	return fabric.Artifact{Target: target, Path: path, Mode: mode, SHA256: sum(content), File: placeOf(target, path), Content: content}
}

// placeOf returns a place in one folder per target with flat names. The folders of each target's own /etc would be ten
// times as many, and making folders is what takes the time of a large render.
func placeOf(target, path string) string {
	return target + "/" + strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "__")
}

// sum returns a SHA-256 in lower case hexadecimal, as sha256sum prints it.
func sum(content []byte) string {
	h := sha256.Sum256(content)
	return hex.EncodeToString(h[:])
}

// maxNICName is IFNAMSIZ without its final zero, in bytes (linux/if.h).
const maxNICName = 15

// CheckNICName reports whether every format here can carry an interface name. The sysctl format has no
// quoting, so letters, digits, '.', '_' and '-' are all that can pass; '@' and ':' belong to iproute2.
// The error names the first character that cannot.
func CheckNICName(name string) error {
	if name == "" || len(name) > maxNICName {
		return fmt.Errorf("interface name %q: %d bytes, not 1 to %d", name, len(name), maxNICName)
	}
	switch name {
	case ".", "..", "all", "default":
		return fmt.Errorf("interface name %q: reserved in /proc/sys/net/ipv4/conf", name)
	}
	for _, r := range name {
		if !plain(r) {
			return fmt.Errorf("interface name %q: %q is not one of letters, digits, '.', '_', '-'", name, r)
		}
	}
	return nil
}

func plain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-'
}
