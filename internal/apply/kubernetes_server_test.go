package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/kube"
)

// apiServer is a small API server: its fields are owned by the rules of the real one (apimachinery's managedfields). It can
// be told to refuse from a request on, as it does when a client is killed there.
type apiServer struct {
	*httptest.Server
	lock    sync.Mutex
	objects map[string]*unstructured.Unstructured // by path
	uids    int
	changes int  // requests that changed something
	failAt  int  // the number of the change that fails, and those after it; 0: none
	lose    bool // the failing change is made, and its answer is lost

	forbidden string                                     // part of the paths of which this client may ask nothing
	admit     func(pod *unstructured.Unstructured) error // nil: every pod
	logs      map[string]string                          // by path, container and whether the previous run is meant
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{objects: make(map[string]*unstructured.Unstructured)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) cluster(t *testing.T, folder string) Kubernetes {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: %q}}]\n", s.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := kube.Open(file, "")
	if err != nil {
		t.Fatal(err)
	}
	return Kubernetes{Client: client, Plan: "pod1", Folder: folder, Ready: 100 * time.Millisecond, Placed: 100 * time.Millisecond, Doing: func(string, ...any) {}, Say: func(string, ...any) {}}
}

// served are the kinds that it serves, by path of the API version; those of the cluster begin with a slash.
func served() map[string]map[string]string {
	return map[string]map[string]string{
		"/api/v1": {"configmaps": "ConfigMap", "/namespaces": "Namespace", "/nodes": "Node", "pods": "Pod", "services": "Service", "secrets": "Secret",
			"events": "Event", "persistentvolumeclaims": "PersistentVolumeClaim", "serviceaccounts": "ServiceAccount"},
		"/apis/apps/v1":                     {"statefulsets": "StatefulSet", "daemonsets": "DaemonSet"},
		"/apis/batch/v1":                    {"jobs": "Job"},
		"/apis/example.com/v1":              {"things": "Thing"},
		"/apis/leaderworkerset.x-k8s.io/v1": {"leaderworkersets": "LeaderWorkerSet"},
		"/apis/storage.k8s.io/v1":           {"/storageclasses": "StorageClass"},
		"/apis/resource.k8s.io/v1": {"/deviceclasses": "DeviceClass", "/resourceslices": "ResourceSlice", "resourceclaims": "ResourceClaim",
			"resourceclaimtemplates": "ResourceClaimTemplate"},
	}
}

// kinds are what it says of them.
func (s *apiServer) kinds() map[string]string {
	texts := map[string]string{"/apis/resource.k8s.io": `{"kind":"APIGroup","name":"resource.k8s.io","versions":[{"groupVersion":"resource.k8s.io/v1","version":"v1"}]}`}
	for path, kinds := range served() {
		var items []string
		for name, kind := range kinds {
			plain, cluster := strings.CutPrefix(name, "/")
			items = append(items, fmt.Sprintf(`{"name":%q,"namespaced":%t,"kind":%q,"verbs":["get"]}`, plain, !cluster, kind))
		}
		texts[path] = `{"kind":"APIResourceList","resources":[` + strings.Join(items, ",") + `]}`
	}
	return texts
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if text, ok := s.kinds()[r.URL.Path]; ok {
		fmt.Fprint(w, text)
		return
	}
	if s.forbidden != "" && strings.Contains(r.URL.Path, s.forbidden) {
		s.answer(w, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New(`User "me" cannot list resource "things"`)))
		return
	}
	asked := r.URL.Query()
	if text, ok := s.logs[fmt.Sprintf("%s %s %s", r.URL.Path, asked.Get("container"), asked.Get("previous"))]; ok {
		fmt.Fprint(w, text)
		return
	}
	dry := r.URL.Query().Get("dryRun") != ""
	failing := false
	if r.Method != http.MethodGet && !dry {
		s.changes++
		failing = s.failAt > 0 && s.changes >= s.failAt
	}
	if failing && (!s.lose || s.changes != s.failAt) {
		s.answer(w, nil, apierrors.NewInternalError(errors.New("told to")))
		return
	}
	o, err := s.serve(r, dry)
	if failing {
		err = apierrors.NewInternalError(errors.New("the answer is lost"))
	}
	s.answer(w, o, err)
}

func (s *apiServer) answer(w http.ResponseWriter, o *unstructured.Unstructured, err error) {
	if err != nil {
		var status *apierrors.StatusError
		if !errors.As(err, &status) {
			status = apierrors.NewInternalError(err)
		}
		status.ErrStatus.Kind = "Status"
		w.WriteHeader(int(status.ErrStatus.Code))
		if err := json.NewEncoder(w).Encode(status.ErrStatus); err != nil {
			panic(err)
		}
		return
	}
	text, err := o.MarshalJSON()
	if err != nil {
		panic(err)
	}
	if _, err := w.Write(text); err != nil {
		return
	}
}

func (s *apiServer) serve(r *http.Request, dry bool) (*unstructured.Unstructured, error) {
	path := r.URL.Path
	live := s.objects[path]
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, filepath.Base(path))
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	switch r.Method {
	case http.MethodGet:
		if live == nil && isCollection(path) {
			return s.list(path, r.URL.Query()), nil
		}
		if live == nil {
			return nil, missing
		}
		return live, nil
	case http.MethodDelete:
		if live == nil {
			return nil, missing
		}
		if !strings.Contains(string(body), fmt.Sprintf(`"uid":%q`, live.GetUID())) {
			return nil, apierrors.NewConflict(schema.GroupResource{}, live.GetName(), errors.New("another UID"))
		}
		delete(s.objects, path)
		return live, nil
	}
	sent := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &sent.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if r.Method == http.MethodPost {
		path += "/" + sent.GetName()
		live, sent = nil, sent.DeepCopy()
		if sent.GetKind() == "Pod" && s.admit != nil {
			if err := s.admit(sent); err != nil {
				return nil, err
			}
		}
	}
	next, err := s.next(r, live, sent)
	if err != nil {
		return nil, err
	}
	if next.GetKind() == "ResourceClaimTemplate" && live != nil && fmt.Sprint(next.Object["spec"]) != fmt.Sprint(live.Object["spec"]) {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: "is invalid", Details: &metav1.StatusDetails{Name: next.GetName(),
			Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec", Message: "Invalid value: {...}: field is immutable"}}}}}
	}
	if dry {
		return next, nil
	}
	s.uids++
	if live == nil {
		next.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	}
	next.SetResourceVersion(fmt.Sprint(s.uids))
	s.objects[path] = next
	return next, nil
}

// isCollection: namespaces, namespaces/jobs/pods; not namespaces/jobs, namespaces/jobs/pods/nccl-0.
func isCollection(path string) bool {
	for version := range served() {
		if rest, ok := strings.CutPrefix(path, version+"/"); ok {
			return strings.Count(rest, "/")%2 == 0
		}
	}
	return false
}

// next is what an object becomes.
func (s *apiServer) next(r *http.Request, live, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	gvk := sent.GroupVersionKind()
	if live != nil {
		gvk = live.GroupVersionKind()
	}
	fields, err := managedfields.NewDefaultCRDFieldManager(managedfields.NewDeducedTypeConverter(), asIs{}, asIs{}, unstructuredscheme.NewUnstructuredCreator(), gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		return nil, err
	}
	from := live
	if from == nil {
		from = &unstructured.Unstructured{}
		from.SetGroupVersionKind(gvk)
	}
	who := r.URL.Query().Get("fieldManager")
	var got runtime.Object
	if r.Header.Get("Content-Type") == "application/apply-patch+yaml" {
		if len(sent.GetManagedFields()) > 0 {
			return nil, apierrors.NewBadRequest("metadata.managedFields must be nil")
		}
		got, err = fields.Apply(from.DeepCopy(), sent, who, r.URL.Query().Get("force") == "true")
	} else {
		to := sent
		if live != nil { // a merge patch
			if v := sent.GetResourceVersion(); v != "" && v != live.GetResourceVersion() {
				return nil, apierrors.NewConflict(schema.GroupResource{}, live.GetName(), errors.New("the object has been modified"))
			}
			to = &unstructured.Unstructured{Object: merge(live.DeepCopy().Object, sent.Object)}
		}
		got, err = fields.Update(from.DeepCopy(), to, who)
	}
	if err != nil {
		return nil, err
	}
	return got.(*unstructured.Unstructured), nil
}

func merge(into, patch map[string]any) map[string]any {
	for k, v := range patch {
		if m, ok := v.(map[string]any); ok {
			below, _ := into[k].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			into[k] = merge(below, m)
		} else {
			into[k] = v
		}
	}
	return into
}

func (s *apiServer) list(path string, query url.Values) *unstructured.Unstructured {
	items := []any{}
	key, value, _ := strings.Cut(query.Get("labelSelector"), "=")
	uid := strings.TrimPrefix(query.Get("fieldSelector"), "involvedObject.uid=")
	for at, o := range s.objects {
		inside := strings.HasPrefix(at, path+"/") || !strings.Contains(path, "/namespaces/") && filepath.Base(filepath.Dir(at)) == filepath.Base(path)
		about, _, _ := unstructured.NestedString(o.Object, "involvedObject", "uid")
		if inside && (key == "" || o.GetLabels()[key] == value) && (uid == "" || about == uid) {
			items = append(items, o.Object)
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "SomeList", "items": items}}
}

// put makes an object as its controller or the kubelet does: with status and UID.
func (s *apiServer) put(t *testing.T, path, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if o.GetUID() == "" {
		s.uids++
		o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	}
	s.objects[path] = o
}

// node makes one with room for 110 pods, and these resources besides: nvidia.com/gpu: 8.
func (s *apiServer) node(t *testing.T, name, resources string) {
	t.Helper()
	s.put(t, "/api/v1/nodes/"+name, "apiVersion: v1\nkind: Node\nmetadata: {name: "+name+", labels: {gpu: yes-"+name+"}}\nstatus: {allocatable: {pods: 110, "+resources+"}}\n")
}

// status sets the status of an object once it is there; it is done when the test ends.
func (s *apiServer) status(t *testing.T, path, text string) {
	t.Helper()
	var status map[string]any
	if err := yaml.Unmarshal([]byte(text), &status); err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	go func() {
		for {
			s.lock.Lock()
			if o := s.objects[path]; o != nil {
				o = o.DeepCopy()
				o.Object["status"] = status
				s.objects[path] = o
			}
			done := s.objects[path] != nil
			s.lock.Unlock()
			if done {
				return
			}
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
}

// asIs converts and defaults nothing: there is one version of each kind.
type asIs struct{}

func (asIs) Convert(in, out, _ any) error { return errors.New("not asked for") }
func (asIs) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}
func (asIs) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
func (asIs) Default(runtime.Object) {}

// applyAs applies an object under the name of another manager.
func applyAs(c Kubernetes, manager string, o kube.Object) error {
	plural := map[string]string{"ConfigMap": "/api/v1/namespaces/" + o.Namespace + "/configmaps/"}[o.Kind]
	request, err := http.NewRequest(http.MethodPatch, c.Client.Server()+plural+o.Name+"?force=true&fieldManager="+manager, strings.NewReader(string(o.JSON)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/apply-patch+yaml")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return answer.Body.Close()
}
