package sonic

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// bufferNames are the pools that SONiC's own buffer templates have (sonic-buildimage, files/build_templates/buffers_config.j2).
var bufferNames = map[string]string{
	"ingress_lossless_pool": "lossless", "egress_lossless_pool": "lossless", "ingress_lossy_pool": "lossy", "egress_lossy_pool": "lossy",
}

// leastRoom is what a packet of the smallest MTU that networks have needs: less is a number in another unit.
const leastRoom = 1500

// buffers reads the pools, and which priority groups have a profile without headroom. A priority group without a row is made
// by the buffer daemon, with headroom, for every priority of pfc_enable (sonic-swss, cfgmgr/buffermgr.cpp, buffermgrdyn.cpp).
func (r *reader) buffers() {
	for _, row := range r.db.rowsOf("BUFFER_POOL") {
		r.pool(row)
	}
	for _, row := range r.db.rowsOf("BUFFER_PROFILE") {
		r.number(row.get("dynamic_th"), "", -8, 7)
		if v := r.number(row.get("xoff"), "", 0, math.MaxInt64); v != nil && v.Is > 0 && v.Is < leastRoom {
			r.problem(fabric.TextConflict, "", v.At, fmt.Sprintf("BUFFER_PROFILE|%s keeps %d bytes for what arrives after a pause", short(row.key), v.Is),
				"not even the packet has room that its sender had begun, and it is dropped")
		}
		r.number(row.get("size"), "", 0, math.MaxInt64)
		if f := row.get("pool"); f != nil {
			r.defined("BUFFER_POOL", f.value, f, "", "the profile is not made")
		}
	}
	for _, row := range r.db.rowsOf("BUFFER_QUEUE") {
		r.queueBuffers(row)
	}
	for _, row := range r.db.rowsOf("BUFFER_PG") {
		r.priorityGroups(row)
	}
}

func (r *reader) pool(row *sonicRow) {
	b := fabric.BufferShare{Name: row.key, At: row.at}
	if f := row.get("type"); f != nil {
		b.Direction = f.value
	}
	if name := bufferNames[row.key]; name != "" {
		b.Name = name
	}
	if v := r.number(row.get("size"), "", 0, math.MaxInt64); v != nil {
		b.Bytes = v.Is
	}
	if f := row.get("percentage"); f != nil {
		if v, err := strconv.ParseFloat(f.value, 64); err == nil && v >= 0 && v <= 100 {
			b.Percent = v
		}
	}
	r.c.Buffers = append(r.c.Buffers, b)
	if v := r.number(row.get("xoff"), "", 0, math.MaxInt64); v != nil && v.Is > 0 {
		r.c.Buffers = append(r.c.Buffers, fabric.BufferShare{Direction: b.Direction, Name: b.Name + "-headroom", Bytes: v.Is, At: v.At})
	}
}

// priorityGroups notes the groups of a row whose profile keeps no room for what arrives after a pause.
func (r *reader) priorityGroups(row *sonicRow) {
	f := row.get("profile")
	_, groups, ok := strings.Cut(row.key, "|")
	if f == nil || !ok {
		return
	}
	least, most, ok := r.span(groups, row, 7)
	if !ok {
		return
	}
	lossy := false
	if f.value != "NULL" { // which stands for headroom that the daemon computes (cfgmgr/buffermgrdyn.cpp, handleSingleBufferPgEntry)
		profile := r.defined("BUFFER_PROFILE", f.value, f, "", "the priority group keeps the buffers that it has")
		lossy = profile != nil && profile.closed && profile.get("xoff") == nil && !sonicIs(profile.get("headroom_type"), "dynamic")
		if x := profile.get("xoff"); x != nil && strings.TrimLeft(x.value, "0") == "" {
			lossy = true
		}
	}
	ports, _ := r.keyPorts("BUFFER_PG", row.key)
	if lossy {
		note(r.lossy, ports, least, most, f.at)
	}
}

// note keeps the line that decided something of numbers of ports.
func note(of map[string]map[int]fabric.Line, ports []string, least, most int, at fabric.Line) {
	for _, port := range ports {
		if of[port] == nil {
			of[port] = make(map[int]fabric.Line)
		}
		for i := least; i <= most; i++ {
			of[port][i] = at
		}
	}
}

// queueBuffers notes the queues of a row whose packets are in the lossy pool.
func (r *reader) queueBuffers(row *sonicRow) {
	f := row.get("profile")
	if f == nil || f.value == "NULL" {
		return
	}
	profile := r.defined("BUFFER_PROFILE", f.value, f, "", "the queue keeps the buffers that it has")
	pool := profile.get("pool")
	ports, own := r.keyPorts("BUFFER_QUEUE", row.key)
	if !own || pool == nil || bufferNames[pool.value] != "lossy" {
		return
	}
	if least, most, ok := r.span(row.key[strings.LastIndexByte(row.key, '|')+1:], row, 7); ok {
		note(r.drops, ports, least, most, f.at)
	}
}

// lossyQueues tells queues of packets that are paused for and are dropped all the same when they leave.
func (r *reader) lossyQueues() {
	for _, p := range r.ports {
		if p.DSCP == nil || r.drops[p.Name] == nil {
			continue
		}
		told := make(map[int]bool)
		for _, t := range p.DSCP {
			if t.Pause == nil || t.Pause.Is < 0 || t.Queue == nil || told[t.Queue.Is] {
				continue
			}
			told[t.Queue.Is] = true
			if at, ok := r.drops[p.Name][t.Queue.Is]; ok {
				r.problem(fabric.TextConflict, p.Name, at, fmt.Sprintf("queue %d of %s has packets with PFC and a profile of the lossy pool", t.Queue.Is, p.Name),
					"packets are dropped where the queue is longer than its share, whatever is paused")
			}
		}
	}
}

// cutCables tells ports with PFC whose cable has no length: the buffer daemon makes no lossless priority group for them
// (sonic-swss, cfgmgr/buffermgr.cpp, doSpeedUpdateTask).
func (r *reader) cutCables() {
	for _, p := range r.ports {
		if p.CableM != nil && p.CableM.Is == 0 && p.PFC != nil && len(p.PFC.Is) > 0 {
			r.problem(fabric.TextConflict, p.Name, p.CableM.At, fmt.Sprintf("%s has PFC and a cable length of 0 m", p.Name),
				"SONiC keeps no room for what arrives after a pause, and packets are dropped")
		}
	}
}

func sonicIs(f *sonicField, value string) bool { return f != nil && f.value == value }

// span reads 3 or 3-4. Numbers above the highest that matters are cut off.
func (r *reader) span(text string, row *sonicRow, highest int) (least, most int, ok bool) {
	a, b, ranged := strings.Cut(strings.TrimSpace(text), "-")
	if !ranged {
		b = a
	}
	least, errA := strconv.Atoi(a)
	most, errB := strconv.Atoi(b)
	if errA != nil || errB != nil || least < 0 || least > most {
		r.problem(fabric.TextRange, "", row.at, fmt.Sprintf("%q in %q is neither a number nor a range", short(text), short(row.key)), "orchagent skips the row")
		return 0, 0, false
	}
	return least, min(most, highest), true
}
