package loadtest

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestModels(t *testing.T) {
	names, f := Models(Answer{Status: 200, Body: []byte(`{"object":"list","data":[{"id":"m"},{"id":"lora"}]}`)})
	if f.Status != fabric.Pass || len(names) != 2 {
		t.Errorf("%v %s", names, f.Text)
	}
	for name, a := range map[string]Answer{
		"a page": {Status: 200, Type: "text/html", Body: []byte("<html>log in</html>")}, "no token": {Status: 401}, "forbidden": {Status: 403},
		"no path": {Status: 404, Body: []byte(`{"detail":"Not Found"}`)}, "not ready": {Status: 503}, "nothing": {Err: "connection refused"},
		"no models": {Status: 200, Body: []byte(`{"object":"list","data":[]}`)}, "not JSON": {Status: 200, Body: []byte("ok")}, "empty": {Status: 200},
		"elsewhere": {Status: 307}, "cut": {Status: 200, Cut: true, Body: []byte("{")}, "broken off": {Status: 200, Err: "unexpected EOF"},
	} {
		if names, f := Models(a); f.Status == fabric.Pass || len(names) > 0 {
			t.Errorf("%s is %s: %s", name, f.Status, f.Text)
		}
	}
}

func TestChat(t *testing.T) {
	answer := func(message, reason string) Answer {
		return Answer{Status: 200, Body: []byte(`{"model":"m","choices":[{"message":` + message + `,"finish_reason":"` + reason + `"}],"usage":{"completion_tokens":3}}`)}
	}
	for _, c := range []struct {
		name string
		a    Answer
		want fabric.Status
		says string
	}{
		{"text", answer(`{"content":"Paris"}`, "stop"), fabric.Pass, "Paris"},
		{"text after thoughts", answer(`{"reasoning_content":"France...","content":"Paris"}`, "stop"), fabric.Pass, "Paris"},
		{"only thoughts", answer(`{"reasoning_content":"France","content":null}`, "stop"), fabric.Fail, "no content"},
		{"only thoughts, new name", answer(`{"reasoning":"France","content":null}`, "stop"), fabric.Fail, "no content"},
		{"still thinking", answer(`{"reasoning_content":"France","content":null}`, "length"), fabric.Unknown, "not enough"},
		{"empty", answer(`{"content":""}`, "stop"), fabric.Fail, "no text"},
		{"blanks", answer(`{"content":" \n"}`, "stop"), fabric.Fail, "no text"},
		{"NaN", answer(`{"content":"!!!!!!!!"}`, "length"), fabric.Fail, "NaN"},
		{"no choices", Answer{Status: 200, Body: []byte(`{"choices":[]}`)}, fabric.Fail, "no choices"},
		{"another model", Answer{Status: 200, Body: []byte(`{"model":"n","choices":[{"message":{"content":"Paris"}}]}`)}, fabric.Unknown, "n answers"},
		{"vLLM's 404", Answer{Status: 404, Body: []byte(`{"error":{"message":"The model x does not exist.","type":"NotFoundError","code":404}}`)}, fabric.Fail, "another name"},
		{"older 404", Answer{Status: 404, Body: []byte(`{"object":"error","message":"The model x does not exist."}`)}, fabric.Fail, "another name"},
		{"error with 200", Answer{Status: 200, Body: []byte(`{"error":{"message":"out of memory"}}`)}, fabric.Fail, "out of memory"},
		{"429", Answer{Status: 429}, fabric.Unknown, "turns requests away"},
		{"a gateway's page", Answer{Status: 502, Type: "text/html", Body: []byte("<html>Bad Gateway</html>")}, fabric.Fail, "HTML"},
		{"500", Answer{Status: 500, Body: []byte("Internal Server Error")}, fabric.Fail, "500"},
	} {
		if f := Chat(c.a, "m"); f.Status != c.want || !strings.Contains(f.Text, c.says) {
			t.Errorf("%s is %s: %s", c.name, f.Status, f.Text)
		}
	}
}

func TestServed(t *testing.T) {
	if f := Served([]string{"deepseek-r1"}, "deepseek-ai/DeepSeek-R1"); f.Status != fabric.Fail || !strings.Contains(f.Next, "deepseek-r1") {
		t.Errorf("%s %s", f.Status, f.Next)
	}
	if f := Served(nil, "m"); f.Status != fabric.Unknown {
		t.Errorf("nothing known is %s", f.Status)
	}
}
