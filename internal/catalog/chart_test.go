package catalog

import (
	"strings"
	"testing"
)

// What would install something else than was read of is refused, with its field.
func TestCharts(t *testing.T) {
	sound := func() ChartModel {
		return ChartModel{Title: "T", Chart: "c", Repository: "https://charts.example.test", Version: "v1.2.3", Namespace: "ns", Source: "a page", Security: PodSecurity{"baseline", "it is so", "a page"},
			Keys:   []ChartKey{{"driver.rdma.enabled", "a page"}, {"node-feature-discovery.enabled", "a page"}},
			Images: []ChartImage{{"driver", "example.test/a", "driver", "1.2.3", "a page"}}}
	}
	for name, c := range map[string]struct {
		change func(*ChartModel)
		field  string
	}{
		"sound":                      {func(*ChartModel) {}, ""},
		"of a registry":              {func(m *ChartModel) { m.Chart, m.Repository = "oci://example.test/c", "" }, ""},
		"no title":                   {func(m *ChartModel) { m.Title = "" }, "title"},
		"no source":                  {func(m *ChartModel) { m.Source = "" }, "source"},
		"a range of versions":        {func(m *ChartModel) { m.Version = "^1.2" }, "version"},
		"two versions":               {func(m *ChartModel) { m.Version = "1.2.3\n1.2.4" }, "version"},
		"namespace in capitals":      {func(m *ChartModel) { m.Namespace = "Ns" }, "namespace"},
		"a level that is none":       {func(m *ChartModel) { m.Security.Level = "strict" }, "security"},
		"a level without its source": {func(m *ChartModel) { m.Security.Source = "" }, "security"},
		"no repository":              {func(m *ChartModel) { m.Repository = "" }, "repository"},
		"repository without TLS":     {func(m *ChartModel) { m.Repository = "http://charts.example.test" }, "repository"},
		"registry and repository":    {func(m *ChartModel) { m.Chart = "oci://example.test/c" }, "repository"},
		"key with an index":          {func(m *ChartModel) { m.Keys[0].Key = "env[0].name" }, "keys"},
		"key without a source":       {func(m *ChartModel) { m.Keys[0].Source = "" }, "keys"},
		"image with a moving tag":    {func(m *ChartModel) { m.Images[0].Tag = "latest" }, "images"},
		"image without a tag":        {func(m *ChartModel) { m.Images[0].Tag = "" }, "images"},
		"upgrade without its source": {func(m *ChartModel) { m.UpgradesFrom, m.UpgradeLoses = "1.0.0", "deletes all" }, "upgrades_from"},
		"upgrade without a version":  {func(m *ChartModel) { m.UpgradeLoses, m.UpgradeSource = "deletes all", "a page" }, "upgrades_from"},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := sound(), problems{file: "chart/c.yaml"}
			c.change(&m)
			p.chart(m)
			switch {
			case c.field == "" && len(p.found) > 0:
				t.Error(p.found)
			case c.field != "" && (len(p.found) != 1 || !strings.Contains(p.found[0].Error(), c.field)):
				t.Errorf("%v, want one of %s", p.found, c.field)
			}
		})
	}
}

func TestChartParts(t *testing.T) {
	m := embedded(t).Charts["network-operator"]
	if !m.HasKey("nfd.enabled") || m.HasKey("nfd") || m.HasKey("") {
		t.Error("keys are whole paths")
	}
	if i, ok := m.Image("ofed"); !ok || i.Name != "doca-driver" {
		t.Errorf("%+v, %t", i, ok)
	}
	if _, ok := m.Image("dra-driver"); ok {
		t.Error("an image that is not there")
	}
}
