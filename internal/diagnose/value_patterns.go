package diagnose

import (
	"regexp"
	"strconv"
	"strings"
)

// valuePattern finds in a text a value that is not what it should be, and names the concept that this is.
type valuePattern struct {
	concept string
	matches func(text string) bool
}

func valuePatterns() []valuePattern {
	return []valuePattern{
		{"clockfull", clocksFull}, {"throttle", clocksApart}, {"throttle", wattsApart}, {"throttle", hot.MatchString}, {"throttle", idleState.MatchString},
		{"lowrate", ratesApart}, {"lowrate", generationsApart}, {"lowrate", megabits},
		{"downgraded", narrowSlot.MatchString}, {"downgraded", reseated},
		{"smallmtu", frames}, {"qosdiffers", prioritiesApart},
		{"build", librariesApart}, {"oversub", fewerUplinks}, {"straggler", allButOne},
		{"affinity", fewCores.MatchString}, {"onenode", oneName}, {"without", withoutName.MatchString},
	}
}

// Values whose form alone says what they are.
var (
	megahertz = regexp.MustCompile(`(?i)\b(\d{3,4})(?:\.\d+)? ?m?hz\b|\bof (\d{4})\b`)
	watts     = regexp.MustCompile(`(?i)\b(\d{2,4}) ?w(?:att)?s?\b|draws? (\d{3})\b`)
	// GPUs slow down from 85 to 90 degrees Celsius on (nvidia-smi -q: GPU Slowdown Temp).
	hot       = regexp.MustCompile(`(?i)\b(8[5-9]|9\d|1[01]\d) ?(° ?c?|deg\w*|celsius)|temp\w*\D{0,10}\b(8[5-9]|9\d|1[01]\d)\b`)
	idleState = regexp.MustCompile(`\b(?:[Ss]tays? in|[Ss]tate:?|[Ss]tuck in|[Rr]emains? in|[Ss]its in) P([5-9]|1[0-2])\b`)
	// narrowSlot is a slot with fewer than the 16 lanes that a NIC of 200 Gb/s and more asks for.
	narrowSlot = regexp.MustCompile(`(?i)\bx([1248]) slot|slot[^\n]{0,24}\b(forced to|limited to|set to|locked to|configured as|only|just) (gen ?[1-4]|x[1248])\b|gen\.?current\D{0,6}[1-4]\b[^\n]{0,40}gen\.?max\D{0,6}[5-7]\b`)
	fewCores   = regexp.MustCompile(`(?i)\b[1-4] (cores?|v?cpus?) (per|for|a|each)\b`)
	machines   = regexp.MustCompile(`(?i)\b(?:node|host|server|worker|machine|compute|dgx|hgx|gpu-?node|gpu-?host|nid|cn)-?0*\d+\b|\br\d+n\d+\b|\b(?:gpu|h100|h200|b200|mi300x?)-\d{2,4}\b|\b(?:the )?(?:second|third|fourth|fifth|sixth|seventh|eighth|last) (?:node|host|machine|server)\b|\bone of (?:the )?\d+ (?:node|host|machine|server)s\b`)
	// withoutName is work without one machine that is named.
	withoutName = regexp.MustCompile(`(?i)\b(without|leaving out|left out|excluding|exclude|dropping|removing|minus|skipping|taking out|draining) (the )?((node|host|server|worker|machine|compute|dgx|hgx|gpu|nid|cn)[- ]?\d+|r\d+n\d+)`)
)

// Words that say what the values of a text are and how they stand to each other.
var (
	perSecond = regexp.MustCompile(`(?i)\d{4,6} ?mb/s`)
	brought   = regexp.MustCompile(`(?i)reseat|re-seat|back from|came back|brought`)
	standard  = regexp.MustCompile(`\b(1500|1514|1518|1522)\b`)
	jumbo     = regexp.MustCompile(`(?i)\b(9000|9k|9014|9100|9214|9216|4200|4096)\b`)
	ofNCCL    = regexp.MustCompile(`(?i)\b[nr]ccl`)
	compared  = regexp.MustCompile(`(?i)run ?time|compile|linked|other|host|node|instead|while|but|older|newer`)
)

// apart reports whether two values that a form finds differ by more than a share: the smaller is under it.
func apart(form *regexp.Regexp, text string, share float64) bool {
	var low, high float64
	for _, m := range form.FindAllStringSubmatch(text, 8) {
		v, err := strconv.ParseFloat(strings.Join(m[1:], ""), 64)
		if err != nil || v <= 0 {
			continue
		}
		if high == 0 {
			low, high = v, v
		}
		low, high = min(low, v), max(high, v)
	}
	return high > 0 && low < share*high
}

// gpuClock keeps the clocks of memories and buses out: those are not the ones that throttle.
var gpuClock = regexp.MustCompile(`(?i)\b(sm|clock|clocks|sclk|gpu|graphics|core)\b`)

// clocksApart is of a GPU whose clock is well under its maximum: boost clocks differ by less than a tenth.
func clocksApart(text string) bool {
	return clocked(text) && apart(megahertz, text, 0.85)
}

// clocksFull is of two clocks of a GPU that are nearly the same: what it has and what it could have.
func clocksFull(text string) bool {
	return clocked(text) && len(megahertz.FindAllString(text, 4)) > 1 && !apart(megahertz, text, 0.92)
}

// clocked reports whether a text is of the clocks of a GPU's cores: its memory has another.
func clocked(text string) bool {
	return gpuClock.MatchString(text) && !memoryClock.MatchString(text)
}

var memoryClock = regexp.MustCompile(`(?i)\bm(em(ory)?|clk)\b`)

// wattsApart is of a GPU that draws or may draw much less than others.
func wattsApart(text string) bool { return others.MatchString(text) && apart(watts, text, 0.8) }

// others says what a power is compared with: to draw less than the limit is no fault.
var others = regexp.MustCompile(`(?i)default|sibling|other|the rest|instead|should|where|rather|usual|normal`)

// card joins a rate with the rate of the card that it should have.
var card = regexp.MustCompile(`(?i)\b(\d{2,3}) ?G\w*\b[^\n]{1,40}\b(?:nic|card|hca|adapter|bcm\w+|cx-?\d|connectx\S*|rather than|could be|out of|capable of)\b[^\n]{0,16}?\b(\d{2,3}) ?G`)

// could is what iblinkinfo adds to a link that runs below its capability.
var could = regexp.MustCompile(`(?i)gbps[^\n]{0,24}could be|active[_ ]width:? ?[12]x\b|active[_ ]speed:? ?(2\.5|5|10|14|25|50)(\.\d+)? ?g`)

func ratesApart(text string) bool {
	if pcieWord.MatchString(text) {
		return false
	}
	for _, m := range card.FindAllStringSubmatch(text, 4) {
		is, err := strconv.Atoi(m[1])
		should, err2 := strconv.Atoi(m[2])
		if err == nil && err2 == nil && is < should && should%25 == 0 && is%5 == 0 {
			return true
		}
	}
	return could.MatchString(text)
}

var pcieWord = regexp.MustCompile(`(?i)\b(pcie?|gt/s|lnksta|lnkcap|gen ?\d)\b`)

// infiniband are the generations of InfiniBand and their rates at four lanes, Gb/s.
var infiniband = regexp.MustCompile(`\b(SDR|DDR|QDR|FDR|EDR|HDR|NDR|XDR)\b`)

var supports = regexp.MustCompile(`(?i)support|instead|should|can\b|capable|max|could|rather|but|while|is an? |old`)

// generationsApart is of two generations of InfiniBand in one text, one what is and one what should be.
func generationsApart(text string) bool {
	return differ(infiniband, text) && supports.MatchString(text)
}

// mega finds the rates of Ethernet ports, Mb/s.
var mega = regexp.MustCompile(`(?i)\b(1000|10000|25000|40000|50000|100000|200000|400000|800000)(?:mb/s)?\b`)

// megabits is of two rates as ethtool prints them, in Mb/s.
func megabits(text string) bool {
	return perSecond.MatchString(text) && supportsOr.MatchString(text) && apart(mega, text, 0.9)
}

var supportsOr = regexp.MustCompile(`(?i)support|instead|should|normal|expected|where|capable|max|rather|usual`)

var generation = regexp.MustCompile(`(?i)\bgen ?([1-7])\b`)

// reseated is of a link that came back to a higher generation.
func reseated(text string) bool {
	return brought.MatchString(text) && differ(generation, text)
}

// frames is of the sizes of an Ethernet frame without and with jumbo frames in one text.
func frames(text string) bool {
	return !raised.MatchString(text) && standard.MatchString(text) && jumbo.MatchString(text)
}

// raised is of a change from one size to the other, which is what should be done.
var raised = regexp.MustCompile(`(?i)from 15\d\d to 9`)

var class = regexp.MustCompile(`(?i)\b(priority|prio|tc|traffic class|dscp|queue|class|expects) ?(\d{1,2})\b`)

// prioritiesApart is of two classes of traffic where there should be one.
func prioritiesApart(text string) bool {
	if notification.MatchString(text) || !ofRoCE.MatchString(text) {
		return false // congestion notifications have a class of their own
	}
	seen := map[string]string{}
	last := ""
	for _, m := range class.FindAllStringSubmatch(text, 8) {
		kind := strings.ToLower(m[1])
		if kind == "expects" {
			kind = last
		}
		if v := seen[kind]; v != "" && v != m[2] {
			return true
		}
		seen[kind], last = m[2], kind
	}
	return false
}

var (
	notification = regexp.MustCompile(`(?i)\bcnps?\b|notification`)
	ofRoCE       = regexp.MustCompile(`(?i)roce|rdma|lossless|pfc|ecn|send|uses|mark|expect`)
)

var libraries = regexp.MustCompile(`(?i)\b(2\.\d{1,2}(?:\.\d+)?)\b`)

// librariesApart is of two versions of NCCL in one text.
func librariesApart(text string) bool {
	return ofNCCL.MatchString(text) && compared.MatchString(text) && differ(libraries, text)
}

var trunk = regexp.MustCompile(`(?i)\b(\d{1,3}) (?:\d+g )?(?:uplinks?|links? (?:up|northbound)|spine (?:cables?|links?|ports?))\b[^\n]{0,40}?\b(\d{1,3}) (?:\d+g )?(?:hosts?|downlinks?|down|nodes?|servers?)`)

// fewerUplinks is of a leaf with fewer ports to the spine than to hosts.
func fewerUplinks(text string) bool {
	for _, m := range trunk.FindAllStringSubmatch(text, 4) {
		up, err := strconv.Atoi(m[1])
		down, err2 := strconv.Atoi(m[2])
		if err == nil && err2 == nil && up < down {
			return true
		}
	}
	return false
}

var several = regexp.MustCompile(`(?i)\b(\d{1,4}) (?:out )?of (?:the |our )?(\d{1,4}) (?:node|host|machine|server)s`)

// allButOne is of a text in which all machines but one are so.
func allButOne(text string) bool {
	for _, m := range several.FindAllStringSubmatch(text, 4) {
		some, err := strconv.Atoi(m[1])
		all, err2 := strconv.Atoi(m[2])
		if err == nil && err2 == nil && some+1 == all && all > 2 {
			return true
		}
	}
	return false
}

// oneName reports whether a text names one machine, and no second.
func oneName(text string) bool {
	first := ""
	for _, m := range machines.FindAllString(text, 8) {
		if first != "" && !strings.EqualFold(first, m) {
			return false
		}
		first = m
	}
	return first != ""
}
