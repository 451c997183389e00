package sonic

import (
	"fmt"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

// classKey is what decides what a port does with the packets that come in: ports that have it in common share their tables.
type classKey struct {
	dscp, dot1p, queues, groups, pfcGroups   *sonicMap
	noDot1p, noQueues, noGroups, noPFCGroups bool   // no text says which map it is
	pfc                                      int    // a bit for each priority; -1: unknown
	lossy                                    string // priority groups of PFC without headroom, with their lines
}

// classTables are shared by the ports of a classKey.
type classTables struct {
	dscp *[64]fabric.Treatment
	pcp  *[8]fabric.Treatment
}

// classKey returns the key of a port with a row and a DSCP map.
func (r *reader) classKey(q *qosRow, dscp *sonicMap, lossy map[int]fabric.Line) classKey {
	key := classKey{
		dscp: dscp, dot1p: q.maps["dot1p_to_tc_map"], queues: q.maps["tc_to_queue_map"], groups: q.maps["tc_to_pg_map"],
		pfcGroups: q.maps["pfc_to_pg_map"], pfc: -1,
		noDot1p: q.unknown["dot1p_to_tc_map"], noQueues: q.unknown["tc_to_queue_map"], noGroups: q.unknown["tc_to_pg_map"],
		noPFCGroups: q.unknown["pfc_to_pg_map"],
	}
	if q.pfc == nil {
		return key
	}
	key.pfc = 0
	for _, p := range q.pfc.Is {
		key.pfc |= 1 << p
	}
	for pg := range 8 {
		if at, ok := lossy[pg]; ok && (key.pfcGroups != nil || key.pfc&(1<<pg) != 0) {
			key.lossy += fmt.Sprintf("%d %s:%d,", pg, at.File, at.Number)
		}
	}
	return key
}

const noMap = "a port without a map puts all packets into traffic class 0 (SAI, inc/saiport.h, SAI_PORT_ATTR_QOS_DEFAULT_TC)"

// trustOf returns which of the two tables decides. With both, DSCP decides for IP, whatever the tag says.
func trustOf(q, from *qosRow) *fabric.Said[string] {
	switch {
	case from.maps["dscp_to_tc_map"] != nil:
		return said("dscp", from.where["dscp_to_tc_map"])
	case q.maps["dot1p_to_tc_map"] != nil:
		return said("pcp", q.where["dot1p_to_tc_map"])
	case q.unknown["dot1p_to_tc_map"]:
		return nil
	}
	return byDefault("none", noMap)
}

// newClassTables resolves maps to what happens with each DSCP and each 802.1p priority.
func newClassTables(key classKey, lossy map[int]fabric.Line) *classTables {
	c := classifier{key: key, lossy: lossy}
	t := &classTables{}
	if key.dscp != nil {
		t.dscp = new([64]fabric.Treatment)
		for i := range t.dscp {
			t.dscp[i] = c.treat(key.dscp.to[i])
		}
	}
	switch {
	case key.dot1p != nil:
		t.pcp = new([8]fabric.Treatment)
		for i := range t.pcp {
			t.pcp[i] = c.treat(key.dot1p.to[i])
		}
	case key.dscp == nil && !key.noDot1p:
		t.pcp = new([8]fabric.Treatment)
		for i := range t.pcp {
			t.pcp[i] = c.treat(byDefault(0, noMap))
		}
	}
	return t
}

// classifier follows a traffic class to its queue and its pauses.
type classifier struct {
	key   classKey
	lossy map[int]fabric.Line
	done  [8]*[2]*fabric.Said[int] // by class: queue and pause
}

// treat returns what happens with packets of a class. An entry that a map has not is unknown: chips differ.
func (c *classifier) treat(tc *fabric.Said[int]) fabric.Treatment {
	if tc == nil {
		return fabric.Treatment{}
	}
	if c.done[tc.Is] == nil {
		c.done[tc.Is] = &[2]*fabric.Said[int]{c.queue(tc.Is), c.pause(tc.Is)}
	}
	return fabric.Treatment{Class: said(strconv.Itoa(tc.Is), tc.At), Queue: c.done[tc.Is][0], Pause: c.done[tc.Is][1]}
}

func (c *classifier) queue(tc int) *fabric.Said[int] {
	if c.key.queues != nil {
		return c.key.queues.to[tc]
	}
	if c.key.noQueues {
		return nil
	}
	return byDefault(0, "a port without tc_to_queue_map puts all packets into queue 0 (SAI, inc/saiport.h, SAI_PORT_ATTR_QOS_TC_TO_QUEUE_MAP)")
}

// pause returns the priority of the pauses that packets of a class cause: PFC's priority of their priority group, which without
// a map has the group's number (sonic-swss, cfgmgr/buffermgr.cpp: the lossless groups of a port are those of pfc_enable).
func (c *classifier) pause(tc int) *fabric.Said[int] {
	if c.key.pfc < 0 {
		return nil
	}
	if c.key.groups == nil || c.key.groups.to[tc] == nil {
		if c.key.pfc == 0 {
			return byDefault(-1, "PFC is on for no priority of the port")
		}
		return nil // what a chip does without an entry is in no public document
	}
	pg := c.key.groups.to[tc]
	p := c.priority(pg.Is)
	at, lossy := c.lossy[pg.Is]
	switch {
	case p == nil:
		return nil
	case p.Is >= 0 && lossy:
		return said(-1, at)
	}
	return said(p.Is, pg.At)
}

// priority returns the priority with PFC of a priority group; -1: none has it.
func (c *classifier) priority(pg int) *fabric.Said[int] {
	if c.key.pfcGroups == nil {
		switch {
		case c.key.pfc == 0:
			return said(-1, fabric.Line{})
		case c.key.noPFCGroups:
			return nil
		case c.key.pfc&(1<<pg) != 0:
			return said(pg, fabric.Line{})
		}
		return said(-1, fabric.Line{})
	}
	for p, g := range c.key.pfcGroups.to[:8] {
		if g != nil && g.Is == pg && c.key.pfc&(1<<p) != 0 {
			return said(p, g.At)
		}
	}
	return said(-1, fabric.Line{})
}
