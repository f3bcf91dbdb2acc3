{{/* The name of all objects of this release. Short enough for a node's number and a job's to follow. */}}
{{- define "brickyard.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains "brickyard" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-brickyard" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "brickyard.selector" -}}
app.kubernetes.io/name: brickyard
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: node
{{- end -}}

{{- define "brickyard.commonLabels" -}}
app.kubernetes.io/name: brickyard
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "brickyard.labels" -}}
{{ include "brickyard.commonLabels" . }}
app.kubernetes.io/component: node
{{- end -}}

{{- define "brickyard.image" -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
{{- end -}}

{{- define "brickyard.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}{{ include "brickyard.fullname" . }}{{- else -}}default{{- end -}}
{{- end -}}

{{/* Where a pod is reached by its name, without the name. */}}
{{- define "brickyard.domain" -}}
{{- printf "%s-nodes.%s.svc.cluster.local" (include "brickyard.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* The founders' node ports: whoever comes later meets them there, too. */}}
{{- define "brickyard.join" -}}
{{- $domain := include "brickyard.domain" . -}}
{{- $name := include "brickyard.fullname" . -}}
{{- $port := int .Values.ports.node -}}
{{- $seeds := list -}}
{{- range $at := until (int .Values.founders) -}}
{{- $seeds = append $seeds (printf "%s-%d.%s:%d" $name $at $domain $port) -}}
{{- end -}}
{{- join "," $seeds -}}
{{- end -}}

{{/* A value of TOML: JSON's strings and booleans are TOML's, and Helm's numbers are floats. */}}
{{- define "brickyard.toml" -}}
{{- if kindIs "float64" . -}}
{{- if eq (floor .) . -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- else -}}{{ . | toJson }}{{- end -}}
{{- end -}}

{{/* What a node's configuration file says; where each node differs, its environment does. */}}
{{- define "brickyard.config" -}}
{{- $ownFields := list "listen" "http" "data" "bricks" "join" "expect" "advertise" "peer_port" "zone" "insecure" "stop_timeout" "http_tokens" "peer_cert" "peer_key" "peer_ca" "client_cert" "client_key" "client_ca" -}}
{{- range $field, $value := .Values.config }}
{{- if has $field $ownFields }}{{ fail (printf "config.%s: the chart sets it itself; see values.yaml" $field) }}{{ end }}
{{ $field }} = {{ include "brickyard.toml" $value }}
{{- end }}
{{- range .Values.users }}

[[user]]
{{- range $field, $value := . }}
{{ $field }} = {{ include "brickyard.toml" $value }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Whom the programs in a pod believe, and what they show. */}}
{{- define "brickyard.isTls" -}}
{{- if .Values.tls.clients.secretName -}}true{{- end -}}
{{- end -}}

{{/* Values that contradict one another. */}}
{{- define "brickyard.check" -}}
{{- if gt (int .Values.founders) (int .Values.replicaCount) -}}
{{- fail "founders: the cluster would wait for nodes that are not there; at most replicaCount" -}}
{{- end -}}
{{- if and (not .Values.tls.peers.secretName) (not .Values.insecure) -}}
{{- fail "tls.peers.secretName: nodes need certificates (`brickyard cert init`, `brickyard cert node`), or insecure=true to go without on a network that nobody else is on" -}}
{{- end -}}
{{- if and .Values.tls.clients.requireCertificate (not .Values.tls.clients.secretName) -}}
{{- fail "tls.clients.requireCertificate: there is no TLS for clients without tls.clients.secretName" -}}
{{- end -}}
{{- if and (not .Values.users) (not .Values.existingConfigSecret) (not .Values.tls.clients.requireCertificate) (not .Values.insecure) -}}
{{- fail "users: everyone who reaches the port might do everything; give users, an existingConfigSecret with users, tls.clients.requireCertificate, or insecure=true" -}}
{{- end -}}
{{- if and .Values.backup.tables .Values.tls.clients.requireCertificate (not .Values.tls.clients.jobSecretName) -}}
{{- fail "tls.clients.jobSecretName: the backup job has to show a certificate (`brickyard cert client`)" -}}
{{- end -}}
{{- end -}}
