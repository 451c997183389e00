package host

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/kevinburke/ssh_config"
)

// SSHConfig is what ssh's own configuration says of hosts. Host, HostName, Port, User, IdentityFile,
// IdentitiesOnly, IdentityAgent, ProxyJump, ServerAliveInterval, UserKnownHostsFile and
// GlobalKnownHostsFile count, with the tokens %%, %d, %h, %n, %p, %r and %u, and Match host and Match all.
// StrictHostKeyChecking does not: host keys are always verified. ProxyCommand and other kinds of Match are
// errors, since without them the way would be another one.
type SSHConfig struct {
	settings *ssh_config.UserSettings
	local    *user.User
	agent    string
}

// LoadSSHConfig takes ~/.ssh/config and /etc/ssh/ssh_config, or the given file alone. It is read when it
// is first asked, once.
func LoadSSHConfig(file string) (*SSHConfig, error) {
	local, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("ssh configuration: current user: %w", err)
	}
	c := &SSHConfig{settings: &ssh_config.UserSettings{}, local: local, agent: os.Getenv("SSH_AUTH_SOCK")}
	if file != "" {
		c.settings.ConfigFinder(func() string { return file })
	}
	return c, nil
}

// defaultKeyFiles are those that ssh_config(5) offers by itself, without the kinds that need a token.
var defaultKeyFiles = []string{"~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519"}

// Defaults of ssh_config(5).
const (
	defaultUserKnownHosts   = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
	defaultGlobalKnownHosts = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"
)

// maxJumps bounds a chain of jump hosts, which may be a circle by mistake.
const maxJumps = 8

// Target says how to log in to a host as ssh would be told. A user that is not empty goes before that of
// the configuration.
func (c *SSHConfig) Target(name, login string) (Target, error) {
	t, err := c.target(name, login, 0, maxJumps)
	if err != nil {
		return Target{}, fmt.Errorf("ssh configuration: %w", err)
	}
	return t, nil
}

func (c *SSHConfig) target(name, login string, port, jumps int) (Target, error) {
	t := Target{Name: name, Address: name, Port: port, User: login, Agent: c.agent}
	get := reader{c: c, name: name}
	var err error
	if v := get.one("HostName"); v != "" {
		t.Address = strings.NewReplacer("%%", "%", "%h", name).Replace(v)
	}
	if v := get.one("Port"); port == 0 && v != "" {
		t.Port, err = parsePort(v)
		get.fail(err)
	}
	if t.User == "" {
		t.User = get.one("User")
	}
	if t.User == "" {
		t.User = c.local.Username
	}
	get.login(&t)
	if v := get.one("ProxyCommand"); v != "" && !strings.EqualFold(v, "none") {
		get.fail(fmt.Errorf("ProxyCommand %q is not supported: use ProxyJump", v))
	}
	if v := get.one("ProxyJump"); get.err == nil && v != "" && !strings.EqualFold(v, "none") {
		t.Jump, err = c.chain(name, v, jumps)
		return t, err
	}
	return t, get.err
}

// login reads what proves who is who.
func (r *reader) login(t *Target) {
	if files := r.all("IdentityFile"); len(files) > 0 {
		for _, f := range files {
			if !strings.EqualFold(f, "none") {
				t.KeyFiles = append(t.KeyFiles, r.c.expand(f, *t))
			}
		}
	} else {
		for _, f := range defaultKeyFiles {
			t.KeyFiles = append(t.KeyFiles, r.c.expand(f, *t))
		}
	}
	t.IdentitiesOnly = strings.EqualFold(r.one("IdentitiesOnly"), "yes")
	switch v := r.one("IdentityAgent"); {
	case v == "" || v == "SSH_AUTH_SOCK":
	case strings.EqualFold(v, "none"):
		t.Agent = ""
	case strings.HasPrefix(v, "$"):
		t.Agent = os.Getenv(strings.Trim(v, "${}"))
	default:
		t.Agent = r.c.expand(v, *t)
	}
	if v := r.one("ServerAliveInterval"); v != "" {
		seconds, err := strconv.Atoi(v)
		if err != nil {
			r.fail(fmt.Errorf("ServerAliveInterval %q is not a number of seconds", v))
		}
		t.Keepalive = time.Duration(max(seconds, 0)) * time.Second
	}
	t.KnownHosts = append(r.knownHosts("UserKnownHostsFile", defaultUserKnownHosts, *t),
		r.knownHosts("GlobalKnownHostsFile", defaultGlobalKnownHosts, *t)...)
}

// knownHosts are files. An empty list would be a way to turn verification off, which there is none: the
// default then holds.
func (r *reader) knownHosts(key, absent string, t Target) (files []string) {
	for _, list := range []string{r.one(key), absent} {
		for _, f := range strings.Fields(list) {
			if !strings.EqualFold(f, "none") && f != os.DevNull {
				files = append(files, r.c.expand(f, t))
			}
		}
		if len(files) > 0 {
			break
		}
	}
	return files
}

// chain resolves the ProxyJump of a host, [USER@]HOST[:PORT] with commas between: the first of them may
// itself be behind others.
func (c *SSHConfig) chain(of, list string, jumps int) ([]Target, error) {
	var chain []Target
	for i, word := range strings.Split(list, ",") {
		if jumps--; jumps < 0 {
			return nil, fmt.Errorf("host %q: ProxyJump %q: a chain of more than %d jump hosts: is it a loop?", of, list, maxJumps)
		}
		login, address := "", strings.TrimPrefix(strings.TrimSpace(word), "ssh://")
		if at := strings.LastIndex(address, "@"); at >= 0 {
			login, address = address[:at], address[at+1:]
		}
		name, port, err := splitPort(address)
		if err != nil {
			return nil, fmt.Errorf("host %q: ProxyJump %q: %w", of, list, err)
		}
		t, err := c.target(name, login, port, jumps)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			chain = append(chain, t.Jump...)
			jumps -= len(t.Jump)
		}
		t.Jump = nil
		chain = append(chain, t)
	}
	return chain, nil
}

// splitPort splits HOST:PORT, where the host may be an IPv6 address in brackets and the port absent (0).
func splitPort(address string) (name string, port int, err error) {
	if inside, ok := strings.CutPrefix(address, "["); ok {
		name, address, _ = strings.Cut(inside, "]")
	} else if strings.Count(address, ":") == 1 {
		name, address, _ = strings.Cut(address, ":")
		address = ":" + address
	} else {
		name, address = address, ""
	}
	if name == "" {
		return "", 0, fmt.Errorf("host name is empty")
	}
	if address != "" {
		port, err = parsePort(strings.TrimPrefix(address, ":"))
	}
	return name, port, err
}

func parsePort(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("port %q is not between 1 and 65535", text)
	}
	return int(port), nil
}

// expand replaces tokens and the home folder in the name of a file.
func (c *SSHConfig) expand(name string, t Target) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = "%d/" + rest
	}
	port := t.Port
	if port == 0 {
		port = defaultPort
	}
	return strings.NewReplacer("%%", "%", "%d", c.local.HomeDir, "%h", t.Address, "%n", t.Name,
		"%p", strconv.Itoa(port), "%r", t.User, "%u", c.local.Username).Replace(name)
}

// reader reads the values of one host and keeps the first error.
type reader struct {
	c    *SSHConfig
	name string
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("host %q: %w", r.name, err)
	}
}

func (r *reader) one(key string) string {
	if v := r.all(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

// all returns the values of a key. The library's own defaults are those of an older ssh and left out.
func (r *reader) all(key string) []string {
	values, err := r.c.settings.GetAllStrict(r.name, key)
	if err != nil {
		r.fail(err)
		return nil
	}
	if len(values) == 1 && values[0] == ssh_config.Default(key) {
		return nil
	}
	return values
}
