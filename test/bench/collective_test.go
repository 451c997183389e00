//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
)

// Bars of predictions, on one core.
const (
	curveWall     = 50 * time.Microsecond // one collective, 32 sizes
	placementWall = 100 * time.Microsecond
	// 16,384 nodes may take so many times as long as two: nothing grows with them, and room for noise.
	curveGrowth = 2.0
)

func barPredict(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	sizes := make([]int64, 32)
	for i := range sizes {
		sizes[i] = 8 << i
	}
	took := make(map[int]time.Duration)
	for _, nodes := range []int{2, 16384} {
		c, err := collective.New(cat, fabric.Hardware{Machine: "hgx-h100", Nodes: nodes})
		if err != nil {
			t.Fatal(err)
		}
		took[nodes] = each(t, 2000, func() error {
			_, err := c.Predict(collective.Job{Collective: fabric.AllReduce}, sizes)
			return err
		})
		fmt.Printf("%5d nodes: one curve of 32 sizes in %s\n", nodes, took[nodes])
		if took[nodes] > curveWall {
			t.Errorf("%d nodes: one curve takes %s, want at most %s", nodes, took[nodes], curveWall)
		}
	}
	if growth := took[16384].Seconds() / took[2].Seconds(); growth > curveGrowth {
		t.Errorf("16384 nodes take %.1f times as long as 2, want at most %.0f", growth, curveGrowth)
	}
	c, err := collective.New(cat, fabric.Hardware{Machine: "a4-highgpu-8g", Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	p := &collective.Placement{Workers: []collective.Worker{
		{Machine: "a", GPUs: []int{0, 1, 6, 7}, Count: 4}, {Machine: "a", GPUs: []int{2, 3, 4, 5}, Count: 4},
		{Machine: "b", GPUs: []int{0, 1, 2, 7}, Count: 4}, {Machine: "b", GPUs: []int{3, 4, 5, 6}, Count: 4},
	}}
	one := each(t, 10000, func() error {
		_, err := c.Share(p)
		return err
	})
	fmt.Printf("10,000 placements with unknown NICs in %s\n", 10000*one)
	if one > placementWall {
		t.Errorf("one placement takes %s, want at most %s", one, placementWall)
	}
}

// each is the mean processor time of many runs.
func each(t *testing.T, runs int, f func() error) time.Duration {
	t.Helper()
	return cpuOfSelf(t, func() error {
		for range runs {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}) / time.Duration(runs)
}

// Bars of what is read: hostile sizes stay bounded.
const (
	logBytes   = 256 << 20 // of a debug log of many ranks
	logFactor  = 7.0       // times the processor time of reading and splitting it: twice the 3.5 that it takes
	logMemory  = 96 << 20  // bytes resident, of the whole program
	topoBytes  = 100 << 20
	topoWall   = 10 * time.Second
	topoMemory = 512 << 20
)

func barRead(t *testing.T, binary string) {
	folder := inMemory(t)
	log := filepath.Join(folder, "log.txt")
	lines := debugLog(1024)
	write(t, log, lines, logBytes/len(lines))
	s := measureAny(t, binary, "explain", log, "--machine", "hgx-h100", "--nodes", "2")
	split := splitting(t, log)
	times := s.cpu.Seconds() / split.Seconds()
	fmt.Printf("explain of a log of %d MiB: %s, of one core %s: %.0f MB/s, %.1f times the %s of splitting it, %d MiB\n",
		logBytes>>20, s.wall.Round(time.Millisecond), s.cpu.Round(time.Millisecond), logBytes/s.cpu.Seconds()/1e6, times, split.Round(time.Millisecond), s.rss>>20)
	if times > logFactor {
		t.Errorf("a log of %d MiB takes %.1f times as long as splitting it into lines, want at most %.0f", logBytes>>20, times, logFactor)
	}
	if s.rss > logMemory {
		t.Errorf("a log of %d MiB takes %d MiB, want at most %d", logBytes>>20, s.rss>>20, logMemory>>20)
	}
	barOtherLog(t, binary, folder)
	topo := filepath.Join(folder, "topo.xml")
	write(t, topo, []byte("<pci busid=\"0000:00:00.0\">"), topoBytes/26)
	s = measureAny(t, binary, "topo", "lint", topo)
	fmt.Printf("lint of a topology file of %d MiB: %s, %d MiB\n", topoBytes>>20, s.wall, s.rss>>20)
	if s.wall > topoWall || s.rss > topoMemory {
		t.Errorf("lint of %d MiB takes %s and %d MiB, want at most %s and %d MiB", topoBytes>>20, s.wall, s.rss>>20, topoWall, topoMemory>>20)
	}
}

// Bars of logs of other programs, in which every line is looked at by all readers, since it belongs to none: of an engine,
// which repeats a few lines with other numbers, of one whose lines have nothing in common, and of an ESX host, in which most
// lines speak of failures.
const (
	otherBytes   = 32 << 20
	engineFactor = 32.0 // times the processor time of reading and splitting it: twice the 16 that it takes
	wordsFactor  = 44.0 // twice 22
	esxFactor    = 78.0 // twice 39
)

func barOtherLog(t *testing.T, binary, folder string) {
	for _, other := range []struct {
		name  string
		lines []byte
		most  float64
	}{{"an engine", engineLog(), engineFactor}, {"lines of words", wordsLog(), wordsFactor}, {"an ESX host", esxLog(), esxFactor}} {
		log := filepath.Join(folder, "other.txt")
		write(t, log, other.lines, otherBytes/len(other.lines))
		s, split := measureAny(t, binary, "explain", log), splitting(t, log)
		times := s.cpu.Seconds() / split.Seconds()
		fmt.Printf("explain of a log of %s of %d MiB: %s, of one core %s: %.0f MB/s, %.1f times the %s of splitting it\n",
			other.name, otherBytes>>20, s.wall.Round(time.Millisecond), s.cpu.Round(time.Millisecond), otherBytes/s.cpu.Seconds()/1e6, times, split.Round(time.Millisecond))
		if times > other.most {
			t.Errorf("a log of %s of %d MiB takes %.0f times as long as splitting it into lines, want at most %.0f", other.name, otherBytes>>20, times, other.most)
		}
	}
}

// engineLog is what an engine that serves a model prints every few seconds.
func engineLog() []byte {
	var b bytes.Buffer
	for i := range 4096 {
		fmt.Fprintf(&b, "INFO 11-22 10:%02d:%02d [loggers.py:123] Engine %03d: Avg prompt throughput: %d.4 tokens/s, Running: %d reqs, Waiting: 3 reqs, GPU KV cache usage: %d.5%%\n", i/60%60, i%60, i%8, i%900, i%64, i%100)
	}
	return b.Bytes()
}

// esxLog is what the kernel of an ESX host prints of storage and network all day (vmkernel.log).
func esxLog() []byte {
	random := rand.New(rand.NewPCG(3, 4))
	hex := func(digits int) string { return fmt.Sprintf("%0*x", digits, random.Uint64()>>(64-4*digits)) }
	forms := []func() string{
		func() string {
			return fmt.Sprintf(`NMP: nmp_ThrottleLogForDevice:3867: Cmd 0x%s (0x45%s, %d) to dev "naa.%s" on path "vmhba%d:C0:T%d:L%d" Failed:`, hex(2), hex(10), random.IntN(3e6), hex(16), random.IntN(6), random.IntN(4), random.IntN(40))
		},
		func() string {
			return fmt.Sprintf(`ScsiDeviceIO: 4161: Cmd(0x45%s) 0x%s, CmdSN 0x%s from world %d to dev "naa.%s" failed H:0x0 D:0x2 P:0x0 Valid sense data: 0x5 0x20 0x0.`, hex(10), hex(2), hex(4), random.IntN(3e6), hex(16))
		},
		func() string {
			return fmt.Sprintf("NetPort: 1580: enabled port 0x%s with mac 00:50:56:%s:%s:%s", hex(7), hex(2), hex(2), hex(2))
		},
		func() string {
			return fmt.Sprintf("nmlx5_core: vmnic%d: nmlx5_core_UplinkStatusUpdate - (nmlx5_core/nmlx5_core_en_main.c:%d) link state changed to up", random.IntN(12), random.IntN(4000))
		},
		func() string {
			return fmt.Sprintf("Vol3: 1214: Could not open device 'naa.%s' for probing: No such target on adapter", hex(16))
		},
	}
	var b bytes.Buffer
	for i := range 32768 {
		fmt.Fprintf(&b, "2024-11-20T10:%02d:%02d.%03dZ In(182) vmkernel: cpu%d:%d)%s\n", i/60%60, i%60, random.IntN(1000), random.IntN(128), 2097152+random.IntN(900000), forms[random.IntN(len(forms))]())
	}
	return b.Bytes()
}

// wordsLog is lines of words and numbers of which no two are alike.
func wordsLog() []byte {
	const letters = "abcdeghiklmnoprstuvy"
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := range 65536 {
		fmt.Fprintf(&b, "INFO 11-22 10:%02d:%02d", i/60%60, i%60)
		for range 4 + random.IntN(16) {
			b.WriteByte(' ')
			if random.IntN(5) == 0 {
				fmt.Fprint(&b, random.IntN(1_000_000))
				continue
			}
			for range 2 + random.IntN(8) {
				b.WriteByte(letters[random.IntN(len(letters))])
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// debugLog is what NCCL 2.28 prints with NCCL_DEBUG=INFO and the subsystems INIT, GRAPH, NET, TUNING and COLL, of many
// ranks in turn: mostly connections and calls.
func debugLog(ranks int) []byte {
	const perNode = 8
	var b bytes.Buffer
	for r := range ranks {
		at := fmt.Sprintf("gpu-node-%04d:%d:%d [%d] NCCL INFO ", r/perNode, 40000+r%perNode, 40100+r%perNode, r%perNode)
		for c := range 4 {
			fmt.Fprintf(&b, "%sChannel %02d/0 : %d[%d] -> %d[%d] [send] via NET/IB/%d/GDRDMA\n", at, c, r, r%perNode, (r+perNode)%ranks, r%perNode, r%perNode)
			fmt.Fprintf(&b, "%sChannel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM\n", at, c, r, r%perNode, (r+1)%ranks, (r+1)%perNode)
			fmt.Fprintf(&b, "%sAllReduce: opCount %x sendbuff 0x7f%010x recvbuff 0x7f%010x acc (nil) count %d datatype 7 op 0 root 0 comm 0x55%010x [nranks=%d] stream 0x55%010x\n", at, c*ranks+r, r<<20, r<<21, 1<<c, r, ranks, r)
		}
		fmt.Fprintf(&b, "%sConnected all rings, use ring PXN 0 GDR 1\n", at)
		fmt.Fprintf(&b, "%sTrees [0] %d/-1/-1->%d->%d [1] %d/-1/-1->%d->%d\n", at, r+1, r, r-1, r+1, r, r-1)
		fmt.Fprintf(&b, "%sGPU/%d-%x000 :GPU/0-10000 (2/370.8/NVL) NVS/0-0 (1/370.8/NVL) CPU/0-0 (2/48.0/PHB) NET/0-0 (3/48.0/PXB)\n", at, r%perNode, 16+r%perNode)
		fmt.Fprintf(&b, "%sPattern 4, crossNic 0, nChannels 16, bw 40.000000/40.000000, type NVL/PIX, sameChannels 0\n", at)
		fmt.Fprintf(&b, "%sAllReduce: %d Bytes -> Algo NVLSTREE proto SIMPLE channel{Lo..Hi}={0..15}\n", at, 1<<(r%33))
	}
	return b.Bytes()
}

// write repeats a text, piece by piece: what this process holds would count as the child's (getrusage(2)).
func write(t *testing.T, path string, text []byte, times int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const most = 1 << 10
	block := max(1, min(most, (most<<6)/len(text)))
	piece := bytes.Repeat(text, block)
	for range times / block {
		if _, err := f.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
