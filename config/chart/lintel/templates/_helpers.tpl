{{/*
What the chart installs are the manifests of config/, which files/ links to: the same
as kubectl apply -k config/default, for the release's namespace and values.
*/}}

{{/* lintel.document: an object of a manifest as the release has it. Of root, object. */}}
{{- define "lintel.document" -}}
{{- $object := .object -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $labels := dict "app.kubernetes.io/name" "lintel" "app.kubernetes.io/part-of" "lintel" "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
{{- $_ := set $object.metadata "labels" (merge $labels (default dict $object.metadata.labels)) -}}
{{- if $object.metadata.namespace -}}
{{- $_ := set $object.metadata "namespace" $namespace -}}
{{- end -}}
{{- if $object.subjects -}}
{{- $_ := set $object "subjects" (list (dict "kind" "ServiceAccount" "name" "lintel-manager" "namespace" $namespace)) -}}
{{- end -}}
---
{{ toYaml $object }}
{{ end -}}

{{/* lintel.manifests: all objects of files by their names below files/. Of root, files. */}}
{{- define "lintel.manifests" -}}
{{- $root := .root -}}
{{- range .files -}}
{{- $text := $root.Files.Get (printf "files/%s" .) -}}
{{- if not $text -}}{{- fail (printf "the chart lacks files/%s" .) -}}{{- end -}}
{{- $text = $text | replace "lintel-system" $root.Release.Namespace -}}
{{- with get $root.Values.flags "webhook-url" -}}
{{- $text = $text | replace `expression: '""'` (printf "expression: '\"%s/\"'" (trimSuffix "/" .)) -}}
{{- end -}}
{{- range $part := splitList "\n---\n" $text -}}
{{- include "lintel.document" (dict "root" $root "object" (fromYaml $part)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* lintel.crds: CRDs as they are, with what keeps them. Of root, glob. */}}
{{- define "lintel.crds" -}}
{{- $root := .root -}}
{{- range $path, $_ := $root.Files.Glob (printf "files/%s" .glob) -}}
{{- $text := $root.Files.Get $path -}}
{{- if $root.Values.crds.keep -}}
{{- if contains "\n  annotations:\n" $text -}}
{{- $text = regexReplaceAll "(?m)^  annotations:$" $text "  annotations:\n    helm.sh/resource-policy: keep" -}}
{{- else -}}
{{- $text = regexReplaceAll "(?m)^metadata:$" $text "metadata:\n  annotations:\n    helm.sh/resource-policy: keep" -}}
{{- end -}}
{{- end }}
---
{{ trimPrefix "---\n" $text }}
{{- end -}}
{{- end -}}

{{/* lintel.image: the reference of the manager's image. */}}
{{- define "lintel.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* lintel.commandLineImage: the image lintel, next to the manager's. */}}
{{- define "lintel.commandLineImage" -}}
{{- with .Values.image -}}
{{- if or .digest (not (hasSuffix "lintel-manager" .repository)) -}}{{ fail "record.uploader.image: set the image of the lintel command, because image does not imply it" }}{{- end -}}
{{ trimSuffix "lintel-manager" .repository }}lintel:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}

{{/* lintel.checkMemory: nothing, or an error for a memory limit that is too small. */}}
{{- define "lintel.checkMemory" -}}
{{- $match := regexFind "^[0-9]+[MG]i$" (toString .) -}}
{{- if not $match -}}{{- fail (printf "resources.limits.memory: invalid value %q: must be a whole number of Mi or Gi, such as 1Gi" (toString .)) -}}{{- end -}}
{{- $mebibytes := int (trimSuffix "Mi" (trimSuffix "Gi" $match)) -}}
{{- if hasSuffix "Gi" $match -}}{{- $mebibytes = mul $mebibytes 1024 -}}{{- end -}}
{{- if lt $mebibytes 256 -}}{{- fail (printf "resources.limits.memory: invalid value %s: must be at least 256Mi" $match) -}}{{- end -}}
{{- end -}}

{{/* lintel.systems: the names of those that are on, in order. */}}
{{- define "lintel.systems" -}}
{{- $names := list -}}
{{- range $name, $system := .Values.systems -}}
{{- if $system.enabled -}}{{- $names = append $names $name -}}{{- end -}}
{{- end -}}
{{ join "," $names }}
{{- end -}}

{{/* lintel.zoppRoles: the folders of the roles that zopp needs, where it is on. */}}
{{- define "lintel.zoppRoles" -}}
{{- with .Values.systems.zopp -}}
{{- if .enabled -}}
zopp{{ if .secretSyncs }},zopp-secret-syncs{{ end }}{{ if .reload }},zopp-reload{{ end }}
{{- end -}}
{{- end -}}
{{- end -}}
