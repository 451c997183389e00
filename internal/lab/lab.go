package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// ErrRunning and ErrStale are the two reasons why a new lab cannot be started.
var (
	ErrRunning = errors.New("a lab is already up")
	ErrStale   = errors.New("a lab was left by a run that was killed")
	ErrNone    = errors.New("no lab is up")
)

// Lab is a running lab.
type Lab struct {
	Folder      string           `json:"-"`
	Keeper      int              `json:"keeper"`                // process id
	KeeperStart string           `json:"keeper_start"`          // see host.ProcessInfo
	Owner       int              `json:"owner,omitempty"`       // process id of the command that started it
	OwnerStart  string           `json:"owner_start,omitempty"` // idem
	Stays       bool             `json:"stays,omitempty"`       // it outlives its owner
	Cleared     bool             `json:"-"`                     // a lab that a killed run left was cleared before
	User        bool             `json:"user"`                  // in a user namespace
	PIDs        map[string]int   `json:"pids"`                  // of the holders, inside
	Spec        Spec             `json:"spec"`
	Plan        *fabric.Plan     `json:"plan"`
	Faults      []Fault          `json:"faults,omitempty"`
	LLDP        string           `json:"lldp,omitempty"` // why lldpd does not run; empty: it runs on every machine
	owner       io.WriteCloser   // to the keeper, which ends when this end is closed unless it was asked to stay
	Neighbours  map[string]limit `json:"neighbours,omitempty"` // limits of this machine that were raised
}

// Folder is where the one lab of this user keeps its state: RAILWRIGHT_LAB, else below the run time folder.
func Folder() string {
	if dir := os.Getenv("RAILWRIGHT_LAB"); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return "/run/railwright/lab"
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "railwright", "lab")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("railwright-%d", os.Geteuid()), "lab")
}

// Open finds the lab that is up. ErrNone where there is none, ErrStale where only its state is left.
func Open() (*Lab, error) {
	l, err := load()
	if err != nil {
		return nil, err
	}
	if !l.alive() {
		return nil, fmt.Errorf("%w: %q: keeper process %d is gone: clear it with: railwright lab down", ErrStale, l.path(stateFile), l.Keeper)
	}
	return l, nil
}

// load reads the state of the lab, whether it is up or not.
func load() (*Lab, error) {
	l := &Lab{Folder: Folder()}
	text, err := readState(l.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: start one with: railwright lab up", ErrNone)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, fmt.Errorf("%w: %q: %w: clear it with: railwright lab down", ErrStale, l.path(stateFile), err)
	}
	return l, nil
}

// path returns the path of a file of the lab's folder.
func (l *Lab) path(name string) string { return filepath.Join(l.Folder, name) }

// alive reports whether the process that the state names is the keeper of a lab of this user. The number alone proves
// nothing: after a restart of the machine it is another's.
func (l *Lab) alive() bool {
	p, err := host.Describe(l.Keeper)
	return err == nil && p.Start == l.KeeperStart && p.UID == os.Geteuid() && p.FirstInNamespace && isKeeper(p.Argv)
}

func isKeeper(argv []string) bool { return len(argv) > 0 && slices.Equal(argv[1:], KeepCommand) }

// running reports whether a lab is in use: its keeper lives, and so does the command that started it, unless the lab
// was left up by that.
func (l *Lab) running() bool {
	if !l.alive() {
		return false
	}
	owner, err := host.Describe(l.Owner)
	return l.Stays || l.Owner == 0 || err == nil && owner.Start == l.OwnerStart
}

// Free reports whether a lab can be started here: ErrRunning if one is up. What a killed run left is no obstacle, since
// Up clears it, but a state that cannot be read is ErrStale.
func Free() error {
	l, err := load()
	switch {
	case errors.Is(err, ErrNone):
		return nil
	case err != nil:
		return err
	case l.running():
		return fmt.Errorf("%w: %q, keeper process %d: end it with: railwright lab down", ErrRunning, l.path(stateFile), l.Keeper)
	}
	return nil
}

// Options are what a lab can have besides its fabric.
type Options struct {
	SSH      bool   // a management network with a machine "admin", and sshd on every host
	Hardware []byte // recording whose hardware every host shows

	Faults []Fault // that will be planted: some need a machine of their own
}

// Up builds the lab of a plan: unconfigured hosts, and a configured leaf.
// On an error nothing is left behind.
//
// Until Leave is called the lab lives no longer than this process.
func Up(ctx context.Context, plan *fabric.Plan, o Options) (l *Lab, err error) {
	unlock, err := lock(Folder())
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := Free(); err != nil {
		return nil, err
	}
	left, err := load()
	if err == nil {
		err = left.end()
	}
	if err != nil && !errors.Is(err, ErrNone) {
		return nil, err
	}
	spec, err := NewSpec(plan)
	if err != nil {
		return nil, err
	}
	if o.SSH {
		if spec, err = spec.withAdmin(); err != nil {
			return nil, err
		}
	}
	spec.Stranger = slices.ContainsFunc(o.Faults, func(f Fault) bool { return f.Kind == "foreign" })
	spec.layHardware(o.Hardware)
	owner, err := host.Describe(os.Getpid())
	if err != nil {
		return nil, err
	}
	l = &Lab{
		Folder: Folder(), User: os.Geteuid() != 0, Spec: spec, Plan: plan,
		Owner: os.Getpid(), OwnerStart: owner.Start, Cleared: left != nil,
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Down())
			l = nil
		}
	}()
	if err := l.roomForNeighbours(); err != nil {
		return l, err
	}
	if err := l.start(ctx); err != nil {
		return l, err
	}
	return l, l.save()
}

// start runs the keeper and waits until the lab is built.
func (l *Lab) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log := l.path(logFile)
	if err := os.Remove(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	isolation := host.Isolation{User: l.User, PID: true, Net: true, Mount: true, UTS: true}
	p, err := host.Local{}.Detach(host.Command{Argv: append([]string{self}, KeepCommand...)}, isolation, log)
	if err != nil {
		return fmt.Errorf("lab: %w%s", err, l.whatIsMissing())
	}
	l.Keeper = p.PID()
	if keeper, err := host.Describe(l.Keeper); err == nil { // one that has ended already is explained by its log
		l.KeeperStart = keeper.Start
	}
	// Saved before it is built, so that a run that is killed from here on leaves a trace to clear.
	if err := l.save(); err != nil {
		return err
	}
	answer := make(chan error, 1)
	var b built
	host.Go(func() {
		answer <- errors.Join(json.NewEncoder(p.Stdin).Encode(l.Spec), json.NewDecoder(p.Stdout).Decode(&b))
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err = <-answer:
	}
	if err != nil {
		said, readErr := os.ReadFile(log)
		return errors.Join(fmt.Errorf("lab: the keeper ended: %s%s", strings.TrimSpace(string(said)), l.whatIsMissing()), readErr)
	}
	l.PIDs, l.owner = b.PIDs, p.Stdin
	return nil
}

// Leave lets the lab outlive this process.
func (l *Lab) Leave() error {
	l.Stays = true
	if err := l.save(); err != nil {
		return err
	}
	_, err := io.WriteString(l.owner, stay+"\n")
	return errors.Join(err, l.owner.Close())
}

// whatIsMissing returns what the kernel has to allow for an ordinary user.
func (l *Lab) whatIsMissing() string {
	if !l.User {
		return ""
	}
	return " (without root the lab needs user namespaces with tmpfs and sysfs mounts: " +
		"sysctl user.max_user_namespaces above 0, kernel.unprivileged_userns_clone 1 and " +
		"kernel.apparmor_restrict_unprivileged_userns 0 where they exist, and Linux 5.11; or run it as root)"
}

func (l *Lab) save() error {
	text, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	return writeState(l.Folder, text)
}

// Down ends the lab and clears its state. It also clears a stale one.
func (l *Lab) Down() error {
	if err := l.end(); err != nil {
		return err
	}
	return removeFolder(l.Folder)
}

// end ends the lab and removes its state, but for its folder and the lock in it.
func (l *Lab) end() error {
	// A process that is not the keeper of a lab of ours is left alone.
	if err := host.KillIf(l.Keeper, l.alive); err != nil {
		return fmt.Errorf("lab: keeper process %d: %w", l.Keeper, err)
	}
	for i := 0; l.alive(); i++ {
		if i == 500 {
			return fmt.Errorf("lab: keeper process %d does not end", l.Keeper)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := l.restoreNeighbours(); err != nil {
		return err
	}
	return removeState(l.Folder)
}

// Clear ends the lab that is up, or clears what a killed run left. It returns what it found.
func Clear() (found string, err error) {
	l, err := Open()
	switch {
	case err == nil:
		return fmt.Sprintf("lab %s ended", l.Plan.Name), l.Down()
	case errors.Is(err, ErrNone):
		return "no lab was up", nil
	case errors.Is(err, ErrStale):
		if l, err = load(); err != nil {
			// One that is cut in the middle names neither a keeper nor a limit to restore.
			l = &Lab{Folder: Folder()}
		}
		return "stale lab cleared", l.Down()
	default:
		return "", err
	}
}

// Host returns a machine of the lab to run commands on; the error lists the known ones.
func (l *Lab) Host(name string) (host.Namespace, error) {
	inner, ok := l.PIDs[name]
	if !ok {
		return host.Namespace{}, fmt.Errorf("host %q: not in the lab; known: %s", name, strings.Join(l.Spec.machineNames(), ", "))
	}
	children, err := host.Children(l.Keeper)
	if err != nil {
		return host.Namespace{}, fmt.Errorf("lab: %w", err)
	}
	pid, ok := children[inner]
	if !ok {
		return host.Namespace{}, fmt.Errorf("lab: the process that holds host %q is gone", name)
	}
	return host.Namespace{Host: name, PID: pid, User: l.User}, nil
}

// Plant plants the faults of one stage. Those of an earlier stage must have settled.
func (l *Lab) Plant(ctx context.Context, faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(orders{Spec: l.Spec, PIDs: l.PIDs, Planted: l.Faults, Faults: faults})
	if err != nil {
		return err
	}
	if err := l.stopLLDP(ctx, faults); err != nil {
		return err
	}
	keeper := host.Namespace{Host: "lab", PID: l.Keeper, User: l.User}
	_, err = host.Output(ctx, keeper, host.Command{Argv: append([]string{self}, FaultCommand...), Stdin: bytes.NewReader(text)})
	if err != nil {
		return err
	}
	if err := l.startLLDP(ctx, faults); err != nil {
		return err
	}
	l.Faults = append(l.Faults, faults...)
	return l.save()
}
