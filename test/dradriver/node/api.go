package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"

	resourceapi "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"
)

// claimServer is what a driver asks of an API server: a claim, and to note the state of its devices.
type claimServer struct{ folder folder }

func (s claimServer) serve() (*http.Server, error) {
	l, err := net.Listen("unix", s.folder.api())
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	const claim = "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}"
	mux.HandleFunc("GET "+claim, s.get)
	mux.HandleFunc("PATCH "+claim+"/status", s.apply)
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(l) }() // ends with Close
	return server, nil
}

func (s claimServer) file(r *http.Request) string {
	return filepath.Join(s.folder.claims(), filepath.Base(r.PathValue("namespace")+"."+r.PathValue("name")+".json"))
}

func (s claimServer) get(w http.ResponseWriter, r *http.Request) {
	text, err := os.ReadFile(s.file(r))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	answer(w, text)
}

// apply takes a server-side apply of the state of devices; the claim's other fields are not the driver's.
func (s claimServer) apply(w http.ResponseWriter, r *http.Request) {
	var stored, applied resourceapi.ResourceClaim
	text, err := os.ReadFile(s.file(r))
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err == nil {
		err = yaml.UnmarshalStrict(body, &applied)
	}
	if err == nil {
		stored.Status.Devices = applied.Status.Devices
		text, err = json.Marshal(stored)
	}
	if err == nil {
		err = os.WriteFile(s.file(r), text, 0o600)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(w, text)
}

func answer(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a driver that is gone needs no answer
}
