package facts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"

	"railwright.dev/railwright/internal/fabric"
)

// decoders decode files of facts. They are used again, with the buffers that they have by then: of 16,384 nodes these would be
// a gigabyte.
type decoders struct{ idle sync.Pool }

// decoder decodes one file of facts after the other, as if they were one stream.
type decoder struct {
	text bytes.Buffer // the file
	in   bytes.Reader
	json *json.Decoder
	last lengths
}

// lengths are how long the lists of the last facts are. Those that follow are mostly of a machine of the same kind: lists that
// have room from the beginning are not copied as they grow.
type lengths struct{ nics, hcas, gpus, pci int }

func (l lengths) room() *fabric.Facts {
	return &fabric.Facts{
		NICs: roomFor[fabric.NIC](l.nics), HCAs: roomFor[fabric.HCA](l.hcas),
		GPUs: roomFor[fabric.GPU](l.gpus), PCI: roomFor[fabric.PCIDevice](l.pci),
	}
}

// lengthsOf returns the lengths of facts that were decoded into such a room, and takes back the room of what they do not have.
func lengthsOf(f *fabric.Facts) lengths {
	f.NICs, f.HCAs, f.GPUs, f.PCI = decoded(f.NICs), decoded(f.HCAs), decoded(f.GPUs), decoded(f.PCI)
	return lengths{len(f.NICs), len(f.HCAs), len(f.GPUs), len(f.PCI)}
}

func roomFor[T any](n int) []T {
	if n == 0 {
		return nil
	}
	return make([]T, 0, n)
}

// decoded is a list that was decoded: one that was not in the text has its room and nothing in it, one that is empty there has
// neither.
func decoded[T any](list []T) []T {
	if len(list) == 0 && cap(list) > 0 {
		return nil
	}
	return list
}

func newDecoder() *decoder {
	d := &decoder{}
	d.json = json.NewDecoder(&d.in)
	d.json.DisallowUnknownFields()
	return d
}

// read reads saved facts of about this many bytes.
func (d *decoders) read(in io.Reader, size int64) (*fabric.Facts, error) {
	one, ok := d.idle.Get().(*decoder)
	if !ok {
		one = newDecoder()
	}
	one.text.Reset()
	one.text.Grow(int(min(size, maxFactsFile)) + bytes.MinRead)
	if _, err := one.text.ReadFrom(io.LimitReader(in, maxFactsFile+1)); err != nil {
		return nil, err
	}
	f, err := one.parse(one.text.Bytes())
	if err != nil {
		return nil, err // what the decoder has left of such a file is not of the next
	}
	d.idle.Put(one)
	return f, nil
}

// parse reads saved facts. An unknown field is an error: they are of another version.
func (d *decoder) parse(text []byte) (*fabric.Facts, error) {
	if len(text) > maxFactsFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFactsFile)
	}
	f := d.last.room()
	// What this program wrote is decoded in half the time of encoding/json, which takes more and says what is wrong.
	if jsonv2.Unmarshal(text, f, jsonv2.RejectUnknownMembers(true)) == nil && f.Meta == fabric.NewMeta("Facts") && f.Node != "" {
		d.last = lengthsOf(f)
		return f, nil
	}
	d.in.Reset(text)
	f = d.last.room()
	err := d.json.Decode(f)
	d.last = lengthsOf(f)
	var m fabric.Meta
	if err != nil && json.Unmarshal(text, &m) != nil {
		return nil, fmt.Errorf("facts: %w", jsonError(err, text))
	}
	if err == nil {
		m = f.Meta
	}
	switch {
	case m.Kind != "Facts" || m.APIVersion != fabric.APIVersion:
		return nil, fmt.Errorf("is %q in version %q, want Facts in %q", m.Kind, m.APIVersion, fabric.APIVersion)
	case err != nil:
		return nil, fmt.Errorf("facts: %w", err)
	case f.Node == "":
		return nil, errors.New("facts without a node")
	}
	if _, err := d.json.Token(); err != io.EOF {
		return nil, errors.New("facts: more behind them")
	}
	return f, nil
}

// jsonError tells a file that was cut from one that was never whole.
func jsonError(err error, text []byte) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("cut after %d bytes: %w", len(text), err)
	}
	return err
}
