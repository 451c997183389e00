package apply

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// fileNetwork is a network whose state is a file: what the network file says that is read now.
type fileNetwork struct {
	root         string
	refuse, fail string // errors of check and of up
	hang         bool   // up does not return before its context ends
}

func (n fileNetwork) effective() string {
	for _, folder := range []string{"/run/netplan", "/etc/netplan"} {
		if text, err := os.ReadFile(n.root + folder + "/60-railwright.yaml"); err == nil {
			return string(text)
		}
	}
	return "none"
}

func (n fileNetwork) check(context.Context, []fabric.Artifact) error {
	if n.refuse != "" {
		return errors.New(n.refuse)
	}
	return nil
}

func (n fileNetwork) up(ctx context.Context, _ Bundle) (Activation, error) {
	if n.hang {
		<-ctx.Done()
		return Activation{}, ctx.Err()
	}
	err := os.WriteFile(n.root+"/net", []byte(n.effective()), 0o600)
	if n.fail != "" {
		err = errors.New(n.fail)
	}
	return Activation{Network: ByNetlink, Reason: "a test"}, err
}

func (n fileNetwork) back(context.Context, Bundle, before) error {
	return os.WriteFile(n.root+"/net", []byte(n.effective()), 0o600)
}

// trialPlaces are places below a folder.
func trialPlaces(root string) places {
	return places{
		self: root + "/net", journal: root + "/journal", guard: root + "/guard", state: root + "/run/trial.json",
		shadows: []shadow{{root + "/etc/netplan", root + "/run/netplan"}},
		netplan: []string{root + "/etc/netplan", root + "/run/netplan"},
	}
}

func trialBundle(root, content string, within int) Bundle {
	return Bundle{Node: "a", Trial: &Trial{ID: "T1", Within: within}, Artifacts: []fabric.Artifact{
		artifact(root+"/etc/netplan/60-railwright.yaml", content, 0o600),
		artifact(root+"/etc/sysctl.d/60-railwright.conf", "# "+content, 0o644),
	}}
}

const oldNet, newNet = "network: {version: 2}\n# old\n", "network: {version: 2}\n# new\n"

// trialHost makes a host whose network file is an old one that is in effect.
func trialHost(t *testing.T, root string) map[string]string {
	t.Helper()
	put(t, root+"/etc/netplan/60-railwright.yaml", oldNet, 0o600)
	put(t, root+"/etc/netplan/01-mine.yaml", "network: {version: 2}\n", 0o600)
	put(t, root+"/net", oldNet, 0o600)
	return tree(t, root+"/etc")
}

func inEffect(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(root + "/net")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// notArmed is a timer that never runs.
func notArmed(context.Context, *trial) error { return nil }

// nothingLeft is an error of the test if a trial left more than its note and its folders.
func nothingLeft(t *testing.T, root string) {
	t.Helper()
	for _, name := range []string{"/run/trial.json", "/run/.trial.json.railwright", "/run/netplan/60-railwright.yaml", "/run/netplan/.60-railwright.yaml.railwright", "/guard/railwright"} {
		if _, err := os.Lstat(root + name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

func TestTrialIsConfirmed(t *testing.T) {
	root := t.TempDir()
	trialHost(t, root)
	p, n := trialPlaces(root), fileNetwork{root: root}
	before := tree(t, root+"/etc")
	a, err := p.try(t.Context(), trialBundle(root, newNet, 60), n, notArmed)
	if err != nil || a.Waits != "T1" || inEffect(t, root) != newNet {
		t.Fatalf("%+v, %v, in effect %q", a, err, inEffect(t, root))
	}
	if d := cmp.Diff(before, tree(t, root+"/etc")); d != "" {
		t.Errorf("/etc changed before it was confirmed:\n%s", d)
	}
	if why := p.noted(); !strings.Contains(why, "waits for its confirmation") {
		t.Errorf("a dry run says %q", why)
	}
	if _, err := p.try(t.Context(), trialBundle(root, newNet, 60), n, notArmed); !errors.Is(err, ErrWaits) {
		t.Errorf("a second one at once: %v", err)
	}
	if _, err := p.confirm(t.Context(), "T2", n); err == nil {
		t.Error("confirmed with the id of another")
	}
	if a, err = p.confirm(t.Context(), "T1", n); err != nil {
		t.Fatal(err)
	}
	if len(a.Activation.Pending) > 0 || pendingFiles(trialBundle(root, newNet, 60)) || inEffect(t, root) != newNet {
		t.Errorf("%+v, in effect %q", a.Activation, inEffect(t, root))
	}
	nothingLeft(t, root)
	if why := p.noted(); why != "" {
		t.Errorf("afterwards a dry run says %q", why)
	}
	if _, err := p.confirm(t.Context(), "T1", n); err == nil {
		t.Error("confirmed twice")
	}
	if _, err := Rollback(p.journal); err != nil {
		t.Fatal(err)
	}
	restored(t, root, before)
}

func TestTrialIsTakenBack(t *testing.T) {
	for _, c := range []struct {
		name string
		n    fileNetwork
		end  func(p places, n network) error
		why  string
		try  string // what try itself says
	}{
		{"by the timer", fileNetwork{}, func(p places, n network) error { return p.watch(t.Context(), "T1", n) }, "not confirmed over a new connection within 1 s", ""},
		{"by hand", fileNetwork{}, func(p places, n network) error { return p.takeBack(t.Context(), "T1", n, "by railwright rollback") }, "by railwright rollback", ""},
		{"too late", fileNetwork{}, func(p places, n network) error {
			time.Sleep(1100 * time.Millisecond)
			if _, err := p.confirm(t.Context(), "T1", n); err == nil || !strings.Contains(err.Error(), "too late") {
				return fmt.Errorf("confirmed: %w", err)
			}
			return p.watch(t.Context(), "T1", n)
		}, "within 1 s", ""},
		{"the program fails", fileNetwork{fail: "networkctl: no"}, nil, "networkctl: no", "the old network was brought back: networkctl: no"},
		{"the program hangs", fileNetwork{hang: true}, nil, "deadline exceeded", "the old network was brought back"},
		{"the next apply", fileNetwork{}, func(p places, n network) error {
			time.Sleep(1100 * time.Millisecond)
			j, err := openJournal(p.journal)
			if err != nil {
				return err
			}
			return errors.Join(p.clear(t.Context(), n, j), j.close())
		}, "its timer did not run", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			before := trialHost(t, root)
			p := trialPlaces(root)
			c.n.root = root
			a, err := p.try(t.Context(), trialBundle(root, newNet, 1), c.n, notArmed)
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(a.Activation.Pending, "; "); !strings.Contains(said, c.try) || (a.Waits == "") != (c.end == nil) {
				t.Errorf("try says %q, waits %q", said, a.Waits)
			}
			if c.end != nil {
				if err := c.end(p, c.n); err != nil {
					t.Fatal(err)
				}
			}
			if inEffect(t, root) != oldNet {
				t.Errorf("in effect %q", inEffect(t, root))
			}
			if d := cmp.Diff(before, tree(t, root+"/etc")); d != "" {
				t.Error(d)
			}
			nothingLeft(t, root)
			if why := p.noted(); !strings.Contains(why, c.why) {
				t.Errorf("noted %q", why)
			}
		})
	}
}

// What is refused before anything is touched changes nothing at all.
func TestTrialIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		n                fileNetwork
		start            arm
		want             string
	}{
		{"netplan refuses", "", "", fileNetwork{refuse: "netplan generate refuses it: line 3"}, notArmed, "line 3: nothing was changed"},
		{"no timer", "", "", fileNetwork{}, func(context.Context, *trial) error { return errors.New("systemd-run: no") }, "systemd-run: no: nothing was changed"},
		{"another file", "/etc/netplan/40-cx7.yaml", "network:\n  version: 2\n  ethernets:\n    e0:\n      dhcp4: true\n", fileNetwork{}, notArmed, "40-cx7.yaml:4: configures e0 too"},
		{"one that lies before it", "/run/netplan/60-railwright.yaml", "network: {}\n", fileNetwork{}, notArmed, "is there already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			trialHost(t, root)
			if c.file != "" {
				put(t, root+c.file, c.text, 0o600)
			}
			before := tree(t, root)
			c.n.root = root
			p := trialPlaces(root)
			b := trialBundle(root, "network: {version: 2, ethernets: {e0: {dhcp4: false}}}\n", 60)
			a, err := p.try(t.Context(), b, c.n, c.start)
			said := fmt.Sprint(err)
			if a.Activation != nil {
				said = strings.Join(a.Activation.Pending, "; ")
			}
			if !strings.Contains(said, c.want) || a.Waits != "" {
				t.Errorf("says %q, waits %q", said, a.Waits)
			}
			after := tree(t, root)
			for name := range after { // folders of its own may be there by now
				if _, was := before[name]; !was && (strings.HasPrefix(name, "/journal") || name == "/guard" || name == "/run") {
					delete(after, name)
				}
			}
			if d := cmp.Diff(before, after); d != "" {
				t.Error(d)
			}
		})
	}
}

// What an earlier apply wrote to last is undone too when it is what cuts the network.
func TestTrialOfWrittenFiles(t *testing.T) {
	root := t.TempDir()
	before := trialHost(t, root)
	p, n := trialPlaces(root), fileNetwork{root: root}
	b := trialBundle(root, newNet, 1)
	if _, err := write(p.journal, b.Artifacts); err != nil {
		t.Fatal(err)
	}
	if a, err := p.try(t.Context(), b, n, notArmed); err != nil || a.Waits == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	if err := p.watch(t.Context(), "T1", n); err != nil {
		t.Fatal(err)
	}
	if inEffect(t, root) != oldNet {
		t.Errorf("in effect %q", inEffect(t, root))
	}
	restored(t, root, before)
	nothingLeft(t, root)
}

// A process that is killed at any instruction of a trial leaves /etc as it was, and the guard brings the old network back; a
// confirmation that is killed is either whole or not at all.
func TestKilledTrial(t *testing.T) {
	needsStrace(t)
	var before map[string]string
	prepare := func(root string) { before = trialHost(t, root) }
	kills(t, []string{"try"}, prepare, func(root string, _ int) {
		if d := cmp.Diff(before, tree(t, root+"/etc")); d != "" {
			t.Errorf("/etc changed: %s", d)
		}
		p, n := trialPlaces(root), fileNetwork{root: root}
		if err := p.takeBack(t.Context(), "T1", n, "a test"); err != nil {
			t.Error(err)
		}
		if inEffect(t, root) != oldNet {
			t.Errorf("in effect: %q", inEffect(t, root))
		}
		// The next one goes its whole way.
		if a, err := p.try(t.Context(), trialBundle(root, newNet, 60), n, notArmed); err != nil || a.Waits == "" {
			t.Errorf("%+v, %v", a, err)
		}
		if _, err := p.confirm(t.Context(), "T1", n); err != nil {
			t.Error(err)
		}
		nothingLeft(t, root)
	})
	tried := func(root string) {
		prepare(root)
		if a, err := trialPlaces(root).try(t.Context(), trialBundle(root, newNet, 60), fileNetwork{root: root}, notArmed); err != nil || a.Waits == "" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	for _, order := range []string{"confirm", "take-back"} {
		outcomes := map[string]int{}
		kills(t, []string{order}, tried, func(root string, _ int) {
			p, n := trialPlaces(root), fileNetwork{root: root}
			if err := p.takeBack(t.Context(), "T1", n, "a test"); err != nil {
				t.Error(err)
			}
			is := inEffect(t, root)
			outcomes[strings.TrimSpace(is[len(is)-4:])]++
			switch {
			case is == oldNet:
				if d := cmp.Diff(before, tree(t, root+"/etc")); d != "" {
					t.Errorf("the old network with other files: %s", d)
				}
			case order == "take-back" || pendingFiles(trialBundle(root, newNet, 60)):
				t.Errorf("in effect %q with files %v", is, tree(t, root+"/etc"))
			}
			nothingLeft(t, root)
		})
		t.Logf("%s: %v", order, outcomes)
	}
}

// A system call that fails, as on a full disk, each of them once, costs no network: it is the old one with the old files, or
// after a confirmation the new one with the new files.
func TestFailedTrial(t *testing.T) {
	needsStrace(t)
	outcomes := map[string]int{}
	for _, order := range []string{"try", "confirm"} {
		for _, call := range []string{"mkdirat", "write", "fchmod", "fsync", "renameat", "unlinkat"} {
			for n, unharmed := 1, 0; unharmed < 2; n++ { // some calls may fail; two in a row were not made
				root := emptyRoot(t)
				before := trialHost(t, root)
				p, net, b := trialPlaces(root), fileNetwork{root: root}, trialBundle(root, newNet, 60)
				if order == "confirm" {
					if a, err := p.try(t.Context(), b, net, notArmed); err != nil || a.Waits == "" {
						t.Fatalf("%+v, %v", a, err)
					}
				}
				by := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=?" + call, "-e", fmt.Sprintf("inject=?%s:error=ENOSPC:when=%d", call, n)}
				status, err := ended(t, actor(by, order, root))
				if unharmed++; status != 0 {
					unharmed = 0
				}
				outcomes[fmt.Sprintf("%s ends with %d", order, status)]++
				if err := p.takeBack(t.Context(), "T1", net, "a test"); err != nil {
					t.Error(err)
				}
				isNew := inEffect(t, root) == newNet && !pendingFiles(b)
				isOld := inEffect(t, root) == oldNet && cmp.Equal(before, tree(t, root+"/etc"))
				if !isOld && !isNew || isNew && order == "try" {
					t.Fatalf("%s, %s number %d, exit status %d, %v: in effect %q with %v", order, call, n, status, err, inEffect(t, root), tree(t, root+"/etc"))
				}
				nothingLeft(t, root)
				if t.Failed() {
					t.Fatalf("%s, %s number %d, exit status %d, %v", order, call, n, status, err)
				}
				if err := os.RemoveAll(root); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("%v", outcomes)
	if outcomes["try ends with 1"] < 5 || outcomes["confirm ends with 1"] < 5 {
		t.Errorf("too few failures: %v", outcomes)
	}
}

// Of the files of others those that concern a NIC are named, with their lines.
func TestOthers(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"network:\n  version: 2\n  ethernets:\n    e0:\n      mtu: 9000\n", ":4: configures e0 too"},
		{"network:\n  version: 2\n  ethernets:\n    e0: {}\n", ""},
		{"network:\n  version: 2\n  ethernets:\n    e1:\n      mtu: 9000\n", ""},
		{"network:\n  version: 2\n  ethernets:\n    all:\n      match: {name: \"e*\"}\n      dhcp4: true\n", ":4: covers e0 too by its match in \"all\""},
		{"network:\n  version: 2\n  ethernets:\n    all:\n      match: {name: \"w*\"}\n      dhcp4: true\n", ""},
		{"network:\n  version: 2\n  ethernets:\n    all:\n      match: {driver: [none]}\n      dhcp4: true\n", ""},
		{"network:\n  version: 2\n  ethernets:\n    e0:\n      match: {macaddress: \"00:00:00:00:00:01\"}\n      dhcp4: true\n", ""},
		{"network:\n  version: 2\n  bonds:\n    b0:\n      interfaces: [e0, e1]\n", ":4: makes e0 a part of b0"},
		{"network:\n  version: 2\n  vlans:\n    v7:\n      id: 7\n      link: e0\n", ":4: makes e0 a part of v7"},
		{"network:\n  version: 2\n  renderer: NetworkManager\n", ""},
		{"", ""},
		{"network: [\n", "cannot be read"},
		{"network:\n  ethernets:\n    e0: 7\n", ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			root := t.TempDir()
			put(t, root+"/etc/netplan/40-cx7.yaml", c.text, 0o600)
			put(t, root+"/etc/netplan/60-railwright.yaml", "network: {ethernets: {e0: {mtu: 1}}}", 0o600)
			b := trialBundle(root, "network: {version: 2, ethernets: {e0: {dhcp4: false}}}\n", 60)
			found := strings.Join(trialPlaces(root).others(b), "|")
			if (found == "") != (c.want == "") || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
			if found != "" && !strings.HasPrefix(found, filepath.Join(root, "etc/netplan/40-cx7.yaml")) {
				t.Errorf("does not name the file: %q", found)
			}
		})
	}
}

func TestBeforeAndLost(t *testing.T) {
	was, err := look([]string{"no-such-nic"})
	if err != nil {
		t.Fatal(err)
	}
	cut, err := was.lost()
	if err != nil || len(cut) > 0 || !was.isBack() {
		t.Errorf("without a change lost %q, %v", cut, err)
	}
	gone := netip.MustParsePrefix("192.0.2.1/24")
	for i := range was.NICs {
		if was.NICs[i].Name == "lo" {
			was.NICs[i].Addresses = append(was.NICs[i].Addresses, gone)
		}
	}
	if cut, err = was.lost(); err != nil || len(cut) != 1 || !strings.Contains(cut[0], "lo has no address 192.0.2.1/24 any more") {
		t.Errorf("lost %q, %v", cut, err)
	}
}
