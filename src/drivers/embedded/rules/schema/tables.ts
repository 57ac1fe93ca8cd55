// The messages of all served kinds: one line per message, `field=number` as in Kubernetes' protobuf definitions. The table has four uses:
// it decodes protobuf, validates JSON, describes both in OpenAPI, and names the merge keys of strategic patches.
//
// After the number: `[]` a list; `{}` a map by string keys; `?` zero and false are values (elsewhere they mean absence); `:type` the type
// (a string if absent; `.Name` is a message of the same package); `~key` the merge key of a list; `~` alone merges it as a set.

/** OpenAPI names of packages, by short name. */
export const packageNames: Readonly<Record<string, string>> = {
  core: 'io.k8s.api.core.v1',
  coordination: 'io.k8s.api.coordination.v1',
  certificates: 'io.k8s.api.certificates.v1',
  discovery: 'io.k8s.api.discovery.v1',
  events: 'io.k8s.api.events.v1',
  rbac: 'io.k8s.api.rbac.v1',
  authentication: 'io.k8s.api.authentication.v1',
  authorization: 'io.k8s.api.authorization.v1',
  storage: 'io.k8s.api.storage.v1',
  meta: 'io.k8s.apimachinery.pkg.apis.meta.v1',
};

export const tables: Readonly<Record<string, string>> = {
  core: `
    Namespace metadata=1:meta.ObjectMeta spec=2:.NamespaceSpec status=3:.NamespaceStatus
    Node metadata=1:meta.ObjectMeta spec=2:.NodeSpec status=3:.NodeStatus
    Secret metadata=1:meta.ObjectMeta immutable=5?:bool data=2{}:bytes stringData=4{} type=3
    ConfigMap metadata=1:meta.ObjectMeta immutable=4?:bool data=2{} binaryData=3{}:bytes
    Service metadata=1:meta.ObjectMeta spec=2:.ServiceSpec status=3:.ServiceStatus
    Endpoints metadata=1:meta.ObjectMeta subsets=2[]:.EndpointSubset
    Event metadata=1:meta.ObjectMeta involvedObject=2:.ObjectReference reason=3 message=4 source=5:.EventSource firstTimestamp=6:time
      lastTimestamp=7:time count=8:int type=9 eventTime=10:microtime series=11:.EventSeries action=12 related=13:.ObjectReference
      reportingComponent=14 reportingInstance=15
    ServiceAccount metadata=1:meta.ObjectMeta secrets=2[]:.ObjectReference~name imagePullSecrets=3[]:.LocalObjectReference
      automountServiceAccountToken=4?:bool
    NamespaceSpec finalizers=1[]
    NamespaceStatus phase=1 conditions=2[]:.NamespaceCondition~type
    NodeSpec podCIDR=1 podCIDRs=7[]~ providerID=3 unschedulable=4:bool taints=5[]:.Taint configSource=6:.NodeConfigSource externalID=2
    NodeStatus capacity=1{}:quantity allocatable=2{}:quantity phase=3 conditions=4[]:.NodeCondition~type
      addresses=5[]:.NodeAddress~type daemonEndpoints=6:.NodeDaemonEndpoints nodeInfo=7:.NodeSystemInfo images=8[]:.ContainerImage
      volumesInUse=9[] volumesAttached=10[]:.AttachedVolume config=11:.NodeConfigStatus runtimeHandlers=12[]:.NodeRuntimeHandler
      features=13:.NodeFeatures
    ServiceSpec ports=1[]:.ServicePort~port selector=2{} clusterIP=3 clusterIPs=18[] type=4 externalIPs=5[] sessionAffinity=7
      loadBalancerIP=8 loadBalancerSourceRanges=9[] externalName=10 externalTrafficPolicy=11 healthCheckNodePort=12:int
      publishNotReadyAddresses=13:bool sessionAffinityConfig=14:.SessionAffinityConfig ipFamilies=19[] ipFamilyPolicy=17
      allocateLoadBalancerNodePorts=20?:bool loadBalancerClass=21 internalTrafficPolicy=22 trafficDistribution=23
    ServiceStatus loadBalancer=1:.LoadBalancerStatus conditions=2[]:meta.Condition~type
    EndpointSubset addresses=1[]:.EndpointAddress notReadyAddresses=2[]:.EndpointAddress ports=3[]:.EndpointPort
    ObjectReference kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7
    EventSource component=1 host=2
    EventSeries count=1:int lastObservedTime=2:microtime
    LocalObjectReference name=1
    NamespaceCondition type=1 status=2 lastTransitionTime=4:time reason=5 message=6
    Taint key=1 value=2 effect=3 timeAdded=4:time
    NodeConfigSource configMap=2:.ConfigMapNodeConfigSource
    NodeCondition type=1 status=2 lastHeartbeatTime=3:time lastTransitionTime=4:time reason=5 message=6
    NodeAddress type=1 address=2
    NodeDaemonEndpoints kubeletEndpoint=1:.DaemonEndpoint
    NodeSystemInfo machineID=1 systemUUID=2 bootID=3 kernelVersion=4 osImage=5 containerRuntimeVersion=6 kubeletVersion=7
      kubeProxyVersion=8 operatingSystem=9 architecture=10 swap=11:.NodeSwapStatus
    ContainerImage names=1[] sizeBytes=2:int
    AttachedVolume name=1 devicePath=2
    NodeConfigStatus assigned=1:.NodeConfigSource active=2:.NodeConfigSource lastKnownGood=3:.NodeConfigSource error=4
    NodeRuntimeHandler name=1 features=2:.NodeRuntimeHandlerFeatures
    NodeFeatures supplementalGroupsPolicy=1?:bool
    ServicePort name=1 protocol=2 appProtocol=6 port=3:int targetPort=4:intstr nodePort=5:int
    SessionAffinityConfig clientIP=1:.ClientIPConfig
    LoadBalancerStatus ingress=1[]:.LoadBalancerIngress
    EndpointAddress ip=1 hostname=3 nodeName=4 targetRef=2:.ObjectReference
    EndpointPort name=1 port=2:int protocol=3 appProtocol=4
    ConfigMapNodeConfigSource namespace=1 name=2 uid=3 resourceVersion=4 kubeletConfigKey=5
    DaemonEndpoint Port=1:int
    NodeSwapStatus capacity=1?:int
    NodeRuntimeHandlerFeatures recursiveReadOnlyMounts=1?:bool userNamespaces=2?:bool
    ClientIPConfig timeoutSeconds=1?:int
    LoadBalancerIngress ip=1 hostname=2 ipMode=3 ports=4[]:.PortStatus
    PortStatus port=1:int protocol=2 error=3
  `,
  coordination: `
    Lease metadata=1:meta.ObjectMeta spec=2:.LeaseSpec
    LeaseSpec holderIdentity=1 leaseDurationSeconds=2?:int acquireTime=3:microtime renewTime=4:microtime leaseTransitions=5?:int
      strategy=6 preferredHolder=7
  `,
  certificates: `
    CertificateSigningRequest metadata=1:meta.ObjectMeta spec=2:.CertificateSigningRequestSpec
      status=3:.CertificateSigningRequestStatus
    CertificateSigningRequestSpec request=1:bytes signerName=7 expirationSeconds=8?:int usages=5[] username=2 uid=3 groups=4[]
      extra=6{}:strings
    CertificateSigningRequestStatus conditions=1[]:.CertificateSigningRequestCondition certificate=2:bytes
    CertificateSigningRequestCondition type=1 status=6 reason=2 message=3 lastUpdateTime=4:time lastTransitionTime=5:time
  `,
  discovery: `
    EndpointSlice metadata=1:meta.ObjectMeta addressType=4 endpoints=2[]:.Endpoint ports=3[]:.EndpointPort
    Endpoint addresses=1[] conditions=2:.EndpointConditions hostname=3 targetRef=4:core.ObjectReference deprecatedTopology=5{}
      nodeName=6 zone=7 hints=8:.EndpointHints
    EndpointPort name=1 protocol=2 port=3?:int appProtocol=4
    EndpointConditions ready=1?:bool serving=2?:bool terminating=3?:bool
    EndpointHints forZones=1[]:.ForZone forNodes=2[]:.ForNode
    ForZone name=1
    ForNode name=1
  `,
  events: `
    Event metadata=1:meta.ObjectMeta eventTime=2:microtime series=3:.EventSeries reportingController=4 reportingInstance=5 action=6
      reason=7 regarding=8:core.ObjectReference related=9:core.ObjectReference note=10 type=11 deprecatedSource=12:core.EventSource
      deprecatedFirstTimestamp=13:time deprecatedLastTimestamp=14:time deprecatedCount=15:int
    EventSeries count=1:int lastObservedTime=2:microtime
  `,
  rbac: `
    Role metadata=1:meta.ObjectMeta rules=2[]:.PolicyRule
    RoleBinding metadata=1:meta.ObjectMeta subjects=2[]:.Subject roleRef=3:.RoleRef
    ClusterRole metadata=1:meta.ObjectMeta rules=2[]:.PolicyRule aggregationRule=3:.AggregationRule
    ClusterRoleBinding metadata=1:meta.ObjectMeta subjects=2[]:.Subject roleRef=3:.RoleRef
    PolicyRule verbs=1[] apiGroups=2[] resources=3[] resourceNames=4[] nonResourceURLs=5[]
    Subject kind=1 apiGroup=2 name=3 namespace=4
    RoleRef apiGroup=1 kind=2 name=3
    AggregationRule clusterRoleSelectors=1[]:meta.LabelSelector
  `,
  authentication: `
    TokenRequest metadata=1:meta.ObjectMeta spec=2:.TokenRequestSpec status=3:.TokenRequestStatus
    TokenReview metadata=1:meta.ObjectMeta spec=2:.TokenReviewSpec status=3:.TokenReviewStatus
    SelfSubjectReview metadata=1:meta.ObjectMeta status=2:.SelfSubjectReviewStatus
    TokenRequestSpec audiences=1[] expirationSeconds=4?:int boundObjectRef=3:.BoundObjectReference
    TokenRequestStatus token=1 expirationTimestamp=2:time
    TokenReviewSpec token=1 audiences=2[]
    TokenReviewStatus authenticated=1:bool user=2:.UserInfo audiences=4[] error=3
    SelfSubjectReviewStatus userInfo=1:.UserInfo
    BoundObjectReference kind=1 apiVersion=2 name=3 uid=4
    UserInfo username=1 uid=2 groups=3[] extra=4{}:strings
  `,
  authorization: `
    SelfSubjectAccessReview metadata=1:meta.ObjectMeta spec=2:.SelfSubjectAccessReviewSpec status=3:.SubjectAccessReviewStatus
    SubjectAccessReview metadata=1:meta.ObjectMeta spec=2:.SubjectAccessReviewSpec status=3:.SubjectAccessReviewStatus
    LocalSubjectAccessReview metadata=1:meta.ObjectMeta spec=2:.SubjectAccessReviewSpec status=3:.SubjectAccessReviewStatus
    SelfSubjectRulesReview metadata=1:meta.ObjectMeta spec=2:.SelfSubjectRulesReviewSpec status=3:.SubjectRulesReviewStatus
    SelfSubjectAccessReviewSpec resourceAttributes=1:.ResourceAttributes nonResourceAttributes=2:.NonResourceAttributes
    SubjectAccessReviewStatus allowed=1:bool denied=4:bool reason=2 evaluationError=3
    SubjectAccessReviewSpec resourceAttributes=1:.ResourceAttributes nonResourceAttributes=2:.NonResourceAttributes user=3 groups=4[]
      extra=5{}:strings uid=6
    SelfSubjectRulesReviewSpec namespace=1
    SubjectRulesReviewStatus resourceRules=1[]:.ResourceRule nonResourceRules=2[]:.NonResourceRule incomplete=3:bool evaluationError=4
    ResourceAttributes namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7 fieldSelector=8:.FieldSelectorAttributes
      labelSelector=9:.LabelSelectorAttributes
    NonResourceAttributes path=1 verb=2
    ResourceRule verbs=1[] apiGroups=2[] resources=3[] resourceNames=4[]
    NonResourceRule verbs=1[] nonResourceURLs=2[]
    FieldSelectorAttributes rawSelector=1 requirements=2[]:meta.FieldSelectorRequirement
    LabelSelectorAttributes rawSelector=1 requirements=2[]:meta.LabelSelectorRequirement
  `,
  storage: `
    CSINode metadata=1:meta.ObjectMeta spec=2:.CSINodeSpec
    CSINodeSpec drivers=1[]:.CSINodeDriver~name
    CSINodeDriver name=1 nodeID=2 topologyKeys=3[] allocatable=4:.VolumeNodeResources
    VolumeNodeResources count=1?:int
  `,
  meta: `
    DeleteOptions gracePeriodSeconds=1?:int preconditions=2:.Preconditions orphanDependents=3?:bool propagationPolicy=4 dryRun=5[]
      ignoreStoreReadErrorWithClusterBreakingPotential=6:bool
    ObjectMeta name=1 generateName=2 namespace=3 selfLink=4 uid=5 resourceVersion=6 generation=7:int creationTimestamp=8:time
      deletionTimestamp=9:time deletionGracePeriodSeconds=10?:int labels=11{} annotations=12{} ownerReferences=13[]:.OwnerReference~uid
      finalizers=14[]~ managedFields=17[]:.ManagedFieldsEntry
    Preconditions uid=1 resourceVersion=2
    OwnerReference apiVersion=5 kind=1 name=3 uid=4 controller=6?:bool blockOwnerDeletion=7?:bool
    ManagedFieldsEntry manager=1 operation=2 apiVersion=3 time=4:time fieldsType=6 fieldsV1=7:raw subresource=8
    Condition type=1 status=2 observedGeneration=3:int lastTransitionTime=4:time reason=5 message=6
    LabelSelector matchLabels=1{} matchExpressions=2[]:.LabelSelectorRequirement
    LabelSelectorRequirement key=1 operator=2 values=3[]
    FieldSelectorRequirement key=1 operator=2 values=3[]
  `,
};
