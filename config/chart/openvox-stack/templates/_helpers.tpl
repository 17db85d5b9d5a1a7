{{/* openvox-stack.name: that of an object, after the release's. Of root, name. */}}
{{- define "openvox-stack.name" -}}
{{ .root.Release.Name }}-{{ .name }}
{{- end -}}

{{/* openvox-stack.object: an object of the group. Of root, kind, name, spec and, optionally, annotations. */}}
{{- define "openvox-stack.object" -}}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: openvox
    app.kubernetes.io/instance: {{ .root.Release.Name }}
    app.kubernetes.io/managed-by: {{ .root.Release.Service }}
    helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version | replace "+" "_" }}
{{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
{{- end }}
spec: {{- toYaml .spec | nindent 2 }}
{{ end -}}

{{/* openvox-stack.image: the repository of the Config's image. */}}
{{- define "openvox-stack.image" -}}
{{ .Values.config.image.repository | default "ghcr.io/slauger/openvox-server" }}
{{- end -}}

{{/* openvox-stack.classifier: the name of the NodeClassifier; empty where there is none. */}}
{{- define "openvox-stack.classifier" -}}
{{- with .Values.nodeClassifier }}{{ include "openvox-stack.name" (dict "root" $ "name" (.name | default "enc")) }}{{ end -}}
{{- end -}}

{{/* openvox-stack.database: the name of the Database; empty where there is none. */}}
{{- define "openvox-stack.database" -}}
{{- with .Values.database }}{{ include "openvox-stack.name" (dict "root" $ "name" (.name | default "db")) }}{{ end -}}
{{- end -}}

{{/* openvox-stack.ca: the name of the server of the values that is the CA's; empty where there is none. */}}
{{- define "openvox-stack.ca" -}}
{{- range .Values.servers }}{{ if .ca }}{{ .name }}{{ end }}{{ end -}}
{{- end -}}
