package apply

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// proveKeyfile lets NetworkManager's own reader and writer take a keyfile apart and put it together. What they do not
// understand they leave out without an error, so the settings that come back are compared with those of the file.
func proveKeyfile(ctx context.Context, _ Bundle, file fabric.Artifact, _ Activation) (p fabric.Proof, refused string) {
	const nmcli = "nmcli"
	if !onPath(nmcli) {
		return notProved(nmcli + " is not installed"), ""
	}
	read := host.Command{Argv: []string{nmcli, "--offline", "connection", "modify"}, Stdin: bytes.NewReader(file.Content)}
	out, err := host.Output(ctx, host.Local{}, read)
	if err != nil {
		return notProved(nmcli + " --offline reads no keyfile here (NetworkManager 1.40 and later do): " + err.Error()), ""
	}
	has := keyfileSettings(string(out))
	for _, s := range keyfileSettings(string(file.Content)) {
		if !slices.Contains(has, s) {
			said := nmcli + " --offline does not take " + s
			return notProved(said), said
		}
	}
	return fabric.Proof{Level: fabric.Parsed, By: []string{nmcli + " --offline"}, Reason: "no NetworkManager runs on a lab host"}, ""
}

// keyfileSettings are the lines of a keyfile with their section: [ipv4] method=manual.
func keyfileSettings(text string) (settings []string) {
	section := ""
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = line
		default:
			settings = append(settings, section+" "+line)
		}
	}
	return settings
}
