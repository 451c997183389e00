package nic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// BnxtReConf is the file from which the scripts of Broadcom's RoCE driver set traffic classes up when it is loaded.
const BnxtReConf = "/etc/bnxt_re/bnxt_re.conf"

// Settings of that file (Broadcom RoCE guide 957608-AN209, 2.2.1.3).
const (
	SettingFlowControl  = "ENABLE_FC"
	SettingMode         = "FC_MODE" // 1: PFC, 2: congestion control, 3: both
	SettingRoCEPriority = "ROCE_PRI"
	SettingRoCEDSCP     = "ROCE_DSCP"
	SettingCNPPriority  = "CNP_PRI"
	SettingCNPDSCP      = "CNP_DSCP"
	SettingShare        = "ROCE_BW" // percent
	SettingUtility      = "UTILITY" // which tool sets it: 3 niccli, 4 dcb, by release
)

// settingLimits are the largest values of the settings that are read.
func settingLimits() map[string]int {
	return map[string]int{
		SettingFlowControl: 1, SettingMode: 3, SettingRoCEPriority: priorities - 1, SettingRoCEDSCP: maxDSCP, SettingCNPPriority: priorities - 1,
		SettingCNPDSCP: maxDSCP, SettingShare: 100, SettingUtility: 9,
	}
}

// ReadBnxtReConf returns the known settings of the file, as numbers in decimal. As in the shell that reads it, the last of two
// equal names counts.
func ReadBnxtReConf(text string) (map[string]string, error) {
	out, limits := map[string]string{}, settingLimits()
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		most, known := limits[strings.TrimSpace(name)]
		if !ok || !known {
			continue
		}
		n, err := readNumber(strings.Trim(strings.TrimSpace(value), `"'`), most)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(name), err)
		}
		out[strings.TrimSpace(name)] = fmt.Sprint(n)
	}
	if len(out) == 0 {
		return nil, errForeign
	}
	return out, nil
}

// IsBnxtReConf reports whether a line is a setting of that file.
func IsBnxtReConf(line string) bool {
	name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
	if !ok || value == "" || len(value) > 5 {
		return false
	}
	_, known := settingLimits()[name]
	return known && fabric.Printable(value) == value && !slices.Contains([]string{"y", "n"}, value)
}

// SettingNames are the names of the settings that are read, in the order of the file.
func SettingNames() []string {
	return []string{
		SettingFlowControl, SettingMode, SettingRoCEPriority, SettingRoCEDSCP, SettingCNPPriority, SettingCNPDSCP, SettingShare, SettingUtility,
	}
}

// WantedSettings are those settings of the file that follow from an intent. A share of 0 is not said.
func WantedSettings(roce, cnp fabric.TrafficClass, share int) map[string]string {
	mode := 0
	if roce.Lossless {
		mode |= modePFC
	}
	if roce.ECN != nil {
		mode |= modeCongestion
	}
	out := map[string]string{
		SettingFlowControl: strconv.Itoa(min(mode, 1)), SettingRoCEPriority: strconv.Itoa(roce.Priority), SettingRoCEDSCP: strconv.Itoa(roce.DSCP),
	}
	if mode > 0 {
		out[SettingMode] = strconv.Itoa(mode)
	}
	if cnp.Name != "" && roce.ECN != nil {
		out[SettingCNPPriority], out[SettingCNPDSCP] = strconv.Itoa(cnp.Priority), strconv.Itoa(cnp.DSCP)
	}
	if share > 0 {
		out[SettingShare] = strconv.Itoa(share)
	}
	return out
}

// Bits of SettingMode.
const modePFC, modeCongestion = 1, 2

// FileCongestion reports whether the file sets congestion control up; ok is false where it does not say.
func FileCongestion(settings map[string]string) (on, ok bool) {
	enabled, err := readNumber(settings[SettingFlowControl], 1)
	mode, modeErr := readNumber(settings[SettingMode], modePFC|modeCongestion)
	if err != nil || modeErr != nil {
		return false, false
	}
	return enabled == 1 && mode&modeCongestion != 0, true
}
