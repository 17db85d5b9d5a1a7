package openvox

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// MostReferences is how many Secrets, and how many ConfigMaps, a Server may add to its Pods.
const MostReferences = 32

// Unreadable are objects that a Server adds to its Pods, by kind.
type Unreadable struct {
	Secrets    []string `json:"unreadableSecrets,omitempty"`
	ConfigMaps []string `json:"unreadableConfigMaps,omitempty"`
	Claims     []string `json:"unreadableClaims,omitempty"`
}

// references are the fields that refer to objects, in JSON, by the names of the objects.
type references map[string][]string

func (r references) add(name string, field any) {
	if name == "" {
		return
	}
	text, err := json.Marshal(field)
	if err != nil {
		panic(err) // fields of Kubernetes' own types
	}
	r[name] = append(r[name], string(text))
}

// extras are the objects that a Server adds to its Pods.
type extras struct {
	secrets, configMaps, claims references
	// names are those of the Secrets, in the order of the fields.
	names []string
}

func (e *extras) addSecret(name string, field any) {
	if name != "" && !slices.Contains(e.names, name) {
		e.names = append(e.names, name)
	}
	e.secrets.add(name, field)
}

func extrasOf(spec *v1alpha1.ServerSpec) *extras {
	e := &extras{secrets: references{}, configMaps: references{}, claims: references{}}
	for _, variable := range spec.ExtraEnv {
		if from := variable.ValueFrom; from != nil {
			if from.SecretKeyRef != nil {
				e.addSecret(from.SecretKeyRef.Name, variable)
			}
			if from.ConfigMapKeyRef != nil {
				e.configMaps.add(from.ConfigMapKeyRef.Name, variable)
			}
		}
	}
	for _, source := range spec.EnvFrom {
		if source.SecretRef != nil {
			e.addSecret(source.SecretRef.Name, source)
		}
		if source.ConfigMapRef != nil {
			e.configMaps.add(source.ConfigMapRef.Name, source)
		}
	}
	for _, volume := range spec.ExtraVolumes {
		if volume.Secret != nil {
			e.addSecret(volume.Secret.SecretName, volume)
		}
		if volume.ConfigMap != nil {
			e.configMaps.add(volume.ConfigMap.Name, volume)
		}
		if volume.PersistentVolumeClaim != nil {
			e.claims.add(volume.PersistentVolumeClaim.ClaimName, volume)
		}
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil {
				e.addSecret(source.Secret.Name, []any{volume.Name, source})
			}
			if source.ConfigMap != nil {
				e.configMaps.add(source.ConfigMap.Name, []any{volume.Name, source})
			}
		}
	}
	return e
}

// SecretsOf are the names of the Secrets that a Server adds to its Pods.
func SecretsOf(spec *v1alpha1.ServerSpec) []string { return extrasOf(spec).names }

// ClaimsOf are the names of the PersistentVolumeClaims that a Server adds to its Pods.
func ClaimsOf(spec *v1alpha1.ServerSpec) []string {
	return slices.Sorted(maps.Keys(extrasOf(spec).claims))
}

// UseChanged are the objects that a Server adds to its Pods and whose use differs from that of
// before: by a field that refers to them, or because other programs read them. before is nil
// if the Server is created.
func UseChanged(before, after *v1alpha1.ServerSpec) Unreadable {
	next := extrasOf(after)
	former := &extras{}
	if before != nil && equality.Semantic.DeepEqual(readersOf(before), readersOf(after)) {
		former = extrasOf(before)
	}
	return Unreadable{
		Secrets: changed(former.secrets, next.secrets), ConfigMaps: changed(former.configMaps, next.configMaps), Claims: changed(former.claims, next.claims),
	}
}

// changed are the names with a reference that was not there before.
func changed(before, after references) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if slices.ContainsFunc(after[name], func(field string) bool { return !slices.Contains(before[name], field) }) {
			names = append(names, name)
		}
	}
	return names
}

// UsedByConfig are the objects that the Servers of a Config add to their Pods, if programs that read
// them differ from those of before: before is nil if the Config is created. Each is there once.
func UsedByConfig(config *v1alpha1.Config, before *v1alpha1.ConfigSpec, servers []v1alpha1.Server) (used []UnreadableObject) {
	after := &config.Spec
	if before != nil && equality.Semantic.DeepEqual([]any{before.Image, before.Code, before.Puppet}, []any{after.Image, after.Code, after.Puppet}) {
		return nil
	}
	seen := map[UnreadableObject]bool{}
	for i := range servers {
		server := &servers[i]
		if server.Spec.ConfigRef != config.Name || !server.DeletionTimestamp.IsZero() {
			continue
		}
		e := extrasOf(&server.Spec)
		for _, of := range []struct {
			kind  string
			names references
		}{{"Secret", e.secrets}, {"ConfigMap", e.configMaps}, {"PersistentVolumeClaim", e.claims}} {
			for _, name := range slices.Sorted(maps.Keys(of.names)) {
				if object := (UnreadableObject{Kind: of.kind, Name: name}); !seen[object] {
					seen[object] = true
					object.Server = server.Name
					used = append(used, object)
				}
			}
		}
	}
	return used
}

// readersOf is the spec with only the fields that determine which programs run in the Pods, and
// where they find files.
func readersOf(spec *v1alpha1.ServerSpec) *v1alpha1.ServerSpec {
	readers := &v1alpha1.ServerSpec{
		ConfigRef: spec.ConfigRef, Image: spec.Image, CA: spec.CA, Server: spec.Server, JavaArgs: spec.JavaArgs, Code: spec.Code,
		ExtraVolumeMounts: spec.ExtraVolumeMounts, SecurityContext: spec.SecurityContext,
	}
	for _, variable := range spec.ExtraEnv {
		if variable.ValueFrom == nil { // LD_PRELOAD and RUBYOPT name programs
			readers.ExtraEnv = append(readers.ExtraEnv, variable)
		}
	}
	for _, volume := range spec.ExtraVolumes {
		if volume.Image != nil || volume.PersistentVolumeClaim != nil || volume.ConfigMap != nil {
			readers.ExtraVolumes = append(readers.ExtraVolumes, volume)
		}
	}
	return readers
}
