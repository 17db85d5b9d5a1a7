package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/cmd/lintel/records"
	"github.com/lintel-policy/lintel/policies/record/stores"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// job is the flags of an Indexed Job.
type job struct {
	parts                               int
	name, image, account, secret, claim string
}

func (o *options) addJobFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.job.parts, "job", 0, "`number` of Pods of an Indexed Job that evaluates the records of an object store: the manifests of the Job are printed, and nothing is evaluated")
	flags.StringVar(&o.job.name, "job-name", "", "`name` of the Job; derived from the policies and the time if not given")
	flags.StringVar(&o.job.image, "job-image", "", "`image` of the lintel command, for --job")
	flags.StringVar(&o.job.account, "job-service-account", "", "`name` of the ServiceAccount of the Job's Pods, whose identity may use the store")
	flags.StringVar(&o.job.secret, "job-secret", "", "`name` of a Secret with environment variables of the Job's Pods, such as credentials of the store")
	flags.StringVar(&o.job.claim, "job-claim", "", "`name` of the PersistentVolumeClaim that contains the records, for a store of the form file:///folder")
	flags.StringVar(&o.partText, "part", "", "`part` of the requests to evaluate, such as 0/8 for the first of eight; the result is written to the store as --result")
	flags.StringVar(&o.result, "result", "", "`name` of the results of all parts, for --part")
	flags.StringVar(&o.merge, "merge", "", "`name` of a Job, or of --result, whose results are reported as those of one run")
}

// checkJob checks the flags of jobs and parts.
func (o *options) checkJob() error {
	if o.partText != "" {
		index, of, ok := strings.Cut(o.partText, "/")
		part, errPart := strconv.Atoi(index)
		parts, errParts := strconv.Atoi(of)
		if !ok || errPart != nil || errParts != nil || part < 0 || part >= parts || parts > maxParts {
			return fmt.Errorf("--part is %q: give a part and the number of parts, such as 0/8, of at most %d", o.partText, maxParts)
		}
		o.part = core.Part{Index: part, Of: parts}
	}
	modes := 0
	for _, is := range []bool{o.job.parts != 0, o.partText != "", o.merge != ""} {
		if is {
			modes++
		}
	}
	isDNS := func(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }
	switch {
	case modes > 1:
		return errors.New("--job, --part and --merge exclude each other")
	case o.job.parts < 0 || o.job.parts > maxParts:
		return fmt.Errorf("--job is %d: give a number from 1 to %d", o.job.parts, maxParts)
	case modes > 0 && (len(o.records) != 1 || o.records[0] == "-"):
		return errors.New("--job, --part and --merge require one store of records, in which the results are")
	case o.part.Of > 0 && !isDNS(o.result):
		return fmt.Errorf("--result is %q: give a name of lower-case letters, digits and hyphens", o.result)
	case o.merge != "" && !isDNS(o.merge):
		return fmt.Errorf("--merge is %q: give the name of the Job", o.merge)
	case o.part.Of == 0 && o.result != "":
		return errors.New("--result requires --part")
	case o.job.parts == 0 && o.job != (job{}):
		return errors.New("the flags --job-name, --job-image, --job-service-account, --job-secret and --job-claim require --job")
	case o.job.parts == 0:
		return nil
	case o.job.image == "":
		return errors.New("--job requires --job-image: the image of the lintel command")
	case len(o.external) > 0:
		return errors.New("--job cannot be combined with --external: replay policies that read external data in one process")
	case !stores.IsURL(o.records[0]):
		return errors.New("--job requires the URL of a store that Pods can reach, such as s3://bucket/folder")
	case strings.HasPrefix(o.records[0], "file:") != (o.job.claim != ""):
		return errors.New("--job-claim and a store of the form file:///folder require each other")
	case o.job.name != "" && !isDNS(o.job.name):
		return fmt.Errorf("--job-name is %q: give a name of lower-case letters, digits and hyphens", o.job.name)
	}
	return nil
}

// maxPolicyBytes is below the size of the largest ConfigMap.
const maxPolicyBytes = 900 << 10

// policyFiles are the files of a ConfigMap: their keys, and their paths below the mount.
type policyFiles struct {
	data  map[string]string
	items []any
	bytes int
}

// add adds the files of a path, and returns their path below the mount. Its last element is that of
// the path, from which a source has its name.
func (p *policyFiles) add(folder, name string) (string, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	below := folder + "/" + filepath.Base(absolute)
	err = filepath.WalkDir(absolute, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir(), !slices.Contains([]string{".rego", ".yaml", ".yml", ".json"}, filepath.Ext(file)):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if p.bytes += len(text); p.bytes > maxPolicyBytes {
			return fmt.Errorf("the policies have more than %d KiB, which do not fit in a ConfigMap", maxPolicyBytes>>10)
		}
		relative, err := filepath.Rel(absolute, file)
		if err != nil {
			return err
		}
		inside := below
		if relative != "." {
			inside += "/" + filepath.ToSlash(relative)
		}
		key := fmt.Sprintf("file-%d", len(p.data))
		p.data[key] = string(text)
		p.items = append(p.items, map[string]any{"key": key, "path": inside})
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the policies for the Job: %w; --job takes local files and folders, so check out a Git revision first", err)
	}
	if err != nil {
		return "", fmt.Errorf("reading the policies for the Job: %w", err)
	}
	return below, nil
}

// writeJob prints the ConfigMap and the Job. Kubernetes starts the Pods, and starts lost ones
// again.
func (o *options) writeJob(to io.Writer, candidate, baseline *side) error {
	since, err := records.TimeOf(o.since, o.now)
	if err != nil {
		return err
	}
	until, err := records.TimeOf(cmp.Or(o.until, "0d"), o.now)
	if err != nil {
		return err
	}
	// The Pods must agree on the time.
	since, until = since.UTC().Truncate(time.Second), until.UTC().Truncate(time.Second)
	name := cmp.Or(o.job.name, "lintel-replay-"+o.inputs(candidate, baseline, since, until, o.records)[:8])
	const mount = "/policies"
	files := policyFiles{data: map[string]string{}}
	args := []string{"replay", fmt.Sprintf("--part=$(JOB_COMPLETION_INDEX)/%d", o.job.parts), "--result=" + name,
		"--since=" + since.Format(time.RFC3339), "--until=" + until.Format(time.RFC3339), fmt.Sprintf("--examples=%d", o.examples)}
	for _, side := range []struct {
		flag  string
		paths []string
	}{{"against", o.against}, {"baseline", o.baseline}} {
		for i, path := range side.paths {
			below, err := files.add(fmt.Sprintf("%s-%d", side.flag, i), path)
			if err != nil {
				return err
			}
			args = append(args, "--"+side.flag+"="+mount+"/"+below)
		}
	}
	for _, one := range o.names {
		args = append(args, "--name="+one)
	}
	args = append(args, o.records[0])
	configMap := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": files.data}
	for i, object := range []any{configMap, o.jobObject(name, mount, args, files.items)} {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := to.Write(text); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) jobObject(name, mount string, args []string, items []any) any {
	type object = map[string]any
	volumes := []any{object{"name": "policies", "configMap": object{"name": name, "items": items}}}
	mounts := []any{object{"name": "policies", "mountPath": mount, "readOnly": true}}
	if o.job.claim != "" {
		folder := "/"
		if parsed, err := url.Parse(o.records[0]); err == nil { // checked when the store is opened
			folder = parsed.Path
		}
		volumes = append(volumes, object{"name": "records", "persistentVolumeClaim": object{"claimName": o.job.claim}})
		mounts = append(mounts, object{"name": "records", "mountPath": folder})
	}
	container := object{
		"name": "replay", "image": o.job.image, "args": args, "volumeMounts": mounts, "terminationMessagePolicy": "FallbackToLogsOnError",
		"resources":       object{"requests": object{"cpu": "1", "memory": "256Mi"}, "limits": object{"memory": "1Gi"}},
		"securityContext": object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []any{"ALL"}}},
	}
	pod := object{
		"restartPolicy": "Never", "containers": []any{container}, "volumes": volumes, "automountServiceAccountToken": false,
		"securityContext": object{"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532, "seccompProfile": object{"type": "RuntimeDefault"}},
	}
	if o.job.account != "" {
		pod["serviceAccountName"] = o.job.account
		pod["automountServiceAccountToken"] = true
	}
	if o.job.secret != "" {
		container["envFrom"] = []any{object{"secretRef": object{"name": o.job.secret}}}
	}
	return object{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": object{"name": name},
		"spec": object{
			"completions": o.job.parts, "parallelism": o.job.parts, "completionMode": "Indexed", "backoffLimitPerIndex": 3,
			"ttlSecondsAfterFinished": 24 * 60 * 60,
			"template":                object{"metadata": object{"labels": object{"app.kubernetes.io/name": "lintel", "app.kubernetes.io/component": "replay"}}, "spec": pod},
		},
	}
}
