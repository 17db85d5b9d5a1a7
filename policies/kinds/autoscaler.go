package kinds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// autoscalers are the one kind of Kubernetes that has two versions in every cluster.
var autoscalers = schema.GroupKind{Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler"}

// defaultUtilization is the target, in percent of the CPU requested, of an autoscaler
// without metrics.
const defaultUtilization = 80

// carried are the annotations in which autoscaling/v1 carries what only
// autoscaling/v2 has a field for.
var carried = []string{
	"autoscaling.alpha.kubernetes.io/behavior",
	"autoscaling.alpha.kubernetes.io/conditions",
	"autoscaling.alpha.kubernetes.io/current-metrics",
	"autoscaling.alpha.kubernetes.io/metrics",
	"autoscaling.alpha.kubernetes.io/scale-down-tolerance",
	"autoscaling.alpha.kubernetes.io/scale-up-tolerance",
}

// convertAutoscaler converts an autoscaler that both versions have fields for.
func convertAutoscaler(object []byte, from, to string) ([]byte, error) {
	switch {
	case from == "v1" && to == "v2":
		return converted(object, autoscalerV2)
	case from == "v2" && to == "v1":
		return converted(object, autoscalerV1)
	default:
		return nil, fmt.Errorf("%w: how HorizontalPodAutoscaler is converted from %s to %s", ErrNotKnown, from, to)
	}
}

// converted converts an autoscaler in JSON by its types.
func converted[In, Out any](object []byte, convert func(In) (Out, error)) ([]byte, error) {
	var in In
	if err := json.Unmarshal(object, &in); err != nil {
		return nil, fmt.Errorf("reading the HorizontalPodAutoscaler: %w", err)
	}
	out, err := convert(in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

func autoscalerV2(in autoscalingv1.HorizontalPodAutoscaler) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	for _, name := range carried {
		if _, has := in.Annotations[name]; has {
			return nil, fmt.Errorf("%w: what the annotation %s becomes in autoscaling/v2; write it as autoscaling/v2", ErrNotKnown, name)
		}
	}
	out := &autoscalingv2.HorizontalPodAutoscaler{TypeMeta: in.TypeMeta, ObjectMeta: in.ObjectMeta}
	out.APIVersion = autoscalingv2.SchemeGroupVersion.String()
	out.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
		MinReplicas:    cmp.Or(in.Spec.MinReplicas, new(int32(1))),
		MaxReplicas:    in.Spec.MaxReplicas,
		Metrics:        []autoscalingv2.MetricSpec{cpuUtilization(cmp.Or(in.Spec.TargetCPUUtilizationPercentage, new(int32(defaultUtilization))))},
	}
	out.Status = autoscalingv2.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration, LastScaleTime: in.Status.LastScaleTime,
		CurrentReplicas: in.Status.CurrentReplicas, DesiredReplicas: in.Status.DesiredReplicas,
	}
	if current := in.Status.CurrentCPUUtilizationPercentage; current != nil {
		out.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: current},
			},
		}}
	}
	return out, nil
}

func autoscalerV1(in autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv1.HorizontalPodAutoscaler, error) {
	if in.Spec.Behavior != nil || len(in.Status.CurrentMetrics)+len(in.Status.Conditions) > 0 {
		return nil, carriesMore("spec.behavior and its status")
	}
	out := &autoscalingv1.HorizontalPodAutoscaler{TypeMeta: in.TypeMeta, ObjectMeta: in.ObjectMeta}
	out.APIVersion = autoscalingv1.SchemeGroupVersion.String()
	out.Annotations = maps.Clone(in.Annotations)
	for _, name := range carried {
		delete(out.Annotations, name)
	}
	out.Spec = autoscalingv1.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
		MinReplicas:    cmp.Or(in.Spec.MinReplicas, new(int32(1))),
		MaxReplicas:    in.Spec.MaxReplicas,
	}
	if len(in.Spec.Metrics) == 0 {
		out.Spec.TargetCPUUtilizationPercentage = new(int32(defaultUtilization))
	}
	for _, metric := range in.Spec.Metrics {
		isCPU := metric.Type == autoscalingv2.ResourceMetricSourceType && metric.Resource != nil &&
			metric.Resource.Name == corev1.ResourceCPU && metric.Resource.Target.AverageUtilization != nil
		if !isCPU {
			return nil, carriesMore("spec.metrics other than the utilization of CPU")
		}
		if out.Spec.TargetCPUUtilizationPercentage == nil {
			out.Spec.TargetCPUUtilizationPercentage = metric.Resource.Target.AverageUtilization
		}
	}
	out.Status = autoscalingv1.HorizontalPodAutoscalerStatus{
		ObservedGeneration: in.Status.ObservedGeneration, LastScaleTime: in.Status.LastScaleTime,
		CurrentReplicas: in.Status.CurrentReplicas, DesiredReplicas: in.Status.DesiredReplicas,
	}
	return out, nil
}

func carriesMore(what string) error {
	return fmt.Errorf("%w: autoscaling/v1 has no fields for %s of a HorizontalPodAutoscaler, and carries them in annotations", ErrNotKnown, what)
}

func cpuUtilization(percent *int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: percent},
		},
	}
}
