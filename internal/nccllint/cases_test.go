package nccllint

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// ruleCase is what one edit of the sound file, or a text of its own, must lead to.
type ruleCase struct {
	name     string
	rule     string
	from, to string // edit of the sound file; from empty: to is the text
	line     int    // of the evidence; 0: none is asked for
	severity fabric.Severity
	says     string // in why or cost
}

func (c ruleCase) text(t testing.TB) string {
	if c.from == "" {
		return c.to
	}
	return edited(t, c.from, c.to)
}

func ruleCases() []ruleCase {
	return slices.Concat(textCases(), elementCases(), attributeCases(), deviceCases(), systemCases())
}

// textCases are texts that NCCL refuses.
func textCases() []ruleCase {
	const refused = fabric.SeverityError
	long := strings.Repeat("x", 254)
	return []ruleCase{
		{"declaration", "topo-declaration", "<system", "<?xml version=\"1.0\"?>\n<system", 1, refused, "XML Parse : expected >, got '?'"},
		{"bomb", "topo-declaration", "<system", "<!DOCTYPE a [<!ENTITY b \"&c;&c;\">]>\n<system", 1, refused, "NCCL stops here"},
		{"tab", "topo-tab", "  <cpu", "\t<cpu", 2, refused, `expecting '<', got '\t'`},
		{"newline in a tag", "topo-newline", ` vendor="0x10de"`, "\n vendor=\"0x10de\"", 4, refused, `XML Parse : expected >, got '\n'`},
		{"text", "topo-text", "  <cpu", "x\n  <cpu", 2, refused, "expecting '<', got 'x'"},
		{"lost <", "topo-text", "<gpu", "gpu", 5, refused, "expecting '<', got 'g'"},
		{"lost <cpu", "topo-text", `<cpu numaid="0" affinity="0000ffff" `, "", 2, refused, "The beginning of <cpu is missing"},
		{"junk in a tag", "topo-text", ` vendor="0x10de"`, ` </pre> vendor="0x10de"`, 4, refused, "Invalid text inside the tag"},
		{"unquoted", "topo-quote", `dev="0"`, `dev=0`, 5, refused, "Expected (double) quote"},
		{"lost quote", "topo-quote", `gdr="1">`, `gdr="1>`, 5, refused, "not in quotes"},
		{"no blank", "topo-quote", `" sm=`, `"sm=`, 5, refused, "expected >, got 's'"},
		{"= in a comment", "topo-quote", "<system", "<!--a=b--><system", 1, refused, "Unexpected value with name !--a"},
		{"other end", "topo-close-tag", "</gpu>", "</apu>", 8, refused, "XML Mismatch : gpu / apu"},
		{"lost end", "topo-close-tag", "        </gpu>\n", "", 8, refused, "XML Mismatch : gpu / pci"},
		{"stray end", "topo-close-tag", "</cpu>", "</cpu></foo>", 16, refused, "XML Mismatch : system / foo"},
		{"cut", "topo-close-tag", "</system>\n", "", 31, refused, "unterminated system"},
		{"no version", "topo-version", ` version="1"`, "", 1, refused, "Attribute version of node system not found"},
		{"version 2", "topo-version", `version="1"`, `version="2"`, 1, refused, "wrong version 2, 1 needed"},
		{"long value", "topo-limit", "mlx5_0", long, 12, refused, "too long (max 255)"},
		{"many elements", "topo-limit", "  </cpu>", strings.Repeat("<pci/>", 100) + "<pci>" + strings.Repeat("<pci/>", 100) + "</pci><pci>" + strings.Repeat("<pci/>", 100) + "</pci>  </cpu>", 16, refused, "limited to 256 nodes"},
		{"many children", "topo-limit", "  </cpu>", strings.Repeat("<pci/>", 128) + "  </cpu>", 16, refused, "limited to 128 subnodes"},
		{"mark", "topo-encoding", "<system", "\xef\xbb\xbf<system", 1, refused, "got '\\xef'"},
		{"NUL", "topo-encoding", "  <cpu", "\x00  <cpu", 2, refused, "got '\\x00'"},
	}
}

// elementCases are elements, and what is between their attributes, that NCCL ignores.
func elementCases() []ruleCase {
	const refused, warning, remark = fabric.SeverityError, fabric.SeverityWarning, fabric.SeverityInfo
	return []ruleCase{
		{"one CPU less", "topo-system", soundXML[strings.Index(soundXML, "  <cpu"):strings.LastIndex(soundXML, "</system>")], "", 1, warning, "detects the system, as without a file"},
		{"graph file", "topo-system", "", `<graphs version="1"/>`, 1, refused, "NCCL ignores the whole file"},
		{"two systems", "topo-system", "</system>", "</system>\n<system version=\"1\"/>", 33, refused, "from the first and silently"},
		{"no cpu", "topo-system", "", `<system version="1"/>`, 1, warning, "as without a file"},
		{"unknown element", "topo-unknown-element", "    <pci", "<pcie/>    <pci", 3, refused, "Ignoring element pcie"},
		{"element of others", "topo-unknown-element", "    <pci", "<chassis slot=\"1\"><fan/></chassis>    <pci", 3, remark, "no element that NCCL knows"},
		{"devices in an element of others", "topo-unknown-element", "    <pci", "<numa><pci busid=\"0000:01:00.0\"/></numa>    <pci", 3, refused, "Its content has <pci>"},
		{"net outside of nic", "topo-unknown-element", "<nic>", "<nic/><net name=\"a\"/><nic>", 11, refused, "Ignoring element net"},
		{"element below net", "topo-unknown-element", `<nvlink target="0000:04:12.0" count="9" tclass="0x068000"/>`, `<nvlink target="0000:04:12.0" count="9" tclass="0x068000"><x/></nvlink>`, 6, remark, "silently ignores it"},
		{"misspelt", "topo-unknown-attribute", `gdr="1"/>`, `adr="1"/>`, 12, refused, "one letter from gdr"},
		{"remark", "topo-unknown-attribute", `gdr="1"/>`, `gdr="1" remark="x"/>`, 12, remark, "silently ignores the attribute"},
		{"second blank", "topo-blank", ` sm=`, `  sm=`, 5, remark, "without a name"},
		{"blank before the end", "topo-blank", `tclass="0x068000"/>`, `tclass="0x068000" />`, 6, remark, "without a name"},
		{"17 attributes", "topo-attributes", `<nic>`, `<nic` + strings.Repeat(` keep="1"`, 17) + ">", 11, refused, "Ignoring extra attributes (max 16)"},
		{"no place for NCCL's own", "topo-attributes", `numaid="0"`, `numaid="0"` + strings.Repeat(" ", 10), 2, refused, "too many XML attributes (max 16)"},
		{"single quotes", "topo-single-quote", `dev="0"`, `dev='0'`, 5, remark, "next double quote"},
	}
}

// attributeCases are attributes that are missing, doubled or not read as written, of any element.
func attributeCases() []ruleCase {
	const refused, warning, remark = fabric.SeverityError, fabric.SeverityWarning, fabric.SeverityInfo
	const gpu, nic = `<pci busid="0000:17:00.0" class="0x030200"`, `<pci busid="0000:18:00.0" class="0x020700"`
	return []ruleCase{
		{"twice, other value", "topo-duplicate-attribute", `sm="90"`, `sm="90" sm="80"`, 5, refused, "reads the first"},
		{"twice, same value", "topo-duplicate-attribute", `sm="90"`, `sm="90" sm="90"`, 5, remark, "both have the same value"},
		{"NIC without link_width", "topo-missing-attribute", `subsystem_device="0x0041" link_speed="32.0 GT/s PCIe" link_width="16"`, `link_speed="32.0 GT/s PCIe"`, 10, refused, "Attribute link_width of node pci not found"},
		{"NIC without class", "topo-missing-attribute", nic, `<pci busid="0000:18:00.0"`, 10, refused, "Attribute class of node pci not found"},
		{"switch without busid", "topo-missing-attribute", `busid="0000:16:00.0" `, "", 3, refused, "Attribute busid of node pci not found"},
		{"GPU without class", "topo-missing-attribute", gpu, `<pci busid="0000:17:00.0"`, 4, warning, "fills in class"},
		{"GPU without busid", "topo-missing-attribute", `<pci busid="0000:17:00.0" `, `<pci `, 4, refused, "device's place in the file is lost"},
		{"CPU without numaid", "topo-missing-attribute", ` numaid="0" affinity="0000ffff"`, "", 2, refused, "could not find CPU numa ID"},
		{"CPU without arch", "topo-missing-attribute", ` arch="x86_64"`, "", 2, refused, "Attribute arch of node cpu not found"},
		{"CPU without model", "topo-missing-attribute", ` modelid="143"`, "", 2, refused, "Attribute modelid of node cpu not found"},
		{"CPU without family and model", "topo-missing-attribute", ` familyid="6" modelid="143"`, "", 2, refused, "Attribute familyid of node cpu not found"},
		{"link without count", "topo-missing-attribute", ` count="9"`, "", 6, refused, "Attribute count of node nvlink not found"},
		{"link to a GPU without target", "topo-missing-attribute", `target="0000:04:12.0" count="9" tclass="0x068000"`, `count="9" tclass="0x030200"`, 6, refused, "Attribute target of node nvlink not found"},
		{"net without name", "topo-missing-attribute", `name="mlx5_0" `, "", 12, refused, "dropped"},
		{"no number", "topo-number", `sm="90"`, `sm="sm_90"`, 5, refused, "NCCL reads 0."},
		{"leading zero", "topo-number", `familyid="6"`, `familyid="06"`, 2, remark, "as a person reads it"},
		{"octal", "topo-number", `familyid="6"`, `familyid="010"`, 2, refused, "NCCL reads 8."},
		{"entity", "topo-entity", `mlx5_0`, `mlx&amp;5_0`, 12, refused, "&amp; as 5 characters"},
	}
}

// deviceCases are values that NCCL misreads, and those that it takes and hardly can be meant.
func deviceCases() []ruleCase {
	const refused, warning, remark = fabric.SeverityError, fabric.SeverityWarning, fabric.SeverityInfo
	const gpu, nic = `<pci busid="0000:17:00.0" class="0x030200"`, `<pci busid="0000:18:00.0" class="0x020700"`
	return []ruleCase{
		{"speed without PCIe", "topo-link-speed", `32.0 GT/s PCIe`, `32.0 GT/s`, 3, refused, "12.0 instead of 48.0 GB/s"},
		{"Gen5", "topo-link-speed", `32.0 GT/s PCIe`, `Gen5`, 3, refused, "12.0 instead of 48.0 GB/s"},
		{"64 GT/s", "topo-link-speed", `32.0 GT/s PCIe`, `64 GT/s`, 3, refused, "12.0 instead of 96.0 GB/s"},
		{"no speed", "topo-link-speed", `32.0 GT/s PCIe`, ``, 3, refused, "12.0 GB/s, whatever its real speed"},
		{"no speed of a known GPU", "topo-link-speed", `0x16c1" link_speed="32.0 GT/s PCIe"`, `0x16c1" link_speed="Unknown"`, 4, refused, "12.0 instead of 48.0 GB/s"},
		{"8.0 GT/s by chance", "topo-link-speed", `32.0 GT/s PCIe`, `8.0 GT/s`, 3, remark, "as intended"},
		{"x16", "topo-link-width", `link_width="16"`, `link_width="x16"`, 3, remark, "as intended"},
		{"x8", "topo-link-width", `link_width="16"`, `link_width="x8"`, 3, refused, "48.0 instead of 24.0 GB/s"},
		{"08", "topo-link-width", `link_width="16"`, `link_width="08"`, 3, refused, "48.0 instead of 24.0 GB/s"},
		{"no width", "topo-link-width", `link_width="16"`, `link_width=""`, 3, remark, "assumes 16 lanes"},
		{"width in words", "topo-link-width", `link_width="16"`, `link_width="full"`, 3, refused, "a rate other than the file states"},
		{"GPU without domain", "topo-busid", "0000:17:00.0", "17:00.0", 4, warning, "added again from /sys"},
		{"GPU at the CPU without domain in upper case", "topo-busid", "</cpu>", `<pci busid="0A:00.0" class="0x030200" link_speed="8 GT/s" link_width="8"/></cpu>`, 16, remark, "directly below the CPU"},
		{"upper case", "topo-busid", "0000:9a:00.0", "0000:9A:00.0", 25, remark, "NICs are found by name"},
		{"nine digits", "topo-busid", "0000:9a:00.0", "00009a:00.0", 25, remark, "0x9a000"},
		{"no address", "topo-busid", "0000:9a:00.0", "nic1", 25, warning, "Not a PCI address"},
		{"GPU in a switch's class", "topo-class", gpu, `<pci busid="0000:17:00.0" class="0x060400"`, 4, remark, "nothing if /sys shows the GPU"},
		{"switch in a NIC's class", "topo-class", `"0x060400"`, `"0x020700"`, 3, refused, "below switches only"},
		{"switch with nothing below it", "topo-class", "</cpu>", `<pci busid="0000:01:00.0" class="0x060400" link_speed="8 GT/s" link_width="8"/></cpu>`, 16, remark, "NCCL drops it"},
		{"bare NIC without domain", "topo-busid", "</cpu>", `<pci busid="01:00.0" class="0x020000" link_speed="8 GT/s" link_width="8"/></cpu>`, 16, remark, "directly below the CPU"},
		{"bare GPU without domain", "topo-busid", "</cpu>", `<pci busid="01:00.0" class="0x030200" link_speed="8 GT/s" link_width="8"/></cpu>`, 16, remark, "directly below the CPU"},
		{"faster than a Gen5 GPU", "topo-link-speed", `0x16c1" link_speed="32.0`, `0x16c1" link_speed="64.0`, 4, warning, "96.0 instead of 48.0 GB/s"},
		{"unknown architecture", "topo-cpu", `x86_64`, `aarch64`, 2, refused, "5000 GB/s"},
		{"unknown vendor", "topo-cpu", `GenuineIntel`, `Intel`, 2, refused, "5000 GB/s"},

		{"no rank", "topo-gpu-rank", ` rank="0"`, "", 5, remark, "fills in rank"},
		{"sm of another GPU", "topo-gpu-sm", `sm="90"`, `sm="80"`, 5, warning, "20.0 instead of 20.6 GB/s per link"},
		{"NVLink to a CPU that has none", "topo-nvlink-class", `0x068000`, "0x068001", 6, warning, "Only POWER"},
		{"no tclass", "topo-nvlink-class", ` tclass="0x068000"`, "", 6, remark, "assumes an NVSwitch"},
		{"unknown tclass", "topo-nvlink-class", `0x068000`, "0x050000", 6, warning, "The class is unknown to NCCL"},
		{"speed 0", "topo-net-speed", `speed="400000"`, `speed="0"`, 12, refused, "1.25 GB/s"},
		{"speed with a unit", "topo-net-speed", `speed="400000"`, `speed="400G"`, 12, refused, "NCCL reads 400 Mb/s"},
		{"speed in Gb/s", "topo-net-speed", `speed="400000"`, `speed="400"`, 12, warning, "in Mb/s"},
		{"no speed", "topo-net-speed", ` speed="400000"`, ``, 12, remark, "value of the network plugin"},
		{"no name", "topo-net-name", `mlx5_0`, ``, 12, refused, "No device has this name"},
		{"gdr off", "topo-gdr", `maxconn="131072" gdr="1"`, `maxconn="131072" gdr="0"`, 12, warning, "overrides what NCCL detects"},
		{"colons in a guid", "topo-net-guid", `0x5c24fb0003ae6d94`, `5c24:fb00:03ae:6d94`, 12, refused, "0x5c24"},
		{"guid too long", "topo-net-guid", `0x5c24fb0003ae6d94`, `0x5c24fb0003ae6d941`, 12, refused, "not a hexadecimal digit"},
	}
}

// systemCases are devices that are joined as no machine is.
func systemCases() []ruleCase {
	const refused, warning, remark = fabric.SeverityError, fabric.SeverityWarning, fabric.SeverityInfo
	const nic = `<pci busid="0000:18:00.0" class="0x020700"`
	return []ruleCase{
		{"bus id twice", "topo-unique-busid", `0000:99:00.0`, `0000:17:00.0`, 19, refused, "Line 4 already has"},
		{"number twice", "topo-unique-busid", `0000:9a:00.0`, `000018:00.0`, 25, refused, "Line 10 already has"},
		{"dev twice", "topo-unique-gpu", `dev="1" sm`, `dev="0" sm`, 20, warning, "Line 5 already has"},
		{"rank twice", "topo-unique-gpu", `rank="1"`, `rank="0"`, 20, remark, "Line 5 already has"},
		{"name twice", "topo-unique-net", `mlx5_1`, `mlx5_0`, 27, refused, "uses the first and drops the other"},
		{"guid twice", "topo-unique-net", `0x820fb0003ae6d94`, `0x5c24fb0003ae6d94`, 27, warning, "the same guid as one NIC"},
		{"NIC far away", "topo-near-nic", nic + ` vendor="0x15b3" device="0x1021" subsystem_vendor="0x15b3" subsystem_device="0x0041" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x5c24fb0003ae6d94" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>`, `    </pci>
        <nic><net name="mlx5_0" speed="400000"/></nic>`, 5, warning, "nearest NIC is at PHB"},
		{"more NICs", "topo-nics-per-gpu", `</nic>`, `<net name="mlx5_9" speed="100000" guid="0x1"/></nic>`, 20, warning, "It has 1."},
		{"narrow uplink", "topo-uplink", `link_width="16"`, `link_width="8"`, 3, remark, "50.0 GB/s in total; the link carries 31.5"},
		{"slow link of a NIC", "topo-net-pcie", `0x0041" link_speed="32.0`, `0x0041" link_speed="16.0`, 10, warning, "50.0 GB/s in total; the link carries 31.5"},
		{"one socket has all", "topo-numa-split", `  </cpu>
  <cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
`, `  <pci busid="0000:01:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="8 GT/s" link_width="8"><gpu dev="2" sm="90" rank="2" gdr="1"/></pci></cpu>
  <cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
`, 17, warning, "2 + 1"},
		{"numaid twice", "topo-numa-split", `numaid="1"`, `numaid="0"`, 17, warning, "two CPUs with the same number"},
		{"links of one GPU only", "topo-nvlink-count", `>
          <nvlink target="0000:04:12.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:04:13.0" count="9" tclass="0x068000"/>
        </gpu>`, "/>", 5, remark, "though others have"},
		{"6 links of an unknown model", "topo-nvlink-count", `vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x16c1" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:04:12.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:04:13.0" count="9"`, `link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:04:12.0" count="3" tclass="0x068000"/>
          <nvlink target="0000:04:13.0" count="3"`, 6, refused, "no GPU of this sm with NVSwitches in the catalog has that many"},
		{"6 of 18 links", "topo-nvlink-count", `<nvlink target="0000:04:12.0" count="9"`, `<nvlink target="0000:04:12.0" count="3"`, 6, refused, "247.2 instead of 370.8 GB/s"},
		{"more links than there are", "topo-nvlink-count", `<nvlink target="0000:04:12.0" count="9"`, `<nvlink target="0000:04:12.0" count="10"`, 6, refused, "391.4 instead of 370.8 GB/s"},
		{"dangling target", "topo-target", `target="0000:04:12.0" count="9" tclass="0x068000"`, `target="0000:04:12.0" count="9" tclass="0x030200"`, 6, warning, "No <pci> in the file"},
		{"link to itself", "topo-target", `target="0000:04:12.0" count="9" tclass="0x068000"`, `target="0000:17:00.0" count="9" tclass="0x030200"`, 6, warning, "ends at its own device"},
		{"one-sided link", "topo-target", `target="0000:04:12.0" count="9" tclass="0x068000"`, `target="0000:99:00.0" count="9" tclass="0x030200"`, 6, warning, "no link back"},
		{"all links dangle", "topo-target", `<nvlink target="0000:04:12.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:04:13.0" count="9" tclass="0x068000"/>`, `<nvlink target="fffffff:ff:ff.0" count="18" tclass="0x030200"/>`, 6, refused, "48.0 GB/s over PCIe instead of 370.8 over NVLink"},
		{"switch link of a GPU", "topo-target", `      </pci>
      <pci busid="0000:18`, `<pcilink target="0000:16:00.0"/>      </pci>
      <pci busid="0000:18`, 9, refused, "Add PCI Link error : could not find PCI SW 17000"},
		{"switch link to nowhere", "topo-target", `    </pci>
  </cpu>`, `    <pcilink target="0000:77:00.0"/></pci>
  </cpu>`, 15, remark, "No <pci> in the file"},
	}
}
