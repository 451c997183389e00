package loadtest

import (
	"strings"
	"testing"
)

func run() Run {
	return Run{URL: "http://192.0.2.5:8000", Model: "org/model", TokenEnv: "LLM_TOKEN", Folder: "my results", Workloads: usual(), Concurrencies: []int{1, 125}}
}

func TestScript(t *testing.T) {
	s, err := Script(run())
	if err != nil {
		t.Fatal(err)
	}
	text := string(s.Content)
	for _, want := range []string{
		"aiperf==" + AIPerf, "api_key: ${LLM_TOKEN}", "ignore_eos: true", "short-translation 200 200 1 20 5\n", "short-translation 200 200 125 625 125\n",
		"results='my results'", "entries: ${REQUESTS}", `model: "org/model"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("without %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "--api-key") {
		t.Error("the token is on a command line")
	}
	r := run()
	r.Container, r.TokenEnv = true, ""
	if s, err = Script(r); err != nil || !strings.Contains(string(s.Content), "run --rm") || strings.Contains(string(s.Content), "api_key") {
		t.Errorf("in a container: %v\n%s", err, s.Content)
	}
}

func TestScriptRefuses(t *testing.T) {
	for name, change := range map[string]func(*Run){
		"no URL": func(r *Run) { r.URL = "" }, "no scheme": func(r *Run) { r.URL = "h:1" }, "a password": func(r *Run) { r.URL = "http://u:p@h:1" },
		"no model": func(r *Run) { r.Model = "" }, "a line break": func(r *Run) { r.Model = "a\nb" }, "a variable": func(r *Run) { r.Model = "${HOME}" },
		"a quote": func(r *Run) { r.Tokenizer = `a"b` }, "a token": func(r *Run) { r.TokenEnv = "sk-secret" }, "nothing": func(r *Run) { r.Workloads = nil },
		"none": func(r *Run) { r.Concurrencies = []int{0} },
	} {
		r := run()
		change(&r)
		if _, err := Script(r); err == nil {
			t.Errorf("%s: is taken", name)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows it: %v", name, err)
		}
	}
}
