package script

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Paths of the JSON API of vCenter.
const (
	vcsimClasses    = "/api/vcenter/namespace-management/virtual-machine-classes"
	vcsimNamespaces = "/api/vcenter/namespaces/instances"
	vcsimPolicies   = "/api/vcenter/storage/policies"
	vcsimLibraries  = "/api/content/library"
	vcsimClusters   = "/api/vcenter/namespace-management/clusters"
	vcsimSession    = "/api/session"
)

// vcsimREST is the JSON API of a vCenter with one Supervisor, as its reference describes it: the simulator's spells the devices of
// a class otherwise, has no storage policies there, and keeps classes for all tests of a process.
type vcsimREST struct {
	lock       sync.Mutex
	sessions   map[string]bool
	logins     int
	classes    map[string]map[string]any
	namespaces map[string]map[string]any
}

func newVCSimREST() *vcsimREST {
	return &vcsimREST{sessions: map[string]bool{}, classes: map[string]map[string]any{}, namespaces: map[string]map[string]any{}}
}

func (f *vcsimREST) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.lock.Lock()
	defer f.lock.Unlock()
	key := r.Method + " " + r.URL.Path
	if key == "POST /api/session" {
		user, password, _ := r.BasicAuth()
		if user != vcsimUser || password != vcsimPassword {
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
	f.serve(w, r)
}

func (f *vcsimREST) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case strings.HasPrefix(path, vcsimClasses):
		f.objects(w, r, f.classes, strings.TrimPrefix(path, vcsimClasses), "id")
	case strings.HasPrefix(path, vcsimNamespaces):
		f.objects(w, r, f.namespaces, strings.TrimPrefix(path, vcsimNamespaces), "namespace")
	case path == vcsimClusters:
		_, _ = io.WriteString(w, `[{"cluster":"domain-c1","cluster_name":"gpus","config_status":"RUNNING"}]`)
	case path == vcsimPolicies:
		_, _ = io.WriteString(w, `[{"policy":"p-1","name":"vsan-default-storage-policy","description":""}]`)
	case path == vcsimLibraries:
		_, _ = io.WriteString(w, `["l-1"]`)
	case path == vcsimLibraries+"/l-1":
		_, _ = io.WriteString(w, `{"id":"l-1","name":"dlvm","type":"SUBSCRIBED"}`)
	case path == vcsimLibraries+"/item":
		_, _ = io.WriteString(w, `[]`)
	case path == vcsimSession && r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error_type":"NOT_FOUND","messages":[{"default_message":"no such thing"}]}`)
	}
}

// objects keeps objects by name, and takes a PATCH as the API does: what is left out stays.
func (f *vcsimREST) objects(w http.ResponseWriter, r *http.Request, all map[string]map[string]any, name, key string) {
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
func (f *vcsimREST) users(class string) (names []string) {
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
