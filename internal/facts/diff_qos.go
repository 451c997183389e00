package facts

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// nicSettings compares what two NICs do with traffic classes, and their stored options. What one side did not read is
// unknown there.
func (d *differ) nicSettings(thing string, a, b *fabric.NIC) {
	const class = "where two ends put RoCE into different classes, one pauses what the other does not, and drops follow"
	var none fabric.QoS
	qa, qb := &none, &none
	if a.QoS != nil {
		qa = a.QoS
	}
	if b.QoS != nil {
		qb = b.QoS
	}
	d.compare(thing,
		field{rankSetting, isWarning, "QoS trust", text(qa.Trust), text(qb.Trust), class},
		field{rankSetting, isWarning, "priority by DSCP", dscpText(qa.DSCP), dscpText(qb.DSCP), class},
		field{rankSetting, isWarning, "priorities with PFC", pfcText(qa.PFC), pfcText(qb.PFC), class},
		field{rankSetting, isWarning, "traffic class by priority", numbersText(qa.Queues), numbersText(qb.Queues), class},
		field{rankSetting, isWarning, "schedulers by traffic class", schedulersText(qa.Schedulers), schedulersText(qb.Schedulers), "decides what RoCE gets beside other traffic"},
		field{rankSetting, isWarning, "marking of RoCE", markingText(qa.RoCE), markingText(qb.RoCE), class},
		field{rankSetting, isWarning, "marking of CNP", markingText(qa.CNP), markingText(qb.CNP), "congestion notifications of one of them wait behind data"},
		field{rankSetting, isWarning, "reaction to ECN (DCQCN)", pfcText(qa.ECN), pfcText(qb.ECN), "who does not slow down takes the bandwidth of those who do"},
		field{rankSetting, isWarning, "DCBX", text(qa.DCBX), text(qb.DCBX), "decides who sets traffic classes: the host or the switch"},
		field{rankSetting, isWarning, "global pause", value(qa.Pause), value(qb.Pause), "a pause of the whole link stops every class"},
	)
	for _, name := range slices.Sorted(maps.Keys(union(a.Options, b.Options))) {
		d.compare(thing, field{rankSetting, isWarning, "option " + name, text(a.Options[name]), text(b.Options[name]), "stored in the NIC, in effect after a reset"})
	}
}

func dscpText(priorities map[int]int) string {
	var out []string
	for _, dscp := range slices.Sorted(maps.Keys(priorities)) {
		out = append(out, fmt.Sprintf("%d:%d", dscp, priorities[dscp]))
	}
	return wordsText(out, priorities == nil)
}

func pfcText(priorities *[]int) string {
	if priorities == nil {
		return unknown
	}
	return wordsText(numberWords(*priorities), false)
}

func numbersText(list []int) string { return wordsText(numberWords(list), len(list) == 0) }

func numberWords(list []int) []string {
	var out []string
	for _, n := range list {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

func schedulersText(list []fabric.Scheduler) string {
	var out []string
	for _, s := range list {
		words := text(s.Algorithm)
		if s.Percent != nil {
			words += fmt.Sprintf(" %d %%", *s.Percent)
		}
		out = append(out, words)
	}
	return wordsText(out, len(list) == 0)
}

func markingText(m *fabric.Marking) string {
	if m == nil {
		return unknown
	}
	return "DSCP " + value(m.DSCP) + ", priority " + value(m.Priority)
}

// wordsText joins a list that may be empty, or that was not read.
func wordsText(words []string, unread bool) string {
	switch {
	case unread:
		return unknown
	case len(words) == 0:
		return "none"
	}
	return strings.Join(words, ", ")
}

// nicFile compares the settings that a NIC driver is loaded with.
func (d *differ) nicFile() {
	if d.unread(fabric.FactNICFile, len(d.a.NICFile), len(d.b.NICFile)) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(union(d.a.NICFile, d.b.NICFile))) {
		of := func(settings map[string]string) string {
			if v, ok := settings[name]; ok {
				return v
			}
			return absent
		}
		d.compare("", field{rankSetting, isWarning, "NIC driver setting " + name, of(d.a.NICFile), of(d.b.NICFile), "what the next load of the driver sets up"})
	}
}
