package manifestcheck

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
	"railwright.dev/railwright/internal/pattern"
)

// resolver finds programs in a substitution that look a name up.
var resolver = pattern.Plain(`\b(?:getent|nslookup|dig|host|resolveip|gethostbyname)\b`)

// substituted is a variable that takes the output of a command: NAME=$(...), or in backquotes.
var substituted = pattern.Plain("^([A-Za-z_][A-Za-z0-9_]*)=(\\$\\(.*|`.*)")

func leaderWaitRule() Rule {
	return Rule{
		ID: "leader-address", Title: "a script goes on only with the address that it waited for", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc:       "an address that a script looks up is empty while the name does not resolve yet: a wait that ends after some tries, and a lookup in a pipe, go on with nothing",
		Reference: "POSIX shell: a pipeline has the status of its last command; set -e does not see the others without pipefail, nor a lookup in export NAME=$(...)",
		Judge: each(func(s scene) []fabric.Finding {
			if !s.c.Script.Shell {
				return s.notApplicable("no script in it")
			}
			var out []fabric.Finding
			done := map[string]bool{}
			for i, c := range s.c.Script.Commands {
				name, ok := lookedUp(c)
				if !ok || done[name] {
					continue
				}
				done[name] = true
				out = append(out, s.address(name, i)...)
			}
			return out
		}),
	}
}

// lookedUp is the variable that a command fills with a looked-up address.
func lookedUp(c manifest.Command) (string, bool) {
	for _, w := range c.Words {
		m := substituted().FindStringSubmatch(w)
		if m != nil && resolver().MatchString(m[2]) {
			return m[1], true
		}
	}
	return "", false
}

func (s scene) address(name string, at int) []fabric.Finding {
	script := s.c.Script
	c := script.Commands[at]
	seen := s.at(c.Line, strings.Join(c.Words, " "))
	use, used := firstUse(script.Commands[at+1:], name)
	switch {
	case !used:
		return s.notApplicable(name + " is not used")
	case guarded(script.Commands, name):
		return s.pass(name+" is tested before it is used", seen)
	case c.Words[0] == "until" && !strings.Contains(strings.Join(c.Words, " "), "|") && !breaks(script.Commands[at+1:]):
		return s.pass("it is looked up until it is found", seen)
	case script.ExitsOnError && c.Words[0] != "export" && (script.PipeFails || !strings.Contains(strings.Join(c.Words, " "), "|")):
		return s.pass("set -e ends the script where the lookup fails", seen)
	}
	why := fmt.Sprintf("%s is looked up once", name)
	if script.Loops {
		why = fmt.Sprintf("the wait for the name ends after some tries, and %s is taken from a lookup that may find nothing", name)
	}
	cost := "the engine starts with an empty address: it dies, or meets nobody, and a group that restarts looks like a crash loop"
	return []fabric.Finding{s.fail(fault{
		why:      why + ": nothing tests that it is not empty before it is used",
		expected: "a test that ends the container: [ -n \"$" + name + "\" ] || exit 1", cost: cost,
		fix:  "after the lookup: if [ -z \"$" + name + "\" ]; then echo \"no address\" >&2; exit 1; fi, or wait without an end: until " + name + "=$(getent hosts NAME | awk '{print $1}') && [ -n \"$" + name + "\" ]; do sleep 2; done",
		seen: []fabric.Evidence{seen, s.at(use.Line, short(strings.Join(use.Words, " ")))},
	})}
}

func short(text string) string {
	const most = 100
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// firstUse is the first command that passes a variable on, other than a message or a test.
func firstUse(commands []manifest.Command, name string) (manifest.Command, bool) {
	for _, c := range commands {
		if len(c.Words) == 0 || slices.Contains([]string{"echo", "printf", "[", "[[", "test"}, c.Words[0]) {
			continue
		}
		if slices.ContainsFunc(c.Words, func(w string) bool { return refers(w, name) }) {
			return c, true
		}
	}
	return manifest.Command{}, false
}

func refers(word, name string) bool {
	for {
		i := strings.IndexByte(word, '$')
		if i < 0 {
			return false
		}
		word = strings.TrimPrefix(word[i+1:], "{")
		if rest, ok := strings.CutPrefix(word, name); ok && (rest == "" || !strings.ContainsAny(rest[:1], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")) {
			return true
		}
	}
}

// guarded reports whether a script ends where a variable is empty: a test with an exit, ${NAME:?}, or a loop without an end that
// waits for it.
func guarded(commands []manifest.Command, name string) bool {
	for i, c := range commands {
		text := strings.Join(c.Words, " ")
		if strings.Contains(text, "${"+name+":?") || strings.Contains(text, "${"+name+"?") {
			return true
		}
		if !slices.ContainsFunc(c.Words, func(w string) bool { return refers(w, name) }) {
			continue
		}
		empty, set := slices.Contains(c.Words, "-z"), slices.Contains(c.Words, "-n")
		loop := loopOf(commands[:i+1])
		switch {
		case loop == "while" && empty || loop == "until" && set:
			if !breaks(commands[i+1:]) {
				return true
			}
		case empty && ends(commands[i+1:], c):
			return true
		case set && c.Key == "" && i+1 < len(commands) && isEnd(commands[i+1]) && commands[i+1].Line == c.Line: // [ -n "$X" ] || exit 1
			return true
		case set && c.Key == "if" && elseEnds(commands[i+1:]):
			return true
		}
	}
	return false
}

// loopOf is the loop whose condition the last of some commands is a part of: until, while; empty: of none.
func loopOf(commands []manifest.Command) string {
	last := commands[len(commands)-1]
	for i := len(commands) - 1; i >= 0 && commands[i].Line == last.Line && commands[i].Key == ""; i-- {
		if w := commands[i].Words[0]; w == "until" || w == "while" {
			return w
		}
	}
	return ""
}

// breaks reports whether a loop is left by a break before its end.
func breaks(commands []manifest.Command) bool {
	for _, c := range commands {
		if len(c.Words) > 0 && c.Words[0] == "done" {
			return false
		}
		if len(c.Words) > 0 && c.Words[0] == "break" {
			return true
		}
	}
	return false
}

func isEnd(c manifest.Command) bool {
	return len(c.Words) > 0 && (c.Words[0] == "exit" || c.Words[0] == "return" || c.Words[0] == "kill" || c.Words[0] == "false")
}

// ends reports whether what follows a test ends the script: in the branch of an if, or on the same line.
func ends(after []manifest.Command, test manifest.Command) bool {
	for _, c := range after {
		switch {
		case isEnd(c):
			return test.Key != "" || c.Line == test.Line
		case len(c.Words) > 0 && c.Words[0] == "fi", c.Key == "else", test.Key == "" && c.Line != test.Line:
			return false
		}
	}
	return false
}

// elseEnds reports whether the else branch of an if ends the script.
func elseEnds(after []manifest.Command) bool {
	within := false
	for _, c := range after {
		within = within || c.Key == "else"
		switch {
		case within && isEnd(c):
			return true
		case len(c.Words) > 0 && c.Words[0] == "fi":
			return false
		}
	}
	return false
}

func rendezvousRule() Rule {
	return Rule{
		ID: "rendezvous-service", Title: "pods find each other before they are ready", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc:       "a headless Service has the addresses of pods that are ready: ranks that wait for each other by its names never become ready, unless it publishes the others too",
		Reference: "kubernetes core/v1 ServiceSpec.publishNotReadyAddresses; LWS makes its own Service with it (pkg/controllers: publishNotReadyAddresses)",
		Judge: each(func(s scene) []fabric.Finding {
			if s.w.Form != manifest.Kubernetes {
				return s.notApplicable("only for Kubernetes")
			}
			sv := s.meetingPoint()
			ready := slices.ContainsFunc(s.c.Probes, func(p manifest.Probe) bool { return p.Kind == "readiness" })
			switch {
			case sv == nil:
				return s.notApplicable("no headless Service in the text by whose names it meets others")
			case sv.NotReady:
				return s.pass("publishNotReadyAddresses", s.at(sv.Line, "Service "+sv.Name))
			case !ready:
				return s.pass("pods without a readiness probe are ready when they run", s.at(sv.Line, "Service "+sv.Name))
			}
			return []fabric.Finding{s.fail(fault{
				why: fmt.Sprintf("the ranks meet by names of the headless Service %s, which has no pod before its readiness probe succeeds, and that waits for the ranks to meet", sv.Name), expected: "publishNotReadyAddresses: true",
				cost: "the names do not resolve and the group never forms", fix: "add publishNotReadyAddresses: true to the Service", seen: []fabric.Evidence{s.at(sv.Line, "Service "+sv.Name)},
			})}
		}),
	}
}

// meetingPoint is the headless Service by whose names the pods of a group of several find each other.
func (s scene) meetingPoint() *manifest.Service {
	if s.w.Kind == "LeaderWorkerSet" {
		return nil
	}
	var words []string
	for _, e := range s.c.Env {
		words = append(words, e.Value.Value)
	}
	for _, c := range s.c.Script.Commands {
		words = append(words, c.Words...)
	}
	for i := range s.file.Services {
		sv := &s.file.Services[i]
		if !sv.Headless || !s.selects(sv.Selector) {
			continue
		}
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "."+sv.Name) }) {
			return sv
		}
	}
	return nil
}

func hostDNSRule() Rule {
	return Rule{
		ID: "host-network-dns", Title: "a pod in the host's network resolves names of the cluster", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc:       "with hostNetwork the default dnsPolicy asks the node's resolver, which does not know Services: the leader's name does not resolve",
		Reference: "kubernetes docs, DNS for Services and Pods: hostNetwork with ClusterFirst falls back to Default; kubelet pkg/kubelet/network/dns: getPodDNSType",
		Judge: each(func(s scene) []fabric.Finding {
			name, line := s.clusterName()
			policy := s.pod.DNSPolicy
			switch {
			case !s.pod.HostNetwork || name == "":
				return s.notApplicable("only for hostNetwork with names of the cluster")
			case policy.Value == "ClusterFirstWithHostNet":
				return s.pass("ClusterFirstWithHostNet", s.at(policy.Line, "dnsPolicy: "+policy.Value))
			case policy.Open || policy.Value == "None":
				return s.unknown("which resolver the pod asks is not in the text", s.at(policy.Line, "dnsPolicy: "+policy.Value))
			}
			return s.absent(fault{
				why:      fmt.Sprintf("hostNetwork with dnsPolicy %s: the pod asks the node's resolver, which does not know %s", orOf(policy.Value, "ClusterFirst (the default)"), name),
				expected: "dnsPolicy: ClusterFirstWithHostNet", cost: "the name does not resolve and the ranks never meet", fix: "add dnsPolicy: ClusterFirstWithHostNet beside hostNetwork: true",
				seen: []fabric.Evidence{s.at(s.pod.Line, "hostNetwork: true"), s.at(line, name)},
			})
		}),
	}
}

// clusterName is a name of the cluster that a container uses: the leader of its LeaderWorkerSet, or a Service of the same text.
func (s scene) clusterName() (name string, line int) {
	for _, c := range s.c.Script.Commands {
		for _, w := range c.Words {
			if s.w.Kind == "LeaderWorkerSet" && strings.Contains(w, "LWS_LEADER_ADDRESS") {
				return "LWS_LEADER_ADDRESS", c.Line
			}
			for _, sv := range s.file.Services {
				if host, _, _ := strings.Cut(w, ":"); sv.Name != "" && (host == sv.Name || strings.HasPrefix(host, sv.Name+".") || strings.HasSuffix(host, "."+sv.Name)) && c.Words[0] != w {
					return sv.Name, c.Line
				}
			}
		}
	}
	return "", 0
}
