package loadtest

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// AIPerf that the commands run: https://pypi.org/project/aiperf/0.13.0. Its files are what the tests of this package read.
const AIPerf = "0.13.0"

// pythonImage is where it is installed in a container: the tool's own requirement is Python 3.10 to 3.13.
const pythonImage = "docker.io/library/python:3.12-slim"

// Run is a load test to render.
type Run struct {
	URL           string // of the server, without a path
	Model         string // served name, as /v1/models lists it
	Tokenizer     string // name or folder; empty: the model's name
	TokenEnv      string // variable with the token of the API; empty: none is sent
	Container     bool   // run AIPerf in a container instead of a virtual environment
	Folder        string // for results
	Workloads     []Workload
	Concurrencies []int
	PerLoad       int // requests per request in flight
}

// Requests of a load: so many for each in flight, and at least so many.
const (
	usualPerLoad  = 5
	leastRequests = 20
	leastWarmUp   = 5
)

// Script renders a shell script that measures each workload at each concurrency with AIPerf, warmed up, with answers of
// full length and different prompts. The token stays in the environment: it is in no file and on no command line.
func Script(r Run) (fabric.Artifact, error) {
	if err := r.check(); err != nil {
		return fabric.Artifact{}, err
	}
	if r.Tokenizer == "" {
		r.Tokenizer = r.Model
	}
	if r.PerLoad == 0 {
		r.PerLoad = usualPerLoad
	}
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("#!/usr/bin/env bash")
	p("# Load test of %s at %s by AIPerf %s (https://pypi.org/project/aiperf/%s).", r.Model, r.URL, AIPerf, AIPerf)
	p("# A run that is there already is not repeated. Then: railwright serve load %s", fabric.ShellWord(r.Folder))
	p("set -euo pipefail")
	if r.TokenEnv != "" {
		p(`: "${%s:?set it to the token of the API}"`, r.TokenEnv)
		p("export %s", r.TokenEnv)
	}
	p("results=%s", fabric.ShellWord(r.Folder))
	p(`mkdir -p "$results"`)
	r.install(p)
	p("")
	p(`cat > "$results/aiperf.yaml" <<'END'`)
	b.WriteString(r.config())
	p("END")
	p("")
	p("# name of the workload, tokens of a prompt, tokens of an answer, concurrency, requests, requests before")
	p("failed=0")
	p("while read -r name input output concurrency requests warmup; do")
	p(`    export INPUT="$input" OUTPUT="$output" CONCURRENCY="$concurrency" REQUESTS="$requests" WARMUP="$warmup"`)
	p(`    export RESULTS="$results/$name-concurrency$concurrency"`)
	p(`    [ -s "$RESULTS/profile_export_aiperf.json" ] && continue`)
	p(`    aiperf profile --config "$results/aiperf.yaml" --ui none </dev/null || { echo "$name at $concurrency: aiperf failed" >&2; failed=1; }`)
	p("done <<'END'")
	for _, w := range r.Workloads {
		for _, c := range r.Concurrencies {
			p("%s %.0f %.0f %d %d %d", strings.ReplaceAll(w.Name, " ", "-"), w.Input, w.Output, c, max(leastRequests, r.PerLoad*c), max(leastWarmUp, c))
		}
	}
	p("END")
	p(`exit "$failed"`)
	return fabric.Artifact{Path: "load.sh", Mode: 0o755, Content: []byte(b.String())}, nil
}

// check refuses what a file of YAML or a shell would read as something else.
func (r Run) check() error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("URL %s: is not http://HOST:PORT", fabric.Quote(r.URL))
	}
	if u.User != nil {
		return fmt.Errorf("URL of %s: has a password in it: put the token into a variable and name that", fabric.Quote(u.Host))
	}
	if r.Model == "" {
		return fmt.Errorf("model: the served name is needed, as /v1/models lists it")
	}
	for what, text := range map[string]string{"URL": r.URL, "model": r.Model, "tokenizer": r.Tokenizer, "folder": r.Folder} {
		if strings.ContainsAny(text, "\n\r\x00$\"\\") {
			return fmt.Errorf("%s %s: has a character that cannot be quoted", what, fabric.Quote(text))
		}
	}
	if r.TokenEnv != "" && !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(r.TokenEnv) {
		return fmt.Errorf("variable %s: is no name of a variable; give its name, never the token", fabric.Quote(shorten(r.TokenEnv, 3)))
	}
	if len(r.Workloads) == 0 || len(r.Concurrencies) == 0 {
		return fmt.Errorf("load test: has no workload or no concurrency")
	}
	for _, c := range r.Concurrencies {
		const most = 100_000
		if c < 1 || c > most {
			return fmt.Errorf("concurrency %d: must be from 1 to %d", c, most)
		}
	}
	return nil
}

// install puts AIPerf into a virtual environment, or makes its command one of a container.
func (r Run) install(p func(string, ...any)) {
	if !r.Container {
		p(`if ! [ -x "$results/venv/bin/aiperf" ]; then`)
		p(`    python3 -m venv "$results/venv" # Python 3.10 or newer`)
		p(`    "$results/venv/bin/pip" install --quiet aiperf==%s`, AIPerf)
		p("fi")
		p(`aiperf() { "$results/venv/bin/aiperf" "$@"; }`)
		return
	}
	env := "-e INPUT -e OUTPUT -e CONCURRENCY -e REQUESTS -e WARMUP -e RESULTS -e HF_TOKEN"
	if r.TokenEnv != "" {
		env += " -e " + r.TokenEnv
	}
	p(`engine=$(command -v podman || command -v docker)`)
	p(`results=$(cd "$results" && pwd)`)
	p(`printf 'FROM %s\nRUN pip install --no-cache-dir aiperf==%s\n' | "$engine" build -q -t railwright-aiperf:%s -`, pythonImage, AIPerf, AIPerf)
	p(`aiperf() { "$engine" run --rm --network host -v "$results:$results" %s railwright-aiperf:%s aiperf "$@"; }`, env, AIPerf)
}

// config is AIPerf's configuration, with what differs between the loads taken from the environment by AIPerf itself.
func (r Run) config() string {
	token := ""
	if r.TokenEnv != "" {
		token = "\n    api_key: ${" + r.TokenEnv + "}"
	}
	return `schemaVersion: "2.0"
randomSeed: 1
benchmark:
  model: ` + strconv.Quote(r.Model) + `
  endpoint:
    url: ` + strconv.Quote(r.URL) + `
    type: chat
    streaming: true # without it there is no time to the first token
    timeout: 3600.0` + token + `
    extra: # answers of full length, whatever the model would end
      ignore_eos: true
      min_tokens: ${OUTPUT}
      max_tokens: ${OUTPUT}
  tokenizer:
    name: ` + strconv.Quote(r.Tokenizer) + `
  dataset: # a prompt of its own for each request: a prefix cache does not help
    type: synthetic
    entries: ${REQUESTS}
    prompts:
      isl:
        mean: ${INPUT}
        stddev: 0
      osl:
        mean: ${OUTPUT}
        stddev: 0
  warmup:
    type: concurrency
    requests: ${WARMUP}
    concurrency: ${CONCURRENCY}
  profiling:
    type: concurrency
    requests: ${REQUESTS}
    concurrency: ${CONCURRENCY}
  artifacts:
    dir: ${RESULTS}
`
}
