package collective

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// settings is what the environment of a job sets.
type settings struct {
	algorithms [algorithms]bool
	protocols  [protocols]bool
	forced     bool // NCCL_ALGO or NCCL_PROTO excludes something
	asked      bool // NCCL_PROTO is set: its protocols are used as given
	nvls       bool
	collnet    bool
	byteType   bool // 8 bit types, which switches do not reduce
	version    string
	tuning     []fabric.TuningCell
}

// ncclFunction is NCCL's name of a collective in the prefixes of NCCL_ALGO.
func ncclFunction(f function) string {
	return [functions]string{"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"}[f]
}

func readSettings(job Job, f function) (settings, error) {
	s := settings{nvls: true, version: job.Version, tuning: job.Tuning}
	for i := range s.algorithms {
		s.algorithms[i] = true
	}
	for i := range s.protocols {
		s.protocols[i] = true
	}
	t := strings.ToLower(job.DType)
	s.byteType = t == "int8" || t == "uint8" || t == "char" || strings.HasPrefix(t, "f8") || strings.HasPrefix(t, "fp8") || strings.HasPrefix(t, "float8")
	s.nvls = job.Env["NCCL_NVLS_ENABLE"] != "0"
	s.collnet = job.Env["NCCL_COLLNET_ENABLE"] == "1"
	if text := job.Env["NCCL_ALGO"]; text != "" {
		on, err := readList("NCCL_ALGO", text, f, func(name string) (int, error) { a, err := parseAlgorithm(name); return int(a), err })
		if err != nil {
			return s, err
		}
		s.forced = true
		for i := range s.algorithms {
			s.algorithms[i] = on(i)
		}
	}
	if text := job.Env["NCCL_PROTO"]; text != "" {
		on, err := readList("NCCL_PROTO", text, f, func(name string) (int, error) { p, err := parseProtocol(name); return int(p), err })
		if err != nil {
			return s, err
		}
		s.forced, s.asked = true, true
		for i := range s.protocols {
			s.protocols[i] = on(i)
		}
	}
	for _, name := range []string{"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"} {
		if text, ok := job.Env[name]; ok {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil || n < 0 || n > 1024 {
				return s, fmt.Errorf("%s %q: not a number between 0 and 1024", name, text)
			}
		}
	}
	return s, nil
}

// readList reads the value of NCCL_ALGO or NCCL_PROTO as NCCL does: comma-separated names, a leading ^ for all
// but these, and after a semicolon the same for one collective, with its name and a colon. Newer versions
// refuse an unknown name, and so does this; a question mark and blanks are removed.
func readList(what, text string, f function, parse func(string) (int, error)) (func(int) bool, error) {
	var listed map[int]bool
	var except bool
	for i, part := range strings.Split(text, ";") {
		prefix, names, hasPrefix := strings.Cut(part, ":")
		if !hasPrefix {
			if prefix, names = "", part; i > 0 {
				return nil, fmt.Errorf("%s %q: only the first list may be without a collective", what, text)
			}
		}
		mine := !hasPrefix || strings.EqualFold(strings.TrimSpace(prefix), ncclFunction(f))
		names, not := strings.CutPrefix(strings.TrimSpace(names), "^")
		set := map[int]bool{}
		for name := range strings.SplitSeq(names, ",") {
			n, err := parse(strings.Trim(name, " ?"))
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", what, text, err)
			}
			set[n] = true
		}
		if mine {
			listed, except = set, not
		}
	}
	return func(i int) bool { return listed == nil || listed[i] != except }, nil
}
