package facts

import (
	"slices"
	"strings"
)

// GPUMatrix is what nvidia-smi topo -m says of the GPUs of a host.
type GPUMatrix struct {
	GPUs   int
	NVLink bool // some pair of them is joined by NVLink
}

// parseGPUMatrix reads the matrix of nvidia-smi topo -m; ok is false where a row or a column of a GPU is missing.
func parseGPUMatrix(text string) (m GPUMatrix, ok bool) {
	rows := 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || !isGPUColumn(words[0]) {
			continue
		}
		if isTopoHead(line) {
			m.GPUs = 0
			for m.GPUs < len(words) && isGPUColumn(words[m.GPUs]) {
				m.GPUs++
			}
			rows = 0
			continue
		}
		if len(words) <= m.GPUs || slices.Index(words, "X") != rows+1 {
			return m, false
		}
		rows++
		m.NVLink = m.NVLink || slices.ContainsFunc(words[1:m.GPUs+1], func(w string) bool { return strings.HasPrefix(w, "NV") })
	}
	return m, m.GPUs > 0 && rows == m.GPUs
}

func isGPUColumn(word string) bool {
	rest, ok := strings.CutPrefix(word, "GPU")
	return ok && rest != "" && number(rest) != nil
}
