/** Address ranges inside every cluster. Services as kubeadm's default; each node gets a /24 for pods, which allows 1,024 nodes. */
export const serviceRange = '10.96.0.0/12';
export const podRange = '10.244.0.0/14';
/** The service `kubernetes`, by which pods reach the cluster's API. */
export const apiAddress = '10.96.0.1';
/** In-cluster names of the API, and that address. */
export const apiHosts = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local', apiAddress];
export const dnsAddress = '10.96.0.10';
