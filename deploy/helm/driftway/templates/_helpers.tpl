{{/*
Name of every object: that of the release, with driftway if it is not in it. Helm allows dots, and a digit at the start;
in the name of a Service dots are not allowed, and such a digit only since Kubernetes 1.36. The label of a StatefulSet's
revision adds 11 characters, and may have 63.
*/}}
{{- define "driftway.name" -}}
{{- $name := replace "." "-" .Release.Name -}}
{{- if regexMatch "^[0-9]" $name -}}
{{- $name = printf "driftway-%s" $name -}}
{{- else if not (contains "driftway" $name) -}}
{{- $name = printf "%s-driftway" $name -}}
{{- end -}}
{{- $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* Labels by which pods are found; they never change during the life of a release. */}}
{{- define "driftway.selector" -}}
app.kubernetes.io/name: driftway
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* A tag may have 128 characters, and begin or end with some that a label must not. */}}
{{- define "driftway.version" -}}
{{- regexReplaceAll "^_+|[-._]+$" (.Values.image.tag | default .Chart.AppVersion | trunc 63) "" -}}
{{- end -}}

{{- define "driftway.labels" -}}
{{ include "driftway.selector" . }}
app.kubernetes.io/component: worker
app.kubernetes.io/version: {{ include "driftway.version" . | quote }}
{{- end -}}

{{- define "driftway.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
