package serving

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

const (
	serverLabel = "openvox.voxpupuli.org/server"
	roleLabel   = "openvox.voxpupuli.org/role"
	// poolLabelPrefix begins the label of a Pool's servers; its name follows.
	poolLabelPrefix = "openvox.voxpupuli.org/pool-"

	// The digests of the files that a server reads when it starts: Pods are replaced when one
	// changes. Servers reload signing policies and CRLs, which have no digest here.
	configHash      = "openvox.voxpupuli.org/config-hash"
	certificateHash = "openvox.voxpupuli.org/ssl-secret-hash"
	caHash          = "openvox.voxpupuli.org/ca-secret-hash"
	// policiesUID is the UID of the Secret with a CA's signing policies. If an immutable Secret is
	// replaced, the kubelet keeps the old contents for the lifetime of the Pod.
	policiesUID = "openvox.voxpupuli.org/autosign-secret-uid"
	// serverConf is the file with the settings of the Server that its Config lacks.
	serverConf = "openvox.voxpupuli.org/server-conf"
)

// serverFacts is the input for the objects of a Server.
type serverFacts struct {
	server *v1alpha1.Server
	config *v1alpha1.Config
	ca     *v1alpha1.CertificateAuthority
	// files are those of the Config.
	files map[string]string
	// classifier is the NodeClassifier of the Config, or nil.
	classifier *v1alpha1.NodeClassifier
	// pair is the Secret of the Certificate, and bundle has the CA's certificates.
	pair   map[string][]byte
	bundle []byte
	// policies is the uid of the Secret with the signing policies, of the CA's server.
	policies types.UID
	// fsGroup is nil if the cluster assigns a group to each namespace.
	fsGroup *int64
	// missing are the optional Secrets of the Server that do not exist.
	missing map[string]bool
	// lacking is that a Secret does not exist that is required and that the Pods refer to already:
	// nil if there is none.
	lacking *obstacle
	// running is the current number of Pods of the Deployment: nil if there is none.
	running *int32
}

func (f serverFacts) compiles() bool { return compiles(f.server) }

// sendsReports reports whether servers send the reports of agents to ReportProcessors.
func (f serverFacts) sendsReports() bool {
	return f.compiles() && f.files[configfiles.ReportProcessorFile] != ""
}

func compiles(server *v1alpha1.Server) bool { return ptr.Deref(server.Spec.Server, true) }

// labels are those of the objects of a Server.
func (f serverFacts) labels() map[string]string {
	return map[string]string{
		layout.NameLabel: "openvox", layout.ManagedByLabel: layout.ManagedBy, layout.ConfigLabel: f.config.Name, serverLabel: f.server.Name,
	}
}

func (f serverFacts) podLabels() map[string]string {
	labels := f.labels()
	labels[roleLabel] = "server"
	if f.server.Spec.CA {
		labels[layout.CAServerLabel], labels[layout.CALabel] = "true", f.ca.Name
		if !f.compiles() {
			labels[roleLabel] = "ca"
		}
	}
	for _, pool := range f.server.Spec.PoolRefs {
		labels[poolLabelPrefix+pool] = "true"
	}
	return labels
}

func (f serverFacts) selector() map[string]string {
	return map[string]string{serverLabel: f.server.Name}
}

func (f serverFacts) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: f.server.Namespace, Name: name, Labels: f.labels(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(f.server, v1alpha1.SchemeGroupVersion.WithKind("Server"))},
	}
}

// objects returns the desired objects of a Server, and those to delete, of which only the name
// matters.
func (f serverFacts) objects() (wanted, unwanted []client.Object, err error) {
	deployment, err := f.deployment()
	if err != nil {
		return nil, nil, err
	}
	wanted = []client.Object{deployment}
	spec := f.server.Spec
	for _, each := range []struct {
		object client.Object
		wanted bool
	}{
		{f.disruptionBudget(), spec.PDB != nil && spec.PDB.Enabled},
		{f.autoscaler(), spec.Autoscaling != nil && spec.Autoscaling.Enabled},
		{f.networkPolicy(), spec.NetworkPolicy != nil && spec.NetworkPolicy.Enabled},
	} {
		if each.wanted {
			wanted = append(wanted, each.object)
		} else {
			unwanted = append(unwanted, each.object)
		}
	}
	return wanted, unwanted, nil
}

func (f serverFacts) deployment() (*appsv1.Deployment, error) {
	pod, err := f.pod()
	if err != nil {
		return nil, err
	}
	strategy := appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType}
	if f.server.Spec.CA { // its volume is for one at a time
		strategy.Type = appsv1.RecreateDeploymentStrategyType
	}
	annotations := map[string]string{
		configHash:      f.filesHash(),
		certificateHash: hashOf(f.pair[layout.CertificateFile], f.pair[layout.KeyFile]),
		caHash:          hashOf(f.bundle),
		serverConf:      fmt.Sprintf("jruby-puppet: { max-active-instances: %d }\n", max(f.server.Spec.MaxActiveInstances, 1)),
	}
	if f.server.Spec.CA {
		annotations[policiesUID] = string(f.policies)
	}
	return &appsv1.Deployment{
		TypeMeta: layout.KindOf(appsv1.SchemeGroupVersion, "Deployment"), ObjectMeta: f.meta(f.server.Name),
		Spec: appsv1.DeploymentSpec{
			Replicas: f.replicas(), Strategy: strategy, RevisionHistoryLimit: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: f.selector()},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: f.podLabels(), Annotations: annotations}, Spec: pod},
		},
	}, nil
}

// replicas returns the desired number of Pods: the current number if an autoscaler sets it.
func (f serverFacts) replicas() *int32 {
	scaling := f.server.Spec.Autoscaling
	if scaling == nil || !scaling.Enabled {
		return new(ptr.Deref(f.server.Spec.Replicas, 1))
	}
	least := max(scaling.MinReplicas, 1)
	return new(min(max(ptr.Deref(f.running, least), least), max(scaling.MaxReplicas, least)))
}

func hashOf(parts ...[]byte) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d ", len(part))
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

func (f serverFacts) disruptionBudget() *policyv1.PodDisruptionBudget {
	return disruptionBudget(f.meta(f.server.Name), f.selector(), f.server.Spec.PDB)
}

func disruptionBudget(meta metav1.ObjectMeta, selector map[string]string, wanted *v1alpha1.PDBSpec) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{
		TypeMeta: layout.KindOf(policyv1.SchemeGroupVersion, "PodDisruptionBudget"), ObjectMeta: meta,
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: selector}},
	}
	spec := ptr.Deref(wanted, v1alpha1.PDBSpec{})
	switch {
	case spec.MinAvailable != nil:
		budget.Spec.MinAvailable = spec.MinAvailable
	case spec.MaxUnavailable != nil:
		budget.Spec.MaxUnavailable = spec.MaxUnavailable
	default:
		budget.Spec.MinAvailable = new(intstr.FromInt32(1))
	}
	return budget
}

func (f serverFacts) autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	spec := ptr.Deref(f.server.Spec.Autoscaling, v1alpha1.AutoscalingSpec{})
	least := max(spec.MinReplicas, 1)
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta: layout.KindOf(autoscalingv2.SchemeGroupVersion, "HorizontalPodAutoscaler"), ObjectMeta: f.meta(f.server.Name),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: f.server.Name},
			MinReplicas:    new(least), MaxReplicas: max(spec.MaxReplicas, least),
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(cmp.Or(spec.TargetCPU, 75))},
			}}},
		},
	}
}

func (f serverFacts) networkPolicy() *networkingv1.NetworkPolicy {
	spec := ptr.Deref(f.server.Spec.NetworkPolicy, v1alpha1.NetworkPolicySpec{})
	everybody := networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(layout.Port))}}}
	return &networkingv1.NetworkPolicy{
		TypeMeta: layout.KindOf(networkingv1.SchemeGroupVersion, "NetworkPolicy"), ObjectMeta: f.meta(f.server.Name + "-netpol"),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: maps.Clone(f.selector())}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: append([]networkingv1.NetworkPolicyIngressRule{everybody}, spec.AdditionalIngress...),
		},
	}
}
