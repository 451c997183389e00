package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// group is a heading of the help, with its commands in the order in which one uses them.
type group struct {
	id, title string
	commands  []string
}

func groups() []group {
	return []group{
		{"cluster", "From bare nodes to a verified cluster:", []string{"up", "init", "logins", "plan", "render", "apply", "rollback", "check", "rule", "bench", "report"}},
		{"machine", "What a machine is:", []string{"collect", "diff", "topo"}},
		{"performance", "How large, how fast, and why not:", []string{"size", "predict", "claims", "serve", "explain", "cause", "catalog"}},
		{"lab", "Without hardware:", []string{"lab"}},
		{"program", "This program:", []string{"mcp", "schema", "version", "completion", "man", "help"}},
	}
}

// groupOf is the id of the group of a command of railwright itself; empty where it has none.
func groupOf(name string) string {
	for _, g := range groups() {
		for _, c := range g.commands {
			if c == name {
				return g.id
			}
		}
	}
	return ""
}

// examples are command lines of a command, as a person types them. A test parses each of them.
func examples(path string) string {
	lines := map[string][]string{
		"railwright": {
			"railwright up                                        # the whole way in a lab, without hardware",
			"railwright init --example roce-mi300x > cluster.yaml # a cluster file to edit",
			"railwright check -f cluster.yaml                     # the machines of the file, over SSH",
			"railwright explain all_reduce.txt                    # what a table of nccl-tests says",
		},
		"railwright up":       {"railwright up", "railwright up --lab --fault mtu=host1:eth3", "railwright up -f cluster.yaml -d runs"},
		"railwright init":     {"railwright init > cluster.yaml", "railwright init --example hgx-h100-ib --nodes 16 > cluster.yaml"},
		"railwright collect":  {"railwright collect > host1.json", "railwright collect --raw host1.txtar", "railwright collect --hosts 'gpu[001-512]' -d facts"},
		"railwright plan":     {"railwright plan -f cluster.yaml", "railwright init --example roce-mi300x | railwright plan -f - -o json"},
		"railwright render":   {"railwright render -f cluster.yaml -d files"},
		"railwright apply":    {"railwright apply -f cluster.yaml --dry-run", "railwright apply -f cluster.yaml", "railwright apply -f cluster.yaml --activate"},
		"railwright logins":   {"railwright logins -f cluster.yaml"},
		"railwright rollback": {"railwright rollback"},
		"railwright check":    {"railwright check", "railwright check -f cluster.yaml --html findings.html", "railwright check --snapshot facts/ -o json", "railwright check -f cluster.yaml --switch leaf1=leaf1.json"},
		"railwright rule":     {"railwright rule", "railwright rule gid-roce-v2"},
		"railwright diff":     {"railwright diff good.json bad.json", "railwright diff facts:gpu001 facts:gpu002 --identities"},
		"railwright bench":    {"railwright bench -f cluster.yaml", "railwright bench --lab --suite ping"},
		"railwright report":   {"railwright report railwright-runs/20261122-120000"},

		"railwright topo":      {"railwright topo show", "railwright topo pcie", "railwright topo nccl --out topo.xml", "railwright topo lint topo.xml"},
		"railwright topo show": {"railwright topo show --machine hgx-h100", "nvidia-smi topo -m | railwright topo show -", "railwright topo show topo.xml --svg topo.svg"},
		"railwright topo pcie": {"railwright topo pcie", "sudo lspci -vvv | railwright topo pcie -", "railwright topo pcie --snapshot host1.json --machine xe9680-mi300x-thor2"},
		"railwright topo nccl": {
			"railwright topo nccl --out topo.xml", "railwright topo nccl --machine xe9680-mi300x-thor2 --rccl --out topo.xml",
			"railwright topo nccl --snapshot esx1.json --guest vm1.json --out topo.xml",
		},
		"railwright topo lint": {"railwright topo lint topo.xml", "railwright topo lint --fix topo.xml --out fixed.xml", "railwright topo lint node1.xml node2.xml"},

		"railwright size": {
			"railwright size deepseek-r1 --machine hgx-h200", "railwright size llama-3.1-70b --gpu l40s --gpus-per-node 4 --context 128k",
			"railwright size config.json --engine vllm --explain",
		},
		"railwright predict": {"railwright predict --machine hgx-h100 --nodes 16", "railwright predict -f cluster.yaml --collective alltoall --sizes 1M:1G", "railwright predict --topo topo.xml --env NCCL_ALGO=Ring", "railwright predict --machine hgx-h100 --nodes 16 --nccl 2.27.7 --nccl 2.30.7"},
		"railwright claims": {
			"railwright claims -f cluster.yaml", "kubectl get resourceslices -o yaml | railwright claims --claims claims.yaml --slices -",
			"railwright claims --claims claims.yaml --kubeconfig ~/.kube/config --pods 16", "railwright claims --machine a4-highgpu-8g --print-slices",
		},
		"railwright serve": {"railwright serve lint lws.yaml", "railwright serve smoke http://10.0.0.5:8000", "railwright serve watch logs/", "railwright serve load load-results/ --ttft 500ms"},
		"railwright serve watch": {
			"railwright serve watch logs/ --model deepseek-r1 --machine hgx-h200", "kubectl logs -f -l leaderworkerset.sigs.k8s.io/name=r1 --prefix | railwright serve watch --follow -",
			"railwright serve watch r1-0.log r1-0-1.log --follow --timeout 40m",
		},
		"railwright serve lint": {
			"railwright serve lint lws.yaml", "helm template ./chart | railwright serve lint -", "railwright serve lint manifests/ -f cluster.yaml", "railwright serve lint --live --namespace llm --selector app=r1",
		},
		"railwright serve smoke": {"railwright serve smoke http://10.0.0.5:8000", "railwright serve smoke https://llm.example.com --model deepseek-r1 --token-env LLM_TOKEN"},
		"railwright serve load": {
			"railwright serve load load-results/ --ttft 500ms --rate 20", "railwright serve load results.json bench.log --requests 1000 --html load.html",
			"railwright serve load --print --url http://10.0.0.5:8000 --model deepseek-ai/DeepSeek-R1-0528 > load.sh",
		},
		"railwright explain": {"railwright explain all_reduce.txt", "railwright explain nccl-debug.log -f cluster.yaml", "railwright explain --machine hgx-h100 --nodes 2 - < all_reduce.txt"},
		"railwright cause":   {"railwright cause", "railwright cause gdr-disabled", "railwright cause firewall -o json"},
		"railwright catalog": {"railwright catalog", "railwright catalog machines", "railwright catalog gpus h100-sxm"},

		"railwright lab":        {"railwright lab up --fault swap-cable=host1:eth2,eth3", "railwright check --lab", "railwright lab down"},
		"railwright lab up":     {"railwright lab up", "railwright lab up -f cluster.yaml --ssh", "railwright lab up --fault mtu=host1:eth3 --fault down=host2:eth1"},
		"railwright lab down":   {"railwright lab down"},
		"railwright lab status": {"railwright lab status", "railwright lab status -o json"},
		"railwright lab exec":   {"railwright lab exec host1 -- ip -br addr"},

		"railwright mcp":        {"railwright mcp --root /var/log/nccl", "claude mcp add railwright -- railwright mcp --root ."},
		"railwright schema":     {"railwright schema Cluster > cluster.schema.json"},
		"railwright version":    {"railwright version", "railwright --version"},
		"railwright help":       {"railwright help topo lint"},
		"railwright man":        {"railwright man size", "railwright man -d man && man ./man/railwright-size.1"},
		"railwright completion": {"railwright completion bash > /etc/bash_completion.d/railwright", "railwright completion zsh > \"${fpath[1]}/_railwright\""},
	}
	if shell, ok := strings.CutPrefix(path, "railwright completion "); ok {
		return "  railwright completion " + shell
	}
	var b strings.Builder
	for i, line := range lines[path] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("  " + line)
	}
	return b.String()
}

// finish gives every command of the tree what all of them have: examples, a group, messages of this program, words that
// the shell completes, and a line on standard error where it is silent for long.
func (a *app) finish(root *cobra.Command) {
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		c.GroupID = groupOf(c.Name())
	}
	a.each(root)
}

func (a *app) each(c *cobra.Command) {
	c.Example = examples(c.CommandPath())
	isLibrary := c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion"
	switch {
	case c.HasParent() && c.HasSubCommands():
		c.Args = knownCommand
		if c.RunE == nil {
			c.RunE = a.helpOnly
		}
	case isLibrary:
		c.Args = noArgs
	case c.RunE != nil && !c.HasSubCommands() && c.Name() != "help" && !isRelay(c):
		c.RunE = a.watched(c.RunE)
	}
	completeWords(c)
	for _, sub := range c.Commands() {
		a.each(sub)
	}
}

// isRelay reports whether the output of a command is that of another: the steps at the far end, lab exec, and the tools of mcp.
func isRelay(c *cobra.Command) bool {
	return c.Parent().Name() == "node" || c.Name() == "exec" || c.Name() == "mcp"
}

// isLookedOn reports whether standard error is a terminal.
func isLookedOn() bool { return term.IsTerminal(int(os.Stderr.Fd())) }

// watched runs a command and says what it waits for where it is silent for long.
func (a *app) watched(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		stop := a.watch(c)
		defer stop()
		return run(c, args)
	}
}
