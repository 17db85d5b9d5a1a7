package zopp

import (
	"strings"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
)

// Source is an environment of zopp.
type Source = v1alpha1.Source

// Request is the request of a Secret or a ZoppSecretSync. The rules decide whether it is
// complete and permitted.
type Request struct {
	// Sync reports whether a sync is requested.
	Sync bool
	// Sources are the sources of values; for equal keys, the later source has precedence.
	Sources []Source
	// Keys are which keys are wanted: all where there are none.
	Keys KeyList
	// Cleanup reports whether the keys are removed from the Secret when its sync ends.
	Cleanup bool
}

// Read reads the annotations of a Secret.
func Read(annotations map[string]string) Request {
	return Request{
		Sync:    annotations[v1alpha1.SyncAnnotation] == "true",
		Sources: readSources(annotations),
		Keys:    readKeys(list(annotations[v1alpha1.KeysAnnotation])),
		Cleanup: annotations[v1alpha1.CleanupAnnotation] == "true",
	}
}

// ReadSync reads a ZoppSecretSync. Its keys leave a Secret whenever it ends.
func ReadSync(sync *v1alpha1.ZoppSecretSync) Request {
	return Request{
		Sync:    !sync.Spec.Suspend,
		Sources: sync.Spec.Environments(),
		Keys:    readKeys(sync.Spec.Keys),
		Cleanup: true,
	}
}

// readSources are those of the list where there is one, else the one of three annotations:
// none where one of them is missing.
func readSources(annotations map[string]string) (sources []Source) {
	if text, listed := annotations[v1alpha1.SourcesAnnotation]; listed {
		for _, entry := range list(text) {
			parts := append(strings.SplitN(entry, "/", 3), "", "")
			sources = append(sources, Source{Workspace: parts[0], Project: parts[1], Environment: parts[2]})
		}
		return sources
	}
	workspace, hasWorkspace := annotations[v1alpha1.WorkspaceAnnotation]
	project, hasProject := annotations[v1alpha1.ProjectAnnotation]
	environment, hasEnvironment := annotations[v1alpha1.EnvironmentAnnotation]
	if !hasWorkspace || !hasProject || !hasEnvironment {
		return nil
	}
	return []Source{{Workspace: workspace, Project: project, Environment: environment}}
}

// list reads entries with commas between.
func list(text string) (entries []string) {
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// Key is a key that is wanted, or a pattern of them.
type Key struct {
	// Name is the key in the Secret: "" where it is that of zopp.
	Name string `json:"name,omitempty"`
	// Key is the key in zopp. In one without a name, * is any number of characters.
	Key string `json:"key"`
}

func (k Key) isPattern() bool { return k.Name == "" && strings.Contains(k.Key, "*") }

// KeyList are which keys of zopp are wanted, and under which names.
type KeyList []Key

func readKeys(entries []string) (keys KeyList) {
	for _, entry := range entries {
		if name, key, named := strings.Cut(entry, "="); named {
			keys = append(keys, Key{Name: strings.TrimSpace(name), Key: strings.TrimSpace(key)})
		} else {
			keys = append(keys, Key{Key: strings.TrimSpace(entry)})
		}
	}
	return keys
}

// Select maps each key of the Secret to a key of zopp, from the available ones. Named keys have
// precedence over those that match a pattern, and missing are the named keys that zopp does not
// have.
func (k KeyList) Select(available []string) (selected map[string]string, missing []string) {
	selected = map[string]string{}
	if len(k) == 0 {
		k = KeyList{{Key: "*"}}
	}
	has := make(map[string]bool, len(available))
	for _, key := range available {
		has[key] = true
	}
	for _, key := range k {
		if key.isPattern() {
			key.find(available, selected)
		}
	}
	for _, key := range k {
		switch {
		case key.isPattern():
		case !has[key.Key]:
			missing = append(missing, key.Key)
		case key.Name == "":
			selected[key.Key] = key.Key
		default:
			selected[key.Name] = key.Key
		}
	}
	return selected, missing
}

// find selects the keys that match the pattern.
func (k Key) find(available []string, selected map[string]string) {
	parts := strings.Split(k.Key, "*")
	for _, key := range available {
		if isOf(key, parts) {
			selected[key] = key
		}
	}
}

// isOf reports whether a text consists of these parts, with any text between them.
func isOf(text string, parts []string) bool {
	last := len(parts) - 1
	rest, is := strings.CutPrefix(text, parts[0])
	for _, part := range parts[1:last] {
		if !is {
			return false
		}
		_, rest, is = strings.Cut(rest, part)
	}
	return is && strings.HasSuffix(rest, parts[last])
}
