package apply

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// kernelWords are the words that the rendered files of update-grub add to the kernel's command line.
func kernelWords(artifacts []fabric.Artifact) (words []string, err error) {
	for _, a := range artifacts {
		if path.Dir(a.Path) != grubFolder {
			continue
		}
		for line := range strings.Lines(string(a.Content)) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			rest, ok := strings.CutPrefix(line, `GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX `)
			rest, closed := strings.CutSuffix(rest, `"`)
			if !ok || !closed || strings.ContainsAny(rest, "\"'$`\\") {
				return nil, fmt.Errorf("%q: line %q: adds no words to GRUB_CMDLINE_LINUX", a.Path, line)
			}
			words = append(words, strings.Fields(rest)...)
		}
	}
	return words, nil
}

// commandLineDiffers returns which planned words the running kernel was not started with.
func commandLineDiffers(artifacts []fabric.Artifact) (differs []string, err error) {
	words, err := kernelWords(artifacts)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return nil, err
	}
	return missingWords(words, string(line)), nil
}

func missingWords(words []string, commandLine string) (missing []string) {
	has := strings.Fields(commandLine)
	for _, w := range words {
		if !slices.Contains(has, w) {
			missing = append(missing, "kernel command line: "+w+" is missing: needs "+grubCommand)
		}
	}
	return missing
}
