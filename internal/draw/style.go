package draw

// The pictures carry their style, so that they read alike alone and inside a page; each rule is bound to
// the class of its picture. One hue from light to dark shows size to every kind of eye (from dark to light
// on a dark page). Red is kept for failing and never stands without a mark. The rails have eight hues that
// differ in lightness too, none of them red; a rail is also named at its NIC, so colour never stands alone.

const meshStyle = `<defs><pattern id="rw-hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="rw-hatch" d="M1 0V5"/></pattern></defs>
<style>
.rw-mesh{--ink:#1c2128;--soft:#57606a;--page:#fff;--line:#d3d8de;--bad:#c3221f;--on:#fff;font:11px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.rw-mesh text{fill:var(--soft)}
.rw-mesh .lab,.rw-mesh .host{font-size:10px;font-variant-numeric:tabular-nums}
.rw-mesh .host{fill:var(--ink);font-weight:600}
.rw-mesh .end{text-anchor:end}
.rw-mesh .mid{text-anchor:middle}
.rw-mesh .n{fill:none;stroke:var(--line);stroke-width:.5}
.rw-mesh .u{fill:url(#rw-hatch);stroke:var(--soft);stroke-width:.8}
.rw-mesh .p{fill:url(#rw-hatch);pointer-events:none}
.rw-mesh .f{fill:var(--bad)}
.rw-mesh .m{fill:none;stroke:var(--on);stroke-width:1.8;stroke-linecap:round;pointer-events:none}
.rw-mesh .bg{fill:var(--page)}
.rw-hatch{stroke:#57606a;stroke-width:1.2}
.rw-mesh .c0{fill:#d6e6f4}.rw-mesh .c1{fill:#a6cbe6}.rw-mesh .c2{fill:#6ba4d3}.rw-mesh .c3{fill:#3a78b5}.rw-mesh .c4{fill:#174a82}
@media (prefers-color-scheme:dark){
.rw-mesh{--ink:#e6e9ed;--soft:#a3adb8;--page:#15181c;--line:#3a424c;--bad:#e5534b;--on:#15181c}
.rw-hatch{stroke:#a3adb8}
.rw-mesh .c0{fill:#1e4068}.rw-mesh .c1{fill:#2a5f98}.rw-mesh .c2{fill:#3d80be}.rw-mesh .c3{fill:#76aedd}.rw-mesh .c4{fill:#c3ddf2}
}
</style>
`

const cablingStyle = `<style>
.rw-cabling{--ink:#1c2128;--soft:#57606a;--page:#fff;--box:#f6f7f8;--line:#c6ccd3;--bad:#c3221f;--on:#fff;font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.rw-cabling text{fill:var(--soft)}
.rw-cabling .name{fill:var(--ink);font-weight:600}
.rw-cabling .small{font-size:9px}
.rw-cabling .bad{fill:var(--bad);font-weight:600}
.rw-cabling .lab{font-size:10px;font-variant-numeric:tabular-nums}
.rw-cabling .mid{text-anchor:middle}
.rw-cabling .end{text-anchor:end}
.rw-cabling .box{fill:var(--box);stroke:var(--line)}
.rw-cabling .broken{stroke:var(--bad);stroke-width:1.5}
.rw-cabling .w{fill:none;stroke-width:1.6}
.rw-cabling .dash{stroke-dasharray:6 3}
.rw-cabling .cut{stroke:var(--bad);stroke-width:2;stroke-dasharray:2 4}
.rw-cabling .open{fill:var(--page);stroke-width:1.5}
.rw-cabling .fail{fill:var(--bad)}
.rw-cabling .m{fill:none;stroke:var(--on);stroke-width:1.8;stroke-linecap:round}
.rw-cabling .q{fill:var(--page);stroke:var(--ink);stroke-dasharray:2 2}
.rw-cabling .qt{fill:var(--ink);font-size:9px;font-weight:700;text-anchor:middle}
.rw-cabling .s0{stroke:#4477aa}.rw-cabling .s1{stroke:#228833}.rw-cabling .s2{stroke:#3d348b}.rw-cabling .s3{stroke:#3aa6cf}.rw-cabling .s4{stroke:#8a3d93}.rw-cabling .s5{stroke:#44aa99}.rw-cabling .s6{stroke:#c06aa5}.rw-cabling .s7{stroke:#7a7f87}
.rw-cabling .d0{fill:#4477aa}.rw-cabling .d1{fill:#228833}.rw-cabling .d2{fill:#3d348b}.rw-cabling .d3{fill:#3aa6cf}.rw-cabling .d4{fill:#8a3d93}.rw-cabling .d5{fill:#44aa99}.rw-cabling .d6{fill:#c06aa5}.rw-cabling .d7{fill:#7a7f87}
@media (prefers-color-scheme:dark){
.rw-cabling{--ink:#e6e9ed;--soft:#a3adb8;--page:#15181c;--box:#1d2126;--line:#47505b;--bad:#e5534b;--on:#15181c}
.rw-cabling .s0{stroke:#6f9fd1}.rw-cabling .s1{stroke:#4fb35f}.rw-cabling .s2{stroke:#9a90ea}.rw-cabling .s3{stroke:#74cdee}.rw-cabling .s4{stroke:#bf78c8}.rw-cabling .s5{stroke:#5cc7b5}.rw-cabling .s6{stroke:#e39acb}.rw-cabling .s7{stroke:#a4a9b1}
.rw-cabling .d0{fill:#6f9fd1}.rw-cabling .d1{fill:#4fb35f}.rw-cabling .d2{fill:#9a90ea}.rw-cabling .d3{fill:#74cdee}.rw-cabling .d4{fill:#bf78c8}.rw-cabling .d5{fill:#5cc7b5}.rw-cabling .d6{fill:#e39acb}.rw-cabling .d7{fill:#a4a9b1}
}
</style>
`

const topologyStyle = `<style>
.rw-topology{--ink:#1c2128;--soft:#57606a;--page:#fff;--box:#f6f7f8;--line:#c6ccd3;--bad:#c3221f;--on:#fff;--gpu:#4477aa;--gpubox:#eaf1f8;--nic:#228833;--nicbox:#e9f5ec;--scale:#8a3d93;--scalebox:#f5ecf6;--link:#7a828c;font:11px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.rw-topology text{fill:var(--soft)}
.rw-topology .cap{font-size:12px}
.rw-topology .name{fill:var(--ink);font-weight:600;font-size:10px}
.rw-topology .lab{font-size:9px;font-variant-numeric:tabular-nums}
.rw-topology .hop{font-size:8px}
.rw-topology .bad{fill:var(--bad);font-weight:600}
.rw-topology .mid{text-anchor:middle}
.rw-topology .box{fill:var(--box);stroke:var(--line)}
.rw-topology .gpu{fill:var(--gpubox);stroke:var(--gpu)}
.rw-topology .nic{fill:var(--nicbox);stroke:var(--nic)}
.rw-topology .spare{stroke-dasharray:3 2}
.rw-topology .scale{fill:var(--scalebox);stroke:var(--scale)}
.rw-topology .nv{fill:none;stroke:var(--scale);stroke-width:2}
.rw-topology .pci{fill:none;stroke:var(--link)}
.rw-topology .numa{fill:none;stroke:var(--ink);stroke-width:2}
.rw-topology .dim{stroke-dasharray:2 3}
.rw-topology .down{fill:none;stroke:var(--bad)}
.rw-topology .near{fill:none;stroke:var(--nic);stroke-width:3}
.rw-topology .lane{stroke-width:1.3}
.rw-topology .far{fill:none;stroke:var(--ink);stroke-width:1.3;stroke-dasharray:5 3}
.rw-topology .bg{fill:var(--page)}
.rw-topology .fail{fill:var(--bad)}
.rw-topology .m{fill:none;stroke:var(--on);stroke-width:1.8;stroke-linecap:round}
@media (prefers-color-scheme:dark){
.rw-topology{--ink:#e6e9ed;--soft:#a3adb8;--page:#15181c;--box:#1d2126;--line:#47505b;--bad:#e5534b;--on:#15181c;--gpu:#6f9fd1;--gpubox:#18232f;--nic:#4fb35f;--nicbox:#16261a;--scale:#bf78c8;--scalebox:#271c29;--link:#8d96a1}
}
</style>
`

const ledgerStyle = `<defs><pattern id="rw-over" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="rw-over" d="M1.5 0V6"/></pattern></defs>
<style>
.rw-ledger{--ink:#1c2128;--soft:#57606a;--page:#fff;--line:#e1e5e9;--edge:#8c959f;--bad:#c3221f;font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.rw-ledger text{fill:var(--soft);font-variant-numeric:tabular-nums}
.rw-ledger .name{fill:var(--ink);font-weight:600;font-size:13px}
.rw-ledger .row{fill:var(--ink)}
.rw-ledger .lab{font-size:11px}
.rw-ledger .in{fill:var(--ink);font-size:11px;pointer-events:none}
.rw-ledger .let{fill:var(--ink);font-weight:600;font-size:11px;text-anchor:middle}
.rw-ledger .end{text-anchor:end}
.rw-ledger .mid{text-anchor:middle}
.rw-ledger .bad{fill:var(--bad);font-weight:600}
.rw-ledger .grid{stroke:var(--line)}
.rw-ledger .lead{fill:none;stroke:var(--edge);stroke-width:.8}
.rw-ledger .gpu{stroke:var(--ink);stroke-width:2}
.rw-ledger .seg{stroke:var(--page);stroke-width:1}
.rw-ledger .thin{stroke:none}
.rw-ledger .seg.s{fill:var(--page);stroke:var(--edge);stroke-dasharray:3 2}
.rw-ledger .over{fill:url(#rw-over);stroke:var(--bad);pointer-events:none}
.rw-over{stroke:#c3221f;stroke-width:1.6}
.rw-ledger .w0{fill:#8fbde0}.rw-ledger .w1{fill:#cfe2f3}
.rw-ledger .k0{fill:#a5d8b1}
.rw-ledger .o0{fill:#9ad4d6}.rw-ledger .o1{fill:#e2bfe6}.rw-ledger .o2{fill:#d8c4ac}.rw-ledger .o3{fill:#c9ced4}
@media (prefers-color-scheme:dark){
.rw-ledger{--ink:#e6e9ed;--soft:#a3adb8;--page:#15181c;--line:#2a3038;--edge:#7d8793;--bad:#ff6b62}
.rw-over{stroke:#ff6b62}
.rw-ledger .w0{fill:#2a5f98}.rw-ledger .w1{fill:#1c3e63}
.rw-ledger .k0{fill:#24663a}
.rw-ledger .o0{fill:#1d5a5c}.rw-ledger .o1{fill:#643369}.rw-ledger .o2{fill:#5a452f}.rw-ledger .o3{fill:#464d56}
}
</style>
`

// railColours is the number of colours for rails; the rails after them repeat the colours, dashed.
const railColours = 8
