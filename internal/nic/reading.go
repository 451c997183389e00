package nic

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Reading is what a text says of one NIC, and how it names the NIC: exactly one of the names is set.
type Reading struct {
	Interface string // eth1
	PCI       string // its function: 0000:18:00.0
	Card      string // a PCI function of the card, which the NIC's own is below or on
	MAC       string // lower case
	RDMA      string // its RDMA device: mlx5_0

	QoS     fabric.QoS
	Options map[string]string
}

// Reader reads what one program prints. Its runs are what asks the program about one NIC; nil: it is read from files and
// pasted texts only.
type Reader struct {
	Name    string
	Options bool // it gives stored options only
	Runs    func(n fabric.NIC) []Run
	Signs   []string               // such a line has one of these, of three bytes or more; nil: it may be any
	Begins  func(line string) bool // a line with which the output of the program begins
	GoesOn  func(line string) bool
	Read    func(text, device string) ([]Reading, error) // device: the interface that was asked about, where the text may not say so
}

// Run is a command that reads and changes nothing. Option is what it asks for; empty: traffic classes, or every option.
type Run struct {
	Argv   []string
	Option string
	Once   bool // it tells of all NICs of the host
}

// Readers are in order of trust.
func Readers() []Reader {
	return []Reader{
		niccli(), mlnxQoS(), mlxconfig(), nicctl(), mlx5Files(), cmaRoCEToS(), dcb(), ethtoolPause(), lldptool(),
	}
}

const (
	priorities = 8  // of IEEE 802.1Q, and traffic classes of IEEE 802.1Qaz
	maxDSCP    = 63 // six bits: RFC 2474
)

// errForeign says that a text is not what the program prints.
var errForeign = errors.New("not in the form that this program prints")

// command is a line on which a program was called, and what it printed.
type command struct {
	argv  []string // without sudo, the program as its base name; nil: nothing before the lines says what printed them
	lines []string
}

// prompted is a command behind a prompt: of a shell with or without names, or of its trace (set -x).
var prompted = pattern.Plain(`^\s*(?:[\w.-]+@[^#$]{1,80}[#$]|\[[^\]]{1,80}\]\s*[#$]|[$#+]+)\s+(\S.*)$`)

// commands splits a text at its command lines. A line that is a call of the program without a prompt counts too.
func commands(text, program string) []command {
	out := []command{{}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		call, ok := "", false
		if m := prompted().FindStringSubmatch(line); m != nil {
			call, ok = m[1], true
		} else if words := unsudo(strings.Fields(line)); len(words) > 1 && base(words[0]) == program {
			call, ok = line, true
		}
		if ok {
			argv := unsudo(strings.Fields(call))
			if len(argv) > 0 {
				argv[0] = base(argv[0])
				out = append(out, command{argv: argv})
				continue
			}
		}
		last := &out[len(out)-1]
		last.lines = append(last.lines, line)
	}
	return out
}

func unsudo(words []string) []string {
	for len(words) > 0 && (words[0] == "sudo" || words[0] == "-E" || words[0] == "-n") {
		words = words[1:]
	}
	return words
}

func base(program string) string { return program[strings.LastIndexByte(program, '/')+1:] }

// calls returns the name of the program that a command calls; empty where that is not said.
func (c command) program() string {
	if len(c.argv) == 0 {
		return ""
	}
	return c.argv[0]
}

// option returns the word after one of some options.
func (c command) option(names ...string) string {
	for i, word := range c.argv {
		if slices.Contains(names, word) && i+1 < len(c.argv) {
			return c.argv[i+1]
		}
		for _, name := range names {
			if v, ok := strings.CutPrefix(word, name+"="); ok {
				return v
			}
		}
	}
	return ""
}

// aboutInterface returns the interface that a command asks about.
func (c command) aboutInterface(device string, names ...string) (string, error) {
	if device != "" {
		return device, nil
	}
	name := c.option(names...)
	if name == "" {
		return "", errors.New("the text does not say which interface it is about: it is to begin with the command")
	}
	if !isInterface(name) {
		return "", fmt.Errorf("interface %q: not a name of one", name)
	}
	return name, nil
}

// isInterface is the kernel's rule for names (dev_valid_name), for what can be shown.
func isInterface(name string) bool {
	const longest = 15 // IFNAMSIZ without its zero: linux/if.h
	return name != "" && len(name) <= longest && name != "." && name != ".." && !strings.ContainsAny(name, "/: \t") && fabric.Printable(name) == name
}

func keyValue(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok
}

// readNumber reads a number of a closed range, in decimal or with 0x before it.
func readNumber(text string, most int) (int, error) {
	n, err := strconv.ParseUint(text, 0, 31)
	if digits := strings.TrimLeft(text, "0"); err != nil && digits != "" { // 07 is no octal number here
		n, err = strconv.ParseUint(digits, 10, 31)
	} else if err == nil && len(text) > 1 && text[0] == '0' && !strings.HasPrefix(text, "0x") {
		n, err = strconv.ParseUint(text, 10, 31)
	}
	if err != nil || int(n) > most {
		return 0, fmt.Errorf("%q is not a number from 0 to %d", fabric.Printable(text), most)
	}
	return int(n), nil
}

// pairs reads "0:0 1:strict": index 0 to 7, each once, and a value.
func pairs(words []string, value func(index int, text string) error) error {
	seen := [priorities]bool{}
	for _, w := range words {
		left, right, ok := strings.Cut(w, ":")
		index, err := readNumber(left, priorities-1)
		if !ok || err != nil {
			return fmt.Errorf("%q: want NUMBER:VALUE, the number from 0 to %d", fabric.Printable(w), priorities-1)
		}
		if seen[index] {
			return fmt.Errorf("%d is there twice", index)
		}
		seen[index] = true
		if err := value(index, right); err != nil {
			return err
		}
	}
	return nil
}

// queueMap reads the traffic class of each priority. All eight must be there, else it is nil.
func queueMap(words []string) ([]int, error) {
	queues := make([]int, priorities)
	err := pairs(words, func(priority int, text string) (err error) {
		queues[priority], err = readNumber(text, priorities-1)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(words) < priorities {
		return nil, nil
	}
	return queues, nil
}

// schedulers is filled from two lists that stand in any order.
type schedulers []fabric.Scheduler

func (s *schedulers) at(class int) *fabric.Scheduler {
	for len(*s) <= class {
		*s = append(*s, fabric.Scheduler{})
	}
	return &(*s)[class]
}

func (s *schedulers) algorithm(class int, text string) error {
	switch text {
	case "strict", "ets", "vendor":
		s.at(class).Algorithm = text
		return nil
	case "cb_shaper", "cb-shaper":
		s.at(class).Algorithm = "cb-shaper" // credit based, IEEE 802.1Qav
		return nil
	}
	return fmt.Errorf("transmission selection %q: unknown; known: strict, ets, vendor, cb-shaper", fabric.Printable(text))
}

func (s *schedulers) percent(class int, text string) error {
	n, err := readNumber(strings.TrimSuffix(text, "%"), 100)
	if err == nil {
		s.at(class).Percent = &n
	}
	return err
}

// addDSCP notes the priority of a DSCP value; two different ones contradict each other.
func addDSCP(q *fabric.QoS, dscp, priority int) error {
	if q.DSCP == nil {
		q.DSCP = map[int]int{}
	}
	if have, ok := q.DSCP[dscp]; ok && have != priority {
		return fmt.Errorf("contradicts itself: DSCP %d has priority %d and %d", dscp, have, priority)
	}
	q.DSCP[dscp] = priority
	return nil
}

// isEmpty reports whether a text gave nothing.
func isEmpty(q fabric.QoS) bool {
	return q.Trust == "" && len(q.DSCP) == 0 && q.PFC == nil && q.Queues == nil && q.Schedulers == nil && q.RoCE == nil && q.CNP == nil && q.ECN == nil && q.DCBX == "" && q.Pause == nil
}

// pciFunction writes a PCI address as sysfs does; ok is false where the text is none.
func pciFunction(text string) (string, bool) {
	text = strings.ToLower(text)
	if strings.Count(text, ":") == 1 {
		text = "0000:" + text
	}
	return text, pciAddress().MatchString(text)
}

var (
	pciAddress = pattern.Plain(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	macAddress = pattern.Plain(`^(?i)[0-9a-f]{2}(?::[0-9a-f]{2}){5}$`)
	rdmaDevice = pattern.Plain(`^[A-Za-z][\w.-]{0,62}$`)
)

func begins(heads ...string) func(string) bool {
	return func(line string) bool {
		return slices.ContainsFunc(heads, func(head string) bool { return strings.HasPrefix(line, head) })
	}
}
