package kinds

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func defaultService(spec *corev1.ServiceSpec) {
	setIfZero(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	setIfZero(&spec.Type, corev1.ServiceTypeClusterIP)
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		setIfNil(&spec.SessionAffinityConfig, corev1.SessionAffinityConfig{})
		setIfNil(&spec.SessionAffinityConfig.ClientIP, corev1.ClientIPConfig{})
		setIfNil(&spec.SessionAffinityConfig.ClientIP.TimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)
	}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		setIfZero(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if spec.Type != corev1.ServiceTypeClusterIP || len(spec.ExternalIPs) > 0 {
		setIfZero(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	setIfNil(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		setIfNil(&spec.AllocateLoadBalancerNodePorts, true)
	}
}

func defaultNetworkPolicy(spec *networkingv1.NetworkPolicySpec) {
	for i := range spec.Ingress {
		defaultPolicyPorts(spec.Ingress[i].Ports)
	}
	for i := range spec.Egress {
		defaultPolicyPorts(spec.Egress[i].Ports)
	}
	if len(spec.PolicyTypes) > 0 {
		return
	}
	spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	if len(spec.Egress) > 0 {
		spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	}
}

func defaultPolicyPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		setIfNil(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// defaultLimit derives the defaults of containers from their limits.
func defaultLimit(limit *corev1.LimitRangeItem) {
	if limit.Type != corev1.LimitTypeContainer {
		return
	}
	limit.Default = withMissing(limit.Default, limit.Max)
	limit.DefaultRequest = withMissing(withMissing(limit.DefaultRequest, limit.Default), limit.Min)
}

// withMissing is a list with the entries of another that it lacks.
func withMissing(list, more corev1.ResourceList) corev1.ResourceList {
	for name, quantity := range more {
		if list == nil {
			list = corev1.ResourceList{}
		}
		if _, has := list[name]; !has {
			list[name] = quantity.DeepCopy()
		}
	}
	return list
}

func defaultDriver(spec *storagev1.CSIDriverSpec) {
	setIfNil(&spec.AttachRequired, true)
	setIfNil(&spec.PodInfoOnMount, false)
	setIfNil(&spec.StorageCapacity, false)
	setIfNil(&spec.RequiresRepublish, false)
	setIfNil(&spec.SELinuxMount, false)
	setIfNil(&spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}
