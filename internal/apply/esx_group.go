package apply

import (
	"regexp"
	"strings"
)

// grouped joins changes that follow each other and differ in the address of their device alone: a host has eight GPUs and as many NICs.
func grouped(changes []Change) []Change {
	address := regexp.MustCompile(`\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b`)
	var out []Change
	var last string // the path of the last one, without its address
	for _, c := range changes {
		at := address.FindAllString(c.Path, -1)
		if len(at) != 1 {
			out, last = append(out, c), ""
			continue
		}
		shape := strings.Replace(c.Path, at[0], "\x00", 1)
		if n := len(out) - 1; shape == last && out[n].Kind == c.Kind && out[n].Reason == c.Reason {
			end := len(shape) - strings.Index(shape, "\x00") - 1 // of what follows the addresses
			before, after := out[n].Path[:len(out[n].Path)-end], out[n].Path[len(out[n].Path)-end:]
			out[n].Path = before + ", " + at[0] + after
			continue
		}
		out, last = append(out, c), shape
	}
	return out
}
