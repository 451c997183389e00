package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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

// kinds are what it serves, by path of the API version.
func (s *apiServer) kinds() map[string]string {
	const one = `{"name":%q,"namespaced":%t,"kind":%q,"verbs":["get"]}`
	list := func(items ...string) string {
		return `{"kind":"APIResourceList","resources":[` + strings.Join(items, ",") + `]}`
	}
	return map[string]string{
		"/api/v1":                  list(fmt.Sprintf(one, "configmaps", true, "ConfigMap"), fmt.Sprintf(one, "namespaces", false, "Namespace"), fmt.Sprintf(one, "pods", true, "Pod"), fmt.Sprintf(one, "services", true, "Service")),
		"/apis/apps/v1":            list(fmt.Sprintf(one, "statefulsets", true, "StatefulSet")),
		"/apis/resource.k8s.io/v1": list(fmt.Sprintf(one, "deviceclasses", false, "DeviceClass"), fmt.Sprintf(one, "resourceclaims", true, "ResourceClaim"), fmt.Sprintf(one, "resourceclaimtemplates", true, "ResourceClaimTemplate")),
		"/apis/resource.k8s.io":    `{"kind":"APIGroup","name":"resource.k8s.io","versions":[{"groupVersion":"resource.k8s.io/v1","version":"v1"}]}`,
	}
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if text, ok := s.kinds()[r.URL.Path]; ok {
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
		if live == nil && !strings.Contains(filepath.Base(filepath.Dir(path)), "s") || live == nil && isCollection(path) {
			return s.list(path, r.URL.Query().Get("labelSelector")), nil
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

func isCollection(path string) bool {
	return slices.Contains([]string{"configmaps", "namespaces", "pods", "services", "statefulsets", "deviceclasses", "resourceclaims", "resourceclaimtemplates"}, filepath.Base(path))
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

func (s *apiServer) list(path, labels string) *unstructured.Unstructured {
	items := []any{}
	key, value, _ := strings.Cut(labels, "=")
	for at, o := range s.objects {
		parts := strings.Split(at, "/")
		if parts[len(parts)-2] == filepath.Base(path) && (labels == "" || o.GetLabels()[key] == value) {
			items = append(items, o.Object)
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "SomeList", "items": items}}
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
