package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/loadtest"
	"railwright.dev/railwright/internal/report"
)

// smokeOptions are the argument and the flags of serve smoke.
type smokeOptions struct {
	url      string
	model    string
	tokenEnv string
	timeout  time.Duration
}

func (a *app) serveSmokeCommand(run func(context.Context, smokeOptions) error) *cobra.Command {
	var o smokeOptions
	c := &cobra.Command{
		Use:   "smoke URL [--model NAME] [--token-env VARIABLE] [--timeout 60s]",
		Short: "Ask a served model one question over its OpenAI-compatible API",
		Long: "Ask a server with an OpenAI-compatible API which models it serves (/v1/models) and ask one of them a question\n" +
			"(/v1/chat/completions). A pass needs an answer with text; a page, an error inside an answer, an answer without text,\n" +
			"and one that has only the model's thoughts are told apart. A token is read from the variable that --token-env names,\n" +
			"and is never printed. Redirections are not followed.\n\n" +
			"Exit status 0: the model answers; 1: it does not; 2: it cannot be known.",
		Args: takes("URL"),
		RunE: func(c *cobra.Command, args []string) error {
			o.url = args[0]
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.model, "model", "", "served name to ask; default the first that is served")
	f.StringVar(&o.tokenEnv, "token-env", "", "variable with the token of the API")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "longest wait for each answer")
	return c
}

// smokeReport is what serve smoke prints as JSON.
type smokeReport struct {
	fabric.Meta
	Status   fabric.Status        `json:"status"`
	Models   []string             `json:"models,omitempty"`
	Findings []fabric.LoadFinding `json:"findings"`
}

func (a *app) serveSmoke(ctx context.Context, o smokeOptions) error {
	base, err := apiAddress(o.url)
	if err != nil {
		return err
	}
	if o.timeout <= 0 {
		return fmt.Errorf("flag --timeout: %v: must be above 0", o.timeout)
	}
	token, err := tokenOf(o.tokenEnv)
	if err != nil {
		return err
	}
	ask := func(q loadtest.Question) loadtest.Answer {
		a.doing("waiting for %s of %s", q.Path, fabric.Quote(base))
		return askAPI(ctx, base, token, q, o.timeout)
	}
	names, found := loadtest.Models(ask(loadtest.ModelsQuestion()))
	r := smokeReport{Meta: fabric.NewMeta("SmokeReport"), Models: names, Findings: []fabric.LoadFinding{found}}
	served := loadtest.Served(names, o.model)
	r.Findings = append(r.Findings, served)
	model := o.model
	if model == "" && len(names) > 0 {
		model = names[0]
	}
	if model != "" && (served.Status == fabric.Pass || len(names) == 0) {
		r.Findings = append(r.Findings, loadtest.Chat(ask(loadtest.ChatQuestion(model)), model))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.Status = loadtest.Smoke(r.Findings)
	if a.json() {
		err = report.JSON(a.stdout, r)
	} else {
		err = report.LoadFindings(a.stdout, base, r.Status, r.Findings, a.textOptions())
	}
	if err != nil {
		return err
	}
	return exitOf(r.Status)
}

// apiAddress is the address of a server without the path of its API.
func apiAddress(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("URL %s: is not http://HOST:PORT or https://HOST:PORT", fabric.Quote(withoutUser(text)))
	}
	if u.User != nil {
		return "", fmt.Errorf("URL of %s: has a password in it: put the token into a variable and name that with --token-env", fabric.Quote(u.Host))
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("URL of %s: give it without what follows the path", fabric.Quote(u.Host))
	}
	path := strings.TrimRight(u.Path, "/")
	for _, end := range []string{"/chat/completions", "/models", "/v1"} {
		path = strings.TrimSuffix(path, end)
	}
	return u.Scheme + "://" + u.Host + path, nil
}

// withoutUser leaves out what stands before an at sign.
func withoutUser(text string) string {
	if _, after, found := strings.Cut(text, "@"); found {
		return "...@" + after
	}
	return text
}

// tokenOf is the token in a variable; without a name there is none.
func tokenOf(variable string) (string, error) {
	if variable == "" {
		return "", nil
	}
	token := strings.TrimSpace(os.Getenv(variable))
	switch {
	case token == "":
		return "", fmt.Errorf("flag --token-env: the variable of that name is empty or not set; give the name of a variable, never the token")
	case strings.ContainsAny(token, "\r\n\x00"):
		return "", fmt.Errorf("flag --token-env: the token in %s has a line break in it", fabric.Quote(variable))
	}
	return token, nil
}

// askAPI sends one request.
func askAPI(ctx context.Context, base, token string, q loadtest.Question, timeout time.Duration) loadtest.Answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	const most = 4 << 20 // bytes; a gateway may list thousands of models
	got, err := host.HTTP(ctx, host.HTTPRequest{Method: q.Method, URL: base + q.Path, Token: token, Body: q.Body}, most)
	answer := loadtest.Answer{Status: got.Status, Type: got.Type, Body: got.Body, Cut: got.Cut}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		answer.Err = fmt.Sprintf("nothing within %v", timeout)
	case err != nil:
		answer.Err = err.Error()
	}
	return answer
}
