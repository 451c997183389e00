package facts

import (
	"errors"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/nic"
)

// Folders in which drivers show settings of traffic classes. Those of configfs are there while somebody made them.
const (
	bnxtReConfig = "/sys/kernel/config/bnxt_re"
	bnxtReDebug  = "/sys/kernel/debug/bnxt_re"
	mlx5Debug    = "/sys/kernel/debug/mlx5"
)

// readNICFile reads the file of Broadcom's driver where such a NIC is.
func readNICFile(h host.Host, f *fabric.Facts) {
	for _, n := range f.NICs {
		if n.Driver != "bnxt_en" {
			continue
		}
		text, err := host.ReadString(h, nic.BnxtReConf)
		if err != nil {
			miss(f, fabric.FactNICFile, nic.BnxtReConf, err)
			return
		}
		if f.NICFile, err = nic.ReadBnxtReConf(text); err != nil {
			miss(f, fabric.FactNICFile, nic.BnxtReConf, err)
		}
		return
	}
}

func parseNICFile(text, _ string) (fabric.Facts, error) {
	settings, err := nic.ReadBnxtReConf(text)
	return fabric.Facts{NICFile: settings}, err
}

// files reads what the driver of a NIC shows.
func (s *settingsReader) files(n fabric.NIC) {
	hca := rdmaOf(s.f, n)
	switch n.Driver {
	case "bnxt_en":
		s.folders(n, nic.ReadBnxtRe, nic.BnxtReFiles(), bnxtReConfig+"/"+hca.Name+"/ports/1/cc", bnxtReDebug+"/"+n.PCI+"/cc_config", bnxtReDebug+"/"+hca.Name+"/cc_config")
	case "mlx5_core":
		s.folders(n, nic.ReadMlx5, nic.Mlx5ECNFiles(), netClass+"/"+n.Name+"/ecn")
		s.folders(n, nic.ReadMlx5, []string{"traffic_class"}, infinibandClass+"/"+hca.Name+"/tc/1")
		s.folders(n, nic.ReadMlx5, nic.Mlx5DebugFiles(), mlx5Debug+"/"+n.PCI+"/cc_params")
	}
}

// folders reads files of the first folder that is there. That none is there is no fault: drivers differ.
func (s *settingsReader) folders(n fabric.NIC, read func(map[string]string) (fabric.QoS, error), names []string, folders ...string) {
	for _, folder := range folders {
		listed, err := s.h.ReadDir(folder)
		if err != nil {
			if !host.IsAbsent(err) {
				s.lose(fabric.FactNICQoS, n.Name, folderKind(folder), settingsReason(errors.New(reason(err))))
			}
			continue
		}
		files := map[string]string{}
		for _, name := range names {
			text, err := host.ReadString(s.h, folder+"/"+name)
			switch {
			case err == nil:
				files[name] = text
			case !host.IsAbsent(err) || slices.Contains(listed, name):
				s.lose(fabric.FactNICQoS, n.Name, folder+"/"+name, reason(err))
			}
		}
		q, err := read(files)
		if err != nil {
			s.lose(fabric.FactNICQoS, n.Name, folder, fabric.Printable(err.Error()))
			return
		}
		if !emptyQoS(q) {
			q.Sources = []string{folder}
			s.m.merge(tool{name: folder}, fabric.Facts{NICs: []fabric.NIC{{Name: n.Name, QoS: &q}}})
		}
		return
	}
}

// folderKind is a folder without the device in it, so that what is lost of every NIC is one thing.
func folderKind(folder string) string {
	for _, root := range []string{bnxtReConfig, bnxtReDebug, mlx5Debug, netClass, infinibandClass} {
		if len(folder) > len(root) && folder[:len(root)] == root {
			return root
		}
	}
	return folder
}
