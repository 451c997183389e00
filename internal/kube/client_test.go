package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func pair() Object {
	return Object{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaimTemplate", Namespace: "default", Name: "pair", JSON: []byte(pairJSON)}
}

const (
	pairJSON = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"pair","namespace":"default"},"spec":{}}`
	pairPath = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates/pair"
)

func TestServed(t *testing.T) {
	c := newFake(t, served()).client(t)
	if v, err := c.Version(t.Context()); v != "v1.36.3" || err != nil {
		t.Errorf("version %q, %v", v, err)
	}
	versions, err := c.ServedVersions(t.Context(), DRAGroup)
	if diff := cmp.Diff([]string{"v1", "v1beta2", "v1beta1", "v1alpha3"}, versions); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if versions, err := c.ServedVersions(t.Context(), "no.such.group"); versions != nil || err != nil {
		t.Errorf("of a group that is not served: %q, %v", versions, err)
	}
	for kind, want := range map[string]bool{"ResourceSlice": true, "ResourceClaim": true, "Widget": false} {
		if got, err := c.Serves(t.Context(), "resource.k8s.io/v1", kind); got != want || err != nil {
			t.Errorf("%s: served is %v, %v", kind, got, err)
		}
	}
	if got, err := c.Serves(t.Context(), "resource.k8s.io/v9", "ResourceSlice"); got || err != nil {
		t.Errorf("v9: served is %v, %v", got, err)
	}
}

// number is 0 where the text is none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// pages answers with so many slices, page by page; gone says whether a page after the first one has expired.
func pages(total int, gone bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		limit, from := number(q.Get("limit")), number(q.Get("continue"))
		if gone && from > 0 {
			refuse(w, 410, "Expired", "The provided continue parameter is too old", "")
			return
		}
		to, token := total, ""
		if limit > 0 && from+limit < total {
			to = from + limit
			token = fmt.Sprint(to)
		}
		var items []string
		for i := from; i < to; i++ {
			items = append(items, fmt.Sprintf(`{"metadata":{"name":"slice-%d","uid":"u%d"}}`, i, i))
		}
		say(fmt.Sprintf(`{"kind":"ResourceSliceList","apiVersion":"resource.k8s.io/v1","metadata":{"continue":%q},"items":[%s]}`, token, strings.Join(items, ",")))(w, r)
	}
}

func TestListPages(t *testing.T) {
	const path = "GET /apis/resource.k8s.io/v1/resourceslices"
	for name, test := range map[string]struct {
		total, requests int
		gone            bool
	}{
		"none":                {0, 1, false},
		"one page":            {page, 1, false},
		"three pages":         {2*page + 1, 3, false},
		"expired in between":  {2*page + 1, 3, true},
		"expired after nones": {page + 1, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			do := served()
			do[path] = pages(test.total, test.gone)
			f := newFake(t, do)
			got, err := f.client(t).List(t.Context(), "resource.k8s.io/v1", "ResourceSlice", Selection{})
			if err != nil || len(got) != test.total {
				t.Fatalf("%d objects, %v; want %d", len(got), err, test.total)
			}
			for i, o := range got {
				if o.Name != fmt.Sprintf("slice-%d", i) || o.Kind != "ResourceSlice" || !json.Valid(o.JSON) {
					t.Fatalf("%d: %+v %s", i, o, o.JSON)
				}
			}
			if n := f.saw(path); n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
		})
	}
}

func TestListWithoutEnd(t *testing.T) {
	do := served()
	do["GET /apis/resource.k8s.io/v1/resourceslices"] = say(`{"kind":"ResourceSliceList","metadata":{"continue":"x"},"items":[]}`)
	if _, err := newFake(t, do).client(t).List(t.Context(), "resource.k8s.io/v1", "ResourceSlice", Selection{}); err == nil || !strings.Contains(err.Error(), "do not end") {
		t.Error(err)
	}
}

func TestClaimObjects(t *testing.T) {
	do := served()
	const at = "GET /apis/resource.k8s.io/v1/"
	do[at+"resourceslices"] = pages(2, false)
	do[at+"deviceclasses"] = say(`{"kind":"DeviceClassList","items":[{"metadata":{"name":"gpu"},"spec":{}}]}`)
	do[at+"resourceclaims"] = say(`{"kind":"ResourceClaimList","items":[]}`)
	do[at+"resourceclaimtemplates"] = say(`{"kind":"ResourceClaimTemplateList","items":[{"kind":"ResourceClaimTemplate","apiVersion":"resource.k8s.io/v1","metadata":{"name":"t","namespace":"n"}}]}`)
	do["GET /api/v1/pods"] = refusal(403, "Forbidden", `pods is forbidden: User "me" cannot list resource "pods" in API group "" at the cluster scope`, "")
	list, unread, err := newFake(t, do).client(t).ClaimObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Parse(list)
	var got []string
	for _, o := range objects {
		got = append(got, o.APIVersion+" "+o.String())
	}
	want := []string{"resource.k8s.io/v1 ResourceSlice slice-0", "resource.k8s.io/v1 ResourceSlice slice-1", "resource.k8s.io/v1 DeviceClass gpu", "resource.k8s.io/v1 ResourceClaimTemplate n/t"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if len(unread) != 1 || unread[0].Kind != "Pod" || !NotPermitted(unread[0].Err) {
		t.Errorf("%v", unread)
	}
}

func TestClaimObjectsOfClusterWithoutDRA(t *testing.T) {
	_, _, err := newFake(t, nil).client(t).ClaimObjects(t.Context())
	if err == nil || !strings.Contains(err.Error(), "dynamic resource allocation is on by default from Kubernetes 1.34") {
		t.Error(err)
	}
}

func TestApplyAsks(t *testing.T) {
	do := served()
	var query, body, kind string
	do["PATCH "+pairPath] = func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		query, body, kind = r.URL.Query().Encode(), string(text), r.Header.Get("Content-Type")
		say(strings.Replace(pairJSON, `"name"`, `"uid":"u1","name"`, 1))(w, r)
	}
	c := newFake(t, do).client(t)
	got, err := c.Apply(t.Context(), pair(), ApplyOptions{DryRun: true})
	if err != nil || got.UID != "u1" {
		t.Fatalf("%+v %v", got, err)
	}
	if want := "dryRun=All&fieldManager=railwright&fieldValidation=Strict&force=false&timeout=5s"; query != want || body != pairJSON || kind != "application/apply-patch+yaml" {
		t.Errorf("query %s\nbody %s\nof %s", query, body, kind)
	}
	if _, err := c.Apply(t.Context(), pair(), ApplyOptions{Force: true}); err != nil || query != "fieldManager=railwright&fieldValidation=Strict&force=true&timeout=5s" {
		t.Errorf("%s %v", query, err)
	}
}

func TestDeleteOnlyThatObject(t *testing.T) {
	do := served()
	var body string
	do["DELETE "+pairPath] = func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if body = string(text); !strings.Contains(body, `"uid":"u1"`) {
			refuse(w, 409, "Conflict", "Precondition failed: UID in precondition: u2, UID in object meta: u1", "")
			return
		}
		say(`{"kind":"Status","status":"Success"}`)(w, r)
	}
	c := newFake(t, do).client(t)
	mine, other := pair(), pair()
	mine.UID, other.UID = "u1", "u2"
	if err := c.Delete(t.Context(), mine); err != nil {
		t.Error(err)
	}
	if err := c.Delete(t.Context(), other); err == nil || !strings.Contains(err.Error(), "ResourceClaimTemplate default/pair: Precondition failed") {
		t.Errorf("%v after %s", err, body)
	}
}

func TestRefusals(t *testing.T) {
	conflict := `{"name":"pair","causes":[{"reason":"FieldManagerConflict","message":"conflict with \"kubectl\" using resource.k8s.io/v1","field":".spec.a"},
		{"reason":"FieldManagerConflict","message":"conflict with \"argo\"","field":".spec.b"}]}`
	invalid := `{"name":"pair","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: {` + strings.Repeat("x", 5000) + `}: field is immutable","field":"spec"}]}`
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
		is     func(error) bool
	}{
		"401":      {refusal(401, "Unauthorized", "Unauthorized", ""), "ResourceClaimTemplate default/pair: API server SERVER does not accept the credentials (401)", NotPermitted},
		"403":      {refusal(403, "Forbidden", "may not", ""), "ResourceClaimTemplate default/pair: not permitted: may not", NotPermitted},
		"404":      {refusal(404, "NotFound", `resourceclaimtemplates "pair" not found`, `{"name":"pair"}`), `ResourceClaimTemplate default/pair: resourceclaimtemplates "pair" not found`, NotFound},
		"conflict": {refusal(409, "Conflict", "Apply failed", conflict), `ResourceClaimTemplate default/pair: .spec.a belongs to "kubectl", .spec.b belongs to "argo"`, func(err error) bool { return len(Conflicts(err)) == 2 }},
		"422":      {refusal(422, "Invalid", "is invalid", invalid), "ResourceClaimTemplate default/pair: spec: is immutable", func(err error) bool { return slices.Equal(Immutable(err), []string{"spec"}) }},
		"429":      {refusal(429, "TooManyRequests", "too many", ""), "ResourceClaimTemplate default/pair: API server SERVER has too much to do (429): too many", nil},
		"500":      {refusal(500, "InternalError", "etcdserver: no leader", ""), "ResourceClaimTemplate default/pair: etcdserver: no leader (500)", nil},
		"500 of a proxy": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(502)
			fmt.Fprint(w, "<html>")
		}, "ResourceClaimTemplate default/pair: Bad Gateway (502)", nil},
		"a page":      {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>log in</html>") }, "ResourceClaimTemplate default/pair: SERVER is not an API server of Kubernetes: its answer is not JSON", nil},
		"half":        {say(pairJSON[:30]), "ResourceClaimTemplate default/pair: the answer is cut off: SERVER sent half a JSON object", nil},
		"another":     {say(strings.Replace(pairJSON, "pair", "other", 1)), "ResourceClaimTemplate default/pair: API server SERVER answered with ResourceClaimTemplate default/other", nil},
		"a lost rest": {cutAnswer, "ResourceClaimTemplate default/pair: API server SERVER: its answer was cut off", nil},
	} {
		t.Run(name, func(t *testing.T) {
			do := served()
			do["GET "+pairPath] = test.answer
			f := newFake(t, do)
			_, err := f.client(t).Get(t.Context(), pair())
			if err == nil || err.Error() != strings.ReplaceAll(test.want, "SERVER", f.URL) {
				t.Errorf("%v", err)
			}
			if test.is != nil && !test.is(err) {
				t.Errorf("is not recognised: %#v", err)
			}
		})
	}
}

// cutAnswer promises more than it sends.
func cutAnswer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	fmt.Fprint(w, pairJSON[:30])
}

func TestBusyServerIsAskedAgain(t *testing.T) {
	do := served()
	n := 0
	do["GET "+pairPath] = func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			w.Header().Set("Retry-After", "1")
			refuse(w, 429, "TooManyRequests", "too many", "")
			return
		}
		say(pairJSON)(w, r)
	}
	if _, err := newFake(t, do).client(t).Get(t.Context(), pair()); err != nil || n != 2 {
		t.Errorf("%v after %d requests", err, n)
	}
}

func TestSlowServer(t *testing.T) {
	do := served()
	do["GET "+pairPath] = func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done(): // the client went away
		case <-time.After(10 * time.Second):
		}
	}
	f := newFake(t, do)
	began := time.Now()
	_, err := f.clientWith(t, token, 300*time.Millisecond).Get(t.Context(), pair())
	if want := "ResourceClaimTemplate default/pair: API server " + f.URL + ": no answer in 300ms"; err == nil || err.Error() != want {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	cancel()
	if _, err := f.client(t).Get(ctx, pair()); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("took %s", d)
	}
}

func TestKindsOfClusterAreAskedOnce(t *testing.T) {
	do := served()
	do["GET "+pairPath] = say(pairJSON)
	f := newFake(t, do)
	c := f.client(t)
	for range 3 {
		if _, err := c.Get(t.Context(), pair()); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.saw("GET /apis/resource.k8s.io/v1?"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	c.Forget()
	if _, err := c.Get(t.Context(), pair()); err != nil || f.saw("GET /apis/resource.k8s.io/v1?") != 2 {
		t.Error(err, f.asked)
	}
	old := pair()
	old.APIVersion = "resource.k8s.io/v1beta1"
	if _, err := c.Get(t.Context(), old); err == nil || !strings.Contains(err.Error(), "ResourceClaimTemplate of resource.k8s.io/v1beta1") {
		t.Error(err)
	}
}
