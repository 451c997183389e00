package operators

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/fabric"
)

// kubectl runs templates by the rules of Go's text/template on the JSON of the API server.
func TestOperatorScriptTemplates(t *testing.T) {
	text := string(operatorsLibrary) + string(operatorsUp) + string(operatorsDown)
	const nodes = `{"items": [{"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4", "example.test/gpu": "8"}}}, {"metadata": {"name": "b"}, "status": {"allocatable": {"cpu": "4"}}}, {"metadata": {"name": "c"}, "status": {}}]}`
	want := map[string][2]string{ // by what is in a template: the list, and what it prints
		".allocatable": {nodes, "a 8\nb <no value>\nc \n"},
		".spec.driver": {`{"items": [{"spec": {"driver": "dra.net", "nodeName": "a"}}, {"spec": {"driver": "x"}}]}`, "dra.net a\nx <no value>\n"},
		"app.kubernetes.io/instance": {`{"items": [{"metadata": {"namespace": "n", "name": "w", "labels": {"app.kubernetes.io/instance": "r"}}}, {"metadata": {"namespace": "n", "name": "v", "labels": {"a": "b"}}}]}`,
			"n/w r\nn/v <no value>\n"},
		"{{.metadata.name}}{{": {nodes, "a\nb\nc\n"},
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`go-template=(\{\{range.*?\{\{end\}\})['"] `).FindAllStringSubmatch(text, -1) {
		source := strings.NewReplacer(`\"$1\"`, `"example.test/gpu"`, `\"\\n\"`, `"\n"`).Replace(m[1])
		tmpl, err := template.New("").Parse(source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		for part, c := range want {
			if !strings.Contains(source, part) {
				continue
			}
			var list any
			if err := yaml.Unmarshal([]byte(c[0]), &list); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := tmpl.Execute(&out, list); err != nil || out.String() != c[1] {
				t.Errorf("%s: %v, %q, want %q", source, err, out.String(), c[1])
			}
			seen[part] = true
		}
	}
	if len(seen) != len(want) {
		t.Errorf("templates of the scripts that were tried: %v", seen)
	}
}

// What a person runs is sound to shellcheck, where it is installed.
func TestOperatorScriptsShellcheck(t *testing.T) {
	tool, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed: only bash has read the scripts")
	}
	for _, a := range []fabric.Artifact{Up("demo", demoOperators(), demoNodes), Down("demo", demoOperators(), demoNodes)} {
		c := exec.Command(tool, "-s", "bash", "-")
		c.Stdin = bytes.NewReader(a.Content)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", a.Path, err, out)
		}
	}
}
