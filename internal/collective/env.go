package collective

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclenv"
	"railwright.dev/railwright/internal/ncclgraph"
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

// functionNames are NCCL's names of collectives in the prefixes of NCCL_ALGO, in the order of function.
func functionNames() []string {
	return []string{"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"}
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
	s.nvls = !job.is("NCCL_NVLS_ENABLE", 0)
	s.collnet = job.is("NCCL_COLLNET_ENABLE", 1)
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
	return s, nil
}

// readList reads the value of NCCL_ALGO or NCCL_PROTO as NCCL does: comma-separated names in any case, a leading ^ for all
// but these, and after a semicolon the same for one collective, with its name and a colon. Blanks are parts of names, and what it does
// not know ends the job with an error (nccl, src/graph/tuning.cc, parseList).
func readList(what, text string, f function, parse func(string) (int, error)) (func(int) bool, error) {
	var listed map[int]bool
	var except bool
	refused := func(err error) error {
		return fmt.Errorf("%s=%s ends the job: %w", what, fabric.Quote(text), err)
	}
	for i, part := range fields(text, ";") {
		of, names, mine := "", part, true
		if parts := fields(part, ":"); len(parts) > 1 {
			of, names = parts[0], parts[1]
			known := functionNames()
			at := slices.IndexFunc(known, func(name string) bool { return strings.EqualFold(name, of) })
			if at < 0 {
				return nil, refused(fabric.UnknownName("collective", of, known))
			}
			mine = function(at) == f
		} else if i > 0 {
			return nil, refused(errors.New("only the first list may be without a collective"))
		}
		names, not := strings.CutPrefix(names, "^")
		set := map[int]bool{}
		for _, name := range fields(names, ",") {
			n, err := parse(name)
			if err != nil {
				return nil, refused(err)
			}
			set[n] = true
		}
		if mine {
			listed, except = set, not
		}
	}
	return func(i int) bool { return listed == nil || listed[i] != except }, nil
}

// fields splits a text as strtok does: what is empty is left out.
func fields(text, separator string) []string {
	return slices.DeleteFunc(strings.Split(text, separator), func(s string) bool { return s == "" })
}

// integer reads a numeric setting as the library does; standard stands for one that is unset or empty.
func (j Job) integer(name string, standard int64) int64 {
	return ncclgraph.Options{Env: j.Env}.Integer(name, standard)
}

// is reports whether a setting is set to a number.
func (j Job) is(name string, n int64) bool { return j.integer(name, n-1) == n }

// number is what NCCL works with where a setting is set; 0 for one that is unset or not above 0.
func number(job Job, name string) int {
	if job.Env[name] == "" {
		return 0
	}
	n, _ := ncclenv.Taken(name, job.integer(name, 0))
	return int(max(0, min(n, math.MaxInt32)))
}

// channelSettings are the settings of the least (MIN) or the most (MAX) channels that count: the older name does where the newer one
// is unset (nccl, src/graph/connect.cc, ncclMinNchannels).
func (j Job) channelSettings(which string) []string {
	name := "NCCL_" + which + "_NCHANNELS"
	if j.Env[name] == "" {
		name = "NCCL_" + which + "_NRINGS"
	}
	return []string{name, "NCCL_" + which + "_CTAS"}
}
