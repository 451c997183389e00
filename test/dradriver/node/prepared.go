package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// prepared are the interfaces that claims gave pods. They are kept in a file: a driver that starts again must still give
// back what pods have.
type prepared struct {
	sync.Mutex
	file string
	pods map[string][]nic // by UID
}

func readPrepared(file string) (*prepared, error) {
	p := &prepared{file: file, pods: map[string][]nic{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	return p, json.Unmarshal(text, &p.pods)
}

func (p *prepared) of(pod string) []nic {
	p.Lock()
	defer p.Unlock()
	return slices.Clone(p.pods[pod])
}

// has returns what a claim gave a pod before: the kubelet may ask twice.
func (p *prepared) has(claim string) (nics []nic) {
	p.Lock()
	defer p.Unlock()
	for _, of := range p.pods {
		for _, n := range of {
			if n.Claim == claim {
				nics = append(nics, n)
			}
		}
	}
	return nics
}

// add refuses a device that another claim has.
func (p *prepared) add(pod string, nics []nic) error {
	p.Lock()
	defer p.Unlock()
	for _, others := range p.pods {
		for _, o := range others {
			if slices.ContainsFunc(nics, func(n nic) bool { return n.Device == o.Device }) {
				return fmt.Errorf("device %s is prepared for claim %s/%s already", o.Device, o.Namespace, o.ClaimName)
			}
		}
	}
	p.pods[pod] = append(p.pods[pod], nics...)
	return p.write()
}

func (p *prepared) remove(claim string) error {
	p.Lock()
	defer p.Unlock()
	for pod, nics := range p.pods {
		nics = slices.DeleteFunc(slices.Clone(nics), func(n nic) bool { return n.Claim == claim })
		if p.pods[pod] = nics; len(nics) == 0 {
			delete(p.pods, pod)
		}
	}
	return p.write()
}

// write replaces the file whole: a driver that is killed leaves the one before or the new one.
func (p *prepared) write() error {
	text, err := json.Marshal(p.pods)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(p.file+".new", p.file)
}
