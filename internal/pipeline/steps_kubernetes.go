package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

// onKubernetes reports whether no machine is reached: what runs there are pods, and what is applied are objects.
func (o Options) onKubernetes() bool { return !o.Lab && o.Cluster.Launcher == intent.Kubernetes }

func hasPods(o Options) bool { return o.Plan.Claims != nil }

// claims tries the claims of the planned pods on the slices that drivers would publish on the plan's machines.
func (u *up) claims(ctx context.Context) (note string, err error) {
	if u.report.Claims, err = TryPlanned(ctx, u.Plan); err != nil {
		return "", err
	}
	a := u.report.Claims
	aligned := fmt.Sprint(a.AlignedPairs.Min)
	if a.AlignedPairs.Max > a.AlignedPairs.Min {
		aligned += fmt.Sprintf(" to %d", a.AlignedPairs.Max)
	}
	note = fmt.Sprintf("%s, %s of %s aligned, on nominal slices", fabric.Count(len(a.Pods), "pod"), aligned, fabric.Count(a.TotalPairs, "pair"))
	return note, u.folder.Write(run.ClaimsFile, a)
}

func (u *up) claimsStatus() fabric.Status { return u.report.Claims.Status }

// TryPlanned tries the claims of a plan on the slices that drivers would publish on its machines, as the catalog knows these.
func TryPlanned(ctx context.Context, p *fabric.Plan) (*fabric.Allocation, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	var order []string
	nodes := map[string][]string{}
	for _, n := range p.Nodes {
		if !slices.Contains(order, n.Machine) {
			order = append(order, n.Machine)
		}
		nodes[n.Machine] = append(nodes[n.Machine], n.Name)
	}
	made, machine, err := SlicesOfCatalog(cat, order, nodes, Publishers{GPU: p.Claims.GPUDriver, NIC: p.Claims.NICDriver})
	if err != nil {
		return nil, err
	}
	objects, err := ReadSlices(made)
	if err != nil {
		return nil, err
	}
	in := ClaimTest{
		Objects: objects, Nominal: true, Notes: slices.Clone(made.Gaps), Orders: ClaimOrders, Collective: fabric.AllGather,
		Source:  "nominal: what drivers would publish on " + strings.Join(order, ", ") + " of the catalog",
		Request: claims.Request{NodeGPUs: machine.GPUs, NICGbps: machine.NICGbps},
		Cluster: func() (*collective.Cluster, error) {
			hw, err := Hardware(p)
			if err != nil {
				return nil, err
			}
			hw.Nodes = 2 // pods are nodes to NCCL; that there is a network is what counts
			return collective.New(cat, hw)
		},
	}
	PlannedClaims(&in, objects, *p.Claims)
	in.Notes = append(in.Notes, AssumeClasses(objects)...)
	return TryClaims(ctx, in)
}

// leaveToPeople records that nothing was applied, and why not: objects go to an API server, which has credentials of its own.
func (u *up) leaveToPeople() (string, error) {
	before := len(u.applied)
	if err := u.beyond(); err != nil {
		return "", err
	}
	var targets []string
	for _, a := range u.applied[before:] {
		targets = append(targets, a.Node)
	}
	return "nothing was applied for " + strings.Join(targets, " and ") + ": see what to do next", nil
}

// beyond records what became of files for other targets than machines and switches.
func (u *up) beyond() error {
	k, _, err := Beyond(u.Plan, Kubernetes{InLab: u.Lab})
	if err != nil {
		return err
	}
	for _, r := range k.NotNow() {
		u.applied, u.report.Applied = append(u.applied, r), append(u.report.Applied, applied(r))
	}
	return nil
}

// next is what a person does after a run that reaches no machine.
func (u *up) next() (all []report.NextStep) {
	if !u.onKubernetes() && !u.hasHosts() {
		return nil
	}
	here := func(name string) string { return fabric.ShellWord(filepath.Join(string(u.folder), name)) }
	file, script := here(run.ClusterFile), func(name string) string { return here(filepath.Join(run.Artifacts, fabric.OnWorkstation, name)) }
	add := func(what string, commands ...string) {
		all = append(all, report.NextStep{What: what, Commands: commands})
	}
	if u.hasHosts() {
		u.nextOnVSphere(file, script, add)
	}
	if !u.onKubernetes() {
		return all
	}
	if c := u.Plan.Cloud; c != nil {
		if c.Project == fabric.PlaceholderProject {
			add("Put the id of your project into gke.project of the cluster file, and run this again: what follows needs it", "gcloud projects list")
		}
		add("Make the networks, the cluster and its machines; it costs money from then on, and says the names of the machines, for nodes.names", script("gke-up.sh"))
	}
	if u.rendered(operatorsScript) {
		add("Install the operators, each ready on every machine before the next: the objects below need them", script(operatorsScript)+" CONTEXT")
	}
	add("See what would change in the cluster, then apply it without --dry-run", "railwright apply -f "+file+" --dry-run")
	if u.Plan.Claims != nil {
		add("Try the claims on the slices that the drivers published", "railwright claims -f "+file+" --kubeconfig ~/.kube/config")
	}
	if u.rendered(collectivesScript) {
		add("Run the collectives over the pods, and judge what they print", script(collectivesScript), "railwright explain nccl-results -f "+file)
	}
	if u.rendered(testScript) {
		add("Build the images of the test pods, once, and run the tests, which railwright explain judges", script(imagesScript), "CLUSTER="+file+" "+script(testScript))
	}
	add("Check what pods have", factsOfPods(u.Plan, file)...)
	return all
}

// operatorsScript installs the operators of a plan.
const operatorsScript = "operators-up.sh"

// collectivesScript runs the collectives over the pods of a plan.
const collectivesScript = "run-nccl-tests.sh"

func (u *up) rendered(name string) bool {
	return u.report.Artifacts != nil &&
		slices.ContainsFunc(u.report.Artifacts.Artifacts, func(a fabric.Artifact) bool { return a.Path == "/"+name })
}

// factsOfPods are the commands that save and check the facts of pods. The program needs no library of the container's.
func factsOfPods(p *fabric.Plan, file string) []string {
	pods := "kubectl "
	if p.Claims != nil && p.Claims.Namespace != "default" {
		pods += "-n " + p.Claims.Namespace + " "
	}
	return []string{
		pods + `cp "$(command -v railwright)" POD:/tmp/railwright`,
		"mkdir -p pods && " + pods + "exec POD -- /tmp/railwright collect > pods/POD.json",
		"railwright collect --text texts/POD > pods/POD.json   # instead, of what ip, ibv_devinfo and kubectl print in files",
		"railwright check -f " + file + " --snapshot pods",
	}
}

// CheckOfPods says how the pods of a plan are checked, since nobody logs in to them.
func CheckOfPods(p *fabric.Plan, file string) error {
	return fmt.Errorf("launcher kubernetes: check does not log in to pods; their facts come from files. For each pod:\n  %s",
		strings.Join(factsOfPods(p, fabric.ShellWord(file)), "\n  "))
}

// CollectOfPods says how facts of the pods of a plan are made, since nobody logs in to them.
func CollectOfPods(p *fabric.Plan, file string) error {
	return fmt.Errorf("launcher kubernetes: collect does not log in to pods; in each of them:\n  %s", strings.Join(factsOfPods(p, fabric.ShellWord(file)), "\n  "))
}
