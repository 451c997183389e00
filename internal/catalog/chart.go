package catalog

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

const chartFolder = "chart"

// ociScheme begins the reference of a chart that a registry of images holds; any other chart is in a repository of Helm.
const ociScheme = "oci://"

// ChartModel is software that Helm installs on a cluster of Kubernetes, at one version.
type ChartModel struct {
	Title      string       `yaml:"title"`
	Chart      string       `yaml:"chart"`      // its name in Repository, or its whole reference: oci://...
	Repository string       `yaml:"repository"` // URL of a repository of Helm; empty where the reference says all
	Version    string       `yaml:"version"`
	Namespace  string       `yaml:"namespace"` // that its vendor installs it in
	Security   PodSecurity  `yaml:"security"`
	Source     string       `yaml:"source"`
	Keys       []ChartKey   `yaml:"keys"` // values that a plan sets; no others are
	Images     []ChartImage `yaml:"images"`

	// UpgradesFrom is the oldest installed release that an upgrade leaves intact; empty: no source knows of one that it does not.
	UpgradesFrom  string `yaml:"upgrades_from"`
	UpgradeLoses  string `yaml:"upgrade_loses"` // what an upgrade from an older one does, as a verb and its object
	UpgradeSource string `yaml:"upgrade_source"`
}

// PodSecurity is the level of Pod Security admission that the pods of a chart need in their namespace.
type PodSecurity struct {
	Level  string `yaml:"level"` // privileged, baseline, restricted
	Why    string `yaml:"why"`
	Source string `yaml:"source"`
}

// ChartKey is a value of a chart, and where its meaning was read.
type ChartKey struct {
	Key    string `yaml:"key"` // path from the top: driver.rdma.enabled
	Source string `yaml:"source"`
}

// ChartImage is an image that a plan names beside a chart, or in its values.
type ChartImage struct {
	For        string `yaml:"for"` // what it is to the plan
	Repository string `yaml:"repository"`
	Name       string `yaml:"name"`
	Tag        string `yaml:"tag"`
	Source     string `yaml:"source"`
}

// HasKey reports whether a source says what a value of the chart does.
func (m ChartModel) HasKey(key string) bool {
	return slices.ContainsFunc(m.Keys, func(k ChartKey) bool { return k.Key == key })
}

// Image is the image of a chart for a use.
func (m ChartModel) Image(use string) (ChartImage, bool) {
	i := slices.IndexFunc(m.Images, func(i ChartImage) bool { return i.For == use })
	if i < 0 {
		return ChartImage{}, false
	}
	return m.Images[i], true
}

func (s PodSecurity) shown() (value, source string) { return s.Level + ": " + s.Why, s.Source }

func (k ChartKey) shown() (value, source string) { return k.Key, k.Source }

func (i ChartImage) shown() (value, source string) {
	return fmt.Sprintf("%s/%s:%s", i.Repository, i.Name, i.Tag), i.Source
}

// What names things of Helm and Kubernetes: a namespace is a label of RFC 1123, a version is semantic, with or without a v.
var (
	namespaceName = pattern.Plain(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	chartVersion  = pattern.Plain(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
	valueKey      = pattern.Plain(`^[A-Za-z][A-Za-z0-9-]*(\.[A-Za-z][A-Za-z0-9-]*)*$`)
	imageTag      = pattern.Plain(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
)

func (p *problems) chart(m ChartModel) {
	for field, text := range sorted(map[string]string{"title": m.Title, "chart": m.Chart, "source": m.Source}) {
		if text == "" {
			p.add(field, "missing")
		}
	}
	if !chartVersion().MatchString(m.Version) {
		p.add("version", "%q is not like 1.2.3 or v1.2.3", m.Version)
	}
	if !namespaceName().MatchString(m.Namespace) {
		p.add("namespace", "%q is not a name of a namespace", m.Namespace)
	}
	if s := m.Security; !slices.Contains([]string{"privileged", "baseline", "restricted"}, s.Level) || s.Why == "" || s.Source == "" {
		p.add("security", "needs a level (privileged, baseline, restricted), why, and a source")
	}
	repository, err := url.Parse(m.Repository)
	if oci := strings.HasPrefix(m.Chart, ociScheme); oci == (m.Repository != "") || err != nil || !oci && repository.Scheme != "https" {
		p.add("repository", "%q: a chart has the https URL of a repository, or is itself %s...", m.Repository, ociScheme)
	}
	p.chartParts(m)
}

// chartParts checks its keys and images, and what an upgrade does.
func (p *problems) chartParts(m ChartModel) {
	for _, k := range m.Keys {
		if !valueKey().MatchString(k.Key) || k.Source == "" {
			p.add("keys", "%q needs names with points between them, and a source", k.Key)
		}
	}
	for _, i := range m.Images {
		if i.For == "" || i.Repository == "" || i.Name == "" || i.Source == "" || !imageTag().MatchString(i.Tag) || i.Tag == "latest" {
			p.add("images", "%q needs repository, name, a tag that does not move, and a source", i.For)
		}
	}
	if all := m.UpgradesFrom + m.UpgradeLoses + m.UpgradeSource; all != "" && (!chartVersion().MatchString(m.UpgradesFrom) || m.UpgradeLoses == "" || m.UpgradeSource == "") {
		p.add("upgrades_from", "needs a version, upgrade_loses and upgrade_source")
	}
}
