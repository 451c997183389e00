package vcenter

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// fakeREST is the JSON API of a vCenter with one Supervisor, as its reference describes it: the simulator's spells the devices of
// a class otherwise, has no storage policies there, and keeps classes for all tests of a process.
type fakeREST struct {
	lock       sync.Mutex
	sessions   map[string]bool
	logins     int
	classes    map[string]map[string]any
	namespaces map[string]map[string]any
	answer     map[string]func(http.ResponseWriter) // instead of what it would do, by method and path
	writes     []string
}

func newFakeREST() *fakeREST {
	return &fakeREST{sessions: map[string]bool{}, classes: map[string]map[string]any{}, namespaces: map[string]map[string]any{}, answer: map[string]func(http.ResponseWriter){}}
}

func (f *fakeREST) expire() {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.sessions = map[string]bool{}
}

func (f *fakeREST) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.lock.Lock()
	defer f.lock.Unlock()
	key := r.Method + " " + r.URL.Path
	if key == "POST /api/session" {
		user, password, _ := r.BasicAuth()
		if user != testUser || password != testPassword {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		f.logins++
		id := "session-" + strings.Repeat("x", f.logins)
		f.sessions[id] = true
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(id)
		return
	}
	if !f.sessions[r.Header.Get("vmware-api-session-id")] {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error_type":"UNAUTHENTICATED","messages":[]}`)
		return
	}
	if a := f.answer[key]; a != nil {
		a(w)
		return
	}
	if r.Method != http.MethodGet {
		f.writes = append(f.writes, key)
	}
	f.serve(w, r)
}

func (f *fakeREST) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case strings.HasPrefix(path, classPath):
		f.objects(w, r, f.classes, strings.TrimPrefix(path, classPath), "id")
	case strings.HasPrefix(path, namespacePath):
		f.objects(w, r, f.namespaces, strings.TrimPrefix(path, namespacePath), "namespace")
	case path == clusterPath:
		_, _ = io.WriteString(w, `[{"cluster":"domain-c1","cluster_name":"gpus","config_status":"RUNNING"},{"cluster":"domain-c2","config_status":"CONFIGURING"}]`)
	case path == policyPath:
		_, _ = io.WriteString(w, `[{"policy":"p-1","name":"vSAN gold","description":""}]`)
	case path == libraryPath:
		_, _ = io.WriteString(w, `["l-1","l-gone"]`)
	case path == libraryPath+"/l-1":
		_, _ = io.WriteString(w, `{"id":"l-1","name":"dlvm","type":"SUBSCRIBED"}`)
	case path == sessionPath && r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error_type":"NOT_FOUND","messages":[{"default_message":"no such thing"}]}`)
	}
}

// objects keeps objects by name, and takes a PATCH as the API does: what is left out stays.
func (f *fakeREST) objects(w http.ResponseWriter, r *http.Request, all map[string]map[string]any, name, key string) {
	name = strings.TrimPrefix(name, "/")
	var body map[string]any
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	switch {
	case r.Method == http.MethodGet && name == "":
		list := []map[string]any{}
		for _, o := range all {
			list = append(list, o)
		}
		_ = json.NewEncoder(w).Encode(list)
		return
	case r.Method == http.MethodPost:
		body["config_status"] = "RUNNING"
		all[body[key].(string)] = body
	case all[name] == nil:
		w.WriteHeader(http.StatusNotFound)
		return
	case r.Method == http.MethodGet:
		if users := f.users(name); key == "id" && len(users) > 0 {
			all[name]["namespaces"] = users
			defer delete(all[name], "namespaces")
		}
		_ = json.NewEncoder(w).Encode(all[name])
		return
	case r.Method == http.MethodDelete && key == "id" && len(f.users(name)) > 0:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error_type":"RESOURCE_IN_USE","messages":[{"default_message":"the class is in use"}]}`)
		return
	case r.Method == http.MethodPatch:
		for k, v := range body {
			all[name][k] = v
		}
	case r.Method == http.MethodDelete:
		delete(all, name)
	}
	w.WriteHeader(http.StatusNoContent)
}

// users are the namespaces that have a class.
func (f *fakeREST) users(class string) (names []string) {
	for name, n := range f.namespaces {
		text, _ := json.Marshal(n["vm_service_spec"])
		var spec struct {
			Classes []string `json:"vm_classes"`
		}
		if json.Unmarshal(text, &spec) == nil && slices.Contains(spec.Classes, class) {
			names = append(names, name)
		}
	}
	return names
}

// readBody reads a request, which can be read again.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// soapMethod is the first element in the body of a SOAP message.
func soapMethod(body []byte) string {
	m := regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`).FindSubmatch(body)
	if m == nil {
		return "?"
	}
	return string(m[1])
}
