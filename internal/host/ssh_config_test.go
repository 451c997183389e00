//go:build linux

package host

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSSHConfig(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	home := func(names ...string) (files []string) {
		for _, n := range names {
			files = append(files, filepath.Join(me.HomeDir, ".ssh", n))
		}
		return files
	}
	keys := home("id_rsa", "id_ecdsa", "id_ed25519")
	global := []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}
	known := append(home("known_hosts", "known_hosts2"), global...)
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	const text = `
Host gpu*
  HostName %h.cluster.example
  Port 2222
  User admin
  ProxyJump jump@bastion:222,inner
  IdentityFile ~/.ssh/cluster
  IdentityFile /keys/%r-%h-%p
  IdentitiesOnly yes
  ServerAliveInterval 7
  UserKnownHostsFile /known/a ~/known-%n
  StrictHostKeyChecking no
Host bastion
  HostName 192.0.2.1
  ProxyJump outer
Host open
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  GlobalKnownHostsFile none
  IdentityAgent none
Host agent
  IdentityAgent ~/agent.sock
  ProxyJump none
  ProxyCommand none
Host command
  ProxyCommand nc %h %p
Host circle
  ProxyJump circle2
Host circle2
  ProxyJump circle
Host badjump
  ProxyJump a:99999
Match host *.example
  User matched
`
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadSSHConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	plain := func(name, address, login string, port int) Target {
		return Target{Name: name, Address: address, User: login, Port: port, KeyFiles: keys, Agent: "/run/agent", KnownHosts: known}
	}
	for _, tt := range []struct {
		name, login string
		want        Target
	}{
		{"other", "", plain("other", "other", me.Username, 0)},
		{"other", "root", plain("other", "other", "root", 0)},
		{"a.example", "", plain("a.example", "a.example", "matched", 0)},
		{"gpu7", "", Target{
			Name: "gpu7", Address: "gpu7.cluster.example", Port: 2222, User: "admin", Agent: "/run/agent", IdentitiesOnly: true,
			KeyFiles:   []string{home("cluster")[0], "/keys/admin-gpu7.cluster.example-2222"},
			KnownHosts: append([]string{"/known/a", me.HomeDir + "/known-gpu7"}, global...),
			Keepalive:  7 * time.Second,
			Jump: []Target{
				plain("outer", "outer", me.Username, 0), plain("bastion", "192.0.2.1", "jump", 222), plain("inner", "inner", me.Username, 0),
			},
		}},
		{"open", "", Target{Name: "open", Address: "open", User: me.Username, KeyFiles: keys, KnownHosts: known}},
		{"agent", "", func() Target {
			want := plain("agent", "agent", me.Username, 0)
			want.Agent = me.HomeDir + "/agent.sock"
			return want
		}()},
	} {
		got, err := c.Target(tt.name, tt.login)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +have):\n%s", tt.name, d)
		}
	}
	for name, want := range map[string]string{
		"command": `ssh configuration: host "command": ProxyCommand "nc %h %p" is not supported: use ProxyJump`,
		"circle":  "is it a loop",
		"badjump": `port "99999" is not between 1 and 65535`,
	} {
		_, err := c.Target(name, "")
		mustContain(t, err, want)
	}
}

func TestSSHConfigUnreadable(t *testing.T) {
	for name, text := range map[string]string{"match exec": "Match exec true\nUser x\n", "port": "Port many\n", "interval": "ServerAliveInterval 1s\n"} {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadSSHConfig(file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Target("x", ""); err == nil {
			t.Errorf("%s: have %+v", name, got)
		} else {
			mustContain(t, err, `ssh configuration: host "x"`)
		}
	}
	c, err := LoadSSHConfig(filepath.Join(t.TempDir(), "absent"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Target("x", "")
	mustContain(t, err, "no such file")
}

func FuzzSSHConfig(f *testing.F) {
	f.Add("Host *\n  ProxyJump a,b:1\n", "gpu1")
	f.Add("ProxyJump [::1]:22,ssh://u@h:9\nIdentityFile \"~/a b\"\n", "x")
	f.Add("Port 0\nHost !x *\nMatch all\nUser %r\n", "x")
	f.Fuzz(func(t *testing.T, text, name string) {
		if strings.Contains(strings.ToLower(text), "include") {
			return // would read files of this machine
		}
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadSSHConfig(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Target(name, "")
		if err == nil && (len(got.KnownHosts) == 0 || len(got.Jump) > maxJumps || got.User == "") {
			t.Errorf("%q: have %+v", text, got)
		}
	})
}
