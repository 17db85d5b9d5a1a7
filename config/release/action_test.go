package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// action is the part of a composite action of GitHub that is tested.
type action struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

type step struct {
	Name, ID, If, Shell, Run, Uses string
	Env, With                      map[string]string
}

func readAction(t *testing.T, name string) action {
	t.Helper()
	text, err := os.ReadFile("../../.github/actions/" + name + "/action.yml")
	require.NoError(t, err)
	var read struct {
		action
		Name, Description, Author string
	}
	require.NoError(t, yaml.Unmarshal(text, &read))
	require.Equal(t, "composite", read.Runs.Using)
	return read.action
}

// runner does what GitHub's runner does with the steps of an action that are scripts.
type runner struct {
	t      *testing.T
	temp   string
	inputs map[string]string
	// outputs are those of all steps, as `steps.check.outputs.code`.
	outputs map[string]string
}

var expression = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// value is what an expression stands for: the first of its terms that is not empty.
func (r *runner) value(text string) string {
	return expression.ReplaceAllStringFunc(text, func(found string) string {
		for _, term := range strings.Split(expression.FindStringSubmatch(found)[1], " || ") {
			if name, isInput := strings.CutPrefix(term, "inputs."); isInput {
				term = r.inputs[name]
			} else {
				term = r.outputs[term]
			}
			if term != "" {
				return term
			}
		}
		return ""
	})
}

// run runs a script, and returns its output.
func (r *runner) run(s step) (string, error) {
	r.t.Helper()
	require.Equal(r.t, "bash", s.Shell)
	output, paths := filepath.Join(r.temp, "output"), filepath.Join(r.temp, "path")
	system := map[string]string{"linux": "Linux", "darwin": "macOS"}[runtime.GOOS]
	architecture := map[string]string{"amd64": "X64", "arm64": "ARM64"}[runtime.GOARCH]
	added, err := os.ReadFile(paths)
	require.True(r.t, err == nil || os.IsNotExist(err))
	command := exec.CommandContext(r.t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
	command.Dir = r.temp
	command.Env = append(os.Environ(), "GITHUB_OUTPUT="+output, "GITHUB_PATH="+paths, "GITHUB_STEP_SUMMARY="+filepath.Join(r.temp, "summary"), "RUNNER_TEMP="+r.temp, "RUNNER_OS="+system, "RUNNER_ARCH="+architecture,
		"PATH="+strings.TrimSpace(string(added))+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, value := range s.Env {
		command.Env = append(command.Env, name+"="+r.value(value))
	}
	printed, failed := command.CombinedOutput()
	text, err := os.ReadFile(output)
	require.True(r.t, err == nil || os.IsNotExist(err))
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		r.outputs["steps."+s.ID+".outputs."+name] = value
	}
	return string(printed), failed
}

// checker is a program that is called as `lintel check` is: it prints its arguments, and
// ends as the file named verdict says.
const checker = `package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	verdict, _ := os.ReadFile("verdict")
	if string(verdict) != "2" {
		fmt.Println(strings.Join(os.Args[1:], "|"))
	}
	os.Exit(int(verdict[0] - '0'))
}
`

func newRunner(t *testing.T, a action, inputs map[string]string) *runner {
	t.Helper()
	m := &maker{Folder: checkout(t), Version: "v1.2.3", Systems: []string{runtime.GOOS}}
	require.NoError(t, m.prepare(t.Context(), []string{runtime.GOOS + "/" + runtime.GOARCH}, io.Discard))
	require.NoError(t, os.WriteFile(filepath.Join(m.Folder, "cmd", "hello", "main.go"), []byte(checker), 0o644))
	releases := t.TempDir()
	require.NoError(t, m.writeDownloads(t.Context(), program{Image: "lintel", Path: hello.Path}, downloadURL, filepath.Join(releases, "v1.2.3")))
	r := &runner{t: t, temp: t.TempDir(), inputs: map[string]string{"downloads": "file://" + releases}, outputs: map[string]string{"github.action_ref": "v1.2.3"}}
	for name, input := range a.Inputs {
		if r.inputs[name] == "" {
			r.inputs[name] = input.Default
		}
	}
	for name, value := range inputs {
		require.Contains(t, a.Inputs, name)
		r.inputs[name] = value
	}
	return r
}

func TestActionChecks(t *testing.T) {
	a := readAction(t, "check")
	install, check, upload, verdict := a.Runs.Steps[0], a.Runs.Steps[1], a.Runs.Steps[2], a.Runs.Steps[3]
	for code, reported := range map[string]bool{"0": true, "1": true, "2": false} {
		t.Run(code, func(t *testing.T) {
			r := newRunner(t, a, map[string]string{"policies": "rules\nmore rules\n", "manifests": "shop.yaml", "arguments": "--namespace shop"})
			require.NoError(t, os.WriteFile(filepath.Join(r.temp, "verdict"), []byte(code), 0o644))
			printed, err := r.run(install)
			require.NoError(t, err, printed)
			printed, err = r.run(check)
			require.NoError(t, err, "the findings are shown before the job fails")
			const arguments = "check|--namespace|shop|--policies|rules|--policies|more rules|--filename|shop.yaml"
			report := r.value(upload.With["sarif_file"])
			assert.Equal(t, report, r.value(a.Outputs["sarif"].Value))
			assert.Equal(t, reported, report != "")
			if reported {
				assert.Contains(t, printed, arguments+"\n")
				text, err := os.ReadFile(report)
				require.NoError(t, err)
				assert.Equal(t, arguments+"|--output|sarif\n", string(text))
			}
			_, err = r.run(verdict)
			assert.Equal(t, code == "0", err == nil)
		})
	}
	assert.Equal(t, "inputs.upload == 'true' && steps.check.outputs.sarif != ''", upload.If)
	assert.Regexp(t, `^github/codeql-action/upload-sarif@v\d+$`, upload.Uses)
}

func TestActionInstallsNothingElse(t *testing.T) {
	a := readAction(t, "check")
	for name, c := range map[string]struct {
		inputs  map[string]string
		damage  func(t *testing.T, release string)
		problem string
	}{
		"a branch for a version": {map[string]string{"version": "main"}, nil, `Lintel's version "main" is none`},
		"no such release":        {map[string]string{"version": "v9.9.9"}, nil, "curl: "},
		"another archive": {nil, func(t *testing.T, release string) {
			archive := filepath.Join(release, "lintel_v1.2.3_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
			require.NoError(t, os.WriteFile(archive, []byte("something else"), 0o644))
		}, "is not what the release says it is"},
		"one that is not in the release": {nil, func(t *testing.T, release string) {
			require.NoError(t, os.WriteFile(filepath.Join(release, "sha256sums.txt"), nil, 0o644))
		}, "is not what the release says it is"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, a, c.inputs)
			if c.damage != nil {
				c.damage(t, filepath.Join(strings.TrimPrefix(r.inputs["downloads"], "file://"), "v1.2.3"))
			}
			printed, err := r.run(a.Runs.Steps[0])
			require.Error(t, err)
			assert.Contains(t, printed, c.problem)
			assert.NoFileExists(t, filepath.Join(r.temp, "path"))
		})
	}
}
