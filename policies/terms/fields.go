package terms

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// fieldTerms are the keys of which most reviews consist, ready as terms: decoding then
// allocates nothing for them. The table is fixed, so that no request can fill it; a
// key that is missing is only slower.
var fieldTerms = newFieldTerms()

func newFieldTerms() map[string]*ast.Term {
	terms := map[string]*ast.Term{".": ast.StringTerm(".")}
	for name := range strings.FieldsSeq(fieldNames) {
		terms[name] = ast.StringTerm(name)
		terms["f:"+name] = ast.StringTerm("f:" + name) // in managedFields
	}
	return terms
}

// fieldNames are the JSON names of the fields of AdmissionReview, Pod, Deployment,
// Service, Namespace and ConfigMap, with all that they contain.
const fieldNames = `
	accessModes action activeDeadlineSeconds add affinity allocateLoadBalancerNodePorts allocatedResources
	allocatedResourcesStatus allowPrivilegeEscalation allowed annotations apiGroup apiVersion appArmorProfile
	appProtocol args audience auditAnnotations automountServiceAccountToken availableReplicas awsElasticBlockStore
	azureDisk azureFile binaryData blockOwnerDeletion cachingMode capabilities causes cephfs certificateChainPath
	chapAuthDiscovery chapAuthSession cinder claimName claims clientIP clusterIP clusterIPs clusterTrustBundle
	code collisionCount command conditionType conditions configMap configMapKeyRef configMapRef containerID
	containerName containerPort containerStatuses containers continue controller creationTimestamp
	credentialBundlePath csi data dataSource dataSourceRef datasetName datasetUUID defaultMode
	deletionGracePeriodSeconds deletionTimestamp details devicePath directory diskName diskURI divisor dnsConfig
	dnsPolicy downwardAPI driver drop dryRun effect emptyDir enableServiceLinks endpoints env envFrom ephemeral
	ephemeralContainerStatuses ephemeralContainers error exec exitCode exitCodes expirationSeconds
	extendedResourceClaimStatus externalIPs externalName externalTrafficPolicy extra failureThreshold fc field
	fieldPath fieldRef fieldsType fieldsV1 fileKeyRef finalizers finishedAt flexVolume flocker fsGroup
	fsGroupChangePolicy fsType gateway gcePersistentDisk generateName generation gid gitRepo glusterfs
	gmsaCredentialSpec gmsaCredentialSpecName group groups grpc health healthCheckNodePort host hostAliases hostIP
	hostIPC hostIPs hostNetwork hostPID hostPath hostPort hostProcess hostUsers hostname hostnameOverride
	hostnames httpGet httpHeaders image imageID imagePullPolicy imagePullSecrets imageRef immutable ingress
	initContainerStatuses initContainers initialDelaySeconds initiatorName internalTrafficPolicy ip ipFamilies
	ipFamilyPolicy ipMode iqn iscsi iscsiInterface items key keyPath keyType keyring kind labelSelector labels
	lastProbeTime lastState lastTransitionTime lastUpdateTime level lifecycle limits linux livenessProbe
	loadBalancer loadBalancerClass loadBalancerIP loadBalancerSourceRanges localhostProfile lun managedFields
	manager matchExpressions matchFields matchLabelKeys matchLabels maxExpirationSeconds maxSkew maxSurge
	maxUnavailable medium message metadata minDomains minReadySeconds mismatchLabelKeys mode monitors mountPath
	mountPropagation name nameservers namespace namespaceSelector namespaces nfs nodeAffinity nodeAffinityPolicy
	nodeAllocatableResourceClaimStatuses nodeName nodePort nodePublishSecretRef nodeSelector nodeSelectorTerms
	nodeTaintsPolicy nominatedNodeName object observedGeneration oldObject operation operator optional options os
	overhead ownerReferences partition patch patchType path paused pdID pdName periodSeconds persistentVolumeClaim
	phase photonPersistentDisk podAffinity podAffinityTerm podAntiAffinity podCertificate podGroupName podIP
	podIPs pool port portals ports portworxVolume postStart preStop preemptionPolicy preference
	preferredDuringSchedulingIgnoredDuringExecution prefix priority priorityClassName privileged procMount
	progressDeadlineSeconds projected protectionDomain protocol publishNotReadyAddresses pullPolicy qosClass
	quobyte rbd readOnly readOnlyRootFilesystem readinessGates readinessProbe ready readyReplicas reason
	recursiveReadOnly reference registry remainingItemCount replicas repository request requestKind
	requestMappings requestName requestResource requestSubResource requests
	requiredDuringSchedulingIgnoredDuringExecution resize resizePolicy resource resourceClaimName
	resourceClaimStatuses resourceClaimTemplateName resourceClaims resourceFieldRef resourceID resourceName
	resourceVersion resources response restartCount restartPolicy restartPolicyRules retryAfterSeconds revision
	revisionHistoryLimit role rollingUpdate runAsGroup runAsNonRoot runAsUser runAsUserName running
	runtimeClassName scaleIO schedulerName schedulingGates schedulingGroup scheme seLinuxChangePolicy
	seLinuxOptions searches seccompProfile seconds secret secretFile secretKeyRef secretName secretRef
	securityContext selector selfLink server service serviceAccount serviceAccountName serviceAccountToken
	sessionAffinity sessionAffinityConfig setHostnameAsFQDN shardInfo shareName shareProcessNamespace signal
	signerName sizeLimit sleep sources spec sslEnabled startTime started startedAt startupProbe state status stdin
	stdinOnce stopSignal storageClassName storageMode storagePolicyID storagePolicyName storagePool storageos
	strategy subPath subPathExpr subResource subdomain subresource successThreshold supplementalGroups
	supplementalGroupsPolicy sysctls system targetContainerName targetPort targetPortal targetWWNs tcpSocket
	template tenant terminated terminatingReplicas terminationGracePeriodSeconds terminationMessagePath
	terminationMessagePolicy time timeoutSeconds tolerationSeconds tolerations topologyKey
	topologySpreadConstraints trafficDistribution tty type uid unavailableReplicas updatedReplicas user
	userAnnotations userInfo username value valueFrom values version volume volumeAttributes
	volumeAttributesClassName volumeClaimTemplate volumeDevices volumeID volumeMode volumeMounts volumeName
	volumeNamespace volumePath volumeStatus volumes vsphereVolume waiting warnings weight whenUnsatisfiable
	windowsOptions workingDir wwids
`
