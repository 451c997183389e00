package operators

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

// ValuesPath is where the values of a release are, for the person who installs it.
func ValuesPath(release string) string { return "/values-" + release + ".yaml" }

// Values are the values of every release: a file each, which Helm reads. A comment says of each value why it is so.
func Values(o fabric.Operators) []fabric.Artifact {
	var all []fabric.Artifact
	for _, r := range o.Releases {
		all = append(all, values(r))
	}
	return all
}

func values(r fabric.HelmRelease) fabric.Artifact {
	var b strings.Builder
	b.WriteString(kubernetes.Comment(fmt.Sprintf("Values of the chart %s, release %s, for %s.", r.Chart, r.Version, r.Title)))
	tree := make(map[string]any)
	for _, v := range r.Values {
		b.WriteString(kubernetes.Comment(v.Key + ": " + v.Why))
		put(tree, strings.Split(v.Key, "."), v.Value)
	}
	b.Write(kubernetes.Text(tree))
	return kubernetes.NewArtifact(fabric.OnWorkstation, ValuesPath(r.Name), kubernetes.ModePublic, []byte(b.String()))
}

// put puts a value at a path of a tree. Two values never stand at one path, nor one above another: each is a leaf of its chart.
func put(tree map[string]any, path []string, value any) {
	for _, step := range path[:len(path)-1] {
		next, ok := tree[step].(map[string]any)
		if !ok {
			next = make(map[string]any)
			tree[step] = next
		}
		tree = next
	}
	tree[path[len(path)-1]] = value
}
