package ncclenv

import (
	"fmt"
	"slices"
	"strings"
)

// Problem says what NCCL makes of a value that is not of the variable's kind; empty where nothing is wrong with it. An empty
// value is none: NCCL then keeps its default (ncclLoadParam and ncclGetEnv of src/misc/param.cc).
func (v Variable) Problem(value string) string {
	if value == "" {
		return ""
	}
	switch v.Kind {
	case Int:
		return intProblem(value)
	case Bool:
		if !slices.Contains([]string{"1", "T", "TRUE", "0", "F", "FALSE"}, strings.ToUpper(value)) {
			return "it takes 1 or 0"
		}
	case Interfaces, HCAs:
		return listProblem(value)
	case Distance:
		return distanceProblem(v.Name, value)
	case Level:
		if !slices.Contains(levels(), strings.ToUpper(value)) {
			return "it takes one of " + strings.Join(levels(), ", ") + "; with any other word nothing is printed"
		}
	case Family:
		if value != "AF_INET" && value != "AF_INET6" {
			return "it takes AF_INET or AF_INET6"
		}
	}
	return ""
}

// intProblem follows strtoll with base 0: it reads as far as there is a number, and 0 where there is none, without an error.
func intProblem(value string) string {
	rest := strings.TrimLeft(value, " \t\n\v\f\r")
	sign := strings.TrimLeft(rest, "+-")
	if len(rest)-len(sign) > 1 {
		sign = ""
	}
	digits, base := sign, "0123456789"
	if h := strings.TrimPrefix(strings.ToLower(sign), "0x"); len(h) < len(sign) {
		digits, base = h, "0123456789abcdef"
	}
	n := len(digits) - len(strings.TrimLeft(strings.ToLower(digits), base))
	switch {
	case n == 0:
		return "it takes a number; NCCL reads this as 0"
	case strings.TrimSpace(digits[n:]) != "":
		return fmt.Sprintf("it takes a number; NCCL reads %s and leaves out the rest", value[:len(value)-len(digits)+n])
	}
	return ""
}

// listProblem follows parseStringList of src/misc/utils.cc: it splits at commas and trims nothing.
func listProblem(value string) string {
	names := strings.TrimPrefix(strings.TrimPrefix(value, "^"), "=")
	for name := range strings.SplitSeq(names, ",") {
		switch {
		case name == "":
			continue
		case strings.TrimSpace(name) != name:
			return fmt.Sprintf("blank beside %q: names are split at commas and not trimmed, so this one matches nothing", strings.TrimSpace(name))
		case strings.ContainsAny(name, " \t;"):
			return fmt.Sprintf("%q is read as one name: names are split at commas only", name)
		case strings.ContainsAny(name, "^="):
			return fmt.Sprintf("%q is read as it stands: ^ and = count at the beginning of the whole list only", name)
		}
	}
	return ""
}

// distanceProblem follows ncclGetLevel of src/graph/paths.cc: words are compared as they stand, up to SYS; what begins with a digit is
// an old number; anything else counts as unset, without a message. Ports of a NIC are a distance between NICs only.
func distanceProblem(name, value string) string {
	known := []string{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"}
	if name == "NCCL_NET_MERGE_LEVEL" {
		known = append(known, "PORT")
	}
	if slices.Contains(known, value) || value[0] >= '0' && value[0] <= '9' {
		return ""
	}
	said := "it takes one of " + strings.Join(known, ", ") + "; NCCL keeps its default"
	if slices.Contains(known, strings.ToUpper(strings.TrimSpace(value))) {
		said = "it takes " + strings.ToUpper(strings.TrimSpace(value)) + ", in capitals and without blanks; NCCL keeps its default"
	}
	return said
}

// levels are those of NCCL_DEBUG: src/debug.cc of NCCL, and of RCCL, which has ERROR and NONE too.
func levels() []string {
	return []string{"VERSION", "WARN", "ATTN", "INFO", "ABORT", "TRACE", "ERROR", "NONE"}
}
