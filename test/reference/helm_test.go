package reference

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// charts are the folders of the charts and what each installs.
var charts = []struct{ name, installs string }{
	{"lintel", "installs Lintel"},
	{"openvox-stack", "installs OpenVox objects for a Puppet installation"},
}

// addHelmValues adds a page of the values of the charts, with the comments of values.yaml.
func (p pages) addHelmValues(t *testing.T) {
	var sections []section
	for _, chart := range charts {
		content, err := os.ReadFile(fmt.Sprintf("%s/config/chart/%s/values.yaml", root, chart.name))
		require.NoError(t, err)
		var document yaml.Node
		require.NoError(t, yaml.Unmarshal(content, &document))
		var rows [][]string
		valuesOf("", document.Content[0], &rows)
		require.NotEmpty(t, rows)
		text := fmt.Sprintf("## %s\n\nThe chart `config/chart/%s` %s.\n\n%s", chart.name, chart.name, chart.installs, table([]string{"Value", "Description"}, rows))
		sections = append(sections, section{chart.name, text})
	}
	p.add(t, "helm-values.md", "Helm values", "the values.yaml of each chart", "The schema of each chart rejects other values.", sections)
}

// valuesOf appends a row for each value, and for each group of values with a comment.
func valuesOf(path string, group *yaml.Node, rows *[][]string) {
	for i := 0; i+1 < len(group.Content); i += 2 {
		key, value := group.Content[i], group.Content[i+1]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		comment := commentOf(key.HeadComment)
		isGroup := value.Kind == yaml.MappingNode && len(value.Content) > 0
		if !isGroup || comment != "" {
			standard := ""
			if !isGroup {
				var short yaml.Node = *value
				withoutComments(&short)
				text, err := yaml.Marshal(&short)
				if err == nil {
					standard = strings.Join(strings.Fields(string(text)), " ")
				}
			}
			name := code(at)
			if standard != "" {
				name += "<br>default " + code(standard)
			}
			*rows = append(*rows, []string{name, cell(sentence(comment))})
		}
		if isGroup {
			valuesOf(at, value, rows)
		}
	}
}

// withoutComments writes a value in one line.
func withoutComments(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	n.Style |= yaml.FlowStyle
	for i, inner := range n.Content {
		copied := *inner
		withoutComments(&copied)
		n.Content[i] = &copied
	}
}

// commentOf is the last paragraph of a comment, which belongs to the key below it.
func commentOf(comment string) string {
	paragraphs := strings.Split(comment, "\n\n")
	var lines []string
	for line := range strings.SplitSeq(paragraphs[len(paragraphs)-1], "\n") {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "#")))
	}
	return strings.Join(lines, " ")
}
