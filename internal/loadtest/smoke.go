package loadtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Statuses of HTTP (RFC 9110, 15) that say what is wrong.
const (
	statusUnauthorized   = 401
	statusForbidden      = 403
	statusNotFound       = 404
	statusTooMany        = 429
	statusBadGateway     = 502
	statusUnavailable    = 503
	statusGatewayTimeout = 504
)

// Answer is what a server sent back.
type Answer struct {
	Status int    // of HTTP; 0: there is none
	Type   string // Content-Type
	Body   []byte
	Cut    bool   // the body is longer than was read
	Err    string // why there is no answer, or none to its end
}

// Question is a request to the API.
type Question struct {
	Method string
	Path   string
	Body   []byte
}

// ModelsQuestion asks which models are served.
func ModelsQuestion() Question { return Question{Method: "GET", Path: "/v1/models"} }

// SmokeTokens is how long the answer of the smoke test may be: a model that thinks first needs some for its thoughts.
const SmokeTokens = 256

// ChatQuestion asks a model a question with a short answer.
func ChatQuestion(model string) Question {
	body, err := json.Marshal(map[string]any{
		"model": model, "max_tokens": SmokeTokens, "temperature": 0, "stream": false,
		"messages": []map[string]string{{"role": "user", "content": "Name the capital of France in one word."}},
	})
	if err != nil {
		body = nil // of texts and numbers: it does not fail
	}
	return Question{Method: "POST", Path: "/v1/chat/completions", Body: body}
}

// Models reads the answer to ModelsQuestion: the names under which models are served.
func Models(a Answer) (names []string, f fabric.LoadFinding) {
	const id = "models"
	if problem, bad := refused(id, a, ""); bad {
		return nil, problem
	}
	var list struct {
		Object string `json:"object"`
		Data   []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(a.Body, &list); err != nil {
		return nil, finding(id, fabric.Fail, "the answer is not the JSON of a list of models: %v", err)
	}
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	if len(names) == 0 {
		return nil, finding(id, fabric.Fail, "the server answers and lists no model")
	}
	return names, finding(id, fabric.Pass, "serves %s", strings.Join(names, ", "))
}

// Served says whether a model is among those that are served.
func Served(names []string, want string) fabric.LoadFinding {
	const id = "model"
	switch {
	case len(names) == 0:
		return finding(id, fabric.Unknown, "which models are served is unknown")
	case want == "":
		return finding(id, fabric.Pass, "%s is asked", names[0])
	case slices.Contains(names, want):
		return finding(id, fabric.Pass, "%s is served", want)
	}
	f := finding(id, fabric.Fail, "%s is not served", want)
	f.Next = "ask for " + strings.Join(names, " or ") + ", or start the engine with --served-model-name " + fabric.ShellWord(want)
	return f
}

// chatAnswer is what is read of the answer to a chat.
type chatAnswer struct {
	Model   string `json:"model"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content          *string         `json:"content"`
			ReasoningContent string          `json:"reasoning_content"`
			Reasoning        string          `json:"reasoning"`
			ToolCalls        json.RawMessage `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"`
	Usage *struct {
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

// Chat reads the answer to ChatQuestion: a pass needs text that the model wrote.
func Chat(a Answer, model string) fabric.LoadFinding {
	const id = "chat"
	if problem, bad := refused(id, a, model); bad {
		return problem
	}
	var c chatAnswer
	if err := json.Unmarshal(a.Body, &c); err != nil {
		return finding(id, fabric.Fail, "the answer is not the JSON of a chat: %v", err)
	}
	if len(c.Choices) == 0 {
		return finding(id, fabric.Fail, "the answer has no choices: it is not that of a chat")
	}
	first := c.Choices[0]
	thoughts := strings.TrimSpace(first.Message.ReasoningContent + first.Message.Reasoning)
	content := ""
	if first.Message.Content != nil {
		content = strings.TrimSpace(*first.Message.Content)
	}
	ended := "finish_reason " + fabric.Quote(first.FinishReason)
	switch {
	case content == "" && thoughts != "" && first.FinishReason == "length":
		return finding(id, fabric.Unknown, "%d tokens were not enough: the model was still thinking (reasoning_content, no content, %s)", SmokeTokens, ended)
	case content == "" && thoughts != "":
		f := finding(id, fabric.Fail, "the answer has reasoning_content and no content (%s): what the model says after its thoughts is lost", ended)
		f.Next = "look at the reasoning parser of the engine (--reasoning-parser): it must be that of this model"
		return f
	case content == "" && c.Usage != nil && c.Usage.Completion > 0:
		return finding(id, fabric.Fail, "%d tokens were made and the answer has no text (%s)", c.Usage.Completion, ended)
	case content == "":
		return finding(id, fabric.Fail, "the answer is empty (%s)", ended)
	case strings.Trim(content, "!") == "":
		f := finding(id, fabric.Fail, "the answer is %s: a model whose weights or KV cache hold NaN says that", fabric.Quote(shorten(content, 20)))
		f.Next = "look for NaN in the log of the engine; check its type of weights and of the KV cache"
		return f
	case model != "" && c.Model != "" && c.Model != model:
		return finding(id, fabric.Unknown, "%s answers where %s was asked: %s", c.Model, model, fabric.Quote(shorten(content, 60)))
	}
	return finding(id, fabric.Pass, "answers %s", fabric.Quote(shorten(content, 60)))
}

// refused says what an answer is that is none: no connection, a page, an error of the API.
func refused(id string, a Answer, model string) (f fabric.LoadFinding, bad bool) {
	text := strings.TrimSpace(string(a.Body[:min(len(a.Body), 4096)]))
	isPage := strings.Contains(a.Type, "text/html") || strings.HasPrefix(strings.ToLower(text), "<!doctype") || strings.HasPrefix(strings.ToLower(text), "<html")
	said := apiError(a.Body)
	switch {
	case a.Status == 0:
		f = finding(id, fabric.Fail, "no answer: %s", a.Err)
		f.Next = "is the Service's address that of the leader, is its port the engine's, is the engine ready?"
	case a.Err != "":
		f = finding(id, fabric.Fail, "the answer breaks off: %s", a.Err)
	case a.Cut:
		f = finding(id, fabric.Fail, "the answer is far longer than one of this API")
	case a.Status == statusUnauthorized || a.Status == statusForbidden:
		f = finding(id, fabric.Fail, "status %d: the server wants a token%s", a.Status, said)
		f.Next = "put it into a variable and name that: --token-env NAME"
	case a.Status >= 300 && a.Status < 400:
		f = finding(id, fabric.Fail, "status %d: the address leads elsewhere, and is not followed: a token would go there too", a.Status)
	case isPage:
		f = finding(id, fabric.Fail, "status %d with an HTML page: this is not the API, but a proxy or a page for people", a.Status)
		f.Next = "give the address that the engine listens on, without a path"
	case a.Status == statusNotFound && model != "" && (said != "" && strings.Contains(strings.ToLower(said), "model")):
		f = finding(id, fabric.Fail, "status 404%s: the model is served under another name", said)
	case a.Status == statusNotFound:
		f = finding(id, fabric.Fail, "status 404%s: the server does not have this path", said)
		f.Next = "give the address without /v1; or the server has no OpenAI-compatible API"
	case a.Status == statusTooMany:
		f = finding(id, fabric.Unknown, "status 429%s: the server turns requests away for now", said)
	case a.Status == statusUnavailable || a.Status == statusBadGateway || a.Status == statusGatewayTimeout:
		f = finding(id, fabric.Fail, "status %d%s: the server behind the address is not ready", a.Status, said)
		f.Next = "follow its launch: railwright serve watch"
	case a.Status < 200 || a.Status > 299:
		f = finding(id, fabric.Fail, "status %d%s", a.Status, said)
	case len(bytes.TrimSpace(a.Body)) == 0:
		f = finding(id, fabric.Fail, "status %d with an empty answer", a.Status)
	case said != "":
		f = finding(id, fabric.Fail, "an error with status %d%s", a.Status, said)
	default:
		return f, false
	}
	return f, true
}

// apiError is the message of an error of the API, after a colon; empty where there is none. vLLM and OpenAI have it under
// error, SGLang and older vLLM at the top, FastAPI under detail.
func apiError(body []byte) string {
	var e struct {
		Error   json.RawMessage `json:"error"`
		Object  string          `json:"object"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	var inner struct {
		Message string `json:"message"`
	}
	text := ""
	switch {
	case len(e.Error) > 0 && json.Unmarshal(e.Error, &inner) == nil && inner.Message != "":
		text = inner.Message
	case len(e.Error) > 0 && string(e.Error) != "null" && string(e.Error) != "false":
		text = strings.Trim(string(e.Error), `"`)
	case e.Object == "error" && e.Message != "":
		text = e.Message
	case len(e.Detail) > 0 && string(e.Detail) != "null":
		text = strings.Trim(string(e.Detail), `"`)
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf(": %s", shorten(fabric.Printable(text), 160))
}

// Smoke puts findings of the API together.
func Smoke(all []fabric.LoadFinding) fabric.Status { return verdict(all) }
