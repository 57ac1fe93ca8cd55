/** Addresses inside every cluster, as kubeadm has them; nodes get a /24 of the pods' each, which is room for 1,024. */
export const serviceRange = '10.96.0.0/12';
export const podRange = '10.244.0.0/14';
/** The service `kubernetes`: where pods reach the cluster's API. */
export const apiAddress = '10.96.0.1';
export const dnsAddress = '10.96.0.10';
