package lab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"railwright.dev/railwright/internal/host"
)

// built is what the keeper prints once the lab is built: the process id of each host's holder in the
// keeper's own process id namespace.
type built struct {
	PIDs map[string]int `json:"pids"`
}

// HoldCommand and KeepCommand are the arguments with which this program is run as a holder and as the
// keeper; FaultCommand plants faults from inside.
var (
	HoldCommand  = []string{"node", "lab-hold"}
	KeepCommand  = []string{"node", "lab-keep"}
	FaultCommand = []string{"node", "lab-fault"}
)

// Keep builds the lab that it reads from its standard input and then lives as the first process of the
// lab's process id namespace, burying orphans. It returns only with an error.
func Keep(in io.Reader, out io.Writer) error {
	var s Spec
	owner := json.NewDecoder(in)
	if err := owner.Decode(&s); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	orphans := make(chan os.Signal, 1)
	notifyOrphans(orphans)
	if err := mountProc(); err != nil {
		return err
	}
	pids, err := s.hold()
	if err != nil {
		return err
	}
	if err := s.wire(pids); err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(built{PIDs: pids}); err != nil {
		return err
	}
	left := make(chan bool, 1)
	host.Go(func() { left <- awaitOwner(io.MultiReader(owner.Buffered(), in)) })
	for {
		select {
		case <-orphans:
			bury()
		case stays := <-left:
			if !stays {
				return nil // and with this process everything in the lab
			}
		}
	}
}

// stay is what the owner writes when the lab is to outlive it.
const stay = "stay"

// awaitOwner waits for the owner's message, or for its end.
func awaitOwner(in io.Reader) (stays bool) {
	text, err := io.ReadAll(io.LimitReader(in, 64))
	return err == nil && strings.TrimSpace(string(text)) == stay
}

// hold starts one holder per machine and waits for each.
func (s Spec) hold() (map[string]int, error) {
	var machines []holderSpec
	if s.Leaf != "" {
		machines = append(machines, holderSpec{Name: s.Leaf, Switch: true, Files: s.announced()})
	}
	for _, h := range s.Hosts {
		machines = append(machines, holderSpec{Name: h.Name, Files: s.Files[h.Name]})
	}
	if s.Stranger {
		machines = append(machines, holderSpec{Name: strangerName})
	}
	if s.Admin {
		machines = append(machines, holderSpec{Name: adminName, Files: s.Files[adminName]})
	}
	pids := make(map[string]int)
	started := make([]*host.Process, len(machines))
	for i, m := range machines {
		p, err := startHolder(m)
		if err != nil {
			return nil, err
		}
		started[i], pids[m.Name] = p, p.PID()
	}
	for i, m := range machines {
		line, err := bufio.NewReader(started[i].Stdout).ReadString('\n')
		if err != nil || line != "ready\n" {
			return nil, fmt.Errorf("lab host %q did not come up (see keeper.log)", m.Name)
		}
	}
	return pids, nil
}

func startHolder(m holderSpec) (*host.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := host.Command{Argv: append([]string{self}, HoldCommand...)}
	p, err := host.Local{}.Detach(c, host.Isolation{Net: true, Mount: true, UTS: true}, "/dev/stderr")
	if err != nil {
		return nil, err
	}
	return p, json.NewEncoder(p.Stdin).Encode(m)
}
