package kinds

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	revisions       = 10
	progressSeconds = 600
	jobRetries      = 6
	rollingShare    = "25%"
	policySeconds   = 15
)

func defaultDeployment(spec *appsv1.DeploymentSpec) {
	setIfNil(&spec.Replicas, 1)
	setIfNil(&spec.RevisionHistoryLimit, revisions)
	setIfNil(&spec.ProgressDeadlineSeconds, progressSeconds)
	setIfZero(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		setIfNil(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		setIfNil(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString(rollingShare))
		setIfNil(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString(rollingShare))
	}
	defaultPodSpec(&spec.Template.Spec)
}

func defaultStatefulSet(spec *appsv1.StatefulSetSpec) {
	setIfNil(&spec.Replicas, 1)
	setIfNil(&spec.RevisionHistoryLimit, revisions)
	setIfZero(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	setIfZero(&spec.UpdateStrategy.Type, appsv1.RollingUpdateStatefulSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		setIfNil(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
		setIfNil(&spec.UpdateStrategy.RollingUpdate.Partition, 0)
	}
	setIfNil(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	setIfZero(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setIfZero(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	for i := range spec.VolumeClaimTemplates {
		claim := &spec.VolumeClaimTemplates[i]
		setIfZero(&claim.APIVersion, corev1.SchemeGroupVersion.String())
		setIfZero(&claim.Kind, "PersistentVolumeClaim")
		setIfNil(&claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		setIfZero(&claim.Status.Phase, corev1.ClaimPending)
	}
	defaultPodSpec(&spec.Template.Spec)
}

func defaultDaemonSet(spec *appsv1.DaemonSetSpec) {
	setIfNil(&spec.RevisionHistoryLimit, revisions)
	setIfZero(&spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		setIfNil(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		setIfNil(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		setIfNil(&spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	defaultPodSpec(&spec.Template.Spec)
}

func defaultReplicationController(o *corev1.ReplicationController) {
	setIfNil(&o.Spec.Replicas, 1)
	if o.Spec.Template == nil {
		return
	}
	if len(o.Spec.Selector) == 0 {
		o.Spec.Selector = o.Spec.Template.Labels
	}
	if len(o.Labels) == 0 {
		o.Labels = o.Spec.Template.Labels
	}
	defaultPodSpec(&o.Spec.Template.Spec)
}

func defaultJob(job *batchv1.Job) {
	spec := &job.Spec
	if spec.Parallelism == nil {
		setIfNil(&spec.Completions, 1)
	}
	setIfNil(&spec.Parallelism, 1)
	if spec.BackoffLimitPerIndex != nil {
		setIfNil(&spec.BackoffLimit, math.MaxInt32)
	}
	setIfNil(&spec.BackoffLimit, jobRetries)
	setIfNil(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	setIfNil(&spec.Suspend, false)
	setIfNil(&spec.ManualSelector, false)
	if spec.PodFailurePolicy != nil {
		setIfNil(&spec.PodReplacementPolicy, batchv1.Failed)
		defaultFailurePolicy(spec.PodFailurePolicy)
	}
	setIfNil(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	if len(job.Labels) == 0 {
		job.Labels = spec.Template.Labels
	}
	defaultPodSpec(&spec.Template.Spec)
}

func defaultFailurePolicy(policy *batchv1.PodFailurePolicy) {
	for i := range policy.Rules {
		for j := range policy.Rules[i].OnPodConditions {
			setIfZero(&policy.Rules[i].OnPodConditions[j].Status, corev1.ConditionTrue)
		}
	}
}

// defaultCronJob sets few defaults of the Job in the template: they are set when it is created.
func defaultCronJob(spec *batchv1.CronJobSpec) {
	setIfZero(&spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	setIfNil(&spec.Suspend, false)
	setIfNil(&spec.SuccessfulJobsHistoryLimit, 3)
	setIfNil(&spec.FailedJobsHistoryLimit, 1)
	if spec.JobTemplate.Spec.PodFailurePolicy != nil {
		defaultFailurePolicy(spec.JobTemplate.Spec.PodFailurePolicy)
	}
	defaultPodSpec(&spec.JobTemplate.Spec.Template.Spec)
}

func defaultAutoscaler(spec *autoscalingv2.HorizontalPodAutoscalerSpec) {
	setIfNil(&spec.MinReplicas, 1)
	if len(spec.Metrics) == 0 {
		spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(new(int32(defaultUtilization)))}
	}
	if spec.Behavior == nil {
		return
	}
	percent := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: policySeconds}
	setIfNil(&spec.Behavior.ScaleUp, autoscalingv2.HPAScalingRules{})
	setIfNil(&spec.Behavior.ScaleUp.StabilizationWindowSeconds, 0)
	defaultScaling(spec.Behavior.ScaleUp, autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: policySeconds}, percent)
	setIfNil(&spec.Behavior.ScaleDown, autoscalingv2.HPAScalingRules{})
	defaultScaling(spec.Behavior.ScaleDown, percent)
}

func defaultScaling(rules *autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) {
	setIfNil(&rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if rules.Policies == nil {
		rules.Policies = policies
	}
}
