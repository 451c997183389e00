package junos

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// className returns the name of a forwarding class: none of Junos' own, whose queues others may have changed.
func className(class string) string { return switchtext.QoSName + "-" + class }

// classOfService writes how packets are classified, queued, marked and paused. A class has the queue of its priority: a
// QFX5240 has queues 0 to 7 for packets to one receiver (Juniper, QFX5220 to QFX5241 Configuration Essentials, Class of
// Service). Queues 0, 3, 4 and 7 are also those of Junos' own classes: see ownClasses.
func (f *junosFile) classOfService(s fabric.Switch, t fabric.Traffic) {
	lossless := slices.ContainsFunc(t.Classes, func(c fabric.TrafficClass) bool { return c.Lossless })
	f.in(func() {
		f.classifier(t)
		f.dropProfiles(s, t)
		f.buffers(s, t, lossless)
		f.in(func() {
			for _, q := range switchtext.Queues(t) {
				f.put("class %s queue-num %d%s", className(q.Name), q.Number, junosNoLoss(t, q))
			}
			f.ownClasses(t)
		}, "forwarding-classes")
		if lossless {
			f.congestion(s, t)
		}
		f.in(func() {
			for _, port := range junosPatterns(s) {
				f.in(func() {
					if lossless {
						f.put("congestion-notification-profile %s", switchtext.QoSName)
					}
					f.put("scheduler-map %s", switchtext.QoSName)
					f.in(func() { f.put("dscp %s", switchtext.QoSName) }, "unit *", "classifiers")
				}, port)
			}
		}, "interfaces")
		f.schedulers(t)
	}, "class-of-service")
}

func junosNoLoss(t fabric.Traffic, q switchtext.Queue) string {
	for _, c := range t.Classes {
		if c.Name == q.Name && c.Lossless {
			return fmt.Sprintf(" no-loss pfc-priority %d", c.Priority)
		}
	}
	return ""
}

// ownClasses makes Junos' own classes fit to the queues in which they are: all classes of a queue must drop alike (Juniper,
// Defining CoS Forwarding Classes). fcoe and no-loss are lossy once they are written without no-loss; best-effort and
// network-control leave a lossless queue for that of all other packets.
func (f *junosFile) ownClasses(t fabric.Traffic) {
	lossless := map[int]bool{}
	for _, q := range switchtext.Queues(t) {
		lossless[q.Number] = junosNoLoss(t, q) != ""
	}
	for _, own := range []struct {
		name  string
		queue int
		lossy bool
	}{{"best-effort", 0, true}, {"fcoe", 3, false}, {"no-loss", 4, false}, {"network-control", 7, true}} {
		paused, shared := lossless[own.queue]
		switch {
		case !shared || paused != own.lossy:
		case own.lossy:
			f.put("class %s queue-num %d", own.name, switchtext.UnusedPriority(t))
		default:
			f.put("class %s queue-num %d", own.name, own.queue)
		}
	}
}

// junosPatterns returns one pattern where all ports are of one kind, else their names.
func junosPatterns(s fabric.Switch) []string {
	var names []string
	same := true
	for _, p := range s.Ports {
		names = append(names, p.Name)
		same = same && strings.HasPrefix(p.Name, "et-")
	}
	if same && len(names) > 0 {
		return []string{"et-*"}
	}
	return slices.Compact(names)
}

// classifier names every DSCP: what Junos does with the others is another class of its own.
func (f *junosFile) classifier(t fabric.Traffic) {
	f.in(func() {
		for _, q := range switchtext.Queues(t) {
			var points []string
			for d := range 64 {
				if classOf(t, d) == q.Name {
					points = append(points, fmt.Sprintf("%06b", d))
				}
			}
			f.in(func() { f.put("loss-priority low code-points %s", junosList(points)) }, "forwarding-class "+className(q.Name))
		}
	}, "classifiers", "dscp "+switchtext.QoSName)
}

func classOf(t fabric.Traffic, dscp int) string {
	for _, c := range t.Classes {
		if c.DSCP == dscp {
			return c.Name
		}
	}
	return "rest"
}

func junosList(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "[ " + strings.Join(words, " ") + " ]"
}

// Shares of the shared buffer in percent. Egress: the 80 and 10 of 2.5.3, and the 10 that are missing there for packets to
// many receivers, as the partitions must total 100 (Juniper CLI reference, buffer-partition (Egress)).
const (
	junosLossy    = 10
	multicast     = 10
	junosMain     = 100 - junosLossy - multicast
	leastHeadroom = 10 // of 2.5.3
	mostHeadroom  = 60
)

// buffers writes the partitions of the shared buffer. dynamic-threshold 7 lets a queue take as much as is left free, one half
// of a partition that it fills alone: the fill levels below are computed with it.
func (f *junosFile) buffers(s fabric.Switch, t fabric.Traffic, lossless bool) {
	part := func(name string, percent int, threshold bool) {
		f.in(func() {
			f.put("percent %d", percent)
			if threshold {
				f.put("dynamic-threshold %d", junosThreshold)
			}
		}, "buffer-partition "+name)
	}
	headroom, main, lossy := junosHeadroom(s, t), junosMain, junosLossy
	if !lossless {
		headroom, main, lossy = 0, 0, junosMain+junosLossy
	}
	f.in(func() {
		f.in(func() {
			if lossless {
				part("lossless", 100-lossy-headroom, false)
				part("lossless-headroom", headroom, false)
				part("lossy", lossy, false)
			} else {
				part("lossless", 0, false)
				part("lossless-headroom", 0, false)
				part("lossy", 100, false)
			}
		}, "ingress")
		f.in(func() {
			part("lossless", main, lossless)
			part("lossy", lossy, !lossless)
			part("multicast", multicast, false)
		}, "egress")
	}, "shared-buffer")
	if lossless && s.BufferBytes == 0 {
		f.omit("headroom by its need: the catalog has no buffer size of this switch, so that the %d %% of the document are written", leastHeadroom)
	}
}

// junosHeadroom returns the percent of the buffer that all ports need when they pause at once.
func junosHeadroom(s fabric.Switch, t fabric.Traffic) int {
	if s.BufferBytes <= 0 {
		return leastHeadroom
	}
	need := 0.0
	for _, p := range s.Ports {
		need += float64(switchtext.Headroom(p.RateGbps, t.CableM, max(s.MTU, 1500)))
	}
	return min(mostHeadroom, max(leastHeadroom, int(math.Ceil(100*need/float64(s.BufferBytes)))))
}

// junosThreshold is 7 of 0 to 10: as much as is left free (alpha 1). It is the default of Junos, written as what follows
// depends on it.
const junosThreshold = 7

// queueBytes returns the most that a queue which fills alone can hold: alpha 1 gives it one half of its partition.
func queueBytes(s fabric.Switch, lossless bool) float64 {
	share := junosMain
	if !lossless {
		share += junosLossy
	}
	return float64(s.BufferBytes) * float64(share) / 100 / 2
}

// Fill levels of 2.5.3, where no size of the buffer is known.
const documentMin, documentMax = 55, 90

// fillLevels returns the thresholds of a class in percent of the most that its queue can hold.
func fillLevels(s fabric.Switch, c fabric.TrafficClass) (least, most int, known bool) {
	if s.BufferBytes <= 0 {
		return documentMin, documentMax, false
	}
	full := queueBytes(s, c.Lossless)
	least = min(98, max(1, int(math.Round(100*float64(c.ECN.MinBytes)/full))))
	most = min(99, max(least+1, int(math.Round(100*float64(c.ECN.MaxBytes)/full))))
	return least, most, true
}

// dropProfiles writes when packets of a class are marked. Junos has percent of fill alone.
func (f *junosFile) dropProfiles(s fabric.Switch, t fabric.Traffic) {
	var marked []fabric.TrafficClass
	for _, c := range t.Classes {
		if c.ECN != nil {
			marked = append(marked, c)
		}
	}
	if len(marked) == 0 {
		return
	}
	f.in(func() {
		for _, c := range marked {
			least, most, known := fillLevels(s, c)
			f.in(func() {
				f.put("fill-level [ %d %d ]", least, most)
				f.put("drop-probability [ 0 %d ]", c.ECN.Percent)
			}, className(c.Name), "interpolate")
			if !known {
				f.omit("ECN thresholds of %s in KiB: Junos takes percent of fill, and the catalog has no buffer size of this switch; %d and %d %% are those of the document", c.Name, least, most)
				continue
			}
			f.omit("ECN thresholds of %s in KiB: Junos takes percent of fill; %d and %d KiB are %d and %d %% of %d KiB, which a queue that fills alone can hold (%d KiB of buffer, dynamic-threshold %d)",
				c.Name, c.ECN.MinBytes>>10, c.ECN.MaxBytes>>10, least, most, int64(queueBytes(s, c.Lossless))>>10, s.BufferBytes>>10, junosThreshold)
		}
	}, "drop-profiles")
}

// congestion writes PFC: which packets cause pauses, and which queue a received pause stops. The headroom of a port is
// computed from the length of its cable and the largest frame.
func (f *junosFile) congestion(s fabric.Switch, t fabric.Traffic) {
	f.in(func() {
		if t.Watchdog != nil {
			f.watchdog(*t.Watchdog)
		}
		f.in(func() {
			if t.CableM > 0 {
				f.put("cable-length %d", t.CableM)
			}
			f.in(func() {
				for _, c := range t.Classes {
					if c.Lossless {
						f.in(func() {
							f.put("pfc")
							if mtu := junosFrame(s, true); mtu > 0 {
								f.put("mru %d", mtu)
							}
						}, fmt.Sprintf("code-point %06b", c.DSCP))
					}
				}
			}, "dscp")
		}, "input")
		f.in(func() {
			for _, c := range t.Classes {
				if c.Lossless {
					f.in(func() { f.put("flow-control-queue %d", c.Priority) }, fmt.Sprintf("code-point %03b", c.Priority))
				}
			}
		}, "output", "ieee-802.1")
	}, "congestion-notification-profile", switchtext.QoSName)
}

// Bounds of the PFC watchdog in milliseconds and polls (Juniper/yang, 23.4R1-EVO, junos-conf-class-of-service).
const (
	leastPoll, mostPoll         = 100, 1000
	leastPolls, mostPolls       = 2, 10
	leastRecovery, mostRecovery = 200, 1000
)

// junosPolls returns the polls that come nearest to a time of detection, the longer ones first where several do.
func junosPolls(ms int) (interval, polls int) {
	interval, polls = leastPoll, leastPolls
	for n := leastPolls; n <= mostPolls; n++ {
		i := min(mostPoll, max(leastPoll, (ms+n/2)/n))
		if abs(i*n-ms) < abs(interval*polls-ms) {
			interval, polls = i, n
		}
	}
	return interval, polls
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func (f *junosFile) watchdog(w fabric.PFCWatchdog) {
	interval, polls := junosPolls(w.DetectMs)
	recovery := min(mostRecovery, max(leastRecovery, w.RestoreMs))
	f.in(func() {
		f.put("poll-interval %d", interval)
		f.put("detection %d", polls)
		f.put("recovery %d", recovery)
		f.put("watchdog-action drop")
	}, "pfc-watchdog")
	if interval*polls != w.DetectMs {
		f.omit("detection of the PFC watchdog after %d ms: Junos counts %d to %d polls of %d to %d ms, so that it is %d", w.DetectMs, leastPolls, mostPolls, leastPoll, mostPoll, interval*polls)
	}
	if recovery != w.RestoreMs {
		f.omit("recovery of the PFC watchdog after %d ms: Junos takes %d to %d, so that it is %d", w.RestoreMs, leastRecovery, mostRecovery, recovery)
	}
}

// schedulers writes who sends next. CNPs are strict, without a rate: a strict queue has no share.
func (f *junosFile) schedulers(t fabric.Traffic) {
	queues := switchtext.Queues(t)
	f.in(func() {
		for _, q := range queues {
			f.put("forwarding-class %[1]s scheduler %[1]s", className(q.Name))
		}
	}, "scheduler-maps", switchtext.QoSName)
	f.in(func() {
		for _, q := range queues {
			f.in(func() {
				if q.Percent > 0 {
					f.put("transmit-rate percent %d", q.Percent)
				} else {
					f.put("priority strict-high")
				}
				if q.ECN != nil {
					f.put("drop-profile-map loss-priority any protocol any drop-profile %s", className(q.Name))
					f.put("explicit-congestion-notification")
				}
			}, className(q.Name))
		}
	}, "schedulers")
}
