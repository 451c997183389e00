package facts

import (
	"encoding/binary"
	"errors"
	"testing"

	"railwright.dev/railwright/internal/fabric"

	"github.com/google/go-cmp/cmp"
)

// space builds a configuration space for tests.
type space []byte

// newSpace is an all-zero space whose capability list starts at first (0: it has none).
func newSpace(size int, first byte) space {
	s := make(space, size)
	binary.LittleEndian.PutUint16(s, vendorNVIDIA)
	if first != 0 {
		s[offsetStatus] = statusCapabilityList
		s[offsetCapabilities] = first
	}
	return s
}

func (s space) capability(at int, id, next byte) space {
	s[at], s[at+1] = id, next
	return s
}

// express puts a PCI Express capability: an endpoint that runs at 8 GT/s x8 and could do 32 GT/s x16, and may
// send 256 bytes, ask for 512, and order relaxed.
func (s space) express(at int, next byte) space {
	s.capability(at, capabilityExpress, next)
	binary.LittleEndian.PutUint16(s[at+expressDeviceControl:], 2<<controlRequestShift|1<<controlPayloadShift|controlRelaxedOrdering)
	binary.LittleEndian.PutUint32(s[at+expressLinkCapability:], 16<<4|5)
	binary.LittleEndian.PutUint16(s[at+expressLinkStatus:], 8<<4|3)
	return s
}

func (s space) extended(at int, id uint16, next int, capability, control uint16) space {
	binary.LittleEndian.PutUint32(s[at:], uint32(next)<<20|1<<16|uint32(id))
	if at+8 <= len(s) {
		binary.LittleEndian.PutUint16(s[at+4:], capability)
		binary.LittleEndian.PutUint16(s[at+6:], control)
	}
	return s
}

func TestParseConfig(t *testing.T) {
	link := &fabric.PCILink{Speed: 8, Width: 8, MaxSpeed: 32, MaxWidth: 16}
	acs := &fabric.ACS{Present: true, Capability: 0x5f, Control: 0x1d}
	none, noATS := &fabric.ACS{}, &fabric.ATS{}
	tests := map[string]struct {
		in   space
		link *fabric.PCILink
		acs  *fabric.ACS
		ats  *fabric.ATS
		err  [3]error // link, ACS, ATS
	}{
		"both capabilities": {
			in:   newSpace(4096, 0x40).capability(0x40, 0x05, 0x60).express(0x60, 0).extended(0x100, 1, 0x148, 0, 0).extended(0x148, extendedACS, 0x200, 0x5f, 0x1d).extended(0x200, extendedATS, 0, 0x60, 0x8000),
			link: link, acs: acs, ats: &fabric.ATS{Present: true, Enabled: true},
		},
		"ATS off": {
			in:   newSpace(4096, 0x60).express(0x60, 0).extended(0x100, extendedATS, 0, 0x60, 0x1f),
			link: link, acs: none, ats: &fabric.ATS{Present: true},
		},
		"empty extended list":             {in: newSpace(4096, 0x60).express(0x60, 0), link: link, acs: none, ats: noATS},
		"conventional PCI":                {in: newSpace(256, 0x40).capability(0x40, 0x05, 0), acs: none, ats: noATS, err: [3]error{errNotExpress}},
		"no capability list":              {in: newSpace(256, 0), acs: none, ats: noATS, err: [3]error{errNotExpress}},
		"no capability list, not root":    {in: newSpace(64, 0), acs: none, ats: noATS, err: [3]error{errNotExpress}},
		"not root":                        {in: newSpace(64, 0x60), err: [3]error{errNeedsRoot, errNeedsRoot, errNeedsRoot}},
		"no extended space":               {in: newSpace(256, 0x60).express(0x60, 0), link: link, err: [3]error{nil, errNoExtended, errNoExtended}},
		"cut in the header":               {in: newSpace(4096, 0x60)[:40], err: [3]error{errConfigShort, errConfigShort, errConfigShort}},
		"cut in the express capability":   {in: newSpace(4096, 0x60).express(0x60, 0)[:0x70], err: [3]error{errConfigShort, errNoExtended, errNoExtended}},
		"express at the end of its space": {in: newSpace(4096, 0xfc).capability(0xfc, capabilityExpress, 0), acs: none, ats: noATS, err: [3]error{errConfigShort}},
		"cut behind ACS": {
			in:   newSpace(4096, 0x60).express(0x60, 0).extended(0x100, extendedACS, 0x200, 0x5f, 0x1d)[:0x180],
			link: link, acs: acs, err: [3]error{nil, nil, errConfigShort},
		},
		"cut in ACS": {
			in:   newSpace(4096, 0x60).express(0x60, 0).extended(0x100, extendedACS, 0, 0x5f, 0x1d)[:0x106],
			link: link, ats: noATS, err: [3]error{nil, errConfigShort, nil},
		},
		"standard list in a circle": {
			in:  newSpace(4096, 0x40).capability(0x40, 0x05, 0x50).capability(0x50, 0x11, 0x40),
			err: [3]error{errListBroken, errListBroken, errListBroken},
		},
		"standard list into the header": {in: newSpace(4096, 0x10), err: [3]error{errListBroken, errListBroken, errListBroken}},
		"extended list in a circle": {
			in:   newSpace(4096, 0x60).express(0x60, 0).extended(0x100, 1, 0x100, 0, 0),
			link: link, err: [3]error{nil, errListBroken, errListBroken},
		},
		"extended list into the standard space": {
			in:   newSpace(4096, 0x60).express(0x60, 0).extended(0x100, 1, 0x40, 0, 0),
			link: link, err: [3]error{nil, errListBroken, errListBroken},
		},
		"extended space reads ones": {
			in:   newSpace(4096, 0x60).express(0x60, 0).extended(0x100, 0xffff, 0xfff, 0xffff, 0xffff).ones(0x100, 0x104),
			link: link, err: [3]error{nil, errListBroken, errListBroken},
		},
		"device gone":                    {in: newSpace(4096, 0).ones(0, 4096), err: [3]error{errNoAnswer, errNoAnswer, errNoAnswer}},
		"integrated in the root complex": {in: newSpace(4096, 0x60).express(0x60, 0).integrated(0x60), acs: none, ats: noATS, err: [3]error{errIntegrated}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := parseConfig(tt.in)
			if diff := cmp.Diff(tt.link, got.link); diff != "" {
				t.Errorf("link (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.acs, got.acs); diff != "" {
				t.Errorf("ACS (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.ats, got.ats); diff != "" {
				t.Errorf("ATS (-want +got):\n%s", diff)
			}
			for i, err := range []error{got.linkErr, got.acsErr, got.atsErr} {
				if !errors.Is(err, tt.err[i]) {
					t.Errorf("error %d: got %v, want %v", i, err, tt.err[i])
				}
			}
		})
	}
}

func (s space) ones(from, to int) space {
	for i := from; i < to; i++ {
		s[i] = 0xff
	}
	return s
}

func (s space) integrated(at int) space {
	s[at+expressFlags] = expressTypeIntegrated << 4
	return s
}

func TestParseControl(t *testing.T) {
	for name, tt := range map[string]struct {
		register uint16
		want     *fabric.PCIControl
	}{
		"reset":          {0x0000, &fabric.PCIControl{MaxPayload: 128, MaxReadRequest: 128}},
		"as of a server": {0x5950, &fabric.PCIControl{MaxPayload: 512, MaxReadRequest: 4096, RelaxedOrdering: true, ExtendedTag: true}},
		"reserved size":  {0x00c0, nil},
		"reserved read":  {0x6000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(256, 0x60).express(0x60, 0)
			binary.LittleEndian.PutUint16(s[0x60+expressDeviceControl:], tt.register)
			got := parseConfig(s)
			if diff := cmp.Diff(tt.want, got.control); diff != "" || (got.control == nil) == (got.controlErr == nil) {
				t.Errorf("%v, control (-want +got):\n%s", got.controlErr, diff)
			}
		})
	}
	if c := parseConfig(newSpace(4096, 0x60).express(0x60, 0)[:0x68]); c.control != nil || !errors.Is(c.controlErr, errConfigShort) {
		t.Errorf("cut before the register: %v, %v", c.control, c.controlErr)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(newSpace(4096, 0x60).express(0x60, 0).extended(0x100, extendedACS, 0x200, 0x5f, 0x1d).extended(0x200, extendedATS, 0, 0, 0x8000)))
	f.Add([]byte(newSpace(256, 0x40).capability(0x40, 0x05, 0x40)))
	f.Add([]byte(newSpace(64, 0x60)))
	f.Add([]byte(newSpace(4096, 0x60).express(0x60, 0).extended(0x100, 1, 0xffc, 0, 0).extended(0xffc, extendedACS, 0x100, 0, 0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := parseConfig(b)
		if (c.link == nil) == (c.linkErr == nil) || (c.acs == nil) == (c.acsErr == nil) || (c.ats == nil) == (c.atsErr == nil) ||
			(c.control == nil) == (c.controlErr == nil) {
			t.Errorf("each fact has a value or a reason, not both: %+v", c)
		}
	})
}
