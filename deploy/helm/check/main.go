// Checks the chart as Helm and Kubernetes would, with their own code: `helm lint`, `helm template` for each file of values, every
// object read strictly into the types of Kubernetes' API, and names that objects call one another by.
//
//	chart-check CHART VALUES-DIR REFUSED-DIR OUT-DIR
//
// Into OUT-DIR goes, for each file of values, what a node would be configured with: NAME.toml and NAME.env, which
// `brickyard config check` judges, and all objects, NAME.yaml.
//
// Values in REFUSED-DIR have to be refused, by the schema or by the chart; the comment in their first line is in the reason.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const (
	release   = "brickyard"
	namespace = "tables"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "chart-check CHART VALUES-DIR REFUSED-DIR OUT-DIR")
		os.Exit(2)
	}
	chart, values, refused, out := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	failed := false
	complain := func(what string, err error) {
		failed = true
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	}
	for _, file := range files(values) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if err := lintWith(chart, file); err != nil {
			complain(file, err)
		}
		count, err := check(chart, file, filepath.Join(out, name))
		if err != nil {
			complain(file, err)
			continue
		}
		fmt.Printf("%s: %d objects\n", name, count)
	}
	for _, file := range files(refused) {
		if err := isRefused(chart, file); err != nil {
			complain(file, err)
		}
	}
	if failed {
		os.Exit(1)
	}
}

func files(dir string) []string {
	found, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(found) == 0 {
		fmt.Fprintf(os.Stderr, "%s: no values there\n", dir)
		os.Exit(1)
	}
	sort.Strings(found)
	return found
}

// What `helm lint --strict` says.
func lintWith(chart, file string) error {
	values, err := chartutil.ReadValuesFile(file)
	if err != nil {
		return err
	}
	var found []error
	for _, message := range lint.All(chart, values, namespace, true).Messages {
		if message.Severity >= support.WarningSev {
			found = append(found, errors.New(message.Error()))
		}
	}
	return errors.Join(found...)
}

// What `helm template` gives, by the files that it comes from.
func render(chart, file string) (map[string]string, error) {
	loaded, err := loader.Load(chart)
	if err != nil {
		return nil, err
	}
	values, err := chartutil.ReadValuesFile(file)
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(loaded, all)
}

func check(chart, file, out string) (int, error) {
	rendered, err := render(chart, file)
	if err != nil {
		return 0, err
	}
	var objects []runtime.Object
	var text strings.Builder
	for _, name := range sorted(rendered) {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		manifests := releaseutil.SplitManifests(rendered[name])
		for _, key := range sorted(manifests) {
			document := manifests[key]
			if isEmpty(document) {
				continue
			}
			fmt.Fprintf(&text, "---\n# %s\n%s\n", name, document)
			object, err := decode([]byte(document))
			if err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
			objects = append(objects, object)
		}
	}
	if err := os.WriteFile(out+".yaml", []byte(text.String()), 0o644); err != nil {
		return 0, err
	}
	if err := agree(objects); err != nil {
		return 0, err
	}
	return len(objects), configure(objects, out)
}

func isEmpty(document string) bool {
	for _, line := range strings.Split(document, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// Strictly: a field that there is not is an error, and so is one that is there twice.
func decode(document []byte) (runtime.Object, error) {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(document, &head); err != nil {
		return nil, err
	}
	// No type of Kubernetes' own: as far as the chart uses it.
	if head.APIVersion == "monitoring.coreos.com/v1" && head.Kind == "ServiceMonitor" {
		monitor := &serviceMonitor{}
		return monitor, yaml.UnmarshalStrict(document, monitor)
	}
	codecs := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
	object, _, err := codecs.UniversalDeserializer().Decode(document, nil, nil)
	return object, err
}

type secretKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port      string `json:"port"`
			Path      string `json:"path"`
			Interval  string `json:"interval"`
			Scheme    string `json:"scheme,omitempty"`
			TLSConfig *struct {
				CA struct {
					Secret secretKey `json:"secret"`
				} `json:"ca"`
				ServerName string `json:"serverName"`
			} `json:"tlsConfig,omitempty"`
			Authorization *struct {
				Type        string    `json:"type"`
				Credentials secretKey `json:"credentials"`
			} `json:"authorization,omitempty"`
		} `json:"endpoints"`
	} `json:"spec"`
}

func (it *serviceMonitor) DeepCopyObject() runtime.Object { copied := *it; return &copied }

// Names by which objects call one another: selectors, services, volumes, ports, claims, secrets and accounts of the chart's own.
func agree(objects []runtime.Object) error {
	var wrong []error
	no := func(format string, arguments ...any) { wrong = append(wrong, fmt.Errorf(format, arguments...)) }
	own := map[string]bool{}
	var nodes *appsv1.StatefulSet
	for _, object := range objects {
		switch it := object.(type) {
		case *appsv1.StatefulSet:
			nodes = it
		case *corev1.Service:
			own["service "+it.Name] = true
		case *corev1.Secret:
			own["secret "+it.Name] = true
		case *corev1.PersistentVolumeClaim:
			own["claim "+it.Name] = true
		case *corev1.ServiceAccount:
			own["account "+it.Name] = true
		}
	}
	if nodes == nil {
		return errors.New("there is no StatefulSet")
	}
	pod := labels.Set(nodes.Spec.Template.Labels)
	selects := func(name string, selector *metav1.LabelSelector) {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil || !parsed.Matches(pod) {
			no("%s does not select the nodes: %v", name, err)
		}
	}
	selects(nodes.Name, nodes.Spec.Selector)
	if !own["service "+nodes.Spec.ServiceName] {
		no("there is no service %s", nodes.Spec.ServiceName)
	}
	// Kubernetes adds up to eleven characters to a job's name.
	if len(nodes.Name) > 52 {
		no("%s is too long a name", nodes.Name)
	}
	ports := map[string]bool{}
	for _, container := range nodes.Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			ports[port.Name] = true
		}
		for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			if probe == nil || !ports[probe.HTTPGet.Port.String()] {
				no("a probe of %s has no port", container.Name)
			}
		}
	}
	claims := []string{}
	for _, claim := range nodes.Spec.VolumeClaimTemplates {
		claims = append(claims, claim.Name)
	}
	mounts("nodes", nodes.Spec.Template.Spec, claims, own, no)
	for _, object := range objects {
		switch it := object.(type) {
		case *corev1.Service:
			selects("service "+it.Name, &metav1.LabelSelector{MatchLabels: it.Spec.Selector})
			for _, port := range it.Spec.Ports {
				if !ports[port.TargetPort.String()] {
					no("service %s: no container has the port %s", it.Name, port.TargetPort.String())
				}
			}
		case *policyv1.PodDisruptionBudget:
			selects("budget "+it.Name, it.Spec.Selector)
		case *batchv1.CronJob:
			spec := it.Spec.JobTemplate.Spec.Template
			mounts(it.Name, spec.Spec, nil, own, no)
			if labels.SelectorFromSet(nodes.Spec.Selector.MatchLabels).Matches(labels.Set(spec.Labels)) {
				no("%s would be taken for a node", it.Name)
			}
		case *serviceMonitor:
			selected := 0
			for _, other := range objects {
				if service, ok := other.(*corev1.Service); ok {
					selector, err := metav1.LabelSelectorAsSelector(&it.Spec.Selector)
					if err == nil && selector.Matches(labels.Set(service.Labels)) {
						selected++
					}
				}
			}
			if selected != 1 {
				no("%s selects %d services", it.Name, selected)
			}
		}
	}
	return errors.Join(wrong...)
}

func mounts(name string, spec corev1.PodSpec, claims []string, own map[string]bool, no func(string, ...any)) {
	volumes := map[string]bool{}
	for _, claim := range claims {
		volumes[claim] = true
	}
	for _, volume := range spec.Volumes {
		if volumes[volume.Name] {
			no("%s: the volume %s is there twice", name, volume.Name)
		}
		volumes[volume.Name] = true
		if claim := volume.PersistentVolumeClaim; claim != nil && strings.HasPrefix(claim.ClaimName, release) && !own["claim "+claim.ClaimName] {
			no("%s: there is no claim %s", name, claim.ClaimName)
		}
	}
	mounted := map[string]bool{}
	for _, container := range spec.Containers {
		for _, mount := range container.VolumeMounts {
			mounted[mount.Name] = true
			if !volumes[mount.Name] {
				no("%s: there is no volume %s", name, mount.Name)
			}
		}
		context := container.SecurityContext
		if context == nil || context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem {
			no("%s: %s may write to its image", name, container.Name)
		}
	}
	for volume := range volumes {
		if !mounted[volume] {
			no("%s: nobody mounts the volume %s", name, volume)
		}
	}
	if account := spec.ServiceAccountName; account != "default" && !own["account "+account] {
		no("%s: there is no account %s", name, account)
	}
	if spec.SecurityContext == nil || spec.SecurityContext.RunAsNonRoot == nil || !*spec.SecurityContext.RunAsNonRoot {
		no("%s: it may be root", name)
	}
}

// Writes what the first node would be configured with.
func configure(objects []runtime.Object, out string) error {
	var environment strings.Builder
	config := "# In a secret that is there already.\n"
	for _, object := range objects {
		switch it := object.(type) {
		case *corev1.Secret:
			if text, ok := it.StringData["brickyard.toml"]; ok {
				config = text
			}
		case *appsv1.StatefulSet:
			for _, variable := range it.Spec.Template.Spec.Containers[0].Env {
				value := strings.ReplaceAll(variable.Value, "$(POD_NAME)", it.Name+"-0")
				if variable.ValueFrom == nil {
					fmt.Fprintf(&environment, "%s=%s\n", variable.Name, value)
				}
			}
		}
	}
	if err := os.WriteFile(out+".toml", []byte(config), 0o644); err != nil {
		return err
	}
	return os.WriteFile(out+".env", []byte(environment.String()), 0o644)
}

func isRefused(chart, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	wanted := strings.TrimSpace(strings.TrimPrefix(first, "#"))
	_, err = render(chart, file)
	if err == nil {
		return errors.New("these values were not refused")
	}
	// A reason is quoted by the schema's own words, or begins as the chart's do.
	wanted, _, _ = strings.Cut(wanted, ";")
	if !strings.Contains(err.Error(), wanted) && !strings.Contains(err.Error(), strings.SplitN(wanted, ":", 2)[0]) {
		return fmt.Errorf("refused, but not because of %q: %w", wanted, err)
	}
	return nil
}

func sorted[V any](of map[string]V) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
