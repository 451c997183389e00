package nic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Blocks of IEEE 802.1Qaz as lldptool prints them, and niccli after its example.
const (
	tlvHead    = "IEEE 8021QAZ "
	tlvETS     = "ETS Configuration TLV"
	tlvPFC     = "PFC TLV"
	tlvAPP     = "APP TLV"
	selectDSCP = "5" // IEEE 802.1Qcd, application priority by DSCP
)

// readTLVs reads the blocks for ETS, PFC and applications. Those of a recommendation are for the far end, and left out.
// whole reports whether a block for applications, or the line after it, was there: without it there may be more.
func readTLVs(lines []string) (q fabric.QoS, whole bool, err error) {
	block, scheduled := "", schedulers(nil)
	var app appEntry
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(text, tlvHead); ok {
			if err := app.end(&q); err != nil {
				return q, false, err
			}
			block = strings.TrimSuffix(name, ":")
			continue
		}
		key, value, ok := keyValue(text)
		if strings.HasSuffix(text, " TLV") || key == "TC Rate Limit" {
			if err := app.end(&q); err != nil {
				return q, false, err
			}
			whole = whole || key == "TC Rate Limit" || strings.HasPrefix(text, "End of LLDPDU")
			block = ""
		}
		if !ok {
			continue
		}
		switch block {
		case tlvETS:
			err = readETS(&q, &scheduled, key, strings.Fields(value))
		case tlvPFC:
			if key == "PFC enabled" {
				q.PFC, err = priorityList(value)
			}
		case tlvAPP:
			err = app.line(&q, key, value)
		}
		if err != nil {
			return q, false, fmt.Errorf("%s, %s: %w", block, fabric.Printable(key), err)
		}
	}
	if block != "" {
		err = app.end(&q)
	}
	if len(scheduled) > 0 {
		q.Schedulers = scheduled
	}
	return q, whole, err
}

func readETS(q *fabric.QoS, s *schedulers, key string, words []string) (err error) {
	switch key {
	case "PRIO_MAP":
		q.Queues, err = queueMap(words)
	case "TSA_MAP":
		err = pairs(words, s.algorithm)
	case "TC Bandwidth":
		if len(words) > priorities {
			return fmt.Errorf("%d traffic classes, at most %d", len(words), priorities)
		}
		for class, share := range words {
			if !strings.HasSuffix(share, "%") {
				return fmt.Errorf("%q is not a percentage", fabric.Printable(share))
			}
			if err := s.percent(class, share); err != nil {
				return err
			}
		}
	}
	return err
}

// priorityList reads "3", "1 2 5 7" or "none": a list, in which 0 is priority 0.
func priorityList(text string) (*[]int, error) {
	list := []int{}
	if text == "none" {
		return &list, nil
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
	if len(words) == 0 {
		return nil, errors.New("neither priorities nor none")
	}
	for _, w := range words {
		n, err := readNumber(w, priorities-1)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return &list, nil
}

// appEntry is an application entry that is being read.
type appEntry struct {
	open                     bool
	priority, selector, dscp string
}

func (a *appEntry) line(q *fabric.QoS, key, value string) error {
	switch {
	case strings.HasPrefix(strings.ToUpper(key), "APP#"):
		if err := a.end(q); err != nil {
			return err
		}
		*a = appEntry{open: true}
	case key == "Priority":
		a.priority = value
	case key == "Sel":
		a.selector = value
	case key == "DSCP" || key == "{S}DSCP":
		a.dscp = value
	}
	return nil
}

// end keeps an entry by DSCP. One by another selector says nothing of it.
func (a *appEntry) end(q *fabric.QoS) error {
	entry := *a
	*a = appEntry{}
	if !entry.open || entry.selector != "" && entry.selector != selectDSCP {
		return nil
	}
	if entry.selector == "" || entry.priority == "" || entry.dscp == "" {
		return errors.New("an entry for an application is cut")
	}
	dscp, err := readNumber(entry.dscp, maxDSCP)
	if err != nil {
		return err
	}
	priority, err := readNumber(entry.priority, priorities-1)
	if err != nil {
		return err
	}
	return addDSCP(q, dscp, priority)
}

// isTLVLine knows the lines of the blocks that rules read, and those between them.
func isTLVLine(line string) bool {
	text := strings.TrimSpace(line)
	return strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ") || strings.HasPrefix(text, tlvHead) || begins("TC Rate Limit:", "End of LLDPDU", "Chassis ID TLV", "Port ID TLV", "Time to Live TLV")(text)
}
